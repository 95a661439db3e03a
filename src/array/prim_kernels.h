// Private to prim*.cc: the kernel table's parts and the loops all kernels run in.
#pragma once

#include <cstdint>
#include <type_traits>

#include "array/prim.h"

namespace tenfold::prim_detail {

using Kernel = void (*)(const void* const* args, const int64_t* strides, void* out, int64_t n);

// nullptr: not defined on this type. `t` is never a narrow float: those go through F32.
Kernel int_kernel(Prim p, DType t);      // Bool and integers
Kernel float_kernel(Prim p, DType t);    // F32, F64
Kernel complex_kernel(Prim p, DType t);  // C64, C128
Kernel select_kernel(DType t);           // any

// The loops over contiguous or broadcast operands are written out so that they vectorise; an
// output may be one of the operands, element for element, hence no loop-carried dependence.
// The compiler may say it could not (sanitizers make it so); that is no error.
#pragma clang diagnostic ignored "-Wpass-failed"
#define TENFOLD_VECTOR_LOOP _Pragma("clang loop vectorize(assume_safety)")

// F::op(T) -> Out. kFast: worth a loop of its own for contiguous operands.
template <class T, class Out, class F, bool kFast = true>
void unary(const void* const* args, const int64_t* strides, void* out, int64_t n) {
  const T* a = static_cast<const T*>(args[0]);
  Out* o = static_cast<Out*>(out);
  const int64_t s = strides[0];
  if constexpr (kFast) {
    if (s == 1) {
      TENFOLD_VECTOR_LOOP
      for (int64_t i = 0; i < n; ++i) o[i] = F::op(a[i]);
      return;
    }
  }
  if (s == 0 && n > 0) {
    const Out v = F::op(a[0]);
    for (int64_t i = 0; i < n; ++i) o[i] = v;
    return;
  }
  for (int64_t i = 0; i < n; ++i) o[i] = F::op(a[i * s]);
}

template <class T, class Out, class F, bool kFast = true>
void binary(const void* const* args, const int64_t* strides, void* out, int64_t n) {
  const T* a = static_cast<const T*>(args[0]);
  const T* b = static_cast<const T*>(args[1]);
  Out* o = static_cast<Out*>(out);
  const int64_t s = strides[0], t = strides[1];
  if constexpr (kFast) {
    if (s == 1 && t == 1) {
      TENFOLD_VECTOR_LOOP
      for (int64_t i = 0; i < n; ++i) o[i] = F::op(a[i], b[i]);
      return;
    }
    if (s == 1 && t == 0 && n > 0) {
      const T y = b[0];
      TENFOLD_VECTOR_LOOP
      for (int64_t i = 0; i < n; ++i) o[i] = F::op(a[i], y);
      return;
    }
    if (s == 0 && t == 1 && n > 0) {
      const T x = a[0];
      TENFOLD_VECTOR_LOOP
      for (int64_t i = 0; i < n; ++i) o[i] = F::op(x, b[i]);
      return;
    }
  }
  for (int64_t i = 0; i < n; ++i) o[i] = F::op(a[i * s], b[i * t]);
}

template <class T, class F>
void ternary(const void* const* args, const int64_t* strides, void* out, int64_t n) {
  const T* a = static_cast<const T*>(args[0]);
  const T* b = static_cast<const T*>(args[1]);
  const T* c = static_cast<const T*>(args[2]);
  T* o = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) {
    o[i] = F::op(a[i * strides[0]], b[i * strides[1]], c[i * strides[2]]);
  }
}

// Shared by real types. Comparisons with NaN are false but for Ne.
struct EqOp {
  template <class T>
  static bool op(T a, T b) {
    return a == b;
  }
};
struct NeOp {
  template <class T>
  static bool op(T a, T b) {
    return a != b;
  }
};
struct LtOp {
  template <class T>
  static bool op(T a, T b) {
    return a < b;
  }
};
struct LeOp {
  template <class T>
  static bool op(T a, T b) {
    return a <= b;
  }
};
struct GtOp {
  template <class T>
  static bool op(T a, T b) {
    return a > b;
  }
};
struct GeOp {
  template <class T>
  static bool op(T a, T b) {
    return a >= b;
  }
};

}  // namespace tenfold::prim_detail
