// Elementary functions as IR. Polynomials are minimax fits (Remez exchange at 50 digits); the
// measured errors stand in docs and are held by test/cpu.
#pragma once

#include "backends/cpu/gen.h"

namespace tenfold::cpu {

// y * 2^n for |y| in [0.5, 2], rounded once. `n` is whole, kept as a float; |n| <= twice the
// largest exponent of the type.
V scale_by_pow2(V y, V n);
// The nearest whole number k to x * c, with x * c well inside 2^(bits of the mantissa - 2); as a
// float, and its low bits as an integer in `as_int` when asked for.
V round_product(V x, double c, V* as_int);

// f32
V exp32(V x);
V expm1_32(V x);
V log32(V x);
V tanh32(V x);
V logistic32(V x);
V erf32(V x);
V sin32(V x);
V cos32(V x);

// f64
V exp64(V x);
V expm1_64(V x);
V log64(V x);
V log1p64(V x);
V tanh64(V x);
V logistic64(V x);
V erf64(V x);
V sin64(V x);
V cos64(V x);
V tan64(V x);
V asin64(V x);
V acos64(V x);
V atan64(V x);
V atan2_64(V y, V x);
V sinh64(V x);
V cosh64(V x);
V asinh64(V x);
V acosh64(V x);
V atanh64(V x);
V cbrt64(V x);
V lgamma64(V x);
V pow64(V x, V y);
V hypot64(V x, V y);
// For results that are rounded to f32: logarithm and product in plain f64.
V pow64_for_f32(V x, V y);

// pi/2-periodic reduction: x = n * pi/2 + hi + lo with |hi| <= pi/4; n's low two bits in
// `quadrant`.
void reduce_pi_2(V x, V* quadrant, V* hi, V* lo);

}  // namespace tenfold::cpu
