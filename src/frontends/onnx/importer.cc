// Conversion of a model's nodes in order, with every problem recorded and the rest carried on.
#include "frontends/onnx/importer.h"

#include <algorithm>

#include <fmt/format.h>

namespace tenfold::onnx {

using ::onnx::AttributeProto;
using ::onnx::FunctionProto;
using ::onnx::GraphProto;
using ::onnx::NodeProto;

namespace {
constexpr int kMaxDepth = 190;  // nested graphs and inlined functions
constexpr size_t kMaxProblems = 200;
constexpr double kMaxTensorBytes = 1e12;  // of one result; no machine we compile for holds more
}  // namespace

// --- Val and Scope -------------------------------------------------------------------------------

Val Val::sequence(std::vector<Val> items, std::optional<DType> element) {
  Val v;
  v.kind_ = Kind::Sequence;
  v.items_ = std::make_shared<const std::vector<Val>>(std::move(items));
  v.element_ = element;
  return v;
}
Val Val::none() {
  Val v;
  v.kind_ = Kind::None;
  return v;
}
Val Val::unsupported(std::string what) {
  Val v;
  v.kind_ = Kind::Unsupported;
  v.text_ = std::move(what);
  return v;
}
Val Val::poison() {
  Val v;
  v.kind_ = Kind::Poison;
  return v;
}

const Val* Scope::find(const std::string& name) const {
  for (const Scope* s = this; s; s = s->parent) {
    auto it = s->values.find(name);
    if (it != s->values.end()) return &it->second;
  }
  return nullptr;
}

// --- the op table --------------------------------------------------------------------------------

std::string plain_domain(std::string_view domain) {
  return domain == "ai.onnx" ? std::string() : std::string(domain);
}

const OnnxOp* find_onnx_op(std::string_view domain, std::string_view name, const OnnxName** entry) {
  struct Found {
    const OnnxOp* op;
    const OnnxName* name;
  };
  static const auto table = [] {
    std::unordered_map<std::string, Found> t;
    for (const OnnxOp* op : all_onnx_ops()) {
      for (const OnnxName& n : op->names) {
        t.emplace(std::string(op->domain) + ":" + std::string(n.name), Found{op, &n});
      }
    }
    return t;
  }();
  auto it = table.find(std::string(domain) + ":" + std::string(name));
  if (it == table.end()) return nullptr;
  if (entry) *entry = it->second.name;
  return it->second.op;
}

int newest_opset(std::string_view domain) {
  if (domain.empty()) return 28;
  if (domain == "ai.onnx.ml") return 5;
  for (const OnnxOp* op : all_onnx_ops()) {
    if (op->domain == domain) return 1;
  }
  return 0;
}

// --- problems ------------------------------------------------------------------------------------

Importer::Importer(std::shared_ptr<ModelFile> file, std::string source, ImportOptions options)
    : file_(std::move(file)),
      source_(std::move(source)),
      options_(std::move(options)),
      dim_values_(options_.fold_budget_bytes) {}

void Importer::problem(Problem p) {
  if (problems_.size() >= kMaxProblems) return;
  if (!seen_problems_.emplace(p.node, p.id, p.message).second) return;
  problems_.push_back(std::move(p));
}

void Importer::problem(const NodeContext::State& s, std::string id, std::string message) {
  const std::string op = s.domain.empty() ? s.node.op_type() : s.domain + "." + s.node.op_type();
  const std::string where = s.location.text.substr(s.location.text.find(':') + 1);
  problem(
      {where, op, s.opset, std::move(id), fmt::format("{} (opset {}): {}", op, s.opset, message)});
}

// --- header --------------------------------------------------------------------------------------

bool Importer::read_opsets(const google::protobuf::RepeatedPtrField<::onnx::OperatorSetIdProto>& in,
                           std::string_view where, OpsetMap& out) {
  bool ok = true;
  for (const auto& o : in) {
    const std::string domain = plain_domain(o.domain());
    const int64_t v = o.version();
    const int newest = newest_opset(domain);
    if (v < 1 || (newest > 0 && v > newest)) {
      problem(
          {"", "", static_cast<int>(std::clamp<int64_t>(v, 0, INT32_MAX)), "onnx-opset-too-new",
           fmt::format("{} uses opset {} of domain '{}'; versions 1 to {} are known; export the "
                       "model for one of them",
                       where, v, domain.empty() ? "ai.onnx" : domain, newest)});
      ok = false;
      continue;
    }
    auto [it, fresh] = out.emplace(domain, static_cast<int>(v));
    if (!fresh) it->second = std::max(it->second, static_cast<int>(v));
  }
  return ok;
}

void Importer::check_header() {
  const auto& m = file_->proto();
  if (m.ir_version() > ::onnx::IR_VERSION) {
    problem(
        {"", "", 0, "onnx-ir-version",
         fmt::format("IR version {} is newer than {}, the newest known; export the model with an "
                     "older onnx package",
                     m.ir_version(), static_cast<int>(::onnx::IR_VERSION))});
  }
  read_opsets(m.opset_import(), "the model", opsets_);
  if (m.opset_import_size() == 0) {
    if (m.ir_version() >= 3) {
      problem({"", "", 0, "onnx-invalid", "the model imports no operator set (opset_import)"});
    }
    opsets_.emplace("", 1);
  }
  for (const FunctionProto& f : m.functions()) {
    functions_.emplace(plain_domain(f.domain()) + ":" + f.name() + ":" + f.overload(), &f);
    OpsetMap& o = function_opsets_[&f];
    read_opsets(f.opset_import(), "function '" + f.name() + "'", o);
    for (const auto& [domain, version] : opsets_) o.emplace(domain, version);
  }
}

const FunctionProto* Importer::find_function(const std::string& domain, const std::string& op,
                                             const std::string& overload) const {
  auto it = functions_.find(domain + ":" + op + ":" + overload);
  return it == functions_.end() ? nullptr : it->second;
}

// Lists every op that no converter knows, wherever it stands.
void Importer::scan_node(const NodeProto& n, const OpsetMap& opsets, int depth) {
  if (depth > kMaxDepth) return;
  const std::string domain = plain_domain(n.domain());
  if (!find_function(domain, n.op_type(), n.overload())) {
    const std::string shown = domain.empty() ? n.op_type() : domain + "." + n.op_type();
    const OnnxName* entry = nullptr;
    auto it = opsets.find(domain);
    const int opset = it == opsets.end() ? 0 : it->second;
    const std::string where = n.name().empty() && n.output_size() ? n.output(0) : n.name();
    if (!find_onnx_op(domain, n.op_type(), &entry)) {
      if (seen_problems_.emplace("", "onnx-unknown-op", shown).second) {
        problem({where, shown, opset, "onnx-unknown-op",
                 fmt::format("{} (opset {}): this op is not known; see `tenfold check` for the "
                             "whole list, and express it with other ops",
                             shown, opset)});
      }
    } else if (it == opsets.end()) {
      if (seen_problems_.emplace("", "onnx-missing-opset", domain).second) {
        problem({where, shown, 0, "onnx-missing-opset",
                 fmt::format("{}: the model imports no opset of domain '{}'", shown,
                             domain.empty() ? "ai.onnx" : domain)});
      }
    } else if (opset < *std::min_element(entry->versions.begin(), entry->versions.end())) {
      if (seen_problems_.emplace("", "onnx-op-version", shown).second) {
        problem({where, shown, opset, "onnx-op-version",
                 fmt::format("{} (opset {}): supported from opset {} on; export the model for a "
                             "newer opset",
                             shown, opset,
                             *std::min_element(entry->versions.begin(), entry->versions.end()))});
      }
    }
  }
  for (const AttributeProto& a : n.attribute()) {
    if (a.has_g()) scan_graph(a.g(), opsets, depth + 1);
    for (const GraphProto& g : a.graphs()) scan_graph(g, opsets, depth + 1);
  }
}

void Importer::scan_graph(const GraphProto& g, const OpsetMap& opsets, int depth) {
  for (const NodeProto& n : g.node()) scan_node(n, opsets, depth);
}

// --- the whole model -----------------------------------------------------------------------------

std::unique_ptr<Module> Importer::run() {
  check_header();
  const auto& m = file_->proto();
  module_ = std::make_unique<Module>();
  module_->name = m.graph().name();
  module_->source = source_;
  scan_graph(m.graph(), opsets_, 0);
  for (const FunctionProto& f : m.functions()) {
    for (const NodeProto& n : f.node()) scan_node(n, function_opsets_[&f], 0);
  }
  if (!opsets_.contains("")) opsets_.emplace("", 1);  // reported above where it matters

  Function* main = module_->add_function("main", true);
  GraphBuilder b(module_.get(), &main->body);
  Scope scope;
  scope.opsets = &opsets_;
  add_inputs(m.graph(), scope, b);
  add_initializers(m.graph(), scope, b);
  for (const NodeProto& n : m.graph().node()) convert_node(n, scope, b);
  add_results(m.graph(), scope, b);
  if (!problems_.empty()) {
    dim_values_.clear();
    module_.reset();
  }
  return std::move(module_);
}

std::string Importer::fresh_symbol(std::string_view stem) {
  std::string name;
  for (char c : stem) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) name = "d" + name;
  static const std::unordered_set<std::string> words = {"min", "max", "mod", "floordiv", "ceildiv"};
  if (words.contains(name)) name += "_";
  std::string candidate = name;
  for (int i = 1; !symbols_.insert(candidate).second; ++i)
    candidate = fmt::format("{}_{}", name, i);
  return candidate;
}

