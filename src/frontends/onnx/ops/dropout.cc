// Dropout: in inference its input and a mask of ones; in training each element is dropped with
// probability `ratio` and the others are scaled up. Numbers are drawn as random_util.h says.
#include "frontends/onnx/ops/random_util.h"

namespace tenfold::onnx {

namespace {

Value* one_number(NodeContext& n, Value* v, std::string_view what) {
  if (!v->type.is_static() || v->type.num_elements().value() != 1) {
    n.invalid(std::string(what) + " must be one number, found " + v->type.str());
  }
  return n.b.reshape(v, {});
}

Outputs convert(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value* x = n.input(0);
  const DType t = x->type.dtype;
  Value *training = nullptr, *ratio = nullptr;
  std::optional<uint32_t> seed;
  if (n.opset() < 12) {
    ratio = b.constant(DType::F32, n.attr_f("ratio", 0.5));
    if (n.opset() < 7) {
      n.ignore_attr("consumed_inputs");
      if (!n.attr_flag("is_test")) training = b.constant_i(DType::Bool, 1);
    }
  } else {
    if (n.has_attr("seed")) seed = static_cast<uint32_t>(n.attr_i("seed"));
    if (Value* v = n.opt(1))
      ratio = one_number(n, v, "ratio");
    else
      ratio = b.constant(DType::F32, 0.5);
    if (Value* v = n.opt(2)) training = one_number(n, v, "training_mode");
  }
  const DType mask_type = n.opset() < 10 ? t : DType::Bool;
  if (training) {
    const auto c = n.constant(training);
    if (c && c->as_i64(0) == 0) training = nullptr;
  }
  if (!training) {
    return {x, n.wants(1) ? Val(b.splat({mask_type, x->type.shape}, 1)) : Val()};
  }
  if (!is_float(ratio->type.dtype)) n.invalid("ratio must be a float");
  const DType w = wide(t);
  // Out of training nothing is dropped.
  Value* p = b.convert(ratio, w);
  p = b.select(training, p, like(b, p, 0));
  Value* state = random_state(n, seed);
  Value* keep = b.compare("GE", uniform(b, w, x->type.shape, state), b.full(p, x->type.shape));
  Value* v = b.convert(x, w);
  Value* scaled = div(b, v, b.full(sub_from(b, 1, p), x->type.shape));
  return {b.convert(b.select(keep, scaled, like(b, v, 0)), t), b.convert(keep, mask_type)};
}

}  // namespace

extern const OnnxOp onnx_dropout;
const OnnxOp onnx_dropout = {.names = {{"Dropout", {1, 6, 7, 10, 12, 13, 22}}},
                             .summary = "Drops elements in training; inference passes all.",
                             .convert = convert};

}  // namespace tenfold::onnx
