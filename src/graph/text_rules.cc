// Ops of StableHLO's text that are read as something else: tuples, which are only packing.
#include "graph/text_parser.h"

namespace tenfold::text {

bool Parser::rule(Reading& in, Block&) {
  if (in.text_name == "stablehlo.tuple") {
    Named t{{}, true};
    for (auto& n : in.operands) {
      if (n.tuple) r_.problem(in.offset, "text-tuple", "tuples of tuples are not taken");
      t.parts.insert(t.parts.end(), n.parts.begin(), n.parts.end());
    }
    bind_results(in, {t});
    return true;
  }
  if (in.text_name == "stablehlo.get_tuple_element") {
    const Attribute* a = find(in.attributes, "index");
    Named one{{stand_in()}};
    if (in.operands.size() != 1 || !in.operands[0].tuple) {
      r_.problem(in.offset, "text-tuple", "get_tuple_element wants one tuple");
    } else if (!a || a->kind != Attribute::Kind::Int || a->i < 0 ||
               a->i >= static_cast<int64_t>(in.operands[0].parts.size())) {
      r_.problem(in.offset, "text-tuple",
                 "the tuple has " + std::to_string(in.operands[0].parts.size()) +
                     " elements; the index is none of them");
    } else {
      one.parts[0] = in.operands[0].parts[static_cast<size_t>(a->i)];
    }
    bind_results(in, {one});
    return true;
  }
  return false;
}

void Parser::resolve_holes() {
  r_.problem(0, "text-open-size", "open sizes (?) are not taken");
}

}  // namespace tenfold::text
