// Prints kernels. Exact: parse_kernel() gives back the same kernel, and the same text again.
//
//   kernel matmul {
//     symbol n in [1, 4096]
//     param A: f32[n, 64]
//     param C: f32[n, 64] written
//     parallel i = 0 +: n {
//       alloc acc: f32[] stack
//       acc[] = 0.0
//       for k = 0 +: 64 {
//         acc[] = acc[] + A[i, k] * B[k, j]
//       }
//     }
//   }
//
// Literals: 3 is i64, 3:i32, 0.5 is f32, 0.5:f64, true, (1.0, 2.0):complex<f32>. Floats are the
// shortest decimal that reads back exactly. A statement whose expressions share large parts is
// preceded by lines `%0 = ...` that name them: text size stays linear in the number of nodes.
#include "loop/text.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <unordered_map>

#include "loop/walk.h"

namespace tenfold::loop {

using Kind = ExprNode::Kind;

namespace {

constexpr std::array<std::string_view, 9> kScopes = {
    "param", "stack", "workspace", "shared", "hbm", "vmem", "smem", "weight_queue", "semaphore"};
constexpr std::array<std::string_view, 5> kLoopKinds = {"for", "parallel", "vectorized", "unrolled",
                                                        "pipelined"};
struct InfixRow {
  Prim prim;
  Infix infix;
};
constexpr InfixRow kInfix[] = {
    {Prim::Or, {"|", 10}},  {Prim::Xor, {"^", 12}},       {Prim::And, {"&", 14}},
    {Prim::Eq, {"==", 20}}, {Prim::Ne, {"!=", 20}},       {Prim::Lt, {"<", 20}},
    {Prim::Le, {"<=", 20}}, {Prim::Gt, {">", 20}},        {Prim::Ge, {">=", 20}},
    {Prim::Add, {"+", 30}}, {Prim::Sub, {"-", 30}},       {Prim::Mul, {"*", 40}},
    {Prim::Div, {"/", 40}}, {Prim::FloorDiv, {"//", 40}}, {Prim::FloorMod, {"%", 40}},
};

constexpr size_t kShareTotal = 120;  // nodes of a statement's expressions printed as trees
constexpr size_t kShareNode = 4;     // smallest part worth a name

class Printer {
 public:
  std::string kernel(const Kernel& k) {
    collect_aliases(k);
    out_ = "kernel " + name_text(k.name) + " {\n";
    depth_ = 1;
    for (const std::string& o : k.origins) line("origin " + quote(o));
    for (const std::string& t : k.trace) line("trace " + quote(t));
    if (k.flops != 0) line("flops " + number(k.flops) + ":f64");
    for (const Var& v : k.symbols) line("symbol " + name_text(v->name) + bounds(*v));
    for (size_t i = 0; i < k.params.size(); ++i) {
      const BufferDef& b = *k.params[i];
      line("param " + buffer_type(b, false) +
           (i < k.param_written.size() && k.param_written[i] ? " written" : ""));
    }
    for (const Buffer& b : k.params) aliases_of(b);
    body(k.body);
    out_ += "}\n";
    return std::move(out_);
  }

  std::string expression(const Expr& e) {
    begin_statement({e});
    std::string s = expr(e, 0);
    std::string prefix;
    for (const std::string& l : macros_) prefix += l + "; ";
    return prefix + s;
  }

 private:
  static std::string name_text(std::string_view s) {
    return plain_name(s) ? std::string(s) : quote(s);
  }