void Importer::forget_values() {
  dim_values_.clear();
  std::erase_if(symbol_origins_, [](const auto& o) { return o.second.value != nullptr; });
}

// "?" and the like stand for "any size", each by itself: only a word names one size everywhere.
static bool names_a_symbol(const std::string& param) {
  return std::any_of(param.begin(), param.end(),
                     [](unsigned char c) { return std::isalnum(c) || c >= 0x80; });
}

SymbolRef Importer::symbol_of_param(const std::string& param) {
  SymbolRef& s = params_[param];
  if (!s) s = std::make_shared<const Symbol>(Symbol{fresh_symbol(param), 0, INT64_MAX});
  return s;
}

void Importer::bind(Scope& scope, const std::string& name, Val v, std::string_view where) {
  if (name.empty()) return;
  if (!scope.values.emplace(name, std::move(v)).second) {
    problem({std::string(where), "", 0, "onnx-invalid",
             fmt::format("value '{}' is defined twice in one graph", name)});
  }
}

std::optional<TensorType> Importer::input_type(const std::string& name,
                                               const ::onnx::TypeProto_Tensor& type,
                                               const std::vector<int64_t>* shape) {
  const auto dt = dtype_of(type.elem_type());
  if (!dt) return {};
  TensorType t{*dt, {}};
  if (!type.has_shape()) {
    if (!shape) {
      needs_.shapes.insert(name);
      problem({name, "", 0, "onnx-unknown-rank",
               fmt::format("input '{}' has no shape in the model, not even a number of dimensions; "
                           "give one with --shape {}=...",
                           name, name)});
      return t;
    }
    for (size_t i = 0; i < shape->size(); ++i) {
      t.shape.push_back((*shape)[i] >= 0
                            ? Dim((*shape)[i])
                            : Dim::symbol(fresh_symbol(fmt::format("{}_{}", name, i))));
    }
    return t;
  }
  const auto& dims = type.shape().dim();
  if (shape && shape->size() != static_cast<size_t>(dims.size())) {
    problem({name, "", 0, "bad-shape-option",
             fmt::format("input '{}' has {} dimensions, --shape gives {}", name, dims.size(),
                         shape->size())});
    shape = nullptr;
  }
  for (int i = 0; i < dims.size(); ++i) {
    const auto& d = dims[i];
    const int64_t fixed = shape ? (*shape)[static_cast<size_t>(i)] : -1;
    if (d.has_dim_value()) {
      if (d.dim_value() < 0 && fixed < 0) {  // some exporters write -1 for "any"
        t.shape.push_back(Dim::symbol(fresh_symbol(fmt::format("{}_{}", name, i))));
        continue;
      }
      if (fixed >= 0 && d.dim_value() >= 0 && fixed != d.dim_value()) {
        problem({name, "", 0, "bad-shape-option",
                 fmt::format("dimension {} of input '{}' is {} in the model, --shape gives {}", i,
                             name, d.dim_value(), fixed)});
      }
      t.shape.push_back(Dim(d.dim_value() >= 0 ? d.dim_value() : fixed));
    } else if (fixed >= 0) {
      t.shape.push_back(Dim(fixed));
    } else if (names_a_symbol(d.dim_param())) {
      auto it = fixed_params_.find(d.dim_param());
      t.shape.push_back(it != fixed_params_.end() ? Dim(it->second)
                                                  : Dim::symbol(symbol_of_param(d.dim_param())));
    } else {
      t.shape.push_back(Dim::symbol(fresh_symbol(fmt::format("{}_{}", name, i))));
    }
  }
  return t;
}

