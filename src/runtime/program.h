// A compiled model as data: what the driver produces, the artifact stores and the runtime runs.
// Compiler-free. Everything is flat and serializable; see artifact.h for the file form.
//
// Execution: instructions of a block in order over buffer slots and symbol registers. Symbols are
// bound from argument shapes, on entry to a loop body, or by BindSymbol; sizes are expressions over
// them, so one program serves every shape its bounds allow.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "array/dtype.h"

namespace tenfold::rt {

// Integer expression in postfix form, evaluated on symbol registers.
struct SizeExpr {
  enum class Op : uint8_t { Const, Sym, Add, Sub, Mul, FloorDiv, Mod, Min, Max };
  struct Step {
    Op op;
    int64_t v;
  };
  std::vector<Step> steps;
};

enum class SizeRelation : uint8_t { Equal, AtMost, EqualOrOne };  // the last: or the first is 1

struct SymbolInfo {
  std::string name;
  int64_t min, max;
};

struct BufferInfo {
  enum class Kind : uint8_t { Input, Output, Constant, Temp };
  Kind kind = Kind::Temp;
  std::string name;  // the user's name for inputs/outputs, else for dumps
  DType dtype = DType::F32;
  std::vector<SizeExpr> dims;
  uint64_t const_offset = 0;  // Constant: into the constant blob
  int32_t alias_of = -1;      // shares storage with this buffer (views, in-place results)
  // Sized when it is defined, from its own heap block: its dims depend on symbols bound in
  // mid-block, or it is a loop-carried value whose shape may change. Copy gives it the source's
  // actual shape.
  bool dynamic = false;
  // Live interval in the owning block's instruction indices, for the arena (Temp).
  int32_t block = 0, first = 0, last = 0;
};

struct Phase {         // a kernel's top-level statement
  std::string symbol;  // void symbol(void* const* bufs, const int64_t* syms, int64_t begin,
                       //             int64_t end, void* workspace)
  SizeExpr extent;     // parallel iterations; not parallel: 1
  SizeExpr cost;       // estimated nanoseconds of work on one thread, for the thread decision
  SizeExpr workspace;  // bytes per thread
};

struct KernelInfo {
  std::string name;
  std::vector<Phase> phases;
  std::vector<std::string> origins;  // the user's nodes
  std::vector<int32_t> symbols;      // which symbol registers, in the kernel's order
  SizeExpr flops, bytes;             // for bench and profile
};

struct Instr {
  enum class Op : uint8_t {
    Call,        // kernel a on buffers args; ints[0]: how many of them, from the first, are results
    BindSymbol,  // symbol a = i64 scalar in buffer args[0]; out of bounds: a run-time error
    BindShape,   // ints = (buffer, dim, symbol)*: symbols from buffers' actual shapes
    Copy,        // args[1] <- args[0]; same type; a dynamic destination takes the actual shape
    If,     // args[0]: i1 scalar (blocks = {then, else}) or i32 branch index (out of range: the
            // last); each branch copies its results to the op's result buffers itself
    While,  // blocks = {cond, body}; loops while cond's first result (i1 scalar) holds; the
            // body copies its results back to the carried buffers itself
    Check,  // args[0]: i1 scalar; false: run-time error `message` at the user's node `where`
    CheckSizes,  // sizes[0] and [1] in the relation a (SizeRelation), else an error likewise
  };
  Op op = Op::Call;
  int32_t a = 0;
  std::vector<int32_t> args = {};
  std::vector<int32_t> blocks = {};
  std::vector<int32_t> ints = {};  // op-specific
  std::vector<SizeExpr> sizes = {};
  std::string message = {};
  std::string where = {};
};

struct BlockInfo {
  std::vector<Instr> instrs;
  std::vector<int32_t> args, results;  // buffers
};

struct Program {
  std::string model_name, target;
  std::string features;  // what the code needs of the processor: "+avx2,+fma"
  std::vector<SymbolInfo> symbols;
  std::vector<BufferInfo> buffers;
  std::vector<KernelInfo> kernels;
  std::vector<BlockInfo> blocks;  // 0 is the entry
  std::vector<int32_t> inputs, outputs;
  uint64_t const_bytes = 0;
};

}  // namespace tenfold::rt
