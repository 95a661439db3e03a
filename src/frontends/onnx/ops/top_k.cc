// TopK: k as attribute (before opset 10) or input, also at run time.
#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

namespace {

Outputs convert(NodeContext& n) {
  Value* x = n.input(0);
  n.need_rank(x, 1, INT64_MAX, "X");
  const int64_t axis = n.axis(n.attr_i("axis", -1), x->type.rank());
  const bool largest = n.opset() < 11 || n.attr_flag("largest", true);
  // Sorted output is one of the orders that sorted=0 allows.
  if (n.opset() >= 11) n.ignore_attr("sorted");
  const Dim k = n.opset() < 10 ? Dim(n.attr_i("k")) : n.dim(n.input(1), "k");
  Op* op = n.b.create("tenfold.top_k", {x},
                      {{"k", Attr{std::vector<Dim>{k}}},
                       {"axis", Attr{axis}},
                       {"largest", Attr{largest}},
                       {"index_type", Attr{DType::I64}}});
  return {op->result(0), op->result(1)};
}

}  // namespace

extern const OnnxOp onnx_top_k;
const OnnxOp onnx_top_k = {.names = {{"TopK", {1, 10, 11, 24}}},
                           .summary = "The k largest or smallest elements and their positions.",
                           .convert = convert};

}  // namespace tenfold::onnx
