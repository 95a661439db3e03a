// How a kernel's operands and results get into VMEM and out: whole, or block by block along the
// grid's loops with copies running ahead of the arithmetic.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backends/tpu/lower.h"

namespace tenfold::tpu {

// Where a parameter's tensor is when the kernel runs.
struct Home {
  int64_t vmem_row = -1;  // on the chip already (or to be left there)
  int64_t hbm_row = -1;
};

struct StagedParam {
  int level = -1;              // of the innermost grid loop its block moves with; -1: whole
  Layout block;                // in VMEM
  int64_t row = -1;            // first row in the staging area
  int ring = 1;                // blocks in VMEM at once
  std::vector<int> dim_level;  // per dimension: the grid loop that cuts it, or -1
};

struct Staging {
  std::vector<GridLoop> grid;
  std::vector<StagedParam> params;
  int64_t scratch_row = 0, scratch_rows = 0;
  int64_t rows = 0;  // of the staging area used
};

// Elements of a loop's variable that one of its steps stands for.
int64_t unit_of(const Nest& n, const loop::VarDef* v);
// Rows of workspaces and sums that a block needs.
int64_t scratch_of(const Nest& n, const Chip& chip, const std::vector<GridLoop>& grid);

// Chooses blocks such that everything fits `rows` rows of VMEM; nullopt: it cannot.
std::optional<Staging> choose_staging(const Nest& n, const Chip& chip,
                                      const std::vector<Home>& homes, int64_t rows);

// Emits the kernel. `area`: first VMEM row of its staging area; `semaphores`: first of its own.
struct StagedKernel {
  const Nest* nest = nullptr;
  Staging staging;
  std::vector<Home> homes;
  int64_t area = 0;
  int semaphores = 0;
  std::vector<bool> early;  // parameters whose first copies were started before
};
// Starts the first copies of the parameters chosen.
void emit_first_copies(const StagedKernel& k, code::Builder& b, const std::vector<bool>& which);
// `ahead` is called where the bus has nothing left to do for this kernel: first copies of the next.
std::optional<Refusal> emit_staged(const StagedKernel& k, code::Builder& b, const Chip& chip,
                                   const std::function<void()>& ahead);

}  // namespace tenfold::tpu
