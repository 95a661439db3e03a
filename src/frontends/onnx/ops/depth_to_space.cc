// DepthToSpace and SpaceToDepth: blocks of channels to blocks of pixels and back.
#include <fmt/format.h>

#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

namespace {

Outputs convert(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value* x = n.input(0);
  n.need_rank(x, 4, 4, "input");
  const int64_t s = n.attr_i("blocksize");
  if (s < 1) n.invalid(fmt::format("blocksize is {}", s));
  const bool to_space = n.op_type() == "DepthToSpace";
  std::string mode = "DCR";
  if (n.opset() >= (to_space ? 11 : 28)) mode = n.attr_s("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") n.invalid("mode '" + mode + "', wanted DCR or CRD");
  const Shape& in = x->type.shape;
  const Dim N = in[0], C = in[1], H = in[2], W = in[3], k(s);
  if (to_space) {
    n.require_equal(mod(C, k * k), Dim(0), "channels modulo blocksize squared");
    const Dim c = floordiv(C, k * k);
    if (mode == "DCR") {
      x = b.transpose(b.reshape(x, {N, k, k, c, H, W}), {0, 3, 4, 1, 5, 2});
    } else {
      x = b.transpose(b.reshape(x, {N, c, k, k, H, W}), {0, 1, 4, 2, 5, 3});
    }
    return {b.reshape(x, {N, c, H * k, W * k})};
  }
  n.require_equal(mod(H, k), Dim(0), "height modulo blocksize");
  n.require_equal(mod(W, k), Dim(0), "width modulo blocksize");
  const Dim h = floordiv(H, k), w = floordiv(W, k);
  x = b.reshape(x, {N, C, h, k, w, k});
  x = mode == "DCR" ? b.transpose(x, {0, 3, 5, 1, 2, 4}) : b.transpose(x, {0, 1, 3, 5, 2, 4});
  return {b.reshape(x, {N, C * k * k, h, w})};
}

}  // namespace

extern const OnnxOp onnx_depth_to_space;
const OnnxOp onnx_depth_to_space = {
    .names = {{"DepthToSpace", {1, 11, 13, 28}}, {"SpaceToDepth", {1, 13, 28}}},
    .summary = "Rearranges blocks between channels and pixels.",
    .convert = convert};

}  // namespace tenfold::onnx
