// RNN, GRU, LSTM: the inputs' share of all gates is one matrix product before the loop over time.
#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "frontends/onnx/ops/loop_util.h"

namespace tenfold::onnx {

namespace {

using B = GraphBuilder;
using Activation = std::function<Value*(B&, Value*)>;

std::string lower(std::string s) {
  for (char& c : s) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return s;
}

// The activation named `kind`; takes its parameters off the lists.
Activation activation(NodeContext& n, const std::string& kind, std::vector<double>& alphas,
                      std::vector<double>& betas) {
  const auto take = [](std::vector<double>& list, double otherwise) {
    if (list.empty()) return otherwise;
    const double v = list.front();
    list.erase(list.begin());
    return v;
  };
  const std::string k = lower(kind);
  const auto positive = [](B& b, Value* x) { return b.compare("GT", x, like(b, x, 0)); };
  if (k == "sigmoid") return [](B& b, Value* x) { return b.unary(Prim::Logistic, x); };
  if (k == "tanh") return [](B& b, Value* x) { return b.unary(Prim::Tanh, x); };
  if (k == "relu") return [](B& b, Value* x) { return max(b, x, 0); };
  if (k == "softsign") {
    return [](B& b, Value* x) { return div(b, x, add(b, b.unary(Prim::Abs, x), 1)); };
  }
  if (k == "softplus") {
    return [](B& b, Value* x) {
      Value* e = b.unary(Prim::Exp, b.unary(Prim::Neg, b.unary(Prim::Abs, x)));
      return add(b, max(b, x, 0), b.unary(Prim::Log1p, e));
    };
  }
  if (k == "affine") {
    const double alpha = take(alphas, 1), beta = take(betas, 0);
    return [=](B& b, Value* x) { return add(b, mul(b, x, alpha), beta); };
  }
  if (k == "leakyrelu") {
    const double alpha = take(alphas, static_cast<double>(0.01f));
    return [=](B& b, Value* x) { return b.select(positive(b, x), x, mul(b, x, alpha)); };
  }
  if (k == "thresholdedrelu") {
    const double alpha = take(alphas, 1);
    return [=](B& b, Value* x) {
      return b.select(b.compare("GT", x, like(b, x, alpha)), x, like(b, x, 0));
    };
  }
  if (k == "scaledtanh") {
    const double alpha = take(alphas, 1), beta = take(betas, 1);
    return [=](B& b, Value* x) { return mul(b, b.unary(Prim::Tanh, mul(b, x, beta)), alpha); };
  }
  if (k == "hardsigmoid") {
    const double alpha = take(alphas, static_cast<double>(0.2f)), beta = take(betas, 0.5);
    return [=](B& b, Value* x) { return max(b, min(b, add(b, mul(b, x, alpha), beta), 1), 0); };
  }
  if (k == "elu") {
    const double alpha = take(alphas, 1);
    return [=](B& b, Value* x) {
      return b.select(positive(b, x), x, mul(b, b.unary(Prim::Expm1, x), alpha));
    };
  }
  n.invalid("activation '" + kind + "'");
}

struct Cell {
  enum Kind { Rnn, Gru, Lstm } kind;
  int64_t gates;  // 1, 3, 4
  Dim batch, length;
  int64_t hidden;
  DType type;
  std::optional<double> clip;
  bool input_forget = false, linear_before_reset = false;
};

// What one direction works on.
struct Direction {
  Value *w, *r;                                // [gates*H, I], [gates*H, H]
  Value *bias_w = nullptr, *bias_r = nullptr;  // [gates*H]
  Value* peephole = nullptr;                   // [3*H]
  Value *h, *c = nullptr;                      // [B, H]
  std::vector<Activation> f;
};

Value* part(B& b, Value* x, int64_t axis, const Dim& from, const Dim& to) {
  Shape start(x->type.shape.size(), Dim(0)), limit = x->type.shape;
  start[static_cast<size_t>(axis)] = from;
  limit[static_cast<size_t>(axis)] = to;
  return b.slice(x, start, limit, std::vector<int64_t>(start.size(), 1));
}
Value* gate(B& b, Value* x, int64_t i, int64_t hidden) {
  return part(b, x, x->type.rank() - 1, Dim(i * hidden), Dim((i + 1) * hidden));
}
Value* spread(B& b, Value* v, Value* like_) {
  return b.broadcast_in_dim(v, like_->type.shape, {like_->type.rank() - 1});
}

struct Run {
  Value *y, *h, *c;  // [T, B, H], [B, H], [B, H]
};

// One pass over time. `x`: [T, B, I]. Steps at and beyond lens[b] leave the state as it is and give
// zeros.
Run run(NodeContext& n, const Cell& cell, const Direction& d, Value* x, Value* lens, bool backward,
        bool want_y) {
  B& b = n.b;
  const int64_t H = cell.hidden;
  // [T, B, gates*H] with whatever biases do not depend on the state.
  Value* inputs = b.dot_general(x, d.w, {}, {}, {2}, {1});
  Value* late = nullptr;  // GRU with linear_before_reset: the hidden gate's recurrent bias
  if (d.bias_w) {
    inputs = add(b, inputs, spread(b, d.bias_w, inputs));
    if (cell.kind == Cell::Gru && cell.linear_before_reset) {
      late = gate(b, d.bias_r, 2, H);
      Value* early = part(b, d.bias_r, 0, Dim(0), Dim(2 * H));
      Value* none = b.splat({cell.type, {Dim(H)}}, 0);
      inputs = add(b, inputs, spread(b, b.concatenate({early, none}, 0), inputs));
    } else {
      inputs = add(b, inputs, spread(b, d.bias_r, inputs));
    }
  }
  LoopSpec spec;
  spec.carried = {d.h};
  if (cell.kind == Cell::Lstm) spec.carried.push_back(d.c);
  spec.trip = b.dim_scalar(cell.length);
  spec.max_rounds = cell.length;
  if (want_y) spec.reversed = {backward};
  spec.body = [&](B& q, Value* round, Value*, const std::vector<Value*>& state) {
    const auto clipped = [&](Value* v) {
      return cell.clip ? max(q, min(q, v, *cell.clip), -*cell.clip) : v;
    };
    const auto on = [&](size_t k, Value* v) { return d.f[k](q, clipped(v)); };
    Value* t = round;
    if (backward) t = sub(q, q.dim_scalar(cell.length - Dim(1)), round);
    Value* in = element_at(q, inputs, t, 0);
    Value* h = state[0];
    Value *next_h, *next_c = nullptr;
    if (cell.kind == Cell::Rnn) {
      next_h = on(0, add(q, in, q.dot_general(h, d.r, {}, {}, {1}, {1})));
    } else if (cell.kind == Cell::Gru) {
      Value *z, *r, *hidden;
      if (cell.linear_before_reset) {
        Value* rec = q.dot_general(h, d.r, {}, {}, {1}, {1});
        z = on(0, add(q, gate(q, in, 0, H), gate(q, rec, 0, H)));
        r = on(0, add(q, gate(q, in, 1, H), gate(q, rec, 1, H)));
        Value* v = gate(q, rec, 2, H);
        if (late) v = add(q, v, spread(q, late, v));
        hidden = on(1, add(q, gate(q, in, 2, H), mul(q, r, v)));
      } else {
        Value* zr = q.dot_general(h, part(q, d.r, 0, Dim(0), Dim(2 * H)), {}, {}, {1}, {1});
        z = on(0, add(q, gate(q, in, 0, H), gate(q, zr, 0, H)));
        r = on(0, add(q, gate(q, in, 1, H), gate(q, zr, 1, H)));
        Value* rh = part(q, d.r, 0, Dim(2 * H), Dim(3 * H));
        hidden =
            on(1, add(q, gate(q, in, 2, H), q.dot_general(mul(q, r, h), rh, {}, {}, {1}, {1})));
      }
      next_h = add(q, mul(q, sub_from(q, 1, z), hidden), mul(q, z, h));
    } else {
      Value* c = state[1];
      Value* all = add(q, in, q.dot_general(h, d.r, {}, {}, {1}, {1}));
      Value *i = gate(q, all, 0, H), *o = gate(q, all, 1, H), *f = gate(q, all, 2, H),
            *g = gate(q, all, 3, H);
      const auto peek = [&](Value* v, int64_t k, Value* cells) {
        if (!d.peephole) return v;
        return add(q, v, mul(q, cells, spread(q, gate(q, d.peephole, k, H), cells)));
      };
      i = on(0, peek(i, 0, c));
      f = cell.input_forget ? sub_from(q, 1, i) : on(0, peek(f, 2, c));
      next_c = add(q, mul(q, f, c), mul(q, i, on(1, g)));
      o = on(0, peek(o, 1, next_c));
      next_h = mul(q, o, d.f[2](q, next_c));
    }
    Value* y = next_h;
    if (lens) {
      Value* active = q.compare("LT", q.full(t, lens->type.shape), lens);
      Value* mask = q.broadcast_in_dim(active, h->type.shape, {0});
      y = q.select(mask, next_h, like(q, h, 0));
      next_h = q.select(mask, next_h, h);
      if (next_c) next_c = q.select(mask, next_c, state[1]);
    }
    LoopSpec::Step step;
    step.carried = {next_h};
    if (next_c) step.carried.push_back(next_c);
    if (want_y) step.stacked = {y};
    return step;
  };
  const LoopResult r = build_loop(n, spec);
  return {want_y ? r.stacked[0] : nullptr, r.carried[0],
          cell.kind == Cell::Lstm ? r.carried[1] : nullptr};
}

Outputs convert(NodeContext& n) {
  B& b = n.b;
  Cell cell;
  const std::string& op = n.op_type();
  cell.kind = op == "LSTM" ? Cell::Lstm : op == "GRU" ? Cell::Gru : Cell::Rnn;
  cell.gates = cell.kind == Cell::Lstm ? 4 : cell.kind == Cell::Gru ? 3 : 1;
  Value *x = n.input(0), *w = n.input(1), *r = n.input(2), *bias = n.opt(3), *lens = n.opt(4),
        *h0 = n.opt(5);
  Value* c0 = cell.kind == Cell::Lstm ? n.opt(6) : nullptr;
  Value* peephole = cell.kind == Cell::Lstm ? n.opt(7) : nullptr;
  n.need_rank(x, 3, 3, "X");
  n.need_rank(w, 3, 3, "W");
  n.need_rank(r, 3, 3, "R");
  const std::string direction = lower(n.attr_s("direction", "forward"));
  const bool both = direction == "bidirectional";
  if (!both && direction != "forward" && direction != "reverse") {
    n.invalid("direction '" + direction + "'");
  }
  const int64_t D = both ? 2 : 1;
  const bool batch_first = n.opset() >= 14 && n.attr_flag("layout");
  cell.hidden = n.static_dim(r, 2, "the hidden size");
  if (n.attr_i("hidden_size", cell.hidden) != cell.hidden) {
    n.invalid(fmt::format("hidden_size is {}, R has {}", n.attr_i("hidden_size"), cell.hidden));
  }
  if (n.has_attr("clip")) cell.clip = n.attr_f("clip");
  if (cell.kind == Cell::Lstm) cell.input_forget = n.attr_flag("input_forget");
  if (cell.kind == Cell::Gru) {
    cell.linear_before_reset = n.opset() >= 3 && n.attr_flag("linear_before_reset");
  }
  if (n.opset() < 7) n.ignore_attr("output_sequence");
  const int64_t H = cell.hidden, G = cell.gates * H;
  const DType t = x->type.dtype;
  cell.type = wide(t);
  n.require_equal(w->type.shape[0], Dim(D), "directions of W");
  n.require_equal(r->type.shape[0], Dim(D), "directions of R");
  n.require_equal(w->type.shape[1], Dim(G), "gates of W");
  n.require_equal(r->type.shape[1], Dim(G), "gates of R");
  if (bias) {
    n.need_rank(bias, 2, 2, "B");
    n.require_equal(bias->type.shape[1], Dim(2 * G), "entries of B");
  }
  if (peephole) {
    n.need_rank(peephole, 2, 2, "P");
    n.require_equal(peephole->type.shape[1], Dim(3 * H), "entries of P");
  }
  for (Value* v : {w, r, bias, h0, c0, peephole}) {
    if (v && v->type.dtype != t) n.invalid("X and a parameter differ in element type");
  }
  const auto widened = [&](Value* v) { return v ? b.convert(v, cell.type) : nullptr; };
  x = widened(x);
  if (batch_first) x = b.transpose(x, {1, 0, 2});
  cell.length = x->type.shape[0];
  cell.batch = x->type.shape[1];
  n.require_equal(w->type.shape[2], x->type.shape[2], "input sizes of W and X");
  if (lens) {
    n.need_rank(lens, 1, 1, "sequence_lens");
    n.require_equal(lens->type.shape[0], cell.batch, "number of lengths and batch size");
    lens = b.convert(lens, DType::I64);
  }
  for (Value** state : {&h0, &c0}) {
    if (!*state) continue;
    n.need_rank(*state, 3, 3, "an initial state");
    *state = widened(*state);
    if (batch_first) *state = b.transpose(*state, {1, 0, 2});
    n.require_equal((*state)->type.shape[0], Dim(D), "directions of an initial state");
    n.require_equal((*state)->type.shape[1], cell.batch, "batch of an initial state");
    n.require_equal((*state)->type.shape[2], Dim(H), "hidden size of an initial state");
  }

  std::vector<std::string> names;
  for (int64_t d = 0; d < D; ++d) {
    if (cell.kind == Cell::Lstm)
      names.insert(names.end(), {"Sigmoid", "Tanh", "Tanh"});
    else if (cell.kind == Cell::Gru)
      names.insert(names.end(), {"Sigmoid", "Tanh"});
    else
      names.push_back("Tanh");
  }
  const size_t per = names.size() / static_cast<size_t>(D);
  names = n.attr_strings("activations", names);
  auto alphas = n.attr_floats("activation_alpha", {}), betas = n.attr_floats("activation_beta", {});
  // Some exporters write one direction's worth for both.
  if (names.size() == per && D == 2)
    names.insert(names.end(), names.begin(), names.begin() + static_cast<long>(per));
  if (names.size() != per * static_cast<size_t>(D)) {
    n.invalid(fmt::format("{} activations, wanted {}", names.size(), per * static_cast<size_t>(D)));
  }

  const bool want_y = n.wants(0);
  std::vector<Value*> ys, hs, cs;
  for (int64_t d = 0; d < D; ++d) {
    const auto row = [&](Value* v) -> Value* {
      if (!v) return nullptr;
      Value* one = part(b, v, 0, Dim(d), Dim(d + 1));
      return b.reshape(one, Shape(v->type.shape.begin() + 1, v->type.shape.end()));
    };
    Direction dir;
    dir.w = widened(row(w));
    dir.r = widened(row(r));
    if (bias) {
      Value* v = widened(row(bias));
      dir.bias_w = part(b, v, 0, Dim(0), Dim(G));
      dir.bias_r = part(b, v, 0, Dim(G), Dim(2 * G));
    }
    dir.peephole = widened(row(peephole));
    const TensorType state{cell.type, {cell.batch, Dim(H)}};
    dir.h = h0 ? row(h0) : b.splat(state, 0);
    if (cell.kind == Cell::Lstm) dir.c = c0 ? row(c0) : b.splat(state, 0);
    for (size_t k = 0; k < per; ++k) {
      dir.f.push_back(activation(n, names[static_cast<size_t>(d) * per + k], alphas, betas));
    }
    const bool backward = direction == "reverse" || d == 1;
    // Running time backwards skips the padding at the end: the mask holds the state there.
    const Run out = run(n, cell, dir, x, lens, backward, want_y);
    const auto lead = [&](Value* v, int64_t at) {
      Shape s = v->type.shape;
      s.insert(s.begin() + at, Dim(1));
      return b.reshape(v, s);
    };
    if (want_y) ys.push_back(lead(out.y, 1));
    hs.push_back(lead(out.h, 0));
    if (out.c) cs.push_back(lead(out.c, 0));
  }
  Outputs result;
  if (want_y) {
    Value* y = b.concatenate(ys, 1);  // [T, D, B, H]
    if (batch_first) y = b.transpose(y, {2, 0, 1, 3});
    result.push_back(b.convert(y, t));
  } else {
    result.push_back(Val());
  }
  for (auto* list : {&hs, &cs}) {
    if (list->empty()) continue;
    Value* v = b.concatenate(*list, 0);  // [D, B, H]
    if (batch_first) v = b.transpose(v, {1, 0, 2});
    result.push_back(b.convert(v, t));
  }
  return result;
}

}  // namespace

extern const OnnxOp onnx_rnn;
const OnnxOp onnx_rnn = {
    .names = {{"RNN", {1, 7, 14, 22}}, {"GRU", {1, 3, 7, 14, 22}}, {"LSTM", {1, 7, 14, 22}}},
    .summary = "Recurrent layers in one or both directions.",
    .convert = convert};

}  // namespace tenfold::onnx
