// What of a graph is int8 arithmetic: the shapes that quantized models take as plain ops.
//
//   centred     convert(q) - zero                      in i32 or f32
//   dequantize  (q - zero) * scale                     f32
//   quantize    clamp(round_even(y) + zero)            int8, y = t / scale or i32 sum * scale
//
// Both forms of onnxruntime's static quantizer come out of import so, and StableHLO text that
// spells them out is read alike.
#pragma once

#include <optional>
#include <unordered_map>

#include "graph/op_def.h"

namespace tenfold::tpu::matrix {

bool is_int8(DType t);  // I8 or U8

// A list of fixed sizes; `n` copies of `fallback` where absent.
std::vector<int64_t> numbers_or(const Op& op, std::string_view name, size_t n, int64_t fallback);

// A value's literal when it follows from constants alone and is no larger than `max_elements`.
class Constants {
 public:
  std::optional<Literal> get(const Value* v, int64_t max_elements = 1 << 20);
  bool is_constant(const Value* v);
  // The one number that every element is.
  std::optional<double> splat(const Value* v);
  // Numbers along dimension `axis` alone, or one number: looks through broadcasts and reshapes.
  std::optional<std::vector<double>> along(const Value* v, int64_t axis);

 private:
  std::unordered_map<const Value*, bool> constant_;
  std::unordered_map<const Value*, Literal> values_;
};

// Runs one op's evaluator on literals; nothing when it needs what a constant lacks.
std::optional<Literal> evaluate_op(const Op& op, std::vector<Literal> args);

// (q - zero) [* scale]; without a scale the value is the integer itself, in i32 or f32.
struct Centred {
  const Value* q = nullptr;  // the int8 (or constant i32) value
  double zero = 0;
  const Value* scale = nullptr;  // null: 1
};
std::optional<Centred> match_centred(const Value* v, Constants& c);

struct Quantized {
  const Value* y = nullptr;  // f32, rounded next
  double zero = 0, low = 0, high = 0;
};
// `v` is int8.
std::optional<Quantized> match_quantized(const Value* v, Constants& c);

// max(min(x, high), low) in any order and form (clamp, relu); x itself when there is none.
const Value* peel_bounds(const Value* v, Constants& c, double& low, double& high);

// The other operand of a commutative op, when `v` is that op and one operand is constant.
const Value* other_operand(const Op& op, Constants& c, const Value*& constant);

}  // namespace tenfold::tpu::matrix
