// See case_file.h.
#include "case_file.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <map>

#include <fmt/format.h>

namespace tenfold::testing {
namespace {

struct Typed {
  TensorType type;
  std::optional<Literal> value;
  bool constant = false;
};

class Parser {
 public:
  Parser(const std::string& text, std::string where) : s_(text), where_(std::move(where)) {}

  Result<Case> run() {
    Case c;
    c.where = where_;
    c.text = s_;
    c.op = word();
    const OpDef* def = find_op(c.op);
    if (!def) return err("no op is called '" + c.op + "'");
    AttrDict attrs;
    std::vector<std::string> bodies;
    if (eat('{')) {
      while (!eat('}')) {
        const std::string key = word();
        if (!eat('=')) return err("expected = after " + key);
        if (key == "body") {
          bodies.push_back(until_outside(",}"));
        } else {
          const AttrSpec* spec = nullptr;
          for (const AttrSpec& a : def->attrs) {
            if (a.name == key) spec = &a;
          }
          if (!spec) return err(c.op + " has no attribute " + key);
          TF_ASSIGN(Attr a, attribute(spec->kind));
          attrs.emplace_back(key, std::move(a));
        }
        eat(',');
      }
    }
    if (!eat('(')) return err("expected (");
    std::vector<Typed> operands;
    while (!eat(')')) {
      const bool constant = eat_word("const");
      TF_ASSIGN(Typed t, typed());
      t.constant = constant;
      operands.push_back(std::move(t));
      eat(',');
    }
    if (!eat('-') || !eat('>')) return err("expected ->");
    TF_TRY(wanted(c));
    TF_TRY(build(c, *def, std::move(attrs), bodies, operands));
    return c;
  }

 private:
  Error err(const std::string& m) { return Error{"test-syntax", m + " in: " + s_, {where_}, {}}; }
  void space() {
    while (at_ < s_.size() && std::isspace(static_cast<unsigned char>(s_[at_]))) ++at_;
  }
  bool eat(char c) {
    space();
    if (at_ >= s_.size() || s_[at_] != c) return false;
    ++at_;
    return true;
  }
  char peek() {
    space();
    return at_ < s_.size() ? s_[at_] : '\0';
  }
  std::string word() {
    space();
    const size_t from = at_;
    while (at_ < s_.size() && (std::isalnum(static_cast<unsigned char>(s_[at_])) ||
                               std::strchr("_.#+-*<>", s_[at_]))) {
      if (s_[at_] == '-' && at_ + 1 < s_.size() && s_[at_ + 1] == '>') break;
      ++at_;
    }
    return s_.substr(from, at_ - from);
  }
  bool eat_word(std::string_view w) {
    const size_t back = at_;
    if (word() == w) return true;
    at_ = back;
    return false;
  }
  // Text up to one of `stops` outside brackets, which is left in place.
  std::string until_outside(std::string_view stops) {
    space();
    const size_t from = at_;
    int depth = 0;
    for (; at_ < s_.size(); ++at_) {
      if (depth == 0 && stops.find(s_[at_]) != stops.npos) break;
      depth += s_[at_] == '(' || s_[at_] == '[';
      depth -= s_[at_] == ')' || s_[at_] == ']';
    }
    return s_.substr(from, at_ - from);
  }

  SymbolRef symbol(std::string_view name) {
    SymbolRef& s = symbols_[std::string(name)];
    if (!s) s = std::make_shared<Symbol>(Symbol{std::string(name), 0, INT64_MAX});
    return s;
  }
  Result<Dim> dim() {
    return Dim::parse(until_outside(",]"), [&](std::string_view n) { return symbol(n); });
  }

  Result<TensorType> type() {
    std::string n = word();
    if (n == "c64") n = "complex<f32>";
    if (n == "c128") n = "complex<f64>";
    const auto t = dtype_from_name(n);
    if (!t) return err("no element type is called '" + n + "'");
    TensorType r{*t, {}};
    if (eat('[')) {
      while (!eat(']')) {
        TF_ASSIGN(Dim d, dim());
        r.shape.push_back(d);
        eat(',');
      }
    }
    return r;
  }

