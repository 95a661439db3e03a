#include "runtime/programs.h"

namespace tenfold::rt {
namespace {

void multiply_rows(void* const* b, const int64_t*, int64_t begin, int64_t end, void*) {
  auto* t = static_cast<float*>(b[0]);
  auto* x = static_cast<const float*>(b[1]);
  auto* scale = static_cast<const float*>(b[2]);
  for (int64_t i = begin; i < end; ++i)
    for (int64_t j = 0; j < 3; ++j) t[3 * i + j] = x[3 * i + j] * scale[j];
}

void add_one(void* const* b, const int64_t* symbols, int64_t, int64_t, void*) {
  auto* y = static_cast<float*>(b[0]);
  auto* t = static_cast<const float*>(b[1]);
  for (int64_t i = 0; i < 3 * symbols[0]; ++i) y[i] = t[i] + 1;
}

// Params: small, value.
void is_small(void* const* b, const int64_t*, int64_t, int64_t, void*) {
  *static_cast<bool*>(b[0]) = *static_cast<const int64_t*>(b[1]) < 100;
}
void is_not_negative(void* const* b, const int64_t*, int64_t, int64_t, void*) {
  *static_cast<bool*>(b[0]) = *static_cast<const int64_t*>(b[1]) >= 0;
}
// Params: next value, next count, value, count.
void step(void* const* b, const int64_t*, int64_t, int64_t, void*) {
  *static_cast<int64_t*>(b[0]) = 2 * *static_cast<const int64_t*>(b[2]);
  *static_cast<int64_t*>(b[1]) = 1 + *static_cast<const int64_t*>(b[3]);
}

BufferInfo buffer(BufferInfo::Kind kind, std::string name, DType t, std::vector<SizeExpr> dims,
                  int block, int first, int last) {
  BufferInfo b;
  b.kind = kind;
  b.name = std::move(name);
  b.dtype = t;
  b.dims = std::move(dims);
  b.block = block;
  b.first = first;
  b.last = last;
  return b;
}

KernelInfo kernel(std::string name, SizeExpr extent, std::vector<int32_t> symbols) {
  KernelInfo k;
  k.name = name;
  k.phases = {{name, std::move(extent), constant(1000000), constant(0)}};
  k.origins = {"node_" + name};
  k.symbols = std::move(symbols);
  return k;
}

Instr call(int32_t kernel, std::vector<int32_t> args, int results = 1) {
  Instr i;
  i.op = Instr::Op::Call;
  i.a = kernel;
  i.args = std::move(args);
  i.ints = {results};
  return i;
}

void* address(PhaseFunction f) { return reinterpret_cast<void*>(f); }

}  // namespace

SizeExpr constant(int64_t v) { return {{{SizeExpr::Op::Const, v}}}; }
SizeExpr symbol(int32_t s) { return {{{SizeExpr::Op::Sym, s}}}; }
SizeExpr binary(SizeExpr a, SizeExpr::Op op, SizeExpr b) {
  a.steps.insert(a.steps.end(), b.steps.begin(), b.steps.end());
  a.steps.push_back({op, 0});
  return a;
}

Program scale_program() {
  using Kind = BufferInfo::Kind;
  Program p;
  p.model_name = "scale";
  p.target = "cpu";
  p.symbols = {{"n", 1, 1000}};
  std::vector<SizeExpr> rows{symbol(0), constant(3)};
  p.buffers = {buffer(Kind::Input, "x", DType::F32, rows, 0, 0, 2),
               buffer(Kind::Constant, "scale", DType::F32, {constant(3)}, 0, 0, 2),
               buffer(Kind::Temp, "t", DType::F32, rows, 0, 1, 2),
               buffer(Kind::Output, "y", DType::F32, rows, 0, 2, 2)};
  p.kernels = {kernel("multiply_rows", symbol(0), {}), kernel("add_one", constant(1), {0})};
  p.kernels[0].flops = binary(symbol(0), SizeExpr::Op::Mul, constant(3));
  Instr bind;
  bind.op = Instr::Op::BindShape;
  bind.ints = {0, 0, 0};
  p.blocks.resize(1);
  p.blocks[0].instrs = {bind, call(0, {2, 0, 1}), call(1, {3, 2})};
  p.blocks[0].args = {0};
  p.blocks[0].results = {3};
  p.inputs = {0};
  p.outputs = {3};
  p.const_bytes = 12;
  return p;
}

std::vector<float> scale_constants() { return {1, 10, 100}; }

std::unordered_map<std::string, void*> scale_functions() {
  return {{"multiply_rows", address(multiply_rows)}, {"add_one", address(add_one)}};
}

Program count_program() {
  using Kind = BufferInfo::Kind;
  Program p;
  p.model_name = "count";
  p.target = "cpu";
  p.buffers = {buffer(Kind::Input, "x", DType::I64, {}, 0, 0, 5),
               buffer(Kind::Temp, "value", DType::I64, {}, 0, 0, 5),
               buffer(Kind::Output, "count", DType::I64, {}, 0, 0, 5),
               buffer(Kind::Temp, "small", DType::Bool, {}, 1, 0, 1),
               buffer(Kind::Temp, "next_value", DType::I64, {}, 2, 0, 3),
               buffer(Kind::Temp, "next_count", DType::I64, {}, 2, 0, 3),
               buffer(Kind::Constant, "zero", DType::I64, {}, 0, 0, 5),
               buffer(Kind::Temp, "fine", DType::Bool, {}, 0, 0, 5)};
  p.kernels = {kernel("is_small", constant(1), {}), kernel("step", constant(1), {}),
               kernel("is_not_negative", constant(1), {})};
  auto copy = [](int32_t from, int32_t to) {
    Instr i;
    i.op = Instr::Op::Copy;
    i.args = {from, to};
    return i;
  };
  Instr loop;
  loop.op = Instr::Op::While;
  loop.blocks = {1, 2};
  Instr check;
  check.op = Instr::Op::Check;
  check.args = {7};
  check.message = "x is negative";
  p.blocks.resize(3);
  p.blocks[0].instrs = {call(2, {7, 0}), check, copy(0, 1), copy(6, 2), loop};
  p.blocks[0].args = {0};
  p.blocks[0].results = {2};
  p.blocks[1].instrs = {call(0, {3, 1})};
  p.blocks[1].results = {3};
  p.blocks[2].instrs = {call(1, {4, 5, 1, 2}, 2), copy(4, 1), copy(5, 2)};
  p.inputs = {0};
  p.outputs = {2};
  p.const_bytes = 8;
  return p;
}

std::unordered_map<std::string, void*> count_functions() {
  return {{"is_small", address(is_small)},
          {"step", address(step)},
          {"is_not_negative", address(is_not_negative)}};
}

std::shared_ptr<const Executable> executable(Program p, const void* constants,
                                             std::unordered_map<std::string, void*> functions) {
  auto exe = Executable::create(std::move(p), static_cast<const std::byte*>(constants), nullptr,
                                Code::from_table(std::move(functions)));
  TF_CHECK(exe.ok(), exe.ok() ? "" : to_string(exe.errors()));
  return *exe;
}

}  // namespace tenfold::rt
