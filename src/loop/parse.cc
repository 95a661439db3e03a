// Reads the text form of kernels (see text.cc). Text may come from outside: nesting, expression
// depth and types are checked before anything is built; every error carries line:column.
#include <bit>
#include <charconv>
#include <cmath>
#include <unordered_map>

#include "loop/text.h"

namespace tenfold::loop {

namespace {

constexpr int kMaxBlocks = 200;  // nested statements
constexpr int kMaxDepth = 1000;  // nested expressions, in text and in what they build

struct Token {
  enum Kind { End, Word, Quoted, Macro, Integer, Float, Sign } kind = End;
  std::string text;  // Quoted: unescaped
  int line = 1, column = 1;
};

struct Fail {};  // unwinds the parser; never leaves this file

class Lexer {
 public:
  Lexer(std::string_view s, std::string_view file) : s_(s), file_(file) {}

  Token next() {
    skip_space();
    Token t;
    t.line = line_;
    t.column = static_cast<int>(at_ - line_start_) + 1;
    if (at_ >= s_.size()) return t;
    const char c = s_[at_];
    const size_t start = at_;
    if (letter(c)) {
      while (at_ < s_.size() &&
             (letter(s_[at_]) || digit(s_[at_]) || s_[at_] == '.' || s_[at_] == '$'))
        ++at_;
      t.kind = Token::Word;
      t.text = s_.substr(start, at_ - start);
    } else if (digit(c)) {
      number(t);
    } else if (c == '%' && at_ + 1 < s_.size() && digit(s_[at_ + 1])) {
      ++at_;
      while (at_ < s_.size() && digit(s_[at_])) ++at_;
      t.kind = Token::Macro;
      t.text = s_.substr(start, at_ - start);
    } else if (c == '"') {
      quoted(t);
    } else {
      static constexpr std::string_view kTwo[] = {"==", "!=", "<=", ">=", "//", "+:"};
      t.kind = Token::Sign;
      for (std::string_view w : kTwo)
        if (s_.substr(at_, 2) == w) t.text = w;
      if (t.text.empty()) t.text = std::string(1, c);
      at_ += t.text.size();
    }
    return t;
  }

  [[noreturn]] void fail(const Token& t, std::string message) {
    const std::string where = file_ + ":" + std::to_string(t.line) + ":" + std::to_string(t.column);
    error = Error{"loop-parse", std::move(message), Location{where}, {}};
    throw Fail{};
  }
  Error error;

 private:
  static bool letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  }
  static bool digit(char c) { return c >= '0' && c <= '9'; }

  void skip_space() {
    while (at_ < s_.size()) {
      const char c = s_[at_];
      if (c == '\n') {
        ++line_;
        line_start_ = at_ + 1;
      } else if (c == '/' && s_.substr(at_, 3) == "///") {  // comment to the end of the line
        while (at_ + 1 < s_.size() && s_[at_ + 1] != '\n') ++at_;
      } else if (c != ' ' && c != '\t' && c != '\r') {
        return;
      }
      ++at_;
    }
  }

  void number(Token& t) {
    const size_t start = at_;
    t.kind = Token::Integer;
    while (at_ < s_.size() && digit(s_[at_])) ++at_;
    if (at_ + 1 < s_.size() && s_[at_] == '.' && digit(s_[at_ + 1])) {
      t.kind = Token::Float;
      ++at_;
      while (at_ < s_.size() && digit(s_[at_])) ++at_;
    }
    if (at_ < s_.size() && s_[at_] == 'e') {
      size_t p = at_ + 1;
      if (p < s_.size() && (s_[p] == '-' || s_[p] == '+')) ++p;
      if (p < s_.size() && digit(s_[p])) {
        t.kind = Token::Float;
        at_ = p;
        while (at_ < s_.size() && digit(s_[at_])) ++at_;
      }
    }
    t.text = s_.substr(start, at_ - start);
  }

