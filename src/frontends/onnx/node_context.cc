// What a converter reads its node through.
#include <algorithm>

#include <fmt/format.h>

#include "frontends/onnx/importer.h"
#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

using ::onnx::AttributeProto;
using ::onnx::GraphProto;

// --- refusing ------------------------------------------------------------------------------------

void NodeContext::fail(std::string message) {
  throw NodeError{"onnx-unsupported", std::move(message)};
}
void NodeContext::fail(std::string id, std::string message) {
  throw NodeError{std::move(id), std::move(message)};
}
void NodeContext::invalid(std::string message) {
  throw NodeError{"onnx-invalid", std::move(message)};
}

// --- node ----------------------------------------------------------------------------------------

const std::string& NodeContext::op_type() const { return s_.node.op_type(); }
const std::string& NodeContext::domain() const { return s_.domain; }
int NodeContext::opset() const { return s_.opset; }
const Location& NodeContext::location() const { return s_.location; }

int NodeContext::num_inputs() const { return s_.node.input_size(); }

bool NodeContext::has(int i) const {
  if (i < 0 || i >= s_.node.input_size() || s_.node.input(i).empty()) return false;
  return s_.scope.find(s_.node.input(i))->present();
}

const Val& NodeContext::val(int i) {
  static const Val absent;
  if (i < 0 || i >= s_.node.input_size()) return absent;
  s_.input_read[static_cast<size_t>(i)] = true;
  if (s_.node.input(i).empty()) return absent;
  return *s_.scope.find(s_.node.input(i));
}

Value* NodeContext::opt(int i) {
  const Val& v = val(i);
  switch (v.kind()) {
    case Val::Kind::Absent:
      return nullptr;
    case Val::Kind::Tensor:
      return v.tensor();
    case Val::Kind::Sequence:
      invalid(fmt::format("input {} is a sequence, not a tensor", i));
    case Val::Kind::None:
      invalid(fmt::format("input {} is an empty optional, not a tensor", i));
    case Val::Kind::Unsupported:
      fail("onnx-unsupported-type", fmt::format("input {} is {}", i, v.text()));
    case Val::Kind::Poison:
      throw NodeError{"", "", true};
  }
  return nullptr;
}

Value* NodeContext::input(int i) {
  Value* v = opt(i);
  if (!v) invalid(fmt::format("input {} is missing", i));
  return v;
}

std::vector<Value*> NodeContext::inputs(int from) {
  std::vector<Value*> out;
  for (int i = from; i < num_inputs(); ++i) out.push_back(input(i));
  return out;
}

void NodeContext::skip_input(int i) { val(i); }

int NodeContext::num_outputs() const { return s_.node.output_size(); }
bool NodeContext::wants(int j) const {
  return j < s_.node.output_size() && !s_.node.output(j).empty();
}
std::string NodeContext::output_name(int j) const {
  return j < s_.node.output_size() ? s_.node.output(j) : std::string();
}

// --- attributes ----------------------------------------------------------------------------------

namespace {
const char* type_name(AttributeProto::AttributeType t) {
  switch (t) {
    case AttributeProto::FLOAT:
      return "a float";
    case AttributeProto::INT:
      return "an int";
    case AttributeProto::STRING:
      return "a string";
    case AttributeProto::TENSOR:
      return "a tensor";
    case AttributeProto::GRAPH:
      return "a graph";
    case AttributeProto::SPARSE_TENSOR:
      return "a sparse tensor";
    case AttributeProto::FLOATS:
      return "floats";
    case AttributeProto::INTS:
      return "ints";
    case AttributeProto::STRINGS:
      return "strings";
    case AttributeProto::GRAPHS:
      return "graphs";
    default:
      return "of an unknown type";
  }
}
// Very old files leave the type out.
AttributeProto::AttributeType type_of_attr(const AttributeProto& a) {
  if (a.type() != AttributeProto::UNDEFINED) return a.type();
  if (a.has_f()) return AttributeProto::FLOAT;
  if (a.has_i()) return AttributeProto::INT;
  if (a.has_s()) return AttributeProto::STRING;
  if (a.has_t()) return AttributeProto::TENSOR;
  if (a.has_g()) return AttributeProto::GRAPH;
  if (a.floats_size()) return AttributeProto::FLOATS;
  if (a.ints_size()) return AttributeProto::INTS;
  if (a.strings_size()) return AttributeProto::STRINGS;
  return AttributeProto::UNDEFINED;
}
}  // namespace

