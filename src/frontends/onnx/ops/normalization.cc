// Normalizations over batches, instances, groups and layers.
#include <fmt/format.h>

#include <algorithm>

#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

namespace {

// A vector along dimension 1 of `x`, viewed against x's shape.
Value* per_channel(GraphBuilder& b, Value* v, Value* x) {
  return b.broadcast_in_dim(v, x->type.shape, {1});
}

// (x - mean) / sqrt(variance + epsilon) over dims.
Value* standardize(GraphBuilder& b, Value* x, const std::vector<int64_t>& dims, double epsilon) {
  std::vector<int64_t> others;
  for (int64_t i = 0; i < x->type.rank(); ++i) {
    if (std::find(dims.begin(), dims.end(), i) == dims.end()) others.push_back(i);
  }
  const auto spread = [&](Value* v) { return b.broadcast_in_dim(v, x->type.shape, others); };
  Value* centred = sub(b, x, spread(mean(b, x, dims, false)));
  Value* variance = mean(b, square(b, centred), dims, false);
  return div(b, centred, spread(b.unary(Prim::Sqrt, add(b, variance, epsilon))));
}

Outputs batch_norm(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value* in = n.input(0);
  const double epsilon = n.attr_f("epsilon", static_cast<double>(1e-5f));
  const double momentum = n.attr_f("momentum", static_cast<double>(0.9f));
  bool training = false;
  bool spatial = true;
  if (n.opset() < 7) {
    n.ignore_attr("consumed_inputs");
    training = !n.attr_flag("is_test");
  } else if (n.opset() >= 14) {
    training = n.attr_flag("training_mode");
  } else {
    training = n.wants(1) || n.wants(2) || n.wants(3) || n.wants(4);
  }
  if (n.opset() < 9) spatial = n.attr_flag("spatial", true);
  n.need_rank(in, 1, 16, "X");
  const DType t = in->type.dtype;
  DType w = wide(t);
  Value* v[4];
  for (int i = 0; i < 4; ++i) {
    v[i] = n.input(i + 1);
    if (v[i]->type.dtype == DType::F64) w = DType::F64;
  }
  // One dimension: a single channel.
  const Shape shape = in->type.shape;
  Value* x = b.convert(in, w);
  if (shape.size() == 1) x = b.reshape(x, {shape[0], Dim(1)});
  const Dim channels = x->type.shape[1];
  std::vector<DType> types;
  for (Value*& p : v) {
    types.push_back(p->type.dtype);
    if (spatial) {
      n.need_rank(p, 1, 1, "a parameter");
      n.require_equal(p->type.shape[0], channels, "sizes of a parameter and the channels");
    } else {
      n.need_rank(p, x->type.rank() - 1, x->type.rank() - 1, "a parameter (spatial=0)");
    }
    p = b.convert(p, w);
  }
  const auto spread = [&](Value* p) {
    return b.broadcast_in_dim(p, x->type.shape,
                              spatial ? std::vector<int64_t>{1} : iota_list(p->type.rank(), 1));
  };
  Value *scale = v[0], *bias = v[1], *mu = v[2], *var = v[3];
  Outputs extra;
  if (training) {
    std::vector<int64_t> dims = {0};
    if (spatial) {
      for (int64_t i = 2; i < x->type.rank(); ++i) dims.push_back(i);
    }
    Value* batch_mean = mean(b, x, dims, false);
    Value* batch_var = mean(b, square(b, sub(b, x, spread(batch_mean))), dims, false);
    const auto running = [&](Value* old, Value* now, DType type) {
      return b.convert(add(b, mul(b, old, momentum), mul(b, now, 1 - momentum)), type);
    };
    extra = {running(mu, batch_mean, types[2]), running(var, batch_var, types[3])};
    if (n.opset() < 14) {
      extra.push_back(b.convert(batch_mean, types[2]));
      extra.push_back(b.convert(batch_var, types[3]));
    }
    mu = batch_mean;
    var = batch_var;
  }
  Value* factor = div(b, scale, b.unary(Prim::Sqrt, add(b, var, epsilon)));
  Value* y = add(b, mul(b, sub(b, x, spread(mu)), spread(factor)), spread(bias));
  Outputs out = {b.convert(b.reshape(y, shape), t)};
  out.insert(out.end(), extra.begin(), extra.end());
  return out;
}

Outputs instance_norm(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value *in = n.input(0), *scale = n.input(1), *bias = n.input(2);
  n.need_rank(in, 3, 16, "input");
  n.need_rank(scale, 1, 1, "scale");
  n.need_rank(bias, 1, 1, "B");
  if (n.opset() < 6) n.ignore_attr("consumed_inputs");
  const double epsilon = n.attr_f("epsilon", static_cast<double>(1e-5f));
  const DType t = in->type.dtype, w = wide(t);
  Value* x = b.convert(in, w);
  Value* y = standardize(b, x, iota_list(x->type.rank() - 2, 2), epsilon);
  y = add(b, mul(b, y, per_channel(b, b.convert(scale, w), y)),
          per_channel(b, b.convert(bias, w), y));
  return {b.convert(y, t)};
}

Outputs group_norm(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value *in = n.input(0), *scale = n.input(1), *bias = n.input(2);
  n.need_rank(in, 3, 16, "X");
  n.need_rank(scale, 1, 1, "scale");
  n.need_rank(bias, 1, 1, "bias");
  const double epsilon = n.attr_f("epsilon", static_cast<double>(1e-5f));
  const int64_t groups = n.attr_i("num_groups");
  if (groups < 1) n.invalid(fmt::format("num_groups is {}", groups));
  const DType t = in->type.dtype;
  // Opset 18 has no stash_type and computes in X's type; wider is no less exact.
  DType w = wide(t);
  if (n.opset() >= 21) {
    const int64_t stash = n.attr_i("stash_type", 1);
    if (stash == 11)
      w = DType::F64;
    else if (stash != 1)
      n.fail(fmt::format("stash_type {}; supported are 1 and 11", stash));
  }
  const Shape& s = in->type.shape;
  n.require_equal(mod(s[1], Dim(groups)), Dim(0), "channels modulo num_groups");
  Shape split = {s[0], Dim(groups), floordiv(s[1], Dim(groups))};
  split.insert(split.end(), s.begin() + 2, s.end());
  Value* x = b.reshape(b.convert(in, w), split);
  Value* y = b.reshape(standardize(b, x, iota_list(x->type.rank() - 2, 2), epsilon), s);
  const auto stretch = [&](Value* v) {
    if (n.opset() >= 21) return v;
    // One number a group.
    const Dim per = floordiv(s[1], Dim(groups));
    return b.reshape(b.broadcast_in_dim(v, {Dim(groups), per}, {0}), {s[1]});
  };
  const DType stage = wide(t);
  y = b.convert(b.convert(y, t), stage);
  y = add(b, mul(b, y, per_channel(b, b.convert(stretch(scale), stage), y)),
          per_channel(b, b.convert(stretch(bias), stage), y));
  return {b.convert(y, t)};
}

// Layer and RMS normalization over the dimensions from `axis` on.
Outputs layer_norm(NodeContext& n) {
  GraphBuilder& b = n.b;
  const bool rms = n.op_type() == "RMSNormalization";
  Value *in = n.input(0), *scale = n.input(1), *bias = rms ? nullptr : n.opt(2);
  const int64_t rank = in->type.rank();
  const int64_t axis = n.axis(n.attr_i("axis", -1), rank);
  const double epsilon = n.attr_f("epsilon", static_cast<double>(1e-5f));
  const int64_t stash = n.attr_i("stash_type", 1);
  const DType t = in->type.dtype;
  DType w = wide(t);
  if (stash == 11)
    w = DType::F64;
  else if (stash != 1)
    n.fail(fmt::format("stash_type {}; supported are 1 and 11", stash));
  const DType out_type = rms ? scale->type.dtype : t;

  const Shape inner(in->type.shape.begin() + axis, in->type.shape.end());
  const auto fits = [&](Value* v) {
    return v->type.rank() == static_cast<int>(inner.size()) && v->type.shape == inner &&
           v->type.dtype == t;
  };
  const bool plain = !n.wants(1) && !n.wants(2) && w == wide(t) && fits(scale) &&
                     (!bias || fits(bias)) && out_type == t;
  if (plain) {
    std::vector<Value*> args = {in, scale};
    if (bias) args.push_back(bias);
    return {b.create(rms ? "tenfold.rms_norm" : "tenfold.layer_norm", args,
                     {{"axis", Attr{axis}}, {"epsilon", Attr{epsilon}}})
                ->result()};
  }
  const auto dims = iota_list(rank - axis, axis);
  Value* x = b.convert(in, w);
  const auto spread = [&](Value* v) {
    return b.broadcast_in_dim(v, x->type.shape, iota_list(rank));
  };
  Value* mu = rms ? nullptr : mean(b, x, dims, true);
  Value* centred = rms ? x : sub(b, x, spread(mu));
  Value* var = mean(b, square(b, centred), dims, true);
  Value* deviation = b.unary(Prim::Sqrt, add(b, var, epsilon));
  Value* inverse_dev = div_from(b, 1, deviation);
  Value* y = b.convert(mul(b, centred, spread(inverse_dev)), rms ? out_type : t);
  // The second stage runs in the tensors' own type.
  const DType stage = wide(y->type.dtype);
  y = b.convert(y, stage);
  y = mul(b, y, n.broadcast_to(b.convert(scale, stage), y->type.shape));
  if (bias) y = add(b, y, n.broadcast_to(b.convert(bias, stage), y->type.shape));
  Outputs out = {b.convert(y, out_type)};
  if (!rms) {
    out.push_back(b.convert(mu, stash == 11 ? DType::F64 : DType::F32));
    out.push_back(b.convert(inverse_dev, stash == 11 ? DType::F64 : DType::F32));
  }
  return out;
}

Outputs mean_variance(NodeContext& n) {
  Value* x = n.input(0);
  const auto dims = n.axes(n.attr_ints("axes", {0, 2, 3}), x->type.rank());
  return {in_wide(n.b, x, [&](Value* v) { return standardize(n.b, v, dims, 0); })};
}

Outputs lp_norm(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value* x = n.input(0);
  const int64_t axis = n.axis(n.attr_i("axis", -1), x->type.rank());
  const int64_t p = n.attr_i("p", 2);
  if (p != 1 && p != 2) n.invalid(fmt::format("p is {}, wanted 1 or 2", p));
  return {in_wide(b, x, [&](Value* v) {
    Value* s = b.reduce(Prim::Add, p == 1 ? b.unary(Prim::Abs, v) : square(b, v), {axis}, true);
    if (p == 2) s = b.unary(Prim::Sqrt, s);
    Value* norm = b.broadcast_in_dim(s, v->type.shape, iota_list(v->type.rank()));
    return b.select(b.compare("EQ", norm, like(b, norm, 0)), like(b, v, 0), div(b, v, norm));
  })};
}

Outputs lrn(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value* x = n.input(0);
  n.need_rank(x, 2, 16, "X");
  const int64_t size = n.attr_i("size");
  const double alpha = n.attr_f("alpha", static_cast<double>(1e-4f));
  const double beta = n.attr_f("beta", 0.75), bias = n.attr_f("bias", 1);
  if (size < 1 || size > (1 << 30)) n.invalid(fmt::format("size is {}", size));
  return {in_wide(b, x, [&](Value* v) {
    const auto rank = static_cast<size_t>(v->type.rank());
    std::vector<Dim> window(rank, Dim(1)), padding(2 * rank, Dim(0));
    window[1] = Dim(size);
    padding[2] = Dim((size - 1) / 2);
    padding[3] = Dim(size - 1 - (size - 1) / 2);
    Op* op = b.create_open("stablehlo.reduce_window", {square(b, v), b.constant(v->type.dtype, 0)},
                           {{"window_dimensions", Attr{window}}, {"padding", Attr{padding}}});
    Block* body = op->add_region();
    Value* p = body->add_arg({v->type.dtype, {}});
    Value* q = body->add_arg({v->type.dtype, {}});
    GraphBuilder inner(b.module(), body);
    inner.return_({inner.binary(Prim::Add, p, q)});
    Value* sum = b.reshape(b.finish(op)->result(), v->type.shape);
    Value* base = add(b, mul(b, sum, alpha / static_cast<double>(size)), bias);
    return div(b, v, b.binary(Prim::Pow, base, like(b, base, beta)));
  })};
}

Outputs convert(NodeContext& n) {
  const std::string& op = n.op_type();
  if (op == "BatchNormalization") return batch_norm(n);
  if (op == "InstanceNormalization") return instance_norm(n);
  if (op == "GroupNormalization") return group_norm(n);
  if (op == "MeanVarianceNormalization") return mean_variance(n);
  if (op == "LpNormalization") return lp_norm(n);
  if (op == "LRN") return lrn(n);
  return layer_norm(n);
}

}  // namespace

extern const OnnxOp onnx_normalization;
const OnnxOp onnx_normalization = {.names = {{"BatchNormalization", {1, 6, 7, 9, 14, 15}},
                                             {"InstanceNormalization", {1, 6, 22}},
                                             {"GroupNormalization", {18, 21}},
                                             {"LayerNormalization", {17}},
                                             {"RMSNormalization", {23}},
                                             {"MeanVarianceNormalization", {9, 13}},
                                             {"LpNormalization", {1, 22}},
                                             {"LRN", {1, 13}}},
                                   .summary = "Normalizations; statistics of narrow floats in f32.",
                                   .convert = convert,
                                   .limits = "stash_type other than float and double"};

}  // namespace tenfold::onnx
