// Parts of the driver that need no compilation.
#include <elf.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "driver/fix_shapes.h"
#include "driver/model_format.h"
#include "driver/object_blob.h"
#include "driver/peak.h"
#include "driver/session.h"
#include "driver/verify.h"
#include "graph/text.h"

namespace tenfold {
namespace {

Literal floats(std::vector<float> v) {
  return Literal::from<float>(DType::F32, {static_cast<int64_t>(v.size())}, v);
}

TEST(RelativeError, IsTheLargestDifferenceOverTheLargestValue) {
  EXPECT_EQ(relative_error(floats({1, 2, 4}), floats({1, 2, 4})), 0);
  EXPECT_DOUBLE_EQ(relative_error(floats({1, 2.5f, 4}), floats({1, 2, 4})), 0.125);
  EXPECT_DOUBLE_EQ(relative_error(floats({1, 2, 4}), floats({1, 2, -8})), 1.5);
  EXPECT_EQ(relative_error(floats({}), floats({})), 0);
  EXPECT_TRUE(std::isinf(relative_error(floats({1e-30f}), floats({0}))));
}

TEST(RelativeError, WantsSpecialValuesInTheirPlaces) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = INFINITY;
  EXPECT_EQ(relative_error(floats({nan, inf, 1}), floats({nan, inf, 1})), 0);
  EXPECT_TRUE(std::isinf(relative_error(floats({nan, 1}), floats({1, nan}))));
  EXPECT_TRUE(std::isinf(relative_error(floats({inf}), floats({-inf}))));
  EXPECT_TRUE(std::isinf(relative_error(floats({3e38f}), floats({inf}))));
}

TEST(RelativeError, WantsIntegersAndShapesExactly) {
  Literal a = Literal::i64s({1, 2, 3}), b = Literal::i64s({1, 2, 4});
  EXPECT_EQ(relative_error(a, a), 0);
  EXPECT_TRUE(std::isinf(relative_error(a, b)));
  EXPECT_TRUE(std::isinf(relative_error(floats({1, 2}), floats({1, 2, 3}))));
  EXPECT_TRUE(std::isinf(relative_error(a, floats({1, 2, 3}))));
  EXPECT_EQ(allowed_error(DType::I64), 0);
  EXPECT_EQ(allowed_error(DType::F32), 1e-4);
  EXPECT_GT(allowed_error(DType::BF16), allowed_error(DType::F16));
}

TEST(ModelFormat, ComesFromSuffixOrContent) {
  auto format = [](const std::string& name, const std::string& content) {
    return model_format(name, std::as_bytes(std::span(content.data(), content.size())));
  };
  EXPECT_EQ(format("a.onnx", ""), ModelFormat::Onnx);
  EXPECT_EQ(format("a.ONNX", "anything"), ModelFormat::Onnx);
  EXPECT_EQ(format("a.mlir", ""), ModelFormat::StableHlo);
  EXPECT_EQ(format("a", "module @m {"), ModelFormat::StableHlo);
  EXPECT_EQ(format("a", "\x08\x0a\x12"), ModelFormat::Onnx);
  EXPECT_EQ(format("a.onnx",
                   "\x7f"
                   "ELF\x02"),
            ModelFormat::Artifact);
  EXPECT_EQ(format("a.bin", std::string("TENFOLD\x1a", 8)), ModelFormat::Artifact);
  EXPECT_EQ(format("a.mlir", "ML\xefR"), ModelFormat::StableHloBytecode);
  EXPECT_EQ(format("a", "\x20\x01\x02\x03TFL3"), ModelFormat::TfLite);
  EXPECT_EQ(format("a.json", "{}"), ModelFormat::Trees);
  EXPECT_EQ(format("a.xyz", "\xff\xfe"), ModelFormat::Unknown);
}

TEST(FixShapes, PutsASizeWhereverTheSymbolStands) {
  auto m = parse_stablehlo(R"(
    func.func @main(%x: tensor<?x3xf32, #tenfold.dims<n, 3>>, %y: tensor<?xf32, #tenfold.dims<n>>)
        -> tensor<?x3xf32, #tenfold.dims<n, 3>> {
      %0 = stablehlo.abs %x : tensor<?x3xf32, #tenfold.dims<n, 3>>
      return %0 : tensor<?x3xf32, #tenfold.dims<n, 3>>
    })",
                           "test");
  ASSERT_TRUE(m.ok()) << to_string(m.errors());
  Module& module = **m;
  EXPECT_FALSE(fix_shapes(module, {{"x", {4, 5}}}).ok());
  EXPECT_FALSE(fix_shapes(module, {{"z", {4}}}).ok());
  EXPECT_FALSE(fix_shapes(module, {{"x", {4, 3}}, {"y", {5}}}).ok());
  ASSERT_TRUE(fix_shapes(module, {{"x", {4, -1}}}).ok());
  EXPECT_EQ(module.main()->body.args[1]->type.str(), "tensor<4xf32>");
  EXPECT_EQ(module.main()->body.results()[0]->type.str(), "tensor<4x3xf32>");
  EXPECT_TRUE(verify(module).ok());
}

