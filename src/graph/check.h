// Checks that the builder, the text reader and the verifier share.
#pragma once

#include "graph/op_def.h"

namespace tenfold {

// Same element type and rank, and no dimension pair that is certainly different.
bool may_be_same(const TensorType& a, const TensorType& b);
// The same for every value of the symbols.
bool surely_same(const TensorType& a, const TensorType& b);
std::string type_list(const std::vector<TensorType>& ts);
// Types of the terminator's operands; none when there is no terminator.
std::vector<TensorType> region_result_types(const Block& b);

// The kind's name for messages, and whether a value is of it.
std::string_view name(AttrKind k);
bool is_of_kind(const Attr& a, AttrKind k);

// Operand, result and region counts and every attribute against the descriptor.
void check_structure(const Op& op, Diag& diag);

// What `op` needs of sizes and its types leave open: each has to be checked when the model runs.
std::vector<SizeRule> size_rules(const Op& op);
// A rule as `tenfold.require` writes it.
std::string_view name(SizeRule::Relation r);
std::optional<SizeRule::Relation> relation(std::string_view name);
SizeRule rule_of(const Op& require);

// Stands for names that no descriptor has, so that reading can go on after the error.
extern const OpDef kUnknownOp;

// Type of a call's results: the callee's result types with its symbols replaced by the dimensions
// of `args`. Reports a mismatch of arguments to `diag`.
std::vector<TensorType> call_result_types(const Function& callee, const std::vector<Value*>& args,
                                          Diag& diag);

}  // namespace tenfold
