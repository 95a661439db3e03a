// The .npy format: magic, version, a header that is a Python dictionary, raw elements.
#include "array/npy.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "array/prim.h"
#include "base/file.h"
#include "base/reader.h"

namespace tenfold {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kMaxRank = 64;  // NumPy's own limit

struct Header {
  std::string descr;
  bool fortran = false;
  std::vector<int64_t> dims;
};

// The dictionary, e.g. {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view s) : s_(s) {}

  // On failure `wanted` says what should have stood at pos().
  bool parse(Header& h) {
    bool seen_descr = false, seen_order = false, seen_shape = false;
    if (!eat('{')) return want("'{'");
    while (!eat('}')) {
      std::string key;
      if (!text(key)) return want("a key in quotes");
      if (!eat(':')) return want("':'");
      if (key == "descr") {
        if (std::exchange(seen_descr, true)) return want("one 'descr'");
        skip();
        if (pos_ < s_.size() && s_[pos_] == '[') return want("a plain type, not a record");
        if (!text(h.descr)) return want("a type in quotes");
      } else if (key == "fortran_order") {
        if (std::exchange(seen_order, true)) return want("one 'fortran_order'");
        if (word("True"))
          h.fortran = true;
        else if (word("False"))
          h.fortran = false;
        else
          return want("True or False");
      } else if (key == "shape") {
        if (std::exchange(seen_shape, true)) return want("one 'shape'");
        if (!shape(h.dims)) return false;
      } else {
        return want("only the keys 'descr', 'fortran_order' and 'shape'");
      }
      if (!eat(',')) {
        if (eat('}')) break;
        return want("',' or '}'");
      }
    }
    skip();
    if (pos_ != s_.size()) return want("nothing after '}'");
    if (!seen_descr || !seen_order || !seen_shape) {
      return want("the keys 'descr', 'fortran_order' and 'shape'");
    }
    return true;
  }
  const std::string& wanted() const { return wanted_; }
  size_t pos() const { return pos_; }

 private:
  bool want(std::string what) {
    wanted_ = std::move(what);
    return false;
  }
  void skip() {
    while (pos_ < s_.size() && std::isspace(static_cast<unsigned char>(s_[pos_]))) ++pos_;
  }
  bool eat(char c) {
    skip();
    if (pos_ >= s_.size() || s_[pos_] != c) return false;
    ++pos_;
    return true;
  }
  bool word(std::string_view w) {
    skip();
    if (s_.substr(pos_, w.size()) != w) return false;
    pos_ += w.size();
    return true;
  }
  bool text(std::string& out) {
    skip();
    if (pos_ >= s_.size() || (s_[pos_] != '\'' && s_[pos_] != '"')) return false;
    const size_t end = s_.find(s_[pos_], pos_ + 1);
    if (end == std::string_view::npos) return false;
    out = s_.substr(pos_ + 1, end - pos_ - 1);
    pos_ = end + 1;
    return true;
  }
  bool shape(std::vector<int64_t>& dims) {
    if (!eat('(')) return want("'('");
    while (!eat(')')) {
      skip();
      int64_t v = 0;
      const size_t start = pos_;
      while (pos_ < s_.size() && std::isdigit(static_cast<unsigned char>(s_[pos_]))) {
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, s_[pos_] - '0', &v)) {
          return want("a dimension that fits 64 bits");
        }
        ++pos_;
      }
      if (pos_ == start) return want("a dimension");
      if (pos_ < s_.size() && s_[pos_] == 'L') ++pos_;  // Python 2
      if (dims.size() == kMaxRank) return want("at most 64 dimensions");
      dims.push_back(v);
      if (!eat(',')) {
        if (eat(')')) break;
        return want("',' or ')'");
      }
    }
    return true;
  }

  std::string_view s_;
  size_t pos_ = 0;
  std::string wanted_;
};

struct Stored {
  DType dtype;
  bool swap = false;  // big-endian
  bool void_bytes = false;
};

bool is_sub_byte_integer(DType t) { return is_integer(t) && bit_width(t) < 8; }

