// The text form of dimensions, and its parser.
#include <cctype>
#include <string>

#include "array/dim.h"

namespace tenfold {
namespace {

bool is_ident_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool is_ident(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '$';
}

// Names of models are free text; one that is no identifier is quoted.
std::string symbol_text(const std::string& name) {
  bool plain = !name.empty() && is_ident_start(name[0]);
  for (char c : name) plain = plain && is_ident(c);
  if (plain) return name;
  std::string s = "\"";
  for (char c : name) {
    if (c == '"' || c == '\\') s += '\\';
    s += c;
  }
  return s + "\"";
}

std::string atom_text(const Dim::Atom& a) {
  const char* f = "";
  switch (a.kind) {
    case Dim::AtomKind::Symbol:
      return symbol_text(a.symbol->name);
    case Dim::AtomKind::FloorDiv:
      f = "floordiv";
      break;
    case Dim::AtomKind::Mod:
      f = "mod";
      break;
    case Dim::AtomKind::Min:
      f = "min";
      break;
    case Dim::AtomKind::Max:
      f = "max";
      break;
  }
  return std::string(f) + "(" + a.a.str() + ", " + a.b.str() + ")";
}

// expr := ['-'] prod (('+'|'-') prod)* ; prod := unary ('*' unary)* ; unary := '-' unary | int |
// name | f(expr, expr) | (expr)
class Parser {
 public:
  Parser(std::string_view text, const std::function<SymbolRef(std::string_view)>& sym)
      : text_(text), sym_(sym) {}

  Result<Dim> run() {
    TF_ASSIGN(Dim d, expr());
    skip();
    if (pos_ != text_.size()) return fail("the end of the expression");
    return d;
  }

 private:
  static constexpr int kMaxDepth = 100;

  Error fail(const std::string& wanted) {
    std::string found = pos_ < text_.size() ? "'" + std::string(text_.substr(pos_, 12)) + "'"
                                            : std::string("the end");
    return {"dim-syntax",
            "in the dimension '" + std::string(text_.substr(0, 80)) + "' at column " +
                std::to_string(pos_ + 1) + ": found " + found + ", wanted " + wanted +
                "; write sums and products of integers, symbols and floordiv/ceildiv/mod/min/max",
            {},
            {}};
  }
  void skip() {
    while (pos_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[pos_]))) ++pos_;
  }
  bool eat(char c) {
    skip();
    if (pos_ >= text_.size() || text_[pos_] != c) return false;
    ++pos_;
    return true;
  }

  Result<Dim> expr() {
    if (depth_ >= kMaxDepth) return fail("an expression nested less deeply");
    ++depth_;
    TF_ASSIGN(Dim sum, prod());
    while (true) {
      if (eat('+')) {
        TF_ASSIGN(Dim d, prod());
        sum = sum + d;
      } else if (eat('-')) {
        TF_ASSIGN(Dim d, prod());
        sum = sum - d;
      } else {
        break;
      }
    }
    --depth_;
    return sum;
  }
  Result<Dim> prod() {
    TF_ASSIGN(Dim p, unary());
    while (eat('*')) {
      TF_ASSIGN(Dim d, unary());
      p = p * d;
    }
    return p;
  }
  Result<Dim> unary() {
    bool negative = false;
    while (eat('-')) negative = !negative;
    skip();
    if (pos_ >= text_.size()) return fail("a number or a symbol");
    const char c = text_[pos_];
    if (std::isdigit(static_cast<unsigned char>(c))) return integer(negative);
    TF_ASSIGN(Dim d, primary(c));
    return negative ? -d : d;
  }
  // The sign belongs to the number, so that the least integer can be written.
  Result<Dim> integer(bool negative) {
    int64_t v = 0;
    while (pos_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[pos_]))) {
      const int digit = text_[pos_] - '0';
      if (__builtin_mul_overflow(v, 10, &v) ||
          __builtin_add_overflow(v, negative ? -digit : digit, &v)) {
        return fail("a number that fits 64 bits");
      }
      ++pos_;
    }
    return Dim(v);
  }
  Result<Dim> primary(char c) {
    if (eat('(')) {
      TF_ASSIGN(Dim d, expr());
      if (!eat(')')) return fail("')'");
      return d;
    }
    std::string name;
    if (c == '"') {
      ++pos_;
      while (pos_ < text_.size() && text_[pos_] != '"') {
        if (text_[pos_] == '\\' && pos_ + 1 < text_.size()) ++pos_;
        name += text_[pos_++];
      }
      if (!eat('"')) return fail("a closing '\"'");
      return symbol(name);
    }
    if (!is_ident_start(c)) return fail("a number or a symbol");
    while (pos_ < text_.size() && is_ident(text_[pos_])) name += text_[pos_++];
    if (!eat('(')) return symbol(name);
    TF_ASSIGN(Dim a, expr());
    if (!eat(',')) return fail("','");
    TF_ASSIGN(Dim b, expr());
    if (!eat(')')) return fail("')'");
    if (name == "floordiv") return floordiv(a, b);
    if (name == "ceildiv") return ceildiv(a, b);
    if (name == "mod") return mod(a, b);
    if (name == "min") return min(a, b);
    if (name == "max") return max(a, b);
    return fail("floordiv, ceildiv, mod, min or max before '('; '" + name + "' is no function");
  }
  Result<Dim> symbol(const std::string& name) {
    SymbolRef s = sym_ ? sym_(name) : nullptr;
    if (!s) return fail("a known symbol; '" + name + "' is not declared");
    return Dim::symbol(std::move(s));
  }

  std::string_view text_;
  const std::function<SymbolRef(std::string_view)>& sym_;
  size_t pos_ = 0;
  int depth_ = 0;
};

}  // namespace

std::string Dim::str() const {
  if (terms_.empty()) return std::to_string(constant_);
  std::string s;
  // The magnitude as unsigned: -INT64_MIN has none that is signed.
  auto sign = [&](int64_t c) {
    if (s.empty())
      s += c < 0 ? "-" : "";
    else
      s += c < 0 ? " - " : " + ";
    return c < 0 ? 0 - static_cast<uint64_t>(c) : static_cast<uint64_t>(c);
  };
  for (const Term& t : terms_) {
    const uint64_t m = sign(t.coeff);
    if (m != 1) s += std::to_string(m) + "*";
    for (size_t i = 0; i < t.atoms.size(); ++i) s += (i ? "*" : "") + atom_text(*t.atoms[i]);
  }
  if (constant_ != 0) s += std::to_string(sign(constant_));
  return s;
}

Result<Dim> Dim::parse(std::string_view text,
                       const std::function<SymbolRef(std::string_view)>& sym) {
  return Parser(text, sym).run();
}

}  // namespace tenfold
