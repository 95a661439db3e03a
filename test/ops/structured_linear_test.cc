// Transforms, decompositions, normalisation and random numbers. Expected numbers are NumPy's (fft,
// linalg, normalisation), SciPy's (solve_triangular) and known answers of the generators.
#include "ops/structured_util.h"

namespace tenfold::test {
namespace {

constexpr DType F = DType::F32, F64 = DType::F64, I64 = DType::I64;
using Complexes = std::vector<std::complex<double>>;
using Ints = std::vector<int64_t>;

Attr text(const std::string& s) { return Attr{s}; }
std::string first_error(const GraphBuilder& b) {
  return b.errors.empty() ? "" : b.errors[0].message;
}
void expect_label(const GraphBuilder& b, const std::string& label) {
  EXPECT_NE(first_error(b).find("(" + label + ")"), std::string::npos)
      << label << ": " << first_error(b);
}

// pattern() with a second pattern as imaginary part.
Literal complex_pattern(DType t, Ints dims) {
  Literal l(t, dims);
  const Literal re = pattern(F64, dims), im = pattern(F64, dims, 5);
  for (int64_t i = 0; i < l.size(); ++i) l.set_c128(i, {re.as_f64(i), im.as_f64(i)});
  return l;
}

// --- fft -----------------------------------------------------------------------------------------

Op* fft(OpCase& t, const std::string& type, Value* x, Ints length) {
  return t.b.create("stablehlo.fft", {x}, {{"fft_type", text(type)}, {"fft_length", Attr{length}}});
}

TEST(Fft, LengthsOfEveryKind) {
  const std::pair<int64_t, Complexes> cases[] = {
      {1, {{-1.25, -1.25}}},
      {2, {{-0.75, -1.25}, {-1.75, -1.25}}},
      {3, {{-1.25, 0}, {-2.33253175, -2.7410254}, {-0.167468245, -1.0089746}}},
      {8,
       {{0.5, 0.25},
        {-0.292893219, -2.51776695},
        {-1, -0.75},
        {-1.29289322, -5.51776695},
        {-1.5, 3.25},
        {-1.70710678, 1.01776695},
        {-2, -3.75},
        {-2.70710678, -1.98223305}}},
      {12,
       {{-1.25, -1.25},
        {0.549038106, -3.8660254},
        {-0.950961894, -2.8660254},
        {-1.5, -2.5},
        {3.6830127, -5.46410162},
        {-2.04903811, -2.1339746},
        {-2.25, 6.25},
        {-2.45096189, -1.8660254},
        {2.8169873, 1.46410162},
        {-3, -1.5},
        {-3.54903811, -1.1339746},
        {-5.04903811, -0.133974596}}},
      {15,
       {{0, -0.25},
        {2.60805983, -1.10675888},
        {-1.22026129, -0.772577988},
        {-2.10075265, -1.59463002},
        {-1.76011344, -1.64272322},
        {5.10705081, -4.44855716},
        {-3.54568653, 1.13813137},
        {-10.1389705, 1.89331701},
        {0.509158671, 0.881183006},
        {-5.15390694, -1.6885379},
        {1.64294919, -0.551442841},
        {-3.06479311, -5.98708859},
        {-0.449653884, -5.10496345},
        {0.650479625, -2.05232856},
        {-1.83355981, 2.53697722}}},
      {17,
       {{-0.5, 0.25},
        {1.06520543, 0.189628437},
        {-3.54953568, -2.5848837},
        {-2.08738844, -4.191481},
        {-0.850701897, -3.01978305},
        {-0.214770456, -0.604486764},
        {1.78500671, -10.5773413},
        {1.67097986, -0.272630069},
        {-7.93787097, 4.62987446},
        {1.01167673, 2.56327185},
        {-3.41350389, -2.59029947},
        {1.09359055, 2.3960006},
        {2.0293195, -3.62014653},
        {-2.90444455, 0.742028261},
        {-5.56896361, -2.62815595},
        {-2.01495482, -4.31399238},
        {-0.863644468, 2.38239659}}}};
  for (const auto& [n, want] : cases) {
    SCOPED_TRACE(n);
    for (DType d : {DType::C64, DType::C128}) {
      OpCase t;
      t.expect(fft(t, "FFT", t.arg(complex_pattern(d, {n})), {n}), {complexes(d, {n}, want)},
               d == DType::C64 ? 1e-5 : 1e-8, d == DType::C64 ? 1e-5 : 1e-7);
    }
  }
}

TEST(Fft, InverseAndSeveralDimensions) {
  constexpr DType C = DType::C128;
  {
    OpCase t;
    const Dim n = Dim::symbol("n");
    t.expect(fft(t, "IFFT", t.arg(complex_pattern(C, {2, 6}), {n, 6}), {6}),
             {complexes(C, {2, 6},
                        {{-0.0833333333, 0.0416666667},
                         {-0.524919842, -0.32366455},
                         {0.00558227484, -0.107158199},
                         {-0.416666667, 0.291666667},
                         {0.0777510585, -0.684508468},
                         {-0.308413491, -0.468002117},
                         {-0.125, -0.25},
                         {-0.0665865088, 0.134668784},
                         {0.463915608, 0.351175135},
                         {0.0416666667, 0.75},
                         {0.536084392, -0.226175135},
                         {0.149919842, -0.00966878365}})},
             0, 1e-8);
  }
  {
    OpCase t;
    t.expect(fft(t, "FFT", t.arg(complex_pattern(C, {2, 3, 4})), {3, 4}),
             {complexes(C, {2, 3, 4},
                        {{-1.25, -1.25},
                         {-1.5, -2.5},
                         {-2.25, 6.25},
                         {-3, -1.5},
                         {2.35705081, -1.69855716},
                         {2.38156986, -1.375},
                         {-4.125, -5.13156986},
                         {-2.38156986, -4.125},
                         {-1.10705081, 2.19855716},
                         {-2.38156986, -1.375},
                         {-4.125, -0.36843014},
                         {2.38156986, -4.125},
                         {0.5, 0},
                         {1.25, 0.25},
                         {0.5, -7.5},
                         {-0.25, 1.25},
                         {3.73205081, 3.4330127},
                         {-3.75656986, 3.75656986},
                         {2.75, 0},
                         {1.00656986, 1.00656986},
                         {0.267949192, 2.5669873},
                         {1.00656986, -1.00656986},
                         {2.75, 0},
                         {-3.75656986, -3.75656986}})},
             0, 1e-7);
  }
  {
    OpCase t;
    t.expect(fft(t, "FFT", t.arg(complex_pattern(C, {2, 2, 3})), {2, 2, 3}),
             {complexes(C, {2, 2, 3},
                        {{-1.25, -1.25},
                         {3.6830127, -5.46410162},
                         {2.8169873, 1.46410162},
                         {-1.25, 2.25},
                         {-7.51313972, 2.22044605e-16},
                         {2.01313972, 0},
                         {0.25, 1.75},
                         {-2.75, -2.75},
                         {-2.75, -2.75},
                         {-2.75, -2.75},
                         {-2.75, -2.75},
                         {-2.75, -2.75}})},
             0, 1e-7);
  }
}

TEST(Fft, RealTransforms) {
  constexpr DType C = DType::C128;
  {
    OpCase t;
    t.expect(fft(t, "RFFT", t.arg(pattern(F64, {5})), {5}),
             {complexes(C, {3}, {{0.25, 0}, {-1.625, 0.790860062}, {-1.625, -1.81129522}})}, 0,
             1e-8);
  }
  {
    OpCase t;
    t.expect(fft(t, "RFFT", t.arg(pattern(F64, {3, 4})), {3, 4}),
             {complexes(C, {3, 3},
                        {{-1.25, 0},
                         {-2.25, -0.5},
                         {-2.25, 0},
                         {0.625, -1.94855716},
                         {2.38156986, 1.375},
                         {-4.125, -2.38156986},
                         {0.625, 1.94855716},
                         {-2.38156986, 1.375},
                         {-4.125, 2.38156986}})},
             0, 1e-8);
  }
  {
    OpCase t;
    t.expect(fft(t, "IRFFT", t.arg(complex_pattern(C, {2, 4})), {6}),
             {numbers(F64, {2, 6},
                      {0, -0.610843918, 0.360843918, -0.75, -0.360843918, 0.110843918, 0.125,
                       -0.322168784, 0.360843918, 0.625, -0.360843918, -0.177831216})},
             0, 1e-8);
  }
  {
    OpCase t;
    t.expect(fft(t, "IRFFT", t.arg(complex_pattern(C, {3})), {5}),
             {numbers(F64, {5}, {-0.25, -0.320285828, 0.0019214604, -0.949135056, 0.267499424})}, 0,
             1e-8);
  }
  {
    OpCase t;
    t.expect(fft(t, "IRFFT", t.arg(complex_pattern(C, {3, 3})), {3, 4}),
             {numbers(F64, {3, 4},
                      {0.0208333333, 0.229166667, -0.229166667, 0.3125, -0.212419842, -0.244417725,
                       0.167761643, -0.213915608, 0.00408650881, -0.172248942, -0.626094977,
                       -0.286084392})},
             0, 1e-8);
  }
}

TEST(Fft, ConstraintsAreNamed) {
  const auto has = [](const std::string& label, const std::string& type, const Literal& x, Ints n) {
    OpCase t;
    fft(t, type, t.arg(x), n);
    expect_label(t.b, label);
  };
  const Literal c(DType::C64, {2, 4});
  has("I2", "DCT", c, {4});
  has("C1", "FFT", c, {2, 2, 4});
  has("C2", "FFT", Literal(F, {2, 4}), {4});
  has("C2", "RFFT", c, {4});
  has("C3", "FFT", c, {});
  has("C4", "FFT", c, {5});
  has("C5", "IRFFT", c, {4});
}

// --- linear algebra ------------------------------------------------------------------------------

TEST(Cholesky, RealAndComplexBothTriangles) {
  const std::vector<double> spd = {4.0625, -1.0625, -0.75, -1.0625, 4.1875, 2, -0.75, 2, 4},
                            factor = {2.01556444,   0,           0,
                                      -0.527147622, 1.97727474,  0,
                                      -0.372104204, 0.912289082, 1.74047898};
  for (bool lower : {true, false}) {
    OpCase t;
    Literal want = numbers(F64, {3, 3}, factor);
    if (!lower)
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) want.set_f64(i * 3 + j, factor[j * 3 + i]);
    Op* op = t.b.create("stablehlo.cholesky", {t.arg(numbers(F64, {3, 3}, spd))},
                        {{"lower", Attr{lower}}});
    t.expect(op, {want}, 1e-8, 1e-8);
  }
  const Complexes hpd = {{4.375, 0}, {-0.3125, 2.3125}, {-0.3125, -2.3125}, {4.4375, 0}},
                  complex_factor = {
                      {2.09165007, 0}, {0, 0}, {-0.149403576, -1.10558646}, {1.78685678, 0}};
  for (bool lower : {true, false}) {
    OpCase t;
    Complexes want = complex_factor;
    if (!lower) want = {want[0], std::conj(want[2]), want[1], want[3]};
    Op* op = t.b.create("stablehlo.cholesky", {t.arg(complexes(DType::C128, {2, 2}, hpd))},
                        {{"lower", Attr{lower}}});
    t.expect(op, {complexes(DType::C128, {2, 2}, want)}, 1e-8, 1e-8);
  }
}

TEST(Cholesky, SpecificationExampleInABatch) {
  OpCase t;
  const std::vector<double> a = {1, 2, 3, 2, 20, 26, 3, 26, 70}, l = {1, 0, 0, 2, 4, 0, 3, 5, 6};
  std::vector<double> two = a, want = l;
  for (double v : a) two.push_back(4 * v);
  for (double v : l) want.push_back(2 * v);
  Op* op = t.b.create("stablehlo.cholesky",
                      {t.arg(numbers(F, {2, 3, 3}, two), {Dim::symbol("n"), 3, 3})},
                      {{"lower", Attr{true}}});
  t.expect(op, {numbers(F, {2, 3, 3}, want)});
}

TEST(Cholesky, ConstraintsAreNamed) {
  const auto has = [](const std::string& label, const Literal& x) {
    OpCase t;
    t.b.create("stablehlo.cholesky", {t.arg(x)}, {{"lower", Attr{true}}});
    expect_label(t.b, label);
  };
  has("C1", Literal(I64, {2, 2}));
  has("C2", Literal(F, {2}));
  has("C3", Literal(F, {2, 3}));
}

Op* solve(OpCase& t, Value* a, Value* b, bool left, bool lower, bool unit, const std::string& tr) {
  return t.b.create("stablehlo.triangular_solve", {a, b},
                    {{"left_side", Attr{left}},
                     {"lower", Attr{lower}},
                     {"unit_diagonal", Attr{unit}},
                     {"transpose_a", text(tr)}});
}

TEST(TriangularSolve, SidesTrianglesAndTransposes) {
  const std::vector<double> a = {0.75, 0.5, -0.5, 1.25, 2.25, -0.75, 1, 0, 1};
  const Literal A = numbers(F64, {3, 3}, a), B = pattern(F64, {3, 2}, 5);
  Literal Bt(F64, {2, 3});
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 2; ++j) Bt.set_f64(j * 3 + i, B.as_f64(i * 2 + j));
  const auto check = [&](const Literal& b, bool left, bool lower, bool unit, const std::string& tr,
                         const std::vector<double>& want) {
    OpCase t;
    t.expect(solve(t, t.arg(A), t.arg(b), left, lower, unit, tr), {numbers(F64, b.dims(), want)},
             1e-7, 1e-7);
  };
  check(B, true, true, false, "NO_TRANSPOSE",
        {-1.66666667, 0, 1.48148148, -0.111111111, 2.66666667, -0.5});
  check(B, true, false, false, "TRANSPOSE",
        {-1.66666667, 0, 0.925925926, -0.111111111, 0.861111111, -0.583333333});
  check(B, true, true, true, "NO_TRANSPOSE", {-1.25, 0, 2.8125, -0.25, 2.25, -0.5});
  check(Bt, false, false, false, "NO_TRANSPOSE",
        {-1.66666667, 0.925925926, 0.861111111, 0, -0.111111111, -0.583333333});
  OpCase t;
  Op* op = solve(
      t,
      t.arg(complexes(DType::C128, {2, 2}, {{0.75, -1.25}, {0.5, 0}, {-0.5, 1.25}, {3.25, -0.25}})),
      t.arg(complex_pattern(DType::C128, {2, 1})), true, true, false, "ADJOINT");
  t.expect(
      op,
      {complexes(DType::C128, {2, 1}, {{-1.03529412, 0.305882353}, {0.152941176, -0.0117647059}})},
      1e-7, 1e-7);
}