  static void set(Literal& l, int64_t i, const std::string& w, const std::string& im) {
    const auto number = [](const std::string& x) { return std::strtod(x.c_str(), nullptr); };
    if (w[0] == '#') {
      const uint64_t bits = std::strtoull(w.c_str() + 1, nullptr, 16);
      std::memcpy(l.mutable_bytes() + i * byte_size(l.dtype()), &bits, byte_size(l.dtype()));
    } else if (is_complex(l.dtype())) {
      l.set_c128(i, {number(w), number(im)});
    } else if (is_float(l.dtype())) {
      l.set_f64(i, number(w));
    } else if (w == "true" || w == "false") {
      l.set_i64(i, w == "true");
    } else if (w[0] == '-') {
      l.set_i64(i, std::strtoll(w.c_str(), nullptr, 0));
    } else {
      l.set_i64(i, static_cast<int64_t>(std::strtoull(w.c_str(), nullptr, 0)));
    }
  }

  Result<Typed> typed() {
    Typed t;
    TF_ASSIGN(t.type, type());
    if (!t.type.is_static()) return t;
    Literal l(t.type.dtype, t.type.static_shape());
    if (peek() == ',' || peek() == ')' || peek() == '\0' || peek() == '}') {
      if (l.size() == 0) t.value = l;
      return t;
    }
    if (eat_word("iota")) {
      for (int64_t i = 0; i < l.size(); ++i) l = put(std::move(l), i, std::to_string(i));
      t.value = l;
      return t;
    }
    const bool splat = eat('*');
    const int64_t n = splat ? 1 : l.size();
    for (int64_t i = 0; i < n; ++i) {
      std::string re, im;
      if (eat('(')) {
        re = word();
        eat(',');
        im = word();
        eat(')');
      } else {
        re = word();
      }
      if (re.empty()) return err(fmt::format("expected {} values of {}", n, t.type.str()));
      for (int64_t k = i; k < (splat ? l.size() : i + 1); ++k) set(l, k, re, im);
    }
    t.value = std::move(l);
    return t;
  }
  static Literal put(Literal l, int64_t i, const std::string& w) {
    set(l, i, w, "0");
    return l;
  }

  Result<Attr> attribute(AttrKind kind) {
    switch (kind) {
      case AttrKind::Bool:
        return Attr{word() == "true"};
      case AttrKind::I64:
        return Attr{int64_t{std::strtoll(word().c_str(), nullptr, 0)}};
      case AttrKind::F64:
        return Attr{std::strtod(word().c_str(), nullptr)};
      case AttrKind::Str:
      case AttrKind::Enum:
      case AttrKind::Func:
        return Attr{word()};
      case AttrKind::Type: {
        TF_ASSIGN(TensorType t, type());
        return Attr{t.dtype};
      }
      case AttrKind::Lit: {
        TF_ASSIGN(Typed t, typed());
        if (!t.value) return err("expected a literal");
        return Attr{*t.value};
      }
      case AttrKind::I64s:
      case AttrKind::Bools:
      case AttrKind::Dims:
      case AttrKind::Strs:
        break;
      case AttrKind::Dict:
        return err("dictionaries are not supported here");
    }
    if (!eat('[')) return err("expected [");
    std::vector<Dim> dims;
    std::vector<std::string> strs;
    while (!eat(']')) {
      if (kind == AttrKind::Strs) {
        strs.push_back(word());
      } else {
        TF_ASSIGN(Dim d, dim());
        dims.push_back(d);
      }
      eat(',');
    }
    if (kind == AttrKind::Strs) return Attr{strs};
    if (kind == AttrKind::Dims) return Attr{dims};
    std::vector<int64_t> ints;
    for (const Dim& d : dims) ints.push_back(d.value());
    return Attr{ints};
  }

  Status wanted(Case& c) {
    if (eat('!')) {
      c.want = Case::Want::Label;
      c.label = word();
    } else if (eat('@')) {
      c.want = Case::Want::EvalError;
      c.label = word();
    } else if (eat(':')) {
      c.want = Case::Want::Types;
    } else if (eat('~')) {
      c.rtol = std::strtod(word().c_str(), nullptr);
    }
    while (peek() != '\0') {
      TF_ASSIGN(Typed t, typed());
      c.types.push_back(t.type);
      if (c.want == Case::Want::Results) {
        if (!t.value) return err("expected a result with values");
        c.results.push_back(*t.value);
      }
      eat(',');
    }
    return ok_status();
  }