  void quoted(Token& t) {
    t.kind = Token::Quoted;
    for (++at_;; ++at_) {
      if (at_ >= s_.size() || s_[at_] == '\n') fail(t, "the string has no end");
      char c = s_[at_];
      if (c == '"') break;
      if (c == '\\') {
        if (++at_ >= s_.size()) fail(t, "the string has no end");
        c = s_[at_];
        if (c == 'n') {
          c = '\n';
        } else if (c == 'x') {
          unsigned v = 0;
          const std::string_view h = s_.substr(at_ + 1, 2);
          auto r = std::from_chars(h.data(), h.data() + h.size(), v, 16);
          if (h.size() != 2 || r.ptr != h.data() + 2) fail(t, "bad escape in the string");
          c = static_cast<char>(v);
          at_ += 2;
        } else if (c != '"' && c != '\\') {
          fail(t, "bad escape in the string");
        }
      }
      t.text += c;
    }
    ++at_;
  }

  std::string_view s_;
  std::string file_;
  size_t at_ = 0, line_start_ = 0;
  int line_ = 1;
};

class Parser {
 public:
  Parser(std::string_view text, std::string_view file) : lex_(text, file) {}

  Result<Kernel> run() {
    try {
      advance();
      Kernel k = kernel();
      return k;
    } catch (const Fail&) {
      return std::move(lex_.error);
    }
  }

 private:
  struct Value {
    Expr e;
    int depth = 0;
  };
  struct Scoped {  // names of the open blocks, innermost last
    std::vector<std::string> vars, buffers;
  };

  [[noreturn]] void fail(std::string m) { lex_.fail(t_, std::move(m)); }
  void advance() { t_ = lex_.next(); }
  bool at(std::string_view s) const {
    return (t_.kind == Token::Sign || t_.kind == Token::Word) && t_.text == s;
  }
  bool take(std::string_view s) {
    if (!at(s)) return false;
    advance();
    return true;
  }
  std::string shown() const {
    return t_.kind == Token::End ? "the end of the text" : "'" + t_.text + "'";
  }
  void expect(std::string_view s) {
    if (!take(s)) fail("expected '" + std::string(s) + "', got " + shown());
  }
  bool at_name() const {
    return t_.kind == Token::Quoted || (t_.kind == Token::Word && plain_name(t_.text));
  }
  std::string take_name(std::string_view what) {
    if (!at_name()) fail("expected " + std::string(what) + ", got " + shown());
    std::string s = std::move(t_.text);
    advance();
    return s;
  }
  std::string take_string() {
    if (t_.kind != Token::Quoted) fail("expected a string, got " + shown());
    std::string s = std::move(t_.text);
    advance();
    return s;
  }
  int64_t take_int() {
    const bool neg = take("-");
    if (t_.kind != Token::Integer) fail("expected an integer, got " + shown());
    const int64_t v = to_int(neg, DType::I64);
    advance();
    return v;
  }

  int64_t to_int(bool neg, DType t) {
    uint64_t v = 0;
    auto r = std::from_chars(t_.text.data(), t_.text.data() + t_.text.size(), v);
    if (r.ec != std::errc{}) fail("the integer " + t_.text + " is too large");
    const int bits = bit_width(t);
    uint64_t top = bits >= 64 ? UINT64_MAX : (uint64_t{1} << bits) - 1;  // largest allowed
    if (is_signed(t))
      top = (top >> 1) + (neg ? 1 : 0);
    else if (neg)
      top = 0;
    if (v > top) fail("the integer " + t_.text + " does not fit " + std::string(tenfold::name(t)));
    return static_cast<int64_t>(neg ? 0 - v : v);
  }

  DType type() {
    if (t_.kind != Token::Word) fail("expected a type, got " + shown());
    std::string s = t_.text;
    if (s == "complex") {
      advance();
      expect("<");
      s = "complex<" + t_.text + ">";
      auto d = dtype_from_name(s);
      if (!d) fail("unknown type " + s);
      advance();
      expect(">");
      return *d;
    }
    auto d = dtype_from_name(s);
    if (!d) fail("unknown type " + s);
    advance();
    return *d;
  }

