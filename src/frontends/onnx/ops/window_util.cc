// See window_util.h.
#include "frontends/onnx/ops/window_util.h"

#include <fmt/format.h>

namespace tenfold::onnx {

namespace {

// 1 when a >= b, else 0.
Dim at_least(const Dim& a, const Dim& b) { return min(max(a - b + Dim(1), Dim(0)), Dim(1)); }

}  // namespace

Window read_window(NodeContext& n, const std::vector<Dim>& in, std::vector<int64_t> kernel,
                   bool has_dilations, bool may_ceil) {
  const size_t k = in.size();
  Window w;
  if (kernel.empty()) {
    w.kernel = n.attr_ints("kernel_shape");
  } else {
    w.kernel = n.attr_ints("kernel_shape", kernel);
    if (w.kernel != kernel) {
      n.invalid(fmt::format("kernel_shape is [{}], the weights have [{}]",
                            fmt::join(w.kernel, ", "), fmt::join(kernel, ", ")));
    }
  }
  const std::vector<int64_t> ones(k, 1);
  w.strides = n.attr_ints("strides", ones);
  w.dilations = has_dilations ? n.attr_ints("dilations", ones) : ones;
  const std::string auto_pad = n.attr_s("auto_pad", "NOTSET");
  std::vector<int64_t> pads = n.attr_ints("pads", std::vector<int64_t>(2 * k, 0));
  const bool ceil = may_ceil && n.attr_flag("ceil_mode");
  if (w.kernel.size() != k || w.strides.size() != k || w.dilations.size() != k ||
      pads.size() != 2 * k) {
    n.invalid(
        fmt::format("kernel, strides, dilations and pads have {}, {}, {} and {} entries for "
                    "{} spatial dimensions",
                    w.kernel.size(), w.strides.size(), w.dilations.size(), pads.size(), k));
  }
  for (size_t i = 0; i < k; ++i) {
    constexpr int64_t kLimit = int64_t{1} << 30;
    if (w.kernel[i] < 1 || w.strides[i] < 1 || w.dilations[i] < 1 || w.kernel[i] > kLimit ||
        w.strides[i] > kLimit || w.dilations[i] > kLimit / w.kernel[i]) {
      n.invalid(fmt::format("kernel, stride and dilation of spatial dimension {} are {}, {} and {}",
                            i, w.kernel[i], w.strides[i], w.dilations[i]));
    }
    if (pads[i] > kLimit || pads[i] < -kLimit || pads[i + k] > kLimit || pads[i + k] < -kLimit) {
      n.invalid("a pad is out of range");
    }
  }
  for (size_t i = 0; i < k; ++i) {
    const Dim s(w.strides[i]), ext(w.extent(i));
    if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
      const Dim out = ceildiv(in[i], s);
      const Dim total = max((out - Dim(1)) * s + ext - in[i], Dim(0));
      const Dim half = floordiv(total, Dim(2));
      w.low.push_back(auto_pad == "SAME_UPPER" ? half : total - half);
      w.high.push_back(total - w.low.back());
      w.out.push_back(out);
      continue;
    }
    if (auto_pad == "VALID") {
      w.low.push_back(Dim(0));
      w.high.push_back(Dim(0));
    } else if (auto_pad == "NOTSET" || auto_pad.empty()) {
      w.low.push_back(Dim(pads[i]));
      w.high.push_back(Dim(pads[i + k]));
    } else {
      n.invalid("auto_pad '" + auto_pad + "'");
    }
    const Dim room = in[i] + w.low[i] + w.high[i] - ext;
    if (room.is_const() && room.value() < 0) {
      n.invalid(fmt::format("a window of {} does not fit spatial dimension {} of {} padded to {}",
                            ext.str(), i, in[i].str(), (room + ext).str()));
    }
    if (!ceil) {
      w.out.push_back(floordiv(room, s) + Dim(1));
      continue;
    }
    Dim out = ceildiv(room, s) + Dim(1);
    out = out - at_least((out - Dim(1)) * s, in[i] + w.low[i]);
    w.out.push_back(out);
    w.high[i] = (out - Dim(1)) * s + ext - in[i] - w.low[i];
  }
  return w;
}

