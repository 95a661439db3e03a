// The parser of modules: structure, names, the generic form of ops. A syntax error ends the
// reading; everything else is recorded and reading goes on, so that one run lists a file's
// problems.
#include <algorithm>

#include "graph/check.h"
#include "graph/text.h"
#include "graph/text_parser.h"

namespace tenfold::text {

// --- names ---------------------------------------------------------------------------------------

void Parser::define(std::string_view name, std::vector<Named> values, size_t offset) {
  if (!values_.try_emplace(name, std::move(values)).second) {
    r_.problem(offset, "text-value", "%" + std::string(name) + " is defined twice");
    return;
  }
  defined_.push_back(name);
}

void Parser::leave(size_t mark) {
  while (defined_.size() > mark) {
    values_.erase(defined_.back());
    defined_.pop_back();
  }
}

Value* Parser::stand_in(TensorType t) {
  auto op = std::make_unique<Op>();
  op->def = &kUnknownOp;
  Value* v = op->add_result(std::move(t));
  stand_ins_.push_back(std::move(op));
  return v;
}

Named Parser::use() {
  const Token t = r_.lex.peek();
  if (t.kind != Tok::Value) {
    r_.wanted("a value (%name)");
    return {{stand_in()}};
  }
  r_.lex.next();
  int64_t index = 0;
  bool indexed = false;
  if (r_.lex.peek().is('#') && r_.lex.peek().begin == t.end) {
    r_.lex.next();
    index = r_.integer();
    indexed = true;
  }
  auto it = values_.find(t.text);
  if (it == values_.end()) {
    r_.problem(t.begin, "text-value", "%" + std::string(t.text) + " is not defined here");
    return {{stand_in()}};
  }
  if (index < 0 || index >= static_cast<int64_t>(it->second.size()) ||
      (!indexed && it->second.size() != 1)) {
    r_.problem(t.begin, "text-value",
               "%" + std::string(t.text) + " stands for " + std::to_string(it->second.size()) +
                   " values" + (indexed ? ", not for #" + std::to_string(index) : "; write #n"));
    return {{stand_in()}};
  }
  return it->second[static_cast<size_t>(index)];
}

void Parser::operand(Reading& in) {
  in.operand_offsets.push_back(r_.lex.offset());
  in.operands.push_back(use());
}

Location Parser::place(size_t offset, const std::optional<Loc>& loc,
                       std::vector<std::string>* origins) {
  if (!loc) return r_.lex.at(offset);
  if (origins) {
    *origins = loc->origins;
    if (origins->empty() && !loc->bare && !loc->name.empty()) origins->push_back(loc->name);
  }
  return {loc->place};
}

void Parser::stamp(Op& op, size_t offset, const std::optional<Loc>& loc) {
  op.loc = place(offset, loc, &op.origins);
}

// --- modules and functions -----------------------------------------------------------------------

Result<std::unique_ptr<Module>> Parser::run(std::string_view file) {
  module_ = std::make_unique<Module>();
  module_->source = std::string(file);
  top_level();
  if (!r_.failed && r_.errors.empty() && holes_) resolve_holes();
  if (r_.errors.empty() && module_->functions.empty()) {
    r_.problem(0, "text-empty", "the file has no function");
  }
  if (!r_.errors.empty()) {
    module_.reset();  // before the values that stood in for missing ones
    return std::move(r_.errors);
  }
  return std::move(module_);
}

void Parser::top_level() {
  bool module_seen = false;
  while (!r_.failed && r_.lex.peek().kind != Tok::End) {
    const Token t = r_.lex.peek();
    if (r_.skip_alias_definition()) continue;
    if (t.kind == Tok::MetaOpen) {  // resources: read beforehand
      while (r_.lex.peek().kind != Tok::End && r_.lex.peek().kind != Tok::MetaClose) r_.lex.next();
      r_.lex.next();
    } else if (t.is("module") || t.is("builtin.module")) {
      if (module_seen) return r_.wanted("the end of the file after the module");
      module_seen = true;
      r_.lex.next();
      module_op(false);
    } else if (t.kind == Tok::String && t.text == "builtin.module") {
      if (module_seen) return r_.wanted("the end of the file after the module");
      module_seen = true;
      r_.lex.next();
      module_op(true);
    } else if (!module_seen && (t.is("func.func") || t.is("func"))) {
      r_.lex.next();
      function();
    } else {
      return r_.wanted("a module or func.func");
    }
  }
}

void Parser::module_attributes(const Dictionary& d) {
  for (auto& [key, a] : d) {
    if (key == "sym_name" && a.kind == Attribute::Kind::String) module_->name = a.text;
    if ((key == "mhlo.num_partitions" || key == "mhlo.num_replicas") && a.i > 1) {
      r_.problem(a.offset, "text-devices",
                 "the module is made for " + std::to_string(a.i) + " devices (" + key +
                     "); only one is taken");
    }
    if (key == "tenfold.symbols" && a.kind == Attribute::Kind::Dict) {
      for (auto& [name, bounds] : *a.dict) {
        const bool ok = bounds.kind == Attribute::Kind::Array && bounds.items.size() == 2 &&
                        bounds.items[0].kind == Attribute::Kind::Int &&
                        bounds.items[1].kind == Attribute::Kind::Int &&
                        bounds.items[0].i <= bounds.items[1].i;
        if (!ok) {
          r_.problem(bounds.offset, "text-symbols",
                     "the bounds of symbol " + name + " must be [least, greatest]");
          continue;
        }
        auto s = std::make_shared<Symbol>();
        s->name = name;
        s->min = bounds.items[0].i;
        s->max = bounds.items[1].i;
        r_.symbols[name] = std::move(s);
      }
    }
  }
}

void Parser::module_op(bool generic) {
  const Reader::Depth depth(r_);
  if (!depth.ok) return;
  if (!generic) {
    if (r_.lex.peek().kind == Tok::Symbol) module_->name = unescape(r_.lex.next().text);
    if (r_.eat("attributes")) module_attributes(r_.dictionary());
    if (!r_.expect('{')) return;
    functions('}');
    r_.trailing_loc();
    return;
  }
  if (!r_.expect('(') || !r_.expect(')')) return;
  if (r_.eat('<')) {
    module_attributes(r_.dictionary());
    r_.expect('>');
  }
  if (!r_.expect('(') || !r_.expect('{')) return;
  functions('}');
  r_.expect(')');
  if (r_.lex.peek().is('{')) module_attributes(r_.dictionary());
  r_.expect(':');
  r_.function_type();
  r_.trailing_loc();
}

void Parser::functions(char close) {
  while (!r_.failed && !r_.eat(close)) {
    const Token t = r_.lex.peek();
    if (r_.eat("func.func") || r_.eat("func")) {
      function();
    } else if (t.kind == Tok::String && t.text == "func.func") {
      r_.lex.next();
      generic_function(t.begin);
    } else if (t.kind == Tok::Ident || t.kind == Tok::String) {
      r_.syntax(t.begin, "found " + Lexer::found(t) +
                             ", wanted func.func or '}': a module may only hold functions");
    } else {
      r_.wanted("func.func or '}'");
    }
  }
}

Function* Parser::make_function(std::string_view name, bool is_public, size_t offset) {
  if (module_->find(name)) {
    r_.problem(offset, "text-function", "function @" + std::string(name) + " comes twice");
  }
  return module_->add_function(std::string(name), is_public);
}

void Parser::function_result_names(Function* f, const std::vector<Dictionary>& attrs) {
  bool any = false;
  std::vector<std::string> names;
  for (auto& d : attrs) {
    const Attribute* a = find(d, "tenfold.name");
    if (!a) a = find(d, "jax.result_info");
    names.push_back(a ? a->text : std::string());
    any |= a != nullptr;
  }
  if (any) f->result_names = std::move(names);
}

// func.func public @main(%a: tensor<..> {attrs} loc(..), ...) -> (tensor<..> {attrs}, ...)
//     attributes {...} { body }
void Parser::function() {
  const Reader::Depth depth(r_);
  if (!depth.ok) return;
  bool is_public = true;
  if (r_.eat("private")) {
    is_public = false;
  } else if (!r_.eat("public")) {
    r_.eat("nested");
  }
  const Token name = r_.lex.peek();
  if (name.kind != Tok::Symbol) return r_.wanted("the function's @name");
  r_.lex.next();
  Function* f = make_function(unescape(name.text), is_public, name.begin);
  const size_t mark = scope();
  if (!r_.expect('(')) return;
  if (r_.lex.peek().is("tensor")) {
    return r_.syntax(r_.lex.offset(),
                     "function @" + f->name + " is only declared; every function needs a body");
  }
  block_arguments(f->body, ')');
  std::vector<TensorType> results;
  std::vector<Dictionary> result_attrs;
  if (!r_.failed && r_.lex.peek().kind == Tok::Arrow) {
    r_.lex.next();
    const size_t at = r_.lex.offset();
    std::vector<Type> ts;
    if (r_.eat('(')) {
      if (!r_.eat(')')) {
        do {
          ts.push_back(r_.type());
          result_attrs.push_back(r_.lex.peek().is('{') ? r_.dictionary() : Dictionary{});
        } while (r_.eat(','));
        r_.expect(')');
      }
    } else {
      ts.push_back(r_.type());
      result_attrs.emplace_back();
    }
    results = tensor_types(ts, at);
  }
  if (r_.failed) return;
  function_result_names(f, result_attrs);
  if (r_.eat("attributes")) r_.dictionary();
  const size_t at = r_.lex.offset();
  if (!r_.lex.peek().is('{')) {
    return r_.syntax(at, "function @" + f->name + " is only declared; every function needs a body");
  }
  r_.lex.next();
  body(f->body);
  r_.trailing_loc();
  leave(mark);
  if (r_.failed || f->body.ops.empty()) return;
  const auto given = region_result_types(f->body);
  bool same = given.size() == results.size();
  for (size_t i = 0; same && i < given.size(); ++i) {
    same = has_holes(results[i]) || has_holes(given[i]) || may_be_same(given[i], results[i]);
  }
  if (!same) {
    r_.problem(name.begin, "text-function",
               "function @" + f->name + " returns " + tenfold::type_list(given) + ", stated are " +
                   tenfold::type_list(results));
  }
}

void Parser::generic_function(size_t offset) {
  const Reader::Depth depth(r_);
  if (!depth.ok || !r_.expect('(') || !r_.expect(')')) return;
  Dictionary props;
  if (r_.eat('<')) {
    props = r_.dictionary();
    r_.expect('>');
  }
  if (r_.failed) return;
  const Attribute* name = find(props, "sym_name");
  const Attribute* visibility = find(props, "sym_visibility");
  if (!name || name->kind != Attribute::Kind::String) {
    return r_.syntax(offset, "func.func has no sym_name");
  }
  Function* f = make_function(name->text, !visibility || visibility->text == "public", offset);
  if (const Attribute* a = find(props, "res_attrs")) {
    std::vector<Dictionary> ds;
    for (auto& item : a->items) ds.push_back(item.dict ? *item.dict : Dictionary{});
    function_result_names(f, ds);
  }
  const size_t mark = scope();
  if (!r_.expect('(')) return;
  region(f->body);
  r_.expect(')');
  leave(mark);
  if (r_.lex.peek().is('{')) r_.dictionary();
  if (r_.expect(':')) r_.function_type();
  r_.trailing_loc();
}

// --- blocks --------------------------------------------------------------------------------------

Value* Parser::block_argument(Block& b, std::string_view name, const Type& type, size_t offset) {
  if (type.kind == Type::Kind::Tuple) {
    Named parts{{}, true};
    for (const TensorType& t : tensor_types(type.outputs, offset)) {
      parts.parts.push_back(b.add_arg(t));
    }
    define(name, {std::move(parts)}, offset);
    return nullptr;
  }
  const auto ts = tensor_types({type}, offset);
  Value* v = b.add_arg(ts[0], std::string(name));
  if (b.parent_function() &&
      has_holes(v->type)) {  // every open size of an argument is a symbol of its own
    for (size_t i = 0; i < v->type.shape.size(); ++i) {
      if (!is_hole(v->type.shape[i])) continue;
      std::string s = std::string(name) + "_" + std::to_string(i);
      while (r_.symbols.contains(s)) s += "_";
      v->type.shape[i] = Dim::symbol(r_.symbol(s));
    }
  }
  define(name, {Named{{v}}}, offset);
  return v;
}

// (%a: type {attrs} loc, ...) up to and including `close`.
void Parser::block_arguments(Block& b, char close) {
  if (r_.eat(close)) return;
  do {
    const Token name = r_.lex.peek();
    if (name.kind != Tok::Value) return r_.wanted("an argument (%name)");
    r_.lex.next();
    if (!r_.expect(':')) return;
    const Type t = r_.type();
    Dictionary attrs;
    if (!r_.failed && r_.lex.peek().is('{')) attrs = r_.dictionary();
    const std::optional<Loc> loc = r_.trailing_loc();
    if (r_.failed) return;
    Value* v = block_argument(b, name.text, t, name.begin);
    if (!v) continue;
    if (const Attribute* a = find(attrs, "tenfold.name")) {
      v->name = a->text;
    } else if (loc && loc->bare && !loc->name.empty()) {
      v->name = loc->name;
    }
  } while (r_.eat(','));
  r_.expect(close);
}

void Parser::body(Block& b) {
  while (!r_.failed && !r_.eat('}')) {
    if (r_.lex.peek().kind == Tok::Block) {
      return r_.syntax(r_.lex.offset(), "a region of several blocks is not taken");
    }
    op(b);
  }
  if (!r_.failed && (b.ops.empty() || b.ops.back()->def->kind != OpKind::Terminator)) {
    r_.problem(r_.lex.offset(), "text-terminator", "the block before this ends without a return");
  }
}

void Parser::region(Block& b) {
  const Reader::Depth depth(r_);
  if (!depth.ok || !r_.expect('{')) return;
  const size_t mark = scope();
  if (r_.lex.peek().kind == Tok::Block) {
    r_.lex.next();
    if (r_.eat('(')) block_arguments(b, ')');
    if (!r_.expect(':')) return;
  }
  body(b);
  leave(mark);
}

// --- ops -----------------------------------------------------------------------------------------

void Parser::op(Block& b) {
  const Reader::Depth depth(r_);
  if (!depth.ok) return;
  Reading in;
  in.op = std::make_unique<Op>();
  if (r_.lex.peek().kind == Tok::Value) {
    do {
      const Token t = r_.lex.peek();
      if (t.kind != Tok::Value) return r_.wanted("a result (%name)");
      r_.lex.next();
      ResultName n{t.text, 1, t.begin};
      if (r_.eat(':')) n.count = r_.integer();
      if (n.count < 1 || n.count > 1'000'000) {
        return r_.syntax(t.begin,
                         "a name cannot stand for " + std::to_string(n.count) + " results");
      }
      in.names.push_back(n);
    } while (r_.eat(','));
    if (!r_.expect('=')) return;
  }
  const Token t = r_.lex.peek();
  in.offset = t.begin;
  in.text_name = t.text;
  if (t.kind != Tok::Ident && t.kind != Tok::String) return r_.wanted("an op");
  r_.lex.next();
  in.def = op_of_text_name(t.text);
  in.op->def = in.def ? in.def : &kUnknownOp;
  if (t.kind == Tok::String) {
    generic_op(in);
  } else {
    if (!in.def && t.text.find('.') == std::string_view::npos) {
      return r_.syntax(t.begin, "found " + Lexer::found(t) + ", wanted an op");
    }
    pretty_op(in);
  }
  if (r_.failed) return;
  in.loc = r_.trailing_loc();
  if (r_.failed) return;
  finish(in, b);
}

// "name"(%a, ...) <{properties}> ({region}, ...) {attributes} : (types) -> types
void Parser::generic_op(Reading& in) {
  if (!r_.expect('(')) return;
  if (!r_.eat(')')) {
    do operand(in);
    while (r_.eat(','));
    r_.expect(')');
  }
  if (r_.lex.peek().is('[')) {
    return r_.syntax(r_.lex.offset(), "successor blocks are not taken");
  }
  if (r_.eat('<')) {
    in.attributes = r_.dictionary();
    r_.expect('>');
  }
  if (r_.eat('(')) {
    do region(*in.op->add_region());
    while (r_.eat(','));
    r_.expect(')');
  }
  if (r_.lex.peek().is('{')) {
    for (auto& kv : r_.dictionary()) in.attributes.push_back(std::move(kv));
  }
  if (!r_.expect(':')) return;
  const Type t = r_.function_type();
  in.functional = true;
  in.operand_types = t.inputs;
  in.result_types = t.outputs;
}

std::vector<TensorType> Parser::tensor_types(const std::vector<Type>& ts, size_t offset) {
  std::vector<TensorType> out;
  for (const Type& t : ts) {
    if (t.kind == Type::Kind::Tuple) {
      for (auto& p : tensor_types(t.outputs, offset)) out.push_back(std::move(p));
      continue;
    }
    if (t.kind == Type::Kind::Token) {
      r_.problem(offset, "text-token", "tokens (ordered side effects) are not taken");
    } else if (t.kind != Type::Kind::Tensor) {
      r_.problem(offset, "text-type", "found " + t.str() + ", wanted a tensor type");
    }
    out.push_back(t.tensor);
    holes_ |= has_holes(t.tensor);
  }
  return out;
}

std::vector<Value*> Parser::flat_operands(const Reading& in) {
  std::vector<Value*> vs;
  for (auto& n : in.operands) vs.insert(vs.end(), n.parts.begin(), n.parts.end());
  return vs;
}

bool Parser::check_operand_types(Reading& in) {
  if (!in.functional) return true;
  if (in.operand_types.size() != in.operands.size()) {
    r_.problem(in.offset, "text-type",
               std::string(in.text_name) + " has " + std::to_string(in.operands.size()) +
                   " operands and " + std::to_string(in.operand_types.size()) + " operand types");
    return false;
  }
  bool ok = true;
  for (size_t i = 0; i < in.operands.size(); ++i) {
    const auto want = tensor_types({in.operand_types[i]}, in.operand_offsets[i]);
    const auto& parts = in.operands[i].parts;
    for (size_t k = 0; k < std::min(want.size(), parts.size()); ++k) {
      if (parts[k]->def() && parts[k]->def()->def == &kUnknownOp) continue;  // reported already
      const TensorType& have = parts[k]->type;
      const bool open = has_holes(want[k]) || has_holes(have);
      const bool same = open ? want[k].dtype == have.dtype && want[k].rank() == have.rank()
                             : may_be_same(want[k], have);
      if (same) continue;
      r_.problem(in.operand_offsets[i], "text-type",
                 "the operand is " + have.str() + ", stated is " + want[k].str());
      ok = false;
    }
    ok &= want.size() == parts.size();
  }
  return ok;
}

void Parser::name_results(const Reading& in, Op* op) {
  const Attribute* names = find(in.attributes, "tenfold.names");
  if (names && names->items.size() == static_cast<size_t>(op->num_results())) {
    for (int i = 0; i < op->num_results(); ++i) {
      op->result(i)->name = names->items[static_cast<size_t>(i)].text;
    }
    return;
  }
  int i = 0;
  for (auto& n : in.names) {
    const bool number =
        std::all_of(n.name.begin(), n.name.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (n.count == 1 && !number && i < op->num_results()) {
      op->result(i)->name = std::string(n.name);
    }
    i += static_cast<int>(n.count);
  }
}

// Gives the result names their values. `results` has one entry a result in the text.
void Parser::bind_results(const Reading& in, const std::vector<Named>& results) {
  int64_t named = 0;
  for (auto& n : in.names) named += n.count;
  if (!in.names.empty() && named != static_cast<int64_t>(results.size())) {
    r_.problem(in.names[0].offset, "text-value",
               std::string(in.text_name) + " has " + std::to_string(results.size()) + " results, " +
                   std::to_string(named) + " are named");
  }
  size_t i = 0;
  for (auto& n : in.names) {
    std::vector<Named> group;
    for (int64_t k = 0; k < n.count; ++k, ++i) {
      group.push_back(i < results.size() ? results[i] : Named{{stand_in()}});
    }
    define(n.name, std::move(group), n.offset);
  }
}

void Parser::finish(Reading& in, Block& b) {
  if (rule(in, b)) return;
  const bool types_fit = check_operand_types(in);
  // Results as the text has them: a tuple is one, of several values.
  std::vector<Named> results;
  Op* op = in.op.get();
  op->set_operands(flat_operands(in));
  stamp(*op, in.offset, in.loc);
  for (const Type& t : in.result_types) {
    Named n{{}, t.kind == Type::Kind::Tuple};
    for (const TensorType& p : tensor_types({t}, in.offset)) n.parts.push_back(op->add_result(p));
    results.push_back(std::move(n));
  }
  if (!in.def) {
    r_.problem(
        in.offset, "text-unknown-op",
        "op " + std::string(in.text_name) + " is not known; see docs/ops for those that are");
  } else {
    op->attrs = to_attributes(r_, *in.def, in.attributes, in.offset);
    if (in.def->num_results >= 0 && op->num_results() != in.def->num_results) {
      r_.problem(in.offset, "text-type",
                 std::string(in.text_name) + " has " + std::to_string(in.def->num_results) +
                     " results, " + std::to_string(op->num_results()) + " types are given");
    }
  }
  static_cast<void>(types_fit);
  name_results(in, op);
  b.append(std::move(in.op));
  bind_results(in, results);
}

}  // namespace tenfold::text

namespace tenfold {

Result<std::unique_ptr<Module>> parse_stablehlo(std::string_view text, std::string_view file_name) {
  if (text.starts_with("ML\xefR")) {
    return Error{"text-bytecode",
                 "this is MLIR bytecode, wanted StableHLO text",
                 Location{std::string(file_name)},
                 {}};
  }
  TF_ASSIGN(auto module, text::Parser(text, file_name).run(file_name));
  TF_TRY(verify(*module));
  return module;
}

}  // namespace tenfold
