// What scheduling needs to know of the machine it schedules for; backends fill it from a target.
#pragma once

#include <cstdint>

namespace tenfold::loop {

struct Machine {
  int vector_bytes = 16;  // natural vector register
  int vector_registers = 16;
  bool masked = false;  // cheap masked loads and stores (AVX-512, RVV, SVE)
  bool fma = false;
  bool signed_bytes = false;  // dot products of bytes want both operands signed (Arm)
  int64_t l1_bytes = 32 << 10, l2_bytes = 1 << 20, l3_bytes = 16 << 20;
  int cores = 1;
};

}  // namespace tenfold::loop