void Importer::add_inputs(const GraphProto& g, Scope& scope, GraphBuilder& b) {
  std::unordered_set<std::string> defaults, names;
  for (const auto& t : g.initializer()) defaults.insert(t.name());
  for (const auto& t : g.sparse_initializer()) defaults.insert(t.values().name());
  for (const auto& name : options_.override_defaults) defaults.erase(name);
  const auto shape_option = [&](const std::string& name) -> const std::vector<int64_t>* {
    auto it = options_.shapes.find(name);
    return it == options_.shapes.end() ? nullptr : &it->second;
  };
  // A dimension fixed by --shape fixes its name everywhere.
  for (const auto& in : g.input()) {
    names.insert(in.name());
    if (auto it = options_.sequence_lengths.find(in.name()); it != options_.sequence_lengths.end())
      for (int64_t i = 0; i < it->second; ++i) names.insert(fmt::format("{}.{}", in.name(), i));
    const auto* shape = shape_option(in.name());
    if (!shape || !in.type().has_tensor_type()) continue;
    const auto& dims = in.type().tensor_type().shape().dim();
    if (static_cast<size_t>(dims.size()) != shape->size()) continue;
    for (int i = 0; i < dims.size(); ++i) {
      const int64_t v = (*shape)[static_cast<size_t>(i)];
      if (v < 0 || !names_a_symbol(dims[i].dim_param())) continue;
      auto [it, fresh] = fixed_params_.emplace(dims[i].dim_param(), v);
      if (!fresh && it->second != v) {
        problem({in.name(), "", 0, "bad-shape-option",
                 fmt::format("--shape gives dimension '{}' both {} and {}", dims[i].dim_param(),
                             it->second, v)});
      }
    }
  }
  for (const auto& [name, shape] : options_.shapes) {
    if (!names.contains(name)) {
      problem({name, "", 0, "bad-shape-option",
               fmt::format("--shape names '{}', but the model has no such input", name)});
    }
  }
  for (const auto& in : g.input()) {
    const std::string& name = in.name();
    if (defaults.contains(name)) continue;
    const ::onnx::TypeProto* type = &in.type();
    if (type->has_optional_type()) {
      if (options_.empty_optionals.contains(name)) {
        bind(scope, name, Val::none(), name);
        continue;
      }
      type = &type->optional_type().elem_type();
    }
    int64_t count = -1;
    if (type->has_sequence_type()) {
      auto it = options_.sequence_lengths.find(name);
      if (it == options_.sequence_lengths.end()) {
        bind(scope, name, Val::unsupported("a sequence whose length is not known at import"), name);
        continue;
      }
      count = it->second;
      type = &type->sequence_type().elem_type();
    }
    if (!type->has_tensor_type()) {
      bind(scope, name, Val::unsupported("neither a tensor nor a sequence of tensors"), name);
      continue;
    }
    const int elem = type->tensor_type().elem_type();
    if (!dtype_of(elem)) {
      bind(scope, name, Val::unsupported("a tensor of " + onnx_type_name(elem)), name);
      continue;
    }
    if (count < 0) {
      auto t = input_type(name, type->tensor_type(), shape_option(name));
      add_argument(*t, name, scope, b);
      continue;
    }
    std::vector<Val> items;
    for (int64_t i = 0; i < count; ++i) {
      const auto* shape = shape_option(fmt::format("{}.{}", name, i));
      auto t = input_type(name, type->tensor_type(), shape ? shape : shape_option(name));
      // Each item has sizes of its own, whatever names the dimensions share.
      for (size_t d = 0; d < t->shape.size(); ++d) {
        if (t->shape[d].is_const()) continue;
        t->shape[d] = Dim::symbol(fresh_symbol(fmt::format("{}_{}_{}", name, i, d)));
      }
      items.push_back(b.block()->add_arg(*t, fmt::format("{}.{}", name, i)));
    }
    bind(scope, name, Val::sequence(std::move(items), dtype_of(elem)), name);
  }
}

