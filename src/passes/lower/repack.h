// Weights in the order a schedule reads them.
#pragma once

#include <vector>

#include "array/literal.h"

namespace tenfold {

// A parameter the schedule wants in another layout: dimension `dim` in blocks of `block`
// (zero-padded), block numbers outermost, then the other dimensions in the order `order`, then the
// place inside the block. With `group` > 1 the last of `order` is taken in groups of so many
// (zero-padded) and the place inside the group comes last of all: what a dot product of bytes reads
// at once lies side by side.
struct Repack {
  int param = -1;
  int dim = 0;
  int64_t block = 0;
  std::vector<int> order;
  int64_t group = 1;
};
std::vector<int64_t> repacked_dims(const std::vector<int64_t>& dims, const Repack& r);
// `to` holds the repacked array and is zero-filled.
void repack(const Literal& l, const Repack& r, std::byte* to);

}  // namespace tenfold
