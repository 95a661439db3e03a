// Loop: a trip count, a condition, values that may change shape, results stacked round by round.
// Loops that carry sequences are unrolled, so their number of rounds must be known at import.
#include <algorithm>

#include <fmt/format.h>

#include "frontends/onnx/ops/loop_util.h"

namespace tenfold::onnx {

namespace {

constexpr int64_t kUnrollLimit = 1024;
constexpr int64_t kManyRounds = INT32_MAX;  // exporters' "no limit"

Value* one_element(NodeContext& n, Value* v, DType t, std::string_view what) {
  if (v->type.dtype != t || !v->type.is_static() || v->type.num_elements().value() != 1) {
    n.invalid(fmt::format("{} must be one {}, found {}", what, name(t), v->type.str()));
  }
  return n.b.reshape(v, {});
}

Outputs unroll(NodeContext& n, const ::onnx::GraphProto& body, Value* trip, Value* condition,
               std::vector<Val> carried) {
  GraphBuilder& b = n.b;
  const size_t count = carried.size();
  const auto stacked_count = static_cast<size_t>(n.subgraph_outputs(body)) - 1 - count;
  std::optional<int64_t> rounds;
  if (trip) {
    const auto c = n.const_ints(trip);
    if (c) rounds = (*c)[0];
  }
  const auto known = [&](Value* v) -> std::optional<bool> {
    const auto c = n.constant(v);
    if (!c || c->size() != 1) return {};
    return c->as_i64(0) != 0;
  };
  const char* kWhy =
      "a loop that carries sequences or optionals needs a number of rounds known at "
      "import";
  if (trip && !rounds) n.need_value(trip, kWhy);
  bool go_on = true;
  if (condition) {
    const auto k = known(condition);
    if (!k) n.need_value(condition, kWhy);
    go_on = *k;
  }
  std::vector<std::vector<Value*>> stacked(stacked_count);
  for (int64_t i = 0; go_on && (!rounds || i < *rounds); ++i) {
    if (i >= kUnrollLimit) {
      n.fail(fmt::format("a loop that carries sequences runs more than {} rounds", kUnrollLimit));
    }
    std::vector<Val> args = {Val(b.constant_i(DType::I64, i)), Val(b.constant_i(DType::Bool, 1))};
    args.insert(args.end(), carried.begin(), carried.end());
    const Outputs out = n.subgraph(body, b, args);
    if (!out[0].is_tensor()) n.invalid("the body's condition is no tensor");
    const auto k = known(out[0].tensor());
    if (!k) n.need_value(out[0].tensor(), kWhy);
    go_on = *k;
    for (size_t j = 0; j < count; ++j) carried[j] = out[j + 1];
    for (size_t j = 0; j < stacked_count; ++j) {
      const Val& v = out[1 + count + j];
      if (!v.is_tensor()) n.invalid("a stacked output of the body is no tensor");
      Shape row = v.tensor()->type.shape;
      row.insert(row.begin(), Dim(1));
      stacked[j].push_back(b.reshape(v.tensor(), row));
    }
  }
  Outputs out(carried.begin(), carried.end());
  for (auto& rows : stacked) {
    if (rows.empty()) n.fail("a loop of no rounds whose stacked output has no known type");
    out.push_back(b.concatenate(rows, 0));
  }
  return out;
}

Outputs convert(NodeContext& n) {
  GraphBuilder& b = n.b;
  const auto& body = n.attr_graph("body");
  Value* trip = n.opt(0);
  Value* condition = n.opt(1);
  if (trip) trip = one_element(n, trip, DType::I64, "the trip count");
  if (condition) condition = one_element(n, condition, DType::Bool, "the condition");
  std::vector<Val> carried;
  bool tensors = true;
  for (int i = 2; i < n.num_inputs(); ++i) {
    const Val& v = n.val(i);
    if (!v.present()) n.invalid(fmt::format("input {} is missing", i));
    if (v.kind() == Val::Kind::Unsupported) n.input(i);
    tensors &= v.is_tensor();
    carried.push_back(v);
  }
  const size_t count = carried.size();
  if (n.subgraph_inputs(body) != static_cast<int>(count) + 2) {
    n.invalid(fmt::format("the body takes {} values, the loop carries {}",
                          n.subgraph_inputs(body) - 2, count));
  }
  if (n.subgraph_outputs(body) < static_cast<int>(count) + 1) {
    n.invalid("the body gives too few values");
  }
  if (!tensors) return unroll(n, body, trip, condition, carried);

  // No rounds at all is an answer of its own when it is known.
  LoopSpec spec;
  for (const Val& v : carried) spec.carried.push_back(v.tensor());
  spec.trip = trip;
  spec.condition = condition;
  if (trip) {
    const auto c = n.const_ints(trip);
    if (!c || (*c)[0] < kManyRounds) {
      spec.max_rounds =
          c ? Dim(std::max<int64_t>((*c)[0], 0)) : n.runtime_dim(max(b, trip, 0), "trips");
    }
  }
  spec.body = [&](GraphBuilder& inner, Value* round, Value* cond,
                  const std::vector<Value*>& values) {
    std::vector<Val> args = {Val(round), Val(cond)};
    for (Value* v : values) args.push_back(Val(v));
    const Outputs out = n.subgraph(body, inner, args);
    LoopSpec::Step step;
    for (const Val& v : out) {
      if (!v.is_tensor()) n.fail("a loop body that gives sequences must carry them in as well");
    }
    step.condition = out[0].tensor();
    if (step.condition->type.dtype != DType::Bool || !step.condition->type.is_static() ||
        step.condition->type.num_elements().value() != 1) {
      n.invalid("the body's condition must be one bool");
    }
    for (size_t i = 0; i < count; ++i) step.carried.push_back(out[i + 1].tensor());
    for (size_t i = count + 1; i < out.size(); ++i) step.stacked.push_back(out[i].tensor());
    return step;
  };
  const LoopResult r = build_loop(n, spec);
  Outputs out;
  for (Value* v : r.carried) out.push_back(v);
  for (Value* v : r.stacked) out.push_back(v);
  return out;
}

}  // namespace

extern const OnnxOp onnx_loop;
const OnnxOp onnx_loop = {
    .names = {{"Loop", {1, 11, 13, 16, 19, 21, 23, 24, 25}}},
    .summary = "Repeats a graph.",
    .convert = convert,
    .limits =
        "carried sequences with a run-time number of rounds; carried values that change rank"};

}  // namespace tenfold::onnx
