// tenfold.bind_symbol: a size that is known only at run time gets a name.
#include "graph/op_def.h"

namespace tenfold {
namespace {

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  const TensorType& t = op.operand()->type;
  if (t.dtype != DType::I64 || t.rank() != 0) {
    diag.fail("C1", "reads a tensor<i64>, given " + t.str());
  }
  if (op.i64("min") > op.i64("max") || op.i64("min") < 0) {
    diag.fail("C2", "bounds [" + std::to_string(op.i64("min")) + ", " +
                        std::to_string(op.i64("max")) + "] are no range of sizes");
  }
  if (op.str("symbol").empty()) diag.fail("C3", "the symbol has no name");
  return {TensorType{DType::I64, {}}};
}

Result<std::vector<Literal>> eval(EvalContext& c) {
  const int64_t v = c.args[0].as_i64(0);
  const int64_t min = c.op->i64("min");
  const int64_t max = c.op->i64("max");
  if (v < min || v > max) {
    return c.error("size-out-of-bounds", "size " + c.op->str("symbol") + " is " +
                                             std::to_string(v) + ", outside its bounds [" +
                                             std::to_string(min) + ", " + std::to_string(max) +
                                             "]");
  }
  c.bind_symbol(Symbol{c.op->str("symbol"), min, max}, v);
  return std::vector<Literal>{c.args[0]};
}

}  // namespace

extern const OpDef op_bind_symbol;
const OpDef op_bind_symbol = {
    .name = "tenfold.bind_symbol",
    .summary = "Reads an i64 scalar and makes it the value of a symbol.",
    .doc =
        "The symbol may be used in types and dimension attributes of all later ops of the block "
        "and of regions nested in them. The result is the operand's value. A value outside "
        "[min, max] is an error at run time.",
    .kind = OpKind::Region,
    .min_operands = 1,
    .max_operands = 1,
    .attrs = {{"symbol", AttrKind::Str, true, "the symbol's name, bound once in a module"},
              {"min", AttrKind::I64, true, "smallest value"},
              {"max", AttrKind::I64, true, "largest value"}},
    .infer = infer,
    .eval = eval,
    .constraints = {"C1", "C2", "C3"},
};

}  // namespace tenfold
