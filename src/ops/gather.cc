// stablehlo.gather: slices of the operand at positions read from an index tensor.
#include "ops/gather_util.h"

namespace tenfold {

namespace {

std::vector<Dim> slice_sizes(const Op& op) { return dims_or(op, "slice_sizes", 0, 0); }

Result<std::vector<Literal>> eval(EvalContext& c) {
  std::vector<int64_t> sizes;
  for (const Dim& d : slice_sizes(*c.op)) sizes.push_back(c.dim(d));
  return std::vector<Literal>{eval_gather(*c.op, c, sizes)};
}

}  // namespace

extern const OpDef op_gather;
const OpDef op_gather = {
    .name = "stablehlo.gather",
    .summary = "Slices of the operand at positions read from start_indices",
    .doc =
        "Operands are the tensor and start_indices. Every index vector (along index_vector_dim) "
        "names the start of a slice of slice_sizes; starts are clamped so that slices stay inside. "
        "Slice sizes may be symbolic (a whole dimension).",
    .kind = OpKind::GatherScatter,
    .min_operands = 2,
    .max_operands = 2,
    .attrs = {{"offset_dims", AttrKind::I64s, true, "result dimensions that run through the slice"},
              {"collapsed_slice_dims", AttrKind::I64s, true, "operand dimensions the result lacks"},
              {"operand_batching_dims", AttrKind::I64s, false, "default none"},
              {"start_indices_batching_dims", AttrKind::I64s, false, "default none"},
              {"start_index_map", AttrKind::I64s, true, "operand dimension of each index entry"},
              {"index_vector_dim", AttrKind::I64},
              {"slice_sizes", AttrKind::Dims},
              {"indices_are_sorted", AttrKind::Bool, false, "a hint"}},
    .infer = [](const Op& op, Diag& diag) -> std::vector<TensorType> {
      return {infer_gather(op, slice_sizes(op), diag)};
    },
    .eval = eval,
    .element =
        [](ElementContext& c, const std::vector<loop::Expr>& index) {
          return gather_element(c, slice_sizes(*c.op), index);
        },
    .constraints = {"I2",  "C1",  "C2",  "C3",  "C4",  "C5",  "C6",  "C7",  "C8",  "C9",  "C10",
                    "C11", "C12", "C13", "C14", "C15", "C16", "C17", "C18", "C19", "C20", "C21"},
};

}  // namespace tenfold