  static std::string number(double v) {
    if (v != v) {
      const uint64_t bits = std::bit_cast<uint64_t>(v);
      if (bits == std::bit_cast<uint64_t>(std::nan(""))) return "nan";
      char b[32];
      auto r = std::to_chars(b, b + sizeof b, bits, 16);
      return "nan(0x" + std::string(b, r.ptr) + ")";
    }
    if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
    char b[64];
    auto r = std::to_chars(b, b + sizeof b, v);
    return fraction(std::string(b, r.ptr));
  }
  static std::string single(double v) {  // the shortest that reads back as the same f32
    if (v != v || std::isinf(v)) return number(v);
    char b[64];
    auto r = std::to_chars(b, b + sizeof b, static_cast<float>(v));
    return fraction(std::string(b, r.ptr));
  }
  static std::string fraction(std::string s) {
    return s.find_first_of(".e") == std::string::npos ? s + ".0" : s;
  }

  static std::string constant(const ExprNode& e) {
    const std::string type(tenfold::name(e.dtype));
    if (e.dtype == DType::Bool) return e.i ? "true" : "false";
    if (e.dtype == DType::C64) return "(" + single(e.f) + ", " + single(e.f2) + "):" + type;
    if (e.dtype == DType::C128)
      return "(" + number(e.f) + ":f64, " + number(e.f2) + ":f64):" + type;
    if (e.dtype == DType::F32) return single(e.f);
    if (is_float(e.dtype)) return number(e.f) + ":" + type;
    if (e.dtype == DType::I64) return std::to_string(e.i);
    if (e.dtype == DType::U64) return std::to_string(static_cast<uint64_t>(e.i)) + ":" + type;
    return std::to_string(e.i) + ":" + type;
  }

  static std::string bounds(const VarDef& v) {
    if (v.min == INT64_MIN && v.max == INT64_MAX) return "";
    return " in [" + (v.min == INT64_MIN ? "" : std::to_string(v.min)) + ", " +
           (v.max == INT64_MAX ? "" : std::to_string(v.max)) + "]";
  }

  void collect_aliases(const Kernel& k) {
    std::unordered_set<const ExprNode*> seen;
    std::unordered_set<const BufferDef*> known;
    for (const Buffer& b : k.params) known.insert(b.get());
    for_each_stmt(k.body, [&](const Stmt& s) {
      if (s.kind == Stmt::Kind::Alloc) known.insert(s.buffer.get());
    });
    auto note = [&](const Buffer& b) {
      for (Buffer x = b; x->alias_of; x = x->alias_of)
        if (known.insert(x.get()).second) aliases_[x->alias_of.get()].push_back(x);
    };
    for_each_stmt(k.body, [&](const Stmt& s) {
      if (s.buffer) note(s.buffer);
      for_each_expr(s, [&](const Expr& e) {
        visit_once(e, seen, [&](const Expr& x) {
          if (x->buffer) note(x->buffer);
        });
      });
    });
  }

  void aliases_of(const Buffer& b) {
    auto it = aliases_.find(b.get());
    if (it == aliases_.end()) return;
    for (const Buffer& a : it->second) {
      line("alias " + buffer_type(*a, true));
      aliases_of(a);
    }
  }

  std::string buffer_type(const BufferDef& b, bool scope) {
    begin_statement({});
    std::string s = name_text(b.name) + ": " + std::string(tenfold::name(b.dtype)) + "[";
    s += list(b.shape) + "]";
    if (scope) s += " " + std::string(loop::name(b.scope));
    if (b.alignment != 64) s += " align " + std::to_string(b.alignment);
    if (b.alias_of) s += " of " + name_text(b.alias_of->name);
    return s;
  }

  void line(const std::string& s) {
    for (const std::string& m : macros_) out_.append(2 * depth_, ' ').append(m).append("\n");
    macros_.clear();
    out_.append(2 * depth_, ' ').append(s).append("\n");
  }

  void block(const Body& b) {
    ++depth_;
    body(b);
    --depth_;
  }

  void body(const Body& b) {
    for (const StmtPtr& s : b) stmt(*s);
  }

