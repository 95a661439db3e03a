// When two arrays count as the same.
#pragma once

#include <algorithm>
#include <cmath>

#include "array/literal.h"

namespace tenfold::testing {

// Of one type, and within `tolerance` of the value or of the largest finite one; 0: bit for bit.
inline bool close(const Literal& got, const Literal& want, double tolerance) {
  if (got.type() != want.type()) return false;
  if (tolerance == 0) return got.same(want);
  double peak = 0;
  for (int64_t i = 0; i < want.size(); ++i) {
    const double m = std::abs(want.as_c128(i));
    if (std::isfinite(m)) peak = std::max(peak, m);
  }
  return compare(got, want, tolerance, tolerance * peak).mismatches == 0;
}

}  // namespace tenfold::testing
