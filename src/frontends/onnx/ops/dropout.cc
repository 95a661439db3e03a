// Dropout: in inference its input and a mask of ones.
#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

namespace {

Outputs convert(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value* x = n.input(0);
  if (n.opset() < 12) {
    n.ignore_attr("ratio");
    if (n.opset() < 7) {
      n.ignore_attr("consumed_inputs");
      if (!n.attr_flag("is_test")) n.fail("training mode (is_test=0)");
    }
  } else {
    n.ignore_attr("seed");
    bool training = false;
    if (Value* mode = n.opt(2)) {
      const auto c = n.need_ints(mode, "training_mode");
      training = !c.empty() && c[0] != 0;
    }
    Value* ratio = n.opt(1);
    if (training) {
      bool nothing = false;
      if (ratio) {
        auto l = n.constant(ratio);
        if (!l) n.need_value(ratio, "ratio must be known at import");
        nothing = l->size() == 1 && l->as_f64(0) == 0;
      }
      if (!nothing) n.fail("training mode with a ratio above zero");
    }
  }
  const DType mask = n.opset() < 10 ? x->type.dtype : DType::Bool;
  return {x, n.wants(1) ? Val(b.splat({mask, x->type.shape}, 1)) : Val()};
}

}  // namespace

extern const OnnxOp onnx_dropout;
const OnnxOp onnx_dropout = {.names = {{"Dropout", {1, 6, 7, 10, 12, 13, 22}}},
                             .summary = "Inference passes its input through.",
                             .convert = convert,
                             .limits = "training mode with a ratio above zero"};

}  // namespace tenfold::onnx
