// Collectives in a program of one device: types for any groups, values where every group that the
// device is in is the device alone.
#pragma once

#include "ops/attr_util.h"

namespace tenfold {

// replica_groups: [groups, size]; rows may be filled up with -1.
int64_t group_size(const Op& op);
// Reports "C2" for malformed or repeated members.
void check_groups(const Op& op, Diag& diag);
// The attributes all grouped collectives share.
std::vector<AttrSpec> collective_attrs(std::vector<AttrSpec> own);

// Status of running on one device: an error when the groups name others.
Status check_single_device(const Op& op);
// eval() and emit() that copy every operand to its result, converted to the result's type.
Result<std::vector<Literal>> eval_identity(EvalContext& c);
Status emit_identity(EmitContext& c);
Status emit_zeros(EmitContext& c);

}  // namespace tenfold