void Importer::add_argument(TensorType t, const std::string& name, Scope& scope, GraphBuilder& b) {
  auto fixed = options_.values.find(name);
  if (fixed != options_.values.end()) {
    const Literal& l = fixed->second;
    if (l.dtype() != t.dtype || l.rank() != t.rank()) {
      problem({name, "", 0, "bad-value-option",
               fmt::format("input '{}' is {}, the value given for it is {}", name, t.str(),
                           l.type().str())});
    }
    t = l.type();
  }
  Value* arg = b.block()->add_arg(t, name);
  for (const Dim& d : t.shape) {
    if (SymbolRef s = d.as_symbol()) symbol_origins_.try_emplace(s->name, Origin{name, nullptr});
  }
  if (fixed == options_.values.end()) {
    bind(scope, name, arg, name);
    return;
  }
  // The import goes on with the number; a call with another one is an error at run time.
  b.loc = {file_->name() + ":" + name};
  Value* expected = b.constant(fixed->second);
  Value* same = b.compare("EQ", arg, expected);
  std::vector<int64_t> dims;
  for (int i = 0; i < t.rank(); ++i) dims.push_back(i);
  Value* all = b.convert(b.reduce(Prim::And, same, dims), DType::I64);
  const std::string symbol = fresh_symbol(name + "_is_as_compiled");
  b.create("tenfold.bind_symbol", {all},
           {{"symbol", Attr{symbol}}, {"min", Attr{int64_t{1}}}, {"max", Attr{int64_t{1}}}});
  bind(scope, name, expected, name);
}

