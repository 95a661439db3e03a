// A compiled program as text, for dumps and for people. It is not read back: the artifact is the
// form that is.
#pragma once

#include <string>

#include "runtime/program.h"

namespace tenfold {

std::string print(const rt::Program& p);

}  // namespace tenfold
