// The table of primitives: names, result types, and which kernel serves which operand type.
//
// Kernels: prim_int.cc, prim_float.cc, prim_complex.cc. Narrow floats have none of their own: the
// operands are widened to f32 a piece at a time, the f32 kernel runs, the result is rounded once.
#include "array/prim.h"

#include <algorithm>
#include <array>

#include "array/prim_kernels.h"

namespace tenfold {
namespace {

using prim_detail::Kernel;

struct Row {
  std::string_view name;
  uint8_t arity;
};
constexpr Row kRows[] = {
#define X(n, a, s) {s, a},
    TENFOLD_PRIMS(X)
#undef X
};
constexpr int kPrimCount = static_cast<int>(std::size(kRows));

bool is_narrow(DType t) { return is_float(t) && t != DType::F32 && t != DType::F64; }

bool gives_bool(Prim p) {
  switch (p) {
    case Prim::IsFinite:
    case Prim::IsNan:
    case Prim::IsInf:
    case Prim::Eq:
    case Prim::Ne:
    case Prim::Lt:
    case Prim::Le:
    case Prim::Gt:
    case Prim::Ge:
    case Prim::TotalLt:
      return true;
    default:
      return false;
  }
}

// For a narrow float: the kernel of f32.
Kernel find_kernel(Prim p, DType t) {
  if (p == Prim::Select) return prim_detail::select_kernel(t);
  if (is_complex(t)) return prim_detail::complex_kernel(p, t);
  if (is_narrow(t)) {
    return p == Prim::Complex ? nullptr : prim_detail::float_kernel(p, DType::F32);
  }
  if (is_float(t)) return prim_detail::float_kernel(p, t);
  return prim_detail::int_kernel(p, t);
}

using Table = std::array<std::array<Kernel, kDTypeCount>, kPrimCount>;
const Table& table() {
  static const Table t = [] {
    Table all{};
    for (int p = 0; p < kPrimCount; ++p) {
      for (int d = 0; d < kDTypeCount; ++d) {
        all[static_cast<size_t>(p)][static_cast<size_t>(d)] =
            find_kernel(static_cast<Prim>(p), static_cast<DType>(d));
      }
    }
    return all;
  }();
  return t;
}
Kernel kernel(Prim p, DType t) { return table()[static_cast<size_t>(p)][static_cast<size_t>(t)]; }

// The neighbour of `a` towards `b` in a's own format.
uint32_t narrow_next(DType t, uint32_t a, uint32_t b) {
  const float x = decode_small_float(t, static_cast<uint16_t>(a));
  const float y = decode_small_float(t, static_cast<uint16_t>(b));
  if (x != x) return a;
  if (y != y || x == y) return b;
  if (t == DType::F8E8M0FNU) return x < y ? a + 1 : a - 1;
  const FloatFormat f = format_of(t);
  const uint32_t sign = 1u << f.sign_shift();
  if (x == 0) return y > 0 ? 1 : sign | 1;
  const bool away = (x < y) == (x > 0);  // from zero
  uint32_t code = away ? a + 1 : a - 1;
  // -0 is not a number where its code is NaN.
  if (code == sign && f.nan == FloatFormat::Nan::NegZero) code = 0;
  return code;
}

template <class Bits>
void narrow_next_after(DType t, const void* const* args, const int64_t* strides, void* out,
                       int64_t n) {
  const auto* a = static_cast<const Bits*>(args[0]);
  const auto* b = static_cast<const Bits*>(args[1]);
  for (int64_t i = 0; i < n; ++i) {
    static_cast<Bits*>(out)[i] =
        static_cast<Bits>(narrow_next(t, a[i * strides[0]], b[i * strides[1]]));
  }
}

void apply_narrow(Prim p, DType t, const void* const* args, const int64_t* strides, void* out,
                  int64_t n) {
  if (p == Prim::NextAfter) {
    return byte_size(t) == 1 ? narrow_next_after<uint8_t>(t, args, strides, out, n)
                             : narrow_next_after<uint16_t>(t, args, strides, out, n);
  }
  constexpr int64_t kChunk = 512;
  float buf[3][kChunk];
  std::byte gathered[kChunk * 2];
  const int count = arity(p);
  const int64_t w = byte_size(t);
  const bool bool_result = gives_bool(p);
  const Kernel k = kernel(p, t);
  const void* wide[3] = {buf[0], buf[1], buf[2]};
  int64_t wide_strides[3] = {0, 0, 0};
  for (int64_t i = 0; i < n; i += kChunk) {
    const int64_t m = std::min(kChunk, n - i);
    for (int j = 0; j < count; ++j) {
      const int64_t s = strides[j];
      const auto* src = static_cast<const std::byte*>(args[j]) + i * s * w;
      wide_strides[j] = s == 0 ? 0 : 1;
      if (s == 0 || s == 1) {
        decode_small_floats(t, src, buf[j], s == 0 ? 1 : m);
        continue;
      }
      for (int64_t e = 0; e < m; ++e) std::memcpy(gathered + e * w, src + e * s * w, size_t(w));
      decode_small_floats(t, gathered, buf[j], m);
    }
    if (bool_result) {
      k(wide, wide_strides, static_cast<bool*>(out) + i, m);
    } else {
      // Not into an operand's buffer: one that is broadcast is read to the end.
      float result[kChunk];
      k(wide, wide_strides, result, m);
      encode_small_floats(t, result, static_cast<std::byte*>(out) + i * w, m);
    }
  }
}

}  // namespace

std::string_view name(Prim p) { return kRows[static_cast<int>(p)].name; }
int arity(Prim p) { return kRows[static_cast<int>(p)].arity; }

std::optional<Prim> prim_from_name(std::string_view s) {
  for (int i = 0; i < kPrimCount; ++i) {
    if (kRows[i].name == s) return static_cast<Prim>(i);
  }
  return std::nullopt;
}

DType result_dtype(Prim p, DType t) {
  if (gives_bool(p)) return DType::Bool;
  switch (p) {
    case Prim::Real:
    case Prim::Imag:
    case Prim::Abs:
      return real_of(t);
    case Prim::Complex:
      return t == DType::F64 ? DType::C128 : DType::C64;
    default:
      return t;
  }
}

bool supports(Prim p, DType t) { return kernel(p, t) != nullptr; }

void apply(Prim p, DType t, const void* const* args, const int64_t* strides, void* out, int64_t n) {
  if (n <= 0) return;
  const Kernel k = kernel(p, t);
  TF_CHECK(k != nullptr, std::string(name(p)) + " on " + std::string(name(t)));
  if (is_narrow(t) && p != Prim::Select) return apply_narrow(p, t, args, strides, out, n);
  k(args, strides, out, n);
}

}  // namespace tenfold
