// BitCast: the same bits under another type of the same width.
#include <fmt/format.h>

#include "frontends/onnx/onnx_op.h"

namespace tenfold::onnx {

extern const OnnxOp onnx_bit_cast;
const OnnxOp onnx_bit_cast = {
    .names = {{"BitCast", {26}}},
    .summary = "Reinterprets the bits of every element.",
    .convert = [](NodeContext& n) -> Outputs {
      Value* x = n.input(0);
      const DType to = n.attr_dtype("to"), from = x->type.dtype;
      if (from == to) return {x};
      // A bool has eight bits in ONNX's storage.
      const auto width = [](DType t) { return t == DType::Bool ? 8 : bit_width(t); };
      if (width(from) != width(to)) {
        n.invalid(fmt::format("{} and {} differ in width", name(from), name(to)));
      }
      if (from == DType::Bool) {
        Value* byte = n.b.convert(x, DType::U8);
        if (to == DType::U8) return {byte};
        x = byte;
      }
      if (to == DType::Bool) n.fail("reinterpreting bits as bool");
      return {n.b.create("stablehlo.bitcast_convert", {x}, {}, {{to, x->type.shape}})->result()};
    },
    .limits = "to bool"};

}  // namespace tenfold::onnx
