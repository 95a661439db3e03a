// The evaluator's driver: symbols, errors, what it observes.
#include <gtest/gtest.h>

#include "graph/builder.h"
#include "graph/evaluator.h"
#include "graph/text.h"

namespace tenfold {
namespace {

std::unique_ptr<Module> parse(std::string_view text) {
  auto m = parse_stablehlo(text, "t.mlir");
  EXPECT_TRUE(m.ok()) << (m.ok() ? "" : to_string(m.errors()));
  return m.ok() ? std::move(m).value() : nullptr;
}

Literal f32s(std::vector<int64_t> dims, std::vector<float> v) {
  return Literal::from<float>(DType::F32, std::move(dims), v);
}

constexpr std::string_view kSymbolic = R"(
module attributes {tenfold.symbols = {n = [1, 8]}} {
  func.func @main(%x: tensor<?xf32, #tenfold.dims<n>>, %y: tensor<?xf32, #tenfold.dims<2*n + 1>>)
      -> (tensor<2xi64>, tensor<?xf32, #tenfold.dims<n>>) {
    %d = "tenfold.dims"() <{dims = #tenfold.dims<n, 2*n + 1>}> : () -> tensor<2xi64>
    %s = "stablehlo.slice"(%y) <{start_indices = #tenfold.dims<n + 1>,
        limit_indices = #tenfold.dims<2*n + 1>, strides = array<i64: 1>}>
        : (tensor<?xf32, #tenfold.dims<2*n + 1>>) -> tensor<?xf32, #tenfold.dims<n>>
    return %d, %s : tensor<2xi64>, tensor<?xf32, #tenfold.dims<n>>
  }
})";

TEST(Evaluator, BindsSymbolsFromArguments) {
  auto m = parse(kSymbolic);
  ASSERT_TRUE(m);
  auto r = evaluate(*m, *m->main(), {f32s({2}, {1, 2}), f32s({5}, {1, 2, 3, 4, 5})});
  ASSERT_TRUE(r.ok()) << to_string(r.errors());
  EXPECT_EQ((*r)[0].to_i64s(), (std::vector<int64_t>{2, 5}));
  EXPECT_TRUE((*r)[1].same(f32s({2}, {4, 5})));
}

TEST(Evaluator, SaysWhichArgumentIsWrong) {
  auto m = parse(kSymbolic);
  ASSERT_TRUE(m);
  auto r = evaluate(*m, *m->main(), {f32s({2}, {1, 2}), f32s({4}, {1, 2, 3, 4})});
  ASSERT_FALSE(r.ok());
  EXPECT_NE(r.errors()[0].message.find("argument 1 (y) of @main must be 2*n + 1 = 5, is 4"),
            std::string::npos)
      << r.errors()[0].message;
  r = evaluate(*m, *m->main(), {f32s({0}, {}), f32s({1}, {1})});
  ASSERT_FALSE(r.ok());
  EXPECT_NE(r.errors()[0].message.find("outside [1, 8]"), std::string::npos);
  r = evaluate(*m, *m->main(), {f32s({2}, {1, 2})});
  ASSERT_FALSE(r.ok());
  r = evaluate(*m, *m->main(), {Literal::i64s({1, 2}), f32s({5}, {1, 2, 3, 4, 5})});
  ASSERT_FALSE(r.ok());
  EXPECT_NE(r.errors()[0].message.find("is f32, given i64"), std::string::npos);
}

TEST(Evaluator, BindsSymbolsAtRunTime) {
  auto m = parse(R"(
module attributes {tenfold.symbols = {k = [0, 4]}} {
  func.func @main(%n: tensor<i64>) -> tensor<?xi32, #tenfold.dims<k>> {
    %k = "tenfold.bind_symbol"(%n) <{symbol = "k", min = 0 : i64, max = 4 : i64}>
        : (tensor<i64>) -> tensor<i64>
    %i = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<?xi32, #tenfold.dims<k>>
    return %i : tensor<?xi32, #tenfold.dims<k>>
  }
})");
  ASSERT_TRUE(m);
  auto r = evaluate(*m, *m->main(), {Literal::scalar_i(DType::I64, 3)});
  ASSERT_TRUE(r.ok()) << to_string(r.errors());
  EXPECT_EQ((*r)[0].to_i64s(), (std::vector<int64_t>{0, 1, 2}));
  r = evaluate(*m, *m->main(), {Literal::scalar_i(DType::I64, 5)});
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.errors()[0].id, "size-out-of-bounds");
  EXPECT_EQ(r.errors()[0].loc.text, "t.mlir:4:10");
}

TEST(Evaluator, ObservesAndLimitsLoops) {
  auto m = parse(R"(
func.func @main(%n: tensor<i32>) -> tensor<i32> {
  %c = stablehlo.constant dense<1> : tensor<i32>
  %w:2 = stablehlo.while(%i = %c, %s = %c) : tensor<i32>, tensor<i32>
    cond {
      %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %j = stablehlo.add %i, %c : tensor<i32>
      %t = stablehlo.multiply %s, %j : tensor<i32>
      stablehlo.return %j, %t : tensor<i32>, tensor<i32>
    }
  return %w#1 : tensor<i32>
})");
  ASSERT_TRUE(m);
  EvalOptions options;
  int products = 0;
  options.observe = [&](const Value& v, const Literal&) { products += v.name == "t"; };
  auto r = evaluate(*m, *m->main(), {Literal::scalar_i(DType::I32, 6)}, options);
  ASSERT_TRUE(r.ok());
  EXPECT_EQ((*r)[0].as_i64(0), 720);
  EXPECT_EQ(products, 5);
  options.max_while_iterations = 3;
  r = evaluate(*m, *m->main(), {Literal::scalar_i(DType::I32, 6)}, options);
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.errors()[0].loc.text, "t.mlir:4:10");
}

TEST(Evaluator, RefusesNegativeSizes) {
  auto m = parse(R"(
module attributes {tenfold.symbols = {n = [0, 100]}} {
  func.func @main(%x: tensor<?xf32, #tenfold.dims<n>>) -> tensor<?xi32, #tenfold.dims<n - 4>> {
    %i = "stablehlo.iota"() <{iota_dimension = 0 : i64}>
        : () -> tensor<?xi32, #tenfold.dims<n - 4>>
    return %i : tensor<?xi32, #tenfold.dims<n - 4>>
  }
})");
  ASSERT_TRUE(m);
  auto r = evaluate(*m, *m->main(), {f32s({2}, {1, 2})});
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.errors()[0].id, "size-range");
}

}  // namespace
}  // namespace tenfold
