// Scan: a graph applied to every slice of its scan inputs in turn.
#include <fmt/format.h>

#include "frontends/onnx/ops/loop_util.h"

namespace tenfold::onnx {

namespace {

struct Plan {
  const ::onnx::GraphProto* body;
  size_t states, inputs, outputs;
  std::vector<int64_t> input_axes, input_directions, output_axes, output_directions;
};

// One scan over `xs` (their axes in the plan), for at most `trip` steps when given.
LoopResult run(NodeContext& n, const Plan& p, const std::vector<Value*>& states,
               const std::vector<Value*>& xs, Value* trip) {
  GraphBuilder& b = n.b;
  const Dim length = xs[0]->type.shape[static_cast<size_t>(p.input_axes[0])];
  for (size_t i = 1; i < xs.size(); ++i) {
    n.require_equal(xs[i]->type.shape[static_cast<size_t>(p.input_axes[i])], length,
                    "lengths of the scan inputs");
  }
  LoopSpec spec;
  spec.carried = states;
  spec.trip = trip ? trip : b.dim_scalar(length);
  spec.max_rounds = length;
  spec.cut = false;
  for (int64_t d : p.output_directions) spec.reversed.push_back(d != 0);
  spec.body = [&](GraphBuilder& inner, Value* round, Value*, const std::vector<Value*>& carried) {
    std::vector<Val> args(carried.begin(), carried.end());
    Value* last = inner.dim_scalar(length - Dim(1));
    for (size_t i = 0; i < xs.size(); ++i) {
      Value* at = p.input_directions[i] ? sub(inner, last, round) : round;
      args.push_back(element_at(inner, xs[i], at, p.input_axes[i]));
    }
    const Outputs out = n.subgraph(*p.body, inner, args);
    LoopSpec::Step step;
    for (size_t i = 0; i < out.size(); ++i) {
      if (!out[i].is_tensor()) n.invalid("the body gives something other than tensors");
      (i < p.states ? step.carried : step.stacked).push_back(out[i].tensor());
    }
    return step;
  };
  return build_loop(n, spec);
}

// Dimension 0 to `axis`.
Value* move_front(GraphBuilder& b, Value* v, int64_t axis) {
  std::vector<int64_t> perm = iota_list(v->type.rank() - 1, 1);
  perm.insert(perm.begin() + axis, 0);
  return b.transpose(v, perm);
}

Outputs convert(NodeContext& n) {
  GraphBuilder& b = n.b;
  Plan p;
  p.body = &n.attr_graph("body");
  const int first = n.opset() < 9 ? 1 : 0;  // opset 8 has sequence_lens first
  const auto values = n.inputs(first);
  const int64_t scans = n.attr_i("num_scan_inputs");
  if (scans < 1 || scans > static_cast<int64_t>(values.size())) {
    n.invalid(fmt::format("num_scan_inputs is {} of {} inputs", scans, values.size()));
  }
  p.inputs = static_cast<size_t>(scans);
  p.states = values.size() - p.inputs;
  if (n.subgraph_inputs(*p.body) != static_cast<int>(values.size()) ||
      n.subgraph_outputs(*p.body) < static_cast<int>(p.states)) {
    n.invalid("the body's inputs or outputs do not fit the node's");
  }
  p.outputs = static_cast<size_t>(n.subgraph_outputs(*p.body)) - p.states;
  const std::vector<int64_t> no_inputs(p.inputs, 0), no_outputs(p.outputs, 0);
  p.input_directions =
      n.attr_ints(n.opset() < 9 ? "directions" : "scan_input_directions", no_inputs);
  p.input_axes = n.opset() < 9 ? no_inputs : n.attr_ints("scan_input_axes", no_inputs);
  p.output_axes = n.opset() < 9 ? no_outputs : n.attr_ints("scan_output_axes", no_outputs);
  p.output_directions =
      n.opset() < 9 ? no_outputs : n.attr_ints("scan_output_directions", no_outputs);
  if (p.input_directions.size() != p.inputs || p.input_axes.size() != p.inputs ||
      p.output_axes.size() != p.outputs || p.output_directions.size() != p.outputs) {
    n.invalid("axes or directions do not fit the number of scan inputs or outputs");
  }
  std::vector<Value*> states(values.begin(), values.begin() + static_cast<long>(p.states));
  std::vector<Value*> xs(values.begin() + static_cast<long>(p.states), values.end());
  if (n.opset() >= 9) {
    for (size_t i = 0; i < xs.size(); ++i) {
      n.need_rank(xs[i], 1, INT64_MAX, "a scan input");
      p.input_axes[i] = n.axis(p.input_axes[i], xs[i]->type.rank());
    }
    LoopResult r = run(n, p, states, xs, nullptr);
    Outputs out(r.carried.begin(), r.carried.end());
    for (size_t i = 0; i < r.stacked.size(); ++i) {
      Value* v = r.stacked[i];
      out.push_back(move_front(b, v, n.axis(p.output_axes[i], v->type.rank())));
    }
    return out;
  }

  // Opset 8: dimension 0 is a batch of scans, dimension 1 the steps.
  Value* lens = n.opt(0);
  for (Value* v : xs) n.need_rank(v, 2, INT64_MAX, "a scan input");
  for (Value* v : states) n.need_rank(v, 1, INT64_MAX, "a state");
  const int64_t batch = n.static_dim(xs[0], 0, "the batch size");
  if (batch < 1 || batch > 1024) n.fail(fmt::format("a batch of {} scans", batch));
  std::vector<std::vector<Value*>> rows(p.states + p.outputs);
  for (int64_t i = 0; i < batch; ++i) {
    Value* at = b.constant_i(DType::I64, i);
    const auto pick = [&](const std::vector<Value*>& vs) {
      std::vector<Value*> out;
      for (Value* v : vs) out.push_back(element_at(b, v, at, 0));
      return out;
    };
    Value* trip = lens ? b.convert(element_at(b, lens, at, 0), DType::I64) : nullptr;
    const LoopResult r = run(n, p, pick(states), pick(xs), trip);
    size_t k = 0;
    for (const auto* list : {&r.carried, &r.stacked}) {
      for (Value* v : *list) {
        Shape s = v->type.shape;
        s.insert(s.begin(), Dim(1));
        rows[k++].push_back(b.reshape(v, s));
      }
    }
  }
  Outputs out;
  for (auto& r : rows) out.push_back(b.concatenate(r, 0));
  return out;
}

}  // namespace

extern const OnnxOp onnx_scan;
const OnnxOp onnx_scan = {.names = {{"Scan", {8, 9, 11, 16, 19, 21, 23, 24, 25}}},
                          .summary = "Applies a graph to slices in turn.",
                          .convert = convert,
                          .limits = "opset 8 with a symbolic batch"};

}  // namespace tenfold::onnx
