// Kernels run one after another block by block, so that the large values between them never leave
// the chip: for each block of the loops that all of them share (the batch, the heads and the rows
// of an attention), every link of the chain runs on its part, and what it hands to the next stands
// in VMEM. The copies of operands and results run ahead as for a single kernel.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "backends/tpu/lower.h"

namespace tenfold::tpu {

// A value that only links of the chain touch.
struct ChainValue {
  const Value* value = nullptr;
  Layout layout;             // of the whole
  std::vector<int> axis_of;  // per dimension: the axis that steps through it, or -1
};

struct ChainLink {
  Nest nest;
  std::vector<int> outside, inside;       // per parameter: number among the chain's, or -1
  std::vector<const loop::VarDef*> vars;  // per axis: the link's own loop
};

struct Chain {
  struct Axis {
    loop::Var var;  // of the chain's grid
    int64_t extent = 0;
    int64_t unit = 1;  // elements of a step: 1, or 128 of the rows
  };
  std::vector<Axis> axes;
  std::vector<ChainLink> links;
  std::vector<ChainValue> values;
};

// `links` in order as one nest with a chain, or nothing where they have no loops in common. They
// are taken only with `commit`; else the answer says whether they could be.
std::optional<Nest> make_chain(std::vector<Nest>* links, const Chip& chip,
                               const std::function<bool(const Value*)>& is_private, bool commit);

// What stands in VMEM of a value between links, with the grid in such blocks.
Layout chain_block(const Chain& c, const ChainValue& v, const std::vector<GridLoop>& grid);
// Rows of VMEM for the values between links and their own workspaces, with the grid in such blocks.
int64_t chain_rows(const Nest& n, const Chip& chip, const std::vector<GridLoop>& grid);

}  // namespace tenfold::tpu