  void bounds(VarDef& v) {
    if (!take("in")) return;
    expect("[");
    if (!at(",")) v.min = take_int();
    expect(",");
    if (!at("]")) v.max = take_int();
    expect("]");
  }

  // --- kernel -----------------------------------------------------------------------------------

  Kernel kernel() {
    Kernel k;
    expect("kernel");
    k.name = take_name("the kernel's name");
    expect("{");
    scopes_.emplace_back();
    for (;;) {
      if (take("origin")) {
        k.origins.push_back(take_string());
      } else if (take("trace")) {
        k.trace.push_back(take_string());
      } else if (take("flops")) {
        const Value v = expr(0);
        if (v.e->kind != ExprNode::Kind::Const || v.e->dtype != DType::F64)
          fail("flops takes a number of type f64");
        k.flops = v.e->f;
      } else if (take("symbol")) {
        VarDef v{var_name(), DType::I64};
        bounds(v);
        k.symbols.push_back(define(std::move(v)));
      } else if (take("param")) {
        k.params.push_back(buffer(Scope::Param));
        k.param_written.push_back(take("written"));
      } else {
        break;
      }
    }
    block(k.body);
    if (t_.kind != Token::End) fail("expected the end of the text, got " + shown());
    return k;
  }

  std::string var_name() {
    const Token at = t_;
    std::string s = take_name("a variable's name");
    if (vars_.count(s)) lex_.fail(at, "a second variable named '" + s + "'");
    return s;
  }
  Var define(VarDef v) {
    auto p = std::make_shared<VarDef>(std::move(v));
    vars_[p->name] = p;
    scopes_.back().vars.push_back(p->name);
    return p;
  }

  // name: type[shape] scope align N of base
  Buffer buffer(std::optional<Scope> fixed) {
    auto b = std::make_shared<BufferDef>();
    const Token at = t_;
    b->name = take_name("a buffer's name");
    if (buffers_.count(b->name)) lex_.fail(at, "a second buffer named '" + b->name + "'");
    expect(":");
    b->dtype = type();
    expect("[");
    b->shape = list("]");
    for (const Expr& e : b->shape)
      if (e->dtype != DType::I64) fail("a shape is of type i64");
    if (fixed) {
      b->scope = *fixed;
    } else {
      auto s = scope_from_name(t_.text);
      if (t_.kind != Token::Word || !s) fail("expected a memory scope, got " + shown());
      b->scope = *s;
      advance();
    }
    if (take("align")) {
      const int64_t a = take_int();
      if (a < 1 || a > (1 << 20) || !std::has_single_bit(static_cast<uint64_t>(a)))
        fail("an alignment is a power of two up to 1048576");
      b->alignment = static_cast<int>(a);
    }
    if (take("of")) {
      auto it = buffers_.find(take_name("a buffer's name"));
      if (it == buffers_.end()) fail("the alias is of an unknown buffer");
      b->alias_of = it->second;
    }
    buffers_[b->name] = b;
    scopes_.back().buffers.push_back(b->name);
    return b;
  }

  // Statements up to the closing brace, which it takes.
  void block(Body& out) {
    if (scopes_.size() > kMaxBlocks) fail("blocks are nested too deeply");
    while (!take("}")) {
      if (t_.kind == Token::End) fail("expected '}', got the end of the text");
      stmt(out);
    }
    for (const std::string& v : scopes_.back().vars) vars_.erase(v);
    for (const std::string& b : scopes_.back().buffers) buffers_.erase(b);
    scopes_.pop_back();
  }
  void inner(Body& out) {
    expect("{");
    scopes_.emplace_back();
    macros_.clear();
    block(out);
  }

