// The op table's look-up, and the checks every op goes through.
#include "graph/op_def.h"

#include <unordered_map>

#include "graph/check.h"

namespace tenfold {

const OpDef* find_op(std::string_view name) {
  static const std::unordered_map<std::string_view, const OpDef*> table = [] {
    std::unordered_map<std::string_view, const OpDef*> t;
    for (const OpDef* d : all_ops()) t.emplace(d->name, d);
    return t;
  }();
  auto it = table.find(name);
  return it == table.end() ? nullptr : it->second;
}

const OpDef kUnknownOp = {
    .name = "tenfold.unknown",
    .summary = "Stands for an op that was not understood; never reaches a verified module.",
    .num_results = -1,
    .num_regions = -1,
    .infer =
        [](const Op& op, Diag&) {
          std::vector<TensorType> types;
          for (int i = 0; i < op.num_results(); ++i) types.push_back(op.result(i)->type);
          return types;
        },
    .explicit_results = true,
};

void Diag::fail(std::string_view label, std::string message) {
  Error e;
  e.id = "op-constraint";
  e.message = op_.name() + " (" + std::string(label) + "): " + std::move(message);
  e.loc = op_.loc;
  for (auto& o : op_.origins) e.notes.push_back("from node " + o);
  errors_.push_back(std::move(e));
}

bool SizeRule::holds(int64_t x, int64_t y) const {
  return relation == Relation::AtMost ? x <= y
                                      : x == y || (relation == Relation::EqualOrOne && x == 1);
}

std::string SizeRule::id() const {
  return relation == Relation::AtMost ? "size-range" : "shape-mismatch";
}

std::string SizeRule::str() const {
  if (relation == Relation::AtMost && a == Dim(0)) {
    return "size " + b.str() + " must not be negative";
  }
  return "size " + a.str() +
         (relation == Relation::Equal    ? " must be "
          : relation == Relation::AtMost ? " must be at most "
                                         : " must be 1 or ") +
         b.str();
}

std::string SizeRule::broken(int64_t x, int64_t y) const {
  return str() + ", found " + std::to_string(x) + " and " + std::to_string(y);
}

bool Diag::need(SizeRule r) {
  Truth t;
  switch (r.relation) {
    case SizeRule::Relation::Equal:
      t = tenfold::equal(r.a, r.b);
      break;
    case SizeRule::Relation::AtMost:
      t = less_equal(r.a, r.b);
      break;
    case SizeRule::Relation::EqualOrOne: {
      const Truth same = tenfold::equal(r.a, r.b), one = tenfold::equal(r.a, 1);
      t = same == Truth::Yes || one == Truth::Yes ? Truth::Yes
          : same == Truth::No                     ? one
                                                  : Truth::Unknown;
      // What cannot be 1 has to be equal.
      if (t == Truth::Unknown && one == Truth::No) r.relation = SizeRule::Relation::Equal;
      break;
    }
  }
  if (t == Truth::Unknown) rules_.push_back(std::move(r));
  return t != Truth::No;
}

std::string_view name(SizeRule::Relation r) {
  return r == SizeRule::Relation::Equal    ? "EQ"
         : r == SizeRule::Relation::AtMost ? "LE"
                                           : "EQ_OR_ONE";
}

std::optional<SizeRule::Relation> relation(std::string_view text) {
  using R = SizeRule::Relation;
  for (R r : {R::Equal, R::AtMost, R::EqualOrOne}) {
    if (name(r) == text) return r;
  }
  return std::nullopt;
}

SizeRule rule_of(const Op& op) {
  const auto& sizes = op.dims("sizes");
  return {*relation(op.str("relation")), sizes[0], sizes[1]};
}

std::vector<SizeRule> size_rules(const Op& op) {
  if (!op.def->infer || op.def == &kUnknownOp) return {};
  Diag diag(op);
  std::vector<TensorType> inferred = op.def->infer(op, diag);
  if (!diag.ok()) return {};  // the verifier's matter
  // Sizes of results that the op itself binds are not known before it has run.
  if (op.attr("bound_symbols")) return diag.rules();
  for (int i = 0; i < op.num_results(); ++i) {
    const Shape& stated = op.result(i)->type.shape;
    for (size_t k = 0; k < stated.size(); ++k) {
      if (static_cast<size_t>(i) < inferred.size() && k < inferred[i].shape.size()) {
        diag.equal(inferred[i].shape[k], stated[k]);
      }
      diag.at_most(0, stated[k]);
    }
  }
  return diag.rules();
}

std::vector<int64_t> EvalContext::shape(const TensorType& t) const {
  std::vector<int64_t> dims;
  dims.reserve(t.shape.size());
  for (const Dim& d : t.shape) dims.push_back(dim(d));
  return dims;
}

Error EvalContext::error(std::string id, std::string message) const {
  Error e;
  e.id = std::move(id);
  e.message = op ? op->name() + ": " + message : std::move(message);
  if (op) {
    e.loc = op->loc;
    for (auto& o : op->origins) e.notes.push_back("from node " + o);
  }
  return e;
}

bool may_be_same(const TensorType& a, const TensorType& b) {
  if (a.dtype != b.dtype || a.rank() != b.rank()) return false;
  for (int i = 0; i < a.rank(); ++i) {
    if (equal(a.shape[i], b.shape[i]) == Truth::No) return false;
  }
  return true;
}

bool surely_same(const TensorType& a, const TensorType& b) {
  if (a.dtype != b.dtype || a.rank() != b.rank()) return false;
  for (int i = 0; i < a.rank(); ++i) {
    if (equal(a.shape[i], b.shape[i]) != Truth::Yes) return false;
  }
  return true;
}

std::string type_list(const std::vector<TensorType>& ts) {
  std::string s = "(";
  for (size_t i = 0; i < ts.size(); ++i) s += (i ? ", " : "") + ts[i].str();
  return s + ")";
}

std::vector<TensorType> region_result_types(const Block& b) {
  std::vector<TensorType> types;
  if (b.ops.empty() || b.ops.back()->def->kind != OpKind::Terminator) return types;
  for (Value* v : b.results()) types.push_back(v ? v->type : TensorType{});
  return types;
}

std::string_view name(AttrKind k) {
  switch (k) {
    case AttrKind::Bool:
      return "bool";
    case AttrKind::I64:
      return "integer";
    case AttrKind::F64:
      return "number";
    case AttrKind::Str:
      return "string";
    case AttrKind::Enum:
      return "enumeration";
    case AttrKind::Func:
      return "function name";
    case AttrKind::Type:
      return "element type";
    case AttrKind::I64s:
      return "list of integers";
    case AttrKind::Bools:
      return "list of bools";
    case AttrKind::Dims:
      return "list of dimensions";
    case AttrKind::Strs:
      return "list of strings";
    case AttrKind::Lit:
      return "dense tensor";
    case AttrKind::Dict:
      return "dictionary";
  }
  __builtin_unreachable();
}

bool is_of_kind(const Attr& a, AttrKind k) {
  switch (k) {
    case AttrKind::Bool:
      return std::holds_alternative<bool>(a.v);
    case AttrKind::I64:
      return std::holds_alternative<int64_t>(a.v);
    case AttrKind::F64:
      return std::holds_alternative<double>(a.v);
    case AttrKind::Str:
    case AttrKind::Enum:
    case AttrKind::Func:
      return std::holds_alternative<std::string>(a.v);
    case AttrKind::Type:
      return std::holds_alternative<DType>(a.v);
    case AttrKind::I64s:
    case AttrKind::Bools:
      return std::holds_alternative<std::vector<int64_t>>(a.v);
    case AttrKind::Dims:
      return std::holds_alternative<std::vector<Dim>>(a.v);
    case AttrKind::Strs:
      return std::holds_alternative<std::vector<std::string>>(a.v);
    case AttrKind::Lit:
      return std::holds_alternative<Literal>(a.v);
    case AttrKind::Dict: {
      auto* d = std::get_if<std::shared_ptr<AttrDict>>(&a.v);
      return d && *d;
    }
  }
  __builtin_unreachable();
}

namespace {
std::string wanted(int lo, int hi) {
  if (hi < 0) return "at least " + std::to_string(lo);
  if (lo == hi) return std::to_string(lo);
  return std::to_string(lo) + " to " + std::to_string(hi);
}
}  // namespace

void check_structure(const Op& op, Diag& diag) {
  const OpDef& d = *op.def;
  const int n = op.num_operands();
  if (n < d.min_operands || (d.max_operands >= 0 && n > d.max_operands)) {
    diag.fail("operands", "takes " + wanted(d.min_operands, d.max_operands) + " operands, has " +
                              std::to_string(n));
  }
  if (d.num_regions >= 0 && op.num_regions() != d.num_regions) {
    diag.fail("regions", "takes " + std::to_string(d.num_regions) + " regions, has " +
                             std::to_string(op.num_regions()));
  }
  if (&d == &kUnknownOp) return;
  for (const AttrSpec& spec : d.attrs) {
    const Attr* a = op.attr(spec.name);
    if (!a) {
      if (spec.required) {
        diag.fail("attributes", "misses attribute " + std::string(spec.name) + " (" +
                                    std::string(name(spec.kind)) + ")");
      }
    } else if (!is_of_kind(*a, spec.kind)) {
      diag.fail("attributes", "attribute " + std::string(spec.name) + " must be a " +
                                  std::string(name(spec.kind)));
    }
  }
  for (auto& [key, value] : op.attrs) {
    bool known = false;
    for (const AttrSpec& spec : d.attrs) known |= spec.name == key;
    if (!known) diag.fail("attributes", "has no attribute called " + key);
  }
}

std::vector<TensorType> call_result_types(const Function& callee, const std::vector<Value*>& args,
                                          Diag& diag) {
  const Block& body = callee.body;
  if (body.ops.empty() || body.ops.back()->def->kind != OpKind::Terminator) {
    diag.fail("callee", "function @" + callee.name + " has no body");
    return {};
  }
  if (args.size() != body.args.size()) {
    diag.fail("callee", "function @" + callee.name + " takes " + std::to_string(body.args.size()) +
                            " arguments, given " + std::to_string(args.size()));
    return {};
  }
  std::unordered_map<std::string, Dim> bound;
  for (size_t i = 0; i < args.size(); ++i) {
    const TensorType& want = body.args[i]->type;
    const TensorType& have = args[i]->type;
    if (want.dtype != have.dtype || want.rank() != have.rank()) continue;  // reported below
    for (int k = 0; k < want.rank(); ++k) {
      if (SymbolRef s = want.shape[k].as_symbol()) bound.try_emplace(s->name, have.shape[k]);
    }
  }
  std::string unbound;
  auto in_caller = [&](const TensorType& t) {
    TensorType r = t;
    for (Dim& d : r.shape) {
      d = d.substitute([&](const Symbol& s) -> std::optional<Dim> {
        auto it = bound.find(s.name);
        if (it == bound.end()) {
          unbound = s.name;
          return std::nullopt;
        }
        return it->second;
      });
    }
    return r;
  };
  for (size_t i = 0; i < args.size(); ++i) {
    const TensorType want = in_caller(body.args[i]->type);
    bool same = want.dtype == args[i]->type.dtype && want.rank() == args[i]->type.rank();
    for (int k = 0; same && k < want.rank(); ++k) {
      same = diag.equal(want.shape[k], args[i]->type.shape[k]);
    }
    if (!same) {
      diag.fail("callee", "argument " + std::to_string(i) + " of @" + callee.name + " is " +
                              body.args[i]->type.str() + ", given " + args[i]->type.str());
    }
  }
  std::vector<TensorType> results;
  unbound.clear();
  for (Value* v : body.results()) results.push_back(v ? in_caller(v->type) : TensorType{});
  if (!unbound.empty()) {
    diag.fail("callee", "a result of @" + callee.name + " has a size (" + unbound +
                            ") that its arguments do not tell");
  }
  return results;
}

}  // namespace tenfold
