// Internal to the importer: the state of one import, scopes of names, inlining of functions.
#pragma once

#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "frontends/onnx/dim_values.h"
#include "frontends/onnx/import.h"
#include "frontends/onnx/model_file.h"
#include "frontends/onnx/onnx_op.h"

namespace tenfold::onnx {

using OpsetMap = std::unordered_map<std::string, int>;  // domain ("" for ai.onnx) -> version
// Values of a function's attribute parameters; absent ones are missing.
using AttrEnv = std::unordered_map<std::string, const ::onnx::AttributeProto*>;

// Names of one graph (or function body) during its conversion.
struct Scope {
  std::unordered_map<std::string, Val> values;
  Scope* parent = nullptr;  // enclosing graph; a function body sees nothing outside
  const OpsetMap* opsets = nullptr;
  const AttrEnv* attrs = nullptr;  // null outside functions
  std::string prefix;              // of node names, "call_node/" inside inlined functions
  int depth = 0;

  const Val* find(const std::string& name) const;
};

// What convert() of one node works on.
struct NodeContext::State {
  Importer& importer;
  Scope& scope;
  const ::onnx::NodeProto& node;
  std::string domain;
  int opset;
  Location location;
  std::vector<bool> attr_read, input_read;
};

class Importer {
 public:
  Importer(std::shared_ptr<ModelFile> file, std::string source, ImportOptions options);
  // Null when there are problems.
  std::unique_ptr<Module> run();
  std::vector<Problem>& problems() { return problems_; }
  const ImportNeeds& needs() const { return needs_; }
  std::vector<OpUse> uses() const;  // by op

  // --- for NodeContext ---
  Outputs convert_graph(const ::onnx::GraphProto& g, Scope& scope, GraphBuilder& b,
                        const std::vector<Val>& args);
  std::string fresh_symbol(std::string_view stem);
  void forget_values();
  DimValues& dim_values() { return dim_values_; }
  ModelFile& file() { return *file_; }
  const ImportOptions& options() const { return options_; }

 private:
  friend class NodeContext;
  void check_header();
  bool read_opsets(const google::protobuf::RepeatedPtrField<::onnx::OperatorSetIdProto>& in,
                   std::string_view where, OpsetMap& out);
  void scan_graph(const ::onnx::GraphProto& g, const OpsetMap& opsets, int depth);
  void scan_node(const ::onnx::NodeProto& n, const OpsetMap& opsets, int depth);
  void add_inputs(const ::onnx::GraphProto& g, Scope& scope, GraphBuilder& b);
  void add_argument(TensorType t, const std::string& name, Scope& scope, GraphBuilder& b);
  void add_results(const ::onnx::GraphProto& g, Scope& scope, GraphBuilder& b);
  std::optional<TensorType> input_type(const std::string& name,
                                       const ::onnx::TypeProto_Tensor& type,
                                       const std::vector<int64_t>* shape);
  void add_initializers(const ::onnx::GraphProto& g, Scope& scope, GraphBuilder& b);
  void convert_node(const ::onnx::NodeProto& n, Scope& scope, GraphBuilder& b);
  void note_use(const NodeContext::State& s, const OnnxName* entry, const Outputs& outs, bool ok);
  Outputs call_function(const ::onnx::FunctionProto& f, NodeContext::State& s, GraphBuilder& b);
  const ::onnx::FunctionProto* find_function(const std::string& domain, const std::string& op,
                                             const std::string& overload) const;
  void bind(Scope& scope, const std::string& name, Val v, std::string_view where);
  SymbolRef symbol_of_param(const std::string& dim_param);
  void problem(Problem p);
  void problem(const NodeContext::State& s, std::string id, std::string message);

  std::shared_ptr<ModelFile> file_;
  std::string source_;
  ImportOptions options_;
  std::vector<Problem> problems_;
  ImportNeeds needs_;
  std::map<std::tuple<std::string, int, int, std::vector<std::string>>, OpUse> uses_;
  std::unordered_set<const ::onnx::NodeProto*> noted_;  // a loop's body may be converted again
  // What a symbol stands for: the input whose shape has it, or the value it was bound to.
  struct Origin {
    std::string input;
    const Value* value = nullptr;
  };
  std::unordered_map<std::string, Origin> symbol_origins_;
  void origins_of(const Value* v, std::set<const Value*>& seen, std::set<std::string>& values,
                  std::set<std::string>& shapes) const;
  void origins_of(const Dim& d, std::set<const Value*>& seen, std::set<std::string>& values,
                  std::set<std::string>& shapes) const;
  std::set<std::tuple<std::string, std::string, std::string>> seen_problems_;
  std::unique_ptr<Module> module_;
  OpsetMap opsets_;
  std::unordered_map<std::string, const ::onnx::FunctionProto*> functions_;
  std::unordered_map<const ::onnx::FunctionProto*, OpsetMap> function_opsets_;
  std::unordered_set<const ::onnx::FunctionProto*> active_functions_;
  std::unordered_map<std::string, SymbolRef> params_;      // dim_param -> symbol
  std::unordered_map<std::string, int64_t> fixed_params_;  // dim_param -> number, by --shape
  std::unordered_set<std::string> symbols_;
  DimValues dim_values_;
};

// The converter for (domain, op), or null.
const OnnxOp* find_onnx_op(std::string_view domain, std::string_view name,
                           const OnnxName** entry = nullptr);
// The newest opset of a domain that is known here; 0 for an unknown domain.
int newest_opset(std::string_view domain);
std::string plain_domain(std::string_view domain);  // "ai.onnx" -> ""

}  // namespace tenfold::onnx
