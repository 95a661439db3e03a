// Literals: storage, element access, text, comparison.
#include "array/literal.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "array/prim.h"
#include "base/file.h"
#include "base/sha256.h"

namespace tenfold {

alignas(16) const std::byte Literal::kZeroScalar[16] = {};

std::optional<int64_t> checked_size(const std::vector<int64_t>& dims) {
  int64_t n = 1;
  bool zero = false, overflow = false;
  for (int64_t d : dims) {
    if (d < 0) return std::nullopt;
    zero = zero || d == 0;
    overflow = overflow || __builtin_mul_overflow(n, d, &n);
  }
  if (zero) return 0;
  if (overflow) return std::nullopt;
  return n;
}

namespace {
int64_t size_of(DType t, const std::vector<int64_t>& dims) {
  const auto n = checked_size(dims);
  TF_CHECK(n && *n <= INT64_MAX / 2 / byte_size(t), "literal of an impossible shape");
  return *n;
}
}  // namespace

void Literal::allocate(bool zero) {
  constexpr size_t kAlign = 64;
  const size_t n = byte_count() + kAlign;
  // calloc gives large zero pages without touching them.
  void* raw = zero ? std::calloc(n, 1) : std::malloc(n);
  TF_CHECK(raw != nullptr, "out of memory for a literal of " + std::to_string(n) + " bytes");
  const auto address = reinterpret_cast<uintptr_t>(raw);
  owned_ = static_cast<std::byte*>(raw) + (kAlign - address % kAlign);
  bytes_ = owned_;
  owner_ = std::shared_ptr<const void>(raw, [](const void* p) { std::free(const_cast<void*>(p)); });
}

Literal::Literal(DType dtype, std::vector<int64_t> dims)
    : dtype_(dtype), dims_(std::move(dims)), size_(size_of(dtype, dims_)) {
  allocate(true);
}

Literal Literal::uninit(DType dtype, std::vector<int64_t> dims) {
  Literal l;
  l.dtype_ = dtype;
  l.dims_ = std::move(dims);
  l.size_ = size_of(dtype, l.dims_);
  l.allocate(false);
  return l;
}

Literal Literal::borrow(DType dtype, std::vector<int64_t> dims, const std::byte* bytes,
                        std::shared_ptr<const void> owner) {
  Literal l;
  l.dtype_ = dtype;
  l.dims_ = std::move(dims);
  l.size_ = size_of(dtype, l.dims_);
  l.owner_ = std::move(owner);
  l.bytes_ = bytes;
  return l;
}

Literal Literal::scalar(DType dtype, double v) {
  Literal l = uninit(dtype, {});
  cast(DType::F64, dtype, &v, l.owned_, 1);
  return l;
}
Literal Literal::scalar_i(DType dtype, int64_t v) {
  Literal l = uninit(dtype, {});
  cast(DType::I64, dtype, &v, l.owned_, 1);
  return l;
}
Literal Literal::i64s(const std::vector<int64_t>& values) {
  return from<int64_t>(DType::I64, {static_cast<int64_t>(values.size())}, values);
}

Literal Literal::splat(const Literal& scalar, std::vector<int64_t> dims) {
  TF_CHECK(scalar.size() == 1, "splat of a literal of " + std::to_string(scalar.size()));
  Literal l = uninit(scalar.dtype(), std::move(dims));
  const size_t w = static_cast<size_t>(byte_size(l.dtype_)), total = l.byte_count();
  if (total == 0) return l;
  std::memcpy(l.owned_, scalar.bytes(), w);
  for (size_t done = w; done < total;) {
    const size_t k = std::min(done, total - done);
    std::memcpy(l.owned_ + done, l.owned_, k);
    done += k;
  }
  return l;
}

TensorType Literal::type() const { return {dtype_, to_shape(dims_)}; }

std::byte* Literal::mutable_bytes() {
  if (owned_ == nullptr || owner_.use_count() != 1) {
    const std::byte* old = bytes_;
    const auto keep = owner_;
    allocate(false);
    if (byte_count() > 0) std::memcpy(owned_, old, byte_count());
  }
  return owned_;
}

namespace {
// Element `i` converted by cast()'s rules.
template <class T>
T element(const Literal& l, DType as, int64_t i) {
  TF_CHECK(i >= 0 && i < l.size(), "literal index " + std::to_string(i));
  T v;
  cast(l.dtype(), as, l.bytes() + i * byte_size(l.dtype()), &v, 1);
  return v;
}
template <class T>
void set_element(Literal& l, DType from, int64_t i, T v) {
  TF_CHECK(i >= 0 && i < l.size(), "literal index " + std::to_string(i));
  cast(from, l.dtype(), &v, l.mutable_bytes() + i * byte_size(l.dtype()), 1);
}
}  // namespace

double Literal::as_f64(int64_t i) const { return element<double>(*this, DType::F64, i); }
int64_t Literal::as_i64(int64_t i) const { return element<int64_t>(*this, DType::I64, i); }
std::complex<double> Literal::as_c128(int64_t i) const {
  return element<std::complex<double>>(*this, DType::C128, i);
}
void Literal::set_f64(int64_t i, double v) { set_element(*this, DType::F64, i, v); }
void Literal::set_i64(int64_t i, int64_t v) { set_element(*this, DType::I64, i, v); }
void Literal::set_c128(int64_t i, std::complex<double> v) { set_element(*this, DType::C128, i, v); }

std::vector<int64_t> Literal::to_i64s() const {
  std::vector<int64_t> v(static_cast<size_t>(size_));
  cast(dtype_, DType::I64, bytes_, v.data(), size_);
  return v;
}

Literal Literal::reshaped(std::vector<int64_t> dims) const {
  TF_CHECK(size_of(dtype_, dims) == size_, "reshape of " + type().str() + " to another count");
  Literal l = *this;
  l.dims_ = std::move(dims);
  return l;
}

bool Literal::is_splat() const {
  const size_t w = static_cast<size_t>(byte_size(dtype_)), n = byte_count();
  // Equal to itself one element on: all elements are the first. Pages of a mapped file that were
  // looked at for this alone are given back.
  constexpr size_t kPiece = size_t{16} << 20;
  for (size_t at = 0, k; at < n - std::min(n, w); at += k) {
    k = std::min(kPiece, n - w - at);
    if (std::memcmp(bytes_ + at, bytes_ + at + w, k) != 0) return false;
    if (n > kPiece) drop_mapped_pages(bytes_ + at, k);
  }
  return n > 0;
}

namespace {
template <class T>
bool same_element(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
  } else if constexpr (is_small_float<T>::value) {
    if (a.bits == b.bits) return true;
    const float x(a), y(b);
    return x != x && y != y;
  } else if constexpr (std::is_same_v<T, std::complex<float>> ||
                       std::is_same_v<T, std::complex<double>>) {
    return same_element(a.real(), b.real()) && same_element(a.imag(), b.imag());
  } else {
    return std::memcmp(&a, &b, sizeof a) == 0;
  }
}
}  // namespace

