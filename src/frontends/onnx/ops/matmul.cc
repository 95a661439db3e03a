// MatMul: numpy.matmul.
#include <fmt/format.h>

#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

extern const OnnxOp onnx_matmul;
const OnnxOp onnx_matmul = {
    .names = {{"MatMul", {1, 9, 13}}},
    .summary = "numpy.matmul; narrow floats accumulate in f32.",
    .convert = [](NodeContext& n) -> Outputs { return {matmul(n, n.input(0), n.input(1))}; }};

}  // namespace tenfold::onnx