  void stmt(const Stmt& s) {
    std::vector<Expr> all;
    for_each_expr(s, [&](const Expr& e) { all.push_back(e); });
    begin_statement(all);
    switch (s.kind) {
      case Stmt::Kind::For:
        line(std::string(loop::name(s.loop_kind)) + " " + name_text(s.var->name) + bounds(*s.var) +
             " = " + expr(s.begin, 0) + " +: " + expr(s.extent, 0) +
             (s.independent ? " independent {" : " {"));
        block(s.body);
        line("}");
        break;
      case Stmt::Kind::While:
        line("while " + expr(s.cond, 0) + " {");
        block(s.body);
        line("}");
        break;
      case Stmt::Kind::If:
        line("if " + expr(s.cond, 0) + " {");
        block(s.body);
        if (!s.else_body.empty()) {
          line("} else {");
          block(s.else_body);
        }
        line("}");
        break;
      case Stmt::Kind::Let:
        line("let " + name_text(s.var->name) + ": " + std::string(tenfold::name(s.var->dtype)) +
             bounds(*s.var) + " = " + expr(s.value, 0));
        break;
      case Stmt::Kind::Alloc:
        line("alloc " + buffer_type(*s.buffer, true));
        aliases_of(s.buffer);
        break;
      case Stmt::Kind::Store: {
        const std::string target = name_text(s.buffer->name) + "[" + list(s.index) + "]";
        line(target + " = " + expr(s.value, 0));
        break;
      }
      case Stmt::Kind::Intrinsic:
        line("call " + name_text(s.name) + "(" + list(s.args) + ")");
        break;
    }
  }

  // --- sharing: parts met more than once in the expressions of a statement --------------------

  struct Count {
    size_t tree = 0;
    int uses = 0;
  };

  size_t count(const Expr& e) {
    auto [it, fresh] = counts_.try_emplace(e.get());
    ++it->second.uses;
    if (!fresh) return it->second.tree;
    size_t n = 1;
    for (const Expr& a : e->args) {
      n += count(a);
      if (n > (size_t{1} << 40)) n = size_t{1} << 40;
    }
    counts_[e.get()].tree = n;
    return n;
  }

  void begin_statement(const std::vector<Expr>& exprs) {
    macros_.clear();
    names_.clear();
    counts_.clear();
    sharing_ = false;
    size_t tree = 0;
    for (const Expr& e : exprs) tree += count(e);
    if (tree <= kShareTotal) return;
    // Nodes when each large part is written once, against the plain tree.
    size_t once = 0;
    for (const auto& [n, c] : counts_) {
      if (c.tree < kShareNode) continue;
      ++once;
      for (const Expr& a : n->args)
        if (const size_t t = counts_[a.get()].tree; t < kShareNode) once += t;
    }
    sharing_ = tree > 2 * once;
  }

  std::string expr(const Expr& e, int strength) {
    if (!sharing_) return plain(e, strength);
    const Count& c = counts_[e.get()];
    if (c.uses < 2 || c.tree < kShareNode) return plain(e, strength);
    auto it = names_.find(e.get());
    if (it == names_.end()) {
      std::string text = plain(e, 0);
      std::string id = "%" + std::to_string(names_.size());
      macros_.push_back(id + " = " + text);
      it = names_.emplace(e.get(), std::move(id)).first;
    }
    return it->second;
  }

  std::string list(const std::vector<Expr>& v) {
    std::string s;
    for (size_t i = 0; i < v.size(); ++i) s += (i ? ", " : "") + expr(v[i], 0);
    return s;
  }