void Importer::origins_of(const Dim& d, std::set<const Value*>& seen, std::set<std::string>& values,
                          std::set<std::string>& shapes) const {
  std::vector<SymbolRef> symbols;
  d.collect_symbols(symbols);
  for (const SymbolRef& s : symbols) {
    auto it = symbol_origins_.find(s->name);
    if (it == symbol_origins_.end()) continue;
    if (!it->second.input.empty()) shapes.insert(it->second.input);
    if (it->second.value) origins_of(it->second.value, seen, values, shapes);
  }
}

// Follows a value back to the model's inputs.
void Importer::origins_of(const Value* v, std::set<const Value*>& seen,
                          std::set<std::string>& values, std::set<std::string>& shapes) const {
  std::vector<const Value*> todo = {v};
  while (!todo.empty()) {
    const Value* x = todo.back();
    todo.pop_back();
    if (!seen.insert(x).second) continue;
    for (const Dim& d : x->type.shape) {
      if (!d.is_const()) origins_of(d, seen, values, shapes);
    }
    const Op* op = x->def();
    if (!op) {
      if (x->block() == &module_->main()->body) values.insert(x->name);
      continue;
    }
    if (op->is("tenfold.dims")) {
      for (const Dim& d : op->dims("dims")) origins_of(d, seen, values, shapes);
    }
    for (const Value* o : op->operands()) todo.push_back(o);
    for (int i = 0; i < op->num_regions(); ++i) {
      walk(*op->region(i), [&](const Op* inner) {
        for (const Value* o : inner->operands()) todo.push_back(o);
      });
    }
  }
}

void Importer::add_initializers(const GraphProto& g, Scope& scope, GraphBuilder& b) {
  const auto add = [&](const std::string& name, int type, auto&& read) {
    if (scope.values.contains(name)) return;  // an overridden default
    if (type == ::onnx::TensorProto::STRING) {
      bind(scope, name, Val::unsupported("a string tensor"), name);
      return;
    }
    Result<Literal> l = read();
    if (!l.ok()) {
      for (const Error& e : l.errors()) problem({name, "", 0, e.id, e.message});
      bind(scope, name, Val::poison(), name);
      return;
    }
    b.loc = {file_->name() + ":" + name};
    b.origins = {};
    Value* v = b.constant(std::move(*l));
    v->name = name;
    bind(scope, name, v, name);
  };
  for (const auto& t : g.initializer()) {
    add(t.name(), t.data_type(), [&] { return file_->tensor(t, options_.max_constant_bytes); });
  }
  for (const auto& t : g.sparse_initializer()) {
    add(t.values().name(), t.values().data_type(),
        [&] { return file_->sparse_tensor(t, options_.max_constant_bytes); });
  }
}

