// Strided copies, which all view ops' evaluators are made of.
#pragma once

#include "ops/_check.h"

namespace tenfold::ops {

// For every index below `dims`: out[sum index*out_strides] = in[sum index*in_strides], elements of
// `size` bytes, strides in elements (0 and negative allowed). `out` and `in` point at index 0.
void copy_strided(int size, const std::vector<int64_t>& dims, std::byte* out,
                  const std::vector<int64_t>& out_strides, const std::byte* in,
                  const std::vector<int64_t>& in_strides);

// A new literal of `dims` with out[index] = x[offset + sum index*strides].
Literal gather_strided(const Literal& x, std::vector<int64_t> dims, int64_t offset,
                       const std::vector<int64_t>& strides);

// A literal of `dims`, every element that of the scalar `x`.
Literal filled(const Literal& x, std::vector<int64_t> dims);

}  // namespace tenfold::ops
