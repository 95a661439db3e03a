// The products of a matrix unit, in the array's own order: result (r, n) starts at +0 and adds
// row[r][k] * weight[k][n] for k = 0, 1, 2, ..., each product exact (bf16 x bf16 fits float32),
// each sum rounded to nearest even. Integers go the same way: every sum of up to 256 products of s8
// is an exact float.
#pragma once

#include <cstddef>

namespace tenfold::tpu {

// out[r][n] for r < rows, n < columns (a multiple of 128); k in [k0, k1) is added to what out
// holds. Rows of all three are `dim` floats apart (a multiple of 128) and start at 64 bytes.
void multiply(const float* in, int rows, const float* weights, int k0, int k1, int columns, int dim,
              float* out);

}  // namespace tenfold::tpu
