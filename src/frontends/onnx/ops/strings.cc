// Ops on strings, and ImageDecoder: refused, since tensors hold numbers only.
#include "frontends/onnx/onnx_op.h"

namespace tenfold::onnx {

extern const OnnxOp onnx_strings;
const OnnxOp onnx_strings = {
    .names = {{"StringConcat", {20}},
              {"StringNormalizer", {10}},
              {"StringSplit", {20}},
              {"RegexFullMatch", {20}},
              {"ImageDecoder", {20}}},
    .summary = "Not supported: text and encoded images.",
    .convert = [](NodeContext& n) -> Outputs {
      if (n.op_type() == "ImageDecoder") {
        n.fail("encoded images are not read; decode them before the model runs");
      }
      n.fail("onnx-unsupported-type",
             "string tensors are not supported; do this step before the model runs");
    },
    .limits = "refused always"};

}  // namespace tenfold::onnx