TEST(TriangularSolve, ConstraintsAreNamed) {
  const auto has = [](const std::string& label, const Literal& a, const Literal& b,
                      const std::string& tr = "TRANSPOSE") {
    OpCase t;
    solve(t, t.arg(a), t.arg(b), true, true, false, tr);
    expect_label(t.b, label);
  };
  has("C1", Literal(F, {2, 2}), Literal(F64, {2, 2}));
  has("C2", Literal(F, {2, 2}), Literal(F, {2}));
  has("C3", Literal(F, {2, 2}), Literal(F, {3, 2}));
  has("I6", Literal(F, {2, 2}), Literal(F, {2, 2}), "CONJUGATE");
}

// --- batch norm ----------------------------------------------------------------------------------

const std::vector<double> kScale = {1, 2, .5}, kOffset = {0, 1, -1}, kMean = {.1, .2, .3},
                          kVariance = {1, 2, .5};
AttrDict norm_attrs(int64_t feature = 1) {
  return {{"epsilon", Attr{.01}}, {"feature_index", Attr{feature}}};
}

TEST(BatchNorm, InferenceTrainingAndGradient) {
  const auto vec = [](OpCase& t, const std::vector<double>& v) {
    return t.arg(numbers(F64, {3}, v));
  };
  {
    OpCase t;
    Op* op = t.b.create("stablehlo.batch_norm_inference",
                        {t.arg(pattern(F64, {2, 3, 2})), vec(t, kScale), vec(t, kOffset),
                         vec(t, kMean), vec(t, kVariance)},
                        norm_attrs());
    t.expect(
        op,
        {numbers(F64, {2, 3, 2},
                 {-1.34330021, 0.398014876, 0.0125161378, 2.48122579, -1.035007, -1.73514704,
                  0.895533471, -0.099503719, -0.692829478, 1.77588018, -1.38507702, -2.08521707})},
        1e-7, 1e-8);
  }
  {
    OpCase t;
    const Dim n = Dim::symbol("n", 1);
    Op* op = t.b.create(
        "stablehlo.batch_norm_training",
        {t.arg(pattern(F64, {2, 3, 2}), {n, 3, 2}), vec(t, kScale), vec(t, kOffset)}, norm_attrs());
    t.expect(
        op,
        {numbers(F64, {2, 3, 2},
                 {-1.55850862, 0.519502872, -0.365386534, 3.45769576, -0.33966182, -1.22011273,
                  1.11322044, -0.074214696, -1.45769576, 2.36538653, -0.779887273, -1.66033818}),
         numbers(F64, {3}, {0.0625, 0.125, -0.5}),
         numbers(F64, {3}, {0.69921875, 0.828125, 0.3125})},
        1e-7, 1e-8);
  }
  {
    OpCase t;
    Op* op = t.b.create("stablehlo.batch_norm_grad",
                        {t.arg(pattern(F64, {2, 3, 2})), vec(t, kScale), vec(t, kMean),
                         vec(t, kVariance), t.arg(pattern(F64, {2, 3, 2}, 5))},
                        norm_attrs());
    t.expect(
        op,
        {numbers(F64, {2, 3, 2},
                 {-0.122378491, 0.0708101961, 1.30607374, -0.107578366, 0.826697219, 0.557280585,
                  0.516914431, -0.375294039, 0.0473739593, -1.36627814, 0.691988902, 0.422572268}),
         numbers(F64, {3}, {2.42540315, -1.6134781, 3.18563719}),
         numbers(F64, {3}, {-1.25, 0.5, -0.5})},
        1e-6, 1e-8);
  }
}