const AttributeProto* NodeContext::attr_raw(std::string_view name) {
  for (int i = 0; i < s_.node.attribute_size(); ++i) {
    const AttributeProto& a = s_.node.attribute(i);
    if (a.name() != name) continue;
    s_.attr_read[static_cast<size_t>(i)] = true;
    if (a.ref_attr_name().empty()) return &a;
    if (!s_.scope.attrs) {
      invalid(
          fmt::format("attribute '{}' refers to a function's attribute outside a function", name));
    }
    auto it = s_.scope.attrs->find(a.ref_attr_name());
    return it == s_.scope.attrs->end() ? nullptr : it->second;
  }
  return nullptr;
}

namespace {
const AttributeProto* typed(NodeContext& n, std::string_view name,
                            AttributeProto::AttributeType want) {
  const AttributeProto* a = n.attr_raw(name);
  if (!a) return nullptr;
  const auto have = type_of_attr(*a);
  // An empty list written without a type.
  if (have == AttributeProto::UNDEFINED && a->type() == AttributeProto::UNDEFINED) return a;
  if (have != want) {
    n.invalid(
        fmt::format("attribute '{}' is {}, wanted {}", name, type_name(have), type_name(want)));
  }
  return a;
}
[[noreturn]] void missing(NodeContext& n, std::string_view name) {
  n.invalid(fmt::format("attribute '{}' is missing", name));
}
}  // namespace

bool NodeContext::has_attr(std::string_view name) const {
  for (const AttributeProto& a : s_.node.attribute()) {
    if (a.name() != name) continue;
    return a.ref_attr_name().empty() ||
           (s_.scope.attrs && s_.scope.attrs->contains(a.ref_attr_name()));
  }
  return false;
}

void NodeContext::ignore_attr(std::string_view name) { attr_raw(name); }

int64_t NodeContext::attr_i(std::string_view name) {
  const auto* a = typed(*this, name, AttributeProto::INT);
  if (!a) missing(*this, name);
  return a->i();
}
int64_t NodeContext::attr_i(std::string_view name, int64_t otherwise) {
  const auto* a = typed(*this, name, AttributeProto::INT);
  return a ? a->i() : otherwise;
}
bool NodeContext::attr_flag(std::string_view name, bool otherwise) {
  return attr_i(name, otherwise) != 0;
}
double NodeContext::attr_f(std::string_view name) {
  const auto* a = typed(*this, name, AttributeProto::FLOAT);
  if (!a) missing(*this, name);
  return static_cast<double>(a->f());
}
double NodeContext::attr_f(std::string_view name, double otherwise) {
  const auto* a = typed(*this, name, AttributeProto::FLOAT);
  return a ? static_cast<double>(a->f()) : otherwise;
}
std::string NodeContext::attr_s(std::string_view name) {
  const auto* a = typed(*this, name, AttributeProto::STRING);
  if (!a) missing(*this, name);
  return a->s();
}
std::string NodeContext::attr_s(std::string_view name, std::string_view otherwise) {
  const auto* a = typed(*this, name, AttributeProto::STRING);
  return a ? a->s() : std::string(otherwise);
}
std::vector<int64_t> NodeContext::attr_ints(std::string_view name) {
  const auto* a = typed(*this, name, AttributeProto::INTS);
  if (!a) missing(*this, name);
  return {a->ints().begin(), a->ints().end()};
}
std::vector<int64_t> NodeContext::attr_ints(std::string_view name, std::vector<int64_t> otherwise) {
  const auto* a = typed(*this, name, AttributeProto::INTS);
  if (!a) return otherwise;
  return {a->ints().begin(), a->ints().end()};
}
std::vector<double> NodeContext::attr_floats(std::string_view name, std::vector<double> otherwise) {
  const auto* a = typed(*this, name, AttributeProto::FLOATS);
  if (!a) return otherwise;
  return {a->floats().begin(), a->floats().end()};
}
std::vector<std::string> NodeContext::attr_strings(std::string_view name,
                                                   std::vector<std::string> otherwise) {
  const auto* a = typed(*this, name, AttributeProto::STRINGS);
  if (!a) return otherwise;
  return {a->strings().begin(), a->strings().end()};
}

Literal NodeContext::attr_tensor(std::string_view name) {
  const AttributeProto* a = attr_raw(name);
  if (!a) missing(*this, name);
  const int64_t limit = s_.importer.options().max_constant_bytes;
  auto l = a->has_sparse_tensor() ? s_.importer.file().sparse_tensor(a->sparse_tensor(), limit)
           : a->has_t()
               ? s_.importer.file().tensor(a->t(), limit)
               : Result<Literal>(Error{
                     "onnx-invalid", fmt::format("attribute '{}' is no tensor", name), {}, {}});
  if (!l.ok()) fail(l.errors()[0].id, l.errors()[0].message);
  return std::move(*l);
}

