// The contract of a converter: one ONNX op (or a table of like ones) to graph ops.
//
// A file src/frontends/onnx/ops/relu.cc defines, in namespace tenfold::onnx,
//
//   extern const OnnxOp onnx_relu;
//   const OnnxOp onnx_relu = {
//       .names = {{"Relu", {1, 6, 13, 14}}},
//       .summary = "max(x, 0)",
//       .convert = [](NodeContext& n) -> Outputs { return {n.b.binary(...)}; }};
//
// Nothing else is edited. Rules:
//  * `convert` handles every opset version listed in `versions` (all opsets at which the standard
//    changed the op); where their meanings differ it asks n.opset().
//  * It reads every attribute and input through `n`. What it leaves unread makes the import fail
//    ("onnx-unread-attribute", "onnx-unread-input"): an attribute that truly has no meaning for the
//    result is named in n.ignore_attr().
//  * It refuses with n.fail(...): say what was found, what is supported. fail() throws a private
//    exception that the importer catches around each converter; do not call it from inside a
//    region lambda given to the builder (exceptions must not cross the graph library's frames):
//    check first, then build.
//  * Shapes come from the builder's inference. Integer tensors that steer shapes are read with
//    n.dims() / n.const_ints() / n.known_dims(), which see through shape arithmetic, and bind
//    run-time sizes as symbols.
//  * Arithmetic runs in the type the standard names; narrow floats that accumulate go through
//    f32 (see op_util.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/builder.h"

namespace onnx {
class GraphProto;
class AttributeProto;
class NodeProto;
}  // namespace onnx

namespace tenfold::onnx {

class Importer;
struct Scope;

// What an ONNX value name stands for during import. An optional that holds something is that
// something. A sequence is a list whose length is known at import.
class Val {
 public:
  enum class Kind : uint8_t {
    Absent,  // an input left out
    Tensor,
    Sequence,
    None,         // an optional that holds nothing
    Unsupported,  // e.g. a string tensor: an error where it is read; `text` says what it is
    Poison,       // its producer failed already: readers are skipped in silence
  };
  Val() = default;
  Val(Value* t) : kind_(Kind::Tensor), tensor_(t) {}  // NOLINT: implicit by design
  static Val sequence(std::vector<Val> items, std::optional<DType> element = {});
  static Val none();
  static Val unsupported(std::string what);
  static Val poison();

  Kind kind() const { return kind_; }
  bool present() const { return kind_ != Kind::Absent; }
  bool is_tensor() const { return kind_ == Kind::Tensor; }
  bool is_sequence() const { return kind_ == Kind::Sequence; }
  Value* tensor() const { return tensor_; }
  const std::vector<Val>& items() const { return *items_; }
  std::optional<DType> element() const { return element_; }  // a sequence's, where stated
  const std::string& text() const { return text_; }

 private:
  Kind kind_ = Kind::Absent;
  Value* tensor_ = nullptr;
  std::shared_ptr<const std::vector<Val>> items_;
  std::optional<DType> element_;
  std::string text_;
};
using Outputs = std::vector<Val>;

// Thrown by NodeContext::fail; caught by the importer. Never leaves this folder.
struct NodeError {
  std::string id;
  std::string message;
  bool silent = false;  // the cause was reported elsewhere
  std::vector<std::string> needs_values = {}, needs_shapes = {};  // names of model inputs
};

class NodeContext {
 public:
  GraphBuilder& b;  // builds into the node's block

  const std::string& op_type() const;
  const std::string& domain() const;
  int opset() const;  // of the node's own domain
  const Location& location() const;

  // --- inputs and outputs. Slots count from 0; an empty name is an absent input. ---
  int num_inputs() const;  // slots written, absent ones among them
  bool has(int i) const;
  Value* input(int i);                       // a tensor; fails when absent
  Value* opt(int i);                         // a tensor, or null when absent
  std::vector<Value*> inputs(int from = 0);  // all from `from` on; fails on an absent one
  const Val& val(int i);                     // any kind, Absent included
  void skip_input(int i);                    // present but without meaning for the result
  int num_outputs() const;
  bool wants(int j) const;  // output j has a name
  std::string output_name(int j) const;

  // --- attributes: the form without default fails when the attribute is missing. ---
  bool has_attr(std::string_view name) const;
  int64_t attr_i(std::string_view name);
  int64_t attr_i(std::string_view name, int64_t otherwise);
  bool attr_flag(std::string_view name, bool otherwise = false);  // an int, 0 or not
  double attr_f(std::string_view name);
  double attr_f(std::string_view name, double otherwise);  // stored as f32, widened exactly
  std::string attr_s(std::string_view name);
  std::string attr_s(std::string_view name, std::string_view otherwise);
  std::vector<int64_t> attr_ints(std::string_view name);
  std::vector<int64_t> attr_ints(std::string_view name, std::vector<int64_t> otherwise);
  std::vector<double> attr_floats(std::string_view name, std::vector<double> otherwise);
  std::vector<std::string> attr_strings(std::string_view name, std::vector<std::string> otherwise);
  Literal attr_tensor(std::string_view name);  // dense or sparse
  bool attr_is_string_tensor(std::string_view name);
  DType attr_dtype(std::string_view name);  // an int that is a TensorProto.DataType
  DType attr_dtype(std::string_view name, DType otherwise);
  const ::onnx::GraphProto& attr_graph(std::string_view name);
  const ::onnx::AttributeProto* attr_raw(std::string_view name);  // null when absent
  void ignore_attr(std::string_view name);