  void stmt(Body& out) {
    while (t_.kind == Token::Macro) {
      const std::string id = t_.text;
      advance();
      expect("=");
      if (!macros_.emplace(id, expr(0)).second) fail(id + " is named twice");
    }
    auto s = std::make_unique<Stmt>();
    Stmt& st = *s;
    if (t_.kind == Token::Word && loop_kind_from_name(t_.text)) {
      st.kind = Stmt::Kind::For;
      st.loop_kind = *loop_kind_from_name(t_.text);
      advance();
      VarDef v{var_name(), DType::I64};
      bounds(v);
      expect("=");
      st.begin = typed(DType::I64);
      expect("+:");
      st.extent = typed(DType::I64);
      st.independent = take("independent");
      // Visible in the body only: defined in the scope that inner() opens.
      expect("{");
      scopes_.emplace_back();
      macros_.clear();
      st.var = define(std::move(v));
      block(st.body);
    } else if (take("while")) {
      st.kind = Stmt::Kind::While;
      st.cond = typed(DType::Bool);
      inner(st.body);
    } else if (take("if")) {
      st.kind = Stmt::Kind::If;
      st.cond = typed(DType::Bool);
      inner(st.body);
      if (take("else")) inner(st.else_body);
    } else if (take("let")) {
      st.kind = Stmt::Kind::Let;
      VarDef v{var_name(), DType::I64};
      expect(":");
      v.dtype = type();
      bounds(v);
      expect("=");
      st.value = typed(v.dtype);
      st.var = define(std::move(v));
    } else if (take("alloc")) {
      st.kind = Stmt::Kind::Alloc;
      st.buffer = buffer(std::nullopt);
    } else if (take("alias")) {
      const Buffer b = buffer(std::nullopt);
      if (!b->alias_of) fail("an alias names its buffer: 'of NAME'");
      macros_.clear();
      return;
    } else if (take("call")) {
      st.kind = Stmt::Kind::Intrinsic;
      st.name = take_name("an intrinsic's name");
      expect("(");
      st.args = list(")");
    } else {
      st.kind = Stmt::Kind::Store;
      const Token where = t_;
      const std::string n = take_name("a statement");
      auto it = buffers_.find(n);
      if (it == buffers_.end()) lex_.fail(where, "unknown buffer '" + n + "'");
      st.buffer = it->second;
      expect("[");
      st.index = list("]");
      check_index(where, *st.buffer, st.index);
      expect("=");
      st.value = typed(st.buffer->dtype);
    }
    macros_.clear();
    out.push_back(std::move(s));
  }

  void check_index(const Token& where, const BufferDef& b, const std::vector<Expr>& index) {
    if (index.size() != b.shape.size())
      lex_.fail(where, "buffer '" + b.name + "' of rank " + std::to_string(b.shape.size()) +
                           " is indexed with " + std::to_string(index.size()) + " values");
    for (const Expr& e : index)
      if (e->dtype != DType::I64) lex_.fail(where, "an index of '" + b.name + "' is not i64");
  }

  // --- expressions ------------------------------------------------------------------------------

  Expr typed(DType t) {
    const Token where = t_;
    Expr e = expr(0).e;
    if (e->dtype != t)
      lex_.fail(where, "expected a value of type " + std::string(tenfold::name(t)) + ", got " +
                           std::string(tenfold::name(e->dtype)));
    return e;
  }

  std::vector<Expr> list(std::string_view close) {
    int depth = 0;
    return list(close, depth);
  }
  std::vector<Expr> list(std::string_view close, int& depth) {
    std::vector<Expr> r;
    if (take(close)) return r;
    do {
      Value v = expr(0);
      depth = std::max(depth, v.depth);
      r.push_back(std::move(v.e));
    } while (take(","));
    expect(close);
    return r;
  }

  Value grown(Expr e, int depth) {
    if (depth + 1 > kMaxDepth) fail("the expression is too deep");
    return {std::move(e), depth + 1};
  }

