// Open sizes: tensor<?x3xf32> in the text becomes a type over symbols.
//
// Each `?` of a function's argument is a symbol already. Here the calls that pass such tensors are
// inlined (sizes travel through them as integers), @shape_assertion calls are turned into equal
// names and bounds, and then every op's open results are inferred in order. An op that takes its
// result's sizes as a tensor (dynamic_reshape and its kin) becomes its plain form when the tensor's
// values are sums and products of sizes, which is how JAX writes them.
#include <algorithm>

#include "graph/check.h"
#include "graph/text_parser.h"

namespace tenfold::text {
namespace {

constexpr size_t kMaxOps = 500'000;
constexpr int64_t kMaxTraced = 64;  // elements of a shape tensor

using Dims = std::optional<std::vector<Dim>>;

bool is_open(const Function& f) {
  bool open = false;
  auto look = [&](const TensorType& t) { open = open || !t.is_static(); };
  for (auto& a : f.body.args) look(a->type);
  walk(f.body, [&](const Op* op) {
    for (int i = 0; i < op->num_results(); ++i) look(op->result(i)->type);
  });
  return open;
}

class Resolver {
 public:
  Resolver(Module& m, Errors& errors) : m_(m), errors_(errors) {}

  void run() {
    for (auto& f : m_.functions) {  // the verifier has not seen them yet
      walk(f->body, [&](const Op* op) {
        Diag diag(*op);
        check_structure(*op, diag);
        const bool loop = op->is("stablehlo.while") && op->num_results() != op->num_operands();
        if (loop) diag.fail("results", "gives as many values as it takes");
        for (auto& e : diag.take()) {
          if (errors_.size() < kMaxErrors) errors_.push_back(std::move(e));
        }
      });
    }
    if (!errors_.empty()) return;
    for (auto& f : m_.functions) {
      if (f->is_public) inline_calls(f->body);
      if (!errors_.empty()) return;
    }
    std::erase_if(m_.functions, [](const auto& f) { return !f->is_public && is_open(*f); });
    for (auto& f : m_.functions) {
      assertions(*f);
      if (errors_.empty()) block(f->body);
      traced_.clear();
    }
  }

 private:
  void fail(const Op& op, std::string message) {
    if (errors_.size() < kMaxErrors) {
      errors_.push_back({"text-open-size", op.name() + ": " + std::move(message), op.loc, {}});
    }
  }

  // --- calls ---
  void inline_calls(Block& b) {
    for (auto it = b.ops.begin(); it != b.ops.end();) {
      Op& op = **it;
      for (int i = 0; i < op.num_regions(); ++i) inline_calls(*op.region(i));
      const char* target = op.is("func.call")             ? "callee"
                           : op.is("stablehlo.composite") ? "decomposition"
                                                          : nullptr;
      const Function* f = target && op.attr(target) ? m_.find(op.str(target)) : nullptr;
      const bool fits = f && static_cast<int>(f->body.args.size()) == op.num_operands() &&
                        !f->body.ops.empty() &&
                        static_cast<int>(region_result_types(f->body).size()) == op.num_results();
      if (!fits || !is_open(*f)) {
        ++it;
        continue;
      }
      std::unordered_map<const Value*, Value*> map;
      for (int i = 0; i < op.num_operands(); ++i) map[f->body.args[i].get()] = op.operand(i);
      Op* first = nullptr;
      for (auto& inner : f->body.ops) {
        if (inner->def->kind == OpKind::Terminator) break;
        if (++inlined_ > kMaxOps) return fail(op, "calls are nested too deeply or in a circle");
        Op* copy = b.insert_before(&op, clone_op(*inner, map));
        if (!first) first = copy;
      }
      for (int i = 0; i < op.num_results(); ++i) {
        Value* from = f->body.results()[i];
        auto to = map.find(from);
        op.result(i)->replace_all_uses_with(to == map.end() ? from : to->second);
      }
      auto next = std::next(it);
      b.erase(&op);
      it = first ? b.iterator_of(first) : next;  // what was put in may call again
    }
  }

  // --- values that are sizes ---
  Dims trace(Value* v) {
    if (auto it = traced_.find(v); it != traced_.end()) return it->second;
    Dims d = trace_new(v);
    traced_[v] = d;
    return d;
  }

