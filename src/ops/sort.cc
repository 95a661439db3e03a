// stablehlo.sort: sorts rows of several tensors together by a comparator region.
#include <cstring>
#include <numeric>

#include "ops/attr_util.h"
#include "ops/region_util.h"
#include "ops/row_util.h"

namespace tenfold {

namespace {

int64_t sort_dim(const Op& op) {
  const int64_t d = i64_or(op, "dimension", -1);
  return d < 0 ? d + op.operand()->type.rank() : d;
}

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  std::vector<TensorType> out;
  for (const Value* v : op.operands()) out.push_back(v->type);
  if (out.empty()) {
    diag.fail("C1", "wanted at least one input");
    return out;
  }
  for (const TensorType& t : out)
    if (shapes_differ(diag, t.shape, out[0].shape))
      diag.fail("C3", "inputs must have one shape, found " + out[0].str() + " and " + t.str());
  const int64_t d = sort_dim(op);
  if (d < 0 || d >= out[0].rank())
    diag.fail("C4", "dimension is " + std::to_string(i64_or(op, "dimension", -1)) +
                        " for inputs of rank " + std::to_string(out[0].rank()));
  if (op.num_regions() != 1) {
    diag.fail("C5", "wanted one comparator");
    return out;
  }
  std::vector<std::optional<DType>> args;
  for (const TensorType& t : out) args.insert(args.end(), 2, t.dtype);
  check_scalar_region(*op.region(), args, {DType::Bool}, "C5", "comparator", diag);
  return out;
}

Result<std::vector<Literal>> eval(EvalContext& c) {
  const Op& op = *c.op;
  std::vector<Literal> out;
  for (const Literal& a : c.args) out.emplace_back(a.dtype(), a.dims());
  if (out[0].size() == 0) return out;
  const int64_t d = sort_dim(op);
  const int64_t n = out[0].dims()[d];
  const int64_t stride = row_major_strides(out[0].dims())[d];
  const size_t fields = out.size();
  std::vector<std::byte*> to;
  for (Literal& l : out) to.push_back(l.mutable_bytes());
  ScalarRegion less(c, *op.region());
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::vector<const std::byte*> args(2 * fields);
  Status failure = ok_status();
  for (int64_t row = 0; row < out[0].size() / n; ++row) {
    const int64_t base = row / stride * stride * n + row % stride;
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      if (!failure.ok()) return false;
      for (size_t f = 0; f < fields; ++f) {
        const int64_t size = byte_size(out[f].dtype());
        args[2 * f] = c.args[f].bytes() + (base + a * stride) * size;
        args[2 * f + 1] = c.args[f].bytes() + (base + b * stride) * size;
      }
      std::byte result{};
      if (Status s = less.call(args, {&result}); !s.ok()) failure = std::move(s);
      return result != std::byte{};
    });
    TF_TRY(failure);
    for (size_t f = 0; f < fields; ++f) {
      const int64_t size = byte_size(out[f].dtype());
      for (int64_t i = 0; i < n; ++i)
        std::memcpy(to[f] + (base + i * stride) * size,
                    c.args[f].bytes() + (base + order[i] * stride) * size,
                    static_cast<size_t>(size));
    }
  }
  return out;
}

Status emit(EmitContext& c) {
  using namespace loop;
  const Op& op = *c.op;
  Builder& b = *c.b;
  const int64_t d = sort_dim(op);
  const Shape& shape = op.operand()->type.shape;
  const int fields = op.num_operands();
  std::vector<Expr> outer;
  for (int64_t i = 0; i < static_cast<int64_t>(shape.size()); ++i)
    if (i != d) outer.push_back(c.dim(shape[i]));
  const Expr n = c.dim(shape[d]);
  for_rows(b, outer, [&](const std::vector<Expr>& row) {
    const auto at = [&](const Expr& i) {
      std::vector<Expr> index = row;
      index.insert(index.begin() + d, i);
      return index;
    };
    std::vector<Buffer> records;
    for (int f = 0; f < fields; ++f)
      records.push_back(
          b.alloc("records", op.operand(f)->type.dtype, {int_const(2), n}, Scope::Workspace));
    b.for_("i", n, [&](Expr i) {
      for (int f = 0; f < fields; ++f) b.store(records[f], {int_const(0), i}, c.operand(f, at(i)));
    });
    const Expr side =
        emit_merge_sort(b, n, records, [&](const Expr& s, const Expr& i, const Expr& j) {
          std::vector<Expr> args;
          for (const Buffer& r : records) {
            args.push_back(load(r, {s, i}));
            args.push_back(load(r, {s, j}));
          }
          return c.inline_region(*op.region(), args)[0];
        });
    b.for_("i", n, [&](Expr i) {
      for (int f = 0; f < fields; ++f) c.store(f, at(i), load(records[f], {side, i}));
    });
  });
  return ok_status();
}

}  // namespace

extern const OpDef op_sort;
const OpDef op_sort = {
    .name = "stablehlo.sort",
    .summary = "Sorts rows of several tensors together by a comparator",
    .doc =
        "The comparator takes two elements of each input, in turn, and says whether the first "
        "record "
        "must precede the second. The sort is always stable.",
    .kind = OpKind::Sort,
    .min_operands = 1,
    .max_operands = -1,
    .num_results = -1,
    .num_regions = 1,
    .attrs = {{"dimension", AttrKind::I64, false, "negative counts from the end; default -1"},
              {"is_stable", AttrKind::Bool, false, "default false"}},
    .infer = infer,
    .eval = eval,
    .emit = emit,
    .constraints = {"C1", "C3", "C4", "C5"},
};

}  // namespace tenfold
