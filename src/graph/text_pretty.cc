// The pretty forms of StableHLO's ops. Most are one line of items in some order: operands, keyword
// and value, bare words, ranges, {attributes}; one driver reads them all. The rest have a function.
#include <algorithm>

#include "graph/check.h"
#include "graph/text_parser.h"

namespace tenfold::text {
namespace {

Attribute ints(std::vector<int64_t> values, size_t offset) {
  Attribute a;
  a.kind = Attribute::Kind::Array;
  a.offset = offset;
  for (int64_t v : values) {
    Attribute x;
    x.kind = Attribute::Kind::Int;
    x.offset = offset;
    x.i = v;
    a.items.push_back(std::move(x));
  }
  return a;
}

Attribute one_int(int64_t v, size_t offset) { return ints({v}, offset).items[0]; }

Attribute text_attr(Attribute::Kind kind, std::string_view text, size_t offset) {
  Attribute a;
  a.kind = kind;
  a.text = std::string(text);
  a.offset = offset;
  return a;
}

}  // namespace

void Parser::pretty_op(Reading& in) {
  const std::string_view n = in.text_name;
  if (n == "stablehlo.constant" || n == "chlo.constant") return constant_op(in);
  if (n == "stablehlo.while") return while_op(in);
  if (n == "stablehlo.reduce") return reduce_op(in);
  if (n == "stablehlo.custom_call" || n == "func.call" || n == "call") return custom_call_op(in);
  if (n == "stablehlo.composite") return composite_op(in);
  items(in);
  if (!r_.failed && r_.eat(':')) types(in);
}

// stablehlo.constant {attrs} dense<...> : type
void Parser::constant_op(Reading& in) {
  if (r_.lex.peek().is('{')) in.attributes = r_.dictionary();
  const size_t at = r_.lex.offset();
  Attribute a = r_.attribute();
  if (r_.failed) return;
  if (a.kind != Attribute::Kind::Dense) {
    r_.problem(at, "text-attribute",
               "found " + std::string(kind_name(a.kind)) + ", wanted a dense tensor");
  }
  Type t;
  t.kind = Type::Kind::Tensor;
  t.tensor = a.literal.type();
  in.result_types.push_back(std::move(t));
  in.attributes.emplace_back("value", std::move(a));
}

// stablehlo.while(%a = %x, ...) : types attributes {..} cond {..} do {..}
void Parser::while_op(Reading& in) {
  struct Arg {
    std::string_view name;
    size_t offset;
  };
  std::vector<Arg> args;
  if (!r_.expect('(')) return;
  if (!r_.eat(')')) {
    do {
      const Token t = r_.lex.peek();
      if (t.kind != Tok::Value) return r_.wanted("the name of a loop value");
      r_.lex.next();
      args.push_back({t.text, t.begin});
      if (!r_.expect('=')) return;
      operand(in);
    } while (r_.eat(','));
    r_.expect(')');
  }
  if (r_.eat(':')) in.result_types = r_.type_list();
  if (r_.failed) return;
  if (in.result_types.size() != args.size()) {
    return r_.syntax(in.offset, "the loop has " + std::to_string(args.size()) + " values and " +
                                    std::to_string(in.result_types.size()) + " types");
  }
  in.functional = true;
  in.operand_types = in.result_types;
  if (r_.eat("attributes")) {
    for (auto& kv : r_.dictionary()) in.attributes.push_back(std::move(kv));
  }
  auto body_of = [&] {
    Block& b = *in.op->add_region();
    const size_t mark = scope();
    for (size_t i = 0; i < args.size(); ++i) {
      block_argument(b, args[i].name, in.result_types[i], args[i].offset);
    }
    region(b);
    leave(mark);
  };
  if (!r_.eat("cond")) return r_.wanted("cond");
  body_of();
  if (!r_.eat("do")) return r_.wanted("do");
  body_of();
}

// stablehlo.reduce(%x init: %i), ... [applies op] across dimensions = [..] {attrs} : type
//   [reducer(%a: t, %b: t) ... { ... }]
void Parser::reduce_op(Reading& in) {
  std::vector<Named> inits;
  std::vector<size_t> init_offsets;
  do {
    if (!r_.expect('(')) return;
    operand(in);
    if (!r_.eat("init")) return r_.wanted("init");
    if (!r_.expect(':')) return;
    init_offsets.push_back(r_.lex.offset());
    inits.push_back(use());
    if (!r_.expect(')')) return;
  } while (r_.eat(','));
  in.operands.insert(in.operands.end(), inits.begin(), inits.end());
  in.operand_offsets.insert(in.operand_offsets.end(), init_offsets.begin(), init_offsets.end());

  std::string_view inner;
  size_t inner_at = 0;
  if (r_.eat("applies")) {
    const Token t = r_.lex.peek();
    if (t.kind != Tok::Ident && t.kind != Tok::String) return r_.wanted("an op");
    inner = t.text;
    inner_at = t.begin;
    r_.lex.next();
  }
  if (!r_.eat("across")) return r_.wanted("across");
  if (!r_.eat("dimensions")) return r_.wanted("dimensions");
  if (!r_.expect('=')) return;
  in.attributes.emplace_back("dimensions", r_.attribute(false));
  if (r_.lex.peek().is('{')) {
    for (auto& kv : r_.dictionary()) in.attributes.push_back(std::move(kv));
  }
  if (!r_.expect(':')) return;
  types(in);
  if (r_.failed) return;
  Block& b = *in.op->add_region();
  if (!inner.empty()) {
    const OpDef* def = op_of_text_name(inner);
    if (!def || def->num_results != 1) {
      return r_.problem(inner_at, "text-unknown-op",
                        "op " + std::string(inner) + " is not known as a reducer");
    }
    // Two scalars of the result's element type, as StableHLO has it.
    const auto ts = tensor_types(in.result_types, in.offset);
    const TensorType scalar{ts.empty() ? DType::F32 : ts[0].dtype, {}};
    Value* x = b.add_arg(scalar);
    Value* y = b.add_arg(scalar);
    auto op = std::make_unique<Op>();
    op->def = def;
    op->loc = r_.lex.at(inner_at);
    op->set_operands({x, y});
    Value* r = op->add_result(scalar);
    b.append(std::move(op));
    auto ret = std::make_unique<Op>();
    ret->def = op_of_text_name("stablehlo.return");
    ret->loc = r_.lex.at(inner_at);
    ret->set_operands({r});
    b.append(std::move(ret));
    return;
  }
  if (!r_.eat("reducer")) return r_.wanted("reducer");
  // Printed in pairs (a_i, b_i); the block has all a first, then all b.
  struct Arg {
    Token name;
    Type type;
    std::optional<Loc> loc;
  };
  std::vector<Arg> firsts, seconds;
  const size_t mark = scope();
  while (r_.eat('(')) {
    for (auto* list : {&firsts, &seconds}) {
      if (list == &seconds && !r_.expect(',')) return;
      const Token t = r_.lex.peek();
      if (t.kind != Tok::Value) return r_.wanted("an argument (%name)");
      r_.lex.next();
      if (!r_.expect(':')) return;
      Type type = r_.type();
      list->push_back({t, std::move(type), r_.trailing_loc()});
      if (r_.failed) return;
    }
    if (!r_.expect(')')) return;
  }
  for (auto* list : {&firsts, &seconds}) {
    for (auto& a : *list) block_argument(b, a.name.text, a.type, a.name.begin);
  }
  region(b);
  leave(mark);
}

// stablehlo.custom_call @name(%a, ...) {attrs} : type; func.call @f(%a) : type
void Parser::custom_call_op(Reading& in) {
  const Token t = r_.lex.peek();
  if (t.kind != Tok::Symbol) return r_.wanted("the name of what is called");
  r_.lex.next();
  const bool call = in.text_name != "stablehlo.custom_call";
  in.attributes.emplace_back(call ? "callee" : "call_target_name",
                             text_attr(call ? Attribute::Kind::Symbol : Attribute::Kind::String,
                                       unescape(t.text), t.begin));
  items(in);
  if (!r_.failed && r_.expect(':')) types(in);
}

// stablehlo.composite "name" %a, ... {attrs} : type
void Parser::composite_op(Reading& in) {
  const size_t at = r_.lex.offset();
  const std::string name = r_.string_literal();
  in.attributes.emplace_back("name", text_attr(Attribute::Kind::String, name, at));
  items(in);
  if (!r_.failed && r_.expect(':')) types(in);
}

// Bare words and lists of them: [DEFAULT, HIGHEST], RFFT. Anything else is an attribute.
Attribute Parser::words() {
  const Token t = r_.lex.peek();
  static constexpr std::string_view kAttributes[] = {"true",           "false", "dense",
                                                     "dense_resource", "array", "unit"};
  const bool attribute =
      std::find(std::begin(kAttributes), std::end(kAttributes), t.text) != std::end(kAttributes);
  if (t.kind == Tok::Ident && !attribute) {
    r_.lex.next();
    return text_attr(Attribute::Kind::Enum, t.text, t.begin);
  }
  if (!t.is('[')) return r_.attribute(false);
  Attribute a;
  a.kind = Attribute::Kind::Array;
  a.offset = t.begin;
  const Reader::Depth depth(r_);
  if (!depth.ok) return a;
  r_.lex.next();
  if (r_.eat(']')) return a;
  do a.items.push_back(words());
  while (r_.eat(','));
  r_.expect(']');
  return a;
}

void Parser::keyword(Reading& in, std::string_view key, size_t offset) {
  auto put = [&](std::string_view name, Attribute a) {
    in.attributes.emplace_back(std::string(attribute_of_keyword(in.text_name, name)), std::move(a));
  };
  if (key == "dim_numbers") {
    put("dimension_numbers", r_.conv_dimensions());
  } else if (key == "window") {
    const Dictionary d = r_.dictionary();
    for (auto& [k, a] : d) put(k, a);
  } else if (key == "batching_dims" || key == "contracting_dims") {
    const std::string suffix =
        key == "batching_dims" ? "batching_dimensions" : "contracting_dimensions";
    put("lhs_" + suffix, ints(r_.integer_list(), offset));
    if (!r_.eat("x") && !r_.failed) return r_.wanted("'x'");
    put("rhs_" + suffix, ints(r_.integer_list(), offset));
  } else if (key == "format") {  // e5m10
    const Token t = r_.lex.peek();
    const size_t m = t.text.find('m');
    auto number = [](std::string_view s) {
      int64_t v = s.empty() || s.size() > 3 ? -1 : 0;
      for (char c : s) v = v < 0 || c < '0' || c > '9' ? -1 : v * 10 + (c - '0');
      return v;
    };
    int64_t e = -1, f = -1;
    if (t.kind == Tok::Ident && t.text.starts_with("e") && m != std::string_view::npos) {
      e = number(t.text.substr(1, m - 1));
      f = number(t.text.substr(m + 1));
    }
    if (e < 0 || f < 0) return r_.wanted("a format such as e5m10");
    r_.lex.next();
    put("exponent_bits", one_int(e, offset));
    put("mantissa_bits", one_int(f, offset));
  } else {
    put(key, words());
  }
}

// [0:4, 1:9:2]
void Parser::slice_ranges(Reading& in) {
  const size_t at = r_.lex.offset();
  std::vector<int64_t> start, limit, stride;
  if (!r_.expect('[')) return;
  if (!r_.eat(']')) {
    do {
      start.push_back(r_.integer());
      if (!r_.expect(':')) return;
      limit.push_back(r_.integer());
      stride.push_back(r_.eat(':') ? r_.integer() : 1);
    } while (r_.eat(','));
    r_.expect(']');
  }
  in.attributes.emplace_back("start_indices", ints(start, at));
  in.attributes.emplace_back("limit_indices", ints(limit, at));
  in.attributes.emplace_back("strides", ints(stride, at));
}

void Parser::items(Reading& in) {
  int words_seen = 0;
  while (!r_.failed) {
    const Token t = r_.lex.peek();
    if (t.kind == Tok::Value) {
      operand(in);
    } else if (t.is('(')) {
      r_.lex.next();
      if (r_.eat(')')) continue;
      do {
        const Token k = r_.lex.peek();
        if (k.kind == Tok::Ident) {  // chlo.top_k(%x, k = 2)
          r_.lex.next();
          if (!r_.expect('=')) return;
          keyword(in, k.text, k.begin);
        } else {
          operand(in);
        }
      } while (r_.eat(','));
      r_.expect(')');
    } else if (t.is(',')) {
      r_.lex.next();
      const Token& after = r_.lex.peek();
      if (after.kind != Tok::Value && after.kind != Tok::Ident) r_.wanted("an operand");
    } else if (t.is('{')) {
      for (auto& kv : r_.dictionary()) in.attributes.push_back(std::move(kv));
    } else if (t.is('[') && in.text_name == "stablehlo.slice") {
      slice_ranges(in);
    } else if (t.is('[') && in.text_name == "stablehlo.get_tuple_element") {
      r_.lex.next();
      in.attributes.emplace_back("index", one_int(r_.integer(), t.begin));
      r_.expect(']');
    } else if (t.kind == Tok::Ident) {
      if (t.is("loc")) return;
      const size_t back = t.begin;
      r_.lex.next();
      if (r_.eat('=')) {
        keyword(in, t.text, t.begin);
        continue;
      }
      // compare LT, %a, %b, SIGNED
      if (in.text_name != "stablehlo.compare" || words_seen >= 2) {
        r_.lex.seek(back);
        return;
      }
      in.attributes.emplace_back(words_seen == 0 ? "comparison_direction" : "compare_type",
                                 text_attr(Attribute::Kind::Enum, t.text, t.begin));
      ++words_seen;
    } else {
      return;
    }
  }
}

// After ':': (types) -> types, or a list of types whose meaning is the op's.
void Parser::types(Reading& in) {
  std::vector<Type> listed;
  if (r_.lex.peek().is('(')) {
    const Type f = r_.function_type();
    in.functional = true;
    in.operand_types = f.inputs;
    in.result_types = f.outputs;
    return;
  }
  listed = r_.type_list();
  if (r_.failed) return;
  if (r_.lex.peek().kind == Tok::Arrow) {  // chlo: type -> type
    r_.lex.next();
    in.functional = true;
    in.operand_types = std::move(listed);
    in.result_types = r_.result_types();
    return;
  }
  if (in.def && in.def->kind == OpKind::Terminator) {
    in.functional = true;
    in.operand_types = std::move(listed);
    return;
  }
  if (in.text_name == "stablehlo.optimization_barrier") {
    in.functional = true;
    in.operand_types = listed;
    in.result_types = std::move(listed);
    return;
  }
  if (in.text_name == "stablehlo.select" && listed.size() == 2) {
    in.functional = true;
    in.operand_types = {listed[0], listed[1], listed[1]};
    in.result_types = {listed[1]};
    return;
  }
  if (listed.size() != 1) {
    return r_.problem(in.offset, "text-type",
                      std::string(in.text_name) + " has " + std::to_string(listed.size()) +
                          " types, wanted one or (types) -> types");
  }
  // One type for the result and, but for a few ops, every operand.
  static constexpr std::string_view kOthers[] = {"stablehlo.complex", "stablehlo.tuple",
                                                 "stablehlo.clamp", "stablehlo.after_all"};
  if (std::find(std::begin(kOthers), std::end(kOthers), in.text_name) == std::end(kOthers)) {
    in.functional = true;
    in.operand_types.assign(in.operands.size(), listed[0]);
  }
  in.result_types = std::move(listed);
}

}  // namespace tenfold::text