  Value apply_prim(const Token& where, Prim p, std::vector<Expr> args, int depth) {
    const std::string n(tenfold::name(p));
    if (static_cast<int>(args.size()) != arity(p))
      lex_.fail(where, n + " takes " + std::to_string(arity(p)) + " operands, got " +
                           std::to_string(args.size()));
    const size_t first = p == Prim::Select ? 1 : 0;
    const DType t = args[first]->dtype;
    if (p == Prim::Select && args[0]->dtype != DType::Bool)
      lex_.fail(where, "the condition of select is not i1");
    for (size_t i = first; i < args.size(); ++i)
      if (args[i]->dtype != t)
        lex_.fail(where, "operands of " + n + " have types " + std::string(tenfold::name(t)) +
                             " and " + std::string(tenfold::name(args[i]->dtype)));
    if (!supports(p, t))
      lex_.fail(where, n + " is not defined on " + std::string(tenfold::name(t)));
    return grown(op(p, std::move(args)), depth);
  }

  Value expr(int strength) {
    if (++nesting_ > kMaxDepth) fail("the expression is nested too deeply");
    Value l = unary();
    for (;;) {
      if (t_.kind != Token::Sign) break;
      const auto p = prim_from_infix(t_.text);
      if (!p) break;
      const Infix in = infix(*p);
      if (in.strength < strength) break;
      const Token where = t_;
      advance();
      Value r = expr(in.strength + 1);
      l = apply_prim(where, *p, {std::move(l.e), std::move(r.e)}, std::max(l.depth, r.depth));
    }
    --nesting_;
    return l;
  }

  Value unary() {
    const Token where = t_;
    if (take("!")) {
      if (++nesting_ > kMaxDepth) fail("the expression is nested too deeply");
      Value v = unary();
      --nesting_;
      if (v.e->dtype != DType::Bool) lex_.fail(where, "'!' takes a value of type i1");
      return apply_prim(where, Prim::Not, {std::move(v.e)}, v.depth);
    }
    if (at("-") || t_.kind == Token::Integer || t_.kind == Token::Float || at("inf") || at("nan"))
      return {number(), 1};
    if (take("true")) return {bool_const(true), 1};
    if (take("false")) return {bool_const(false), 1};
    if (t_.kind == Token::Macro) {
      auto it = macros_.find(t_.text);
      if (it == macros_.end()) fail("unknown name " + t_.text);
      advance();
      return it->second;
    }
    if (take("(")) return parenthesis();
    if (at("cast") || at("bitcast")) return conversion();
    if (take("guard")) {
      expect("(");
      int depth = 0;
      std::vector<Expr> a = list(")", depth);
      if (a.size() != 3 || a[0]->dtype != DType::Bool || a[1]->dtype != a[2]->dtype)
        lex_.fail(where, "guard takes a condition and two values of one type");
      return grown(guard(a[0], a[1], a[2]), depth);
    }
    return named();
  }

  Value named() {
    const Token where = t_;
    const std::string n = take_name("a value");
    if (at("[")) {
      advance();
      auto it = buffers_.find(n);
      if (it == buffers_.end()) lex_.fail(where, "unknown buffer '" + n + "'");
      const Buffer b = it->second;
      int depth = 0;
      std::vector<Expr> index = list("]", depth);
      check_index(where, *b, index);
      return grown(load(b, std::move(index)), depth);
    }
    if (where.kind == Token::Word && at("(")) {
      advance();
      const auto p = prim_from_name(n);
      if (!p) lex_.fail(where, "unknown primitive '" + n + "'");
      int depth = 0;
      std::vector<Expr> args = list(")", depth);
      return apply_prim(where, *p, std::move(args), depth);
    }
    auto it = vars_.find(n);
    if (it == vars_.end()) lex_.fail(where, "unknown variable '" + n + "'");
    return {var_ref(it->second), 1};
  }

