// Schedule primitives: named, local rewrites of a kernel's loop nests. Each checks its own legality
// (dependences, bounds) and refuses with a reason; each appends one line to Kernel::trace, and a
// trace replays on a fresh kernel. Loops are named by their variable's name, buffers by theirs.
// One primitive a file in loop/schedule/.
#pragma once

#include "loop/ir.h"

namespace tenfold::loop {

enum class Tail : uint8_t {
  Guard,  // if (outer*factor + inner < extent) around the body: masked when vectorized
  Cut,    // a separate remainder loop after the main one
  Exact,  // the factor must divide the extent (proved), else refused
};

class Schedule {
 public:
  explicit Schedule(Kernel* k) : k_(k) {}
  Kernel& kernel() { return *k_; }

  // L -> LO (extent ceil(n/factor)), LI (extent factor), named L+"o", L+"i" (or as given).
  struct Split {
    std::string outer, inner, tail;
  };  // tail: the remainder loop for Tail::Cut
  Result<Split> split(const std::string& loop, int64_t factor, Tail tail = Tail::Guard);
  // Perfectly nested loops, listed in the new order (outermost first).
  Status reorder(const std::vector<std::string>& loops);
  // Two perfectly nested loops into one of the product extent.
  Result<std::string> fuse(const std::string& outer, const std::string& inner);
  Status vectorize(const std::string& loop);
  Status unroll(const std::string& loop);
  Status parallel(const std::string& loop);
  // Gives a Stack cell/buffer declared inside `loop` a leading dimension for the loop, moving its
  // Alloc outside: one copy per iteration. (Scalar expansion: what register blocking needs.)
  Status expand(const std::string& buffer, const std::string& loop);
  // Splits the body of `loop` (and of the perfectly nested loops up to `through`, outermost) before
  // every statement boundary: loop distribution. Returns the names of the loops from `through` to
  // `loop` of the first nest (unchanged), then of the second, and so on.
  Result<std::vector<std::string>> fission(const std::string& loop,
                                           const std::string& through = {});
  // Copies the part of `buffer` that the body of `at` reads into a new buffer at the start of that
  // body, with dimensions in the order `layout` (packing), and redirects the reads. A layout entry
  // is a source dimension "1", its block number "1/16", or the place in its block "1%16". Elements
  // of the copy outside the source are 0. Returns the new buffer's name N; its loops are N0, N1,
  // ...
  Result<std::string> cache_read(const std::string& buffer, const std::string& at,
                                 const std::vector<std::string>& layout = {},
                                 Scope scope = Scope::Workspace);
  // Accumulates the part of `buffer` written under `at` in a local buffer, stored once at its end.
  // Returns the new buffer's name N; the loops that store are N_out0 ..., those that load (where
  // the body does not first write all of it) N_in0 ...
  Result<std::string> cache_write(const std::string& buffer, const std::string& at,
                                  Scope scope = Scope::Stack);
  // Moves the producer nest that fills `buffer` to the start of `at`'s body, shrunk to what the
  // body reads.
  Status compute_at(const std::string& buffer, const std::string& at);
  // Reduction over `loop` into `lanes` partial accumulators combined in order at the end.
  // With `through`, a loop around it in a perfect nest, one set of them serves all its rounds.
  Result<std::string> rfactor(const std::string& loop, int64_t lanes,
                              const std::string& through = {});
  // Removes the branches (masks) of the perfect nest from `loop` down: what they kept from being
  // computed goes to elements of local buffers that nothing else looks at. (Masks are then only
  // where a tile is packed and where it is stored.)
  Status unguard(const std::string& loop);
  // Computes in place: the local `buffer`, copied to another buffer at the end, becomes that
  // buffer.
  Status forward(const std::string& buffer);
  // Replaces the nest at `loop` by an intrinsic after checking that it computes the same.
  Status tensorize(const std::string& loop, const std::string& intrinsic);
  Status double_buffer(const std::string& buffer);

 private:
  Kernel* k_;
};

Status replay(const std::vector<std::string>& trace, Kernel& k);

}  // namespace tenfold::loop
