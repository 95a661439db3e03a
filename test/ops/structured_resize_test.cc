// Resize against the reference implementation of the onnx package (ReferenceEvaluator 1.23, opset
// 19) on the pattern of structured_util.h.
#include "ops/structured_util.h"

namespace tenfold::test {
namespace {

constexpr DType F = DType::F32;

struct Case {
  std::string mode;
  std::vector<int64_t> sizes;  // of the last two dimensions
  std::vector<double> want;
  std::vector<double> scales = {};
  AttrDict more = {};
};

AttrDict attrs(const Case& c, bool with_mode) {
  AttrDict a;
  if (with_mode) a.push_back({"mode", Attr{c.mode}});
  a.push_back({"sizes", Attr{std::vector<Dim>{1, 1, c.sizes[0], c.sizes[1]}}});
  if (!c.scales.empty())
    a.push_back({"scales", Attr{numbers(F, {4}, {1, 1, c.scales[0], c.scales[1]})}});
  a.insert(a.end(), c.more.begin(), c.more.end());
  return a;
}

void check(const Case& c) {
  const Literal want = numbers(F, {1, 1, c.sizes[0], c.sizes[1]}, c.want);
  std::vector<std::string> names{"tenfold.resize"};
  bool plain = true;
  for (const auto& [key, value] : c.more)
    plain = plain && key != "antialias" && key != "exclude_outside";
  if (c.mode == "nearest") names.push_back("tenfold.resize_nearest");
  if (c.mode == "linear" && plain) names.push_back("tenfold.resize_linear");
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    OpCase t;
    Op* op =
        t.b.create(name, {t.arg(pattern(F, {1, 1, 4, 5}))}, attrs(c, name == "tenfold.resize"));
    t.expect(op, {want}, 2e-6, 2e-6);
  }
}

Attr text(const char* s) { return Attr{std::string(s)}; }

TEST(Resize, Nearest) {
  check({"nearest", {7, 3}, {-1.25, -0.5,  0.25, -1.25, -0.5, 0.25, -0.75, 0,    0.75, -0.75, 0,
                             0.75,  -0.25, 0.5,  1.25,  0.25, 1,    -1,    0.25, 1,    -1}});
  check(
      {"nearest",
       {8, 10},
       {-1.25, -1.25, 0.5,   0.5,   -0.5,  -0.5,  1.25,  1.25,  0.25,  0.25,  -1.25, -1.25,
        0.5,   0.5,   -0.5,  -0.5,  1.25,  1.25,  0.25,  0.25,  -0.75, -0.75, 1,     1,
        0,     0,     -1,    -1,    0.75,  0.75,  -0.75, -0.75, 1,     1,     0,     0,
        -1,    -1,    0.75,  0.75,  -0.25, -0.25, -1.25, -1.25, 0.5,   0.5,   -0.5,  -0.5,
        1.25,  1.25,  -0.25, -0.25, -1.25, -1.25, 0.5,   0.5,   -0.5,  -0.5,  1.25,  1.25,
        0.25,  0.25,  -0.75, -0.75, 1,     1,     0,     0,     -1,    -1,    0.25,  0.25,
        -0.75, -0.75, 1,     1,     0,     0,     -1,    -1},
       {2, 2},
       {{"coordinate_transformation_mode", text("asymmetric")}, {"nearest_mode", text("floor")}}});
  check({"nearest",
         {7, 3},
         {-1.25, -0.5,  0.25, -0.75, 0,    0.75, -0.75, 0,    0.75, -0.25, 0.5,
          1.25,  -0.25, 0.5,  1.25,  0.25, 1,    -1,    0.25, 1,    -1},
         {},
         {{"coordinate_transformation_mode", text("align_corners")},
          {"nearest_mode", text("ceil")}}});
  check({"nearest",
         {2, 3},
         {-0.75, 0, 0.75, 0.25, 1, -1},
         {0.5, 0.6},
         {{"nearest_mode", text("round_prefer_ceil")}}});
}

TEST(Resize, Linear) {
  check({"linear",
         {6, 3},
         {-0.666666687, -0.5, 0.583333313, -0.416666657, -0.25, 0.375, -0.236111104, 0.0833333358,
          0.25, -0.513888896, 0.416666657, 0.583333313, -0.333333343, 0.75, 0, -0.0833333358, 1,
          -0.666666687}});
  check({"linear",
         {6, 3},
         {-1.25, -0.5, 0.25, -0.949999988, -0.200000003, 0.550000012, -0.649999976, 0.100000001,
          0.850000024, -0.349999994, 0.400000006, 1.14999998, -0.0500000007, 0.699999988,
          0.349999994, 0.25, 1, -1},
         {},
         {{"coordinate_transformation_mode", text("align_corners")}}});
  check({"linear",
         {2, 3},
         {-1.25, -0.499999881, 0.250000238, -0.178571507, 0.571428299, 0.928571463},
         {0.6, 0.6},
         {{"coordinate_transformation_mode", text("align_corners")}}});
  check({"linear",
         {2, 11},
         {-0.857142866, -0.400621176,  0.360248387,  0.762422383,  0.327639759, -0.107142866,
          -0.285714269, -0.464285702,  -0.16459623,  0.340062141,  0.642857134, -0.142857134,
          -0.403726667, -0.838509262,  -0.914596319, -0.153726712, 0.607142866, 0.172360241,
          -0.262422383, -0.0395962447, 0.465062141,  0.767857134},
         {0.7, 2.3},
         {{"coordinate_transformation_mode", text("half_pixel_symmetric")}}});
  check({"linear",
         {3, 3},
         {-0.300000072, 0.150000274, 10, -0.150000066, 0.30000028, 10, 0, 0.450000286, 10},
         {},
         {{"coordinate_transformation_mode", text("tf_crop_and_resize")},
          {"extrapolation_value", Attr{10.0}},
          {"roi", Attr{numbers(F, {8}, {0, 0, 0.4, 0.6, 1, 1, 0.6, 1.2})}}}});
  check({"linear",
         {2, 3},
         {-0.41015625, 0.0416666679, 0.421875, -0.30859375, 0.152777776, -0.078125},
         {},
         {{"antialias", Attr{true}}}});
}

// One output element maps to coordinate 0 under pytorch_half_pixel, as ONNX's text says.
TEST(Resize, PytorchHalfPixelOfOne) {
  check({"linear",
         {1, 3},
         {-0.666666687, -0.5, 0.583333313},
         {},
         {{"coordinate_transformation_mode", text("pytorch_half_pixel")}}});
}

TEST(Resize, Cubic) {
  check({"cubic",
         {6, 7},
         {-1.43115866,  -0.173140377, 0.297106564,  -0.543403029, 1.01229,      1.13399732,
          0.109089047,  -1.20492446,  0.250022858,  0.832179606,  -0.296875,    -0.116822638,
          0.274917901,  0.482643992,  -0.750205755, 0.206338897,  0.754439116,  0.10648194,
          -1.05451715,  -0.40728879,  1.06452858,   -0.308832705, -0.849924982, -0.624565601,
          0.393518269,  -0.541153908, 0.0907648429, 1.5425384,    0.145886526,  -0.893608689,
          -0.774963677, 0.796875,     0.107529335,  -0.150646791, 0.201393977,  0.372120172,
          -0.470445722, -0.310460389, 1.04340315,   0.519209981,  -0.581597209, -1.29282129},
         {},
         {{"cubic_coeff_a", Attr{-0.75}}}});
  check({"cubic",
         {3, 4},
         {-1.04918528, 0.292629719, 0.496762156, 0.365867049, -0.472390503, 0.0836029053,
          -0.653625488, 0.996417761, 0.104404323, -0.247628793, 0.422831476, -0.689966321},
         {},
         {{"cubic_coeff_a", Attr{-0.5}}, {"exclude_outside", Attr{true}}}});
  check({"cubic",
         {2, 3},
         {-0.366860986, 0.0622033589, 0.446724445, -0.337403297, 0.0927676782, -0.0750606433},
         {},
         {{"antialias", Attr{true}}}});
  check({"cubic",
         {2, 3},
         {-0.312341422, 0.0516451932, 0.397675335, -0.371337414, 0.073841475, -0.0432393216},
         {},
         {{"antialias", Attr{true}}, {"exclude_outside", Attr{true}}}});
}

TEST(Resize, IntegersRoundToEven) {
  Literal x(DType::U8, {3, 4});
  for (int64_t i = 0; i < 12; ++i) x.set_i64(i, i * 37 % 256);
  const std::vector<double> want = {6,  56, 105, 65,  115, 79, 154, 204,
                                    39, 89, 139, 103, 46,  96, 145};
  for (const char* name : {"tenfold.resize", "tenfold.resize_linear"}) {
    OpCase t;
    AttrDict a{{"sizes", Attr{std::vector<Dim>{5, 3}}}};
    if (name == std::string("tenfold.resize")) a.push_back({"mode", text("linear")});
    t.expect(t.b.create(name, {t.arg(x)}, a), {numbers(DType::U8, {5, 3}, want)});
  }
}

TEST(Resize, SymbolicSizes) {
  const Dim h = Dim::symbol("h", 1), w = Dim::symbol("w", 1);
  for (const char* name : {"tenfold.resize", "tenfold.resize_nearest"}) {
    OpCase t;
    AttrDict a{{"sizes", Attr{std::vector<Dim>{h * 2, w}}},
               {"coordinate_transformation_mode", text("asymmetric")},
               {"nearest_mode", text("floor")}};
    if (name == std::string("tenfold.resize")) a.push_back({"mode", text("nearest")});
    Op* op = t.b.create(name, {t.arg(numbers(F, {2, 2}, {1, 2, 3, 4}), {h, w})}, a);
    t.expect(op, {numbers(F, {4, 2}, {1, 2, 1, 2, 3, 4, 3, 4})});
  }
  OpCase t;  // antialias with a scale known only at run time
  Op* op = t.b.create("tenfold.resize", {t.arg(numbers(F, {4}, {0, 4, 8, 12}), {h})},
                      {{"mode", text("linear")},
                       {"sizes", Attr{std::vector<Dim>{floordiv(h, 2)}}},
                       {"antialias", Attr{true}}});
  // Taps of a triangle of radius 2 around 0.5: weights .25 (edge) .75 .75 .25.
  t.expect(op,
           {numbers(F, {2},
                    {(0 * .25 + 0 * .75 + 4 * .75 + 8 * .25) / 2,
                     (4 * .25 + 8 * .75 + 12 * .75 + 12 * .25) / 2})},
           1e-6);
}

TEST(Resize, ConstraintsAreNamed) {
  const auto has = [](const std::string& label, DType d, const std::string& name, AttrDict a) {
    OpCase t;
    t.b.create(name, {t.arg(Literal(d, {4}))}, a);
    const std::string m = t.b.errors.empty() ? "" : t.b.errors[0].message;
    EXPECT_NE(m.find("(" + label + ")"), std::string::npos) << label << ": " << m;
  };
  const Attr sizes{std::vector<Dim>{8}};
  has("C1", F, "tenfold.resize", {{"mode", text("best")}, {"sizes", sizes}});
  has("C2", F, "tenfold.resize_linear", {{"sizes", Attr{std::vector<Dim>{8, 8}}}});
  has("C3", F, "tenfold.resize_linear", {{"sizes", sizes}, {"scales", Attr{Literal(F, {2})}}});
  has("C4", F, "tenfold.resize_linear", {{"sizes", sizes}, {"scales", Attr{Literal(F, {1})}}});
  has("C5", DType::Bool, "tenfold.resize_linear", {{"sizes", sizes}});
  has("C6", F, "tenfold.resize_linear", {{"sizes", sizes}, {"antialias", Attr{true}}});
  has("C6", F, "tenfold.resize",
      {{"mode", text("nearest")}, {"sizes", sizes}, {"antialias", Attr{true}}});
  OpCase t;
  t.b.create("tenfold.resize_linear", {t.arg(Literal(F, {0}))}, {{"sizes", sizes}});
  EXPECT_NE(t.b.errors.at(0).message.find("(C7)"), std::string::npos);
}

}  // namespace
}  // namespace tenfold::test