TEST(BatchNorm, ConstraintsAreNamed) {
  const Literal x(F, {2, 3}), v(F, {3}), w(F, {2});
  const auto has = [&](const std::string& label, const std::string& op, std::vector<Literal> args,
                       int64_t feature = 1) {
    OpCase t;
    std::vector<Value*> values;
    for (const Literal& l : args) values.push_back(t.arg(l));
    t.b.create("stablehlo.batch_norm_" + op, values, norm_attrs(feature));
    expect_label(t.b, label);
  };
  has("C1", "inference", {x, v, v, v, v}, 2);
  has("C2", "inference", {x, v, v, v, Literal(F64, {3})});
  has("C3", "inference", {x, w, v, v, v});
  has("C4", "inference", {x, v, w, v, v});
  has("C5", "inference", {x, v, v, w, v});
  has("C6", "inference", {x, v, v, v, w});
  has("C1", "training", {x, v, v}, -1);
  has("C2", "training", {Literal(I64, {2, 3}), v, v});
  has("C3", "training", {x, w, v});
  has("C4", "training", {x, v, w});
  has("C1", "grad", {x, v, v, v, x}, 2);
  has("C2", "grad", {x, v, v, v, Literal(F64, {2, 3})});
  has("C3", "grad", {x, w, v, v, x});
  has("C4", "grad", {x, v, w, v, x});
  has("C5", "grad", {x, v, v, w, x});
  has("C6", "grad", {x, v, v, v, v});
}

