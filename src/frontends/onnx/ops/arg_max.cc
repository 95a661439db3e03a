// ArgMax and ArgMin: value and position reduced together.
#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

namespace {

Outputs convert(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value* x = n.input(0);
  n.need_rank(x, 1, INT64_MAX, "data");
  const int64_t axis = n.axis(n.attr_i("axis", 0), x->type.rank());
  const bool keep = n.attr_flag("keepdims", true);
  const bool last = n.opset() >= 12 && n.attr_flag("select_last_index");
  const DType t = x->type.dtype;
  Value* index = b.iota({DType::I64, x->type.shape}, axis);
  // The first element goes in through its position: -1 stands for "none yet" and loses always.
  Op* op =
      b.create_open("stablehlo.reduce", {x, index, b.constant(t, 0), b.constant_i(DType::I64, -1)},
                    {{"dimensions", Attr{std::vector<int64_t>{axis}}}});
  Block* body = op->add_region();
  const TensorType vt{t, {}}, it{DType::I64, {}};
  Value *v0 = body->add_arg(vt), *i0 = body->add_arg(it), *v1 = body->add_arg(vt),
        *i1 = body->add_arg(it);
  GraphBuilder r(b.module(), body);
  // Whether 1 beats 0; equal ones go by position.
  const auto both = [&](Value* p, Value* q) { return r.binary(Prim::And, p, q); };
  const auto either = [&](Value* p, Value* q) { return r.binary(Prim::Or, p, q); };
  const auto no = [&](Value* p) { return r.unary(Prim::Not, p); };
  Value* better = r.compare(n.op_type() == "ArgMax" ? "GT" : "LT", v1, v0);
  Value* tie = r.compare("EQ", v1, v0);
  if (is_float(t)) {  // NaN is beyond everything, as in NumPy
    Value *nan0 = r.unary(Prim::IsNan, v0), *nan1 = r.unary(Prim::IsNan, v1);
    better = either(better, both(nan1, no(nan0)));
    tie = either(tie, both(nan0, nan1));
  }
  Value* by_position = r.compare(last ? "GT" : "LT", i1, i0);
  Value* take = either(better, both(tie, by_position));
  Value* zero = r.constant_i(DType::I64, 0);
  Value* none0 = r.compare("LT", i0, zero);
  Value* none1 = r.compare("LT", i1, zero);
  take = both(either(take, none0), no(none1));
  r.return_({r.select(take, v1, v0), r.select(take, i1, i0)});
  b.finish(op);
  Value* result = op->result(1);
  if (keep) {
    Shape s = x->type.shape;
    s[static_cast<size_t>(axis)] = Dim(1);
    result = b.reshape(result, s);
  }
  return {result};
}

}  // namespace

extern const OnnxOp onnx_arg_max;
const OnnxOp onnx_arg_max = {.names = {{"ArgMax", {1, 11, 12, 13}}, {"ArgMin", {1, 11, 12, 13}}},
                             .summary = "Position of the largest or smallest element.",
                             .convert = convert};

}  // namespace tenfold::onnx
