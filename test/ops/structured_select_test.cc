// Selection, sampling and collective ops. Expected numbers are the onnx package's reference
// evaluator's, or worked out by hand.
#include "ops/structured_util.h"

namespace tenfold::test {
namespace {

constexpr DType F = DType::F32, F64 = DType::F64, I64 = DType::I64;
using Ints = std::vector<int64_t>;

Attr text(const std::string& s) { return Attr{s}; }
std::string first_error(const GraphBuilder& b) {
  return b.errors.empty() ? "" : b.errors[0].message;
}
void expect_label(const GraphBuilder& b, const std::string& label) {
  EXPECT_NE(first_error(b).find("(" + label + ")"), std::string::npos)
      << label << ": " << first_error(b);
}

// --- selection -----------------------------------------------------------------------------------

TEST(Nonzero, CountAndPositions) {
  const Literal x = numbers(F, {2, 3}, {0, -1, NAN, -0.0, 0, 5});
  {
    OpCase t;
    t.expect(t.b.create("tenfold.nonzero_count", {t.arg(x)}), {numbers(I64, {}, {3})});
  }
  {
    OpCase t;
    t.bind("c", 3);
    Op* op = t.b.create("tenfold.nonzero", {t.arg(x)},
                        {{"count", Attr{std::vector<Dim>{Dim::symbol("c")}}}});
    t.expect(op, {numbers(I64, {2, 3}, {0, 0, 1, 1, 2, 2})});
  }
  {
    OpCase t;
    Op* op = t.b.create("tenfold.nonzero", {t.arg(numbers(DType::Bool, {}, {1}))},
                        {{"count", Attr{std::vector<Dim>{1}}}});
    t.expect(op, {Literal(I64, {0, 1})});
  }
  OpCase t;
  t.b.create("tenfold.nonzero", {t.arg(x)}, {{"count", Attr{std::vector<Dim>{}}}});
  expect_label(t.b, "C1");
}

TEST(Unique, SortedAndByFirstOccurrence) {
  const Literal x = numbers(F, {7, 1}, {2, NAN, 1, 2, -1, NAN, 1});
  {
    OpCase t;
    t.expect(t.b.create("tenfold.unique", {t.arg(x)}),
             {numbers(I64, {7}, {4, 2, 0, 1, 0, 0, 0}), numbers(I64, {7}, {2, 3, 1, 2, 0, 3, 1}),
              numbers(I64, {7}, {1, 2, 2, 2, 0, 0, 0}), numbers(I64, {}, {4})});
  }
  {
    OpCase t;
    t.expect(t.b.create("tenfold.unique", {t.arg(x)}, {{"sorted", Attr{false}}}),
             {numbers(I64, {7}, {0, 1, 2, 4, 0, 0, 0}), numbers(I64, {7}, {0, 1, 2, 0, 3, 1, 2}),
              numbers(I64, {7}, {2, 2, 2, 1, 0, 0, 0}), numbers(I64, {}, {4})});
  }
}

TEST(Unique, Rows) {
  OpCase t;
  const Dim n = Dim::symbol("n");
  t.expect(t.b.create("tenfold.unique",
                      {t.arg(numbers(DType::I32, {4, 2}, {1, 2, 0, 9, 1, 2, 1, 0}), {n, 2})}),
           {numbers(I64, {4}, {1, 3, 0, 0}), numbers(I64, {4}, {2, 0, 2, 1}),
            numbers(I64, {4}, {1, 1, 2, 0}), numbers(I64, {}, {3})});
  OpCase u;
  u.b.create("tenfold.unique", {u.arg(Literal(F, {3}))});
  expect_label(u.b, "C1");
  OpCase v;
  v.b.create("tenfold.unique", {v.arg(Literal(DType::C64, {3, 1}))});
  expect_label(v.b, "C2");
}

Op* nms(OpCase& t, const Literal& boxes, const Literal& scores, double iou, double score, Dim most,
        bool center = false) {
  return t.b.create("tenfold.nms",
                    {t.arg(boxes), t.arg(scores), t.arg(Literal::scalar(F, iou)),
                     t.arg(Literal::scalar(F, score))},
                    {{"max_output_boxes_per_class", Attr{std::vector<Dim>{most}}},
                     {"center_point_box", Attr{center}}});
}

TEST(Nms, SelectsAsOnnxDoes) {
  const Literal boxes = numbers(
      F, {1, 6, 4}, {-1.25, -0.5,  -0.5,        0.5,         0.25, 1,     1.5,        1.95000005,
                     -1,    -0.25, 0.200000003, 0.649999976, 0.5,  1.25,  1.64999998, 2.0999999,
                     -0.75, 0,     0.349999994, 0.800000012, 0.75, -1.25, 1.79999995, -0.5});
  const Literal scores =
      numbers(F, {1, 2, 6}, {1.25, 0.5, 0.25, 1, 1, 0.25, 0.5, 1.25, 0.75, 0, 0.75, 1.25});
  const std::pair<double, std::vector<double>> cases[] = {
      {0.0, {0, 0, 0, 0, 0, 3, 0, 0, 5, 0, 1, 1, 0, 1, 5, 0, 1, 2}},
      {0.3, {0, 0, 0, 0, 0, 3, 0, 0, 4, 0, 1, 1, 0, 1, 5, 0, 1, 2}},
      {0.6, {0, 0, 0, 0, 0, 3, 0, 0, 4, 0, 1, 1, 0, 1, 5, 0, 1, 2}}};
  for (const auto& [iou, want] : cases) {
    OpCase t;
    t.expect(nms(t, boxes, scores, iou, 0.2, 3),
             {numbers(I64, {6, 3}, want), numbers(I64, {}, {6})});
  }
  Literal positive = boxes;
  for (int64_t i = 0; i < positive.size(); ++i) positive.set_f64(i, std::fabs(boxes.as_f64(i)));
  OpCase t;
  t.expect(nms(t, positive, scores, 0.1, 0.2, 2, true),
           {numbers(I64, {4, 3}, {0, 0, 0, 0, 0, 3, 0, 1, 1, 0, 1, 2}), numbers(I64, {}, {4})});
}

TEST(Nms, ThresholdLeavesRowsEmpty) {
  OpCase t;
  t.expect(nms(t, numbers(F, {1, 2, 4}, {0, 0, 1, 1, 5, 5, 6, 6}),
               numbers(F, {1, 1, 2}, {0.1, 0.9}), 0.5, 0.5, 10),
           {numbers(I64, {2, 3}, {0, 0, 1, 0, 0, 0}), numbers(I64, {}, {1})});
}

TEST(Nms, ConstraintsAreNamed) {
  const Literal boxes(F, {1, 2, 4}), scores(F, {1, 1, 2});
  {
    OpCase t;
    nms(t, Literal(F, {1, 2, 3}), scores, 0, 0, 1);
    expect_label(t.b, "C1");
  }
  {
    OpCase t;
    nms(t, boxes, Literal(F, {1, 1, 3}), 0, 0, 1);
    expect_label(t.b, "C2");
  }
  const auto raw = [&](DType threshold, std::vector<Dim> most, const std::string& label) {
    OpCase t;
    t.b.create("tenfold.nms",
               {t.arg(boxes), t.arg(scores), t.arg(Literal(threshold, {})), t.arg(Literal(F, {}))},
               {{"max_output_boxes_per_class", Attr{most}}});
    expect_label(t.b, label);
  };
  raw(F64, {1}, "C3");
  raw(F, {}, "C4");
}

// --- sampling ------------------------------------------------------------------------------------

Op* roi_align(OpCase& t, const Literal& x, const Literal& rois, const Literal& batch, AttrDict a) {
  return t.b.create("tenfold.roi_align", {t.arg(x), t.arg(rois), t.arg(batch)}, a);
}
AttrDict roi_attrs(int64_t h, int64_t w, int64_t ratio, AttrDict more = {}) {
  AttrDict a{
      {"output_height", Attr{h}}, {"output_width", Attr{w}}, {"sampling_ratio", Attr{ratio}}};
  a.insert(a.end(), more.begin(), more.end());
  return a;
}

TEST(RoiAlign, AverageAdaptiveAndMax) {
  const Literal x = pattern(F, {2, 2, 5, 6}), batch = numbers(I64, {3}, {0, 1, 0});
  const Literal rois = numbers(F, {3, 4}, {0.5, 0.3, 4.2, 3.9, -1, 1, 7, 4.5, 2, 2, 2.2, 2.1});
  {
    OpCase t;
    t.expect(roi_align(t, x, rois, batch, roi_attrs(2, 3, 2)),
             {numbers(F, {3, 2, 2, 3},
                      {0.138020828,   -0.339635313, 0.530494809,  -0.366666734, 0.519791365,
                       -0.0833332464, 0.388020813,  -0.31393224,  0.0440103561, -0.116666727,
                       -0.181249708,  0.0119792223, -0.162109375, 0.151692599,  -0.6875,
                       0.1875,        0.279296935,  0.177734375,  0.087890625,  -0.242838621,
                       -0.4375,       0.4375,       -0.115234435, 0.427734375,  -0.0258333609,
                       0.00375000387, 0.0333333164, 0.0224998966, 0.0612499714, 0.0999999121,
                       -0.54583329,   -0.612500072, -0.679166675, -0.570833266, -0.637500048,
                       -0.704166651})},
             1e-5, 2e-6);
  }
  {
    OpCase t;
    t.expect(roi_align(t, x, rois, batch,
                       roi_attrs(2, 2, 0,
                                 {{"coordinate_transformation_mode", text("output_half_pixel")},
                                  {"spatial_scale", Attr{0.8}}})),
             {numbers(F, {3, 2, 2, 2},
                      {-0.0710499585, 0.27219969,   -0.138750136, 0.430000186,  0.0667500496,
                       0.0139997154,  -0.309499979, 0.0529998913, -0.199999958, -0.0875000507,
                       0.289375037,   0.0650000349, 0.0500000715, -0.249999955, 0.00312493742,
                       0.225625098,   0.711875081,  0.706875026,  0.812500119,  0.725000143,
                       -1.0250001,    -0.562500119, -0.456875175, -0.186875209})},
             1e-5, 2e-6);
  }
  {
    OpCase t;
    t.expect(roi_align(t, x, rois, batch, roi_attrs(2, 2, 1, {{"mode", text("max")}})),
             {numbers(F, {3, 2, 2, 2},
                      {0.138749972,  0.406874955,  0.0187500026, 0.14062503,  0.208124965,
                       0.542499959,  0.028125003,  0.193749875,  0.1875,      0.078125,
                       0.21875,      0.4375,       0.234375,     0.15625,     0.328125,
                       0.546875,     0.360937446,  0.426562548,  0.395312428, 0.467187494,
                       0.0534375086, 0.0415624902, 0.047812514,  0.0371874943})},
             1e-5, 2e-6);
  }
}

TEST(RoiAlign, ConstraintsAreNamed) {
  const Literal x(F, {1, 1, 2, 2}), rois(F, {3, 4}), batch(I64, {3});
  const auto has = [](const std::string& label, const Literal& a, const Literal& r,
                      const Literal& n, AttrDict attrs) {
    OpCase t;
    roi_align(t, a, r, n, attrs);
    expect_label(t.b, label);
  };
  has("C1", Literal(F, {1, 2, 2}), rois, batch, {});
  has("C2", x, Literal(F, {3, 5}), batch, {});
  has("C3", x, rois, Literal(F, {3}), {});
  has("C4", x, rois, batch, {{"mode", text("min")}});
  has("C5", x, rois, batch, roi_attrs(0, 1, 0));
}

TEST(GridSample, ModesPaddingsAndCorners) {
  const Literal x = pattern(F, {1, 2, 3, 4});
  const Literal grid =
      numbers(F, {1, 2, 3, 2}, {-1.0, -0.9, 0.1, 0.2, 0.95, -0.3, 1.4, 0.7, -1.6, 1.2, 0.5, -2.3});
  const auto check = [&](const char* mode, const char* padding, bool align,
                         const std::vector<double>& want) {
    SCOPED_TRACE(std::string(mode) + " " + padding + (align ? " aligned" : ""));
    OpCase t;
    Op* op = t.b.create(
        "tenfold.grid_sample", {t.arg(x), t.arg(grid)},
        {{"mode", text(mode)}, {"padding_mode", text(padding)}, {"align_corners", Attr{align}}});
    t.expect(op, {numbers(F, {1, 2, 2, 3}, want)}, 1e-5, 3e-6);
  };
  check("linear", "zeros", false,
        {-0.40625003, 0.347499996, 0.337499976, 0, 0, 0, 0.162500009, -0.0750001371, -0.262499928,
         0, 0, 0});
  check("linear", "zeros", true,
        {-1.10000002, 0.330000103, 0.388124973, -0.349999905, -0.0799999684, 0, 0.37499997,
         0.099999845, -0.550000131, 0.0200000182, 0.0599999763, 0});
  check("linear", "border", false,
        {-1.25, 0.347499996, 0.56250006, -1.25, -1, 0.375, 0.5, -0.0750001371, -0.43749994, 0.5,
         0.75, 0.75});
  check("linear", "border", true,
        {-1.10000002, 0.330000103, 0.388124973, -0.87500006, -1, -0.0625, 0.37499997, 0.099999845,
         -0.550000131, 0.0500000715, 0.75, 1});
  check("linear", "reflection", false,
        {-1.25, 0.347499996, 0.56250006, -0.949999809, 0.225000083, -0.0624997616, 0.5,
         -0.0750001371, -0.43749994, -0.0250003338, 0.0499999523, -0.443750024});
  check("linear", "reflection", true,
        {-1.10000002, 0.330000103, 0.388124973, -0.274999917, 0.329999983, 0.37500006, 0.37499997,
         0.099999845, -0.550000131, -0.505000114, 0.0450000316, -0.418749988});
  check("nearest", "zeros", false, {-1.25, 1, 0, 0, 0, 0, 0.5, 0, -1, 0, 0, 0});
  check("nearest", "zeros", true, {-1.25, 1, 0, 0, 0, 0, 0.5, 0, -1, 0, 0, 0});
  check("nearest", "border", false, {-1.25, 1, 0, -1.25, -1, -0.5, 0.5, 0, -1, 0.5, 0.75, 1.25});
  check("nearest", "border", true, {-1.25, 1, 0, -1.25, -1, -0.5, 0.5, 0, -1, 0.5, 0.75, 1.25});
  check("nearest", "reflection", false, {-1.25, 1, 0, -1.25, 0.75, 1, 0.5, 0, -1, 0.5, -0.25, 0});
  check("nearest", "reflection", true, {-1.25, 1, 0, -0.25, 0.75, 1, 0.5, 0, -1, -1.25, -0.25, 0});
  check("cubic", "zeros", false,
        {-0.638126671, 0.586688221, 0.521119177, 0.137058824, 0.00973349717, 0, 0.327211976,
         -0.0937807709, -0.500768542, -0.0585548058, -0.00793799572, 0});
  check("cubic", "zeros", true,
        {-1.19450021, 0.515370965, 0.585761249, -0.515365779, -0.0889235213, 0.0181955174,
         0.417750061, 0.201328993, -0.762758553, 0.114743307, 0.0698279887, -0.134151563});
  check("cubic", "border", false,
        {-1.60901475, 0.576201499, 0.706194878, -1.29230464, -1, 0.28125, 0.76097542, -0.0365512557,
         -0.736696959, 0.550765634, 0.75, 0.9140625});
  check("cubic", "border", true,
        {-1.1185627, 0.508210599, 0.50560534, -0.960312963, -1, -0.208984375, 0.387375057,
         0.229429439, -0.739006221, 0.0224377513, 0.75, 1.20800781});
  check("cubic", "reflection", false,
        {-1.92204094, 0.576201499, 0.72206974, -1.06741011, 0.496312499, 0.0339594856, 0.988759518,
         -0.0365512557, -0.828911543, -0.00939611532, 0.0813195705, -0.692211628});
  check("cubic", "reflection", true,
        {-1.20968771, 0.504125953, 0.55138284, -0.531806529, 0.513445437, 0.538415849, 0.463312566,
         0.188168734, -0.742157459, -0.628627896, 0.0141266873, -0.709978163});
}

TEST(GridSample, ThreeDimensions) {
  OpCase t;
  Op* op = t.b.create("tenfold.grid_sample",
                      {t.arg(pattern(F, {1, 1, 2, 3, 2})),
                       t.arg(numbers(F, {1, 1, 1, 2, 3}, {0.3, -0.4, 0.6, -0.9, 0.8, -0.2}))});
  t.expect(op, {numbers(F, {1, 1, 1, 1, 2}, {0.252000004, 0.0480000079})}, 1e-5, 1e-6);
}

TEST(GridSample, ConstraintsAreNamed) {
  const Literal x(F, {1, 1, 2, 2}), grid(F, {1, 2, 2, 2});
  const auto has = [](const std::string& label, const Literal& a, const Literal& g,
                      AttrDict attrs = {}) {
    OpCase t;
    t.b.create("tenfold.grid_sample", {t.arg(a), t.arg(g)}, attrs);
    expect_label(t.b, label);
  };
  has("C1", Literal(F, {1, 1}), Literal(F, {1, 1}));
  has("C2", x, Literal(F, {1, 2, 2, 3}));
  has("C3", x, grid, {{"mode", text("best")}});
  has("C4", x, grid, {{"padding_mode", text("wrap")}});
  has("C5", Literal(I64, {1, 1, 2, 2}), grid);
}

TEST(MaxPoolWithIndices, BothIndexOrders) {
  const std::vector<double> values = {1, 1.25, 1, 1.25, 0.75, 1.25, 0.75, 1, 0, 1, 1.25, 0.25};
  const std::pair<bool, std::vector<double>> cases[] = {
      {false, {6, 3, 6, 14, 9, 14, 20, 17, 18, 28, 25, 26}},
      {true, {9, 12, 9, 11, 6, 11, 17, 20, 24, 19, 22, 26}}};
  for (const auto& [column_major, places] : cases) {
    OpCase t;
    Op* op = t.b.create("tenfold.max_pool_with_indices", {t.arg(pattern(F, {1, 2, 4, 4}))},
                        {{"window_dimensions", Attr{std::vector<Dim>{1, 1, 3, 2}}},
                         {"window_strides", Attr{Ints{1, 1, 2, 1}}},
                         {"window_dilations", Attr{Ints{1, 1, 1, 2}}},
                         {"padding", Attr{std::vector<Dim>{0, 0, 0, 0, 1, 0, 0, 1}}},
                         {"column_major", Attr{column_major}}});
    t.expect(op, {numbers(F, {1, 2, 2, 3}, values), numbers(I64, {1, 2, 2, 3}, places)});
  }
}

TEST(MaxPoolWithIndices, ConstraintsAreNamed) {
  const auto has = [](const std::string& label, DType d, std::vector<Dim> window) {
    OpCase t;
    t.b.create("tenfold.max_pool_with_indices", {t.arg(Literal(d, {4}))},
               {{"window_dimensions", Attr{window}}});
    expect_label(t.b, label);
  };
  has("C1", DType::C64, {2});
  has("C2", F, {2, 1});
  has("C3", F, {0});
}

// --- collectives ---------------------------------------------------------------------------------

Literal groups(Ints dims) {
  Literal g(I64, dims);
  for (int64_t i = 0; i < g.size(); ++i) g.set_i64(i, i);
  return g;
}

TEST(Collectives, AreIdentitiesOnOneDevice) {
  const Literal x = pattern(F, {2, 3});
  {
    OpCase t;
    Op* op = t.b.create_open("stablehlo.all_reduce", {t.arg(x), t.arg(x)},
                             {{"replica_groups", Attr{groups({1, 1})}}});
    t.reducer(op, Prim::Add, F);
    t.expect(t.b.finish(op), {x, x});
  }
  {
    OpCase t;
    t.expect(t.b.create(
                 "stablehlo.all_gather", {t.arg(x)},
                 {{"all_gather_dim", Attr{int64_t{1}}}, {"replica_groups", Attr{groups({1, 1})}}}),
             {x});
  }
  {
    OpCase t;
    Op* op = t.b.create_open("stablehlo.reduce_scatter", {t.arg(x)},
                             {{"scatter_dimension", Attr{int64_t{0}}}});
    t.reducer(op, Prim::Add, F);
    t.expect(t.b.finish(op), {x});
  }
  {
    OpCase t;
    t.expect(t.b.create("stablehlo.all_to_all", {t.arg(x)},
                        {{"split_dimension", Attr{int64_t{0}}},
                         {"concat_dimension", Attr{int64_t{1}}},
                         {"split_count", Attr{int64_t{1}}}}),
             {x});
  }
  {
    OpCase t;
    t.expect(t.b.create("stablehlo.collective_broadcast", {t.arg(x)}), {x});
  }
  for (bool self : {true, false}) {
    OpCase t;
    t.expect(t.b.create("stablehlo.collective_permute", {t.arg(x)},
                        {{"source_target_pairs",
                          Attr{self ? Literal(I64, {1, 2}) : Literal(I64, {0, 2})}}}),
             {self ? x : Literal(F, {2, 3})});
  }
  for (const char* id : {"stablehlo.partition_id", "stablehlo.replica_id"}) {
    OpCase t;
    t.expect(t.b.create(id, {}), {Literal(DType::U32, {})});
  }
}

TEST(Collectives, TypesOfLargerGroupsAndTheirRefusal) {
  OpCase t;
  Op* op =
      t.b.create("stablehlo.all_gather", {t.arg(Literal(F, {2, 3}))},
                 {{"all_gather_dim", Attr{int64_t{1}}}, {"replica_groups", Attr{groups({1, 4})}}});
  EXPECT_EQ(op->result()->type.shape, (Shape{2, 12}));
  const auto r = t.evaluate(op);
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.errors()[0].id, "collective-devices");
  EXPECT_FALSE(t.run_loops(op).ok());
  Op* shuffle = t.b.create("stablehlo.all_to_all", {t.arg(Literal(F, {4, 3}))},
                           {{"split_dimension", Attr{int64_t{0}}},
                            {"concat_dimension", Attr{int64_t{1}}},
                            {"split_count", Attr{int64_t{4}}},
                            {"replica_groups", Attr{groups({1, 4})}}});
  EXPECT_EQ(shuffle->result()->type.shape, (Shape{1, 12}));
}

TEST(Collectives, ConstraintsAreNamed) {
  const Literal x(F, {2, 3}), twice(I64, {1, 2});
  const auto has = [&](const std::string& op, const std::string& label, AttrDict a,
                       Prim region = Prim::Neg) {
    OpCase t;
    Op* o = t.b.create_open("stablehlo." + op, {t.arg(x)}, a);
    if (region != Prim::Neg) t.reducer(o, region, F);
    t.b.finish(o);
    expect_label(t.b, label);
  };
  const Attr bad{twice}, zero{int64_t{0}}, one{int64_t{1}}, two{int64_t{2}};
  has("all_reduce", "C2", {{"replica_groups", bad}}, Prim::Add);
  has("all_gather", "C1", {{"all_gather_dim", two}});
  has("all_gather", "C2", {{"all_gather_dim", one}, {"replica_groups", bad}});
  has("reduce_scatter", "C1",
      {{"scatter_dimension", one}, {"replica_groups", Attr{groups({1, 2})}}}, Prim::Add);
  has("reduce_scatter", "C2", {{"scatter_dimension", two}}, Prim::Add);
  const auto shuffle = [&](int64_t split, int64_t concat, int64_t count, const std::string& label,
                           Ints group) {
    has("all_to_all", label,
        {{"split_dimension", Attr{split}},
         {"concat_dimension", Attr{concat}},
         {"split_count", Attr{count}},
         {"replica_groups", Attr{groups(group)}}});
  };
  shuffle(2, 0, 1, "C1", {1, 1});
  shuffle(1, 0, 2, "C2", {1, 2});
  shuffle(0, 3, 2, "C3", {1, 2});
  shuffle(0, 0, 0, "C4", {1, 1});
  shuffle(0, 1, 2, "C8", {1, 1});
  has("collective_broadcast", "C2", {{"replica_groups", bad}});
  const auto pairs = [&](std::vector<double> v, Ints dims, const std::string& label) {
    has("collective_permute", label, {{"source_target_pairs", Attr{numbers(I64, dims, v)}}});
  };
  pairs({0, 0, 0}, {1, 3}, "C1");
  pairs({0, 1, 0, 2}, {2, 2}, "C2");
  pairs({0, 1, 2, 1}, {2, 2}, "C3");
  for (const char* op : {"all_reduce", "reduce_scatter"}) {
    OpCase t;
    AttrDict a;
    if (op == std::string("reduce_scatter")) a.push_back({"scatter_dimension", zero});
    Op* o = t.b.create_open(std::string("stablehlo.") + op, {t.arg(x)}, a);
    t.region(o, {F}, [](GraphBuilder&, const std::vector<Value*>& v) { return v; });
    t.b.finish(o);
    expect_label(t.b, op == std::string("all_reduce") ? "C5" : "C7");
  }
}

TEST(Unsupported, SaysWhy) {
  for (const char* op : {"after_all", "create_token", "infeed", "outfeed", "send", "recv",
                         "uniform_quantize", "uniform_dequantize"}) {
    OpCase t;
    t.b.create(std::string("stablehlo.") + op, {}, {}, {{F, {}}});
    expect_label(t.b, "unsupported");
  }
}

}  // namespace
}  // namespace tenfold::test
