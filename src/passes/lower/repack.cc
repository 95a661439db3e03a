#include "passes/lower/repack.h"

#include <algorithm>
#include <cstring>

namespace tenfold {

std::vector<int64_t> repacked_dims(const std::vector<int64_t>& dims, const Repack& r) {
  std::vector<int64_t> out{(dims[r.dim] + r.block - 1) / r.block};
  for (int d : r.order) out.push_back(dims[d]);
  if (r.group > 1) out.back() = (out.back() + r.group - 1) / r.group;
  out.push_back(r.block);
  if (r.group > 1) out.push_back(r.group);
  return out;
}

namespace {

// The general form, an element at a time.
void repack_groups(const Literal& l, const Repack& r, std::byte* to) {
  const std::vector<int64_t> dims = repacked_dims(l.dims(), r);
  const std::vector<int64_t> strides = row_major_strides(l.dims());
  const std::vector<int64_t> packed = row_major_strides(dims);
  const size_t size = static_cast<size_t>(byte_size(l.dtype()));
  std::vector<int64_t> index(l.dims().size(), 0);
  for (int64_t i = 0; i < l.size(); ++i) {
    const int64_t column = index[static_cast<size_t>(r.dim)];
    int64_t at = column / r.block * packed[0] + column % r.block * packed[packed.size() - 2];
    for (size_t d = 0; d < r.order.size(); ++d) {
      const int64_t x = index[static_cast<size_t>(r.order[d])];
      const bool grouped = d + 1 == r.order.size();
      at += grouped ? x / r.group * packed[d + 1] + x % r.group : x * packed[d + 1];
    }
    std::memcpy(to + static_cast<size_t>(at) * size, l.bytes() + static_cast<size_t>(i) * size,
                size);
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < l.dims()[d]) break;
      index[d] = 0;
    }
  }
}

}  // namespace

void repack(const Literal& l, const Repack& r, std::byte* to) {
  if (r.group > 1) return repack_groups(l, r, to);
  const std::vector<int64_t> dims = repacked_dims(l.dims(), r);
  const std::vector<int64_t> strides = row_major_strides(l.dims());
  std::vector<int64_t> from;  // source stride of each middle dimension
  int64_t middle = 1;
  for (int d : r.order) {
    from.push_back(strides[d]);
    middle *= l.dims()[d];
  }
  const size_t size = static_cast<size_t>(byte_size(l.dtype()));
  const std::byte* in = l.bytes();
  const int64_t n = l.dims()[r.dim];
  std::vector<int64_t> index(r.order.size());
  for (int64_t b = 0; b < dims[0]; ++b) {
    std::fill(index.begin(), index.end(), 0);
    int64_t count = std::min(r.block, n - b * r.block);
    for (int64_t m = 0; m < middle; ++m) {
      int64_t at = b * r.block * strides[r.dim];
      for (size_t d = 0; d < index.size(); ++d) at += index[d] * from[d];
      std::byte* row = to + static_cast<size_t>((b * middle + m) * r.block) * size;
      if (strides[r.dim] == 1) {
        std::memcpy(row, in + static_cast<size_t>(at) * size, static_cast<size_t>(count) * size);
      } else {
        for (int64_t j = 0; j < count; ++j)
          std::memcpy(row + static_cast<size_t>(j) * size,
                      in + static_cast<size_t>(at + j * strides[r.dim]) * size, size);
      }
      for (size_t d = index.size(); d-- > 0;) {
        if (++index[d] < dims[d + 1]) break;
        index[d] = 0;
      }
    }
  }
}

}  // namespace tenfold
