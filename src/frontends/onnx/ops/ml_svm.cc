// SVMRegressor and SVMClassifier.
#include <numeric>

#include <fmt/format.h>

#include "frontends/onnx/ops/ml_util.h"

namespace tenfold::onnx {

namespace {

using B = GraphBuilder;

struct Kernel {
  std::string kind;
  double gamma = 0, coef = 0, degree = 0;
};

Kernel read_kernel(NodeContext& n) {
  Kernel k{n.attr_s("kernel_type", "LINEAR")};
  if (k.kind != "LINEAR" && k.kind != "POLY" && k.kind != "RBF" && k.kind != "SIGMOID") {
    n.invalid("kernel_type '" + k.kind + "'");
  }
  const auto p = n.attr_floats("kernel_params", {});
  if (!p.empty() && p.size() != 3) n.invalid("kernel_params must have 3 entries");
  if (p.empty()) return k;
  k.gamma = p[0];
  k.coef = p[1];
  k.degree = p[2];
  return k;
}

// [rows, vectors]
Value* kernel(B& b, const Kernel& k, Value* x, Value* vectors) {
  if (k.kind == "RBF") {
    const Shape cube = {x->type.shape[0], vectors->type.shape[0], x->type.shape[1]};
    Value* d =
        sub(b, b.broadcast_in_dim(x, cube, {0, 2}), b.broadcast_in_dim(vectors, cube, {1, 2}));
    return b.unary(Prim::Exp, mul(b, b.reduce(Prim::Add, square(b, d), {2}), -k.gamma));
  }
  Value* dot = b.dot_general(x, vectors, {}, {}, {1}, {1});
  if (k.kind == "LINEAR") return dot;
  dot = add(b, mul(b, dot, k.gamma), k.coef);
  if (k.kind == "SIGMOID") return b.unary(Prim::Tanh, dot);
  return b.binary(Prim::Pow, dot, like(b, dot, k.degree));
}

Value* table(NodeContext& n, Value* x, const std::vector<double>& v, int64_t rows,
             std::string_view what) {
  const auto size = static_cast<int64_t>(v.size());
  if (rows < 1 || size % rows != 0 || size == 0) {
    n.invalid(fmt::format("{} numbers of {} for {} rows", size, what, rows));
  }
  n.require_equal(x->type.shape[1], Dim(size / rows), fmt::format("features and {}", what));
  return floats(n.b, x->type.dtype, v, {rows, size / rows});
}

Outputs regressor(NodeContext& n) {
  B& b = n.b;
  Value* x = feature_rows(n, n.input(0));
  const Kernel k = read_kernel(n);
  const auto weights = n.attr_floats("coefficients", {}), rho = n.attr_floats("rho", {});
  const auto vectors = n.attr_floats("support_vectors", {});
  const int64_t count = n.attr_i("n_supports", 0);
  if (rho.empty()) n.invalid("rho is missing");
  Value* s;
  if (count > 0) {
    if (static_cast<int64_t>(weights.size()) != count) n.invalid("coefficients and n_supports");
    Value* f = kernel(b, k, x, table(n, x, vectors, count, "support_vectors"));
    s = b.dot_general(f, floats(b, x->type.dtype, weights, {1, count}), {}, {}, {1}, {1});
  } else {
    s = kernel(b, k, x, table(n, x, weights, 1, "coefficients"));
  }
  s = add(b, s, rho[0]);
  if (n.attr_flag("one_class")) {
    Value* in = b.compare("GT", s, like(b, s, 0));
    s = b.select(in, like(b, s, 1), like(b, s, -1));
  }
  const Transform t = read_transform(n);
  return {b.convert(transform(b, t, s), DType::F32)};
}

// Class probabilities from pairwise ones (Wu, Lin and Weng; as LIBSVM solves them): `r[i][j]` is
// the probability of i against j, [rows] each.
Value* coupled(NodeContext& n, const std::vector<std::vector<Value*>>& r, int64_t classes) {
  B& b = n.b;
  const auto c = static_cast<size_t>(classes);
  std::vector<std::vector<Value*>> q(c, std::vector<Value*>(c));
  for (size_t t = 0; t < c; ++t) {
    Value* sum = nullptr;
    for (size_t j = 0; j < c; ++j) {
      if (j == t) continue;
      Value* v = square(b, r[j][t]);
      sum = sum ? add(b, sum, v) : v;
      q[t][j] = b.unary(Prim::Neg, mul(b, r[j][t], r[t][j]));
    }
    q[t][t] = sum;
  }
  const DType w = r[0][1]->type.dtype;
  const Shape rows = r[0][1]->type.shape;
  std::vector<Value*> state = {b.constant_i(DType::I64, 0)};
  for (size_t t = 0; t < c; ++t)
    state.push_back(b.splat({w, rows}, 1.0 / static_cast<double>(classes)));
  const int64_t rounds = std::max<int64_t>(100, classes);
  Value* limit = b.constant_i(DType::I64, rounds);
  const double eps = 0.005 / static_cast<double>(classes);
  const auto step = [&](B& g, const std::vector<Value*>& a) -> std::vector<Value*> {
    std::vector<Value*> p(a.begin() + 1, a.end()), qp(c);
    Value* pqp = nullptr;
    for (size_t t = 0; t < c; ++t) {
      Value* s = nullptr;
      for (size_t j = 0; j < c; ++j) {
        Value* v = mul(g, q[t][j], p[j]);
        s = s ? add(g, s, v) : v;
      }
      qp[t] = s;
      Value* v = mul(g, p[t], s);
      pqp = pqp ? add(g, pqp, v) : v;
    }
    Value* worst = nullptr;
    for (size_t t = 0; t < c; ++t) {
      Value* e = g.unary(Prim::Abs, sub(g, qp[t], pqp));
      worst = worst ? g.binary(Prim::Max, worst, e) : e;
    }
    Value* done = g.compare("LT", worst, like(g, worst, eps));
    std::vector<Value*> now = p;
    for (size_t t = 0; t < c; ++t) {
      Value* diff = div(g, sub(g, pqp, qp[t]), q[t][t]);
      now[t] = add(g, now[t], diff);
      Value* scale = add(g, diff, 1);
      Value* inner = add(g, mul(g, diff, q[t][t]), mul(g, qp[t], 2));
      pqp = div(g, div(g, add(g, pqp, mul(g, diff, inner)), scale), scale);
      for (size_t j = 0; j < c; ++j) {
        qp[j] = div(g, add(g, qp[j], mul(g, diff, q[t][j])), scale);
        now[j] = div(g, now[j], scale);
      }
    }
    std::vector<Value*> next = {add(g, a[0], 1)};
    for (size_t t = 0; t < c; ++t) next.push_back(g.select(done, p[t], now[t]));
    return next;
  };
  const auto out = b.while_(
      state,
      [&](B& g, const std::vector<Value*>& a) -> std::vector<Value*> {
        return {g.compare("LT", a[0], limit)};
      },
      step);
  std::vector<Value*> columns;
  for (size_t t = 0; t < c; ++t) columns.push_back(b.reshape(out[t + 1], {rows[0], Dim(1)}));
  return b.concatenate(columns, 1);
}

Outputs classifier(NodeContext& n) {
  B& b = n.b;
  Value* x = feature_rows(n, n.input(0));
  const Kernel k = read_kernel(n);
  const ClassLabels labels = read_labels(n, "classlabels_ints");
  const auto weights = n.attr_floats("coefficients", {}), rho = n.attr_floats("rho", {});
  const auto vectors = n.attr_floats("support_vectors", {});
  const auto per_class = n.attr_ints("vectors_per_class", {});
  const auto prob_a = n.attr_floats("prob_a", {}), prob_b = n.attr_floats("prob_b", {});
  const Transform t = read_transform(n);
  const auto classes = static_cast<int64_t>(labels.count);
  if (classes < 2) n.invalid("needs at least two class labels");
  if (per_class.empty()) {
    n.fail("the form without support vectors is not supported; use LinearClassifier");
  }
  const int64_t count = std::accumulate(per_class.begin(), per_class.end(), int64_t{0});
  const int64_t pairs = classes * (classes - 1) / 2;
  if (static_cast<int64_t>(per_class.size()) != classes ||
      static_cast<int64_t>(weights.size()) != (classes - 1) * count ||
      static_cast<int64_t>(rho.size()) != pairs) {
    n.invalid("vectors_per_class, coefficients or rho do not fit the classes");
  }
  if (prob_a.size() != prob_b.size() ||
      (!prob_a.empty() && static_cast<int64_t>(prob_a.size()) != pairs)) {
    n.invalid("prob_a and prob_b need one entry for each pair of classes");
  }
  const DType w = x->type.dtype;
  Value* f = kernel(b, k, x, table(n, x, vectors, count, "support_vectors"));  // [rows, vectors]
  // Decision values of all pairs are one product with a sparse matrix.
  std::vector<int64_t> start(per_class.size(), 0);
  for (size_t i = 1; i < per_class.size(); ++i) start[i] = start[i - 1] + per_class[i - 1];
  std::vector<double> matrix(static_cast<size_t>(pairs * count), 0);
  std::vector<std::pair<size_t, size_t>> pair_of;
  for (int64_t i = 0; i < classes; ++i) {
    for (int64_t j = i + 1; j < classes; ++j) {
      const auto row = static_cast<int64_t>(pair_of.size()) * count;
      pair_of.emplace_back(i, j);
      const auto put = [&](int64_t of, int64_t weights_row) {
        const auto c = static_cast<size_t>(of);
        for (int64_t v = start[c]; v < start[c] + per_class[c]; ++v) {
          matrix[static_cast<size_t>(row + v)] =
              weights[static_cast<size_t>(weights_row * count + v)];
        }
      };
      put(i, j - 1);
      put(j, i);
    }
  }
  const Dim rows = x->type.shape[0];
  Value* s = b.dot_general(f, floats(b, w, matrix, {pairs, count}), {}, {}, {1}, {1});
  s = add(b, s, b.broadcast_in_dim(floats(b, w, rho, {pairs}), s->type.shape, {1}));
  const auto pair_score = [&](size_t p) {
    const auto i = static_cast<int64_t>(p);
    return b.reshape(b.slice(s, {Dim(0), Dim(i)}, {rows, Dim(i + 1)}, {1, 1}), {rows});
  };
  // The label is the class with the most votes, also where probabilities are asked for: so does
  // LIBSVM, and so does onnxruntime.
  std::vector<Value*> votes(labels.count, nullptr);
  for (size_t p = 0; p < pair_of.size(); ++p) {
    const auto [i, j] = pair_of[p];
    Value* won = b.compare("GT", pair_score(p), b.splat({w, {rows}}, 0));
    Value* one = b.convert(won, w);
    votes[i] = votes[i] ? add(b, votes[i], one) : one;
    Value* other = sub_from(b, 1, one);
    votes[j] = votes[j] ? add(b, votes[j], other) : other;
  }
  std::vector<Value*> columns;
  for (Value* v : votes) columns.push_back(b.reshape(v, {rows, Dim(1)}));
  Value* index = arg_max(b, b.concatenate(columns, 1));
  if (!prob_a.empty()) {
    std::vector<std::vector<Value*>> r(labels.count, std::vector<Value*>(labels.count));
    for (size_t p = 0; p < pair_of.size(); ++p) {
      const auto [i, j] = pair_of[p];
      Value* z = add(b, mul(b, pair_score(p), prob_a[p]), prob_b[p]);
      Value* v = b.unary(Prim::Logistic, b.unary(Prim::Neg, z));
      v = min(b, max(b, v, 1e-7), 1 - 1e-7);
      r[i][j] = v;
      r[j][i] = sub_from(b, 1, v);
    }
    Value* z = coupled(n, r, classes);
    return {labels_at(b, labels, index), b.convert(transform(b, t, z), DType::F32)};
  }
  // Of two classes the other's score is -s, or 1 - s where a transform follows.
  Value* z = classes == 2 ? two_classes(b, t, s, t != Transform::None) : transform(b, t, s);
  return {labels_at(b, labels, index), b.convert(z, DType::F32)};
}

Outputs convert(NodeContext& n) {
  return n.op_type() == "SVMRegressor" ? regressor(n) : classifier(n);
}

}  // namespace

extern const OnnxOp onnx_ml_svm;
const OnnxOp onnx_ml_svm = {.names = {{"SVMRegressor", {1}}, {"SVMClassifier", {1}}},
                            .domain = "ai.onnx.ml",
                            .summary = "Support vector machines.",
                            .convert = convert,
                            .limits =
                                "string class labels as an output; classifiers without "
                                "support vectors"};

}  // namespace tenfold::onnx
