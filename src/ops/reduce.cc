// stablehlo.reduce: folds dimensions with a reducer region; several arrays may be folded together.
#include <algorithm>

#include "ops/_view.h"
#include "ops/reduce_util.h"

namespace tenfold {
namespace {

using loop::Expr;
using Index = std::vector<Expr>;

bool is_promotable(DType from, DType to) {
  const auto kind = [](DType t) {
    return t == DType::Bool ? 0 : is_integer(t) ? (is_signed(t) ? 1 : 2) : is_complex(t) ? 4 : 3;
  };
  return kind(from) == kind(to) && bit_width(from) <= bit_width(to);
}

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  const int n = op.num_operands() / 2;
  if (n == 0 || op.num_operands() % 2 != 0) {
    diag.fail("C3", fmt::format("has {} operands, wanted as many inputs as initial values",
                                op.num_operands()));
    return ops::stated_types(op);
  }
  const TensorType& x = ops::type(op, 0);
  const auto& dims = op.i64s("dimensions");
  ops::check_range(diag, "C4", "dimensions", dims, x.rank());
  ops::check_unique(diag, "C5", "dimensions", dims);
  Shape shape = x.shape;
  for (int i = 0; i < n; ++i) {
    const TensorType &in = ops::type(op, i), &init = ops::type(op, n + i);
    if (ops::check_shapes(diag, "C1", "inputs", x.shape, in.shape)) {
      shape = ops::merge(shape, in.shape);
    }
    ops::check_dtypes(diag, "C2", "input and initial value", in.dtype, init.dtype);
    if (init.rank() != 0) {
      diag.fail("I2", fmt::format("initial value {} is {}, wanted a scalar", i, init.str()));
    }
  }
  Shape kept;
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (std::find(dims.begin(), dims.end(), i) == dims.end()) kept.push_back(shape[i]);
  }
  std::vector<TensorType> types;
  for (int i = 0; i < n; ++i) types.push_back({ops::type(op, i).dtype, kept});

  const Block& body = *op.region();
  if (body.args.size() != static_cast<size_t>(2 * n) || body.ops.empty() ||
      body.results().size() != static_cast<size_t>(n)) {
    diag.fail("C6", fmt::format("the body takes {} arguments, wanted {} and {} results",
                                body.args.size(), 2 * n, n));
    return types;
  }
  for (int i = 0; i < n; ++i) {
    const TensorType out = body.results()[i]->type;
    const TensorType want{out.dtype, {}};
    if (out != want || body.args[i]->type != want || body.args[n + i]->type != want ||
        !is_promotable(types[i].dtype, out.dtype)) {
      diag.fail("C6", fmt::format("the body computes {} from {} and {} for an input of {}",
                                  out.str(), body.args[i]->type.str(), body.args[n + i]->type.str(),
                                  name(types[i].dtype)));
    }
    types[i].dtype = out.dtype;
  }
  return types;
}

Result<std::vector<Literal>> eval(EvalContext& ctx) {
  const int n = ctx.op->num_operands() / 2;
  const Block& body = *ctx.op->region();
  const std::vector<int64_t> dims = ctx.args[0].dims(), strides = row_major_strides(dims);
  std::vector<int64_t> order = ctx.op->i64s("dimensions"), kept;
  std::sort(order.begin(), order.end());
  int64_t rows = 1, columns = 1;
  for (int64_t d : order) rows *= dims[d];
  for (int64_t d = 0; d < static_cast<int64_t>(dims.size()); ++d) {
    if (std::find(order.begin(), order.end(), d) != order.end()) continue;
    kept.push_back(dims[d]);
    columns *= dims[d];
    order.push_back(d);
  }
  std::vector<int64_t> new_dims, new_strides;
  for (int64_t d : order) new_dims.push_back(dims[d]), new_strides.push_back(strides[d]);
  std::vector<Literal> arrays, init;
  for (int i = 0; i < n; ++i) {
    const DType t = body.args[i]->type.dtype;
    TF_TRY(ops::same_dims(ctx, "inputs", dims, ctx.args[i].dims()));
    arrays.push_back(convert(ops::gather_strided(ctx.args[i], new_dims, 0, new_strides), t)
                         .reshaped({rows * columns}));
    init.push_back(convert(ctx.args[n + i], t));
  }
  TF_ASSIGN(auto out, reduce_rows(ctx, body, std::move(arrays), init, rows, columns));
  for (Literal& l : out) l = l.reshaped(kept);
  return out;
}

Status emit(EmitContext& ctx) {
  loop::Builder& b = *ctx.b;
  const int n = ctx.op->num_operands() / 2;
  const Block& body = *ctx.op->region();
  const Shape& shape = ops::type(*ctx.op, 0).shape;
  std::vector<int64_t> dims = ctx.op->i64s("dimensions");
  std::sort(dims.begin(), dims.end());
  const std::optional<Prim> prim = reducer_prim(body);

  b.nest("i", ops::dims_of(ctx, ctx.op->result()->type.shape), [&](const Index& i) {
    std::vector<loop::Buffer> acc;
    for (int k = 0; k < n; ++k) {
      const DType t = body.args[k]->type.dtype;
      const Expr init = loop::cast(ctx.operand(n + k, {}), t);
      acc.push_back(b.cell("acc", loop::cast(init, prim ? reduce_accumulator(*prim, t) : t)));
    }
    Index at(shape.size());
    for (size_t d = 0, k = 0; d < shape.size(); ++d) {
      if (!std::binary_search(dims.begin(), dims.end(), static_cast<int64_t>(d))) at[d] = i[k++];
    }
    const std::function<void(size_t)> fold = [&](size_t level) {
      if (level < dims.size()) {
        b.for_("r", ctx.dim(shape[dims[level]]), [&](Expr r) {
          at[dims[level]] = r;
          fold(level + 1);
        });
        return;
      }
      if (prim) {
        const Expr x = loop::cast(ctx.operand(0, at), acc[0]->dtype);
        b.set(acc[0], loop::op(*prim, {b.get(acc[0]), x}));
        return;
      }
      std::vector<Expr> args;
      for (int k = 0; k < n; ++k) args.push_back(b.let("a", b.get(acc[k])));
      for (int k = 0; k < n; ++k) {
        args.push_back(b.let("x", loop::cast(ctx.operand(k, at), body.args[k]->type.dtype)));
      }
      const std::vector<Expr> next = ctx.inline_region(body, args);
      for (int k = 0; k < n; ++k) b.set(acc[k], next[k]);
    };
    fold(0);
    for (int k = 0; k < n; ++k) {
      ctx.store(k, i, loop::cast(b.get(acc[k]), body.args[k]->type.dtype));
    }
  });
  return ok_status();
}

}  // namespace

extern const OpDef op_reduce;
const OpDef op_reduce = {
    .name = "stablehlo.reduce",
    .summary = "Folds dimensions with a reducer, starting from initial values.",
    .doc =
        "Operands: the inputs, then one initial value each. Sums and products of floats "
        "narrower than f32 are kept in f32 and rounded once when the body is just that.",
    .kind = OpKind::Reduce,
    .min_operands = 2,
    .num_results = -1,
    .num_regions = 1,
    .attrs = {{"dimensions", AttrKind::I64s}},
    .infer = infer,
    .eval = eval,
    .emit = emit,
    .constraints = {"I2", "C1", "C2", "C3", "C4", "C5", "C6"},
};

}  // namespace tenfold