// --- random numbers ------------------------------------------------------------------------------

Op* bits(OpCase& t, const std::string& algorithm, std::vector<uint64_t> state, TensorType type) {
  const int64_t n = static_cast<int64_t>(state.size());
  Value* s = t.arg(Literal::from<uint64_t>(DType::U64, {n}, state));
  return t.b.create("stablehlo.rng_bit_generator", {s}, {{"rng_algorithm", text(algorithm)}},
                    {s->type, type});
}
Literal u64s(Ints dims, std::vector<uint64_t> v) {
  return Literal::from<uint64_t>(DType::U64, dims, v);
}

// The words of the StableHLO specification's example.
TEST(RngBitGenerator, ThreefryExample) {
  {
    OpCase t;
    t.expect(bits(t, "THREE_FRY", {1, 2}, {DType::U64, {2, 2}}),
             {u64s({2}, {1, 6}), u64s({2, 2}, {9236835810183407956u, 16087790271692313299u,
                                               18212823393184779219u, 2658481902456610144u})});
  }
  {
    OpCase t;  // 32-bit elements: low half first
    std::vector<uint32_t> want;
    for (uint64_t w : {9236835810183407956u, 16087790271692313299u})
      want.push_back(static_cast<uint32_t>(w)), want.push_back(static_cast<uint32_t>(w >> 32));
    want.pop_back();
    t.expect(bits(t, "THREE_FRY", {1, 2}, {DType::U32, {3}}),
             {u64s({2}, {1, 4}), Literal::from<uint32_t>(DType::U32, {3}, want)});
  }
}

