// DynamicQuantizeLSTM: an LSTM whose products quantize their left operand by its own range: the
// whole input once, the hidden state at every step.
#include <fmt/format.h>

#include "frontends/onnx/ops/dynamic_quantize_util.h"
#include "frontends/onnx/ops/loop_util.h"

namespace tenfold::onnx {

namespace {

using B = GraphBuilder;

Value* part(B& b, Value* x, int64_t axis, const Dim& from, const Dim& to) {
  Shape start(x->type.shape.size(), Dim(0)), limit = x->type.shape;
  start[static_cast<size_t>(axis)] = from;
  limit[static_cast<size_t>(axis)] = to;
  return b.slice(x, start, limit, std::vector<int64_t>(start.size(), 1));
}

// A quantized matrix [k, n], its zero points taken off, and its scale for each column.
struct Weights {
  Value *centered, *scale;  // i32 [k, n], f32 [n]
};

// x [..., k] times the weights, x quantized by its own range.
Value* product(B& b, Value* x, const Weights& w) {
  const DynamicQuantized q = dynamic_quantize(b, x);
  Value* left = centered_i32(b, q.y, b.full(q.zero, x->type.shape));
  Value* p = b.dot_general(left, w.centered, {}, {}, {x->type.rank() - 1}, {0});
  const Shape s = p->type.shape;
  Value* scale = mul(b, b.broadcast_in_dim(w.scale, s, {p->type.rank() - 1}), b.full(q.scale, s));
  return mul(b, b.convert(p, DType::F32), scale);
}

Outputs convert(NodeContext& n) {
  B& b = n.b;
  Value *x = n.input(0), *w = n.input(1), *r = n.input(2), *bias = n.opt(3), *lens = n.opt(4);
  Value *h0 = n.opt(5), *c0 = n.opt(6), *peephole = n.opt(7);
  n.need_rank(x, 3, 3, "X");
  n.need_rank(w, 3, 3, "W");
  n.need_rank(r, 3, 3, "R");
  if (x->type.dtype != DType::F32) n.invalid("X must be f32, found " + x->type.str());
  const std::string direction = n.attr_s("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    n.invalid("direction '" + direction + "'");
  }
  const int64_t D = direction == "bidirectional" ? 2 : 1;
  const int64_t H = n.static_dim(r, 1, "the hidden size");
  if (n.attr_i("hidden_size", H) != H) n.invalid("hidden_size and R differ");
  for (Value* v : {w, r}) {
    n.require_equal(v->type.shape[0], Dim(D), "directions");
    n.require_equal(v->type.shape[2], Dim(4 * H), "gates");
  }
  std::vector<std::string> names;
  for (int64_t d = 0; d < D; ++d) names.insert(names.end(), {"sigmoid", "tanh", "tanh"});
  auto stated = n.attr_strings("activations", names);
  for (auto& s : stated) {
    for (char& c : s) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  if (stated != names) n.fail("activations other than Sigmoid, Tanh, Tanh are not supported");
  n.ignore_attr("activation_alpha");  // these activations have no parameters
  n.ignore_attr("activation_beta");
  std::optional<double> clip;
  if (n.has_attr("clip")) clip = n.attr_f("clip");
  const bool coupled = n.attr_flag("input_forget");
  const Dim length = x->type.shape[0], batch = x->type.shape[1];
  if (lens) lens = b.convert(lens, DType::I64);
  Value *sw = n.input(8), *zw = n.input(9), *sr = n.input(10), *zr = n.input(11);
  const Shape state = {batch, Dim(H)};
  std::vector<Value*> ys, hs, cs;
  for (int64_t d = 0; d < D; ++d) {
    const auto row = [&](Value* v) {
      Value* one = part(b, v, 0, Dim(d), Dim(d + 1));
      return b.reshape(one, Shape(v->type.shape.begin() + 1, v->type.shape.end()));
    };
    const auto read = [&](Value* q, Value* scale, Value* zero) {
      const Dim columns(4 * H);
      Value* m = row(q);
      const auto spread = [&](Value* v, const Shape& to) {
        v = row(v);
        return v->type.rank() == 0
                   ? b.full(v, to)
                   : spread_scale(n, v, to, static_cast<int64_t>(to.size()) - 1, 0, "a scale");
      };
      return Weights{centered_i32(b, m, spread(zero, m->type.shape)), spread(scale, {columns})};
    };
    const Weights input = read(w, sw, zw), recurrent = read(r, sr, zr);
    Value* gates = product(b, x, input);  // [length, batch, 4 * hidden]
    if (bias) {
      Value* v = row(bias);
      v = add(b, part(b, v, 0, Dim(0), Dim(4 * H)), part(b, v, 0, Dim(4 * H), Dim(8 * H)));
      gates = add(b, gates, b.broadcast_in_dim(v, gates->type.shape, {2}));
    }
    Value* peek = peephole ? row(peephole) : nullptr;
    const bool backward = direction == "reverse" || d == 1;
    LoopSpec spec;
    const auto initial = [&](Value* v) { return v ? row(v) : b.splat({DType::F32, state}, 0); };
    spec.carried = {initial(h0), initial(c0)};
    spec.trip = b.dim_scalar(length);
    spec.max_rounds = length;
    spec.reversed = {backward};
    spec.body = [&](B& q, Value* round, Value*, const std::vector<Value*>& s) {
      Value *h = s[0], *c = s[1];
      Value* t = backward ? sub(q, q.dim_scalar(length - Dim(1)), round) : round;
      Value* all = add(q, element_at(q, gates, t, 0), product(q, h, recurrent));
      const auto gate = [&](int64_t i) { return part(q, all, 1, Dim(i * H), Dim((i + 1) * H)); };
      const auto cut = [&](Value* v) { return clip ? max(q, min(q, v, *clip), -*clip) : v; };
      const auto with_cell = [&](Value* v, int64_t i, Value* cell) {
        if (!peek) return v;
        Value* p = part(q, peek, 0, Dim(i * H), Dim((i + 1) * H));
        return add(q, v, mul(q, q.broadcast_in_dim(p, state, {1}), cell));
      };
      const auto sigmoid = [&](Value* v) { return q.unary(Prim::Logistic, cut(v)); };
      Value* i = sigmoid(with_cell(gate(0), 0, c));
      Value* f = coupled ? sub_from(q, 1, i) : sigmoid(with_cell(gate(2), 2, c));
      Value* g = q.unary(Prim::Tanh, cut(gate(3)));
      Value* next_c = add(q, mul(q, f, c), mul(q, i, g));
      Value* o = sigmoid(with_cell(gate(1), 1, next_c));
      Value* next_h = mul(q, o, q.unary(Prim::Tanh, next_c));
      Value* y = next_h;
      if (lens) {
        Value* active = q.compare("LT", q.full(t, lens->type.shape), lens);
        Value* mask = q.broadcast_in_dim(active, state, {0});
        y = q.select(mask, next_h, like(q, h, 0));
        next_h = q.select(mask, next_h, h);
        next_c = q.select(mask, next_c, c);
      }
      LoopSpec::Step step;
      step.carried = {next_h, next_c};
      step.stacked = {y};
      return step;
    };
    const LoopResult out = build_loop(n, spec);
    const auto lead = [&](Value* v, int64_t at) {
      Shape s = v->type.shape;
      s.insert(s.begin() + at, Dim(1));
      return b.reshape(v, s);
    };
    ys.push_back(lead(out.stacked[0], 1));
    hs.push_back(lead(out.carried[0], 0));
    cs.push_back(lead(out.carried[1], 0));
  }
  return {b.concatenate(ys, 1), b.concatenate(hs, 0), b.concatenate(cs, 0)};
}

}  // namespace

extern const OnnxOp onnx_ms_dynamic_quantize_lstm;
const OnnxOp onnx_ms_dynamic_quantize_lstm = {
    .names = {{"DynamicQuantizeLSTM", {1}}},
    .domain = "com.microsoft",
    .summary = "LSTM with weights of 8 bits and operands quantized as it runs.",
    .convert = convert,
    .limits = "activations other than the default ones"};

}  // namespace tenfold::onnx
