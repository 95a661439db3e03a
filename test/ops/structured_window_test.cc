// convolution, reduce_window and select_and_scatter against numbers computed with NumPy (direct
// sums over explicitly padded and dilated arrays) and the StableHLO specification's examples.
#include "ops/structured_util.h"

namespace tenfold::test {
namespace {

constexpr DType F = DType::F32;

struct ConvAttrs {
  std::vector<int64_t> strides = {}, padding = {}, lhs_dilation = {}, rhs_dilation = {},
                       reversal = {};
  int64_t groups = 1, batch_groups = 1;
  // Positions of batch, feature, spatial... in input, of output, input, spatial... in the kernel.
  std::vector<int64_t> in = {}, kernel = {}, out = {};
};

Op* conv(OpCase& t, Value* x, Value* w, ConvAttrs a) {
  const int64_t n = x->type.rank() - 2;
  const auto fill = [&](std::vector<int64_t>& v, int64_t size, int64_t value) {
    if (v.empty()) v.assign(static_cast<size_t>(size), value);
  };
  fill(a.strides, n, 1), fill(a.padding, 2 * n, 0), fill(a.lhs_dilation, n, 1);
  fill(a.rhs_dilation, n, 1), fill(a.reversal, n, 0);
  for (auto* v : {&a.in, &a.kernel, &a.out})
    if (v->empty())
      for (int64_t i = 0; i < n + 2; ++i) v->push_back(i);
  const auto tail = [](const std::vector<int64_t>& v) {
    return std::vector<int64_t>(v.begin() + 2, v.end());
  };
  return t.b.create("stablehlo.convolution", {x, w},
                    {{"window_strides", Attr{a.strides}},
                     {"padding", Attr{std::vector<Dim>(a.padding.begin(), a.padding.end())}},
                     {"lhs_dilation", Attr{a.lhs_dilation}},
                     {"rhs_dilation", Attr{a.rhs_dilation}},
                     {"window_reversal", Attr{a.reversal}},
                     {"input_batch_dimension", Attr{a.in[0]}},
                     {"input_feature_dimension", Attr{a.in[1]}},
                     {"input_spatial_dimensions", Attr{tail(a.in)}},
                     {"kernel_input_feature_dimension", Attr{a.kernel[1]}},
                     {"kernel_output_feature_dimension", Attr{a.kernel[0]}},
                     {"kernel_spatial_dimensions", Attr{tail(a.kernel)}},
                     {"output_batch_dimension", Attr{a.out[0]}},
                     {"output_feature_dimension", Attr{a.out[1]}},
                     {"output_spatial_dimensions", Attr{tail(a.out)}},
                     {"feature_group_count", Attr{a.groups}},
                     {"batch_group_count", Attr{a.batch_groups}}});
}

TEST(Convolution, StridesAndPadding) {
  const std::vector<double> want = {
      -2.125,  1,       0.6875,  1.0625,  0.5625,  1.625,   0.625,   -1,      -0.375,  2.5,
      -3.5625, -1.5,    2.5,     -0.375,  0.875,   -1.375,  1.625,   0.5625,  -5.3125, 1,
      1,       -2.125,  -0.4375, 0.625,   -1.8125, 1.6875,  1.75,    -1.75,   -2.8125, -1.1875,
      0.4375,  0.25,    -1.75,   1.5,     0.625,   -1.375,  -1.3125, -1.75,   1.9375,  1.3125,
      2.375,   -0.875,  0.6875,  -2.5625, 2.375,   -3.125,  1,       1.4375,  1.8125,  2.1875,
      -2.9375, 0.125,   1.75,    -1.3125, -0.9375, -0.125,  -0.4375, -3.0625, 3.9375,  -2.375,
      3.9375,  -3.0625, -0.4375, 1.25,    -0.9375, -1.3125, 1.75,    0,       -2.9375, 2.1875,
      1.8125,  -1.5,    -1.5,    -3.5,    4.125,   -1.75,   -0.1875, -0.625,  2.375,   -2.625,
      -0.625,  1.9375,  -1,      1.4375,  -0.75,   -0.5,    1.8125,  -1.3125, 2.625,   2.125,
      -2.5,    0.25,    1,       1,       -4.5,    3};
  for (DType d : {F, DType::F64}) {
    OpCase t;
    Op* op = conv(t, t.arg(pattern(d, {2, 3, 5, 4})), t.arg(pattern(d, {4, 3, 3, 2}, 5)),
                  {.strides = {2, 1}, .padding = {1, 1, 0, 1}});
    t.expect(op, {numbers(d, {2, 4, 3, 4}, want)});
  }
}

TEST(Convolution, ChannelsLastWithDilationCropAndReversal) {
  OpCase t;
  // The same numbers as an NCHW input and OIHW kernel, transposed.
  const Literal x = pattern(F, {1, 2, 4, 3}), w = pattern(F, {3, 2, 2, 2}, 5);
  Literal nhwc(F, {1, 4, 3, 2}), hwio(F, {2, 2, 2, 3});
  for (int c = 0; c < 2; ++c)
    for (int i = 0; i < 12; ++i) nhwc.set_f64(i * 2 + c, x.as_f64(c * 12 + i));
  for (int o = 0; o < 3; ++o)
    for (int c = 0; c < 2; ++c)
      for (int k = 0; k < 4; ++k) hwio.set_f64((k * 2 + c) * 3 + o, w.as_f64((o * 2 + c) * 4 + k));
  Op* op = conv(t, t.arg(nhwc), t.arg(hwio),
                {.strides = {1, 2},
                 .padding = {1, -1, 2, 1},
                 .lhs_dilation = {2, 1},
                 .rhs_dilation = {1, 2},
                 .reversal = {1, 0},
                 .in = {0, 3, 1, 2},
                 .kernel = {3, 2, 0, 1},
                 .out = {0, 3, 1, 2}});
  t.expect(op,
           {numbers(F, {1, 6, 2, 3},
                    {-0.25,  1.875,   -0.8125, 1.4375, 1.4375,  0.0625, -0.0625, 2.0625, -0.625,
                     -2,     1.4375,  0.0625,  -0.125, -0.9375, 1,      -1.8125, 2.625,  -1.1875,
                     -0.5,   -1.3125, 0.625,   1.1875, 2.1875,  -1.625, 0,       -1,     0.75,
                     -1.625, 2.4375,  -1.0625, -0.25,  -1.25,   0.5,    0.9375,  2.25,   -1.25})});
}

TEST(Convolution, Groups) {
  {
    OpCase t;
    Op* op =
        conv(t, t.arg(pattern(F, {1, 4, 3, 3})), t.arg(pattern(F, {4, 1, 2, 2}, 5)), {.groups = 4});
    t.expect(op, {numbers(F, {1, 4, 2, 2},
                          {3.0625, -0.125, -0.3125, -0.0625, 1.625, -0.9375, 1.5, -2.4375, 2.5,
                           -2.1875, -0.5625, -1.125, 2.25, -0.4375, 1.75, -0.9375})});
  }
  {
    OpCase t;
    Op* op = conv(t, t.arg(pattern(F, {1, 4, 5})), t.arg(pattern(F, {6, 2, 3}, 5)),
                  {.padding = {1, 1}, .groups = 2});
    t.expect(op, {numbers(F, {1, 6, 5},
                          {-0.625,  2.125,  1.1875,  -0.4375, -0.5625, -0.25,   -0.5625, 1.625,
                           -2.375,  1.9375, -0.5625, -0.5,    -0.6875, 2.5625,  -1.0625, 0.8125,
                           0.0625,  0.25,   -1.625,  2.25,    -0.4375, -0.9375, -1.0625, 2.25,
                           -1.6875, -1,     2.1875,  -0.3125, -1.4375, -1.5})});
  }
  {
    OpCase t;
    Op* op =
        conv(t, t.arg(pattern(F, {4, 2, 3})), t.arg(pattern(F, {4, 2, 2}, 5)), {.batch_groups = 2});
    t.expect(op, {numbers(F, {2, 4, 2},
                          {3.0625, -0.125, -0.75, 1.5, 1.75, -2.9375, -1.4375, 2.75, -0.25, 0, 1.75,
                           1.25, 2.5, -2.1875, -2.4375, 1.75})});
  }
}

TEST(Convolution, NoneAndThreeSpatialDimensions) {
  {
    OpCase t;
    Op* op = conv(t, t.arg(pattern(F, {3, 4})), t.arg(pattern(F, {5, 4}, 5)), {});
    t.expect(op, {numbers(F, {3, 5},
                          {0.625, -2.8125, -2.8125, 2, 2, 0.9375, 1.375, 1.125, -1.1875, -1.4375,
                           1.25, -0.625, 0.25, -0.25, 0.625})});
  }
  {
    OpCase t;
    Op* op = conv(t, t.arg(pattern(F, {1, 2, 3, 3, 3})), t.arg(pattern(F, {2, 2, 2, 2, 2}, 5)), {});
    t.expect(op, {numbers(F, {1, 2, 2, 2, 2},
                          {2.1875, -2, -1.4375, -3.5625, 0.25, 1.5625, -2, 3.4375, -2.5625, 3.25,
                           -3.6875, 4.1875, 3, 1.25, 3.25, 0.125})});
  }
}

TEST(Convolution, SpecificationExampleOnIntegers) {
  const std::vector<double> x = {1, 2, 5, 6, 3, 4, 7, 8, 10, 11, 14, 15, 12, 13, 16, 17};
  for (DType d : {DType::I64, DType::I32, DType::I8, DType::U16}) {
    OpCase t;
    Op* op = conv(t, t.arg(numbers(d, {1, 4, 4, 1}, x)),
                  t.arg(numbers(d, {3, 3, 1, 1}, std::vector<double>(9, 1))),
                  {.strides = {4, 4},
                   .lhs_dilation = {2, 2},
                   .in = {0, 3, 1, 2},
                   .kernel = {3, 2, 0, 1},
                   .out = {0, 3, 1, 2}});
    t.expect(op, {numbers(d, {1, 2, 2, 1}, {10, 26, 46, 62})});
  }
}

TEST(Convolution, ComplexAndNarrowTypes) {
  {
    OpCase t;
    Op* op = conv(t, t.arg(complexes(DType::C64, {1, 1, 3}, {{1, 1}, {2, 0}, {0, -1}})),
                  t.arg(complexes(DType::C64, {1, 1, 2}, {{0, 1}, {1, -1}})), {});
    t.expect(op, {complexes(DType::C64, {1, 1, 2}, {{1, -1}, {-1, 1}})});
  }
  {
    // 256 + 1 + 1 rounds once: 258, not (256 + 1 -> 256) + 1.
    OpCase t;
    Op* op = conv(t, t.arg(numbers(DType::BF16, {1, 3}, {256, 1, 1})),
                  t.arg(numbers(DType::BF16, {1, 3}, {1, 1, 1})), {});
    t.expect(op, {numbers(DType::BF16, {1, 1}, {258})});
  }
}

TEST(Convolution, SymbolicBatchAndSize) {
  OpCase t;
  const Dim n = Dim::symbol("n", 1), h = Dim::symbol("h", 1);
  Op* op = conv(t, t.arg(pattern(F, {2, 3, 5, 4}), {n, 3, h, 4}),
                t.arg(pattern(F, {1, 3, 3, 2}, 5)), {.strides = {2, 1}, .padding = {1, 1, 0, 1}});
  EXPECT_EQ(op->result()->type.shape[2].str(), (floordiv(h - 1, 2) + 1).str());
  t.expect(op, {numbers(F, {2, 1, 3, 4},
                        {-2.125, 1,       0.6875,  1.0625, 0.5625,  1.625,   0.625,   -1,
                         -0.375, 2.5,     -3.5625, -1.5,   1.8125,  2.1875,  -2.9375, 0.125,
                         1.75,   -1.3125, -0.9375, -0.125, -0.4375, -3.0625, 3.9375,  -2.375})});
}

TEST(Convolution, WindowThatDoesNotFitGivesNothing) {
  OpCase t;
  Op* op = conv(t, t.arg(pattern(F, {1, 1, 2})), t.arg(pattern(F, {1, 1, 3})), {});
  t.expect(op, {Literal(F, {1, 1, 0})});
}

std::string first_error(const GraphBuilder& b) {
  return b.errors.empty() ? "" : b.errors[0].message;
}

TEST(Convolution, ConstraintsAreNamed) {
  const auto message = [](ConvAttrs a, std::vector<int64_t> x, std::vector<int64_t> w) {
    OpCase t;
    conv(t, t.arg(Literal(F, x)), t.arg(Literal(F, w)), a);
    return first_error(t.b);
  };
  const std::vector<int64_t> x = {2, 4, 5}, w = {4, 4, 3};
  EXPECT_EQ(message({}, x, w), "");
  const auto has = [&](const std::string& label, ConvAttrs a, std::vector<int64_t> x2,
                       std::vector<int64_t> w2) {
    EXPECT_NE(message(a, x2, w2).find("(" + label + ")"), std::string::npos)
        << label << ": " << message(a, x2, w2);
  };
  has("C1", {.kernel = {0, 1, 2}, .out = {0, 1, 2}}, x, {4, 4, 3, 1});
  has("C2", {.strides = {1, 1}}, x, w);
  has("C3", {.strides = {0}}, x, w);
  has("C4", {.padding = {1}}, x, w);
  has("C5", {.lhs_dilation = {1, 1}}, x, w);
  has("C6", {.lhs_dilation = {0}}, x, w);
  has("C7", {.rhs_dilation = {1, 1}}, x, w);
  has("C8", {.rhs_dilation = {-1}}, x, w);
  has("C9", {.reversal = {0, 0}}, x, w);
  has("C10", {.batch_groups = 4}, x, w);
  has("C11", {.groups = 3}, x, w);
  has("C12", {.in = {0, 1, 2, 3}}, x, w);
  has("C13", {.in = {0, 1, 1}}, x, w);
  has("C14", {}, x, {4, 2, 3});
  has("C15", {.batch_groups = 2}, x, {3, 4, 3});
  has("C16", {.groups = 2}, x, {3, 2, 3});
  has("C17", {.kernel = {0, 1, 2, 3}}, x, w);
  has("C18", {.kernel = {0, 1, 5}}, x, w);
  has("C19", {.out = {0, 1, 2, 3}}, x, w);
  has("C20", {.out = {0, 0, 2}}, x, w);
  has("C21", {.groups = 0}, x, w);
  has("C22", {.batch_groups = -1}, x, w);
  has("C23", {.groups = 2, .batch_groups = 2}, x, w);
  OpCase t;
  conv(t, t.arg(Literal(F, x)), t.arg(Literal(DType::F64, w)), {});
  EXPECT_NE(first_error(t.b).find("(C27)"), std::string::npos);
}

// --- reduce_window -------------------------------------------------------------------------------

struct WindowAttrs {
  std::vector<Dim> window;
  std::vector<int64_t> strides = {}, base = {}, dilations = {};
  std::vector<Dim> padding = {};
};

AttrDict window_attrs(const WindowAttrs& a) {
  AttrDict d{{"window_dimensions", Attr{a.window}}};
  if (!a.strides.empty()) d.push_back({"window_strides", Attr{a.strides}});
  if (!a.base.empty()) d.push_back({"base_dilations", Attr{a.base}});
  if (!a.dilations.empty()) d.push_back({"window_dilations", Attr{a.dilations}});
  if (!a.padding.empty()) d.push_back({"padding", Attr{a.padding}});
  return d;
}

Op* window(OpCase& t, Prim p, Value* x, double init, const WindowAttrs& a) {
  Value* i = t.b.constant(x->type.dtype, init);
  Op* op = t.b.create_open("stablehlo.reduce_window", {x, i}, window_attrs(a));
  t.reducer(op, p, x->type.dtype);
  return t.b.finish(op);
}

TEST(ReduceWindow, MaxPool) {
  OpCase t;
  Op* op = window(
      t, Prim::Max, t.arg(pattern(F, {1, 2, 5, 5})), -INFINITY,
      {.window = {1, 1, 3, 3}, .strides = {1, 1, 2, 2}, .padding = {0, 0, 0, 0, 1, 1, 1, 1}});
  t.expect(op, {numbers(F, {1, 2, 3, 3},
                        {1, 1.25, 1.25, 1, 1, 1.25, 0.75, 1, 0.5, 1.25, 1, 1, 1.25, 1.25, 1, 0.5,
                         1.25, 0.25})});
}

TEST(ReduceWindow, Dilations) {
  OpCase t;
  Op* op = window(t, Prim::Add, t.arg(pattern(F, {1, 2, 5, 5})), 0,
                  {.window = {1, 1, 2, 2},
                   .strides = {1, 1, 1, 2},
                   .base = {1, 1, 2, 1},
                   .dilations = {1, 1, 1, 2},
                   .padding = {0, 0, 0, 0, 0, 1, 1, 0}});
  t.expect(op, {numbers(F, {1, 2, 9, 2},
                        {0.5,   1.75,  1,     0,     1,     0,     -1.25, -1.75, -1.25,
                         -1.75, -0.75, -0.75, -0.75, -0.75, -0.25, 0.25,  -0.25, 0.25,
                         0.25,  1.25,  0.75,  -0.5,  0.75,  -0.5,  1.25,  0.5,   1.25,
                         0.5,   -1,    -1.25, -1,    -1.25, -0.5,  -0.25, -0.5,  -0.25})});
}

TEST(ReduceWindow, SpecificationExample) {
  OpCase t;
  Op* op = window(t, Prim::Add, t.arg(numbers(DType::I64, {3, 2}, {1, 2, 3, 4, 5, 6})), 0,
                  {.window = {2, 1},
                   .strides = {4, 1},
                   .base = {2, 1},
                   .dilations = {3, 1},
                   .padding = {2, 1, 0, 0}});
  t.expect(op, {numbers(DType::I64, {2, 2}, {0, 0, 3, 4})});
}

TEST(ReduceWindow, RunningReductions) {
  const Literal x = pattern(F, {2, 4, 3});
  {
    OpCase t;
    Op* op =
        window(t, Prim::Add, t.arg(x), 0, {.window = {1, 4, 1}, .padding = {0, 0, 3, 0, 0, 0}});
    t.expect(op, {numbers(F, {2, 4, 3}, {-1.25, 0.5,  -0.5, 0,     0.75, -1.25, 1,    0.75,
                                         -2.25, 1.75, 0.5,  -3.5,  0.5,  -0.5,  1.25, 0.75,
                                         -1.25, 2.25, 0.75, -2.25, 3,    0.5,   -3.5, 3.5})});
    EXPECT_EQ(t.text.find("k"), t.text.find("kernel")) << "a scan has no window loop";
  }
  {
    OpCase t;
    Op* op =
        window(t, Prim::Add, t.arg(x), 0, {.window = {1, 4, 1}, .padding = {0, 0, 0, 3, 0, 0}});
    t.expect(op, {numbers(F, {2, 4, 3}, {1.75,  0.5,  -3.5,  3,     0,    -3,    1.75,  -0.25,
                                         -2.25, 0.75, -0.25, -1.25, 0.5,  -3.5,  3.5,   0,
                                         -3,    2.25, -0.25, -2.25, 1.25, -0.25, -1.25, 0.5})});
  }
  {
    OpCase t;  // symbolic length, and a first value that is not the identity: no scan
    const Dim n = Dim::symbol("n", 1);
    Op* op = window(t, Prim::Max, t.arg(x, {2, 4, n}), -INFINITY,
                    {.window = {1, 1, n}, .padding = {0, 0, 0, 0, n - 1, 0}});
    const std::vector<double> want = {-1.25, 0.5,  0.5,  1.25, 1.25, 1.25,  1,     1,
                                      1,     0.75, 0.75, 0.75, 0.5,  0.5,   1.25,  0.25,
                                      0.25,  1,    0,    0,    0.75, -0.25, -0.25, 0.5};
    t.expect(op, {numbers(F, {2, 4, 3}, want)});
    OpCase u;
    Op* offset =
        window(u, Prim::Max, u.arg(x), 0.5, {.window = {1, 1, 3}, .padding = {0, 0, 0, 0, 2, 0}});
    std::vector<double> floor = want;
    for (double& v : floor) v = std::max(v, 0.5);
    u.expect(offset, {numbers(F, {2, 4, 3}, floor)});
  }
}

TEST(ReduceWindow, TwoInputsArgMax) {
  OpCase t;
  Value* x = t.arg(numbers(F, {4}, {1, 5, 5, 2}));
  Value* i = t.arg(numbers(DType::I32, {4}, {0, 1, 2, 3}));
  Value* low = t.b.constant(F, -INFINITY);
  Value* none = t.b.constant_i(DType::I32, -1);
  Op* op = t.b.create_open("stablehlo.reduce_window", {x, i, low, none},
                           window_attrs({.window = {2}, .padding = {1, 0}}));
  t.region(op, {F, DType::I32, F, DType::I32},
           [](GraphBuilder& r, const std::vector<Value*>& a) -> std::vector<Value*> {
             Value* keep = r.compare("GE", a[0], a[2]);
             return {r.select(keep, a[0], a[2]), r.select(keep, a[1], a[3])};
           });
  t.b.finish(op);
  t.expect(op, {numbers(F, {4}, {1, 5, 5, 5}), numbers(DType::I32, {4}, {0, 1, 1, 2})});
}

TEST(ReduceWindow, ConstraintsAreNamed) {
  const auto has = [](const std::string& label, const WindowAttrs& a) {
    OpCase t;
    window(t, Prim::Add, t.arg(Literal(F, {4, 4})), 0, a);
    EXPECT_NE(first_error(t.b).find("(" + label + ")"), std::string::npos)
        << label << ": " << first_error(t.b);
  };
  has("C4", {.window = {1}});
  has("C5", {.window = {1, 0}});
  has("C6", {.window = {1, 1}, .strides = {1}});
  has("C7", {.window = {1, 1}, .strides = {1, 0}});
  has("C8", {.window = {1, 1}, .base = {1}});
  has("C9", {.window = {1, 1}, .base = {1, 0}});
  has("C10", {.window = {1, 1}, .dilations = {1}});
  has("C11", {.window = {1, 1}, .dilations = {1, 0}});
  has("C12", {.window = {1, 1}, .padding = {1, 1}});
  const auto with = [](std::vector<Literal> args, std::vector<DType> region) {
    OpCase t;
    std::vector<Value*> values;
    for (const Literal& l : args) values.push_back(t.arg(l));
    Op* op = t.b.create_open("stablehlo.reduce_window", values, window_attrs({.window = {1}}));
    t.region(op, region,
             [](GraphBuilder&, const std::vector<Value*>& a) { return std::vector<Value*>{a[0]}; });
    t.b.finish(op);
    return first_error(t.b);
  };
  const Literal x(F, {3}), s(F, {});
  EXPECT_NE(with({x, s, s}, {F, F}).find("(C1)"), std::string::npos);
  EXPECT_NE(with({x, Literal(F, {4}), s, s}, {F, F}).find("(C2)"), std::string::npos);
  EXPECT_NE(with({x, x}, {F, F}).find("(C3)"), std::string::npos);
  EXPECT_NE(with({x, s}, {F}).find("(C13)"), std::string::npos);
}

// --- select_and_scatter --------------------------------------------------------------------------

Op* select_and_scatter(OpCase& t, Value* x, Value* source, double init, const WindowAttrs& a) {
  const DType d = x->type.dtype;
  Op* op = t.b.create_open("stablehlo.select_and_scatter", {x, source, t.b.constant(d, init)},
                           window_attrs(a));
  t.region(op, {d, d}, [](GraphBuilder& r, const std::vector<Value*>& v) {
    return std::vector<Value*>{r.compare("GE", v[0], v[1])};
  });
  t.reducer(op, Prim::Add, d);
  return t.b.finish(op);
}

TEST(SelectAndScatter, SpecificationExample) {
  OpCase t;
  Op* op = select_and_scatter(t, t.arg(numbers(DType::I64, {4, 2}, {1, 5, 2, 5, 3, 6, 4, 4})),
                              t.arg(numbers(DType::I64, {2, 2}, {5, 6, 7, 8})), 0,
                              {.window = {3, 1}, .strides = {2, 1}, .padding = {0, 1, 0, 0}});
  t.expect(op, {numbers(DType::I64, {4, 2}, {0, 0, 0, 0, 5, 14, 7, 0})});
}

TEST(SelectAndScatter, OverlappingWindowsAndPadding) {
  // Windows of 3 with stride 1 and padding 1 over [3, 1, 2, 2]: maxima at 0, 0, 2 (first), 2.
  OpCase t;
  Op* op = select_and_scatter(t, t.arg(numbers(F, {4}, {3, 1, 2, 2})),
                              t.arg(numbers(F, {4}, {1, 10, 100, 1000})), 0.5,
                              {.window = {3}, .padding = {1, 1}});
  t.expect(op, {numbers(F, {4}, {11.5, 0.5, 1100.5, 0.5})});
}

TEST(SelectAndScatter, ConstraintsAreNamed) {
  const auto has = [](const std::string& label, const WindowAttrs& a, Literal source,
                      DType init = F) {
    OpCase t;
    Value* x = t.arg(Literal(F, {4}));
    Op* op = t.b.create_open("stablehlo.select_and_scatter",
                             {x, t.arg(source), t.b.constant(init, 0)}, window_attrs(a));
    t.region(op, {F, F}, [](GraphBuilder& r, const std::vector<Value*>& v) {
      return std::vector<Value*>{r.compare("GE", v[0], v[1])};
    });
    t.reducer(op, Prim::Add, F);
    t.b.finish(op);
    EXPECT_NE(first_error(t.b).find("(" + label + ")"), std::string::npos)
        << label << ": " << first_error(t.b);
  };
  const Literal ok(F, {3});
  has("C1", {.window = {2}}, Literal(DType::F64, {3}));
  has("C2", {.window = {2}}, Literal(F, {4}));
  has("C3", {.window = {2}}, ok, DType::F64);
  has("C4", {.window = {2, 1}}, ok);
  has("C5", {.window = {0}}, ok);
  has("C6", {.window = {2}, .strides = {1, 1}}, ok);
  has("C7", {.window = {2}, .strides = {0}}, ok);
  has("C8", {.window = {2}, .padding = {1}}, ok);
  const auto regions = [](int which, const std::string& label) {
    OpCase t;
    Op* op = t.b.create_open("stablehlo.select_and_scatter",
                             {t.arg(Literal(F, {4})), t.arg(Literal(F, {3})), t.b.constant(F, 0)},
                             window_attrs({.window = {2}}));
    for (int i = 0; i < 2; ++i) {
      t.region(op, {F, F}, [&](GraphBuilder& r, const std::vector<Value*>& v) {
        const bool compare = (i == 0) != (which == i);
        return std::vector<Value*>{compare ? r.compare("GE", v[0], v[1]) : v[0]};
      });
    }
    t.b.finish(op);
    EXPECT_NE(first_error(t.b).find("(" + label + ")"), std::string::npos) << first_error(t.b);
  };
  regions(0, "C9");
  regions(1, "C10");
}

}  // namespace
}  // namespace tenfold::test
