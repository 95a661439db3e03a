// Graphs with int8 arithmetic on v1 and Edge give what the evaluator gives, bit for bit.
#include <random>

#include "driver/simulate_matrix.h"
#include "graph/evaluator.h"
#include "graph/text.h"
#include "gtest/gtest.h"

namespace tenfold {
namespace {

std::string tensor(const std::string& dims, const std::string& t) {
  return "tensor<" + dims + "x" + t + ">";
}

Literal random_literal(DType t, const std::vector<int64_t>& dims, uint64_t seed) {
  std::mt19937_64 rng(seed);
  Literal l(t, dims);
  for (int64_t i = 0; i < l.size(); ++i) {
    if (is_float(t)) {
      l.set_f64(i, static_cast<double>(static_cast<int64_t>(rng() % 2001) - 1000) / 250.0);
    } else {
      l.set_i64(i, static_cast<int64_t>(rng() % 256) - (t == DType::I8 ? 128 : 0));
    }
  }
  return l;
}

// Runs @main on both and compares; gives the simulation for further checks.
MatrixSimulation check(const std::string& text, std::string_view chip_name) {
  auto parsed = parse_stablehlo(text, "test.mlir");
  EXPECT_TRUE(parsed.ok()) << to_string(parsed.errors());
  std::vector<Literal> args;
  uint64_t seed = 1;
  for (const auto& a : (*parsed)->main()->body.args) {
    args.push_back(random_literal(a->type.dtype, a->type.static_shape(), seed++));
  }
  auto expected = evaluate(**parsed, *(*parsed)->main(), args);
  EXPECT_TRUE(expected.ok()) << to_string(expected.errors());
  const tpu::Chip chip = *tpu::find_chip(chip_name);
  auto s = simulate_matrix(**parsed, chip, &args);
  EXPECT_TRUE(s.ok()) << to_string(s.errors());
  if (!s.ok() || !expected.ok()) return {};
  EXPECT_EQ(s->outputs.size(), expected->size());
  for (size_t i = 0; i < expected->size(); ++i) {
    const Difference d = compare(s->outputs[i], (*expected)[i], 0, 0);
    EXPECT_EQ(d.mismatches, 0) << "result " << i << " on " << chip_name << ": first at " << d.first
                               << "\n"
                               << tpu::matrix::disassemble(s->model.program, false);
  }
  for (size_t u = 0; u < s->report.total.units.size(); ++u) {
    int64_t sum = 0;
    for (const int64_t n : s->report.total.units[u]) sum += n;
    EXPECT_EQ(sum, s->report.total.cycles) << "unit " << u;
  }
  // Cycles do not depend on values.
  auto again = parse_stablehlo(text, "test.mlir");
  auto timed = simulate_matrix(**again, chip, nullptr);
  EXPECT_TRUE(timed.ok()) << to_string(timed.errors());
  if (timed.ok()) {
    EXPECT_EQ(timed->report.total.cycles, s->report.total.cycles);
  }
  return std::move(*s);
}

// int8 convolution as QLinearConv is read: i32 sums, one scale a channel.
std::string convolution(const std::string& x, const std::string& w, const std::string& y,
                        const std::string& numbers, const std::string& window, int zero) {
  const auto t = [](const std::string& s, const char* e) { return tensor(s, e); };
  return "func.func @main(%x: " + t(x, "i8") + ") -> " + t(y, "i8") + R"( {
  %w = stablehlo.constant dense<WEIGHTS> : )" +
         t(w, "i8") + R"(
  %xi = stablehlo.convert %x : ()" +
         t(x, "i8") + ") -> " + t(x, "i32") + R"(
  %zx = stablehlo.constant dense<)" +
         std::to_string(zero) + "> : " + t(x, "i32") + R"(
  %xc = stablehlo.subtract %xi, %zx : )" +
         t(x, "i32") + R"(
  %wi = stablehlo.convert %w : ()" +
         t(w, "i8") + ") -> " + t(w, "i32") + R"(
  %p = stablehlo.convolution(%xc, %wi) dim_numbers = )" +
         numbers + ", window = {" + window +
         R"(} {batch_group_count = 1 : i64, feature_group_count = GROUPS : i64} : ()" +
         t(x, "i32") + ", " + t(w, "i32") + ") -> " + t(y, "i32") + R"(
  %f = stablehlo.convert %p : ()" +
         t(y, "i32") + ") -> " + t(y, "f32") + R"(
  %s = stablehlo.constant dense<0.0037> : )" +
         t(y, "f32") + R"(
  %m = stablehlo.multiply %f, %s : )" +
         t(y, "f32") + R"(
  %r = stablehlo.round_nearest_even %m : )" +
         t(y, "f32") + R"(
  %z = stablehlo.constant dense<5.0> : )" +
         t(y, "f32") + R"(
  %a = stablehlo.add %r, %z : )" +
         t(y, "f32") + R"(
  %hi = stablehlo.constant dense<127.0> : )" +
         t(y, "f32") + R"(
  %lo = stablehlo.constant dense<-128.0> : )" +
         t(y, "f32") + R"(
  %n = stablehlo.minimum %a, %hi : )" +
         t(y, "f32") + R"(
  %b = stablehlo.maximum %n, %lo : )" +
         t(y, "f32") + R"(
  %q = stablehlo.convert %b : ()" +
         t(y, "f32") + ") -> " + t(y, "i8") + R"(
  return %q : )" +
         t(y, "i8") + "\n}\n";
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

