// Emission of one-dimensional discrete Fourier transforms of any length in O(n log n).
#pragma once

#include "graph/op_def.h"

namespace tenfold {

// A transform of fixed length: mixed radix (Stockham, self-sorting) where all prime factors are
// small, else Bluestein's convolution over a power of two.
class LineTransform {
 public:
  // Allocates work arrays and computes the twiddle tables at the builder's insertion point; to be
  // used by all lines transformed within that scope. `t` is F32 or F64.
  LineTransform(loop::Builder& b, DType t, int64_t n, bool inverse);
  // Reads element i with `read` (real, imaginary), transforms, passes element i to `write`. The
  // inverse divides by n. `write` is called for i < count.
  using Pair = std::pair<loop::Expr, loop::Expr>;
  void run(const std::function<Pair(const loop::Expr& i)>& read, int64_t count,
           const std::function<void(const loop::Expr& i, const Pair& v)>& write);

 private:
  struct Plan {  // one mixed-radix transform
    int64_t n;
    std::vector<int64_t> factors;
    loop::Buffer re, im;    // [2, n]
    loop::Buffer cos, sin;  // [n], of -2 pi k / n
  };
  Plan make_plan(int64_t n);
  void butterflies(const Plan& p, int64_t stage, int64_t stride, int64_t side, bool inverse);
  int64_t transform(const Plan& p, bool inverse);  // returns the side of the result
  loop::Builder& b_;
  DType t_;
  int64_t n_;
  bool inverse_;
  bool bluestein_;
  Plan plan_;
  loop::Buffer chirp_re_, chirp_im_;    // [n], of exp(-+ i pi k^2 / n)
  loop::Buffer filter_re_, filter_im_;  // [m], transformed
};

}  // namespace tenfold
