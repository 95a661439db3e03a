// A convolution's padding becomes a pad op before it, so that the convolution's inner loops read
// without a test. The copy is small against the convolution itself, and fuses with what produces
// the operand when that is cheap.
#include <algorithm>

#include "passes/rewrite.h"

namespace tenfold {
namespace {

// An operand that was padded (bytes are, by their zero point) and then put in order is put in order
// first, so that the pad is written in the order in which it is read.
bool order_before_pad(Module& m, Op* op) {
  Op* t = only_def_of(op->operand(0), "stablehlo.transpose");
  if (!t) return false;
  GraphBuilder b = builder_at(m, op);
  Value* x = transpose_early(b, t->operand(), t->i64s("permutation"));
  if (x->def()->is("stablehlo.transpose")) {
    erase_dead(x->def());
    return false;
  }
  op->set_operand(0, x);
  return true;
}

bool rewrite(Module& m, Op* op) {
  const Attr* padding = op->attr("padding");
  if (!padding) return false;
  std::vector<Dim> pads = padding->as<std::vector<Dim>>();
  if (std::all_of(pads.begin(), pads.end(), [](const Dim& p) { return p == Dim(0); })) return false;
  Value* x = op->operand(0);
  const auto& spatial = op->i64s("input_spatial_dimensions");
  std::vector<int64_t> dilation(spatial.size(), 1);
  if (const Attr* d = op->attr("lhs_dilation")) dilation = d->as<std::vector<int64_t>>();
  std::vector<Dim> low(static_cast<size_t>(x->type.rank()), 0), high = low;
  bool any = false;
  for (size_t i = 0; i < spatial.size(); ++i) {
    // Between the elements of a dilated base there are holes: less than a step stays padding.
    const Dim step = dilation[i];
    if (dilation[i] != 1 && x->type.shape[spatial[i]].min() < 1) continue;  // nothing to dilate
    low[spatial[i]] = floordiv(pads[2 * i], step);
    high[spatial[i]] = floordiv(pads[2 * i + 1], step);
    pads[2 * i] = pads[2 * i] - low[spatial[i]] * step;
    pads[2 * i + 1] = pads[2 * i + 1] - high[spatial[i]] * step;
    any |= low[spatial[i]] != Dim(0) || high[spatial[i]] != Dim(0);
  }
  if (!any) return false;
  GraphBuilder b = builder_at(m, op);
  DType t = x->type.dtype;
  Value* zero = is_float(t) ? b.constant(t, 0) : b.constant_i(t, 0);
  Value* padded = b.pad(x, zero, low, high, std::vector<int64_t>(low.size(), 0));
  op->set_operand(0, padded);
  op->set_attr("padding", {std::move(pads)});
  return true;
}

Result<bool> run(Module& m, PassContext&) {
  bool changed = false;
  for_each_op(m, [&](Op* op) {
    if (!op->is("stablehlo.convolution") || is_complex(op->operand(0)->type.dtype)) return;
    changed |= order_before_pad(m, op);
    changed |= rewrite(m, op);
  });
  return changed;
}

}  // namespace

extern const GraphPass pass_pad_convolutions;
const GraphPass pass_pad_convolutions = {
    .name = "pad_convolutions",
    .summary = "Padding of convolutions as an op of its own.",
    .why_here = "after layouts are settled, so that the pad is written once in the final order",
    .run = run,
};

}  // namespace tenfold