// A hexadecimal string of random int8 weights.
std::string weights(int64_t n) {
  std::mt19937 rng(7);
  std::string s = "\"0x";
  for (int64_t i = 0; i < n; ++i) {
    char byte[3];
    std::snprintf(byte, sizeof byte, "%02X", static_cast<unsigned>(rng() & 0xff));
    s += byte;
  }
  return s + "\"";
}

TEST(MatrixGraph, convolutions_equal_the_evaluator) {
  for (const char* chip : {"v1", "edge"}) {
    // Padding with a zero point, stride 2, more features than a tile of Edge has columns.
    std::string t =
        convolution("1x9x9x20", "3x3x20x70", "1x5x5x70", "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]",
                    "stride = [2, 2], pad = [[1, 1], [1, 1]]", -3);
    t = with(with(t, "WEIGHTS", weights(3 * 3 * 20 * 70)), "GROUPS", "1");
    const auto s = check(t, chip);
    EXPECT_TRUE(s.model.host_ops.empty());
    EXPECT_EQ(s.report.total.useful_macs, 5 * 5 * 9 * 20 * 70);
    // Depthwise, channels first, dilated.
    t = convolution("2x12x8x8", "12x1x3x3", "2x12x4x4", "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]",
                    "rhs_dilate = [2, 2]", 7);
    t = with(with(t, "WEIGHTS", weights(12 * 9)), "GROUPS", "12");
    EXPECT_TRUE(check(t, chip).model.host_ops.empty());
  }
}

TEST(MatrixGraph, many_rows_are_done_in_blocks_of_accumulators) {
  std::string t = convolution("1x70x70x3", "3x3x3x8", "1x68x68x8",
                              "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "stride = [1, 1]", 0);
  t = with(with(t, "WEIGHTS", weights(3 * 3 * 3 * 8)), "GROUPS", "1");
  check(t, "edge");  // 4624 rows, 4096 accumulators
}

// Dequantize, f32 arithmetic, quantize: what QDQ models are made of. The values are tabulated.
constexpr const char* kElementwise = R"(
func.func @main(%x: tensor<2x3x4x5xi8>, %y: tensor<2x3x4x5xi8>) -> (tensor<2x6x4x5xi8>, tensor<2x3x4x5xf32>) {
  %xf = stablehlo.convert %x : (tensor<2x3x4x5xi8>) -> tensor<2x3x4x5xf32>
  %yf = stablehlo.convert %y : (tensor<2x3x4x5xi8>) -> tensor<2x3x4x5xf32>
  %s = stablehlo.constant dense<0.031> : tensor<2x3x4x5xf32>
  %a = stablehlo.multiply %xf, %s : tensor<2x3x4x5xf32>
  %g = stablehlo.logistic %a : tensor<2x3x4x5xf32>
  %h = stablehlo.multiply %a, %g : tensor<2x3x4x5xf32>
  %i = stablehlo.add %h, %yf : tensor<2x3x4x5xf32>
  %r = stablehlo.round_nearest_even %i : tensor<2x3x4x5xf32>
  %q = stablehlo.convert %r : (tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xi8>
  %c = "stablehlo.concatenate"(%q, %y) {dimension = 1 : i64} : (tensor<2x3x4x5xi8>, tensor<2x3x4x5xi8>) -> tensor<2x6x4x5xi8>
  %qf = stablehlo.convert %q : (tensor<2x3x4x5xi8>) -> tensor<2x3x4x5xf32>
  %e = stablehlo.exponential %qf : tensor<2x3x4x5xf32>
  return %c, %e : tensor<2x6x4x5xi8>, tensor<2x3x4x5xf32>
}
)";

TEST(MatrixGraph, elementwise_chains_are_tabulated_and_the_rest_runs_on_the_host) {
  const auto s = check(kElementwise, "v1");
  ASSERT_EQ(s.model.host_ops.size(), 1u);
  EXPECT_EQ(s.model.host_ops[0].op, "stablehlo.exponential");
  EXPECT_EQ(s.model.host_ops[0].reason, "its result is f32, not int8");
  EXPECT_EQ(s.model.steps.size(), 1u);
}

constexpr const char* kViews = R"(
func.func @main(%x: tensor<2x3x4x5xi8>) -> (tensor<60x2xi8>, tensor<2x3x7x6xi8>, tensor<2x3x2x3xi8>) {
  %t = stablehlo.transpose %x, dims = [1, 2, 3, 0] : (tensor<2x3x4x5xi8>) -> tensor<3x4x5x2xi8>
  %r = stablehlo.reshape %t : (tensor<3x4x5x2xi8>) -> tensor<60x2xi8>
  %z = stablehlo.constant dense<9> : tensor<i8>
  %p = stablehlo.pad %x, %z, low = [0, 0, 1, 0], high = [0, 0, 2, 1], interior = [0, 0, 0, 0] : (tensor<2x3x4x5xi8>, tensor<i8>) -> tensor<2x3x7x6xi8>
  %s = stablehlo.slice %x [0:2, 0:3, 1:4:2, 0:5:2] : (tensor<2x3x4x5xi8>) -> tensor<2x3x2x3xi8>
  return %r, %p, %s : tensor<60x2xi8>, tensor<2x3x7x6xi8>, tensor<2x3x2x3xi8>
}
)";

