// tenfold.cumulative: running sum, product, maximum ... along an axis.
#include <cstring>

#include "ops/_view.h"
#include "ops/reduce_util.h"

namespace tenfold {
namespace {

using loop::Expr;
using Index = std::vector<Expr>;

std::optional<Prim> prim_of(const Op& op) {
  const auto p = prim_from_name(op.str("prim"));
  if (!p) return std::nullopt;
  switch (*p) {
    case Prim::Add:
    case Prim::Mul:
    case Prim::Max:
    case Prim::Min:
    case Prim::And:
    case Prim::Or:
    case Prim::Xor:
      return p;
    default:
      return std::nullopt;
  }
}

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  const TensorType& x = ops::type(op, 0);
  const auto p = prim_of(op);
  if (!p) {
    diag.fail("prim", "prim is " + op.str("prim") + ", wanted add, mul, max, min, and, or or xor");
  } else if (!supports(*p, x.dtype)) {
    diag.fail("unsupported", fmt::format("{} is not defined on {}", name(*p), name(x.dtype)));
  }
  ops::check_range(diag, "axis", "axis", {op.i64("axis")}, x.rank());
  return {x};
}

Result<std::vector<Literal>> eval(EvalContext& ctx) {
  const Op& op = *ctx.op;
  const Prim p = *prim_of(op);
  const int64_t axis = op.i64("axis");
  const bool reverse = op.flag("reverse"), exclusive = op.flag("exclusive");
  const Literal& x = ctx.args[0];
  const bool sums = is_float(x.dtype()) && (p == Prim::Add || p == Prim::Mul);
  // Sums and products of floats are kept in f64 and rounded for each element.
  const DType t = sums ? DType::F64 : x.dtype();
  const Literal wide = convert(x, t);
  Literal out(t, x.dims());
  const int64_t n = x.dims()[axis], inner = row_major_strides(x.dims())[axis];
  const int64_t outer = n * inner == 0 ? 0 : x.size() / (n * inner);
  const auto size = static_cast<int64_t>(byte_size(t));
  std::byte* to = out.size() > 0 ? out.mutable_bytes() : nullptr;
  const Literal one = identity(p, t);
  const int64_t from_identity[2] = {0, 1}, rows[2] = {1, 1};
  const Literal start = ops::filled(one, {exclusive ? inner : 0});
  for (int64_t o = 0; o < outer; ++o) {
    int64_t before = 0;
    for (int64_t k = 0; k < n; ++k) {
      const int64_t at = (o * n + (reverse ? n - 1 - k : k)) * inner * size;
      const std::byte* row = wide.bytes() + (exclusive ? before : at);
      if (k == 0 && exclusive) {
        std::memcpy(to + at, start.bytes(), start.byte_count());
      } else {
        const void* args[2] = {k == 0 ? one.bytes() : to + before, row};
        apply(p, t, args, k == 0 ? from_identity : rows, to + at, inner);
      }
      before = at;
    }
  }
  return ops::one(convert(out, x.dtype()));
}

Status emit(EmitContext& ctx) {
  loop::Builder& b = *ctx.b;
  const Op& op = *ctx.op;
  const Prim p = *prim_of(op);
  const TensorType& x = ops::type(op, 0);
  const int64_t axis = op.i64("axis");
  const DType t = reduce_accumulator(p, x.dtype);
  Shape others = x.shape;
  others.erase(others.begin() + axis);
  b.nest("i", ops::dims_of(ctx, others), [&](const Index& i) {
    const loop::Buffer acc = b.cell("acc", ops::const_expr(identity(p, t), 0));
    const Expr n = ctx.dim(x.shape[axis]);
    b.for_("k", n, [&](Expr k) {
      if (op.flag("reverse")) k = n - 1 - k;
      Index at = i;
      at.insert(at.begin() + axis, k);
      const Expr old = b.let("old", b.get(acc));
      const Expr now = b.let("now", loop::op(p, {old, loop::cast(ctx.operand(0, at), t)}));
      b.set(acc, now);
      ctx.store(0, at, loop::cast(op.flag("exclusive") ? old : now, x.dtype));
    });
  });
  return ok_status();
}

}  // namespace

extern const OpDef op_cumulative;
const OpDef op_cumulative = {
    .name = "tenfold.cumulative",
    .summary = "Running sum, product, maximum and the like along an axis.",
    .doc =
        "exclusive leaves the element itself out (the first is the identity of prim); reverse "
        "runs from the end. Narrow floats are summed in f32 and rounded for each element.",
    .kind = OpKind::Opaque,
    .min_operands = 1,
    .max_operands = 1,
    .attrs = {{"prim", AttrKind::Enum, true, "add, mul, max, min, and, or, xor"},
              {"axis", AttrKind::I64, true, {}, AttrRole::DimIndex},
              {"reverse", AttrKind::Bool, false},
              {"exclusive", AttrKind::Bool, false}},
    .infer = infer,
    .eval = eval,
    .emit = emit,
    .any_layout = true,
    .constraints = {"prim", "axis"},
};

}  // namespace tenfold
