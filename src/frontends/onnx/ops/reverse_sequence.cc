// ReverseSequence: the first sequence_lens[i] steps of every batch entry, backwards.
#include <fmt/format.h>

#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

namespace {

Outputs convert(NodeContext& n) {
  Value *x = n.input(0), *lens = n.input(1);
  const int64_t batch = n.attr_i("batch_axis", 1), time = n.attr_i("time_axis", 0);
  n.need_rank(x, 2, INT64_MAX, "input");
  n.need_rank(lens, 1, 1, "sequence_lens");
  const int64_t bt = n.axis(batch, x->type.rank()), tm = n.axis(time, x->type.rank());
  if (bt + tm != 1) n.invalid(fmt::format("batch_axis {} and time_axis {}", batch, time));
  n.require_equal(lens->type.shape[0], x->type.shape[static_cast<size_t>(bt)],
                  "number of lengths and batch size");
  return {reverse_sequence(n.b, x, lens, bt, tm)};
}

}  // namespace

extern const OnnxOp onnx_reverse_sequence;
const OnnxOp onnx_reverse_sequence = {.names = {{"ReverseSequence", {10, 28}}},
                                      .summary = "Reverses sequences of different lengths.",
                                      .convert = convert};

}  // namespace tenfold::onnx
