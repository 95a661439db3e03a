// Attributes and locations of MLIR text.
#include "graph/text_attrs.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace tenfold::text {

const Attribute* find(const Dictionary& d, std::string_view name) {
  for (auto& [key, value] : d) {
    if (key == name) return &value;
  }
  return nullptr;
}

std::string_view kind_name(Attribute::Kind k) {
  switch (k) {
    case Attribute::Kind::Unit:
      return "a unit";
    case Attribute::Kind::Bool:
      return "a bool";
    case Attribute::Kind::Int:
      return "an integer";
    case Attribute::Kind::Float:
      return "a floating-point number";
    case Attribute::Kind::String:
      return "a string";
    case Attribute::Kind::Symbol:
      return "a symbol name";
    case Attribute::Kind::Type:
      return "a type";
    case Attribute::Kind::Array:
      return "a list";
    case Attribute::Kind::Dict:
      return "a dictionary";
    case Attribute::Kind::Dense:
      return "a dense tensor";
    case Attribute::Kind::Dims:
      return "a list of dimensions";
    case Attribute::Kind::Enum:
      return "an enumeration value";
    case Attribute::Kind::Group:
      return "a group of attributes";
    case Attribute::Kind::Other:
      return "an attribute of another dialect";
  }
  __builtin_unreachable();
}

// --- errors and small steps ----------------------------------------------------------------------

void Reader::syntax(size_t offset, std::string message) {
  if (!failed) errors.push_back({"text-syntax", std::move(message), lex.at(offset), {}});
  failed = true;
}

void Reader::wanted(std::string_view what) {
  syntax(lex.offset(), "found " + lex.found() + ", wanted " + std::string(what));
}

void Reader::problem(size_t offset, std::string id, std::string message) {
  if (failed || errors.size() >= kMaxErrors) return;
  errors.push_back({std::move(id), std::move(message), lex.at(offset), {}});
}

bool Reader::enter() {
  if (++depth_ > kMaxDepth) {
    syntax(lex.offset(), "nested more than " + std::to_string(kMaxDepth) + " deep");
  }
  return !failed;
}

bool Reader::eat(char c) {
  if (failed || !lex.peek().is(c)) return false;
  lex.next();
  return true;
}

bool Reader::eat(std::string_view ident) {
  if (failed || !lex.peek().is(ident)) return false;
  lex.next();
  return true;
}

bool Reader::expect(char c) {
  if (eat(c)) return true;
  wanted("'" + std::string(1, c) + "'");
  return false;
}

bool Reader::expect_arrow() {
  if (!failed && lex.peek().kind == Tok::Arrow) {
    lex.next();
    return true;
  }
  wanted("'->'");
  return false;
}

std::string Reader::string_literal() {
  if (lex.peek().kind != Tok::String) {
    wanted("a string");
    return {};
  }
  return unescape(lex.next().text);
}

namespace {
bool to_magnitude(std::string_view text, uint64_t& out) {
  const bool hex = text.starts_with("0x");
  if (hex) text.remove_prefix(2);
  auto r = std::from_chars(text.data(), text.data() + text.size(), out, hex ? 16 : 10);
  return r.ec == std::errc() && r.ptr == text.data() + text.size();
}
}  // namespace

int64_t Reader::integer() {
  const size_t at = lex.offset();
  const bool negative = eat('-');
  if (lex.peek().kind != Tok::Integer) {
    wanted("an integer");
    return 0;
  }
  const Token t = lex.next();
  uint64_t m = 0;
  const uint64_t limit = negative ? uint64_t{1} << 63 : UINT64_MAX;
  if (!to_magnitude(t.text, m) || m > limit) {
    problem(at, "text-number",
            "the integer " + std::string(t.text.substr(0, 40)) + " does not fit 64 bits");
    return 0;
  }
  return static_cast<int64_t>(negative ? 0 - m : m);
}

std::vector<int64_t> Reader::integer_list() {
  std::vector<int64_t> v;
  if (!expect('[')) return v;
  if (eat(']')) return v;
  do v.push_back(integer());
  while (eat(','));
  expect(']');
  return v;
}

SymbolRef Reader::symbol(std::string_view name) {
  auto it = symbols.find(name);
  if (it == symbols.end()) {
    auto s = std::make_shared<Symbol>();
    s->name = std::string(name);
    it = symbols.emplace(s->name, s).first;
  }
  return it->second;
}

// --- aliases and resources -----------------------------------------------------------------------