  Dims trace_new(Value* v) {
    const Op* op = v->def();
    if (!op || !is_integer(v->type.dtype) || v->type.rank() > 1 || !v->type.is_static()) return {};
    const auto shape = v->type.static_shape();
    if (!shape.empty() && shape[0] > kMaxTraced) return {};
    if (op->is("stablehlo.constant") && op->attr("value")) {
      std::vector<Dim> out;
      for (int64_t x : op->lit("value").to_i64s()) out.push_back(Dim(x));
      return out;
    }
    if (op->is("tenfold.dims")) return op->dims("dims");
    if (op->is("stablehlo.get_dimension_size")) {
      const Shape& s = op->operand()->type.shape;
      const int64_t d = op->i64("dimension");
      if (d < 0 || d >= static_cast<int64_t>(s.size()) || is_hole(s[d])) return {};
      return std::vector<Dim>{s[d]};
    }
    std::vector<std::vector<Dim>> args;
    for (Value* x : op->operands()) {
      Dims d = trace(x);
      if (!d) return {};
      args.push_back(std::move(*d));
    }
    if (args.empty()) return {};
    if (op->is("stablehlo.convert") || op->is("stablehlo.reshape")) return args[0];
    if (op->is("stablehlo.broadcast_in_dim")) {
      if (args[0].size() != 1) return {};
      return std::vector<Dim>(shape.empty() ? 1 : shape[0], args[0][0]);
    }
    if (op->is("stablehlo.concatenate")) {
      std::vector<Dim> out;
      for (auto& a : args) out.insert(out.end(), a.begin(), a.end());
      return out;
    }
    if (op->is("stablehlo.slice")) {
      const auto &from = op->dims("start_indices"), &to = op->dims("limit_indices");
      const auto& step = op->i64s("strides");
      const auto n = static_cast<int64_t>(args[0].size());
      if (from.size() != 1 || to.size() != 1 || step.size() != 1 || step[0] < 1) return {};
      if (!from[0].is_const() || !to[0].is_const() || from[0].value() < 0 || to[0].value() > n) {
        return {};
      }
      std::vector<Dim> out;
      for (int64_t i = from[0].value(); i < to[0].value(); i += std::min(step[0], n)) {
        out.push_back(args[0][i]);
      }
      return out;
    }
    if (args.size() == 2 && args[0].size() == args[1].size()) return arithmetic(*op, args);
    return {};
  }

  static Dims arithmetic(const Op& op, const std::vector<std::vector<Dim>>& args) {
    std::vector<Dim> out;
    for (size_t i = 0; i < args[0].size(); ++i) {
      const Dim &a = args[0][i], &b = args[1][i];
      if (op.is("stablehlo.add")) {
        out.push_back(a + b);
      } else if (op.is("stablehlo.subtract")) {
        out.push_back(a - b);
      } else if (op.is("stablehlo.multiply")) {
        out.push_back(a * b);
      } else if (op.is("stablehlo.maximum")) {
        out.push_back(max(a, b));
      } else if (op.is("stablehlo.minimum")) {
        out.push_back(min(a, b));
      } else if (op.is("stablehlo.divide") && a.min() >= 0 && b.min() > 0) {
        out.push_back(floordiv(a, b));
      } else if (op.is("stablehlo.remainder") && a.min() >= 0 && b.min() > 0) {
        out.push_back(mod(a, b));
      } else {
        return {};
      }
    }
    return out;
  }

  // --- assertions ---
  void replace_symbol(Function& f, const std::string& name, const Dim& by) {
    for (auto& a : f.body.args) {
      for (Dim& d : a->type.shape) {
        d = d.substitute([&](const Symbol& s) -> std::optional<Dim> {
          return s.name == name ? std::optional<Dim>(by) : std::nullopt;
        });
      }
    }
    traced_.clear();
  }

  // a >= b for sizes: true when it is said by bounds, or now is.
  bool assert_ge(Function& f, const Dim& a, const Dim& b) {
    if (less_equal(b, a) == Truth::Yes) return true;
    const Dim d = a - b;
    const auto& terms = d.terms();
    if (terms.size() != 1 || terms[0].atoms.size() != 1) return false;
    const Dim::Atom& atom = *terms[0].atoms[0];
    if (atom.kind != Dim::AtomKind::Symbol) return false;
    Symbol s = *atom.symbol;
    const int64_t c = terms[0].coeff, k = d.constant_term();  // c * s + k >= 0
    if (c == 1 && k <= 0) {
      s.min = std::max(s.min, -k);
    } else if (c == -1 && k >= 0) {
      s.max = std::min(s.max, k);
    } else {
      return false;
    }
    if (s.min > s.max) return false;
    replace_symbol(f, s.name, Dim::symbol(std::make_shared<const Symbol>(s)));
    return true;
  }

