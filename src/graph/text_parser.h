// The parser of modules: functions, regions, ops. Split over text_parse.cc (structure, the generic
// form), text_pretty.cc (the pretty forms) and text_rules.cc (ops that are read as others).
#pragma once

#include "graph/builder.h"
#include "graph/text_ops.h"

namespace tenfold::text {

// What a name stands for: one value, or the parts of a tuple.
struct Named {
  std::vector<Value*> parts;
  bool tuple = false;
};

class Parser {
 public:
  Parser(std::string_view text, std::string_view file) : r_(text, file) {}
  Result<std::unique_ptr<Module>> run(std::string_view file);

 private:
  struct ResultName {
    std::string_view name;
    int64_t count = 1;
    size_t offset = 0;
  };
  // An op being read: what stands before and after its own text.
  struct Reading {
    size_t offset = 0;
    std::string_view text_name;  // as written
    std::vector<ResultName> names;
    const OpDef* def = nullptr;
    std::unique_ptr<Op> op;  // owns regions already read
    std::vector<Named> operands;
    std::vector<size_t> operand_offsets;
    Dictionary attributes;
    bool functional = false;  // operand and result types are both given
    std::vector<Type> operand_types;
    std::vector<Type> result_types;
    std::optional<Loc> loc;
  };

  // text_parse.cc
  void top_level();
  void module_op(bool generic);
  void module_attributes(const Dictionary& d);
  void functions(char close);
  void function();
  void generic_function(size_t offset);
  Function* make_function(std::string_view name, bool is_public, size_t offset);
  void function_result_names(Function* f, const std::vector<Dictionary>& attrs);
  Value* block_argument(Block& b, std::string_view name, const Type& type, size_t offset);
  void block_arguments(Block& b, char close);
  void body(Block& b);    // ops up to '}'
  void region(Block& b);  // { ^bb0(...): ops }
  void op(Block& b);
  void generic_op(Reading& in);
  void finish(Reading& in, Block& b);
  bool check_operand_types(Reading& in);
  std::vector<TensorType> tensor_types(const std::vector<Type>& ts, size_t offset);
  std::vector<Value*> flat_operands(const Reading& in);
  void name_results(const Reading& in, Op* op);
  void bind_results(const Reading& in, const std::vector<Named>& results);
  void stamp(Op& op, size_t offset, const std::optional<Loc>& loc);
  Location place(size_t offset, const std::optional<Loc>& loc, std::vector<std::string>* origins);

  // Names.
  void define(std::string_view name, std::vector<Named> values, size_t offset);
  Named use();
  void operand(Reading& in);  // use(), appended
  size_t scope() const { return defined_.size(); }
  void leave(size_t mark);
  Value* stand_in(TensorType t = {});  // for a value that is not defined

  // text_pretty.cc
  void pretty_op(Reading& in);
  void items(Reading& in);
  void keyword(Reading& in, std::string_view key, size_t offset);
  void types(Reading& in);
  void constant_op(Reading& in);
  void while_op(Reading& in);
  void reduce_op(Reading& in);
  void custom_call_op(Reading& in);
  void composite_op(Reading& in);
  void slice_ranges(Reading& in);
  Attribute words();  // an attribute in which bare words are enumeration values

  // text_rules.cc: true when the op was read as something else.
  bool rule(Reading& in, Block& b);
  void resolve_holes();

  Reader r_;
  std::unique_ptr<Module> module_;
  std::unordered_map<std::string_view, std::vector<Named>> values_;
  std::vector<std::string_view> defined_;
  std::vector<std::unique_ptr<Op>> stand_ins_;
  bool holes_ = false;
};

}  // namespace tenfold::text