void Reader::scan_aliases() {
  const std::string_view s = lex.source();
  for (size_t line = 0; line < s.size();) {
    const size_t end = std::min(s.find('\n', line), s.size());
    if (s[line] == '#' || s[line] == '!') {
      const std::string_view text = s.substr(line, end - line);
      const size_t stop = text.find_first_of(" =<(");
      if (stop != std::string_view::npos && stop > 1) {
        const size_t eq = text.find_first_not_of(' ', stop);
        if (eq != std::string_view::npos && text[eq] == '=') {
          auto& table = s[line] == '#' ? aliases_ : type_aliases_;
          table.try_emplace(text.substr(1, stop - 1), line + eq + 1);
        }
      }
    }
    line = end + 1;
  }
  scan_resources();
}

// {-# dialect_resources: { builtin: { name: "0x..." } } #-} stands at the end of the file.
void Reader::scan_resources() {
  const size_t at = lex.source().rfind("{-#");
  if (at == std::string_view::npos) return;
  lex.seek(at);
  lex.next();
  int depth = 0;
  std::string key;
  while (depth >= 0 && lex.peek().kind != Tok::End && lex.peek().kind != Tok::MetaClose) {
    const Token t = lex.next();
    if (t.is('{')) ++depth;
    if (t.is('}')) --depth;
    if (t.kind == Tok::Ident) key = std::string(t.text);
    if (t.kind == Tok::String) {
      if (lex.peek().is(':')) {
        key = unescape(t.text);
      } else if (t.text.starts_with("0x")) {
        resources_[key] = t.text.substr(2);
      }
    }
  }
  lex.seek(0);
}

bool Reader::skip_alias_definition() {
  const Token t = lex.peek();
  if (failed || (t.kind != Tok::Hash && t.kind != Tok::Bang)) return false;
  lex.next();
  if (!expect('=')) return true;
  if (t.kind == Tok::Bang) {
    type();
  } else if (lex.peek().is("loc")) {
    trailing_loc();
  } else {
    attribute();
  }
  return true;
}

Attribute Reader::alias(const Token& t) {
  if (auto it = attr_cache_.find(t.text); it != attr_cache_.end()) return it->second;
  auto it = aliases_.find(t.text);
  if (it == aliases_.end()) {
    syntax(t.begin, "#" + std::string(t.text) + " is not defined");
    return {};
  }
  if (!open_aliases_.insert(t.text).second) {
    syntax(t.begin, "#" + std::string(t.text) + " is defined by itself");
    return {};
  }
  const size_t back = lex.offset();
  lex.seek(it->second);
  Attribute a = attribute();
  lex.seek(back);
  open_aliases_.erase(t.text);
  if (!failed) attr_cache_[t.text] = a;
  return a;
}

// --- attributes ----------------------------------------------------------------------------------

Attribute Reader::number(bool typed) {
  Attribute a;
  a.offset = lex.offset();
  const bool negative = eat('-');
  const Token t = lex.peek();
  if (t.kind == Tok::Integer) {
    lex.next();
    a.kind = Attribute::Kind::Int;
    uint64_t m = 0;
    if (!to_magnitude(t.text, m) || (negative && m > uint64_t{1} << 63)) {
      problem(a.offset, "text-number",
              "the integer " + std::string(t.text.substr(0, 40)) + " does not fit 64 bits");
    }
    a.i = static_cast<int64_t>(negative ? 0 - m : m);
    a.f = negative ? -static_cast<double>(m) : static_cast<double>(m);
  } else if (t.kind == Tok::Float) {
    lex.next();
    a.kind = Attribute::Kind::Float;
    a.f = std::strtod(std::string(t.text).c_str(), nullptr);
    if (negative) a.f = -a.f;
  } else {
    wanted("a number");
    return a;
  }
  if (!typed || !eat(':')) return a;
  a.type = type();
  if (a.kind == Attribute::Kind::Int && a.type.kind == Type::Kind::Scalar &&
      is_float(a.type.tensor.dtype)) {
    // Bits of a float.
    const DType d = a.type.tensor.dtype;
    Literal l(d, {});
    std::memcpy(l.mutable_bytes(), &a.i, static_cast<size_t>(byte_size(d)));
    a.kind = Attribute::Kind::Float;
    a.f = l.as_f64(0);
  }
  return a;
}

Attribute Reader::array() {
  Attribute a;
  a.kind = Attribute::Kind::Array;
  a.offset = lex.offset();
  expect('[');
  if (eat(']')) return a;
  do a.items.push_back(attribute());
  while (eat(','));
  expect(']');
  return a;
}

