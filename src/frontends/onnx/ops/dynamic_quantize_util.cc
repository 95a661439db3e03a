// See dynamic_quantize_util.h.
#include "frontends/onnx/ops/dynamic_quantize_util.h"

namespace tenfold::onnx {

DynamicQuantized dynamic_quantize(GraphBuilder& b, Value* x) {
  const auto all = iota_list(x->type.rank());
  Value* high = max(b, b.reduce(Prim::Max, x, all), 0);
  Value* low = min(b, b.reduce(Prim::Min, x, all), 0);
  Value* range = sub(b, high, low);
  Value* flat = b.compare("EQ", high, low);
  Value* scale = div(b, b.select(flat, like(b, range, 1), range), like(b, range, 255));
  Value* at = b.unary(Prim::Neg, div(b, low, scale));
  Value* zero = b.convert(b.unary(Prim::RoundEven, max(b, min(b, at, 255), 0)), DType::U8);
  Value* v = div(b, x, b.full(scale, x->type.shape));
  return {round_to(b, v, b.full(zero, x->type.shape), DType::U8), scale, zero};
}

}  // namespace tenfold::onnx
