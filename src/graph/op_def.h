// OpDef: everything Tenfold knows about one graph op. One descriptor a file in src/ops; the build
// collects them (all_ops()). From it come the text form, verifier, evaluator, lowering, docs,
// samples for differential tests.
#pragma once

#include <functional>
#include <span>

#include "graph/ir.h"
#include "loop/builder.h"

namespace tenfold {

// Structure, not a name. Fusion, layout, cost and tiling are written once per kind.
enum class OpKind : uint8_t {
  Constant,     // constant, iota, shape values: no operands (or none read as data)
  Elementwise,  // out[i] = scalar(in0[i], in1[i], ...), all operands of the result's shape
  View,         // out[i] = some element of the operands, or a pad value; no arithmetic
  Contraction,  // dot_general
  Window,       // convolution, reduce_window, select_and_scatter
  Reduce,       // reduce
  GatherScatter,
  Sort,
  Region,  // while, if, case, call, composite: control flow over blocks
  Collective,
  Opaque,  // rng, fft, cholesky, triangular_solve ...: emits its own loops
  Terminator,
};

enum class AttrKind : uint8_t {
  Bool,
  I64,
  F64,
  Str,
  Enum,
  Func,
  Type,
  I64s,
  Bools,
  Dims,
  Strs,
  Lit,
  Dict
};

// How an attribute refers to the dimensions of operand 0 (and of a result of the same rank), so
// that layout changes rewrite any op: one entry a dimension, two entries (low, high) a dimension,
// or numbers of dimensions.
enum class AttrRole : uint8_t { Plain, PerDim, PerDimPair, DimIndex };

struct AttrSpec {
  std::string_view name;
  AttrKind kind;
  bool required = true;
  std::string_view doc = {};
  AttrRole role = AttrRole::Plain;
};

// A relation of sizes that an op needs and that the types leave open: it is checked when the model
// runs.
struct SizeRule {
  enum class Relation : uint8_t { Equal, AtMost, EqualOrOne };  // a == b, a <= b, a == b or a == 1
  Relation relation;
  Dim a, b;
  bool holds(int64_t x, int64_t y) const;
  std::string id() const;                          // of the error when it does not hold
  std::string str() const;                         // "size n must equal m"
  std::string broken(int64_t x, int64_t y) const;  // the same with the values found
};

// Collects a verifier's findings; `label` names the constraint ("C3") or a short rule.
class Diag {
 public:
  explicit Diag(const Op& op) : op_(op) {}
  void fail(std::string_view label, std::string message);
  bool ok() const { return errors_.empty(); }
  Errors take() { return std::move(errors_); }
  // Comparisons of sizes. False: certainly not so, for the caller to fail(). Where the bounds do
  // not decide it the answer is true and the rule is kept for the run.
  bool equal(const Dim& a, const Dim& b) { return need({SizeRule::Relation::Equal, a, b}); }
  bool at_most(const Dim& a, const Dim& b) { return need({SizeRule::Relation::AtMost, a, b}); }
  bool equal_or_one(const Dim& a, const Dim& b) {
    return need({SizeRule::Relation::EqualOrOne, a, b});
  }
  bool need(SizeRule r);
  const std::vector<SizeRule>& rules() const { return rules_; }