// array<i64: 1, 2>, array<i1: true>, array<i64>
Attribute Reader::dense_array() {
  Attribute a;
  a.kind = Attribute::Kind::Array;
  a.offset = lex.offset();
  if (!expect('<')) return a;
  a.type = type();
  if (a.type.kind != Type::Kind::Scalar) {
    if (!failed) syntax(a.offset, "array<> needs an element type");
    return a;
  }
  if (eat('>')) return a;
  if (!expect(':')) return a;
  do {
    if (lex.peek().is("true") || lex.peek().is("false")) {
      Attribute b;
      b.kind = Attribute::Kind::Bool;
      b.offset = lex.offset();
      b.flag = lex.next().text == "true";
      a.items.push_back(std::move(b));
    } else {
      a.items.push_back(number(false));
    }
  } while (eat(','));
  expect('>');
  return a;
}

std::string Reader::balanced(size_t begin) {
  int depth = 0;
  size_t end = begin;
  do {
    const Token& t = lex.peek();
    if (t.kind == Tok::End || t.kind == Tok::Bad) {
      wanted("'>'");
      return {};
    }
    if (t.is('<') || t.is('(') || t.is('[') || t.is('{')) ++depth;
    if (t.is('>') || t.is(')') || t.is(']') || t.is('}')) --depth;
    end = t.end;
    lex.next();
  } while (depth > 0);
  return std::string(lex.source().substr(begin, end - begin));
}

Dictionary Reader::group_body() {
  Dictionary d;
  if (eat('>')) return d;
  do {
    const Token key = lex.peek();
    if (key.kind != Tok::Ident) {
      wanted("a name");
      return d;
    }
    lex.next();
    if (!expect('=')) return d;
    const Token v = lex.peek();
    Attribute a;
    const bool word = v.kind == Tok::Ident && v.text != "true" && v.text != "false" &&
                      v.text != "array" && v.text != "dense" && !dtype_from_name(v.text);
    if (word) {
      lex.next();
      a.kind = Attribute::Kind::Enum;
      a.offset = v.begin;
      a.text = std::string(v.text);
    } else {
      a = attribute();
    }
    d.emplace_back(std::string(key.text), std::move(a));
  } while (eat(','));
  expect('>');
  return d;
}

Attribute Reader::conv_dimensions() {
  Attribute a;
  a.kind = Attribute::Kind::Group;
  a.offset = lex.offset();
  a.text = "stablehlo.conv";
  a.dict = std::make_shared<Dictionary>();
  auto part = [&](std::string_view c1, const char* n1, std::string_view c2, const char* n2,
                  const char* spatial) {
    int64_t d1 = -1, d2 = -1, index = 0;
    std::vector<int64_t> where;  // where[k]: position of spatial dimension k
    if (!expect('[')) return;
    const size_t at = lex.offset();
    do {
      if (eat(c1)) {
        d1 = index;
      } else if (eat(c2)) {
        d2 = index;
      } else {
        const int64_t k = integer();
        if (failed) return;
        if (k < 0 || k > 64) return syntax(at, "no spatial dimension " + std::to_string(k));
        if (static_cast<size_t>(k) >= where.size()) where.resize(static_cast<size_t>(k) + 1, -1);
        where[static_cast<size_t>(k)] = index;
      }
      ++index;
    } while (eat(','));
    expect(']');
    const bool complete = d1 >= 0 && d2 >= 0 && index == static_cast<int64_t>(where.size()) + 2 &&
                          std::find(where.begin(), where.end(), -1) == where.end();
    if (!failed && !complete) {
      return syntax(at, "the dimensions must be " + std::string(c1) + ", " + std::string(c2) +
                            " and the numbers from 0, each once");
    }
    auto put = [&](const char* n, int64_t v) {
      Attribute x;
      x.kind = Attribute::Kind::Int;
      x.i = v;
      a.dict->emplace_back(n, std::move(x));
    };
    put(n1, d1);
    put(n2, d2);
    Attribute list;
    list.kind = Attribute::Kind::Array;
    for (int64_t w : where) {
      Attribute x;
      x.kind = Attribute::Kind::Int;
      x.i = w;
      list.items.push_back(std::move(x));
    }
    a.dict->emplace_back(spatial, std::move(list));
  };
  part("b", "input_batch_dimension", "f", "input_feature_dimension", "input_spatial_dimensions");
  if (!eat("x") && !failed) wanted("'x'");
  part("i", "kernel_input_feature_dimension", "o", "kernel_output_feature_dimension",
       "kernel_spatial_dimensions");
  expect_arrow();
  part("b", "output_batch_dimension", "f", "output_feature_dimension", "output_spatial_dimensions");
  return a;
}