// Known answers of Random123's philox4x32-10.
TEST(RngBitGenerator, PhiloxKnownAnswers) {
  const auto join = [](uint64_t low, uint64_t high) { return low | high << 32; };
  {
    OpCase t;
    t.expect(bits(t, "PHILOX", {0, 0}, {DType::U64, {2}}),
             {u64s({2}, {0, 1}),
              u64s({2}, {join(0x6627e8d5, 0xe169c58d), join(0xbc57ac4c, 0x9b00dbd8)})});
  }
  {
    OpCase t;
    const uint64_t ones = ~uint64_t{0};
    t.expect(bits(t, "DEFAULT", {ones, ones, ones}, {DType::U64, {2}}),
             {u64s({3}, {ones, 0, 0}),
              u64s({2}, {join(0x408f276d, 0x41c83b0e), join(0xa20bc7c6, 0x6d5451fd)})});
  }
  for (DType d : {DType::U8, DType::I16, DType::F32}) {
    OpCase t;  // the same low bits of each 32-bit unit
    const uint32_t units[] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    Literal want(d, {3});
    for (int i = 0; i < 3; ++i)
      std::memcpy(want.mutable_bytes() + i * byte_size(d), &units[i], byte_size(d));
    t.expect(bits(t, "PHILOX", {0, 0}, {d, {3}}), {u64s({2}, {0, 1}), want});
  }
}

