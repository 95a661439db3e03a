// The same kernels for AArch64 and RISC-V, linked into a small static program and run by QEMU's
// user emulation; results compared with the interpreter, for primitives with this machine's own
// code.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "jit.h"
#include "kernels.h"
#include "loop/interp.h"

namespace tenfold {
namespace {

namespace fs = std::filesystem;

struct Machine {
  const char* name;
  const char* target;
  const char* compiler;
  const char* emulator;
};
const Machine kMachines[] = {
    {"cortex_a72", "cpu:cortex-a72", "aarch64-linux-gnu-gcc", "qemu-aarch64 -cpu max"},
    {"neoverse_n1", "cpu:neoverse-n1", "aarch64-linux-gnu-gcc", "qemu-aarch64 -cpu max"},
    {"rv64gcv_vlen128", "cpu:rv64gcv", "riscv64-linux-gnu-gcc",
     "qemu-riscv64 -cpu rv64,v=true,vlen=128,vext_spec=v1.0"},
    {"rv64gcv_vlen256", "cpu:rv64gcv", "riscv64-linux-gnu-gcc",
     "qemu-riscv64 -cpu rv64,v=true,vlen=256,vext_spec=v1.0"},
    {"rv64gc", "cpu:rv64gc", "riscv64-linux-gnu-gcc", "qemu-riscv64 -cpu rv64"},
};

bool available(const std::string& command) {
  return std::system(
             ("command -v " + command.substr(0, command.find(' ')) + " >/dev/null 2>&1").c_str()) ==
         0;
}

struct TempDir {
  fs::path path;
  TempDir() {
    std::string p = (fs::temp_directory_path() / "tenfold-cross-XXXXXX").string();
    path = mkdtemp(p.data());
  }
  ~TempDir() { fs::remove_all(path); }
};

// Runs every case on `m`; the buffers become what the emulated program left in them.
void run_on(const Machine& m, const std::vector<loop::Kernel>& kernels,
            std::vector<KernelCase>& cases) {
  TempDir dir;
  auto target = backend_cpu.parse_target(m.target);
  ASSERT_TRUE(target.ok()) << to_string(target.errors());
  auto code = backend_cpu.compile(kernels, *target, {});
  ASSERT_TRUE(code.ok()) << to_string(code.errors());
  std::ofstream(dir.path / "k.o", std::ios::binary) << code->object;
  // A shared object for the target links as well.
  std::vector<std::string> exports;
  for (const auto& k : code->kernels) {
    exports.insert(exports.end(), k.phase_symbols.begin(), k.phase_symbols.end());
  }
  auto so = backend_cpu.link_shared(code->object, *target, exports);
  ASSERT_TRUE(so.ok()) << to_string(so.errors());

  std::ofstream c(dir.path / "main.c");
  c << "#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
       "typedef void F(void**, const int64_t*, int64_t, int64_t, void*);\n"
       "static void* get(FILE* f, size_t n) { void* p = aligned_alloc(64, (n + 127) / 64 * 64); "
       "if (fread(p, 1, n, f) != n) exit(3); return p; }\n";
  for (const std::string& e : exports) c << "F " << e << ";\n";
  c << "int main(int argc, char** argv) { FILE* in = fopen(argv[1], \"rb\"); FILE* out = "
       "fopen(argv[2], \"wb\");\n";
  std::ofstream data(dir.path / "data", std::ios::binary);
  for (size_t k = 0; k < kernels.size(); ++k) {
    const auto& kc = code->kernels[k];
    c << "{ void* b[] = {";
    for (const Literal& l : cases[k].buffers) c << "get(in, " << l.byte_count() << "), ";
    c << "0}; int64_t s[] = {";
    for (int64_t s : cases[k].symbols) c << s << ", ";
    c << "0};\n";
    for (size_t p = 0; p < kc.phase_symbols.size(); ++p) {
      const int64_t ws = eval_size(kc.workspace_bytes[p], kernels[k].symbols, cases[k].symbols);
      const int64_t n = eval_size(kc.extents[p], kernels[k].symbols, cases[k].symbols);
      c << "void* w" << p << " = aligned_alloc(64, " << (ws + 64) / 64 * 64 << ");\n"
        << kc.phase_symbols[p] << "(b, s, 0, " << n << ", w" << p << ");\n";
    }
    for (size_t i = 0; i < cases[k].buffers.size(); ++i) {
      const Literal& l = cases[k].buffers[i];
      data.write(reinterpret_cast<const char*>(l.bytes()),
                 static_cast<std::streamsize>(l.byte_count()));
      c << "fwrite(b[" << i << "], 1, " << l.byte_count() << ", out);\n";
    }
    c << "}\n";
  }
  c << "fclose(out); return 0; }\n";
  c.close();
  data.close();
  const std::string d = dir.path.string() + "/";
  ASSERT_EQ(std::system((std::string(m.compiler) + " -O1 -static -o " + d + "a.out " + d +
                         "main.c " + d + "k.o")
                            .c_str()),
            0);
  ASSERT_EQ(
      std::system(
          (std::string(m.emulator) + " " + d + "a.out " + d + "data " + d + "result").c_str()),
      0);
  std::ifstream result(dir.path / "result", std::ios::binary);
  for (KernelCase& kc : cases) {
    for (Literal& l : kc.buffers) {
      result.read(reinterpret_cast<char*>(l.mutable_bytes()),
                  static_cast<std::streamsize>(l.byte_count()));
    }
  }
  ASSERT_TRUE(result.good() || result.eof());
}

std::vector<loop::Kernel> take_kernels(std::vector<KernelCase>& cases) {
  std::vector<loop::Kernel> k;
  for (KernelCase& c : cases) k.push_back(std::move(c.kernel));
  return k;
}

class Cross : public testing::TestWithParam<Machine> {
 protected:
  void SetUp() override {
    if (!available(GetParam().compiler) || !available(GetParam().emulator)) {
      GTEST_SKIP() << GetParam().compiler << " or " << GetParam().emulator << " is not installed";
    }
  }
};

TEST_P(Cross, kernels_give_the_interpreters_bits) {
  std::vector<KernelCase> cases = kernel_cases();
  for (uint64_t seed = 200; seed < 230; ++seed) cases.push_back(random_kernel(seed));
  const std::vector<loop::Kernel> kernels = take_kernels(cases);
  std::vector<KernelCase> want(cases.size());
  for (size_t k = 0; k < kernels.size(); ++k) {
    want[k].buffers = cases[k].buffers;
    std::vector<Literal*> p;
    for (Literal& l : want[k].buffers) p.push_back(&l);
    const Status s = loop::interpret(kernels[k], p, cases[k].symbols);
    ASSERT_TRUE(s.ok()) << to_string(s.errors());
  }
  run_on(GetParam(), kernels, cases);
  for (size_t k = 0; k < kernels.size(); ++k) {
    for (size_t i = 0; i < cases[k].buffers.size(); ++i) {
      EXPECT_TRUE(cases[k].buffers[i].same(want[k].buffers[i]))
          << kernels[k].name << " " << kernels[k].params[i]->name << ": got "
          << cases[k].buffers[i].str(64) << "\nwant " << want[k].buffers[i].str(64);
    }
  }
}

TEST_P(Cross, primitives_give_this_machines_bits) {
  // One machine of each family in the gate; all of them with TENFOLD_LONG_TESTS.
  const std::string machine = GetParam().name;
  if (!std::getenv("TENFOLD_LONG_TESTS") && machine != "cortex_a72" &&
      machine != "rv64gcv_vlen256") {
    GTEST_SKIP() << "a long test; set TENFOLD_LONG_TESTS";
  }
  std::vector<KernelCase> cases = primitive_cases();
  const std::vector<loop::Kernel> kernels = take_kernels(cases);
  std::vector<KernelCase> want(cases.size());
  Jit jit;
  ASSERT_EQ(jit.build(kernels), "");
  for (size_t k = 0; k < kernels.size(); ++k) {
    want[k].buffers = cases[k].buffers;
    std::vector<Literal*> p;
    for (Literal& l : want[k].buffers) p.push_back(&l);
    jit.run(k, p);
  }
  run_on(GetParam(), kernels, cases);
  for (size_t k = 0; k < kernels.size(); ++k) {
    const Literal& got = cases[k].buffers.back();
    const Literal& expected = want[k].buffers.back();
    if (got.same(expected)) continue;
    for (int64_t i = 0; i < got.size(); ++i) {
      const bool complex = is_complex(got.dtype());
      if (complex                 ? got.as_c128(i) == expected.as_c128(i)
          : is_float(got.dtype()) ? got.as_f64(i) == expected.as_f64(i)
                                  : got.as_i64(i) == expected.as_i64(i)) {
        continue;
      }
      if (!complex && is_float(got.dtype()) && std::isnan(got.as_f64(i)) &&
          std::isnan(expected.as_f64(i)))
        continue;
      std::string in;
      for (size_t a = 0; a + 1 < cases[k].buffers.size(); ++a) {
        const Literal& l = cases[k].buffers[a];
        in += " " + (is_float(l.dtype())     ? std::to_string(l.as_f64(i))
                     : is_complex(l.dtype()) ? "?"
                                             : std::to_string(l.as_i64(i)));
      }
      ADD_FAILURE() << kernels[k].name << in << " at " << i;
      break;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, Cross, testing::ValuesIn(kMachines),
                         [](const auto& i) { return std::string(i.param.name); });

}  // namespace
}  // namespace tenfold
