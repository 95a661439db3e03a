// Bounds-checked reading of bytes from outside.
#include "base/reader.h"

#include <bit>
#include <cstring>

namespace tenfold {

Error Reader::fail(std::string_view id, std::string_view message) const {
  return {std::string(id),
          "at byte " + std::to_string(offset()) + " of " + what_ + ": " + std::string(message),
          {},
          {}};
}

Error Reader::truncated(uint64_t wanted) const {
  return fail("read-truncated", "found " + std::to_string(remaining()) + " bytes, wanted " +
                                    std::to_string(wanted) +
                                    "; the file is cut off or damaged, fetch or export it again");
}

template <class T>
Result<T> Reader::fixed() {
  if (remaining() < sizeof(T)) return truncated(sizeof(T));
  T v = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    v = static_cast<T>(v | static_cast<T>(static_cast<T>(bytes_[pos_ + i]) << (8 * i)));
  }
  pos_ += sizeof(T);
  return v;
}
template Result<uint8_t> Reader::fixed<uint8_t>();
template Result<uint16_t> Reader::fixed<uint16_t>();
template Result<uint32_t> Reader::fixed<uint32_t>();
template Result<uint64_t> Reader::fixed<uint64_t>();

Result<int32_t> Reader::read_i32() {
  TF_ASSIGN(const uint32_t v, read_u32());
  return static_cast<int32_t>(v);
}
Result<int64_t> Reader::read_i64() {
  TF_ASSIGN(const uint64_t v, read_u64());
  return static_cast<int64_t>(v);
}
Result<float> Reader::read_f32() {
  TF_ASSIGN(const uint32_t v, read_u32());
  return std::bit_cast<float>(v);
}
Result<double> Reader::read_f64() {
  TF_ASSIGN(const uint64_t v, read_u64());
  return std::bit_cast<double>(v);
}

Result<uint64_t> Reader::read_varint() {
  uint64_t v = 0;
  size_t p = pos_;
  for (int shift = 0; shift < 70; shift += 7) {
    if (p == bytes_.size()) return truncated(p - pos_ + 1);
    const auto b = static_cast<uint8_t>(bytes_[p++]);
    if (shift == 63 && b > 1) break;
    v |= static_cast<uint64_t>(b & 0x7f) << shift;
    if (b < 0x80) {
      pos_ = p;
      return v;
    }
  }
  return fail("read-varint",
              "found a variable-length number of more than 64 bits; "
              "the file is damaged, fetch or export it again");
}

Result<int64_t> Reader::read_zigzag() {
  TF_ASSIGN(const uint64_t v, read_varint());
  return static_cast<int64_t>((v >> 1) ^ (0 - (v & 1)));
}

Result<std::span<const std::byte>> Reader::bytes(uint64_t n) {
  if (n > remaining()) return truncated(n);
  if (n > limits_.item_bytes) {
    return fail("read-limit", "found an item of " + std::to_string(n) + " bytes, wanted at most " +
                                  std::to_string(limits_.item_bytes));
  }
  const auto r = bytes_.subspan(pos_, static_cast<size_t>(n));
  pos_ += static_cast<size_t>(n);
  return r;
}

Result<std::string_view> Reader::text(uint64_t n) {
  TF_ASSIGN(const auto b, bytes(n));
  return std::string_view(reinterpret_cast<const char*>(b.data()), b.size());
}

Status Reader::skip(uint64_t n) {
  if (n > remaining()) return truncated(n);
  pos_ += static_cast<size_t>(n);
  return ok_status();
}

Status Reader::seek(uint64_t pos) {
  if (pos > size()) {
    return fail("read-truncated", "found a reference to byte " + std::to_string(pos) +
                                      ", wanted at most " + std::to_string(size()) +
                                      "; the file is cut off or damaged");
  }
  pos_ = static_cast<size_t>(pos);
  return ok_status();
}

Status Reader::align(uint64_t to) { return skip((to - pos_ % to) % to); }

Status Reader::expect(std::string_view magic) {
  if (remaining() < magic.size()) return truncated(magic.size());
  if (std::memcmp(bytes_.data() + pos_, magic.data(), magic.size()) != 0) {
    return fail("read-magic", "found other bytes than the mark of this format");
  }
  pos_ += magic.size();
  return ok_status();
}

Result<Reader> Reader::sub(uint64_t n) {
  Reader r = *this;
  const size_t at = offset();
  TF_ASSIGN(r.bytes_, bytes(n));
  r.base_ = at;
  r.pos_ = 0;
  TF_TRY(r.enter());
  return r;
}

Status Reader::enter() {
  if (depth_ >= limits_.depth) {
    return fail("read-depth", "found more than " + std::to_string(limits_.depth) +
                                  " nested levels; wanted fewer");
  }
  ++depth_;
  return ok_status();
}

Status Reader::check_count(uint64_t n, uint64_t min_bytes) const {
  if (min_bytes == 0 || n <= remaining() / min_bytes) return ok_status();
  return fail("read-truncated", "found a count of " + std::to_string(n) + " items, but only " +
                                    std::to_string(remaining()) + " bytes follow");
}

}  // namespace tenfold