  std::string plain(const Expr& e, int strength) {
    const std::string type(tenfold::name(e->dtype));
    switch (e->kind) {
      case Kind::Const:
        return constant(*e);
      case Kind::Var:
        return name_text(e->var->name);
      case Kind::Load:
        return name_text(e->buffer->name) + "[" + list(e->args) + "]";
      case Kind::Cast:
        return "cast<" + type + ">(" + expr(e->args[0], 0) + ")";
      case Kind::Bitcast:
        return "bitcast<" + type + ">(" + expr(e->args[0], 0) + ")";
      case Kind::Guard:
        return "guard(" + list(e->args) + ")";
      case Kind::Op:
        break;
    }
    const Infix in = infix(e->prim);
    if (in.text.empty()) {
      if (e->prim == Prim::Not && e->dtype == DType::Bool)
        return "!" + expr(e->args[0], kUnaryStrength);
      return std::string(tenfold::name(e->prim)) + "(" + list(e->args) + ")";
    }
    const Expr& last = e->args[1];
    if (e->prim == Prim::Add && e->dtype == DType::I64 && last->kind == Kind::Const &&
        last->i < 0 && last->i != INT64_MIN) {  // x - c reads back as x + (-c)
      std::string s = expr(e->args[0], in.strength) + " - " + std::to_string(-last->i);
      return in.strength < strength ? "(" + s + ")" : s;
    }
    // Left associative; comparisons do not chain.
    const bool comparison = in.strength == 20;
    const std::string l = expr(e->args[0], comparison ? in.strength + 1 : in.strength);
    const std::string r = expr(e->args[1], in.strength + 1);
    std::string s = l + " " + std::string(in.text) + " " + r;
    return in.strength < strength ? "(" + s + ")" : s;
  }

  std::string out_;
  size_t depth_ = 0;
  bool sharing_ = false;
  std::unordered_map<const ExprNode*, Count> counts_;
  std::unordered_map<const ExprNode*, std::string> names_;
  std::vector<std::string> macros_;
  std::unordered_map<const BufferDef*, std::vector<Buffer>> aliases_;
};

}  // namespace

std::string_view name(Scope s) { return kScopes[static_cast<size_t>(s)]; }
std::optional<Scope> scope_from_name(std::string_view s) {
  for (size_t i = 0; i < kScopes.size(); ++i)
    if (kScopes[i] == s) return static_cast<Scope>(i);
  return std::nullopt;
}
std::string_view name(LoopKind k) { return kLoopKinds[static_cast<size_t>(k)]; }
std::optional<LoopKind> loop_kind_from_name(std::string_view s) {
  for (size_t i = 0; i < kLoopKinds.size(); ++i)
    if (kLoopKinds[i] == s) return static_cast<LoopKind>(i);
  return std::nullopt;
}

Infix infix(Prim p) {
  for (const InfixRow& r : kInfix)
    if (r.prim == p) return r.infix;
  return {};
}
std::optional<Prim> prim_from_infix(std::string_view text) {
  for (const InfixRow& r : kInfix)
    if (r.infix.text == text) return r.prim;
  return std::nullopt;
}

bool plain_name(std::string_view s) {
  static constexpr std::string_view kWords[] = {
      "kernel",      "origin", "trace", "flops", "symbol", "param",   "written", "alias", "of",
      "while",       "if",     "else",  "let",   "alloc",  "call",    "in",      "align", "true",
      "independent", "false",  "inf",   "nan",   "cast",   "bitcast", "guard"};
  if (s.empty()) return false;
  for (std::string_view w : kWords)
    if (s == w) return false;
  if (loop_kind_from_name(s) || scope_from_name(s)) return false;
  for (size_t i = 0; i < s.size(); ++i) {
    const char c = s[i];
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    const bool later = (c >= '0' && c <= '9') || c == '.' || c == '$';
    if (!letter && !(later && i > 0)) return false;
  }
  return true;
}

std::string quote(std::string_view s) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string r = "\"";
  for (const char c : s) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      r += '\\';
      r += c;
    } else if (c == '\n') {
      r += "\\n";
    } else if (u < 0x20 || u == 0x7f) {
      r += "\\x";
      r += kHex[u >> 4];
      r += kHex[u & 15];
    } else {
      r += c;
    }
  }
  return r + "\"";
}

std::string print(const Kernel& k) { return Printer().kernel(k); }
std::string print(const Expr& e) { return e ? Printer().expression(e) : "<null>"; }

}  // namespace tenfold::loop
