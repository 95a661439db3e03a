// How a tensor lies in the chip's memories: tiles of 8 sublanes by 128 lanes of 32-bit words, over
// its last two dimensions. Narrow types share words: a tile holds 8*pack rows, and word (s, l)
// holds lane l of the rows s, s + 8, ... from its low bits up, so that unpacking a part gives
// neighbouring rows. Every tile is 4096 bytes, whatever the type; what the shape does not fill is
// padding and holds anything.
//
//   rank >= 2   outer dimensions, then row tiles, then column tiles, row-major
//   rank 1      `flat`: element i in row i/128, lane i%128; else a single row
//   rank 0      one element of one tile
#pragma once

#include <cstdint>
#include <vector>

#include "array/literal.h"
#include "tpu/isa/isa.h"

namespace tenfold::tpu {

inline constexpr int64_t kTileRows = kSublanes, kTileBytes = kTileRows * kRowBytes;

// Elements that share a 32-bit word: 1, 2 or 4; 0: the type does not live on the chip.
int pack_of(DType t);

struct Layout {
  DType dtype = DType::F32;
  std::vector<int64_t> dims;
  bool flat = false;
  int pack = 1;
  int64_t outer = 1, rows = 1, cols = 1;  // the tensor as outer x rows x cols
  int64_t row_tiles = 1, col_tiles = 1;

  int64_t tiles() const { return outer * row_tiles * col_tiles; }
  int64_t mem_rows() const { return tiles() * kTileRows; }  // of 512 bytes
  int64_t bytes() const { return tiles() * kTileBytes; }
  int64_t elements() const { return outer * rows * cols; }  // flat: rounded up to whole rows
  // Bytes kept for each byte of data.
  double padding() const;
};

Layout layout_of(DType t, std::vector<int64_t> dims, bool flat = false);

// Between a literal and the chip's bytes (layout.bytes() of them). 64-bit integers become 32-bit
// ones by saturation: only indices, which are clamped anyway, travel so.
void to_chip(const Literal& from, const Layout& layout, std::byte* to);
Literal from_chip(const std::byte* from, const Layout& layout);

}  // namespace tenfold::tpu
