// One fused group of graph ops as a nest that the chip can run: its loops with their roles, the
// layouts of its buffers, and the emission of its kernel code. Emission is tried before it counts,
// so that what the chip cannot do is known when the graph is planned.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "backends/tpu/contract.h"
#include "backends/tpu/layout.h"
#include "backends/tpu/nest.h"
#include "backends/tpu/vectorize.h"
#include "passes/lower/emit_kernel.h"
#include "tpu/chips/chip.h"

namespace tenfold::tpu {

enum class Precision : uint8_t { Bf16, Bf16x3, Bf16x6 };

// A loop whose iterations are run block by block, so that copies and arithmetic overlap.
struct GridLoop {
  const loop::VarDef* var = nullptr;
  int64_t steps = 1;  // of the loop: iterations, supertiles of sublanes or tiles of lanes
  int64_t block = 1;  // steps a block; the last block is moved back to end at the loop's end
  int64_t blocks() const { return (steps + block - 1) / block; }
};

struct Param {
  const Value* value = nullptr;
  loop::Buffer buffer;
  bool written = false, read = false;
  Layout layout;  // as the nest sees it
  // Per dimension of the buffer: the loop whose variable alone is the index there, in every access.
  std::vector<const loop::VarDef*> steps_with;
};

struct Chain;  // chain.h

struct Nest {
  std::string name;
  Group group;
  loop::Kernel kernel;
  Roles roles;
  int64_t step_rows = 8;
  std::vector<Param> params;
  std::vector<const loop::Stmt*> grid;  // outer independent loops, outermost first
  std::optional<Contraction> contraction;
  int64_t scratch_rows = 0;  // of workspaces and partial sums, on the whole nest
  int pieces = 1;            // bf16 numbers an f32 factor of a contraction is split into
  double flops = 0;
  bool in_chain = false;  // one of several that run block by block
  std::shared_ptr<const Chain>
      chain;                 // the nest is several, block by block; only params are its own
  bool elementwise = false;  // each element of the result from the same element of the operands
};

struct LowerContext {
  const Chip* chip = nullptr;
  Precision precision = Precision::Bf16;
  // Values that get a last dimension of 1, so that their own last one runs along sublanes.
  std::function<bool(const Value*)> as_column;
  bool collapse =
      true;  // an elementwise nest may run over its tensors' tiles, whatever their shape
};

// Why not: what the report says of an op on the host.
struct NotLowered {
  std::string reason;
};
std::variant<Nest, NotLowered> lower_group(const Group& g, const std::string& name,
                                           const LowerContext& context);

// Emits the nest's body on places in VMEM. The grid's loops take the spans given.
std::optional<Refusal> emit_nest(const Nest& n, code::Builder& b, const Chip& chip,
                                 const std::vector<Place>& places,
                                 const std::vector<std::pair<const loop::VarDef*, Span>>& spans,
                                 code::RegionRef scratch, int64_t scratch_row,
                                 int64_t* scratch_rows = nullptr);

// Chooses roles again such that v is a loop of the scalar core; false where that cannot be.
bool make_scalar(Nest& n, const loop::VarDef* v, const Chip& chip);

// Nothing the chip lacks in its type: the reason, or nothing.
std::optional<std::string> type_problem(const TensorType& t);

}  // namespace tenfold::tpu
