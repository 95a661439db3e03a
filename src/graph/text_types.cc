// Types of MLIR text.
#include <algorithm>

#include "graph/text_attrs.h"

namespace tenfold::text {

bool is_hole(const Dim& d) {
  const SymbolRef s = d.as_symbol();
  return s && s->name == kHole;
}

bool has_holes(const TensorType& t) { return std::any_of(t.shape.begin(), t.shape.end(), is_hole); }

std::string Type::str() const {
  switch (kind) {
    case Kind::Tensor:
      return tensor.str();
    case Kind::Scalar:
      return std::string(name(tensor.dtype));
    case Kind::Index:
      return "index";
    case Kind::None:
      return "none";
    case Kind::Token:
      return "!stablehlo.token";
    case Kind::Tuple: {
      std::string s = "tuple<";
      for (size_t i = 0; i < outputs.size(); ++i) s += (i ? ", " : "") + outputs[i].str();
      return s + ">";
    }
    case Kind::Function:
      return "a function type";
    case Kind::Other:
      return spelling.empty() ? "an unknown type" : spelling;
  }
  __builtin_unreachable();
}

// The text between '<' (the current token) and its '>', split at commas.
std::vector<Dim> Reader::dims_body() {
  std::vector<Dim> dims;
  const std::string_view s = lex.source();
  const size_t open = lex.offset();
  size_t begin = open + 1;
  int depth = 0;
  bool quoted = false;
  for (size_t p = begin; p < s.size(); ++p) {
    const char c = s[p];
    if (c == '\n') break;
    if (quoted) {
      if (c == '\\') ++p;
      if (c == '"') quoted = false;
      continue;
    }
    if (c == '"') quoted = true;
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (depth != 0 || (c != ',' && c != '>')) continue;
    const std::string_view part = s.substr(begin, p - begin);
    const bool empty = part.find_first_not_of(' ') == std::string_view::npos;
    if (!(empty && c == '>' && dims.empty())) {
      auto d = Dim::parse(part, [&](std::string_view n) { return symbol(n); });
      if (!d.ok()) {
        syntax(begin, d.errors()[0].message);
        return dims;
      }
      dims.push_back(*d);
    }
    begin = p + 1;
    if (c == '>') {
      lex.seek(begin);
      return dims;
    }
  }
  syntax(open, "#tenfold.dims<...> does not end");
  return dims;
}

Type Reader::element_type() {
  Type t;
  const Token tok = lex.peek();
  if (tok.kind == Tok::Bang) {
    lex.next();
    if (tok.text.starts_with("quant.")) {
      problem(tok.begin, "text-quantized",
              "quantized element type !" + std::string(tok.text) +
                  "<...> is not taken; write the quantization as plain ops");
      if (lex.peek().is('<')) balanced(tok.begin);
      t.kind = Type::Kind::Scalar;
      return t;
    }
    syntax(tok.begin, "!" + std::string(tok.text) + " is no element type");
    return t;
  }
  if (tok.kind != Tok::Ident) {
    wanted("an element type");
    return t;
  }
  lex.next();
  t.kind = Type::Kind::Scalar;
  if (tok.text == "complex") {
    expect('<');
    const Type part = element_type();
    expect('>');
    if (failed) return t;
    const DType d = part.tensor.dtype;
    if (part.kind != Type::Kind::Scalar || (d != DType::F32 && d != DType::F64)) {
      problem(tok.begin, "text-type",
              "complex<" + part.str() + "> is not taken, only complex<f32> and complex<f64>");
    }
    t.tensor.dtype = d == DType::F64 ? DType::C128 : DType::C64;
    return t;
  }
  if (tok.text == "index") {
    t.kind = Type::Kind::Index;
    t.tensor.dtype = DType::I64;
    return t;
  }
  const std::string_view name = tok.text.starts_with("si") ? tok.text.substr(1) : tok.text;
  if (auto d = dtype_from_name(name)) {
    t.tensor.dtype = *d;
  } else {
    problem(tok.begin, "text-type", "element type " + std::string(tok.text) + " is not taken");
  }
  return t;
}

// After "tensor"; the current token is '<'.
Type Reader::tensor() {
  Type t;
  t.kind = Type::Kind::Tensor;
  const size_t start = lex.offset();
  if (!lex.peek().is('<')) {
    wanted("'<'");
    return t;
  }
  const std::string_view s = lex.source();
  size_t p = start + 1;
  auto blank = [&] {
    while (p < s.size() && (s[p] == ' ' || s[p] == '\n' || s[p] == '\t' || s[p] == '\r')) ++p;
  };
  Shape shape;
  for (blank(); p < s.size(); blank()) {
    if (s[p] == '*') {
      syntax(p, "tensors of unknown rank are not taken");
      return t;
    }
    if (s[p] == '?') {
      ++p;
      shape.push_back(Dim::symbol(std::string(kHole)));
    } else if (s[p] >= '0' && s[p] <= '9') {
      int64_t v = 0;
      const size_t begin = p;
      bool fits = true;
      for (; p < s.size() && s[p] >= '0' && s[p] <= '9'; ++p) {
        fits = fits && !__builtin_mul_overflow(v, 10, &v) &&
               !__builtin_add_overflow(v, s[p] - '0', &v);
      }
      if (!fits) {
        syntax(begin, "the dimension " +
                          std::string(s.substr(begin, std::min<size_t>(p - begin, 40))) +
                          " does not fit 64 bits");
        return t;
      }
      shape.push_back(Dim(v));
    } else {
      break;
    }
    blank();
    if (p >= s.size() || s[p] != 'x') {
      syntax(p, "found " +
                    (p < s.size() ? "'" + std::string(1, s[p]) + "'"
                                  : std::string("the end of the file")) +
                    ", wanted 'x' after a dimension");
      return t;
    }
    ++p;
  }
  if (shape.size() > 64) {
    syntax(start, "a tensor of rank " + std::to_string(shape.size()) + " is not taken");
    return t;
  }
  lex.seek(p);
  const Type element = element_type();
  if (failed) return t;
  t.tensor = {element.tensor.dtype, shape};
  if (eat(',')) {
    const size_t at = lex.offset();
    const Attribute a = attribute();
    if (failed) return t;
    if (a.kind == Attribute::Kind::Dims) {
      bool fits = a.dims.size() == shape.size();
      for (size_t i = 0; fits && i < shape.size(); ++i) {
        fits = is_hole(shape[i]) != a.dims[i].is_const() &&
               (is_hole(shape[i]) || shape[i] == a.dims[i]);
      }
      if (!fits) syntax(at, "the dimensions of #tenfold.dims do not fit the type");
      t.tensor.shape = a.dims;
    } else {
      // Bounds change no value that a tensor has; sparsity and layouts we do not know.
      const bool bounds = (a.kind == Attribute::Kind::Group || a.kind == Attribute::Kind::Other) &&
                          (a.text.find("bounds") != std::string::npos ||
                           a.text.find("type_extensions") != std::string::npos);
      if (!bounds) problem(at, "text-type", "the tensor encoding is not taken");
    }
  }
  expect('>');
  int64_t bytes = byte_size(t.tensor.dtype);
  bool empty = false, huge = false;
  for (const Dim& d : t.tensor.shape) {
    if (!d.is_const()) continue;
    empty |= d.value() == 0;
    huge |= __builtin_mul_overflow(bytes, d.value(), &bytes) || bytes > INT64_MAX / 4;
  }
  if (huge && !empty) syntax(start, "a tensor of more than 2^61 bytes is not taken");
  return t;
}

Type Reader::type() {
  Type t;
  const Depth depth(*this);
  if (!depth.ok) return t;
  const Token tok = lex.peek();
  if (tok.is('(')) return function_type();
  if (tok.kind == Tok::Bang) {
    if (auto it = type_aliases_.find(tok.text); it != type_aliases_.end()) {
      lex.next();
      const size_t back = lex.offset();
      lex.seek(it->second);
      t = type();  // a cycle ends at the depth limit
      lex.seek(back);
      return t;
    }
    lex.next();
    t.spelling = "!" + std::string(tok.text);
    if (tok.text == "stablehlo.token" || tok.text == "mhlo.token") t.kind = Type::Kind::Token;
    if (lex.peek().is('<')) t.spelling = balanced(tok.begin);
    return t;
  }
  if (tok.kind != Tok::Ident) {
    wanted("a type");
    return t;
  }
  if (tok.text == "tensor") {
    lex.next();
    return tensor();
  }
  if (tok.text == "none") {
    lex.next();
    t.kind = Type::Kind::None;
    return t;
  }
  if (tok.text == "tuple") {
    lex.next();
    t.kind = Type::Kind::Tuple;
    if (!expect('<')) return t;
    if (eat('>')) return t;
    t.outputs = type_list();
    expect('>');
    return t;
  }
  if (tok.text == "memref" || tok.text == "vector") {
    lex.next();
    t.spelling = balanced(tok.begin);
    return t;
  }
  return element_type();
}

std::vector<Type> Reader::type_list() {
  std::vector<Type> ts;
  do ts.push_back(type());
  while (eat(','));
  return ts;
}

std::vector<Type> Reader::result_types() {
  if (!eat('(')) return {type()};
  if (eat(')')) return {};
  std::vector<Type> ts = type_list();
  expect(')');
  return ts;
}

Type Reader::function_type() {
  Type t;
  t.kind = Type::Kind::Function;
  if (!expect('(')) return t;
  if (!eat(')')) {
    t.inputs = type_list();
    expect(')');
  }
  if (!expect_arrow()) return t;
  t.outputs = result_types();
  return t;
}

TensorType Reader::tensor_type() {
  const size_t at = lex.offset();
  const Type t = type();
  if (!failed && t.kind != Type::Kind::Tensor) {
    problem(at, "text-type", "found " + t.str() + ", wanted a tensor type");
  }
  return t.tensor;
}

}  // namespace tenfold::text
