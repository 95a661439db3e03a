// stablehlo.compare: the order is the element type's, or for floats the total order of IEEE 754.
#include <array>

#include "ops/_elementwise.h"

namespace tenfold {
namespace {

constexpr std::array<std::string_view, 6> kDirections = {"EQ", "NE", "GE", "GT", "LE", "LT"};

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  const TensorType &a = ops::type(op, 0), &b = ops::type(op, 1);
  ops::check_dtypes(diag, "C1", "lhs and rhs", a.dtype, b.dtype);
  const bool same = ops::check_shapes(diag, "C2", "lhs and rhs", a.shape, b.shape);
  const std::string& dir = op.str("comparison_direction");
  if (std::find(kDirections.begin(), kDirections.end(), dir) == kDirections.end()) {
    diag.fail("I3", "comparison_direction is " + dir + ", wanted EQ, NE, GE, GT, LE or LT");
  } else if (is_complex(a.dtype) && dir != "EQ" && dir != "NE") {
    diag.fail("unsupported", "complex numbers have no order, only EQ and NE; found " + dir);
  }
  if (op.attr("compare_type")) {
    const std::string& t = op.str("compare_type");
    std::string_view want = "FLOAT";
    if (is_signed(a.dtype)) want = "SIGNED";
    if (is_unsigned(a.dtype) || a.dtype == DType::Bool) want = "UNSIGNED";
    if (t != want && !(is_float(a.dtype) && t == "TOTALORDER") && t != "NOTYPE") {
      diag.fail("C3", fmt::format("compare_type is {}, wanted {} for element type {}", t, want,
                                  name(a.dtype)));
    }
  }
  return {{DType::Bool, same ? ops::merge(a.shape, b.shape) : a.shape}};
}

template <class K, class V>
V total_order(K k, const std::string& dir, const V& a, const V& b) {
  const V less = k.op(Prim::TotalLt, {a, b}), greater = k.op(Prim::TotalLt, {b, a});
  if (dir == "LT") return less;
  if (dir == "GT") return greater;
  if (dir == "LE") return k.op(Prim::Not, {greater});
  if (dir == "GE") return k.op(Prim::Not, {less});
  const V unequal = k.op(Prim::Or, {less, greater});
  return dir == "NE" ? unequal : k.op(Prim::Not, {unequal});
}

}  // namespace

extern const OpDef op_compare;
const OpDef op_compare = ops::with_scalar(
    {
        .name = "stablehlo.compare",
        .summary = "Compares elements; NaN is unequal to everything but in TOTALORDER.",
        .min_operands = 2,
        .max_operands = 2,
        .attrs = {{"comparison_direction", AttrKind::Enum, true, "EQ, NE, GE, GT, LE or LT"},
                  {"compare_type", AttrKind::Enum, false,
                   "FLOAT, TOTALORDER, SIGNED or UNSIGNED; absent: by the element type"}},
        .infer = infer,
        .constraints = {"C1", "C2", "C3", "I3"},
    },
    [](const Op& op, auto k, auto args) {
      const std::string& dir = op.str("comparison_direction");
      if (op.attr("compare_type") && op.str("compare_type") == "TOTALORDER") {
        return total_order(k, dir, args[0], args[1]);
      }
      const Prim p = dir == "EQ"   ? Prim::Eq
                     : dir == "NE" ? Prim::Ne
                     : dir == "GE" ? Prim::Ge
                     : dir == "GT" ? Prim::Gt
                     : dir == "LE" ? Prim::Le
                                   : Prim::Lt;
      return k.op(p, {args[0], args[1]});
    });

}  // namespace tenfold
