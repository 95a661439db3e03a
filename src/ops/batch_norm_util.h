// What the batch_norm ops share: constraints, and elementwise arithmetic on arrays for evaluators.
#pragma once

#include "ops/attr_util.h"

namespace tenfold {

// feature_index in range, and one element type for all operands ("C1", "C2"); operands from
// `first_vector` to `last_vector` are vectors of the features, labelled "C3", "C4", ...
bool check_batch_norm(const Op& op, int first_vector, int last_vector, Diag& diag);

// The operand seen as [outer, features, inner].
struct FeatureView {
  int64_t outer = 1, features = 1, inner = 1;
};
FeatureView feature_view(const Literal& x, int64_t feature_index);

// p applied to whole arrays of one view; a vector of the features is spread over the array.
Literal spread_apply(Prim p, const FeatureView& v, const Literal& a, const Literal& b);

}  // namespace tenfold