bool NodeContext::attr_is_string_tensor(std::string_view name) {
  const AttributeProto* a = attr_raw(name);
  return a && a->has_t() && a->t().data_type() == ::onnx::TensorProto::STRING;
}

DType NodeContext::attr_dtype(std::string_view name) {
  const int64_t v = attr_i(name);
  const auto t = v >= 0 && v < 1000 ? dtype_of(static_cast<int>(v)) : std::nullopt;
  if (!t) {
    fail("onnx-unsupported-type",
         fmt::format("attribute '{}' asks for element type {}", name,
                     onnx_type_name(static_cast<int>(std::clamp<int64_t>(v, -1, 1000)))));
  }
  return *t;
}
DType NodeContext::attr_dtype(std::string_view name, DType otherwise) {
  return has_attr(name) ? attr_dtype(name) : (ignore_attr(name), otherwise);
}

const GraphProto& NodeContext::attr_graph(std::string_view name) {
  const auto* a = typed(*this, name, AttributeProto::GRAPH);
  if (!a || !a->has_g()) missing(*this, name);
  return a->g();
}

// --- values --------------------------------------------------------------------------------------

std::optional<Literal> NodeContext::constant(Value* v) {
  return s_.importer.dim_values().constant(v);
}

std::optional<std::vector<int64_t>> NodeContext::const_ints(Value* v) {
  if (!is_integer(v->type.dtype) && v->type.dtype != DType::Bool) {
    invalid(fmt::format("needs integers, found {}", v->type.str()));
  }
  auto l = constant(v);
  if (!l) return {};
  return l->to_i64s();
}

std::vector<int64_t> NodeContext::need_ints(Value* v, std::string_view what) {
  auto c = const_ints(v);
  if (!c) need_value(v, fmt::format("{} must be known at import", what));
  return std::move(*c);
}

namespace {
[[noreturn]] void refuse(std::string message, const std::set<std::string>& values,
                         const std::set<std::string>& shapes) {
  NodeError e{"onnx-unsupported", std::move(message)};
  e.needs_values.assign(values.begin(), values.end());
  e.needs_shapes.assign(shapes.begin(), shapes.end());
  if (!values.empty()) {
    e.id = "onnx-needs-value";
    e.message +=
        fmt::format("; fix the value of the model's input '{}'", fmt::join(values, "', '"));
  }
  if (!shapes.empty()) {
    if (values.empty()) e.id = "onnx-needs-shape";
    e.message += fmt::format("; fix the shape of '{}' with --shape", fmt::join(shapes, "', '"));
  }
  throw e;
}
}  // namespace

void NodeContext::need_value(Value* v, std::string message) {
  std::set<const Value*> seen;
  std::set<std::string> values, shapes;
  s_.importer.origins_of(v, seen, values, shapes);
  refuse(std::move(message), values, shapes);
}

void NodeContext::need_dims(const std::vector<Dim>& dims, std::string message) {
  std::set<const Value*> seen;
  std::set<std::string> values, shapes;
  for (const Dim& d : dims) s_.importer.origins_of(d, seen, values, shapes);
  refuse(std::move(message), values, shapes);
}

std::optional<std::vector<Dim>> NodeContext::known_dims(Value* v) {
  const auto* e = s_.importer.dim_values().elements(v);
  if (!e) return {};
  std::vector<Dim> out;
  for (const auto& d : *e) {
    if (!d) return {};
    out.push_back(*d);
  }
  return out;
}

std::vector<std::optional<Dim>> NodeContext::partial_dims(Value* v, std::string_view what) {
  if (!is_integer(v->type.dtype) && v->type.dtype != DType::Bool) {
    invalid(fmt::format("{}: needs integers, found {}", what, v->type.str()));
  }
  if (!v->type.is_static()) {
    need_dims(v->type.shape, fmt::format("{}: the number of entries must be known at import, "
                                         "found {}",
                                         what, v->type.str()));
  }
  const int64_t n = v->type.num_elements().value();
  if (n > 4096) fail(fmt::format("{}: {} entries are more than a shape can have", what, n));
  const auto* known = s_.importer.dim_values().elements(v);
  return known ? *known : DimValues::Elements(static_cast<size_t>(n), std::nullopt);
}

