// The graph level: SSA ops on whole tensors, with the operations and semantics of StableHLO.
//
//   Module -> Function -> Block -> Op -> Value; an Op may own Regions (one Block each).
//
// Symbols: dimensions are array/dim.h expressions. A symbol is bound by (1) a function argument
// whose type has it as a bare dimension, (2) a region's block argument likewise (each time the
// region is entered), (3) a `tenfold.bind_symbol` op that reads an i64 scalar, (4) a
// `stablehlo.if` or `stablehlo.while` whose attribute `bound_symbols` names it: it stands bare in
// the type of a result and takes the size that result turns out to have. A use must be dominated by
// its binding. All other sizes are expressions over bound symbols, so every op's
// result shape is known from the types alone.
//
// Composites (softmax, layer norm, attention, gelu ...) are `stablehlo.composite` ops that name a
// private Function as their decomposition; a backend that knows the name may lower it natively.
#pragma once

#include <deque>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "array/literal.h"
#include "array/prim.h"
#include "array/type.h"
#include "base/result.h"

namespace tenfold {

struct OpDef;
class Op;
class Block;
class Function;
class Module;

// Attribute values. Which alternative an attribute holds is fixed by its AttrSpec in the OpDef.
struct Attr;
using AttrDict = std::vector<std::pair<std::string, Attr>>;  // in spec order
struct Attr {
  std::variant<std::monostate,
               bool,                      // Bool
               int64_t,                   // I64
               double,                    // F64
               std::string,               // Str, Enum, Func (a function's name)
               DType,                     // Type
               std::vector<int64_t>,      // I64s (also bools as 0/1, and flattened 2-d padding)
               std::vector<Dim>,          // Dims
               std::vector<std::string>,  // Strs
               Literal,                   // Lit
               std::shared_ptr<AttrDict>  // Dict (composite_attributes and the like)
               >
      v;
  template <class T>
  const T& as() const {
    return std::get<T>(v);
  }
  bool present() const { return v.index() != 0; }
};
bool operator==(const Attr& a, const Attr& b);

// A value: an op's result or a block's argument.
class Value {
 public:
  TensorType type;
  std::string name;                 // the user's own name where there is one; printing uniquifies
  Op* def() const { return def_; }  // null for block arguments
  Block* block() const { return block_; }  // owner block of an argument, null for results
  int index() const { return index_; }
  const std::vector<Op*>& users() const { return users_; }  // one entry per use
  bool has_users() const { return !users_.empty(); }
  void replace_all_uses_with(Value* other);

 private:
  friend class Op;
  friend class Block;
  Op* def_ = nullptr;
  Block* block_ = nullptr;
  int index_ = 0;
  std::vector<Op*> users_;
};

class Op {
 public:
  const OpDef* def = nullptr;
  AttrDict attrs;
  Location loc;
  // Names of the user's nodes this op stands for (after fusion of patterns: several). Profiles,
  // errors and --verify speak of these.
  std::vector<std::string> origins;

  const std::string& name() const;  // "stablehlo.add"
  bool is(std::string_view op_name) const;

  int num_operands() const { return static_cast<int>(operands_.size()); }
  Value* operand(int i = 0) const { return operands_[i]; }
  const std::vector<Value*>& operands() const { return operands_; }
  void set_operand(int i, Value* v);
  void set_operands(std::vector<Value*> vs);
  int num_results() const { return static_cast<int>(results_.size()); }
  Value* result(int i = 0) const { return results_[i].get(); }
  Value* add_result(TensorType t, std::string name = {});
  int num_regions() const { return static_cast<int>(regions_.size()); }
  Block* region(int i = 0) const { return regions_[i].get(); }
  Block* add_region();
  Block* parent() const { return parent_; }

  // Attribute by name; null when absent. The typed getters TF_CHECK the presence and kind.
  const Attr* attr(std::string_view n) const;
  int64_t i64(std::string_view n) const;
  bool flag(std::string_view n) const;  // false when absent
  double f64(std::string_view n) const;
  const std::string& str(std::string_view n) const;
  const std::vector<int64_t>& i64s(std::string_view n) const;
  const std::vector<Dim>& dims(std::string_view n) const;
  const Literal& lit(std::string_view n) const;
  void set_attr(std::string_view n, Attr a);

  ~Op();

 private:
  friend class Block;
  std::vector<Value*> operands_;
  std::vector<std::unique_ptr<Value>> results_;
  std::vector<std::unique_ptr<Block>> regions_;
  Block* parent_ = nullptr;
};

// A straight list of ops with arguments; the last op is a terminator ("stablehlo.return",
// "func.return") whose operands are the block's results.
class Block {
 public:
  using Ops = std::list<std::unique_ptr<Op>>;
  Ops ops;
  std::vector<std::unique_ptr<Value>> args;

  Value* add_arg(TensorType t, std::string name = {});
  Op* terminator() const;
  const std::vector<Value*>& results() const { return terminator()->operands(); }
  Op* parent_op() const { return parent_op_; }                    // null for a function's body
  Function* parent_function() const { return parent_function_; }  // null for an op's region

  Op* append(std::unique_ptr<Op> op);
  Op* insert_before(Op* before, std::unique_ptr<Op> op);  // null: append
  void erase(Op* op);                  // TF_CHECKs that its results have no users
  std::unique_ptr<Op> remove(Op* op);  // takes it out, uses and users kept, to be put elsewhere
  Ops::iterator iterator_of(Op* op);
  ~Block();

 private:
  friend class Op;
  friend class Function;
  Op* parent_op_ = nullptr;
  Function* parent_function_ = nullptr;
  std::unordered_map<const Op*, Ops::iterator> where_;
};

class Function {
 public:
  std::string name;
  bool is_public = true;
  Block body;
  std::vector<std::string> result_names;  // the user's output names
  Function() { body.parent_function_ = this; }
  Module* module = nullptr;
};

class Module {
 public:
  std::string name;
  std::string source;  // path of the model, for messages
  std::vector<std::unique_ptr<Function>> functions;
  Function* main() const;  // the function called "main", else the first public one
  Function* find(std::string_view fn) const;
  Function* add_function(std::string fn_name, bool is_public);
  std::string unique_function_name(std::string_view stem) const;
  // A name no function argument, region argument or tenfold.bind_symbol binds yet.
  std::string unique_symbol_name(std::string_view stem) const;
  std::unique_ptr<Module> clone() const;
};

// The function that holds `op`, through any number of regions; null for a detached op.
Function* function_of(const Op& op);
Function* function_of(const Block& b);

// Clones `op` (deep, with regions) mapping operands through `map` (missing: kept).
std::unique_ptr<Op> clone_op(const Op& op, std::unordered_map<const Value*, Value*>& map);

// Depth-first visit of every op, regions included.
template <class F>
void walk(const Block& b, F&& f) {
  for (auto& op : b.ops) {
    f(op.get());
    for (int i = 0; i < op->num_regions(); ++i) walk(*op->region(i), f);
  }
}

}  // namespace tenfold
