// See simulate_matrix.h.
#include "driver/simulate_matrix.h"

#include <unordered_map>

#include "backends/tpu/matrix/match.h"
#include "driver/pipeline.h"
#include "fmt/format.h"
#include "graph/evaluator.h"

namespace tenfold {

namespace {

using tpu::matrix::Crossing;

// Calls f(flat row-major index, byte in host memory) for every element.
template <class Fn>
void each_element(const Crossing& c, Fn&& f) {
  const std::vector<int64_t> dims = c.value->type.static_shape();
  std::vector<int64_t> strides(dims.size()), at(dims.size(), 0);
  int64_t step = 1;
  for (size_t i = c.order.size(); i-- > 0;) {
    const auto d = static_cast<size_t>(c.order[i]);
    strides[d] = step;
    step *= dims[d];
  }
  if (step == 0) return;
  int64_t byte = c.address;
  for (int64_t i = 0;; ++i) {
    f(static_cast<size_t>(i), static_cast<size_t>(byte));
    size_t d = dims.size();
    while (d-- > 0) {
      byte += strides[d];
      if (++at[d] < dims[d]) break;
      byte -= strides[d] * dims[d];
      at[d] = 0;
    }
    if (d == SIZE_MAX) return;
  }
}

void put(const Crossing& c, const Literal& l, std::span<std::byte> host) {
  each_element(c, [&](size_t i, size_t at) { host[at] = l.bytes()[i]; });
}

Literal get(const Crossing& c, std::span<const std::byte> host) {
  Literal l = Literal::uninit(c.value->type.dtype, c.value->type.static_shape());
  std::byte* to = l.mutable_bytes();
  each_element(c, [&](size_t i, size_t at) { to[i] = host[at]; });
  return l;
}

}  // namespace

Result<MatrixSimulation> simulate_matrix(Module& m, const tpu::Chip& chip,
                                         const std::vector<Literal>* inputs) {
  PipelineOptions plain;  // int8 arithmetic stays as the model spells it
  plain.opt_level = 0;
  TF_ASSIGN(const PipelineReport passes, run_pipeline(m, plain));
  (void)passes;
  const Function& f = *m.main();
  MatrixSimulation s;
  TF_ASSIGN(s.model, tpu::matrix::compile(m, chip, {.values = inputs != nullptr}));
  tpu::matrix::RunOptions options{.values = inputs != nullptr, .on_host = {}};
  if (!inputs) {
    TF_ASSIGN(s.report, tpu::matrix::run(s.model.program, chip, {}, options));
    return s;
  }
  if (inputs->size() != f.body.args.size()) {
    return Error{
        "input-count",
        fmt::format("the model takes {} inputs, got {}", f.body.args.size(), inputs->size()),
        {m.source},
        {}};
  }
  std::vector<std::byte> host(static_cast<size_t>(s.model.program.host_bytes));
  std::unordered_map<const Value*, Literal> known;
  for (size_t i = 0; i < inputs->size(); ++i) known[f.body.args[i].get()] = (*inputs)[i];
  for (const Crossing& c : s.model.arguments) put(c, known.at(c.value), host);
  options.on_host = [&](int64_t id, std::span<std::byte> memory) -> Status {
    const tpu::matrix::Step& step = s.model.steps[static_cast<size_t>(id)];
    for (const Crossing& c : step.from_chip) known[c.value] = get(c, memory);
    std::vector<Literal> args;
    for (const Value* v : step.inputs) args.push_back(known.at(v));
    TF_ASSIGN(std::vector<Literal> results, evaluate(m, *step.function, args));
    for (size_t i = 0; i < results.size(); ++i) known[step.outputs[i]] = std::move(results[i]);
    for (const Crossing& c : step.to_chip) put(c, known.at(c.value), memory);
    return ok_status();
  };
  TF_ASSIGN(s.report, tpu::matrix::run(s.model.program, chip, host, options));
  for (const Crossing& c : s.model.results) known[c.value] = get(c, host);
  for (const Value* v : f.body.results()) {
    if (!known.contains(v)) {  // a constant
      tpu::matrix::Constants constants;
      const auto l = constants.get(v, INT64_MAX);
      TF_CHECK(l, "a result that nobody makes");
      known[v] = *l;
    }
    s.outputs.push_back(known.at(v));
  }
  return s;
}

}  // namespace tenfold