std::vector<Dim> NodeContext::dims(Value* v, std::string_view stem, int64_t min, int64_t max) {
  const auto e = partial_dims(v, stem);
  const auto n = static_cast<int64_t>(e.size());
  std::vector<Dim> out;
  Value* flat = nullptr;
  for (int64_t i = 0; i < n; ++i) {
    if (e[static_cast<size_t>(i)]) {
      out.push_back(*e[static_cast<size_t>(i)]);
      continue;
    }
    if (n == 1) {
      out.push_back(runtime_dim(v, stem, min, max));
      continue;
    }
    if (!flat) flat = b.reshape(v, {Dim(n)});
    Value* one = b.slice(flat, {Dim(i)}, {Dim(i + 1)}, {1});
    out.push_back(runtime_dim(one, stem, min, max));
  }
  return out;
}

Dim NodeContext::dim(Value* v, std::string_view stem, int64_t min, int64_t max) {
  const Dim count = v->type.num_elements();
  if (equal(count, Dim(1)) == Truth::No) {
    invalid(fmt::format("{}: needs one element, found {}", stem, v->type.str()));
  }
  if (!v->type.is_static()) {
    // One element is what the run is held to.
    b.create("tenfold.bind_symbol", {b.dim_scalar(count)},
             {{"symbol", Attr{fresh_symbol(fmt::format("{}_count", stem))}},
              {"min", Attr{int64_t{1}}},
              {"max", Attr{int64_t{1}}}});
    const size_t rank = v->type.shape.size();
    v = b.reshape(
        b.slice(v, Shape(rank, Dim(0)), Shape(rank, Dim(1)), std::vector<int64_t>(rank, 1)), {});
  }
  return dims(v, stem, min, max)[0];
}

Dim NodeContext::runtime_dim(Value* v, std::string_view stem, int64_t min, int64_t max) {
  if (const auto* e = s_.importer.dim_values().elements(v); e && e->size() == 1 && (*e)[0]) {
    return *(*e)[0];
  }
  const std::string name = fresh_symbol(stem);
  Value* scalar = b.convert(b.reshape(v, {}), DType::I64);
  b.create("tenfold.bind_symbol", {scalar},
           {{"symbol", Attr{name}}, {"min", Attr{min}}, {"max", Attr{max}}});
  s_.importer.symbol_origins_.try_emplace(name, Importer::Origin{{}, v});
  const Dim d = Dim::symbol(name, min, max);
  s_.importer.dim_values().note_bound(v, d, b.block());
  return d;
}

std::string NodeContext::fresh_symbol(std::string_view stem) {
  return s_.importer.fresh_symbol(stem);
}
void NodeContext::forget_values() { s_.importer.forget_values(); }

// --- axes and shapes -----------------------------------------------------------------------------

int64_t NodeContext::axis(int64_t a, int64_t rank) {
  if (a < -rank || a >= rank) {
    invalid(
        fmt::format("axis {} is outside [{}, {}) of a tensor of rank {}", a, -rank, rank, rank));
  }
  return a < 0 ? a + rank : a;
}

std::vector<int64_t> NodeContext::axes(const std::vector<int64_t>& a, int64_t rank) {
  std::vector<int64_t> out;
  for (int64_t x : a) {
    out.push_back(axis(x, rank));
    if (std::count(out.begin(), out.end(), out.back()) > 1) {
      invalid(fmt::format("axis {} is given twice", x));
    }
  }
  return out;
}

std::optional<std::vector<int64_t>> NodeContext::axes_input_or_attr(int i, std::string_view name) {
  if (Value* v = opt(i)) {
    return need_ints(v, fmt::format("input {} (axes)", i));
  }
  if (has_attr(name)) return attr_ints(name);
  ignore_attr(name);
  return {};
}

Shape NodeContext::broadcast_shape(const std::vector<Shape>& shapes) {
  size_t rank = 0;
  for (const Shape& s : shapes) rank = std::max(rank, s.size());
  Shape out(rank, Dim(1));
  for (const Shape& s : shapes) {
    for (size_t i = 0; i < s.size(); ++i) {
      Dim& to = out[rank - s.size() + i];
      const Dim& d = s[i];
      if (equal(to, d) == Truth::Yes) {
        if (d.is_const()) to = d;
      } else if (equal(to, Dim(1)) == Truth::Yes) {
        to = d;
      } else if (equal(d, Dim(1)) == Truth::Yes) {
        continue;
      } else if (to.is_const() && d.is_const()) {
        invalid(
            fmt::format("dimensions {} and {} cannot be broadcast together", to.str(), d.str()));
      } else if (d.is_const()) {
        to = d;  // the other is 1 or the same number
      } else if (!to.is_const()) {
        to = min(min(to, d), Dim(1)) * max(to, d);
      }
    }
  }
  return out;
}

