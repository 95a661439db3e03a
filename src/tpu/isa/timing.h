// How long an instruction takes on a chip: the scheduler plans with these numbers and the simulator
// counts with them, so the two cannot drift apart.
//
// An instruction's result can be read `latency` cycles after its bundle: a bundle that reads it
// earlier waits. Registers, VMEM and SMEM are written in program order, so a store is seen by the
// loads of the next bundle. Beyond its slot an instruction may hold a unit for several cycles:
//
//   WeightPort  mxw, of array a[0]. Weights go into the next set; the port waits while the next set
//               is full and has not been swapped in.
//   Rows        mxm and mxa, of array a[0]. Rows wait until the weights before them are in place
//               (`mxu_weight_latency` after the last mxw) and the rows before them are through.
//               Where `mxu_shared_input`, WeightPort and Rows of an array are one thing.
//   Eup         the transcendental unit; Transposer: xtpush, xtgo.
//
// A push may run `mxu_input_queue` pushes ahead of its array, then the core waits. Results of mxm
// enter the queue in order; when they do not fit (result_queue_entries) the core would wait for
// ever and the simulator says so.
#pragma once

#include "tpu/chips/chip.h"
#include "tpu/isa/isa.h"

namespace tenfold::tpu {

// Cycles from the bundle until the result can be read. For mxpop, mxread: once it is in the queue.
int latency(const Chip& chip, Op op);
// How many instructions of a slot class a bundle may have.
int slots(const Chip& chip, Slot slot);

enum class Holds : uint8_t { Nothing, WeightPort, Rows, Eup, Transposer };
struct Hold {
  Holds what = Holds::Nothing;
  int cycles = 1;   // whole ones
  int ticks = 256;  // in 1/256 cycles, exactly
};
Hold hold(const Chip& chip, const Inst& inst);

// Registers of 8 rows x 128 columns that an array's result queue (or accumulators) holds.
int result_queue_entries(const Chip& chip);
// Results of one mxm or mxa of `rows` rows.
int results_of(const Chip& chip, int rows);
// Cycles from the start of an mxm until its result `i` is in the queue.
int result_delay(const Chip& chip, const Inst& mxm, int i);
// Whether the chip has what the instruction needs.
bool has(const Chip& chip, Feature f);

// Every bundle fits the chip: slots, features, registers, arrays, at most one jump, no register
// written twice, labels, shapes and host steps there. All problems, at most 20. Errors: tpu-bundle.
Status check(const Program& p, const Chip& chip);

}  // namespace tenfold::tpu
