// A program as the core wants it: per bundle what it reads, writes, holds, and what needs a look of
// its own. Made once; the run then touches no table.
#pragma once

#include <cstdint>
#include <vector>

#include "tpu/isa/timing.h"
#include "tpu/sim/execute.h"
#include "tpu/sim/memory.h"

namespace tenfold::tpu {

// All registers in one row of numbers: scalars, vectors, masks.
inline constexpr int kFirstVector = kScalarRegs;
inline constexpr int kFirstMask = kScalarRegs + kVectorRegs;
inline constexpr int kAllRegs = kScalarRegs + kVectorRegs + kMaskRegs;

// What a step does with an instruction.
enum class Act : uint8_t {
  Scalar,
  SLoad,
  SStore,
  CoreId,
  Branch,
  VLoad,
  VStore,
  Vector,
  ToScalar,
  TransPush,
  TransGo,
  TransPop,
  Weight,
  Swap,
  Stage,
  Rows,
  RowsAcc,
  Pop,
  ReadAcc,
  Dma,
  Wait,
  Signal,
  Barrier,
  Host,
};

struct DecodedInst {
  Inst inst;
  Act act = Act::Scalar;
  VectorFn fn = nullptr;
  Hold hold;
  int latency = 1;
  int results = 0;  // of Rows, RowsAcc
  bool int8 = false, transposed = false;
};

struct DecodedBundle {
  uint32_t insts, insts_end;
  uint32_t reads, reads_end;
  uint32_t writes, writes_end;
  uint32_t timed, timed_end;      // those whose act or hold matters to the clock
  uint32_t scalars, scalars_end;  // scalar instructions and the branch, in order
  uint32_t kernel;                // 0: none
  uint16_t units;                 // bit of each Unit that a slot used
  uint8_t vmem;                   // loads and stores
};

struct Write {
  uint8_t reg;
  uint16_t latency;
};

struct DecodedShape {
  uint64_t rows;
  uint64_t read_bytes, write_bytes;       // of HBM
  uint64_t hbm_bus, cmem_bus, vmem_rows;  // bytes that keep a bus busy; rows of vector memory
  bool weights;
};

struct Code {
  const Program* program = nullptr;
  std::vector<DecodedInst> insts;
  std::vector<DecodedBundle> bundles;
  std::vector<uint8_t> reads;
  std::vector<Write> writes;
  std::vector<uint32_t> timed, scalars;  // numbers of instructions
  std::vector<DecodedShape> shapes;
};

Code decode_for(const Program& p, const Chip& chip);

}  // namespace tenfold::tpu
