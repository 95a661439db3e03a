// Plain loop nests as kernel code: the lane loop's iterations become lanes, the sublane loop's
// sublanes, eight at a time (16 or 32 where a narrow type shares words); other loops stay loops of
// the scalar core. Values stand in 32-bit lanes: bf16 as f32 rounded after each operation (or
// packed where the chip computes on packed values), narrow integers extended, booleans as masks.
//
// What it cannot say in the chip's instructions it refuses with a reason; nothing is approximated.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "backends/tpu/code/kernel_code.h"
#include "backends/tpu/layout.h"
#include "backends/tpu/nest.h"
#include "tpu/chips/chip.h"

namespace tenfold::tpu {

// A sum of scalar registers times constants, plus a constant: what addresses are made of. Kept
// apart so that exact divisions cost nothing and the constant ends up in the instruction.
struct Sx {
  std::vector<std::pair<code::Scalar, int64_t>> terms;
  int64_t c = 0;
  Sx() = default;
  Sx(int64_t constant) : c(constant) {}  // NOLINT: implicit by design
  Sx(code::Scalar r) : terms{{r, 1}} {}  // NOLINT
  bool is_const() const { return terms.empty(); }
  bool terms_divide(int64_t by) const;  // every coefficient of a register is a multiple
};
Sx operator+(const Sx& a, const Sx& b);
Sx operator-(const Sx& a, const Sx& b);
Sx operator*(const Sx& a, int64_t k);
code::Arg to_arg(code::Builder& b, const Sx& s);
code::Scalar to_scalar(code::Builder& b, const Sx& s);
// Rounded down; `by` is a power of two.
Sx floor_div(code::Builder& b, const Sx& s, int64_t by);
Sx floor_mod(code::Builder& b, const Sx& s, int64_t by);

// Where a buffer of the nest, or the block of it at hand, lies in VMEM.
struct Place {
  code::RegionRef region;
  Layout layout;           // of the block
  std::vector<Sx> origin;  // of the block in the buffer, per dimension; empty: 0
  Sx base;                 // row of the block in the region
  // Loops whose span at hand is what the block covers: indices count from the span's first.
  std::vector<const loop::VarDef*> local;
};

// Iterations that are run of a loop, in its own steps (supertiles for sublanes, tiles for lanes).
struct Span {
  Sx first;
  int64_t count = 0;
};

struct Refusal {
  std::string reason;
  // What might help: another role for this variable.
  const loop::VarDef* var = nullptr;
  Role role = Role::Scalar;
};

class Vectorizer {
 public:
  Vectorizer(code::Builder& b, const Chip& chip, const Roles& roles, code::RegionRef scratch,
             int64_t scratch_row);
  ~Vectorizer();
  void place(const loop::BufferDef* buffer, Place p);
  void span(const loop::VarDef* v, Span s);
  // Rows of a sublane step: 8 times the widest packing met there.
  void set_step_rows(int64_t rows);

  // f32 quotients by what is the same in all lanes may be products with one reciprocal. Only where
  // the result is rounded to bf16 at once, which hides the difference.
  void use_reciprocals();

  void body(const loop::Body& b);
  std::optional<Refusal> refusal() const;
  int64_t scratch_rows() const;  // VMEM rows of workspaces, from scratch_row on

  // --- for the matrix unit's emitter
  // Runs f with `v` standing for first + lane (or sublane), or for a scalar.
  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

// The largest packing of what a sublane loop steps through, times 8; 128 where something must be
// transposed.
int64_t step_rows_of(const loop::Kernel& k, const Roles& roles);

}  // namespace tenfold::tpu
