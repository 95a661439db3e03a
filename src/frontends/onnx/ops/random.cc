// RandomUniform, RandomNormal (and Like), Bernoulli, Multinomial. The generator is in
// random_util.h; the `seed` attribute goes in as the bit pattern of an f32. Normal numbers come in
// the Box-Muller way from two uniform ones, the second drawn after all first ones.
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "frontends/onnx/ops/random_util.h"

namespace tenfold::onnx {

namespace {

using B = GraphBuilder;

Value* initial_state(NodeContext& n) {
  if (!n.has_attr("seed")) return random_state(n, std::nullopt);
  return random_state(n, std::bit_cast<uint32_t>(static_cast<float>(n.attr_f("seed"))));
}

DType float_type(NodeContext& n, DType t) {
  if (!is_float(t)) n.fail("onnx-unsupported-type", fmt::format("random {}", name(t)));
  return wide(t);
}

Outputs draw(NodeContext& n) {
  B& b = n.b;
  const std::string& op = n.op_type();
  Shape shape;
  DType t;
  if (op.ends_with("Like")) {
    Value* x = n.input(0);
    shape = x->type.shape;
    t = n.attr_dtype("dtype", x->type.dtype);
  } else {
    for (int64_t d : n.attr_ints("shape")) {
      if (d < 0) n.invalid("a dimension is negative");
      shape.push_back(Dim(d));
    }
    t = n.attr_dtype("dtype", DType::F32);
  }
  const DType w = float_type(n, t);
  Value* state = initial_state(n);
  Value* u = uniform(b, w, shape, state);
  if (op.starts_with("RandomUniform")) {
    const double low = n.attr_f("low", 0), high = n.attr_f("high", 1);
    return {b.convert(add(b, mul(b, u, high - low), low), t)};
  }
  const double mean = n.attr_f("mean", 0), scale = n.attr_f("scale", 1);
  Value* v = uniform(b, w, shape, state);
  Value* radius = b.unary(Prim::Sqrt, mul(b, b.unary(Prim::Log, sub_from(b, 1, u)), -2));
  Value* z = mul(b, radius, b.unary(Prim::Cos, mul(b, v, 2 * M_PI)));
  return {b.convert(add(b, mul(b, z, scale), mean), t)};
}

Outputs bernoulli(NodeContext& n) {
  B& b = n.b;
  Value* p = n.input(0);
  const DType w = float_type(n, p->type.dtype);
  const DType t = n.attr_dtype("dtype", p->type.dtype);
  Value* state = initial_state(n);
  Value* u = uniform(b, w, p->type.shape, state);
  return {b.convert(b.compare("LT", u, b.convert(p, w)), t)};
}

Outputs multinomial(NodeContext& n) {
  B& b = n.b;
  Value* x = n.input(0);
  n.need_rank(x, 2, 2, "input");
  const DType w = float_type(n, x->type.dtype);
  const DType t = n.attr_dtype("dtype", DType::I32);
  if (t != DType::I32 && t != DType::I64) n.invalid("dtype must be int32 or int64");
  const int64_t samples = n.attr_i("sample_size", 1);
  if (samples < 1) n.invalid(fmt::format("sample_size is {}", samples));
  const Dim batch = x->type.shape[0], classes = x->type.shape[1];
  Value* p = b.create("tenfold.softmax", {b.convert(x, w)},
                      {{"axis", Attr{int64_t{1}}}, {"log", Attr{false}}})
                 ->result();
  Value* sums = b.create("tenfold.cumulative", {p},
                         {{"prim", Attr{std::string("add")}},
                          {"axis", Attr{int64_t{1}}},
                          {"reverse", Attr{false}},
                          {"exclusive", Attr{false}}})
                    ->result();
  Value* state = initial_state(n);
  Value* u = uniform(b, w, {batch, Dim(samples)}, state);
  // The class is the number of running sums that u has reached.
  const Shape cube = {batch, Dim(samples), classes};
  Value* reached =
      b.compare("GE", b.broadcast_in_dim(u, cube, {0, 1}), b.broadcast_in_dim(sums, cube, {0, 2}));
  Value* count = b.reduce(Prim::Add, b.convert(reached, DType::I64), {2});
  Value* last = b.full(b.dim_scalar(classes - Dim(1)), count->type.shape);
  return {b.convert(b.binary(Prim::Min, count, last), t)};
}

Outputs convert(NodeContext& n) {
  if (n.op_type() == "Bernoulli") return bernoulli(n);
  if (n.op_type() == "Multinomial") return multinomial(n);
  return draw(n);
}

}  // namespace

extern const OnnxOp onnx_random;
const OnnxOp onnx_random = {.names = {{"RandomUniform", {1, 22}},
                                      {"RandomNormal", {1, 22}},
                                      {"RandomUniformLike", {1, 22}},
                                      {"RandomNormalLike", {1, 22}},
                                      {"Bernoulli", {15, 22}},
                                      {"Multinomial", {7, 22}}},
                            .summary = "Random numbers from Threefry 2x32, the same in every run.",
                            .convert = convert};

}  // namespace tenfold::onnx
