// How the attributes of each op are spelled in StableHLO's text, both ways. Syntax only: what an
// attribute is comes from the OpDef's AttrSpecs.
#pragma once

#include "graph/op_def.h"
#include "graph/text_attrs.h"

namespace tenfold::text {

// --- tables --------------------------------------------------------------------------------------

// A keyword of an op's pretty form and the attribute it stands for: `dims` of transpose is
// `permutation`. The keyword itself when no row says otherwise.
std::string_view attribute_of_keyword(std::string_view op, std::string_view keyword);
// Class of an enumeration attribute: compare_type -> comparison_type.
std::string_view enum_class(std::string_view attribute);

// An op's attributes that MLIR keeps in one: dot_dimension_numbers = #stablehlo.dot<...>.
struct Group {
  std::string_view op;
  std::string_view attribute;
  std::string_view spelling;  // "stablehlo.dot"
  std::vector<std::string_view> members;
};
const Group* group_of(std::string_view op);

// Op name in the text -> descriptor; chlo's names and ours meet here. Null: none.
const OpDef* op_of_text_name(std::string_view name);

// --- reading -------------------------------------------------------------------------------------

// The attributes of `op` from what was read; problems go to the reader.
AttrDict to_attributes(Reader& r, const OpDef& def, const Dictionary& read, size_t offset);

// --- printing ------------------------------------------------------------------------------------

// MLIR's spelling of the op's attributes as "name = value" strings; members of groups together.
std::vector<std::string> attribute_texts(const Op& op);
std::string literal_text(const Literal& l);  // dense<...> : type
std::string type_text(const TensorType& t);
std::string dims_text(const std::vector<Dim>& dims);  // #tenfold.dims<...>
std::string value_text(const Attr& a);                // free-standing, as in a dictionary

}  // namespace tenfold::text