void Importer::add_results(const GraphProto& g, Scope& scope, GraphBuilder& b) {
  Function* main = b.block()->parent_function();
  std::vector<Value*> results;
  const auto add = [&](const std::string& name, const Val& v, const ::onnx::ValueInfoProto& info) {
    const auto& declared = info.type();
    if (declared.has_tensor_type() && declared.tensor_type().elem_type() != 0 &&
        dtype_of(declared.tensor_type().elem_type()) != v.tensor()->type.dtype) {
      problem({name, "", 0, "onnx-invalid",
               fmt::format("output '{}' is declared {} but computed as {}", name,
                           onnx_type_name(declared.tensor_type().elem_type()),
                           tenfold::name(v.tensor()->type.dtype))});
    }
    results.push_back(v.tensor());
    main->result_names.push_back(name);
  };
  for (const auto& out : g.output()) {
    const Val* v = scope.find(out.name());
    if (!v) {
      problem({out.name(), "", 0, "onnx-unknown-name",
               fmt::format("graph output '{}' is computed by no node", out.name())});
    } else if (v->is_tensor()) {
      add(out.name(), *v, out);
    } else if (v->is_sequence()) {
      for (size_t i = 0; i < v->items().size(); ++i) {
        const Val& item = v->items()[i];
        if (item.is_tensor()) add(fmt::format("{}.{}", out.name(), i), item, out);
      }
    } else if (v->kind() == Val::Kind::Unsupported || v->kind() == Val::Kind::None) {
      problem({out.name(), "", 0, "onnx-unsupported-type",
               fmt::format("graph output '{}' is {}", out.name(),
                           v->kind() == Val::Kind::None ? "an empty optional" : v->text())});
    }
  }
  b.loc = {file_->name()};
  b.origins = {};
  b.return_(results);
  if (problems_.empty()) {
    for (const Error& e : b.errors) problem({"", "", 0, e.id, e.message});
  }
}

// --- nodes ---------------------------------------------------------------------------------------

Outputs Importer::convert_graph(const GraphProto& g, Scope& scope, GraphBuilder& b,
                                const std::vector<Val>& args) {
  const Location loc = b.loc;
  const auto origins = b.origins;
  const size_t before = problems_.size();
  for (int i = 0; i < g.input_size(); ++i) {
    if (static_cast<size_t>(i) < args.size()) {
      bind(scope, g.input(i).name(), args[static_cast<size_t>(i)], g.name());
    }
  }
  add_initializers(g, scope, b);
  for (const NodeProto& n : g.node()) convert_node(n, scope, b);
  Outputs outs;
  for (const auto& o : g.output()) {
    const Val* v = scope.find(o.name());
    if (!v) {
      problem(
          {o.name(), "", 0, "onnx-unknown-name",
           fmt::format("output '{}' of graph '{}' is computed by no node", o.name(), g.name())});
      outs.push_back(Val::poison());
    } else {
      outs.push_back(*v);
    }
  }
  b.loc = loc;
  b.origins = origins;
  if (problems_.size() != before) throw NodeError{"", "", true};
  for (const Val& v : outs) {
    if (v.kind() == Val::Kind::Poison) throw NodeError{"", "", true};
  }
  return outs;
}