TEST(MatrixGraph, views_of_int8_tensors_are_copies_on_the_chip) {
  EXPECT_TRUE(check(kViews, "edge").model.host_ops.empty());
}

constexpr const char* kPools = R"(
func.func @main(%x: tensor<2x6x9x9xi8>) -> (tensor<2x6x4x4xi8>, tensor<2x6xi8>) {
  %low = stablehlo.constant dense<-128> : tensor<i8>
  %m = "stablehlo.reduce_window"(%x, %low) ({
  ^bb0(%a: tensor<i8>, %b: tensor<i8>):
    %o = stablehlo.maximum %a, %b : tensor<i8>
    stablehlo.return %o : tensor<i8>
  }) {window_dimensions = array<i64: 1, 1, 3, 3>, window_strides = array<i64: 1, 1, 2, 2>} : (tensor<2x6x9x9xi8>, tensor<i8>) -> tensor<2x6x4x4xi8>
  %f = stablehlo.convert %x : (tensor<2x6x9x9xi8>) -> tensor<2x6x9x9xf32>
  %s = stablehlo.constant dense<0.043> : tensor<2x6x9x9xf32>
  %d = stablehlo.multiply %f, %s : tensor<2x6x9x9xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%d init: %zero) applies stablehlo.add across dimensions = [2, 3] : (tensor<2x6x9x9xf32>, tensor<f32>) -> tensor<2x6xf32>
  %n = stablehlo.constant dense<81.0> : tensor<2x6xf32>
  %mean = stablehlo.divide %sum, %n : tensor<2x6xf32>
  %so = stablehlo.constant dense<0.0101> : tensor<2x6xf32>
  %y = stablehlo.divide %mean, %so : tensor<2x6xf32>
  %r = stablehlo.round_nearest_even %y : tensor<2x6xf32>
  %q = stablehlo.convert %r : (tensor<2x6xf32>) -> tensor<2x6xi8>
  return %m, %q : tensor<2x6x4x4xi8>, tensor<2x6xi8>
}
)";

TEST(MatrixGraph, maxima_and_means_of_windows) {
  EXPECT_TRUE(check(kPools, "edge").model.host_ops.empty());
}

TEST(MatrixGraph, an_input_larger_than_the_chip_is_refused_with_the_peak) {
  auto m = parse_stablehlo(
      "func.func @main(%x: tensor<4096x8192xi8>) -> tensor<8192x4096xi8> {\n"
      "  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<4096x8192xi8>) -> "
      "tensor<8192x4096xi8>\n  return %t : tensor<8192x4096xi8>\n}\n",
      "big.mlir");
  ASSERT_TRUE(m.ok());
  const auto s = simulate_matrix(**m, *tpu::find_chip("v1"), nullptr);
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.errors()[0].id, "matrix-memory");
}

}  // namespace
}  // namespace tenfold
