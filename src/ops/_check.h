// What the ops' infer() and eval() hooks share: element type classes, three-valued shape checks,
// values of shape operands.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/op_def.h"

namespace tenfold::ops {

// Sets of element types, as the specification's operand tables name them.
using TypeSet = unsigned;
inline constexpr TypeSet kBool = 1, kSInt = 2, kUInt = 4, kFloat = 8, kComplex = 16;
inline constexpr TypeSet kInt = kSInt | kUInt, kFloatOrComplex = kFloat | kComplex,
                         kNumber = kInt | kFloatOrComplex, kAny = kNumber | kBool,
                         kBoolOrInt = kBool | kInt;
bool in_set(DType t, TypeSet s);
std::string describe(TypeSet s);  // "a signed integer, floating-point or complex"

inline const TensorType& type(const Op& op, int operand) { return op.operand(operand)->type; }
std::string str(const Shape& s);  // "[n, 3]"
std::string str(const std::vector<int64_t>& s);

// No pair of dimensions is certainly different.
bool may_equal(Diag& diag, const Shape& a, const Shape& b);
// Per dimension the better known of two shapes that may be equal: a constant wins.
Shape merge(const Shape& a, const Shape& b);

// Operand `i` has a type of `s`, else fails with label "I<i+1>".
bool check_type(const Op& op, int i, TypeSet s, Diag& diag);
// Each fails with `label` and says both sides. `what` names the two: "lhs and rhs".
bool check_dtypes(Diag& diag, std::string_view label, std::string_view what, DType a, DType b);
bool check_shapes(Diag& diag, std::string_view label, std::string_view what, const Shape& a,
                  const Shape& b);
// `what` (an attribute's name) has all values in [0, bound) / no value twice / `n` values.
bool check_range(Diag& diag, std::string_view label, std::string_view what,
                 const std::vector<int64_t>& v, int64_t bound);
bool check_unique(Diag& diag, std::string_view label, std::string_view what,
                  const std::vector<int64_t>& v);
bool check_size(Diag& diag, std::string_view label, std::string_view what, int64_t have,
                int64_t want);

std::vector<TensorType> stated_types(const Op& op);
// For ops with stated results: checks result 0 against `want` and returns the merged type.
std::vector<TensorType> check_result(const Op& op, Diag& diag, std::string_view label,
                                     const TensorType& want);

// The values of a small integer tensor (rank 0 or 1) where constants, dimension sizes and plain
// arithmetic on them decide it.
std::optional<std::vector<Dim>> shape_value(const Value* v);
// shape_value(), or a failure that asks for a constant shape.
std::optional<std::vector<Dim>> known_shape(const Op& op, int operand, Diag& diag);

std::vector<loop::Expr> dims_of(EmitContext& ctx, const Shape& s);
// Expression of one element of a literal.
loop::Expr const_expr(const Literal& l, int64_t i);

// Run-time agreement of shapes that types left open.
Status same_dims(const EvalContext& ctx, std::string_view what, const std::vector<int64_t>& a,
                 const std::vector<int64_t>& b);
inline Result<std::vector<Literal>> one(Literal l) {
  std::vector<Literal> v;
  v.push_back(std::move(l));
  return v;
}

}  // namespace tenfold::ops
