// Adagrad, Adam and Momentum of ai.onnx.preview.training: one step for several tensors.
#include <fmt/format.h>

#include "frontends/onnx/ops/quant_util.h"

namespace tenfold::onnx {

namespace {

using B = GraphBuilder;

Outputs convert(NodeContext& n) {
  B& b = n.b;
  const std::string& op = n.op_type();
  Value* rate = one_number(n, n.input(0), "R");
  Value* count = one_number(n, n.input(1), "T");
  const auto tensors = n.inputs(2);
  const size_t groups = op == "Adam" ? 4 : 3;
  if (tensors.empty() || tensors.size() % groups != 0) {
    n.invalid(fmt::format("{} tensors, wanted {} for each variable", tensors.size(), groups));
  }
  const size_t k = tensors.size() / groups;
  const bool momentum = op == "Momentum";
  const double norm = momentum ? n.attr_f("norm_coefficient") : n.attr_f("norm_coefficient", 0);
  const double small = static_cast<double>(1e-6f);
  const double epsilon = momentum ? 0 : n.attr_f("epsilon", small);
  const double decay = op == "Adagrad" ? n.attr_f("decay_factor", 0) : 0;
  const double alpha = momentum       ? n.attr_f("alpha")
                       : op == "Adam" ? n.attr_f("alpha", static_cast<double>(0.9f))
                                      : 0;
  const double beta = momentum       ? n.attr_f("beta")
                      : op == "Adam" ? n.attr_f("beta", static_cast<double>(0.999f))
                                     : 0;
  const double post = op == "Adam" ? n.attr_f("norm_coefficient_post", 0) : 0;
  const std::string mode = momentum ? n.attr_s("mode") : "";
  if (momentum && mode != "standard" && mode != "nesterov") n.invalid("mode '" + mode + "'");
  Outputs first(k), second(k), third(k);
  for (size_t i = 0; i < k; ++i) {
    Value *x = tensors[i], *g = tensors[i + k], *v = tensors[i + 2 * k];
    const DType t = x->type.dtype;
    for (Value* o : {g, v}) {
      if (o->type.dtype != t || o->type.rank() != x->type.rank()) {
        n.invalid(fmt::format("{} and {} belong to one variable", x->type.str(), o->type.str()));
      }
    }
    const auto spread = [&](Value* s) { return b.full(s, x->type.shape); };
    Value* r = b.convert(rate, t);
    Value* steps = b.convert(count, t);
    Value* zero = b.constant(t, 0);
    Value* started = b.compare("GT", steps, zero);
    if (norm != 0) g = add(b, mul(b, x, norm), g);
    if (op == "Adagrad") {
      r = div(b, r, add(b, mul(b, steps, decay), 1));
      v = add(b, v, mul(b, g, g));
      Value* root = add(b, b.unary(Prim::Sqrt, v), epsilon);
      first[i] = sub(b, x, div(b, mul(b, spread(r), g), root));
      second[i] = v;
    } else if (op == "Adam") {
      Value* h = tensors[i + 3 * k];
      v = add(b, mul(b, v, alpha), mul(b, g, 1 - alpha));
      h = add(b, mul(b, h, beta), mul(b, mul(b, g, g), 1 - beta));
      Value* root = add(b, b.unary(Prim::Sqrt, h), epsilon);
      const auto power = [&](double base) {
        return sub_from(b, 1, b.binary(Prim::Pow, b.constant(t, base), steps));
      };
      Value* adjusted = div(b, mul(b, r, b.unary(Prim::Sqrt, power(beta))), power(alpha));
      r = b.select(started, adjusted, r);
      x = sub(b, x, div(b, mul(b, spread(r), v), root));
      first[i] = post == 0 ? x : mul(b, x, 1 - post);
      second[i] = v;
      third[i] = h;
    } else {
      Value* factor = b.select(started, b.constant(t, beta), b.constant(t, 1));
      v = add(b, mul(b, v, alpha), mul(b, g, spread(factor)));
      Value* step = mode == "nesterov" ? add(b, g, mul(b, v, alpha)) : v;
      first[i] = sub(b, x, mul(b, spread(r), step));
      second[i] = v;
    }
  }
  Outputs out = first;
  out.insert(out.end(), second.begin(), second.end());
  if (op == "Adam") out.insert(out.end(), third.begin(), third.end());
  return out;
}

}  // namespace

extern const OnnxOp onnx_optimizers;
const OnnxOp onnx_optimizers = {.names = {{"Adagrad", {1}}, {"Adam", {1}}, {"Momentum", {1}}},
                                .domain = "ai.onnx.preview.training",
                                .summary = "One step of an optimizer.",
                                .convert = convert};

}  // namespace tenfold::onnx
