// Tokens of MLIR text.
#include "graph/text_lexer.h"

#include <algorithm>

namespace tenfold::text {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_ident(char c) { return is_letter(c) || is_digit(c) || c == '$' || c == '.'; }
bool is_suffix(char c) { return is_ident(c) || c == '-'; }
int hex_value(char c) { return is_digit(c) ? c - '0' : (c | 32) - 'a' + 10; }

}  // namespace

Lexer::Lexer(std::string_view source, std::string_view file) : source_(source), file_(file) {
  lines_.push_back(0);
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\n') lines_.push_back(i + 1);
  }
  lex();
}

Token Lexer::next() {
  Token t = token_;
  lex();
  return t;
}

void Lexer::seek(size_t offset) {
  pos_ = std::min(offset, source_.size());
  lex();
}

Location Lexer::at(size_t offset) const {
  auto it = std::upper_bound(lines_.begin(), lines_.end(), offset);
  const size_t line = static_cast<size_t>(it - lines_.begin());
  const size_t col = offset - lines_[line - 1] + 1;
  return {file_ + ":" + std::to_string(line) + ":" + std::to_string(col)};
}

std::string Lexer::found(const Token& t) {
  switch (t.kind) {
    case Tok::End:
      return "the end of the file";
    case Tok::String:
      return "\"" + std::string(t.text.substr(0, 40)) + "\"";
    case Tok::Value:
      return "'%" + std::string(t.text.substr(0, 40)) + "'";
    case Tok::Block:
      return "'^" + std::string(t.text.substr(0, 40)) + "'";
    case Tok::Symbol:
      return "'@" + std::string(t.text.substr(0, 40)) + "'";
    case Tok::Hash:
      return "'#" + std::string(t.text.substr(0, 40)) + "'";
    case Tok::Bang:
      return "'!" + std::string(t.text.substr(0, 40)) + "'";
    case Tok::Bad:
      if (!t.text.empty() && t.text[0] == '"') return "a string that does not end";
      if (!t.text.empty() && (t.text[0] < 32 || t.text[0] > 126)) return "a byte that is no text";
      [[fallthrough]];
    default:
      return "'" + std::string(t.text.substr(0, 40)) + "'";
  }
}

void Lexer::take(Tok kind, size_t begin, size_t end, size_t front, size_t back) {
  token_ = {kind, source_.substr(begin + front, end - begin - front - back), begin, end};
  pos_ = end;
}

void Lexer::lex() {
  const std::string_view s = source_;
  const size_t n = s.size();
  size_t p = pos_;
  while (p < n) {
    const char c = s[p];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++p;
    } else if (c == '/' && p + 1 < n && s[p + 1] == '/') {
      while (p < n && s[p] != '\n') ++p;
    } else {
      break;
    }
  }
  if (p >= n) return take(Tok::End, n, n);
  auto run = [&](size_t from, bool (*ok)(char)) {
    while (from < n && ok(s[from])) ++from;
    return from;
  };
  const char c = s[p];
  if (is_letter(c)) return take(Tok::Ident, p, run(p, is_ident));
  if (is_digit(c)) {
    if (c == '0' && p + 2 < n && s[p + 1] == 'x' && is_hex(s[p + 2])) {
      return take(Tok::Integer, p, run(p + 2, is_hex));
    }
    size_t e = run(p, is_digit);
    if (e >= n || s[e] != '.') return take(Tok::Integer, p, e);
    e = run(e + 1, is_digit);
    if (e < n && (s[e] == 'e' || s[e] == 'E')) {
      size_t x = e + 1;
      if (x < n && (s[x] == '+' || s[x] == '-')) ++x;
      if (x < n && is_digit(s[x])) e = run(x, is_digit);
    }
    return take(Tok::Float, p, e);
  }
  auto string_end = [&](size_t open) -> size_t {  // one past the closing quote, 0: none
    for (size_t i = open + 1; i < n && s[i] != '\n'; ++i) {
      if (s[i] == '"') return i + 1;
      if (s[i] == '\\') ++i;
    }
    return 0;
  };
  switch (c) {
    case '"':
      if (const size_t e = string_end(p)) return take(Tok::String, p, e, 1, 1);
      return take(Tok::Bad, p, p + 1);
    case '%':
    case '^':
    case '!': {
      const bool number = p + 1 < n && is_digit(s[p + 1]);
      const size_t e = run(p + 1, number ? is_digit : is_suffix);
      if (e == p + 1) break;
      return take(c == '%' ? Tok::Value : c == '^' ? Tok::Block : Tok::Bang, p, e, 1);
    }
    case '#': {
      if (s.substr(p, 3) == "#-}") return take(Tok::MetaClose, p, p + 3);
      const bool name = p + 1 < n && is_letter(s[p + 1]);
      if (!name) return take(Tok::Punct, p, p + 1);
      return take(Tok::Hash, p, run(p + 1, is_ident), 1);
    }
    case '@':
      if (p + 1 < n && s[p + 1] == '"') {
        if (const size_t e = string_end(p + 1)) return take(Tok::Symbol, p, e, 2, 1);
        return take(Tok::Bad, p + 1, p + 2);
      }
      if (p + 1 < n && is_letter(s[p + 1])) {
        return take(Tok::Symbol, p, run(p + 1, is_suffix), 1);
      }
      break;
    case '-':
      if (s.substr(p, 2) == "->") return take(Tok::Arrow, p, p + 2);
      return take(Tok::Punct, p, p + 1);
    case '{':
      if (s.substr(p, 3) == "{-#") return take(Tok::MetaOpen, p, p + 3);
      return take(Tok::Punct, p, p + 1);
    case '(':
    case ')':
    case '}':
    case '[':
    case ']':
    case '<':
    case '>':
    case ',':
    case '=':
    case ':':
    case '?':
    case '*':
    case '+':
    case '|':
    case '/':
      return take(Tok::Punct, p, p + 1);
    default:
      break;
  }
  take(Tok::Bad, p, p + 1);
}

std::string unescape(std::string_view s) {
  std::string out;
  out.reserve(s.size());
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] != '\\' || i + 1 >= s.size()) {
      out += s[i];
      continue;
    }
    const char c = s[++i];
    if (c == 'n') {
      out += '\n';
    } else if (c == 't') {
      out += '\t';
    } else if (is_hex(c) && i + 1 < s.size() && is_hex(s[i + 1])) {
      out += static_cast<char>(hex_value(c) * 16 + hex_value(s[i + 1]));
      ++i;
    } else {
      out += c;
    }
  }
  return out;
}

std::string quote(std::string_view s) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out = "\"";
  for (const char c : s) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (u < 32 || u == 127) {
      out += '\\';
      out += kHex[u >> 4];
      out += kHex[u & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace tenfold::text