  // `NAME(types)`: an op on all arguments, `compare.GT`, or one of the named bodies below.
  Status make_region(GraphBuilder& parent, Block* block, const std::string& text) {
    Parser p(text, where_);
    const std::string n = p.word();
    std::vector<Value*> a;
    if (!p.eat('(')) return err("expected a body's argument types");
    while (!p.eat(')')) {
      TF_ASSIGN(TensorType t, p.type());
      a.push_back(block->add_arg(t));
      p.eat(',');
    }
    GraphBuilder b(parent.module(), block);
    if (n == "argmax") {  // value, index; the first of equal ones, NaN greatest
      Value* wins = b.binary(Prim::Or, b.compare("GT", a[0], a[2]), b.compare("NE", a[0], a[0]));
      Value* first = b.binary(Prim::And, b.compare("EQ", a[0], a[2]), b.compare("LT", a[1], a[3]));
      Value* index = b.select(b.binary(Prim::Or, wins, first), a[1], a[3]);
      b.return_({b.select(wins, a[0], a[2]), index});
    } else if (n == "second") {
      b.return_({a[1]});
    } else if (n == "all") {
      b.return_(a);
    } else if (n == "none") {
      b.return_({});
    } else if (n == "square_plus") {  // a*a + b
      b.return_({b.binary(Prim::Add, b.binary(Prim::Mul, a[0], a[0]), a[1])});
    } else if (n == "add_with_constant") {  // (a + b) + 0, not a single primitive
      b.return_(
          {b.binary(Prim::Add, b.binary(Prim::Add, a[0], a[1]), b.constant(a[0]->type.dtype, 0))});
    } else if (n.starts_with("compare.")) {
      b.return_({b.compare(n.substr(8), a[0], a[1])});
    } else if (find_op(n)) {
      b.return_({b.create(n, a)->result()});
    } else {
      return err("no body is called " + n);
    }
    for (Error& e : b.errors) parent.errors.push_back(std::move(e));
    return ok_status();
  }

  Status build(Case& c, const OpDef& def, AttrDict attrs, const std::vector<std::string>& bodies,
               std::vector<Typed>& operands) {
    c.module = std::make_unique<Module>();
    Function* f = c.module->add_function("main", true);
    GraphBuilder b(c.module.get(), &f->body);
    b.loc.text = where_;
    std::vector<Value*> values;
    for (Typed& t : operands) {
      if (t.constant) {
        if (!t.value) return err("a constant operand needs values");
        values.push_back(b.constant(*t.value));
        continue;
      }
      values.push_back(f->body.add_arg(t.type));
      if (t.value) {
        c.args.push_back(*t.value);
      } else {
        c.has_values = false;
      }
    }
    Op* op = b.create_open(c.op, values, std::move(attrs));
    for (const std::string& body : bodies) {
      Block* block =
          op->num_regions() < static_cast<int>(bodies.size()) ? op->add_region() : nullptr;
      if (!block) return err("too many bodies");
      TF_TRY(make_region(b, block, body));
    }
    const bool stated = def.explicit_results || c.want == Case::Want::Results;
    b.finish(op, stated ? c.types : std::vector<TensorType>{});
    c.subject = op;
    std::vector<Value*> results;
    for (int i = 0; i < op->num_results(); ++i) results.push_back(op->result(i));
    b.return_(results);
    c.build_errors = std::move(b.errors);
    return ok_status();
  }

  const std::string s_;
  std::string where_;
  size_t at_ = 0;
  std::map<std::string, SymbolRef> symbols_;
};

}  // namespace

Result<Case> parse_case(const std::string& text, const std::string& where) {
  return Parser(text, where).run();
}

Result<std::vector<std::pair<std::string, std::string>>> case_lines(const std::string& path) {
  std::ifstream in(path);
  if (!in) return Error{"test-file", "cannot read " + path, {path}, {}};
  std::vector<std::pair<std::string, std::string>> lines;
  std::string line;
  const std::string file = path.substr(path.rfind('/') + 1);
  for (int n = 1; std::getline(in, line); ++n) {
    if (line.empty() || line[0] == '#') continue;
    if (line[0] == ' ' && !lines.empty()) {
      lines.back().second += line;
    } else {
      lines.emplace_back(file + ":" + std::to_string(n), line);
    }
  }
  return lines;
}

Result<std::vector<Case>> read_cases(const std::string& path) {
  TF_ASSIGN(auto lines, case_lines(path));
  std::vector<Case> cases;
  for (auto& [where, text] : lines) {
    TF_ASSIGN(Case c, parse_case(text, where));
    cases.push_back(std::move(c));
  }
  return cases;
}

}  // namespace tenfold::testing
