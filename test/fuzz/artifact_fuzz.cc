// Any bytes given to the readers of compiled models and arrays are a value or errors. Packages
// carry check sums, so the bytes are also tried as the program inside a package that is right
// otherwise. Code is never run: a program whose functions are all known is only checked.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

#include "array/npy.h"
#include "runtime/artifact.h"
#include "runtime/program_bytes.h"
#include "runtime/signature.h"

namespace {

using namespace tenfold;

void phase(void* const*, const int64_t*, int64_t, int64_t, void*) {}

rt::SizeExpr number(int64_t v) { return {{{rt::SizeExpr::Op::Const, v}}}; }

// x -> kernel -> y, with a loop, a branch and a constant.
rt::Program small_program() {
  using I = rt::Instr;
  using K = rt::BufferInfo::Kind;
  rt::Program p;
  p.model_name = "seed", p.target = "cpu";
  p.symbols = {{"n", 1, 1000}};
  const rt::SizeExpr n = {{{rt::SizeExpr::Op::Sym, 0}}};
  const rt::SizeExpr twice = {
      {{rt::SizeExpr::Op::Sym, 0}, {rt::SizeExpr::Op::Const, 2}, {rt::SizeExpr::Op::Mul, 0}}};
  const auto buffer = [&](K kind, const char* name, DType t, std::vector<rt::SizeExpr> dims) {
    rt::BufferInfo b;
    b.kind = kind, b.name = name, b.dtype = t, b.dims = std::move(dims);
    p.buffers.push_back(b);
    return static_cast<int32_t>(p.buffers.size()) - 1;
  };
  const int32_t x = buffer(K::Input, "x", DType::F32, {n, number(3)});
  const int32_t y = buffer(K::Output, "y", DType::F32, {twice, number(3)});
  const int32_t c = buffer(K::Constant, "w", DType::F32, {number(4)});
  const int32_t t = buffer(K::Temp, "t", DType::F32, {n, number(3)});
  const int32_t g = buffer(K::Temp, "g", DType::Bool, {});
  p.const_bytes = 64;
  rt::KernelInfo k;
  k.name = "k", k.origins = {"node"}, k.symbols = {0}, k.flops = twice, k.bytes = number(1);
  k.phases = {{"k_0", n, number(10), number(64)}};
  p.kernels = {k};
  p.blocks.resize(3);
  p.blocks[0].args = {x};
  p.blocks[0].results = {y};
  p.blocks[0].instrs = {{.op = I::Op::BindShape, .ints = {x, 0, 0}},
                        {.op = I::Op::Call, .args = {t, x, c}, .ints = {1}},
                        {.op = I::Op::While, .blocks = {1, 2}},
                        {.op = I::Op::Check, .args = {g}, .message = "no"},
                        {.op = I::Op::CheckSizes, .sizes = {n, twice}, .message = "no"},
                        {.op = I::Op::Copy, .args = {t, y}}};
  p.blocks[1].results = {g};
  p.inputs = {x}, p.outputs = {y};
  return p;
}

std::string package(std::string_view program) {
  // The header that write_package makes, around a program that need not parse.
  std::string out;
  const auto put = [&](uint64_t v, int bytes) {
    for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(v >> (8 * i)));
  };
  const auto sum = [](std::string_view s) {
    return rt::check_sum({reinterpret_cast<const std::byte*>(s.data()), s.size()});
  };
  const std::string constants(64, '\0');
  const uint64_t at = 128, constants_at = (at + program.size() + 63) / 64 * 64;
  std::string table;
  out.swap(table);
  for (int i = 0; i < 2; ++i) {
    put(i + 1, 4), put(0, 4);
    put(i ? constants_at : at, 8), put(i ? constants.size() : program.size(), 8);
    put(sum(i ? std::string_view(constants) : program), 8);
  }
  out.swap(table);
  out.append("TENFOLD\x1a", 8);
  put(rt::kPackageVersion, 4), put(2, 4), put(constants_at + constants.size(), 8);
  put(sum(table), 8);
  out.resize(64, '\0');
  out += table;
  out.resize(at, '\0');
  out += program;
  out.resize(constants_at, '\0');
  out += constants;
  return out;
}

void use(const Literal& l) {  // every byte is there
  volatile unsigned sum = 0;
  for (size_t i = 0; i < l.byte_count(); ++i) sum = sum + static_cast<unsigned>(l.bytes()[i]);
}

}  // namespace

extern "C" void tenfold_fuzz_seeds(std::vector<std::string>* seeds) {
  const std::string program = rt::program_bytes(small_program());
  seeds->push_back(program);
  seeds->push_back(package(program));
  Literal l(DType::F32, {2, 3});
  seeds->push_back(npy_bytes(l));
  seeds->push_back(npy_bytes(Literal(DType::I8, {0, 4})));
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  auto program = rt::read_program(bytes, "fuzz");
  if (program.ok()) {
    if (rt::program_bytes(*program) != std::string(reinterpret_cast<const char*>(data), size)) {
      auto again = rt::program_bytes(*program);
      auto twice = rt::read_program(
          {reinterpret_cast<const std::byte*>(again.data()), again.size()}, "fuzz");
      if (!twice.ok() || rt::program_bytes(*twice) != again) std::abort();
    }
    std::unordered_map<std::string, void*> functions;
    for (const auto& k : program->kernels) {
      for (const auto& p : k.phases) functions[p.symbol] = reinterpret_cast<void*>(&phase);
    }
    const uint64_t need = program->const_bytes;
    if (need <= 4096) {
      static const auto* constants = static_cast<std::byte*>(std::aligned_alloc(64, 4096));
      auto exe =
          rt::Executable::create(*program, constants, nullptr, rt::Code::from_table(functions));
      if (exe.ok()) {
        rt::inputs_of((*exe)->program());
        rt::outputs_of((*exe)->program());
      }
    }
  }
  // No section of code: at most the program is read and refused.
  const std::string around = package({reinterpret_cast<const char*>(data), size});
  (void)rt::load_package({reinterpret_cast<const std::byte*>(around.data()), around.size()},
                         nullptr, "fuzz.tenfold");
  if (rt::looks_like_artifact(bytes) && size < 4096) {
    (void)rt::load_package(bytes, nullptr, "fuzz.tenfold");
  }
  if (auto a = read_npy(bytes, nullptr, "fuzz.npy"); a.ok()) use(*a);
  if (auto z = read_npz(bytes, nullptr, "fuzz.npz"); z.ok()) {
    for (const auto& e : *z) use(e.value);
  }
  return 0;
}