  Value conversion() {
    const bool bits = at("bitcast");
    const Token where = t_;
    advance();
    expect("<");
    const DType t = type();
    expect(">");
    expect("(");
    Value v = expr(0);
    expect(")");
    if (bits && bit_width(v.e->dtype) != bit_width(t))
      lex_.fail(where, "bitcast between types of different width");
    return grown(bits ? bitcast(v.e, t) : cast(v.e, t), v.depth);
  }

  // After "(": a nested expression, or the pair of a complex constant.
  Value parenthesis() {
    Value v = expr(0);
    if (!take(",")) {
      expect(")");
      return v;
    }
    const Value w = expr(0);
    expect(")");
    expect(":");
    const Token where = t_;
    const DType t = type();
    auto part = [&](const Value& x) {
      if (!is_complex(t) || x.e->kind != ExprNode::Kind::Const || !is_float(x.e->dtype))
        lex_.fail(where, "a pair is a complex constant of two numbers");
      return x.e->f;
    };
    return {complex_const(part(v), part(w), t), 1};
  }

  Expr number() {
    const bool neg = take("-");
    const Token where = t_;
    if (t_.kind == Token::Integer) {
      const Token digits = t_;
      advance();
      DType t = DType::I64;
      if (take(":")) t = type();
      if (!is_integer(t)) lex_.fail(where, "an integer constant of a type that is no integer");
      const Token after = t_;
      t_ = digits;
      const int64_t v = to_int(neg, t);
      t_ = after;
      return int_const(v, t);
    }
    double v = 0;
    bool is_nan = false;
    std::string digits;
    if (t_.kind == Token::Float) {
      digits = t_.text;
      advance();
    } else if (take("inf")) {
      v = HUGE_VAL;
    } else if (take("nan")) {
      is_nan = true;
      v = std::nan("");
      if (take("(")) {
        uint64_t bits = 0;
        // 0x1234 lexes as the integer 0 and a word.
        if (t_.kind != Token::Integer || t_.text != "0") fail("expected the bits of a nan");
        advance();
        if (t_.kind != Token::Word || t_.text.size() < 2 || t_.text[0] != 'x')
          fail("expected the bits of a nan");
        auto r = std::from_chars(t_.text.data() + 1, t_.text.data() + t_.text.size(), bits, 16);
        if (r.ec != std::errc{} || r.ptr != t_.text.data() + t_.text.size())
          fail("expected the bits of a nan");
        v = std::bit_cast<double>(bits);
        if (v == v) fail("these bits are no nan");
        advance();
        expect(")");
      }
    } else {
      fail("expected a number, got " + shown());
    }
    DType t = DType::F32;
    const bool plain = !at(":");
    if (take(":")) t = type();
    if (!is_float(t)) lex_.fail(where, "a floating-point constant of a type that is no float");
    if (!digits.empty()) {
      const char *b = digits.data(), *e = b + digits.size();
      std::from_chars_result r{};
      if (plain) {  // shortest form of the f32: rounds once
        float f = 0;
        r = std::from_chars(b, e, f);
        v = static_cast<double>(f);
      } else {
        r = std::from_chars(b, e, v);
      }
      if (r.ec != std::errc{}) lex_.fail(where, "the number " + digits + " is out of range");
    }
    if (neg && !is_nan) v = -v;
    if (neg && is_nan) lex_.fail(where, "the sign of a nan is part of its bits");
    return float_const(v, t);
  }

  Lexer lex_;
  Token t_;
  int nesting_ = 0;
  std::unordered_map<std::string, Var> vars_;
  std::unordered_map<std::string, Buffer> buffers_;
  std::unordered_map<std::string, Value> macros_;
  std::vector<Scoped> scopes_;
};

}  // namespace

Result<Kernel> parse_kernel(std::string_view text, std::string_view file_name) {
  TF_ASSIGN(Kernel k, Parser(text, file_name).run());
  Status s = verify(k);
  if (!s.ok()) {
    Errors es = s.take_errors();
    for (Error& e : es) e.loc = Location{std::string(file_name)};
    return es;
  }
  return k;
}

}  // namespace tenfold::loop
