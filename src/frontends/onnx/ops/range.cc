// Range: start, start + delta, ... below (or above) limit. The count may be known only at run time.
#include <algorithm>

#include <fmt/format.h>

#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

namespace {

Outputs convert(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value* in[3];
  for (int i = 0; i < 3; ++i) {
    Value* v = n.input(i);
    if (!v->type.is_static() || v->type.num_elements().value() != 1) {
      n.invalid(fmt::format("input {} must be a scalar, found {}", i, v->type.str()));
    }
    in[i] = b.reshape(v, {});
  }
  const DType t = in[0]->type.dtype;
  if (n.opset() >= 27) {
    const int64_t stash = n.attr_i("stash_type", 1);
    if (stash != 1 && (t == DType::F16 || t == DType::BF16)) {
      n.fail(fmt::format("stash_type {}; only 1 (float) is supported", stash));
    }
  }
  std::optional<Dim> count;
  if (is_integer(t)) {
    const auto start = n.known_dims(in[0]), limit = n.known_dims(in[1]);
    const auto delta = n.const_ints(in[2]);
    if (delta && (*delta)[0] == 0) n.invalid("delta is 0");
    if (start && limit && delta) {
      const int64_t d = (*delta)[0];
      const Dim span = d > 0 ? (*limit)[0] - (*start)[0] : (*start)[0] - (*limit)[0];
      count = max(ceildiv(span, Dim(d > 0 ? d : -d)), Dim(0));
    }
  }
  if (!count) {
    // Floats are counted in double.
    const DType in_type = is_integer(t) ? DType::I64 : DType::F64;
    Value* v[3];
    for (int i = 0; i < 3; ++i) v[i] = b.convert(in[i], in_type);
    Value* span = sub(b, v[1], v[0]);
    Value* c;
    if (is_integer(t)) {
      // ceil(span / delta) = -floor(-span / delta)
      c = b.unary(Prim::Neg, b.binary(Prim::FloorDiv, b.unary(Prim::Neg, span), v[2]));
    } else {
      c = b.convert(b.unary(Prim::Ceil, div(b, span, v[2])), DType::I64);
    }
    count = n.runtime_dim(max(b, c, 0), "range");
  }
  const DType w = is_integer(t) ? t : wide(t);
  const Shape shape = {*count};
  Value* i = b.iota({w, shape}, 0);
  Value* step = b.full(b.convert(in[2], w), shape);
  Value* first = b.full(b.convert(in[0], w), shape);
  return {b.convert(add(b, first, mul(b, i, step)), t)};
}

}  // namespace

extern const OnnxOp onnx_range;
const OnnxOp onnx_range = {
    .names = {{"Range", {11, 27}}}, .summary = "An arithmetic sequence.", .convert = convert};

}  // namespace tenfold::onnx
