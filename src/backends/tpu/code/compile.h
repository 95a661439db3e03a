// Kernel code to bundles.
#pragma once

#include "backends/tpu/code/kernel_code.h"
#include "tpu/chips/chip.h"

namespace tenfold::tpu::code {

struct CompileOptions {
  // Where registers that do not fit are kept while a kernel runs; nothing else may use these rows
  // and words. Every kernel uses them anew.
  uint32_t spill_row = 0, spill_rows = 0;    // VMEM
  uint32_t spill_word = 0, spill_words = 0;  // SMEM
  bool pipeline = true;                      // software pipelining
  bool schedule = true;  // false: one instruction a bundle, in order, to find a fault
};

// What became of one loop.
struct LoopReport {
  std::string name;    // of the loop, or its kernel and place in it
  int64_t trips = -1;  // -1: known when it runs
  int ops = 0;         // of one iteration
  bool pipelined = false;
  int interval = 0;        // cycles from one iteration to the next
  int stages = 0;          // iterations in flight
  int unroll = 1;          // copies of the body in the steady state
  std::string bound;       // "vload", "recurrence: vadd.f32, vmov", "registers", ...
  int bound_interval = 0;  // what that alone would allow
};

struct CompileReport {
  uint32_t first = 0, end = 0;  // bundles of the kernel in the program
  std::vector<LoopReport> loops;
  int spilled = 0;  // registers kept in memory
  int vector_registers = 0, scalar_registers = 0, mask_registers = 0;
};
std::string to_text(const CompileReport& r);

// Appends the kernel's bundles, shapes and KernelRange to the program; control falls out at the end
// (the caller writes the final halt). Errors: tpu-spill (more registers than the spill area holds),
// tpu-feature (an instruction that the chip lacks).
Result<CompileReport> compile(const Kernel& kernel, const Chip& chip, Program* program,
                              const CompileOptions& options = {});

}  // namespace tenfold::tpu::code