 private:
  const Op& op_;
  Errors errors_;
  std::vector<SizeRule> rules_;
};

// What an op's evaluator sees. `args` are the operands' values; dims of symbolic types are
// concrete through `dim()`.
class EvalContext {
 public:
  virtual ~EvalContext() = default;
  const Op* op = nullptr;
  std::vector<Literal> args;
  virtual int64_t dim(const Dim& d) const = 0;  // evaluate under the current symbol bindings
  std::vector<int64_t> shape(const TensorType& t) const;
  // Runs one of the op's regions (or a named function) on argument values.
  virtual Result<std::vector<Literal>> run_region(const Block& b, std::vector<Literal> args) = 0;
  virtual Result<std::vector<Literal>> run_function(std::string_view fn,
                                                    std::vector<Literal> args) = 0;
  virtual void bind_symbol(const Symbol& s, int64_t value) = 0;
  virtual int64_t max_while_iterations() const { return INT64_MAX; }
  Error error(std::string id, std::string message) const;  // located at the op
};

// --- lowering hooks, see passes/lower/ -----------------------------------------------------------

// Element-wise access for ops whose result element is a function of operand elements at computed
// indices: Constant (iota), Elementwise, View, and cheap gathers.
class ElementContext {
 public:
  virtual ~ElementContext() = default;
  const Op* op = nullptr;
  // Element of operand `i` at `index` (loop-level i64 expressions, one per dimension). The
  // implementation inlines the producer or loads from its buffer.
  virtual loop::Expr operand(int i, const std::vector<loop::Expr>& index) = 0;
  virtual loop::Expr dim(const Dim& d) = 0;
};

// Loop emission for everything else: the op writes its results' buffers with its own loop nests.
class EmitContext {
 public:
  virtual ~EmitContext() = default;
  const Op* op = nullptr;
  loop::Builder* b = nullptr;  // insertion point: the kernel's body
  virtual loop::Expr dim(const Dim& d) = 0;
  // Reads operand element (inlined producer or a load).
  virtual loop::Expr operand(int i, const std::vector<loop::Expr>& index) = 0;
  // The operand as a buffer (forces materialisation; OpDef::needs_buffer says so beforehand).
  virtual loop::Buffer operand_buffer(int i) = 0;
  virtual loop::Buffer result_buffer(int i) = 0;
  // Stores a result element through the fused epilogue when there is one, else plainly.
  virtual void store(int result, const std::vector<loop::Expr>& index, loop::Expr value) = 0;
  // The result shares storage with OpDef::in_place_operand: write only what changes.
  virtual bool in_place() const = 0;
  // Inlines a scalar region (reducer, comparator: 0-d tensor arguments) on scalar expressions.
  virtual std::vector<loop::Expr> inline_region(const Block& region,
                                                const std::vector<loop::Expr>& args) = 0;
};

struct OpDef {
  std::string_view name;     // "stablehlo.add"
  std::string_view summary;  // one line
  std::string_view doc = {};
  OpKind kind = OpKind::Opaque;
  int min_operands = 0;
  int max_operands = -1;  // -1: variadic
  int num_results = 1;    // -1: variadic
  int num_regions = 0;    // -1: variadic
  std::vector<AttrSpec> attrs = {};

  // Result types from operands, attributes and regions; reports every violated constraint to
  // `diag`. Used by builders and by the verifier (which compares with the op's stated types; a
  // stated symbolic dimension may refine the inferred one).
  std::function<std::vector<TensorType>(const Op&, Diag&)> infer = nullptr;
  // True where result types cannot be inferred (reshape, iota, convert, custom_call ...); then
  // `infer` is called with results already set, verifies and returns them.
  bool explicit_results = false;

  std::function<Result<std::vector<Literal>>(EvalContext&)> eval = nullptr;

  // Exactly one of these for every op that reaches a backend; none for Region kinds and
  // Decompose-style composites, which the pipeline handles structurally.
  std::optional<Prim> prim = std::nullopt;  // Elementwise: plain primitive
  std::function<loop::Expr(ElementContext&, const std::vector<loop::Expr>& index)> element =
      nullptr;
  std::function<Status(EmitContext&)> emit = nullptr;
  // Views that keep every element (reshape, transpose): the result index of an operand index, so
  // that they can follow a hero as its epilogue. Empty: not such a view.
  std::function<std::vector<loop::Expr>(ElementContext&, const std::vector<loop::Expr>& index)>
      forward = nullptr;
  // element() reads its operands only where it needs them, under a guard (pad, concatenate).
  bool guards_operands = false;
  // Operands that emit() takes through operand_buffer(); bit i.
  uint64_t needs_buffer = 0;
  // Result aliases this operand when its buffer dies here (dynamic_update_slice, scatter); -1: no.
  int in_place_operand = -1;

  // The op means the same in any order of dimensions, once its attributes follow by their roles:
  // result dimension i is operand dimension i. (Elementwise ops do by nature.)
  bool any_layout = false;

  // Labels of constraints infer() can report, for the "every constraint tested" lint.
  std::vector<std::string_view> constraints = {};
};

std::span<const OpDef* const> all_ops();
const OpDef* find_op(std::string_view name);

}  // namespace tenfold
