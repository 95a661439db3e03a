// Programs as bytes, packages, and what happens to damaged ones.
#include "runtime/artifact.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "runtime/program_bytes.h"
#include "runtime/programs.h"
#include "runtime/signature.h"

namespace tenfold::rt {
namespace {

std::span<const std::byte> bytes_of(const std::string& s) {
  return {reinterpret_cast<const std::byte*>(s.data()), s.size()};
}

std::string package_of(const Program& p, std::span<const float> constants, std::string code = {}) {
  std::string out;
  Status s = write_package(p, std::as_bytes(constants), code, [&](std::span<const std::byte> b) {
    out.append(reinterpret_cast<const char*>(b.data()), b.size());
    return ok_status();
  });
  EXPECT_TRUE(s.ok());
  return out;
}

struct ScaleModel {
  Linked head;
  void* functions[2];
};

// As a linker would lay a model out.
ScaleModel linked_scale(const std::string& package) {
  auto f = scale_functions();
  return {{kLinkedMagic, reinterpret_cast<const std::byte*>(package.data()), package.size(), 2},
          {f.at("multiply_rows"), f.at("add_one")}};
}

TEST(ProgramBytesTest, ComeBackAsTheyWere) {
  for (Program p : {scale_program(), count_program()}) {
    p.features = "+avx2";
    p.kernels[0].bytes = binary(constant(INT64_MIN), SizeExpr::Op::Max, constant(INT64_MAX));
    p.symbols.push_back({"m", INT64_MIN, INT64_MAX});
    p.buffers[0].dynamic = true;
    std::string b = program_bytes(p);
    auto q = read_program(bytes_of(b), "test");
    ASSERT_TRUE(q.ok()) << to_string(q.errors());
    EXPECT_EQ(program_bytes(*q), b);
    EXPECT_EQ(q->model_name, p.model_name);
    EXPECT_EQ(q->features, "+avx2");
    EXPECT_EQ(q->symbols.back().min, INT64_MIN);
    EXPECT_EQ(q->symbols.back().max, INT64_MAX);
    EXPECT_TRUE(q->buffers[0].dynamic);
    EXPECT_EQ(q->buffers.size(), p.buffers.size());
    EXPECT_EQ(q->kernels[0].bytes.steps[0].v, INT64_MIN);
    EXPECT_EQ(q->kernels[1].origins, p.kernels[1].origins);
    EXPECT_EQ(q->blocks[0].instrs.size(), p.blocks[0].instrs.size());
    EXPECT_EQ(q->const_bytes, p.const_bytes);
  }
}

TEST(ProgramBytesTest, CutOffAnywhereIsAnError) {
  std::string b = program_bytes(count_program());
  for (size_t n = 0; n < b.size(); ++n)
    EXPECT_FALSE(read_program(bytes_of(b.substr(0, n)), "test").ok()) << n;
  EXPECT_FALSE(read_program(bytes_of(b + '\0'), "test").ok());
}

TEST(ProgramBytesTest, DamageNeverCrashes) {
  std::string good = program_bytes(count_program());
  Rng rng(1);
  int64_t zero[8] = {};
  int readable = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string b = good;
    for (uint64_t k = 0; k <= rng.below(3); ++k)
      b[rng.below(b.size())] = static_cast<char>(rng.below(256));
    auto p = read_program(bytes_of(b), "test");
    if (!p.ok()) continue;
    ++readable;
    // Whether it is fit to run is found without running it.
    auto exe = Executable::create(std::move(*p), reinterpret_cast<const std::byte*>(zero), nullptr,
                                  Code::from_table(count_functions()));
    if (!exe.ok()) continue;
    inputs_of((*exe)->program());
    outputs_of((*exe)->program());
  }
  EXPECT_GT(readable, 100);
}

TEST(PackageTest, LinkedModelsRun) {
  std::vector<float> constants = scale_constants();
  std::string package = package_of(scale_program(), constants);
  ScaleModel model = linked_scale(package);
  auto exe = load_linked(model.head);
  ASSERT_TRUE(exe.ok()) << to_string(exe.errors());
  Context c(*exe, std::make_shared<ThreadPool>(1));
  std::vector<float> x = {1, 2, 3};
  ASSERT_TRUE(c.run({{x.data(), DType::F32, {1, 3}}}).ok());
  auto* y = static_cast<const float*>(c.outputs()[0].data);
  EXPECT_EQ(y[0], 2);
  EXPECT_EQ(y[1], 21);
  EXPECT_EQ(y[2], 301);
}

TEST(PackageTest, SectionsAreAligned) {
  std::vector<float> constants = scale_constants();
  std::string p = package_of(scale_program(), constants, "code");
  const float first = 1, second = 10;
  std::string pattern(reinterpret_cast<const char*>(&first), 4);
  pattern.append(reinterpret_cast<const char*>(&second), 4);
  size_t at = p.find(pattern);
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(at % 64, 0u);
  EXPECT_EQ(p.rfind("code") % 64, 0u);
}

TEST(PackageTest, DamageIsFound) {
  std::vector<float> constants = scale_constants();
  std::string good = package_of(scale_program(), constants, "no ELF file");
  auto id = [](const std::string& b) {
    auto r = load_package(bytes_of(b), nullptr, "test");
    return r.ok() ? std::string("loaded") : r.errors()[0].id;
  };
  // The undamaged one gets as far as its code.
  EXPECT_EQ(id(good), "read-magic");
  for (size_t n = 0; n < good.size(); ++n) EXPECT_NE(id(good.substr(0, n)), "loaded");
  int unnoticed = 0;
  for (size_t i = 0; i < good.size(); ++i) {
    std::string b = good;
    b[i] = static_cast<char>(b[i] ^ 0x41);
    auto r = load_package(bytes_of(b), nullptr, "test");
    ASSERT_FALSE(r.ok());
    unnoticed += r.errors()[0].id == "read-magic" && i >= 8 && i < good.rfind("no ELF");
  }
  // Only what nothing reads: the reserved part of the header and the padding.
  EXPECT_LT(unnoticed, 32 + 8 * 3 + 3 * 63);
}

TEST(PackageTest, ALaterFormatIsRefusedWithBothVersions) {
  std::vector<float> constants = scale_constants();
  std::string p = package_of(scale_program(), constants);
  p[8] = 99;
  auto r = load_package(bytes_of(p), nullptr, "new.tenfold");
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.errors()[0].id, "artifact-version");
  EXPECT_NE(r.errors()[0].message.find("99"), std::string::npos);
  EXPECT_NE(r.errors()[0].message.find("1 to 1"), std::string::npos);
}

