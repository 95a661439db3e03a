// Weights of contractions stored in 16 bits (--precision f16-weights or bf16-weights). Contractions
// read through the conversion back, so the arithmetic stays in f32 and half the bytes are read.
#include <cmath>

#include "passes/rewrite.h"

namespace tenfold {
namespace {

constexpr int64_t kFew = 1024;  // elements: not worth a rounding

bool fits(const Literal& l, DType t) {
  if (t == DType::BF16) return true;  // the exponents of f32
  for (float x : l.data<float>())
    if (std::isfinite(x) && std::abs(x) > 65504.0f) return false;
  return true;
}

Result<bool> run(Module& m, PassContext& context) {
  const DType t = context.weights;
  if (t == DType::F32) return false;
  bool changed = false;
  std::unordered_map<const Value*, Value*> narrowed;
  for_each_op(m, [&](Op* op) {
    if (op->def->kind != OpKind::Contraction && !op->is("stablehlo.convolution")) return;
    for (int i = 0; i < 2; ++i) {
      Value* w = op->operand(i);
      const Literal* l = constant_of(w);
      if (!l || l->dtype() != DType::F32 || l->size() < kFew) continue;
      if (!fits(*l, t)) {
        context.remarks.push_back(op->loc.text +
                                  ": weights stay f32, they exceed the range of f16");
        continue;
      }
      GraphBuilder b = builder_at(m, w->def());
      Value*& small = narrowed[w];
      if (!small) {
        small = b.constant(convert(*l, t));
        small->name = w->name;
      }
      GraphBuilder at = builder_at(m, op);
      op->set_operand(i, at.convert(small, DType::F32));
      changed = true;
    }
  });
  return changed;
}

}  // namespace

extern const GraphPass pass_narrow_weights;
const GraphPass pass_narrow_weights = {
    .name = "narrow_weights",
    .summary = "Weights of contractions in 16 bits, when --precision asks for it.",
    .why_here = "after the last folding, which would widen them again",
    .run = run,
};

}  // namespace tenfold
