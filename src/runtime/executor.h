// Runs a Program. An Executable is immutable and shared; a Context holds one call's state (arena,
// symbol registers) and is reused from call to call by one thread at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "runtime/program.h"
#include "runtime/thread_pool.h"

namespace tenfold::rt {

// Code of a compiled model, looked up by symbol; keeps its library loaded.
class Code {
 public:
  // A shared object already in memory, or in a file.
  static Result<std::shared_ptr<Code>> from_bytes(std::string_view shared_object);
  static Result<std::shared_ptr<Code>> from_file(const std::string& path);
  // Functions that are part of this process already.
  static std::shared_ptr<Code> from_table(std::unordered_map<std::string, void*> functions);
  ~Code();
  void* find(const std::string& symbol) const;

 private:
  void* handle_ = nullptr;
  std::unordered_map<std::string, void*> table_;
};

using PhaseFunction = void (*)(void* const* buffers, const int64_t* symbols, int64_t begin,
                               int64_t end, void* workspace);

class Executable {
 public:
  // Checks the program's every index, so that a damaged artifact is an error and not a crash.
  static Result<std::shared_ptr<const Executable>> create(Program program,
                                                          const std::byte* constants,
                                                          std::shared_ptr<const void> owner,
                                                          std::shared_ptr<Code> code);
  const Program& program() const { return program_; }

 private:
  friend class Context;
  Program program_;
  const std::byte* constants_ = nullptr;
  std::shared_ptr<const void> owner_;
  std::shared_ptr<Code> code_;
  std::vector<std::vector<PhaseFunction>> phases_;  // by kernel
  std::vector<int32_t> storage_;                    // buffer -> buffer that owns the bytes
  std::vector<std::vector<int32_t>> block_temps_;   // planned temporaries, by block
};

// A caller's array: row-major, contiguous.
struct TensorView {
  void* data = nullptr;
  DType dtype = DType::F32;
  std::vector<int64_t> dims;
};

// Time of one kernel call, for profiles.
struct KernelTime {
  int32_t kernel;
  int64_t nanoseconds;
  int threads;
  double flops, bytes;
};

class Context {
 public:
  Context(std::shared_ptr<const Executable> executable, std::shared_ptr<ThreadPool> pool);
  ~Context();

  // Inputs in the program's order. Errors: wrong count, dtype, rank, shape (naming input and
  // dimension), a size out of a symbol's bounds, a failed run-time check.
  Status run(const std::vector<TensorView>& inputs);
  // After run(): views into the context's own memory, valid until the next run.
  const std::vector<TensorView>& outputs() const { return outputs_; }
  // Before run(): lets output `i` be written straight to the caller's memory when its size then is
  // exactly `bytes`; null detaches.
  void bind_output(size_t i, void* data, size_t bytes);

  // After run(): the memory of output `i` alone, given away (the next run takes new memory); null
  // when the context does not own it as a whole, and the view has to be copied.
  std::shared_ptr<void> take_output(size_t i);

  const Executable& executable() const { return *exe_; }
  int64_t arena_bytes() const { return arena_size_; }
  std::vector<KernelTime>* profile = nullptr;  // appended to when set
  // Fetches intermediate values: called with each buffer a kernel has just written.
  std::function<void(int32_t buffer, const TensorView&)> observe;

 private:
  Status bind_inputs(const std::vector<TensorView>& inputs);
  void plan();
  int64_t plan_block(int32_t block);
  void resolve(int32_t block, int64_t base);
  Status run_block(int32_t block);
  void call(const Instr& i);
  Status set_symbol(int32_t symbol, int64_t v, const std::string& where);
  Status check_sizes(const Instr& i) const;
  int64_t eval(const SizeExpr& e) const;
  std::vector<int64_t> dims_of(int32_t buffer) const;
  int64_t bytes_of(int32_t buffer) const;
  void* pointer(int32_t buffer) const;
  void define_dynamic(int32_t buffer, std::vector<int64_t> dims);
  void* workspace(int worker, int64_t bytes);

  struct Block;  // aligned memory
  std::shared_ptr<const Executable> exe_;
  std::shared_ptr<ThreadPool> pool_;
  std::vector<int64_t> symbols_, planned_for_;
  std::vector<void*> pointers_;                    // by owning buffer
  std::vector<int64_t> offsets_;                   // planned, relative to the block's region
  std::vector<std::vector<int64_t>> actual_dims_;  // of dynamic buffers
  std::vector<std::unique_ptr<Block>> dynamic_;
  std::vector<std::unique_ptr<Block>> workspaces_;
  std::unique_ptr<Block> arena_;
  int64_t arena_size_ = 0;
  bool planned_ = false;
  std::vector<std::unique_ptr<Block>> output_memory_;
  std::vector<std::pair<void*, size_t>> bound_;
  std::vector<TensorView> outputs_;
  std::vector<std::pair<int32_t, int64_t>> nested_offsets_;  // block -> offset in its parent
};

}  // namespace tenfold::rt
