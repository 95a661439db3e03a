// Constants of the loop level as stored bytes and back.
#pragma once

#include <cstddef>

#include "loop/ir.h"

namespace tenfold::loop {

constexpr size_t kMaxElementBytes = 16;  // C128

// Writes the storage form of a Const node (byte_size(dtype) bytes).
void const_to_bytes(const ExprNode& c, std::byte* out);
Expr const_from_bytes(DType t, const std::byte* bytes);

}  // namespace tenfold::loop