  // --- values known at import ---
  // The tensor's contents when it depends on constants only (computed under a budget).
  std::optional<Literal> constant(Value* v);
  std::optional<std::vector<int64_t>> const_ints(Value* v);
  // Elements of an integer tensor (rank 0 or 1; higher: row-major) as expressions over symbols.
  std::optional<std::vector<Dim>> known_dims(Value* v);
  // The same, with what is known only at run time bound as fresh symbols (stem, in [min, max]).
  // Fails when the number of elements is not static.
  std::vector<Dim> dims(Value* v, std::string_view stem, int64_t min = 0, int64_t max = INT64_MAX);
  Dim dim(Value* v, std::string_view stem, int64_t min = 0, int64_t max = INT64_MAX);  // 1 element
  // What is known of each element, without binding anything.
  std::vector<std::optional<Dim>> partial_dims(Value* v, std::string_view what);
  // Contents that must be known at import ("axes"); refuses with what they depend on.
  std::vector<int64_t> need_ints(Value* v, std::string_view what);
  // Refuses because `v` (or a dimension) is not known at import, saying which of the model's inputs
  // would have to be fixed.
  [[noreturn]] void need_value(Value* v, std::string message);
  [[noreturn]] void need_dims(const std::vector<Dim>& dims, std::string message);
  // Always a fresh symbol (or the value when known): for counts computed at run time.
  Dim runtime_dim(Value* one_element, std::string_view stem, int64_t min = 0,
                  int64_t max = INT64_MAX);

  // --- axes and shapes ---
  int64_t axis(int64_t a, int64_t rank);  // negative counts from the end; fails out of range
  std::vector<int64_t> axes(const std::vector<int64_t>& a, int64_t rank);  // + no repeats
  // A static list of axes from input i (a constant), else from attribute `name`, else nothing.
  std::optional<std::vector<int64_t>> axes_input_or_attr(int i, std::string_view name);
  // NumPy broadcasting that is right also where a symbolic dimension may be 1 at run time.
  Shape broadcast_shape(const std::vector<Shape>& shapes);
  Value* broadcast_to(Value* v, const Shape& shape);
  std::vector<Value*> broadcast(const std::vector<Value*>& vs);
  Value* binary(Prim p, Value* x, Value* y);                          // with broadcasting
  Value* compare(std::string_view direction, Value* x, Value* y);     // with broadcasting
  Value* select(Value* pred, Value* x, Value* y);                     // with broadcasting
  int64_t static_dim(Value* v, int64_t axis, std::string_view what);  // fails when symbolic
  // Fails ([onnx-invalid]) unless low <= rank <= high. Check before indexing a shape.
  void need_rank(Value* v, int64_t low, int64_t high, std::string_view what);
  // Fails unless the dims may be equal.
  void require_equal(const Dim& a, const Dim& b, std::string_view what);

  // --- subgraphs ---
  // Converts the nodes of `g` into `into`'s current block, with `args` for its inputs; captured
  // names resolve outwards. Throws a silent NodeError when a node in it failed.
  Outputs subgraph(const ::onnx::GraphProto& g, GraphBuilder& into, const std::vector<Val>& args);
  static int subgraph_inputs(const ::onnx::GraphProto& g);
  static int subgraph_outputs(const ::onnx::GraphProto& g);
  std::string fresh_symbol(std::string_view stem);
  // Call after throwing away ops built before (a region converted again): forgets what was
  // remembered about values.
  void forget_values();

  // Refuses the node. The message is prefixed with node, op and opset.
  [[noreturn]] void fail(std::string message);  // [onnx-unsupported]
  [[noreturn]] void fail(std::string id, std::string message);
  // An input file that breaks the standard: [onnx-invalid].
  [[noreturn]] void invalid(std::string message);

  struct State;
  NodeContext(GraphBuilder& builder, State& s) : b(builder), s_(s) {}

 private:
  State& s_;
};

struct OnnxName {
  std::string_view name;
  std::vector<int> versions;  // opsets at which the standard (re)defined the op; all handled
};

struct OnnxOp {
  std::vector<OnnxName> names;   // several: a family whose members `convert` tells by n.op_type()
  std::string_view domain = "";  // "", "ai.onnx.ml", "com.microsoft", ...
  std::string_view summary;
  Outputs (*convert)(NodeContext&);
  // What is refused, for the coverage table ("string tensors").
  std::string_view limits = {};
};

std::span<const OnnxOp* const> all_onnx_ops();

}  // namespace tenfold::onnx
