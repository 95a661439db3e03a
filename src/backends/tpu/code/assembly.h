// Bundles of instructions with virtual registers, jumps to labels: after scheduling, before
// registers.
#pragma once

#include <span>
#include <vector>

#include "backends/tpu/code/kernel_code.h"

namespace tenfold::tpu::code {

struct Assembly {
  std::vector<Instr> ops;
  std::vector<uint32_t> first{0};  // bundle i: ops[first[i] .. first[i + 1])
  std::vector<uint32_t> labels;    // bundle; an 'l' operand is an index into this

  size_t bundles() const { return first.size() - 1; }
  std::span<const Instr> bundle(size_t i) const {
    return std::span(ops).subspan(first[i], first[i + 1] - first[i]);
  }
  // Empty bundles are left out: the machine waits for what is not there yet.
  void add(const std::vector<Instr>& bundle) {
    if (bundle.empty()) return;
    ops.insert(ops.end(), bundle.begin(), bundle.end());
    first.push_back(static_cast<uint32_t>(ops.size()));
  }
  int new_label() {
    labels.push_back(0);
    return static_cast<int>(labels.size()) - 1;
  }
  void place(int label) { labels[label] = static_cast<uint32_t>(bundles()); }
};

// Registers of the machine for virtual ones, or those that had better live in memory.
struct Allocation {
  std::vector<int32_t> reg;       // by virtual register; -1 where it never appears
  std::vector<int32_t> homeless;  // empty if it worked out
  std::array<int, 3> used{};      // most registers of each kind in use at once
};
struct AllocationInput {
  const Assembly* code;
  const std::vector<RegKind>* kinds;
  std::array<int, 3> registers;  // by RegKind
  // How dear it is to keep a register in memory: 0 never (it is a reload itself).
  std::vector<float> weight;
};
// Linear scan over live ranges with holes.
Allocation allocate(const AllocationInput& input);

}  // namespace tenfold::tpu::code
