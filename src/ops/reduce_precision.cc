// stablehlo.reduce_precision: rounds to a float format of fewer bits, kept in the operand's type.
// Done on the bits of f32 (f64 for f64), as the format need not be one that exists.
#include "ops/_elementwise.h"

namespace tenfold {
namespace {

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  ops::check_type(op, 0, ops::kFloat, diag);
  const int64_t e = op.i64("exponent_bits"), m = op.i64("mantissa_bits");
  if (e < 1) diag.fail("C2", fmt::format("exponent_bits is {}, wanted at least 1", e));
  if (m < 0) diag.fail("C3", fmt::format("mantissa_bits is {}, wanted at least 0", m));
  return {ops::type(op, 0)};
}

struct Scalar {
  template <class K, class V>
  V operator()(const Op& op, K k, std::vector<V> args) const {
    const DType own = k.dtype(args[0]);
    const DType wide = own == DType::F64 ? DType::F64 : DType::F32;
    const bool f64 = wide == DType::F64;
    const DType bits = f64 ? DType::U64 : DType::U32;
    const int src_man = f64 ? 52 : 23, src_exp = f64 ? 11 : 8;
    const auto man = static_cast<int>(std::min<int64_t>(op.i64("mantissa_bits"), src_man));
    const auto exp = static_cast<int>(std::min<int64_t>(op.i64("exponent_bits"), src_exp));
    auto c = [&](uint64_t v) { return k.integer(bits, static_cast<int64_t>(v)); };
    auto o = [&](Prim p, V a, V b) { return k.op(p, {std::move(a), std::move(b)}); };

    const V x = k.cast(args[0], wide);
    V r = k.bitcast(x, bits);
    if (man < src_man) {
      const int cut = src_man - man;
      const uint64_t last = uint64_t{1} << cut;
      const V odd = o(Prim::And, o(Prim::ShrL, r, c(cut)), c(1));
      r = o(Prim::Add, r, o(Prim::Add, odd, c((last >> 1) - 1)));
      r = o(Prim::And, r, c((f64 ? ~uint64_t{0} : uint64_t{0xffffffff}) & ~(last - 1)));
    }
    const uint64_t exp_mask = ((uint64_t{1} << src_exp) - 1) << src_man;
    const V sign = o(Prim::And, k.bitcast(x, bits), c(uint64_t{1} << (src_exp + src_man)));
    if (exp < src_exp) {
      const uint64_t bias = (uint64_t{1} << (src_exp - 1)) - 1;
      const uint64_t new_bias = (uint64_t{1} << (exp - 1)) - 1;
      const V e = o(Prim::And, r, c(exp_mask));
      const V over = o(Prim::Gt, e, c((bias + new_bias) << src_man));
      const V under = o(Prim::Le, e, c((bias - new_bias) << src_man));
      r = k.op(Prim::Select, {over, o(Prim::Or, sign, c(exp_mask)), r});
      r = k.op(Prim::Select, {under, sign, r});
    }
    // A NaN stays one while there is a mantissa bit to tell it from infinity.
    const V nan = man > 0 ? x : k.bitcast(o(Prim::Or, sign, c(exp_mask)), wide);
    return k.cast(k.op(Prim::Select, {k.op(Prim::Ne, {x, x}), nan, k.bitcast(r, wide)}), own);
  }
};

}  // namespace

extern const OpDef op_reduce_precision;
const OpDef op_reduce_precision = ops::with_scalar(
    {
        .name = "stablehlo.reduce_precision",
        .summary = "Rounds to a format of the given exponent and mantissa bits.",
        .doc = "Rounds the mantissa to nearest even; a too large exponent gives infinity, a too "
               "small one zero (no subnormals of the new format), both with the sign.",
        .min_operands = 1,
        .max_operands = 1,
        .attrs = {{"exponent_bits", AttrKind::I64}, {"mantissa_bits", AttrKind::I64}},
        .infer = infer,
        .constraints = {"I1", "C2", "C3"},
    },
    Scalar{});

}  // namespace tenfold
