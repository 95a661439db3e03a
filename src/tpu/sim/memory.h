// The memories that hold values: HBM as pieces that the caller bound, on-chip memories as one
// block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>

#include "tpu/isa/isa.h"

namespace tenfold::tpu {

class Hbm {
 public:
  explicit Hbm(uint64_t rows) : rows_(rows) {}
  Status bind(uint64_t row, std::byte* bytes, uint64_t rows, bool writable);
  Status bind_scratch(uint64_t row, uint64_t rows);
  // `rows` rows that lie in one piece; nullptr when there are none.
  std::byte* find(uint64_t row, uint64_t rows, bool write) const;

 private:
  struct Piece {
    uint64_t rows;
    std::byte* bytes;
    bool writable;
  };
  uint64_t rows_;
  std::map<uint64_t, Piece> pieces_;  // by first row
  std::vector<std::unique_ptr<std::byte, void (*)(void*)>> own_;
};

// Zeros at first; pages cost memory when they are first written.
class OnChip {
 public:
  explicit OnChip(uint64_t bytes);
  uint64_t rows() const { return bytes_ / kRowBytes; }
  uint64_t bytes() const { return bytes_; }
  std::byte* row(uint64_t r) { return data_.get() + r * kRowBytes; }
  void clear();

 private:
  uint64_t bytes_;
  std::unique_ptr<std::byte, void (*)(void*)> data_;
};

// The rows that a copy's one side touches: calls f(first, rows) for each run until it says no.
struct Side {
  uint64_t first = 0;
  uint32_t rows = 1;
  struct Dim {
    uint32_t count;
    int32_t stride;
  };
  std::array<Dim, 3> dims{};

  static Side from(const DmaShape& s, uint64_t row);
  static Side to(const DmaShape& s, uint64_t row);
  // First row and end of everything.
  std::pair<int64_t, int64_t> box() const { return box_from(0, static_cast<int64_t>(first)); }
  bool touches(int64_t low, int64_t high) const {
    return touches_from(0, static_cast<int64_t>(first), low, high);
  }
  bool touches(const Side& other) const;

 private:
  std::pair<int64_t, int64_t> box_from(size_t dim, int64_t base) const;
  bool touches_from(size_t dim, int64_t base, int64_t low, int64_t high) const;
};

std::string rows_text(int64_t first, int64_t end);  // "rows 3 to 7"

// Bytes that the memory's bus is kept busy with for one side: neighbouring runs are one, and each
// is rounded up to granules.
uint64_t bus_bytes(const Side& side, uint64_t granule);

}  // namespace tenfold::tpu
