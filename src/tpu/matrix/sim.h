// A chip of the matrix family that runs programs: values, cycles, or both.
//
// Values are those of the instructions in program order; cycles never depend on them. Instructions
// issue in order, one a cycle, to four units that each work in order: host copies, weight copies,
// the array, the activation unit. A unit waits for what it reads: the unified buffer is followed in
// lines of 1 KiB, accumulators row by row. The array has a shadow tile: the next weights shift in
// while rows are multiplied, from the queue, whose copies run ahead as far as it has room.
//
// A cycle in which the array multiplies nothing has one cause, as the v1 paper counts them: its
// operands are not there (`memory` when they come from the host, else `dependency`); else it waits
// for the queue (`weight_load`) or for the shift (`weight_shift`).
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "tpu/chips/chip.h"
#include "tpu/matrix/isa.h"
#include "tpu/sim/report.h"

namespace tenfold::tpu::matrix {

struct Stretch {
  int64_t cycles = 0;  // by which the stretch moved the end of all work; they add up to the total
  std::array<std::array<int64_t, tpu::kNumCauses>, kNumUnits> units{};  // add up to `total`'s
  int64_t useful_macs = 0;                   // multiplications with a weight and a row of the model
  int64_t array_macs = 0;                    // those of all cells while rows went through
  int64_t weight_bytes = 0, host_bytes = 0;  // copied
};

struct Report {
  Stretch total;                // units[u]: each row adds up to total.cycles
  std::vector<Stretch> ranges;  // as Program::ranges
  double microseconds = 0;
};

struct RunOptions {
  bool values = true;
  // Runs a host step: reads and writes host memory.
  std::function<Status(int64_t id, std::span<std::byte> host)> on_host;
};

// `host`: Program::host_bytes of host memory (with values). The program is verified first.
// Errors: matrix-illegal, matrix-memory (more of the chip's memory than there is), tpu-family.
Result<Report> run(const Program& p, const Chip& chip, std::span<std::byte> host,
                   const RunOptions& options = {});

}  // namespace tenfold::tpu::matrix