void Importer::convert_node(const NodeProto& n, Scope& scope, GraphBuilder& b) {
  std::string where = n.name();
  if (where.empty()) {
    where = n.op_type();
    for (const auto& o : n.output()) {
      if (!o.empty()) {
        where += "(" + o + ")";
        break;
      }
    }
  }
  where = scope.prefix + where;
  const std::string domain = plain_domain(n.domain());
  auto version = scope.opsets->find(domain);
  NodeContext::State s{*this,
                       scope,
                       n,
                       domain,
                       version == scope.opsets->end() ? 0 : version->second,
                       {file_->name() + ":" + where},
                       std::vector<bool>(static_cast<size_t>(n.attribute_size())),
                       std::vector<bool>(static_cast<size_t>(n.input_size()))};
  b.loc = s.location;
  b.origins = {where};
  Outputs outs;
  const OnnxName* entry = nullptr;
  bool ok = false;
  const size_t errors_before = b.errors.size();
  try {
    // A name that nothing defines, or whose producer failed.
    bool poisoned = false;
    for (const auto& in : n.input()) {
      if (in.empty()) continue;
      const Val* v = scope.find(in);
      if (!v) {
        throw NodeError{"onnx-unknown-name",
                        fmt::format("input '{}' is defined by no earlier node, input or "
                                    "initializer (nodes must stand in order of use)",
                                    in)};
      }
      poisoned |= v->kind() == Val::Kind::Poison;
    }
    if (poisoned) throw NodeError{"", "", true};
    if (const FunctionProto* f = find_function(domain, n.op_type(), n.overload())) {
      outs = call_function(*f, s, b);
    } else {
      const OnnxOp* op = find_onnx_op(domain, n.op_type(), &entry);
      // Unknown ones are in the list that scan_graph made.
      if (!op || s.opset < *std::min_element(entry->versions.begin(), entry->versions.end())) {
        throw NodeError{"", "", true};
      }
      for (int i = 0; i < n.attribute_size(); ++i) {
        for (int j = 0; j < i; ++j) {
          if (n.attribute(i).name() == n.attribute(j).name()) {
            throw NodeError{"onnx-invalid",
                            fmt::format("attribute '{}' is given twice", n.attribute(i).name())};
          }
        }
      }
      NodeContext context(b, s);
      outs = op->convert(context);
    }
    ok = true;
    for (size_t i = errors_before; i < b.errors.size(); ++i) {
      problem(s, b.errors[i].id, b.errors[i].message);
      ok = false;
    }
    for (size_t j = 0; j < outs.size(); ++j) {
      if (!outs[j].is_tensor() || !outs[j].tensor()->type.is_static()) continue;
      const TensorType& t = outs[j].tensor()->type;
      double bytes = byte_size(t.dtype);
      for (const Dim& d : t.shape) bytes *= static_cast<double>(d.value());
      if (bytes <= kMaxTensorBytes) continue;
      problem(s, "onnx-too-large",
              fmt::format("output {} would be {}, {:.0f} GiB", j, t.str(), bytes / (1 << 30)));
      ok = false;
    }
    for (int i = 0; i < n.attribute_size(); ++i) {
      if (s.attr_read[static_cast<size_t>(i)]) continue;
      const AttributeProto& a = n.attribute(i);
      // A reference to a function parameter that the caller left out is as if not written.
      if (!a.ref_attr_name().empty() &&
          (!scope.attrs || !scope.attrs->contains(a.ref_attr_name()))) {
        continue;
      }
      problem(s, "onnx-unread-attribute",
              fmt::format("attribute '{}' is not known for this op at this opset", a.name()));
      ok = false;
    }
    for (int i = 0; i < n.input_size(); ++i) {
      if (s.input_read[static_cast<size_t>(i)] || n.input(i).empty()) continue;
      problem(s, "onnx-unread-input",
              fmt::format("input {} ('{}') is not known for this op at this opset", i, n.input(i)));
      ok = false;
    }
    for (int j = static_cast<int>(outs.size()); ok && j < n.output_size(); ++j) {
      if (n.output(j).empty()) continue;
      problem(
          s, "onnx-unknown-output",
          fmt::format("output {} ('{}') is not known for this op at this opset", j, n.output(j)));
      ok = false;
    }
  } catch (const NodeError& e) {
    for (size_t i = errors_before; i < b.errors.size(); ++i) {
      problem(s, b.errors[i].id, b.errors[i].message);
    }
    if (!e.silent) problem(s, e.id, e.message);
    needs_.values.insert(e.needs_values.begin(), e.needs_values.end());
    needs_.shapes.insert(e.needs_shapes.begin(), e.needs_shapes.end());
    ok = false;
  }
  b.errors.resize(errors_before);
  note_use(s, entry, outs, ok);
  for (int j = 0; j < n.output_size(); ++j) {
    const std::string& name = n.output(j);
    if (name.empty()) continue;
    Val v =
        ok && static_cast<size_t>(j) < outs.size() ? outs[static_cast<size_t>(j)] : Val::poison();
    if (ok && v.kind() == Val::Kind::Absent) {
      problem(s, "onnx-unknown-output", fmt::format("output {} ('{}') is not supported", j, name));
      v = Val::poison();
    }
    if (v.is_tensor() && v.tensor()->name.empty()) v.tensor()->name = name;
    bind(scope, name, std::move(v), where);
  }
}

