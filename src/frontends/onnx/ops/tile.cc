// Tile: repeats along every dimension (opset 1: along one).
#include <fmt/format.h>

#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

namespace {

Outputs convert(NodeContext& n) {
  Value* x = n.input(0);
  const auto rank = static_cast<size_t>(x->type.rank());
  std::vector<Dim> repeats;
  if (n.opset() < 6) {
    repeats.assign(rank, Dim(1));
    const auto axis = n.need_ints(n.input(2), "axis");
    if (axis.size() != 1) n.invalid("axis must be one number");
    repeats[static_cast<size_t>(n.axis(axis[0], x->type.rank()))] = n.dim(n.input(1), "tiles");
  } else {
    repeats = n.dims(n.input(1), "repeats");
    if (repeats.size() != rank) {
      n.invalid(fmt::format("{} repeats for {}", repeats.size(), x->type.str()));
    }
  }
  // [r0, d0, r1, d1, ...], then merged pairwise.
  Shape wide, out;
  std::vector<int64_t> map;
  for (size_t i = 0; i < rank; ++i) {
    if (repeats[i].is_const() && repeats[i].value() < 0) n.invalid("a repeat is negative");
    if (!(repeats[i] == Dim(1))) wide.push_back(repeats[i]);
    map.push_back(static_cast<int64_t>(wide.size()));
    wide.push_back(x->type.shape[i]);
    out.push_back(repeats[i] * x->type.shape[i]);
  }
  return {n.b.reshape(n.b.broadcast_in_dim(x, wide, map), out)};
}

}  // namespace

extern const OnnxOp onnx_tile;
const OnnxOp onnx_tile = {.names = {{"Tile", {1, 6, 13}}},
                          .summary = "Repeats a tensor along its dimensions.",
                          .convert = convert};

}  // namespace tenfold::onnx