bool Literal::same(const Literal& o) const {
  if (dtype_ != o.dtype_ || dims_ != o.dims_) return false;
  if (size_ == 0 || bytes_ == o.bytes_ || std::memcmp(bytes_, o.bytes_, byte_count()) == 0) {
    return true;
  }
  return dispatch(dtype_, [&](auto tag) {
    using T = decltype(tag);
    const auto a = data<T>(), b = o.data<T>();
    for (size_t i = 0; i < a.size(); ++i) {
      if (!same_element(a[i], b[i])) return false;
    }
    return true;
  });
}

namespace {
template <class T>
std::string float_text(T v) {
  char buf[64];
  const auto r = std::to_chars(buf, buf + sizeof buf, v);
  std::string s(buf, r.ptr);
  // MLIR takes a number without a point for an integer.
  if (std::isfinite(v) && s.find('.') == std::string::npos) {
    const size_t e = s.find('e');
    s.insert(e == std::string::npos ? s.size() : e, ".0");
  }
  return s;
}

std::string element_text(const Literal& l, int64_t i) {
  const DType t = l.dtype();
  if (t == DType::Bool) return l.as_i64(i) ? "true" : "false";
  if (t == DType::U64) return std::to_string(static_cast<uint64_t>(l.as_i64(i)));
  if (is_integer(t)) return std::to_string(l.as_i64(i));
  if (t == DType::C64) {
    const auto c = l.data<std::complex<float>>()[static_cast<size_t>(i)];
    return "(" + float_text(c.real()) + ", " + float_text(c.imag()) + ")";
  }
  if (t == DType::C128) {
    const auto c = l.data<std::complex<double>>()[static_cast<size_t>(i)];
    return "(" + float_text(c.real()) + ", " + float_text(c.imag()) + ")";
  }
  if (t == DType::F64) return float_text(l.as_f64(i));
  return float_text(static_cast<float>(l.as_f64(i)));  // narrower ones are exact in f32
}

// Appends dimension `d` of the elements from `at`; stops after `left` of them.
void nested_text(const Literal& l, size_t d, int64_t stride, int64_t& at, int64_t& left,
                 std::string& s) {
  if (d == l.dims().size()) {
    s += element_text(l, at++);
    --left;
    return;
  }
  s += "[";
  const int64_t n = l.dims()[d], inner = n ? stride / n : 0;
  for (int64_t i = 0; i < n; ++i) {
    if (i) s += ", ";
    if (left <= 0) {
      s += "...";
      break;
    }
    nested_text(l, d + 1, inner, at, left, s);
  }
  s += "]";
}
}  // namespace

std::string Literal::str(int64_t max_elements) const {
  std::string s = "dense<";
  if (size_ > 1 && is_splat()) {
    s += element_text(*this, 0);
  } else if (size_ > 0) {
    int64_t at = 0, left = std::max<int64_t>(max_elements, 1);
    nested_text(*this, 0, size_, at, left, s);
  }
  return s + "> : " + type().str();
}

std::string Literal::sha256() const { return sha256_hex(bytes_, byte_count()); }

std::vector<int64_t> row_major_strides(const std::vector<int64_t>& dims) {
  std::vector<int64_t> s(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) s[i - 1] = s[i] * dims[i];
  return s;
}

Literal convert(const Literal& x, DType to) {
  if (x.dtype() == to) return x;
  Literal out = Literal::uninit(to, x.dims());
  cast(x.dtype(), to, x.bytes(), out.mutable_bytes(), x.size());
  return out;
}

}  // namespace tenfold
