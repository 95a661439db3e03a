#include "ops/collective_util.h"

namespace tenfold {

namespace {
const Literal* groups_of(const Op& op) {
  const Attr* a = op.attr("replica_groups");
  return a && a->present() ? &a->as<Literal>() : nullptr;
}
}  // namespace

int64_t group_size(const Op& op) {
  const Literal* g = groups_of(op);
  return g && g->rank() == 2 && g->size() > 0 ? g->dims()[1] : 1;
}

void check_groups(const Op& op, Diag& diag) {
  const Literal* g = groups_of(op);
  if (!g) return;
  if (!is_integer(g->dtype()) || (g->rank() != 2 && g->size() > 0)) {
    diag.fail("C2", "replica_groups is " + g->type().str() + ", wanted a matrix of integers");
    return;
  }
  std::vector<int64_t> members;
  for (int64_t v : g->to_i64s())
    if (v >= 0) members.push_back(v);
  if (!is_unique(members)) diag.fail("C2", "a process is in replica_groups twice");
}

std::vector<AttrSpec> collective_attrs(std::vector<AttrSpec> own) {
  own.push_back({"replica_groups", AttrKind::Lit, false, "[groups, size] of process ids"});
  own.push_back({"channel_handle", AttrKind::Dict, false, "handle and type; kept"});
  own.push_back({"use_global_device_ids", AttrKind::Bool, false, "kept"});
  return own;
}

Status check_single_device(const Op& op) {
  if (group_size(op) == 1) return ok_status();
  return Error{"collective-devices",
               op.name() + " joins " + std::to_string(group_size(op)) +
                   " devices; programs run on one device, so export the model for one",
               op.loc,
               {}};
}

Result<std::vector<Literal>> eval_identity(EvalContext& c) {
  TF_TRY(check_single_device(*c.op));
  std::vector<Literal> out;
  for (int i = 0; i < c.op->num_results(); ++i)
    out.push_back(convert(c.args[i], c.op->result(i)->type.dtype));
  return out;
}

Status emit_identity(EmitContext& c) {
  TF_TRY(check_single_device(*c.op));
  for (int i = 0; i < c.op->num_results(); ++i) {
    const TensorType& t = c.op->result(i)->type;
    std::vector<loop::Expr> dims;
    for (const Dim& d : t.shape) dims.push_back(c.dim(d));
    c.b->nest("i", dims, [&](const std::vector<loop::Expr>& at) {
      c.store(i, at, loop::cast(c.operand(i, at), t.dtype));
    });
  }
  return ok_status();
}

Status emit_zeros(EmitContext& c) {
  for (int i = 0; i < c.op->num_results(); ++i) {
    const TensorType& t = c.op->result(i)->type;
    std::vector<loop::Expr> dims;
    for (const Dim& d : t.shape) dims.push_back(c.dim(d));
    c.b->nest("i", dims,
              [&](const std::vector<loop::Expr>& at) { c.store(i, at, loop::zero(t.dtype)); });
  }
  return ok_status();
}

}  // namespace tenfold