Attribute Reader::dialect_attribute(const Token& t) {
  Attribute a;
  a.offset = t.begin;
  if (!lex.peek().is('<') || lex.peek().begin != t.end) {
    if (aliases_.contains(t.text)) return alias(t);
    if (t.text.find('.') == std::string_view::npos) return alias(t);  // says it is not defined
    a.kind = Attribute::Kind::Other;
    a.text = "#" + std::string(t.text);
    return a;
  }
  if (t.text == "tenfold.dims") {
    a.kind = Attribute::Kind::Dims;
    a.dims = dims_body();
    return a;
  }
  if (t.text == "stablehlo" || t.text == "chlo" || t.text == "stablehlo.result_accuracy_mode") {
    // #stablehlo<precision DEFAULT>: the class is known from the attribute's name.
    lex.next();
    Token last = lex.next();
    while (lex.peek().kind == Tok::Ident) last = lex.next();
    if (last.kind == Tok::Ident && eat('>')) {
      a.kind = Attribute::Kind::Enum;
      a.text = std::string(last.text);
      return a;
    }
    if (!failed) wanted("'>'");
    return a;
  }
  if (t.text == "stablehlo.conv") {
    lex.next();
    a = conv_dimensions();
    expect('>');
    return a;
  }
  if (t.text.starts_with("stablehlo.")) {
    lex.next();
    a.kind = Attribute::Kind::Group;
    a.text = std::string(t.text);
    a.dict = std::make_shared<Dictionary>(group_body());
    return a;
  }
  a.kind = Attribute::Kind::Other;
  a.text = balanced(t.begin);
  return a;
}

Attribute Reader::attribute(bool typed) {
  Attribute a;
  const Depth depth(*this);
  if (!depth.ok) return a;
  const Token t = lex.peek();
  a.offset = t.begin;
  switch (t.kind) {
    case Tok::Integer:
    case Tok::Float:
      return number(typed);
    case Tok::String:
      lex.next();
      a.kind = Attribute::Kind::String;
      a.text = unescape(t.text);
      if (typed && eat(':')) a.type = type();
      return a;
    case Tok::Symbol:
      lex.next();
      a.kind = Attribute::Kind::Symbol;
      a.text = unescape(t.text);
      while (lex.peek().is(':')) {  // @a::@b
        lex.next();
        if (!expect(':') || lex.peek().kind != Tok::Symbol) {
          wanted("'@'");
          return a;
        }
        a.text += "::" + unescape(lex.next().text);
      }
      return a;
    case Tok::Hash:
      lex.next();
      return dialect_attribute(t);
    case Tok::Punct:
      if (t.is('-')) return number(typed);
      if (t.is('[')) return array();
      if (t.is('{')) {
        a.kind = Attribute::Kind::Dict;
        a.dict = std::make_shared<Dictionary>(dictionary());
        return a;
      }
      if (t.is('(')) break;
      wanted("an attribute");
      return a;
    case Tok::Ident:
      if (t.text == "true" || t.text == "false") {
        lex.next();
        a.kind = Attribute::Kind::Bool;
        a.flag = t.text == "true";
        return a;
      }
      if (t.text == "unit") {
        lex.next();
        return a;
      }
      if (t.text == "dense") return dense();
      if (t.text == "dense_resource") return dense_resource();
      if (t.text == "array") {
        lex.next();
        return dense_array();
      }
      if (t.text == "affine_map" || t.text == "affine_set" || t.text == "opaque" ||
          t.text == "sparse" || t.text == "strided" || t.text == "distinct") {
        lex.next();
        a.kind = Attribute::Kind::Other;
        a.text = balanced(t.begin);
        return a;
      }
      break;
    case Tok::Bang:
      break;
    default:
      wanted("an attribute");
      return a;
  }
  a.kind = Attribute::Kind::Type;
  a.type = type();
  return a;
}

Attribute Reader::dense() {
  const size_t at = lex.offset();
  lex.next();
  return DenseReader(*this).read(at);
}

Attribute Reader::dense_resource() {
  Attribute a;
  a.offset = lex.offset();
  a.kind = Attribute::Kind::Dense;
  lex.next();
  if (!expect('<')) return a;
  const Token t = lex.peek();
  if (t.kind != Tok::Ident && t.kind != Tok::String) {
    wanted("the name of a resource");
    return a;
  }
  lex.next();
  const std::string name = t.kind == Tok::String ? unescape(t.text) : std::string(t.text);
  if (!expect('>') || !expect(':')) return a;
  const TensorType type = tensor_type();
  if (failed) return a;
  auto it = resources_.find(name);
  if (it == resources_.end()) {
    problem(a.offset, "text-resource", "no resource called " + name + " is in the file");
    return a;
  }
  // Four bytes of alignment come first.
  if (it->second.size() < 8) {
    problem(a.offset, "text-resource", "the resource " + name + " is cut short");
    return a;
  }
  DenseReader(*this).from_hex(it->second.substr(8), a.offset, type, a.literal);
  return a;
}