Value* reduce_window(GraphBuilder& b, Prim p, Value* x, Value* init, const Window& w) {
  std::vector<Dim> window = {Dim(1), Dim(1)}, padding(4, Dim(0));
  std::vector<int64_t> strides = {1, 1}, dilations = {1, 1};
  for (size_t i = 0; i < w.kernel.size(); ++i) {
    window.push_back(Dim(w.kernel[i]));
    strides.push_back(w.strides[i]);
    dilations.push_back(w.dilations[i]);
    padding.push_back(w.low[i]);
    padding.push_back(w.high[i]);
  }
  Op* op = b.create_open("stablehlo.reduce_window", {x, init},
                         {{"window_dimensions", Attr{window}},
                          {"window_strides", Attr{strides}},
                          {"window_dilations", Attr{dilations}},
                          {"padding", Attr{padding}}});
  Block* body = op->add_region();
  const TensorType scalar{x->type.dtype, {}};
  Value* a = body->add_arg(scalar);
  Value* v = body->add_arg(scalar);
  GraphBuilder inner(b.module(), body);
  inner.loc = b.loc;
  inner.origins = b.origins;
  inner.return_({inner.binary(p, a, v)});
  Value* r = b.finish(op)->result();
  // State the sizes as ONNX words them: equal values, simpler expressions.
  Shape shape(x->type.shape.begin(), x->type.shape.begin() + 2);
  shape.insert(shape.end(), w.out.begin(), w.out.end());
  if (r->type.shape != shape && r->type.rank() == static_cast<int>(shape.size())) {
    r = b.reshape(r, shape);
  }
  return r;
}

Value* convolution(GraphBuilder& b, Value* x, Value* weights, const Window& w, int64_t groups,
                   std::vector<int64_t> lhs_dilation, bool reversed, bool weights_io) {
  const auto k = static_cast<int64_t>(w.kernel.size());
  std::vector<Dim> padding;
  for (int64_t i = 0; i < k; ++i) {
    padding.push_back(w.low[static_cast<size_t>(i)]);
    padding.push_back(w.high[static_cast<size_t>(i)]);
  }
  if (lhs_dilation.empty()) lhs_dilation.assign(static_cast<size_t>(k), 1);
  const std::vector<int64_t> spatial = iota_list(k, 2);
  Shape shape = {x->type.shape[0], weights->type.shape[weights_io ? 1 : 0]};
  shape.insert(shape.end(), w.out.begin(), w.out.end());
  return b
      .create("stablehlo.convolution", {x, weights},
              {{"window_strides", Attr{w.strides}},
               {"padding", Attr{padding}},
               {"lhs_dilation", Attr{lhs_dilation}},
               {"rhs_dilation", Attr{w.dilations}},
               {"window_reversal",
                Attr{std::vector<int64_t>(static_cast<size_t>(k), reversed ? 1 : 0)}},
               {"input_batch_dimension", Attr{int64_t{0}}},
               {"input_feature_dimension", Attr{int64_t{1}}},
               {"input_spatial_dimensions", Attr{spatial}},
               {"kernel_input_feature_dimension", Attr{int64_t{weights_io ? 0 : 1}}},
               {"kernel_output_feature_dimension", Attr{int64_t{weights_io ? 1 : 0}}},
               {"kernel_spatial_dimensions", Attr{spatial}},
               {"output_batch_dimension", Attr{int64_t{0}}},
               {"output_feature_dimension", Attr{int64_t{1}}},
               {"output_spatial_dimensions", Attr{spatial}},
               {"feature_group_count", Attr{groups}},
               {"batch_group_count", Attr{int64_t{1}}}},
              {{x->type.dtype, shape}})
      ->result();
}

}  // namespace tenfold::onnx