TEST(RngBitGenerator, ConstraintsAreNamed) {
  const auto has = [](const std::string& label, const std::string& algorithm,
                      std::vector<uint64_t> state, DType d) {
    OpCase t;
    bits(t, algorithm, state, {d, {2}});
    expect_label(t.b, label);
  };
  has("I1", "MERSENNE", {1, 2}, DType::U32);
  has("C2", "THREE_FRY", {1, 2, 3}, DType::U32);
  has("O2", "PHILOX", {1, 2}, DType::C64);
  OpCase t;
  Value* s = t.arg(Literal(F, {2}));
  t.b.create("stablehlo.rng_bit_generator", {s}, {{"rng_algorithm", text("PHILOX")}},
             {s->type, {DType::U32, {2}}});
  expect_label(t.b, "I2");
}

Op* rng(OpCase& t, const std::string& d, const Literal& a, const Literal& b,
        const TensorType& type) {
  return t.b.create("stablehlo.rng",
                    {t.arg(a), t.arg(b), t.arg(Literal::i64s(Ints(type.shape.size(), 1)))},
                    {{"rng_distribution", text(d)}, {"seed", Attr{int64_t{0}}}}, {type});
}

TEST(Rng, UniformFollowsPhilox) {
  {
    OpCase t;  // element 0 is word 0x6627e8d5 of Philox(0, 0): its upper 24 bits
    const double u = static_cast<double>(0x6627e8d5 >> 8) / (1 << 24);
    t.expect(rng(t, "UNIFORM", Literal::scalar(F, 2), Literal::scalar(F, 6), {F, {1}}),
             {numbers(F, {1}, {2 + 4 * u})});
  }
  {
    OpCase t;
    const uint64_t w = 0x6627e8d5u | uint64_t{0xe169c58d} << 32;
    t.expect(rng(t, "UNIFORM", Literal::scalar(DType::I32, -3), Literal::scalar(DType::I32, 4),
                 {DType::I32, {1, 1}}),
             {numbers(DType::I32, {1, 1}, {-3.0 + static_cast<double>(w % 7)})});
  }
}

TEST(Rng, NormalHasItsMoments) {
  OpCase t;
  Op* op = rng(t, "NORMAL", Literal::scalar(F64, 3), Literal::scalar(F64, 2), {F64, {50, 40}});
  const auto a = t.evaluate(op), b = t.run_loops(op);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(compare((*a)[0], (*b)[0], 1e-12, 1e-12).mismatches, 0);
  double sum = 0, squares = 0;
  for (int i = 0; i < 2000; ++i)
    sum += (*a)[0].as_f64(i), squares += (*a)[0].as_f64(i) * (*a)[0].as_f64(i);
  EXPECT_NEAR(sum / 2000, 3, 0.15);
  EXPECT_NEAR(squares / 2000 - 9, 4, 0.9);
}

TEST(Rng, ConstraintsAreNamed) {
  const auto has = [](const std::string& label, const std::string& d, DType a, TensorType type) {
    OpCase t;
    rng(t, d, Literal(a, {}), Literal(a, {}), type);
    expect_label(t.b, label);
  };
  has("C1", "UNIFORM", F, {F64, {1}});
  has("C2", "NORMAL", DType::I32, {DType::I32, {1}});
  has("I4", "BINOMIAL", F, {F, {1}});
  OpCase t;
  t.b.create("stablehlo.rng",
             {t.arg(Literal(F, {})), t.arg(Literal(F, {})), t.arg(Literal(I64, {2}))},
             {{"rng_distribution", text("UNIFORM")}}, {{F, {1}}});
  expect_label(t.b, "C3");
}

}  // namespace
}  // namespace tenfold::test
