// CumSum and CumProd.
#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

namespace {

Outputs convert(NodeContext& n) {
  Value* x = n.input(0);
  const auto a = n.need_ints(n.input(1), "axis");
  if (a.size() != 1) n.invalid("axis must be one number");
  const int64_t axis = n.axis(a[0], x->type.rank());
  return {n.b.create("tenfold.cumulative", {x},
                     {{"prim", Attr{std::string(n.op_type() == "CumSum" ? "add" : "mul")}},
                      {"axis", Attr{axis}},
                      {"reverse", Attr{n.attr_flag("reverse")}},
                      {"exclusive", Attr{n.attr_flag("exclusive")}}})
              ->result()};
}

}  // namespace

extern const OnnxOp onnx_cumulative;
const OnnxOp onnx_cumulative = {.names = {{"CumSum", {11, 14}}, {"CumProd", {26}}},
                                .summary = "Running sums and products.",
                                .convert = convert,
                                .limits = "an axis known only at run time"};

}  // namespace tenfold::onnx