// What the type string means; an error text otherwise.
std::optional<Stored> stored_type(const std::string& d, std::optional<DType> want,
                                  std::string& problem) {
  auto fail = [&](std::string s) {
    problem = std::move(s);
    return std::nullopt;
  };
  if (d.size() < 2) return fail("found the type '" + d + "'");
  char order = d[0];
  std::string kind = d.substr(1);
  if (order != '<' && order != '>' && order != '|' && order != '=') {
    order = '|';
    kind = d;
  }
  Stored s{DType::F32, order == '>', false};
  if (kind[0] == 'O') {
    return fail("found an array of Python objects, wanted numbers; save it with a numeric dtype");
  }
  if (kind[0] == 'U' || kind[0] == 'S' || kind[0] == 'a') {
    return fail("found an array of text, wanted numbers");
  }
  static constexpr std::pair<std::string_view, DType> kKinds[] = {
      {"b1", DType::Bool}, {"?", DType::Bool}, {"i1", DType::I8},    {"i2", DType::I16},
      {"i4", DType::I32},  {"i8", DType::I64}, {"u1", DType::U8},    {"u2", DType::U16},
      {"u4", DType::U32},  {"u8", DType::U64}, {"f2", DType::F16},   {"f4", DType::F32},
      {"f8", DType::F64},  {"c8", DType::C64}, {"c16", DType::C128},
  };
  for (const auto& [k, t] : kKinds) {
    if (kind != k) continue;
    s.dtype = t;
    if (want && is_sub_byte_integer(*want) && (t == DType::I8 || t == DType::U8)) s.dtype = *want;
    return s;
  }
  // The one narrow float that ml_dtypes marks as a float.
  if (kind == "f1") {
    s.dtype = DType::F8E5M2;
    return s;
  }
  if (kind == "V1" || kind == "V2") {
    const int width = kind == "V1" ? 1 : 2;
    s.void_bytes = true;
    s.swap = false;
    if (!want && width == 2) want = DType::BF16;
    if (!want) {
      return fail("found raw bytes ('" + d +
                  "'), which may be any 8-bit type; say which type the array has");
    }
    const bool fits = width == 2 ? *want == DType::BF16
                                 : byte_size(*want) == 1 && *want != DType::Bool &&
                                       *want != DType::I8 && *want != DType::U8;
    if (!fits) return fail("found raw bytes ('" + d + "'), wanted " + std::string(name(*want)));
    s.dtype = *want;
    return s;
  }
  return fail("found the type '" + d + "', wanted a numeric type of at most 64 bits (or complex)");
}

void swap_bytes(std::byte* p, int64_t n, int width) {
  for (int64_t i = 0; i < n; ++i) std::reverse(p + i * width, p + (i + 1) * width);
}

// Row-major from column-major.
void transpose(const std::byte* in, std::byte* out, const std::vector<int64_t>& dims, int width) {
  const size_t rank = dims.size();
  std::vector<int64_t> stride(rank), index(rank, 0);
  int64_t n = 1;
  for (size_t i = 0; i < rank; ++i) {
    stride[i] = n;
    n *= dims[i];
  }
  int64_t from = 0;
  for (int64_t i = 0; i < n; ++i) {
    std::memcpy(out + i * width, in + from * width, static_cast<size_t>(width));
    for (size_t d = rank; d-- > 0;) {
      from += stride[d];
      if (++index[d] < dims[d]) break;
      from -= stride[d] * dims[d];
      index[d] = 0;
    }
  }
}

// Elements whose bytes are not all meaningful: Bool must be 0 or 1, a narrow value must fit. Brings
// raw bytes to Tenfold's form; false when a value does not fit. `x` may be borrowed: it is written
// only where needed.
bool canonical(Literal& x, bool void_bytes) {
  const DType t = x.dtype();
  const auto* p = reinterpret_cast<const uint8_t*>(x.bytes());
  const int64_t n = x.size();
  if (t == DType::Bool) return std::all_of(p, p + n, [](uint8_t b) { return b <= 1; });
  const int bits = bit_width(t);
  if (bits >= 8) return true;
  if (!is_signed(t) || void_bytes) {
    const int limit = 1 << bits;
    const bool fits = std::all_of(p, p + n, [&](uint8_t b) { return b < limit; });
    if (!is_signed(t)) return fits;
    // ml_dtypes writes the low bits only; sign-extended bytes are taken as well.
    auto* q = reinterpret_cast<int8_t*>(x.mutable_bytes());
    for (int64_t i = 0; i < n; ++i) {
      const auto v = static_cast<int8_t>(static_cast<int8_t>(q[i] << (8 - bits)) >> (8 - bits));
      if (q[i] != v && static_cast<uint8_t>(q[i]) >= limit) return false;
      q[i] = v;
    }
    return true;
  }
  const int half = 1 << (bits - 1);
  const auto* q = reinterpret_cast<const int8_t*>(x.bytes());
  return std::all_of(q, q + n, [&](int8_t v) { return v >= -half && v < half; });
}

Error npy_error(const Reader& r, std::string_view id, const std::string& message) {
  return r.fail(id, message);
}

}  // namespace