TEST(RandomInputs, FitTheSignatureAndTheSeed) {
  rt::Program p;
  p.symbols = {{"n", 1, INT64_MAX}, {"length", 0, 20}};
  auto number = [](int64_t v) { return rt::SizeExpr{{{rt::SizeExpr::Op::Const, v}}}; };
  auto symbol = [](int64_t s) { return rt::SizeExpr{{{rt::SizeExpr::Op::Sym, s}}}; };
  for (DType t : {DType::F32, DType::I64, DType::Bool, DType::U8, DType::BF16, DType::C64}) {
    rt::BufferInfo b;
    b.dtype = t;
    b.dims = {symbol(0), number(3), symbol(1)};
    p.inputs.push_back(static_cast<int32_t>(p.buffers.size()));
    p.buffers.push_back(b);
  }
  auto a = random_inputs(p, 1), b = random_inputs(p, 1), c = random_inputs(p, 2);
  ASSERT_EQ(a.size(), 6u);
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].dims(), (std::vector<int64_t>{1, 3, 20}));
    EXPECT_TRUE(a[i].same(b[i]));
    EXPECT_FALSE(a[i].same(c[i]));
    EXPECT_FALSE(a[i].is_splat());
  }
}

TEST(OrderByName, ListsEveryProblem) {
  auto r = order_by_name({{"a", floats({1})}, {"a", floats({2})}, {"bb", floats({3})}},
                         {"a", "b", "c"}, "m.onnx");
  ASSERT_FALSE(r.ok());
  std::vector<std::string> ids;
  for (const auto& e : r.errors()) ids.push_back(e.id);
  EXPECT_EQ(ids, (std::vector<std::string>{"repeated-input", "unknown-input", "missing-input",
                                           "missing-input"}));
  auto good = order_by_name({{"b", floats({2})}, {"a", floats({1})}}, {"a", "b"}, "m.onnx");
  ASSERT_TRUE(good.ok());
  EXPECT_EQ((*good)[0].as_f64(0), 1);
}

TEST(Peak, IsMeasuredOnce) {
  double first = peak_gflops(1);
  EXPECT_GT(first, 0.05);
  EXPECT_EQ(peak_gflops(1), first);
  EXPECT_FALSE(cpu_name().empty());
}

