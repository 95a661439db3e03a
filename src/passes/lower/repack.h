// Weights in the order a schedule reads them.
#pragma once

#include <vector>

#include "array/literal.h"

namespace tenfold {

// A parameter the schedule wants in another layout: dimension `dim` in blocks of `block`
// (zero-padded), block numbers outermost, then the other dimensions in the order `order`, then the
// place inside the block.
struct Repack {
  int param = -1;
  int dim = 0;
  int64_t block = 0;
  std::vector<int> order;
};
std::vector<int64_t> repacked_dims(const std::vector<int64_t>& dims, const Repack& r);
// `to` holds the repacked array and is zero-filled.
void repack(const Literal& l, const Repack& r, std::byte* to);

}  // namespace tenfold