Result<Literal> read_npy(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                         std::string_view where, std::optional<DType> want) {
  Reader r(bytes, where);
  if (!r.expect(kMagic).ok()) {
    return npy_error(r, "npy-magic", "found no .npy file; write it with numpy.save");
  }
  TF_ASSIGN(const uint8_t major, r.read_u8());
  TF_ASSIGN(const uint8_t minor, r.read_u8());
  if (major < 1 || major > 3 || minor != 0) {
    return npy_error(r, "npy-header",
                     "found format version " + std::to_string(major) + "." + std::to_string(minor) +
                         ", wanted 1.0, 2.0 or 3.0");
  }
  uint64_t length = 0;
  if (major == 1) {
    TF_ASSIGN(length, r.read_u16());
  } else {
    TF_ASSIGN(length, r.read_u32());
  }
  const size_t header_at = r.pos();
  TF_ASSIGN(const std::string_view header_text, r.text(length));
  Header h;
  HeaderParser parser(header_text);
  if (!parser.parse(h)) {
    TF_TRY(r.seek(header_at + parser.pos()));
    return npy_error(r, "npy-header", "in the header wanted " + parser.wanted());
  }
  std::string problem;
  const auto stored = stored_type(h.descr, want, problem);
  if (!stored) return npy_error(r, "npy-dtype", problem);
  const int width = byte_size(stored->dtype);
  const auto count = checked_size(h.dims);
  if (!count || static_cast<uint64_t>(*count) > r.remaining() / static_cast<uint64_t>(width)) {
    return npy_error(r, "npy-truncated",
                     "found " + std::to_string(r.remaining()) + " bytes of data, wanted " +
                         (count ? std::to_string(*count) + " elements of " + std::to_string(width)
                                : std::string("more elements than 64 bits count")) +
                         "; the file is cut off or damaged");
  }
  const uint64_t total = static_cast<uint64_t>(*count) * static_cast<uint64_t>(width);
  TF_ASSIGN(const auto data, r.bytes(total));

  // A component of a complex number is what alignment and byte order are about.
  const int part = is_complex(stored->dtype) ? width / 2 : width;
  const bool copy_order = h.fortran && h.dims.size() > 1 && *count > 0;
  const bool aligned = reinterpret_cast<uintptr_t>(data.data()) % static_cast<uintptr_t>(part) == 0;
  Literal x;
  if (copy_order) {
    x = Literal::uninit(stored->dtype, h.dims);
    transpose(data.data(), x.mutable_bytes(), h.dims, width);
  } else if (owner && aligned && total > 0) {
    x = Literal::borrow(stored->dtype, h.dims, data.data(), std::move(owner));
  } else {
    x = Literal::uninit(stored->dtype, h.dims);
    if (total > 0) std::memcpy(x.mutable_bytes(), data.data(), total);
  }
  if (stored->swap && part > 1) {
    swap_bytes(x.mutable_bytes(), static_cast<int64_t>(total) / part, part);
  }
  if (!canonical(x, stored->void_bytes)) {
    return npy_error(r, "npy-value",
                     "found a byte that is no value of " + std::string(name(stored->dtype)) +
                         "; check the type of the array");
  }
  return x;
}

Result<Literal> read_npy_file(const std::string& path, std::optional<DType> want) {
  TF_ASSIGN(const FileBytes f, map_file(path));
  return read_npy(f.bytes, f.owner, path, want);
}

namespace {
std::string_view descr_of(DType t) {
  switch (t) {
    case DType::Bool:
      return "|b1";
    case DType::I8:
      return "|i1";
    case DType::I16:
      return "<i2";
    case DType::I32:
      return "<i4";
    case DType::I64:
      return "<i8";
    case DType::U8:
      return "|u1";
    case DType::U16:
      return "<u2";
    case DType::U32:
      return "<u4";
    case DType::U64:
      return "<u8";
    case DType::F16:
      return "<f2";
    case DType::F32:
      return "<f4";
    case DType::F64:
      return "<f8";
    case DType::C64:
      return "<c8";
    case DType::C128:
      return "<c16";
    case DType::BF16:
      return "|V2";
    default:
      return "|V1";
  }
}
}  // namespace

std::string npy_bytes(const Literal& x) {
  std::string h =
      "{'descr': '" + std::string(descr_of(x.dtype())) + "', 'fortran_order': False, 'shape': (";
  for (int64_t d : x.dims()) h += std::to_string(d) + ", ";
  if (x.rank() > 1) h.resize(h.size() - 2);
  if (x.rank() == 1) h.resize(h.size() - 1);
  h += "), }";
  constexpr size_t kPrefix = 10, kAlign = 64;
  h.resize((h.size() + 1 + kPrefix + kAlign - 1) / kAlign * kAlign - kPrefix - 1, ' ');
  h += '\n';
  TF_CHECK(h.size() < 65536, "npy header of rank " + std::to_string(x.rank()));
  std::string s(kMagic);
  s += '\1';
  s += '\0';
  s += static_cast<char>(h.size() & 0xff);
  s += static_cast<char>(h.size() >> 8);
  s += h;
  const size_t at = s.size();
  s.append(reinterpret_cast<const char*>(x.bytes()), x.byte_count());
  // ml_dtypes keeps a narrow integer's low bits only.
  if (is_sub_byte_integer(x.dtype())) {
    const char mask = static_cast<char>((1 << bit_width(x.dtype())) - 1);
    for (size_t i = at; i < s.size(); ++i) s[i] = static_cast<char>(s[i] & mask);
  }
  return s;
}

Status write_npy_file(const std::string& path, const Literal& x) {
  return write_file(path, std::string_view(npy_bytes(x)));
}

}  // namespace tenfold