  bool assert_eq(Function& f, const Dim& a, const Dim& b) {
    if (equal(a, b) == Truth::Yes) return true;
    for (const auto& [x, y] : {std::pair(a, b), std::pair(b, a)}) {
      const SymbolRef s = x.as_symbol();
      if (!s) continue;
      std::vector<SymbolRef> used;
      y.collect_symbols(used);
      const bool itself = std::any_of(used.begin(), used.end(),
                                      [&](const SymbolRef& u) { return u->name == s->name; });
      if (itself || equal(a, b) == Truth::No) continue;
      replace_symbol(f, s->name, y);
      return true;
    }
    return false;
  }

  bool assert_op(Function& f, const Op& op) {
    const Op* compare = op.num_operands() ? op.operand()->def() : nullptr;
    if (!compare || !compare->is("stablehlo.compare")) return false;
    const Dims a = trace(compare->operand(0)), b = trace(compare->operand(1));
    if (!a || !b || a->size() != 1 || b->size() != 1) return false;
    const std::string& direction = compare->str("comparison_direction");
    const Dim x = (*a)[0], y = (*b)[0];
    if (direction == "EQ") return assert_eq(f, x, y);
    if (direction == "GE") return assert_ge(f, x, y);
    if (direction == "LE") return assert_ge(f, y, x);
    if (direction == "GT") return assert_ge(f, x, y + 1);
    if (direction == "LT") return assert_ge(f, y, x + 1);
    return false;
  }

  void assertions(Function& f) {
    std::vector<Op*> done;
    for (auto& op : f.body.ops) {
      if (!op->is("stablehlo.custom_call") || op->str("call_target_name") != "shape_assertion") {
        continue;
      }
      if (assert_op(f, *op)) {
        done.push_back(op.get());
      } else {
        fail(*op, "this assertion about sizes cannot be turned into names and bounds");
      }
    }
    for (Op* op : done) f.body.erase(op);
  }

  // --- types ---
  void block(Block& b) {
    for (auto it = b.ops.begin(); it != b.ops.end();) {
      Op* op = (it++)->get();  // the op may be replaced
      if (op->is("stablehlo.while")) {
        for (int i = 0; i < op->num_operands(); ++i) {
          op->result(i)->type.shape = op->operand(i)->type.shape;
          for (int r = 0; r < op->num_regions(); ++r) {
            if (i < static_cast<int>(op->region(r)->args.size())) {
              op->region(r)->args[i]->type.shape = op->operand(i)->type.shape;
            }
          }
        }
      }
      for (int i = 0; i < op->num_regions(); ++i) block(*op->region(i));
      if (replace(op, b)) continue;
      bool open = false;
      for (int i = 0; i < op->num_results(); ++i) open |= has_holes(op->result(i)->type);
      if (open) infer(*op);
    }
  }

  void infer(Op& op) {
    std::vector<TensorType> types;
    if (op.is("stablehlo.dot_general") || op.is("stablehlo.dot")) {
      types.push_back(dot_type(op));
    } else if (op.def->explicit_results) {
      // Those left have their operands' shapes; rank and sizes are checked below and by infer().
      const bool same =
          op.is("stablehlo.convert") || op.is("stablehlo.bitcast_convert") ||
          (op.is("stablehlo.custom_call") && op.str("call_target_name") == "Sharding");
      for (int i = 0; same && i < op.num_results() && i < op.num_operands(); ++i) {
        types.push_back(op.operand(i)->type);
      }
    } else {
      Diag diag(op);
      check_structure(op, diag);
      if (diag.ok() && op.def->infer) types = op.def->infer(op, diag);
      if (!diag.ok()) {
        for (auto& e : diag.take()) {
          if (errors_.size() < kMaxErrors) errors_.push_back(std::move(e));
        }
        return;
      }
    }
    for (int i = 0; i < op.num_results(); ++i) {
      Shape& shape = op.result(i)->type.shape;
      if (!has_holes(op.result(i)->type)) continue;
      if (i >= static_cast<int>(types.size()) || types[i].shape.size() != shape.size() ||
          has_holes(types[i])) {
        return fail(op, "the open sizes of " + op.result(i)->type.str() +
                            " do not follow from its operands");
      }
      for (size_t k = 0; k < shape.size(); ++k) {
        if (is_hole(shape[k])) shape[k] = types[i].shape[k];
      }
    }
  }

