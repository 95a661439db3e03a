// The part of a buffer that the body of a loop touches, as a box in terms of what is outside.
#pragma once

#include "loop/schedule/util.h"

namespace tenfold::loop::sched {

struct Box {
  struct Side {
    Expr lo, extent;
    bool exact = false;  // extent is the true one (not an upper bound, not the whole dimension)
    bool whole = false;  // nothing is known: all of the dimension
  };
  std::vector<Side> sides;
  int loads = 0, stores = 0;
};

// `g` has everything around and including the loop at `p` bound. Dimensions that cannot be bounded
// count whole. Extents are constants where a constant bound exists or `constant` asks for one
// (refused when there is none).
Result<Box> touched(Algebra& g, const Kernel& k, const char* primitive, const Place& p,
                    const Buffer& buffer, bool constant);

}  // namespace tenfold::loop::sched