Outputs Importer::call_function(const FunctionProto& f, NodeContext::State& s, GraphBuilder& b) {
  const NodeProto& n = s.node;
  if (s.scope.depth >= kMaxDepth || active_functions_.contains(&f)) {
    throw NodeError{"onnx-invalid", fmt::format("function '{}' calls itself", f.name())};
  }
  if (n.input_size() > f.input_size()) {
    throw NodeError{"onnx-invalid", fmt::format("function '{}' has {} inputs, the node gives {}",
                                                f.name(), f.input_size(), n.input_size())};
  }
  AttrEnv env;
  const auto resolve = [&](const AttributeProto& a) -> const AttributeProto* {
    if (a.ref_attr_name().empty()) return &a;
    if (!s.scope.attrs) return nullptr;
    auto it = s.scope.attrs->find(a.ref_attr_name());
    return it == s.scope.attrs->end() ? nullptr : it->second;
  };
  for (const AttributeProto& a : f.attribute_proto()) env[a.name()] = &a;
  for (int i = 0; i < n.attribute_size(); ++i) {
    const AttributeProto& a = n.attribute(i);
    const bool known =
        std::find(f.attribute().begin(), f.attribute().end(), a.name()) != f.attribute().end() ||
        env.contains(a.name());
    if (!known) continue;  // reported as unread
    s.attr_read[static_cast<size_t>(i)] = true;
    if (const AttributeProto* v = resolve(a)) env[a.name()] = v;
  }
  Scope inner;
  inner.opsets = &function_opsets_[&f];
  inner.attrs = &env;
  inner.prefix = s.location.text.substr(s.location.text.find(':') + 1) + "/";
  inner.depth = s.scope.depth + 1;
  for (int i = 0; i < f.input_size(); ++i) {
    Val v;
    if (i < n.input_size() && !n.input(i).empty()) {
      v = *s.scope.find(n.input(i));
      s.input_read[static_cast<size_t>(i)] = true;
    }
    bind(inner, f.input(i), std::move(v), f.name());
  }
  active_functions_.insert(&f);
  const size_t before = problems_.size();
  for (const NodeProto& node : f.node()) convert_node(node, inner, b);
  active_functions_.erase(&f);
  b.loc = s.location;
  if (problems_.size() != before) throw NodeError{"", "", true};
  Outputs outs;
  for (const auto& o : f.output()) {
    const Val* v = inner.find(o);
    if (!v) {
      throw NodeError{
          "onnx-invalid",
          fmt::format("output '{}' of function '{}' is computed by no node", o, f.name())};
    }
    if (v->kind() == Val::Kind::Poison) throw NodeError{"", "", true};
    outs.push_back(*v);
  }
  return outs;
}

// --- entry points --------------------------------------------------------------------------------

namespace {

std::vector<Problem> problems_of(const Errors& errors) {
  std::vector<Problem> out;
  for (const Error& e : errors) out.push_back({"", "", 0, e.id, e.message});
  return out;
}

Result<std::unique_ptr<Module>> run_import(std::shared_ptr<ModelFile> file,
                                           const std::string& source, const ImportOptions& options,
                                           ImportNeeds* needs) {
  const std::string name = file->name();
  Importer importer(std::move(file), source, options);
  auto module = importer.run();
  if (needs) *needs = importer.needs();
  if (module) return module;
  Errors errors;
  for (const Problem& p : importer.problems()) {
    errors.push_back({p.id, p.message, {p.node.empty() ? name : name + ":" + p.node}, {}});
  }
  return errors;
}

}  // namespace

Result<std::unique_ptr<Module>> import_onnx(const std::string& path, const ImportOptions& options,
                                            ImportNeeds* needs) {
  TF_ASSIGN(auto file, ModelFile::load(path));
  return run_import(std::move(file), path, options, needs);
}

Result<std::unique_ptr<Module>> import_onnx_bytes(std::span<const std::byte> bytes,
                                                  const std::string& file_name,
                                                  const std::string& folder,
                                                  const ImportOptions& options,
                                                  ImportNeeds* needs) {
  TF_ASSIGN(auto file, ModelFile::parse(bytes, file_name, folder));
  return run_import(std::move(file), file_name, options, needs);
}

std::vector<Problem> check_onnx(const std::string& path, const ImportOptions& options,
                                std::vector<OpUse>* uses) {
  auto file = ModelFile::load(path);
  if (!file.ok()) return problems_of(file.errors());
  Importer importer(*file, path, options);
  importer.run();
  if (uses) *uses = importer.uses();
  return importer.problems();
}

}  // namespace tenfold::onnx
