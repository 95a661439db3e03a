// The one way bytes from outside are read: little-endian, bounds-checked, with the offset in every
// error. A reader is a position in a span; it owns nothing and copies nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tenfold {

struct ReadLimits {
  int depth = 100;                   // nested messages, regions, brackets
  uint64_t item_bytes = UINT64_MAX;  // one bytes() or sub()
};

class Reader {
 public:
  // `what` names the input in errors ("model.onnx"); shown before the offset.
  Reader(std::span<const std::byte> bytes, std::string_view what, ReadLimits limits = {})
      : bytes_(bytes), what_(what), limits_(limits) {}

  size_t size() const { return bytes_.size(); }
  size_t pos() const { return pos_; }             // within this reader
  size_t offset() const { return base_ + pos_; }  // within the outermost one
  size_t remaining() const { return bytes_.size() - pos_; }
  bool at_end() const { return pos_ == bytes_.size(); }
  const std::string& what() const { return what_; }
  int depth() const { return depth_; }

  Result<uint8_t> read_u8() { return fixed<uint8_t>(); }
  Result<uint16_t> read_u16() { return fixed<uint16_t>(); }
  Result<uint32_t> read_u32() { return fixed<uint32_t>(); }
  Result<uint64_t> read_u64() { return fixed<uint64_t>(); }
  Result<int32_t> read_i32();
  Result<int64_t> read_i64();
  Result<float> read_f32();
  Result<double> read_f64();
  // Base 128, least significant group first, at most 10 bytes, 64 bits.
  Result<uint64_t> read_varint();
  // The same with the sign in the lowest bit.
  Result<int64_t> read_zigzag();

  Result<std::span<const std::byte>> bytes(uint64_t n);  // a view into the input
  Result<std::string_view> text(uint64_t n);             // not checked to be UTF-8
  Status skip(uint64_t n);
  Status seek(uint64_t pos);              // within this reader; to the end at most
  Status align(uint64_t to);              // of pos(), a power of two; padding is not looked at
  Status expect(std::string_view magic);  // the next bytes, exactly
  // A reader of the next n bytes, one level deeper; this one moves past them.
  Result<Reader> sub(uint64_t n);
  // For formats whose nesting has no length: counts a level; leave() ends it.
  Status enter();
  void leave() { --depth_; }
  // A count read from the input, against the bytes that are left: `n` items of at least
  // `min_bytes` each must fit, before memory is taken for them.
  Status check_count(uint64_t n, uint64_t min_bytes) const;

  // "at byte 12 of model.onnx: <message>"
  Error fail(std::string_view id, std::string_view message) const;

 private:
  template <class T>
  Result<T> fixed();
  Error truncated(uint64_t wanted) const;

  std::span<const std::byte> bytes_;
  std::string what_;
  ReadLimits limits_;
  size_t pos_ = 0;
  size_t base_ = 0;
  int depth_ = 0;
};

}  // namespace tenfold