// An object file with one function, by hand: null, .text, .symtab, .strtab.
std::string tiny_object(uint16_t machine) {
  const std::string names("\0.text\0.symtab\0.strtab\0kernel\0", 30);
  Elf64_Ehdr h{};
  std::memcpy(h.e_ident, ELFMAG, SELFMAG);
  h.e_ident[EI_CLASS] = ELFCLASS64;
  h.e_ident[EI_DATA] = ELFDATA2LSB;
  h.e_type = ET_REL;
  h.e_machine = machine;
  h.e_shentsize = sizeof(Elf64_Shdr);
  h.e_shnum = 4;
  h.e_shstrndx = 3;
  Elf64_Sym symbols[2] = {};
  symbols[1].st_name = 23;
  symbols[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  symbols[1].st_shndx = 1;
  std::string out(sizeof h, '\0');
  Elf64_Shdr s[4] = {};
  auto place = [&](int i, uint32_t name, uint32_t type, const void* data, size_t n) {
    out.resize((out.size() + 7) / 8 * 8);
    s[i].sh_name = name;
    s[i].sh_type = type;
    s[i].sh_offset = out.size();
    s[i].sh_size = n;
    out.append(static_cast<const char*>(data), n);
  };
  place(1, 1, SHT_PROGBITS, "\xc3", 1);
  place(2, 7, SHT_SYMTAB, symbols, sizeof symbols);
  s[2].sh_link = 3;
  s[2].sh_info = 1;
  place(3, 15, SHT_STRTAB, names.data(), names.size());
  out.resize((out.size() + 7) / 8 * 8);
  h.e_shoff = out.size();
  out.append(reinterpret_cast<const char*>(s), sizeof s);
  std::memcpy(out.data(), &h, sizeof h);
  return out;
}

TEST(EmbedPackage, AddsSectionsSymbolsAndRelocations) {
  for (auto [machine, relocation] : {std::pair<uint16_t, uint64_t>{EM_X86_64, R_X86_64_64},
                                     {EM_AARCH64, R_AARCH64_ABS64},
                                     {EM_RISCV, R_RISCV_64}}) {
    auto r = embed_package(tiny_object(machine), "model", {"kernel"}, "PACKAGE");
    ASSERT_TRUE(r.ok()) << to_string(r.errors());
    const std::string& o = *r;
    Elf64_Ehdr h;
    std::memcpy(&h, o.data(), sizeof h);
    ASSERT_EQ(h.e_shnum, 7);
    std::vector<Elf64_Shdr> s(7);
    std::memcpy(s.data(), o.data() + h.e_shoff, 7 * sizeof(Elf64_Shdr));
    EXPECT_EQ(o.substr(s[4].sh_offset, s[4].sh_size), "PACKAGE");
    EXPECT_EQ(s[4].sh_offset % 64, 0u);
    EXPECT_EQ(s[5].sh_size, 32u + 8);
    ASSERT_EQ(s[6].sh_size, 2 * sizeof(Elf64_Rela));
    Elf64_Rela rela[2];
    std::memcpy(rela, o.data() + s[6].sh_offset, sizeof rela);
    EXPECT_EQ(ELF64_R_TYPE(rela[1].r_info), relocation);
    EXPECT_EQ(rela[0].r_offset, 8u);
    EXPECT_EQ(rela[1].r_offset, 32u);
    std::vector<Elf64_Sym> symbols(s[2].sh_size / sizeof(Elf64_Sym));
    std::memcpy(symbols.data(), o.data() + s[2].sh_offset, s[2].sh_size);
    ASSERT_EQ(symbols.size(), 4u);
    auto name = [&](size_t i) {
      return std::string(o.data() + s[3].sh_offset + symbols[i].st_name);
    };
    EXPECT_EQ(name(1), "model_kernel");
    EXPECT_EQ(symbols[1].st_other, STV_HIDDEN);
    EXPECT_EQ(name(2), "model_package");
    EXPECT_EQ(name(3), "model");
    EXPECT_EQ(symbols[3].st_other, STV_DEFAULT);
    EXPECT_EQ(ELF64_R_SYM(rela[1].r_info), 1u);
  }
}

TEST(EmbedPackage, RefusesWhatItDoesNotKnow) {
  EXPECT_FALSE(embed_package("", "m", {}, "p").ok());
  EXPECT_FALSE(embed_package(tiny_object(EM_ARM), "m", {}, "p").ok());
  EXPECT_FALSE(embed_package(tiny_object(EM_X86_64), "m", {"missing"}, "p").ok());
  std::string good = tiny_object(EM_X86_64);
  for (size_t n = 0; n < good.size(); ++n)
    EXPECT_FALSE(embed_package(good.substr(0, n), "m", {"kernel"}, "p").ok()) << n;
}

// A wrong output is reported even when compiling again shows nothing wrong.
TEST(Verify, SaysWhichOutputDiffers) {
  const std::string text = R"(
    func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      %0 = stablehlo.negate %x : tensor<4xf32>
      %1 = stablehlo.abs %x : tensor<4xf32>
      return %0, %1 : tensor<4xf32>, tensor<4xf32>
    })";
  ModelSource source{"m.mlir", std::as_bytes(std::span(text.data(), text.size())), nullptr, true};
  auto session = Session::open(source, {});
  ASSERT_TRUE(session.ok()) << to_string(session.errors());
  std::vector<Literal> inputs = {floats({1, -2, 3, -4})};
  auto outputs = (*session)->run(inputs);
  ASSERT_TRUE(outputs.ok());
  EXPECT_TRUE((*outputs)[0].same(floats({-1, 2, -3, 4})));
  EXPECT_TRUE((*outputs)[1].same(floats({1, 2, 3, 4})));
  auto good = verify_outputs(**session, inputs, *outputs);
  ASSERT_TRUE(good.ok());
  EXPECT_TRUE(good->ok);
  (*outputs)[1] = floats({1, 2, 3, 5});
  auto bad = verify_outputs(**session, inputs, *outputs);
  ASSERT_TRUE(bad.ok());
  EXPECT_FALSE(bad->ok);
  EXPECT_TRUE(bad->outputs[0].ok);
  EXPECT_FALSE(bad->outputs[1].ok);
  EXPECT_EQ(bad->outputs[1].error, 0.25);
  EXPECT_FALSE(bad->detail.empty());
}

}  // namespace
}  // namespace tenfold
