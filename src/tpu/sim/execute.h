// What the vector instructions compute: one function an instruction, found by its opcode. They see
// registers as plain arrays and know neither the clock nor the memories.
#pragma once

#include <cstdint>

#include "tpu/isa/isa.h"

namespace tenfold::tpu {

// Operands by kind in the order of the table. A result never shares memory with an operand.
struct VectorArgs {
  const uint32_t* v[2] = {};  // kVregWords each
  const uint8_t* m[2] = {};   // kVregWords each, 0 or 1
  int32_t x[2] = {};          // immediates and scalar registers
  uint32_t* vd = nullptr;
  uint8_t* md = nullptr;
};
using VectorFn = void (*)(Op op, const VectorArgs&);

// nullptr: not an instruction on vector registers alone (loads, stores, matrix, scalar, ...).
VectorFn vector_function(Op op);

// What the scalar instructions compute; not loads, stores and jumps.
int32_t scalar_value(Op op, int32_t a, int32_t b, int32_t c);

}  // namespace tenfold::tpu
