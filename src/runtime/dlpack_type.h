// Element types as DLPack names them.
#pragma once

#include <optional>

#include "array/dtype.h"
#include "tenfold/dlpack.h"

namespace tenfold::rt {

DLDataType to_dlpack(DType t);
std::optional<DType> from_dlpack(DLDataType t);

}  // namespace tenfold::rt