TEST(PackageTest, MissingProcessorFeaturesAreNamed) {
  Program p = scale_program();
#if defined(__x86_64__)
  p.features = "+sse4.1,+avx512vbmi2,-avx512fp16";
  bool has = __builtin_cpu_supports("avx512vbmi2");
#else
  p.features = "+sve";
  bool has = false;
#endif
  std::vector<float> constants = scale_constants();
  std::string package = package_of(p, constants);
  ScaleModel model = linked_scale(package);
  auto exe = load_linked(model.head);
  if (has) {
    EXPECT_TRUE(exe.ok());
  } else {
    ASSERT_FALSE(exe.ok());
    EXPECT_EQ(exe.errors()[0].id, "artifact-features");
  }
}

TEST(CheckSumTest, SeesEveryBitAndTheLength) {
  std::string s(100, 'a');
  uint64_t sum = check_sum(bytes_of(s));
  for (size_t bit = 0; bit < 8 * s.size(); ++bit) {
    std::string t = s;
    t[bit / 8] = static_cast<char>(t[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_NE(check_sum(bytes_of(t)), sum);
  }
  EXPECT_NE(check_sum(bytes_of(s + '\0')), sum);
  EXPECT_NE(check_sum(bytes_of(std::string(1, '\0'))), check_sum(bytes_of("")));
}

TEST(SignatureTest, SaysSizesReadably) {
  Program p;
  p.symbols = {{"n", 0, 9}, {"m", 0, 9}};
  using Op = SizeExpr::Op;
  auto text = [&](SizeExpr e) { return size_text(e, p); };
  EXPECT_EQ(text(constant(3)), "3");
  EXPECT_EQ(text(binary(constant(1), Op::Mul, symbol(0))), "n");
  EXPECT_EQ(text(binary(binary(constant(2), Op::Mul, symbol(0)), Op::Add, constant(1))), "2*n + 1");
  EXPECT_EQ(text(binary(binary(symbol(0), Op::Add, constant(-1)), Op::Mul, symbol(1))),
            "(n - 1)*m");
  EXPECT_EQ(text(binary(symbol(0), Op::FloorDiv, constant(2))), "floordiv(n, 2)");
  EXPECT_EQ(text(binary(constant(2), Op::Mul, constant(3))), "6");
  EXPECT_EQ(size_value(binary(constant(-7), Op::FloorDiv, constant(2)), {}), -4);
  EXPECT_EQ(size_value(binary(symbol(0), Op::Mod, constant(4)), {-1, 0}), 3);
}

}  // namespace
}  // namespace tenfold::rt