Dictionary Reader::dictionary() {
  if (!expect('{')) return {};
  return dictionary_body('}');
}

Dictionary Reader::dictionary_body(char close) {
  Dictionary d;
  if (eat(close)) return d;
  do {
    const Token key = lex.peek();
    if (key.kind != Tok::Ident && key.kind != Tok::String) {
      wanted("the name of an attribute");
      return d;
    }
    lex.next();
    std::string name = key.kind == Tok::String ? unescape(key.text) : std::string(key.text);
    Attribute a;
    a.offset = key.begin;
    if (eat('=')) {
      const size_t begin = lex.offset();
      a = attribute();
      a.offset = key.begin;
      a.spelling = lex.source().substr(begin, lex.offset() - begin);
      a.spelling = a.spelling.substr(0, a.spelling.find_last_not_of(" \n\t\r,}>") + 1);
    }
    if (find(d, name)) problem(key.begin, "text-attribute", "attribute " + name + " comes twice");
    d.emplace_back(std::move(name), std::move(a));
  } while (eat(','));
  expect(close);
  return d;
}

// --- locations -----------------------------------------------------------------------------------

std::optional<Loc> Reader::trailing_loc() {
  if (failed || !lex.peek().is("loc")) return std::nullopt;
  lex.next();
  if (!expect('(')) return std::nullopt;
  Loc l = location();
  expect(')');
  return l;
}

Loc Reader::location_alias(const Token& t) {
  if (auto it = loc_cache_.find(t.text); it != loc_cache_.end()) return it->second;
  auto it = aliases_.find(t.text);
  if (it == aliases_.end() || !open_aliases_.insert(t.text).second) {
    syntax(t.begin, "#" + std::string(t.text) +
                        (it == aliases_.end() ? " is not defined" : " is defined by itself"));
    return {};
  }
  const size_t back = lex.offset();
  lex.seek(it->second);
  Loc l;
  if (auto parsed = trailing_loc()) {
    l = *parsed;
  } else if (!failed) {
    wanted("a location");
  }
  lex.seek(back);
  open_aliases_.erase(t.text);
  if (!failed) loc_cache_[t.text] = l;
  return l;
}

Loc Reader::location() {
  Loc l;
  const Depth depth(*this);
  if (!depth.ok) return l;
  const Token t = lex.peek();
  if (t.kind == Tok::Hash) {
    lex.next();
    return location_alias(t);
  }
  if (t.kind == Tok::String) {
    lex.next();
    const std::string text = unescape(t.text);
    if (eat(':')) {  // "file":line:col [to [line]:col]
      const int64_t line = integer();
      expect(':');
      const int64_t col = integer();
      l.place = text + ":" + std::to_string(line) + ":" + std::to_string(col);
      if (eat("to")) {
        if (!lex.peek().is(':')) integer();
        expect(':');
        integer();
      }
      return l;
    }
    l.name = text;
    if (eat('(')) {
      Loc child = location();
      expect(')');
      l.place = child.place;
      l.origins = child.origins;
    }
    if (l.place.empty()) {
      l.place = text;
      l.bare = true;
    }
    return l;
  }
  if (eat("unknown")) return l;
  if (eat("callsite")) {
    expect('(');
    l = location();
    if (!eat("at") && !failed) wanted("'at'");
    const Loc caller = location();
    if (l.place.empty() || (l.bare && !caller.place.empty())) l.place = caller.place;
    l.bare = l.bare && caller.place.empty();
    expect(')');
    return l;
  }
  if (eat("fused")) {
    if (eat('<')) {
      const Attribute meta = attribute();
      expect('>');
      for (auto& item : meta.items) {
        if (item.kind == Attribute::Kind::String) l.origins.push_back(item.text);
      }
    }
    if (!expect('[')) return l;
    if (eat(']')) return l;
    do {
      const Loc part = location();
      if (l.place.empty()) l.place = part.place;
      if (l.name.empty() && !part.bare) l.name = part.name;
    } while (eat(','));
    expect(']');
    return l;
  }
  wanted("a location");
  return l;
}

}  // namespace tenfold::text
