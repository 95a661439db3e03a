#include "ops/region_util.h"

#include <cstring>
#include <limits>

namespace tenfold {

namespace {

bool commutes(Prim p) {
  switch (p) {
    case Prim::Add:
    case Prim::Mul:
    case Prim::Max:
    case Prim::Min:
    case Prim::And:
    case Prim::Or:
    case Prim::Xor:
    case Prim::Eq:
    case Prim::Ne:
      return true;
    default:
      return false;
  }
}

std::optional<Prim> comparison(const Op& op) {
  if (!op.is("stablehlo.compare")) return std::nullopt;
  const Attr* type = op.attr("compare_type");
  if (type && type->present() && type->as<std::string>() == "TOTALORDER") return std::nullopt;
  const std::string& d = op.str("comparison_direction");
  if (d == "EQ") return Prim::Eq;
  if (d == "NE") return Prim::Ne;
  if (d == "LT") return Prim::Lt;
  if (d == "LE") return Prim::Le;
  if (d == "GT") return Prim::Gt;
  if (d == "GE") return Prim::Ge;
  return std::nullopt;
}

std::optional<Prim> prim_of(const Op& op) {
  if (op.def->prim) return op.def->prim;
  return comparison(op);
}

}  // namespace

std::optional<Prim> region_prim(const Block& region) {
  if (region.args.size() != 2 || region.ops.size() != 2 || region.results().size() != 1) return {};
  const Op& op = *region.ops.front();
  const std::optional<Prim> p = prim_of(op);
  if (!p || op.num_operands() != 2 || op.num_results() != 1) return {};
  if (region.results()[0] != op.result()) return {};
  const Value* a = region.args[0].get();
  const Value* b = region.args[1].get();
  if (op.operand(0) == a && op.operand(1) == b) return p;
  if (op.operand(0) == b && op.operand(1) == a && commutes(*p)) return p;
  return {};
}

bool region_returns_arg(const Block& region, int i) {
  return region.results().size() == 1 && i < static_cast<int>(region.args.size()) &&
         region.results()[0] == region.args[i].get();
}

std::optional<Literal> identity_of(Prim p, DType t) {
  const bool real = is_float(t);
  const bool integer = is_integer(t);
  const auto extreme = [&](bool lowest) -> std::optional<Literal> {
    // Formats without infinity saturate to their largest number, which is their identity too.
    if (real) return Literal::scalar(t, lowest ? -INFINITY : INFINITY);
    if (t == DType::Bool) return Literal::scalar_i(t, lowest ? 0 : 1);
    if (!integer) return std::nullopt;
    const int bits = bit_width(t);
    if (is_unsigned(t)) {
      if (lowest) return Literal::scalar_i(t, 0);
      return Literal::scalar_i(t, bits == 64 ? int64_t{-1} : (int64_t{1} << bits) - 1);
    }
    const int64_t low = std::numeric_limits<int64_t>::min() >> (64 - bits);
    return Literal::scalar_i(t, lowest ? low : -(low + 1));
  };
  switch (p) {
    case Prim::Add:
      return Literal(t, {});
    case Prim::Mul:
      return integer || t == DType::Bool ? Literal::scalar_i(t, 1) : Literal::scalar(t, 1);
    case Prim::Max:
      return extreme(true);
    case Prim::Min:
      return extreme(false);
    case Prim::And:
      if (t == DType::Bool) return Literal::scalar_i(t, 1);
      return integer ? std::optional(Literal::scalar_i(t, -1)) : std::nullopt;
    case Prim::Or:
      return integer || t == DType::Bool ? std::optional(Literal(t, {})) : std::nullopt;
    default:
      return std::nullopt;
  }
}

const Literal* constant_of(const Value& v) {
  const Op* op = v.def();
  while (op && (op->is("stablehlo.broadcast_in_dim") || op->is("stablehlo.reshape")))
    op = op->operand()->def();
  if (!op || !op->is("stablehlo.constant")) return nullptr;
  return &op->lit("value");
}

ScalarRegion::ScalarRegion(EvalContext& c, const Block& region)
    : c_(&c), region_(&region), translated_(translate()) {}

bool ScalarRegion::translate() {
  std::unordered_map<const Value*, int> where;
  const auto add = [&](const Value* v) {
    where[v] = static_cast<int>(cells_.size());
    cells_.emplace_back();
  };
  for (auto& a : region_->args) add(a.get());
  for (auto& op : region_->ops) {
    if (op.get() == region_->terminator()) break;
    if (op->num_results() != 1 || op->result()->type.rank() != 0) return false;
    if (op->is("stablehlo.constant")) {
      const Literal& value = op->lit("value");
      add(op->result());
      std::memcpy(cells_.back().bytes, value.bytes(),
                  static_cast<size_t>(byte_size(value.dtype())));
      continue;
    }
    Step s{};
    if (op->is("stablehlo.convert")) {
      s.from = op->operand()->type.dtype;
    } else {
      s.prim = prim_of(*op);
      if (!s.prim || op->num_operands() != arity(*s.prim)) return false;
      s.from = op->operand(*s.prim == Prim::Select ? 1 : 0)->type.dtype;
    }
    s.to = op->result()->type.dtype;
    for (int i = 0; i < op->num_operands(); ++i) {
      auto it = where.find(op->operand(i));
      if (it == where.end() || i >= 3) return false;  // a value from outside the region
      s.args[i] = it->second;
    }
    add(op->result());
    s.out = static_cast<int>(cells_.size()) - 1;
    steps_.push_back(s);
  }
  for (const Value* v : region_->results()) {
    auto it = where.find(v);
    if (it == where.end()) return false;
    results_.push_back(it->second);
  }
  return true;
}

Status ScalarRegion::call(const std::vector<const std::byte*>& args,
                          const std::vector<std::byte*>& outs) {
  if (!translated_) {
    std::vector<Literal> in;
    for (size_t i = 0; i < args.size(); ++i) {
      Literal l(arg_dtype(static_cast<int>(i)), {});
      std::memcpy(l.mutable_bytes(), args[i], l.byte_count());
      in.push_back(std::move(l));
    }
    TF_ASSIGN(std::vector<Literal> out, c_->run_region(*region_, std::move(in)));
    for (size_t i = 0; i < outs.size(); ++i)
      std::memcpy(outs[i], out[i].bytes(), out[i].byte_count());
    return ok_status();
  }
  for (size_t i = 0; i < args.size(); ++i)
    std::memcpy(cells_[i].bytes, args[i],
                static_cast<size_t>(byte_size(arg_dtype(static_cast<int>(i)))));
  static constexpr int64_t kStrides[3] = {0, 0, 0};
  for (const Step& s : steps_) {
    void* out = cells_[s.out].bytes;
    if (!s.prim) {
      cast(s.from, s.to, cells_[s.args[0]].bytes, out, 1);
      continue;
    }
    const void* in[3];
    for (int i = 0; i < arity(*s.prim); ++i) in[i] = cells_[s.args[i]].bytes;
    apply(*s.prim, s.from, in, kStrides, out, 1);
  }
  for (size_t i = 0; i < outs.size(); ++i)
    std::memcpy(outs[i], cells_[results_[i]].bytes,
                static_cast<size_t>(byte_size(result_dtype(static_cast<int>(i)))));
  return ok_status();
}

void check_scalar_region(const Block& region, const std::vector<std::optional<DType>>& args,
                         const std::vector<std::optional<DType>>& results, std::string_view label,
                         std::string_view what, Diag& diag) {
  const auto check = [&](const TensorType& t, std::optional<DType> want, const std::string& which) {
    if (t.rank() != 0 || (want && t.dtype != *want))
      diag.fail(label, std::string(what) + ": " + which + " is " + t.str() + ", wanted tensor<" +
                           (want ? std::string(name(*want)) : "any") + ">");
  };
  if (region.args.size() != args.size()) {
    diag.fail(label, std::string(what) + " takes " + std::to_string(region.args.size()) +
                         " arguments, wanted " + std::to_string(args.size()));
    return;
  }
  for (size_t i = 0; i < args.size(); ++i)
    check(region.args[i]->type, args[i], "argument " + std::to_string(i));
  if (!region.terminator()) {
    diag.fail(label, std::string(what) + " has no terminator");
    return;
  }
  if (region.results().size() != results.size()) {
    diag.fail(label, std::string(what) + " returns " + std::to_string(region.results().size()) +
                         " values, wanted " + std::to_string(results.size()));
    return;
  }
  for (size_t i = 0; i < results.size(); ++i)
    check(region.results()[i]->type, results[i], "result " + std::to_string(i));
}

}  // namespace tenfold
