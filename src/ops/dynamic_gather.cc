// stablehlo.dynamic_gather: gather whose slice sizes come as a tensor. The result type, which is
// stated, says them already; the tensor is not read.
#include "ops/gather_util.h"

namespace tenfold {

namespace {

std::vector<Dim> slice_sizes(const Op& op) {
  const GatherDims g = read_gather(op);
  std::vector<Dim> sizes(op.operand(0)->type.shape.size(), Dim(1));
  for (size_t i = 0; i < g.offset.size() && i < g.sliced.size(); ++i)
    sizes[g.sliced[i]] = op.result()->type.shape[g.offset[i]];
  return sizes;
}

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  const TensorType& stated = op.result()->type;
  const TensorType& sizes = op.operand(2)->type;
  const int64_t indices_rank = op.operand(1)->type.rank();
  const int64_t index_vector = op.i64("index_vector_dim");
  const int64_t want = static_cast<int64_t>(op.i64s("offset_dims").size()) + indices_rank -
                       (index_vector < indices_rank ? 1 : 0);
  if (sizes.rank() != 1 || !is_integer(sizes.dtype) ||
      !diag.equal(sizes.shape[0], op.operand(0)->type.rank()))
    diag.fail("I3",
              "slice_sizes must be a vector of one integer for each operand dimension, found " +
                  sizes.str());
  if (stated.rank() != want || !all_in_range(op.i64s("offset_dims"), 0, want)) {
    diag.fail("C13", "the result is " + stated.str() + ", wanted rank " + std::to_string(want));
    return {stated};
  }
  return {infer_gather(op, slice_sizes(op), diag)};
}

Result<std::vector<Literal>> eval(EvalContext& c) {
  std::vector<int64_t> sizes;
  for (const Dim& d : slice_sizes(*c.op)) sizes.push_back(c.dim(d));
  return std::vector<Literal>{eval_gather(*c.op, c, sizes)};
}

}  // namespace

extern const OpDef op_dynamic_gather;
const OpDef op_dynamic_gather = {
    .name = "stablehlo.dynamic_gather",
    .summary = "gather with slice sizes given as a tensor",
    .doc = "As gather; the slice sizes are those of the stated result type.",
    .kind = OpKind::GatherScatter,
    .min_operands = 3,
    .max_operands = 3,
    .attrs = {{"offset_dims", AttrKind::I64s},
              {"collapsed_slice_dims", AttrKind::I64s},
              {"operand_batching_dims", AttrKind::I64s, false, "default none"},
              {"start_indices_batching_dims", AttrKind::I64s, false, "default none"},
              {"start_index_map", AttrKind::I64s},
              {"index_vector_dim", AttrKind::I64},
              {"indices_are_sorted", AttrKind::Bool, false, "a hint"}},
    .infer = infer,
    .explicit_results = true,
    .eval = eval,
    .element =
        [](ElementContext& c, const std::vector<loop::Expr>& index) {
          return gather_element(c, slice_sizes(*c.op), index);
        },
    .constraints = {"I3", "C13"},
};

}  // namespace tenfold