Value* NodeContext::broadcast_to(Value* v, const Shape& shape) {
  const size_t lead = shape.size() - v->type.shape.size();
  if (v->type.shape.size() > shape.size()) {
    invalid(fmt::format("cannot broadcast {} to {} dimensions", v->type.str(), shape.size()));
  }
  for (size_t i = 0; i < v->type.shape.size(); ++i) {
    const Dim d = v->type.shape[i], t = shape[lead + i];
    if (equal(d, t) == Truth::Yes || equal(d, Dim(1)) == Truth::Yes) continue;
    if (d.is_const() && t.is_const()) {
      invalid(fmt::format("dimension {} cannot be broadcast to {}", d.str(), t.str()));
    }
    // 1 or t, known only at run time: indices beyond the end are clamped, so a lone element
    // repeats.
    Value* index = b.iota({DType::I64, {t}}, 0);
    v = take(b, v, index, static_cast<int64_t>(i));
  }
  std::vector<int64_t> map;
  for (size_t i = 0; i < v->type.shape.size(); ++i) map.push_back(static_cast<int64_t>(lead + i));
  return b.broadcast_in_dim(v, shape, map);
}

std::vector<Value*> NodeContext::broadcast(const std::vector<Value*>& vs) {
  std::vector<Shape> shapes;
  for (Value* v : vs) shapes.push_back(v->type.shape);
  const Shape s = broadcast_shape(shapes);
  std::vector<Value*> out;
  for (Value* v : vs) out.push_back(broadcast_to(v, s));
  return out;
}

namespace {
void same_types(NodeContext& n, Value* x, Value* y) {
  if (x->type.dtype != y->type.dtype) {
    n.invalid(fmt::format("operands have element types {} and {}", name(x->type.dtype),
                          name(y->type.dtype)));
  }
}
}  // namespace

Value* NodeContext::binary(Prim p, Value* x, Value* y) {
  same_types(*this, x, y);
  const auto v = broadcast({x, y});
  return b.binary(p, v[0], v[1]);
}
Value* NodeContext::compare(std::string_view direction, Value* x, Value* y) {
  same_types(*this, x, y);
  const auto v = broadcast({x, y});
  return b.compare(direction, v[0], v[1]);
}
Value* NodeContext::select(Value* pred, Value* x, Value* y) {
  same_types(*this, x, y);
  const auto v = broadcast({pred, x, y});
  return b.select(v[0], v[1], v[2]);
}

int64_t NodeContext::static_dim(Value* v, int64_t axis, std::string_view what) {
  const auto c = v->type.shape[static_cast<size_t>(axis)].constant();
  if (!c) {
    need_dims({v->type.shape[static_cast<size_t>(axis)]},
              fmt::format("{} must be known at import, found {}", what, v->type.str()));
  }
  return *c;
}

void NodeContext::need_rank(Value* v, int64_t low, int64_t high, std::string_view what) {
  const int64_t r = v->type.rank();
  if (r >= low && r <= high) return;
  invalid(low == high
              ? fmt::format("{} needs rank {}, found {}", what, low, v->type.str())
              : fmt::format("{} needs rank {} to {}, found {}", what, low, high, v->type.str()));
}

void NodeContext::require_equal(const Dim& a, const Dim& b, std::string_view what) {
  if (equal(a, b) == Truth::No) {
    invalid(fmt::format("{}: {} and {} differ", what, a.str(), b.str()));
  }
  this->b.require({SizeRule::Relation::Equal, a, b}, what);
}

// --- subgraphs -----------------------------------------------------------------------------------

Outputs NodeContext::subgraph(const GraphProto& g, GraphBuilder& into,
                              const std::vector<Val>& args) {
  Scope scope;
  scope.parent = &s_.scope;
  scope.opsets = s_.scope.opsets;
  scope.attrs = s_.scope.attrs;
  scope.prefix = s_.scope.prefix;
  scope.depth = s_.scope.depth + 1;
  if (scope.depth > 190) invalid("graphs are nested too deeply");
  return s_.importer.convert_graph(g, scope, into, args);
}
int NodeContext::subgraph_inputs(const GraphProto& g) { return g.input_size(); }
int NodeContext::subgraph_outputs(const GraphProto& g) { return g.output_size(); }

}  // namespace tenfold::onnx
