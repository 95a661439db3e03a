// Sums of products for the matrix unit. A nest is one when an accumulator starts at zero, loops add
// products of two expressions to it, and the rest of the iteration uses the sum: dot products,
// convolutions, whatever they were called. What matters is how the two factors move:
//
//   n      an outer loop that steps through the last dimension of the right factor alone, or
//          through the one before it (the factor then enters transposed)
//   k      a summed loop along the last dimension of the left factor
//   m      an outer loop that steps through rows of the left factor alone
//
// Other outer loops that the right factor does not know reuse its weights; those it knows repeat
// the product.
#pragma once

#include <optional>
#include <vector>

#include "backends/tpu/nest.h"

namespace tenfold::tpu {

struct Contraction {
  const loop::Stmt* m = nullptr;  // null: a single row
  const loop::Stmt* n = nullptr;
  const loop::Stmt* k = nullptr;
  std::vector<const loop::Stmt*> batch;  // outer loops of both factors, outermost first
  std::vector<const loop::Stmt*> reuse;  // outer loops without the right factor, m apart
  std::vector<const loop::Stmt*> taps;   // other summed loops
  loop::Expr lhs, rhs;                   // at the type of the data
  loop::Buffer acc;
  bool transposed = false;                  // the right factor's rows are n, its lanes k
  DType type = DType::BF16;                 // of the factors: BF16, F32 or I8
  std::vector<const loop::Stmt*> prologue;  // lets and allocations of the iteration before the sum
  std::vector<const loop::Stmt*> epilogue;  // what follows the sum
  double macs = 0;
};

std::optional<Contraction> find_contraction(const loop::Kernel& k);
// The roles its epilogue runs with.
Roles contraction_roles(const Contraction& c);

class Vectorizer;
// f32 factors as the sum of `pieces` bf16 numbers each: 1, 2 (three products) or 3 (six).
void emit_contraction(Vectorizer& v, const Contraction& c, int pieces);

}  // namespace tenfold::tpu