  // Batching dimensions, then what is left of lhs and of rhs.
  static TensorType dot_type(const Op& op) {
    TensorType t = op.result()->type;
    if (op.num_operands() != 2) return t;
    const TensorType &l = op.operand(0)->type, &r = op.operand(1)->type;
    std::vector<int64_t> lb, rb, lc = {l.rank() - 1}, rc = {0};
    if (op.is("stablehlo.dot_general")) {
      lb = op.i64s("lhs_batching_dimensions");
      rb = op.i64s("rhs_batching_dimensions");
      lc = op.i64s("lhs_contracting_dimensions");
      rc = op.i64s("rhs_contracting_dimensions");
    }
    auto has = [](const std::vector<int64_t>& v, int64_t d) {
      return std::find(v.begin(), v.end(), d) != v.end();
    };
    t.shape.clear();
    for (int64_t d : lb) {
      if (d >= 0 && d < l.rank()) t.shape.push_back(l.shape[d]);
    }
    for (int d = 0; d < l.rank(); ++d) {
      if (!has(lb, d) && !has(lc, d)) t.shape.push_back(l.shape[d]);
    }
    for (int d = 0; d < r.rank(); ++d) {
      if (!has(rb, d) && !has(rc, d)) t.shape.push_back(r.shape[d]);
    }
    return t;
  }

  // The plain form of an op that reads its sizes from tensors, when they can be traced.
  bool replace(Op* op, Block& b) {
    const std::string& n = op->name();
    const bool known = n == "stablehlo.dynamic_reshape" ||
                       n == "stablehlo.dynamic_broadcast_in_dim" || n == "stablehlo.dynamic_iota" ||
                       n == "stablehlo.dynamic_pad" || n == "stablehlo.real_dynamic_slice";
    if (!known) return false;
    GraphBuilder g(&m_, &b);
    g.set_insertion(&b, op);
    g.loc = op->loc;
    g.origins = op->origins;
    Value* v = nullptr;
    if (n == "stablehlo.dynamic_iota") {
      if (Dims s = trace(op->operand(0))) {
        v = g.iota({op->result()->type.dtype, *s}, op->i64("iota_dimension"));
      }
    } else if (n == "stablehlo.dynamic_pad") {
      const Dims low = trace(op->operand(2)), high = trace(op->operand(3));
      const Dims inside = trace(op->operand(4));
      std::vector<int64_t> interior;
      if (inside) {
        for (const Dim& d : *inside) {
          if (d.is_const()) interior.push_back(d.value());
        }
      }
      if (low && high && inside && interior.size() == inside->size()) {
        v = g.pad(op->operand(0), op->operand(1), *low, *high, interior);
      }
    } else if (n == "stablehlo.real_dynamic_slice") {
      const Dims from = trace(op->operand(1)), to = trace(op->operand(2));
      const Dims step = trace(op->operand(3));
      std::vector<int64_t> strides;
      if (step) {
        for (const Dim& d : *step) {
          if (d.is_const()) strides.push_back(d.value());
        }
      }
      if (from && to && step && strides.size() == step->size()) {
        v = g.slice(op->operand(0), *from, *to, strides);
      }
    } else if (Dims s = trace(op->operand(1))) {
      v = n == "stablehlo.dynamic_reshape"
              ? g.reshape(op->operand(0), *s)
              : g.broadcast_in_dim(op->operand(0), *s, op->i64s("broadcast_dimensions"));
    }
    if (!v) return false;  // stays; its own infer() says what is wrong
    for (auto& e : g.errors) {
      if (errors_.size() < kMaxErrors) errors_.push_back(std::move(e));
    }
    if (v->name.empty()) v->name = op->result()->name;
    op->result()->replace_all_uses_with(v);
    b.erase(op);
    return true;
  }

  Module& m_;
  Errors& errors_;
  std::unordered_map<const Value*, Dims> traced_;
  size_t inlined_ = 0;
};

}  // namespace

void Parser::resolve_holes() { Resolver(*module_, r_.errors).run(); }

}  // namespace tenfold::text
