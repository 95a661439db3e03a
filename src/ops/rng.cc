// stablehlo.rng: random numbers of a distribution. Deterministic here.
#include <cmath>
#include <numbers>

#include "ops/attr_util.h"
#include "ops/random_util.h"

namespace tenfold {

namespace {

bool uniform(const Op& op) { return op.str("rng_distribution") == "UNIFORM"; }

// The key: the `seed` attribute, else the user's place of the op (FNV-1a of its text), so that two
// ops of a model differ and a model gives the same numbers in every run.
uint64_t seed_of(const Op& op) {
  if (const Attr* a = op.attr("seed"); a && a->present())
    return static_cast<uint64_t>(a->as<int64_t>());
  uint64_t h = 14695981039346656037u;
  for (char ch : op.loc.text) h = (h ^ static_cast<unsigned char>(ch)) * 1099511628211u;
  return h;
}

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  const TensorType& out = op.result()->type;
  for (int i = 0; i < 2; ++i) {
    const TensorType& t = op.operand(i)->type;
    if (t.rank() != 0 || t.dtype != out.dtype)
      diag.fail("C1", "operand " + std::to_string(i) + " is " + t.str() + ", wanted tensor<" +
                          std::string(name(out.dtype)) + ">");
  }
  const std::string& d = op.str("rng_distribution");
  if (d != "UNIFORM" && d != "NORMAL")
    diag.fail("I4", "rng_distribution is " + d + ", wanted UNIFORM or NORMAL");
  if (d == "NORMAL" && !is_float(out.dtype))
    diag.fail("C2", "a normal distribution wants floats, found " + out.str());
  if (!is_float(out.dtype) && !is_integer(out.dtype))
    diag.fail("C1", "only integers and floats are supported, found " + out.str());
  const TensorType& shape = op.operand(2)->type;
  if (shape.rank() != 1 || !is_integer(shape.dtype) || !diag.equal(shape.shape[0], out.rank()))
    diag.fail("C3",
              "shape is " + shape.str() + ", wanted " + std::to_string(out.rank()) + " integers");
  return {out};
}

DType compute_type(DType t) { return t == DType::F64 ? DType::F64 : DType::F32; }

Result<std::vector<Literal>> eval(EvalContext& c) {
  const Op& op = *c.op;
  const DType t = op.result()->type.dtype;
  Literal out(t, c.shape(op.result()->type));
  const uint64_t seed = seed_of(op);
  const bool fine = compute_type(t) == DType::F64;
  for (int64_t e = 0; e < out.size(); ++e) {
    const auto w = philox({static_cast<uint32_t>(e), static_cast<uint32_t>(e >> 32), 0, 0},
                          {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
    const auto unit = [&](int i) {  // in [0, 1)
      const uint64_t bits = uint64_t{w[2 * i]} | uint64_t{w[2 * i + 1]} << 32;
      return fine ? static_cast<double>(bits >> 11) * 0x1p-53
                  : static_cast<double>(w[2 * i] >> 8) * 0x1p-24;
    };
    if (is_integer(t)) {
      const uint64_t a = static_cast<uint64_t>(c.args[0].as_i64(0));
      const uint64_t range = static_cast<uint64_t>(c.args[1].as_i64(0)) - a;
      const uint64_t bits = uint64_t{w[0]} | uint64_t{w[1]} << 32;
      out.set_i64(e, static_cast<int64_t>(a + (range ? bits % range : bits)));
      continue;
    }
    const double a = c.args[0].as_f64(0), b = c.args[1].as_f64(0);
    if (uniform(op)) {
      out.set_f64(e, a + unit(0) * (b - a));
    } else {
      const double radius = std::sqrt(-2 * std::log(1 - unit(0)));
      out.set_f64(e, a + b * (radius * std::cos(2 * std::numbers::pi * unit(1))));
    }
  }
  return std::vector<Literal>{out};
}

Status emit(EmitContext& c) {
  using namespace loop;
  Builder& b = *c.b;
  const Op& op = *c.op;
  const TensorType& type = op.result()->type;
  const DType t = type.dtype, real = compute_type(t);
  const uint64_t seed = seed_of(op);
  const auto u32 = [](uint64_t v) {
    return int_const(static_cast<int64_t>(v & 0xffffffffu), DType::U32);
  };
  const auto u64 = [](const Expr& e) { return cast(e, DType::U64); };
  const Let let = [&](const Expr& e) { return b.let("w", e); };
  const auto call = [](Prim p, const Expr& x, const Expr& y) { return loop::op(p, {x, y}); };
  std::vector<Expr> dims;
  for (const Dim& d : type.shape) dims.push_back(c.dim(d));
  b.nest("i", dims, [&](const std::vector<Expr>& index) {
    Expr flat = int_const(0);
    for (size_t d = 0; d < dims.size(); ++d) flat = flat * dims[d] + index[d];
    const Expr e = b.let("e", u64(flat));
    const Expr high = call(Prim::ShrL, e, int_const(32, DType::U64));
    const Words w = philox({let(cast(e, DType::U32)), let(cast(high, DType::U32)), u32(0), u32(0)},
                           {u32(seed), u32(seed >> 32)}, let);
    const auto word = [&](int i) {
      return call(Prim::Or, u64(w[2 * i]),
                  call(Prim::Shl, u64(w[2 * i + 1]), int_const(32, DType::U64)));
    };
    if (is_integer(t)) {
      const Expr a = u64(cast(c.operand(0, {}), DType::I64));
      const Expr range = call(Prim::Sub, u64(cast(c.operand(1, {}), DType::I64)), a);
      c.store(0, index, cast(call(Prim::Add, a, call(Prim::Rem, word(0), range)), t));
      return;
    }
    const auto unit = [&](int i) {
      const bool fine = real == DType::F64;
      const Expr bits = fine ? call(Prim::ShrL, word(i), int_const(11, DType::U64))
                             : call(Prim::ShrL, w[2 * i], int_const(8, DType::U32));
      return b.let("u",
                   call(Prim::Mul, cast(bits, real), float_const(fine ? 0x1p-53 : 0x1p-24, real)));
    };
    const Expr a = cast(c.operand(0, {}), real), s = cast(c.operand(1, {}), real);
    Expr v;
    if (uniform(op)) {
      v = call(Prim::Mul, unit(0), call(Prim::Sub, s, a));
    } else {
      const Expr log = loop::op(Prim::Log, {call(Prim::Sub, float_const(1, real), unit(0))});
      const Expr radius = loop::op(Prim::Sqrt, {call(Prim::Mul, float_const(-2, real), log)});
      const Expr angle = call(Prim::Mul, float_const(2 * std::numbers::pi, real), unit(1));
      v = call(Prim::Mul, s, call(Prim::Mul, radius, loop::op(Prim::Cos, {angle})));
    }
    c.store(0, index, cast(call(Prim::Add, a, v), t));
  });
  return ok_status();
}

}  // namespace

extern const OpDef op_rng;
const OpDef op_rng = {
    .name = "stablehlo.rng",
    .summary = "Random numbers of a uniform or normal distribution",
    .doc =
        "Operands: a, b and the shape (read from the stated result type). The numbers are a "
        "function of the element's position and of the op's `seed`, or of its source location "
        "where it has none: the same in every run, and different from op to op. Philox 4x32-10 "
        "and, for NORMAL, the Box-Muller transform.",
    .kind = OpKind::Opaque,
    .min_operands = 3,
    .max_operands = 3,
    .attrs = {{"rng_distribution", AttrKind::Enum, true, "UNIFORM or NORMAL"},
              {"seed", AttrKind::I64, false, "key of the generator"}},
    .infer = infer,
    .explicit_results = true,
    .eval = eval,
    .emit = emit,
    .constraints = {"C1", "C2", "C3", "I4"},
};

}  // namespace tenfold
