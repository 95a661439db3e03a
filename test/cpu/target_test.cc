// Targets by name, refusals, and what compile() promises besides right numbers.
#include <gtest/gtest.h>

#include <elf.h>

#include <cstring>

#include "jit.h"
#include "kernels.h"
#include "loop/builder.h"

namespace tenfold {
namespace {

TEST(Targets, known_machines_have_their_registers) {
  struct Row {
    const char* name;
    int bytes;
    bool masked;
    bool vnni;
    bool dotprod;
  };
  for (const Row& r : {Row{"cpu:skylake-avx512", 64, true, false, false},
                       {"cpu:haswell", 32, false, false, false},
                       {"cpu:znver4", 64, true, true, false},
                       {"cpu:x86-64-v3", 32, false, false, false},
                       {"cpu:sapphirerapids", 64, true, true, false},
                       {"cpu:cortex-a72", 16, false, false, false},
                       {"cpu:neoverse-n1", 16, false, false, true},
                       {"cpu:apple-m1", 16, false, false, true},
                       {"cpu:rv64gcv", 32, true, false, false},
                       {"cpu:rv64gc", 8, false, false, false}}) {
    auto t = backend_cpu.parse_target(r.name);
    ASSERT_TRUE(t.ok()) << to_string(t.errors());
    EXPECT_EQ(t->machine.vector_bytes, r.bytes) << r.name;
    EXPECT_EQ(t->machine.masked, r.masked) << r.name;
    EXPECT_EQ(t->vnni, r.vnni) << r.name;
    EXPECT_EQ(t->dotprod, r.dotprod) << r.name;
    EXPECT_FALSE(t->host);
  }
  auto host = backend_cpu.parse_target("cpu");
  ASSERT_TRUE(host.ok());
  EXPECT_TRUE(host->host);
  EXPECT_GE(host->machine.cores, 1);
}

TEST(Targets, every_listed_one_parses) {
  for (const std::string& n : backend_cpu.targets()) {
    auto t = backend_cpu.parse_target(n);
    EXPECT_TRUE(t.ok()) << n << ": " << to_string(t.errors());
  }
}

TEST(Targets, a_wrong_name_is_refused_with_near_ones) {
  auto t = backend_cpu.parse_target("cpu:skylake-avx51");
  ASSERT_FALSE(t.ok());
  EXPECT_EQ(t.errors()[0].id, "unknown-target");
  EXPECT_NE(t.errors()[0].message.find("cpu:skylake-avx512"), std::string::npos)
      << t.errors()[0].message;
  EXPECT_FALSE(backend_cpu.parse_target("cpu:").ok());
  EXPECT_FALSE(backend_cpu.parse_target("gpu").ok());
  EXPECT_FALSE(backend_cpu.parse_target("cpu:rv64gzz").ok());
  auto old = backend_cpu.parse_target("cpu:x86-64");
  ASSERT_FALSE(old.ok());
  EXPECT_EQ(old.errors()[0].id, "target-too-old");
}

TEST(Compile, equal_kernels_share_their_code) {
  std::vector<KernelCase> a = kernel_cases(), b = kernel_cases();
  std::vector<loop::Kernel> k;
  k.push_back(std::move(a[0].kernel));
  k.push_back(std::move(b[0].kernel));
  k.push_back(std::move(b[1].kernel));
  k[1].name = "another_name";
  auto t = backend_cpu.parse_target("cpu");
  auto c = backend_cpu.compile(k, *t, {});
  ASSERT_TRUE(c.ok()) << to_string(c.errors());
  EXPECT_EQ(c->kernels[0].phase_symbols, c->kernels[1].phase_symbols);
  EXPECT_NE(c->kernels[0].phase_symbols, c->kernels[2].phase_symbols);
}

TEST(Compile, an_unknown_intrinsic_is_an_error) {
  std::vector<loop::Kernel> k(1);
  k[0].name = "k";
  auto s = std::make_unique<loop::Stmt>();
  s->kind = loop::Stmt::Kind::Intrinsic;
  s->name = "mxu_matmul";
  k[0].body.push_back(std::move(s));
  auto t = backend_cpu.parse_target("cpu");
  auto c = backend_cpu.compile(k, *t, {});
  ASSERT_FALSE(c.ok());
  EXPECT_EQ(c.errors()[0].id, "cpu-unknown-intrinsic");
}

// Self-contained: the object asks for no symbol from outside, for any kernel of the collection.
TEST(Compile, objects_have_no_undefined_symbols) {
  for (const char* name :
       {"cpu", "cpu:haswell", "cpu:skylake-avx512", "cpu:cortex-a72", "cpu:rv64gcv"}) {
    std::vector<KernelCase> cases = kernel_cases();
    for (KernelCase& c : primitive_cases()) cases.push_back(std::move(c));
    std::vector<loop::Kernel> kernels;
    for (size_t i = 0; i < cases.size(); i += 5) kernels.push_back(std::move(cases[i].kernel));
    auto t = backend_cpu.parse_target(name);
    auto c = backend_cpu.compile(kernels, *t, {});
    ASSERT_TRUE(c.ok()) << to_string(c.errors());
    const auto* h = reinterpret_cast<const Elf64_Ehdr*>(c->object.data());
    const auto* sections = reinterpret_cast<const Elf64_Shdr*>(c->object.data() + h->e_shoff);
    for (int s = 0; s < h->e_shnum; ++s) {
      if (sections[s].sh_type != SHT_SYMTAB) continue;
      const char* names = c->object.data() + sections[sections[s].sh_link].sh_offset;
      const auto* syms =
          reinterpret_cast<const Elf64_Sym*>(c->object.data() + sections[s].sh_offset);
      for (uint64_t i = 1; i < sections[s].sh_size / sizeof(Elf64_Sym); ++i) {
        if (ELF64_ST_BIND(syms[i].st_info) != STB_GLOBAL) continue;
        EXPECT_NE(syms[i].st_shndx, SHN_UNDEF) << name << ": " << names + syms[i].st_name;
      }
    }
  }
}

TEST(Compile, dumps_come_when_asked_for) {
  std::vector<KernelCase> cases = kernel_cases();
  std::vector<loop::Kernel> k;
  k.push_back(std::move(cases[0].kernel));
  auto t = backend_cpu.parse_target("cpu");
  auto c = backend_cpu.compile(k, *t, {.want_ir = true, .want_asm = true});
  ASSERT_TRUE(c.ok());
  EXPECT_NE(c->ir_dump.find("define"), std::string::npos);
  EXPECT_NE(c->asm_dump.find("ret"), std::string::npos);
}

// A sum over k becomes fma; the same expression outside a sum must not.
TEST(Compile, only_sums_contract) {
  auto build = [](bool sum) {
    loop::Kernel k;
    k.name = "c";
    for (const char* n : {"a", "b", "y"}) {
      auto p = std::make_shared<loop::BufferDef>();
      p->name = n;
      p->shape = {loop::int_const(64)};
      k.params.push_back(p);
    }
    k.param_written = {false, false, true};
    loop::Builder b(&k);
    b.for_("i", loop::int_const(64), [&](loop::Expr i) {
      loop::Expr at = sum ? loop::int_const(0) : i;
      b.store(k.params[2], {at},
              loop::op(Prim::Add, {loop::load(k.params[2], {at}),
                                   loop::op(Prim::Mul, {loop::load(k.params[0], {i}),
                                                        loop::load(k.params[1], {i})})}));
    });
    return k;
  };
  for (bool sum : {false, true}) {
    std::vector<loop::Kernel> k;
    k.push_back(build(sum));
    auto t = backend_cpu.parse_target("cpu:haswell");
    auto c = backend_cpu.compile(k, *t, {.want_asm = true});
    ASSERT_TRUE(c.ok());
    EXPECT_EQ(c->asm_dump.find("vfmadd") != std::string::npos, sum) << c->asm_dump;
  }
}

}  // namespace
}  // namespace tenfold
