// A tensor of numbers: dtype, concrete row-major shape, shared immutable bytes (which may be a
// mapped file). The currency of constants, the evaluator, .npy files and tests.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "array/dtype.h"
#include "array/floats.h"
#include "array/type.h"
#include "base/result.h"

namespace tenfold {

class Literal {
 public:
  Literal() = default;  // f32 scalar 0
  // Zero-filled, owned.
  Literal(DType dtype, std::vector<int64_t> dims);
  // Owned, contents undefined: for a caller that writes every element.
  static Literal uninit(DType dtype, std::vector<int64_t> dims);
  // Views `bytes` (row-major, one byte per sub-byte element), kept alive by `owner`.
  static Literal borrow(DType dtype, std::vector<int64_t> dims, const std::byte* bytes,
                        std::shared_ptr<const void> owner);
  static Literal scalar(DType dtype, double v);     // converted with convert()'s rules
  static Literal scalar_i(DType dtype, int64_t v);  // exact for 64-bit integers
  template <class T>                                // C++ storage type of the dtype; see CppType
  static Literal from(DType dtype, std::vector<int64_t> dims, std::span<const T> values);
  static Literal i64s(const std::vector<int64_t>& values);  // rank 1
  // Every element set to the one of `scalar` (any literal of one element).
  static Literal splat(const Literal& scalar, std::vector<int64_t> dims);

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& dims() const { return dims_; }
  int rank() const { return static_cast<int>(dims_.size()); }
  int64_t size() const { return size_; }  // elements
  size_t byte_count() const { return static_cast<size_t>(size_) * byte_size(dtype_); }
  TensorType type() const;

  const std::byte* bytes() const { return bytes_; }
  // Writable access; copies first when the storage is shared or borrowed.
  std::byte* mutable_bytes();
  template <class T>
  std::span<const T> data() const {
    return {reinterpret_cast<const T*>(bytes_), static_cast<size_t>(size_)};
  }
  template <class T>
  std::span<T> mutable_data() {
    return {reinterpret_cast<T*>(mutable_bytes()), static_cast<size_t>(size_)};
  }

  // Element by flat row-major index. Real types only for as_f64; integers and Bool for as_i64.
  double as_f64(int64_t i) const;
  int64_t as_i64(int64_t i) const;  // U64 wraps
  std::complex<double> as_c128(int64_t i) const;
  void set_f64(int64_t i, double v);  // rounds to the dtype
  void set_i64(int64_t i, int64_t v);
  void set_c128(int64_t i, std::complex<double> v);
  std::vector<int64_t> to_i64s() const;

  Literal reshaped(std::vector<int64_t> dims) const;  // same bytes, same count
  bool is_splat() const;

  // Bit-for-bit, NaN equal to NaN of any payload.
  bool same(const Literal& o) const;
  std::string str(int64_t max_elements = 16) const;  // "dense<[1, 2]> : tensor<2xi32>"-like
  std::string sha256() const;                        // of the bytes alone; hex

 private:
  static const std::byte kZeroScalar[16];
  void allocate(bool zero);
  DType dtype_ = DType::F32;
  std::vector<int64_t> dims_;
  int64_t size_ = 1;
  std::shared_ptr<const void> owner_;
  std::byte* owned_ = nullptr;  // into owner_ when this literal made the storage
  const std::byte* bytes_ = kZeroScalar;
};

template <class T>
Literal Literal::from(DType dtype, std::vector<int64_t> dims, std::span<const T> values) {
  Literal l = uninit(dtype, std::move(dims));
  TF_CHECK(sizeof(T) == static_cast<size_t>(byte_size(dtype)) &&
               values.size() == static_cast<size_t>(l.size_),
           "Literal::from with values of another type or count");
  if (!values.empty()) std::memcpy(l.owned_, values.data(), values.size_bytes());
  return l;
}

// Elements of a shape, or nullopt when a dimension is negative or the product passes int64.
std::optional<int64_t> checked_size(const std::vector<int64_t>& dims);
std::vector<int64_t> row_major_strides(const std::vector<int64_t>& dims);

// Element type conversion with Tenfold's rules (ARCHITECTURE "Numbers"): float to integer
// saturates and cuts towards zero, NaN becomes 0; to Bool is `!= 0`; integer to integer wraps;
// float to narrower float rounds to nearest even; complex to real drops the imaginary part.
Literal convert(const Literal& x, DType to);

struct Difference {  // of two arrays of one type
  int64_t mismatches = 0;
  int64_t first = -1;          // flat index
  double max_abs = 0;          // over finite pairs
  double max_rel_to_peak = 0;  // max |a-b| / max |b|, the measure issues and tests use
  double max_ulp = 0;
};
// Elements match when equal, both NaN, or |a-b| <= atol + rtol*|b|.
Difference compare(const Literal& a, const Literal& b, double rtol, double atol);

}  // namespace tenfold
