// Resize and Upsample: policies, axes and regions resolved to tenfold.resize and its two fusing
// forms. Scales that are computed at run time are values the importer has to know.
#include <cmath>

#include <fmt/format.h>

#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

namespace {

struct Request {
  std::string mode = "nearest", coordinates = "half_pixel", nearest = "round_prefer_floor";
  std::string policy = "stretch";
  double cubic_a = -0.75, extrapolation = 0;
  bool exclude_outside = false, antialias = false;
  std::vector<int64_t> axes;
  std::vector<double> roi;                    // starts then ends, of all dimensions; or empty
  std::optional<std::vector<double>> scales;  // of all dimensions
  std::optional<std::vector<Dim>> sizes;      // of all dimensions
};

std::vector<double> floats(NodeContext& n, Value* v, std::string_view what) {
  auto l = n.constant(v);
  if (!l) n.need_value(v, fmt::format("{} must be known at import", what));
  std::vector<double> out;
  for (int64_t i = 0; i < l->size(); ++i) out.push_back(l->as_f64(i));
  return out;
}

bool is_empty(Value* v) { return v->type.num_elements() == Dim(0); }

Value* resize(NodeContext& n, Value* x, Request r) {
  GraphBuilder& b = n.b;
  const auto rank = static_cast<size_t>(x->type.rank());
  const Shape& in = x->type.shape;
  std::vector<Dim> out = in;
  std::optional<std::vector<double>> scales;
  if (r.scales) {
    scales = std::vector<double>(rank, 1.0);
    for (size_t i = 0; i < rank; ++i) {
      const double s = (*r.scales)[i];
      if (!(s > 0) || !std::isfinite(s)) n.invalid(fmt::format("a scale is {}", s));
      (*scales)[i] = s;
      // floor(size * scale), with (end - start) where the region crops.
      double span = s;
      if (r.coordinates == "tf_crop_and_resize" && !r.roi.empty()) {
        span *= r.roi[i + rank] - r.roi[i];
      }
      if (span == 1) continue;
      if (in[i].is_const()) {
        // In f32, as the standard's own shape inference does it.
        const float size = static_cast<float>(in[i].value()) * static_cast<float>(span);
        out[i] = Dim(static_cast<int64_t>(std::floor(size)));
      } else if (span == std::floor(span)) {
        out[i] = in[i] * Dim(static_cast<int64_t>(span));
      } else {
        // A rational with a small denominator is exact; other factors depend on rounding.
        bool found = false;
        for (int64_t q = 2; q <= 64 && !found; ++q) {
          const double p = span * static_cast<double>(q);
          if (p != std::floor(p)) continue;
          out[i] = floordiv(in[i] * Dim(static_cast<int64_t>(p)), Dim(q));
          found = true;
        }
        if (!found) {
          n.need_dims({in[i]}, fmt::format("a scale of {} needs the size of dimension {}", s, i));
        }
      }
    }
  } else {
    for (size_t i = 0; i < rank; ++i) out[i] = (*r.sizes)[i];
    if (r.policy != "stretch") {
      // One scale for all the axes named, from the sizes wanted.
      double scale = 0;
      for (int64_t a : r.axes) {
        const auto k = static_cast<size_t>(a);
        if (!in[k].is_const() || !out[k].is_const()) {
          n.need_dims({in[k], out[k]}, "keep_aspect_ratio_policy needs sizes known at import");
        }
        const double s = static_cast<double>(out[k].value()) / static_cast<double>(in[k].value());
        const bool first = a == r.axes[0];
        scale = first ? s : r.policy == "not_larger" ? std::min(scale, s) : std::max(scale, s);
      }
      scales = std::vector<double>(rank, 1.0);
      for (int64_t a : r.axes) {
        const auto k = static_cast<size_t>(a);
        (*scales)[k] = scale;
        const double size = scale * static_cast<double>(in[k].value());
        out[k] = Dim(static_cast<int64_t>(std::floor(size + 0.5)));
      }
    }
  }
  for (const Dim& d : out) {
    if (d.is_const() && d.value() < 0) n.invalid(fmt::format("a size is {}", d.value()));
  }
  AttrDict attrs = {{"sizes", Attr{out}}};
  const auto list = [](const std::vector<double>& v) {
    Literal l(DType::F64, {static_cast<int64_t>(v.size())});
    for (size_t i = 0; i < v.size(); ++i) l.set_f64(static_cast<int64_t>(i), v[i]);
    return Attr{std::move(l)};
  };
  if (scales) attrs.emplace_back("scales", list(*scales));
  attrs.emplace_back("coordinate_transformation_mode", Attr{r.coordinates});
  if (r.mode == "nearest") attrs.emplace_back("nearest_mode", Attr{r.nearest});
  if (r.mode == "cubic") attrs.emplace_back("cubic_coeff_a", Attr{r.cubic_a});
  if (r.exclude_outside) attrs.emplace_back("exclude_outside", Attr{true});
  if (r.antialias && r.mode != "nearest") attrs.emplace_back("antialias", Attr{true});
  if (r.coordinates == "tf_crop_and_resize") {
    attrs.emplace_back("extrapolation_value", Attr{r.extrapolation});
    if (!r.roi.empty()) attrs.emplace_back("roi", list(r.roi));
  }
  const bool special = r.antialias || r.exclude_outside;
  if (r.mode == "nearest") return b.create("tenfold.resize_nearest", {x}, attrs)->result();
  if (r.mode == "linear" && !special) {
    return b.create("tenfold.resize_linear", {x}, attrs)->result();
  }
  attrs.emplace_back("mode", Attr{r.mode});
  return b.create("tenfold.resize", {x}, attrs)->result();
}

Outputs upsample(NodeContext& n) {
  Value* x = n.input(0);
  Request r;
  r.mode = n.attr_s("mode", "nearest");
  if (r.mode == "bilinear") r.mode = "linear";
  r.coordinates = "asymmetric";
  r.nearest = "floor";
  if (n.opset() < 7) {
    const double h = n.attr_f("height_scale"), w = n.attr_f("width_scale");
    n.need_rank(x, 4, 4, "X");
    r.scales = std::vector<double>{1, 1, h, w};
  } else if (n.opset() < 9) {
    r.scales = n.attr_floats("scales", {});
  } else {
    r.scales = floats(n, n.input(1), "scales");
  }
  if (r.scales->size() != static_cast<size_t>(x->type.rank())) {
    n.invalid(fmt::format("{} scales for {}", r.scales->size(), x->type.str()));
  }
  if (r.mode != "nearest" && r.mode != "linear") n.invalid("mode '" + r.mode + "'");
  return {resize(n, x, r)};
}

Outputs convert(NodeContext& n) {
  if (n.op_type() == "Upsample") return upsample(n);
  Value* x = n.input(0);
  const auto rank = static_cast<size_t>(x->type.rank());
  Request r;
  r.mode = n.attr_s("mode", "nearest");
  r.axes = iota_list(x->type.rank());
  Value *roi = nullptr, *scales = nullptr, *sizes = nullptr;
  if (n.opset() < 11) {
    r.coordinates = "asymmetric";
    r.nearest = "floor";
    scales = n.input(1);
  } else {
    r.coordinates = n.attr_s("coordinate_transformation_mode", "half_pixel");
    r.nearest = n.attr_s("nearest_mode", "round_prefer_floor");
    r.cubic_a = n.attr_f("cubic_coeff_a", -0.75);
    r.exclude_outside = n.attr_flag("exclude_outside");
    r.extrapolation = n.attr_f("extrapolation_value", 0);
    if (n.opset() >= 18) {
      r.antialias = n.attr_flag("antialias");
      r.policy = n.attr_s("keep_aspect_ratio_policy", "stretch");
      if (n.has_attr("axes")) r.axes = n.axes(n.attr_ints("axes"), x->type.rank());
    }
    roi = n.opt(1);
    scales = n.opt(2);
    sizes = n.opt(3);
    if (scales && is_empty(scales)) scales = nullptr;
    if (sizes && is_empty(sizes)) sizes = nullptr;
  }
  if (r.mode == "bilinear") r.mode = "linear";
  if (r.mode != "nearest" && r.mode != "linear" && r.mode != "cubic") {
    n.invalid("mode '" + r.mode + "'");
  }
  static const char* kCoordinates[] = {
      "half_pixel",    "half_pixel_symmetric", "asymmetric",          "pytorch_half_pixel",
      "align_corners", "tf_crop_and_resize",   "tf_half_pixel_for_nn"};
  bool known = false;
  for (const char* c : kCoordinates) known |= r.coordinates == c;
  if (!known) n.invalid("coordinate_transformation_mode '" + r.coordinates + "'");
  if (r.nearest != "round_prefer_floor" && r.nearest != "round_prefer_ceil" &&
      r.nearest != "floor" && r.nearest != "ceil") {
    n.invalid("nearest_mode '" + r.nearest + "'");
  }
  if (r.policy != "stretch" && r.policy != "not_larger" && r.policy != "not_smaller") {
    n.invalid("keep_aspect_ratio_policy '" + r.policy + "'");
  }
  if ((scales != nullptr) == (sizes != nullptr)) {
    n.invalid("either scales or sizes must be given");
  }
  const size_t k = r.axes.size();
  if (roi && r.coordinates == "tf_crop_and_resize" && !is_empty(roi)) {
    const auto v = floats(n, roi, "roi");
    if (v.size() != 2 * k) n.invalid(fmt::format("roi has {} entries for {} axes", v.size(), k));
    r.roi.assign(2 * rank, 0.0);
    for (size_t i = 0; i < rank; ++i) r.roi[i + rank] = 1;
    for (size_t i = 0; i < k; ++i) {
      r.roi[static_cast<size_t>(r.axes[i])] = v[i];
      r.roi[static_cast<size_t>(r.axes[i]) + rank] = v[i + k];
    }
  }
  if (scales) {
    const auto v = floats(n, scales, "scales");
    if (v.size() != k) n.invalid(fmt::format("{} scales for {} axes", v.size(), k));
    r.scales = std::vector<double>(rank, 1.0);
    for (size_t i = 0; i < k; ++i) (*r.scales)[static_cast<size_t>(r.axes[i])] = v[i];
  } else {
    const auto v = n.dims(sizes, "size");
    if (v.size() != k) n.invalid(fmt::format("{} sizes for {} axes", v.size(), k));
    r.sizes = x->type.shape;
    for (size_t i = 0; i < k; ++i) (*r.sizes)[static_cast<size_t>(r.axes[i])] = v[i];
  }
  if (n.opset() < 11 && r.mode == "nearest") {
    // The text names no formula; the numbers of the standard's tests for opset 10 are those of the
    // next element when an axis shrinks. Axes are independent.
    Request shrink = r;
    for (size_t i = 0; i < rank; ++i) {
      double& s = (*r.scales)[i];
      (s < 1 ? s : (*shrink.scales)[i]) = 1;
    }
    shrink.nearest = "ceil";
    x = resize(n, x, shrink);
  }
  return {resize(n, x, r)};
}

}  // namespace

extern const OnnxOp onnx_resize;
const OnnxOp onnx_resize = {
    .names = {{"Resize", {10, 11, 13, 18, 19}}, {"Upsample", {1, 7, 9, 10}}},
    .summary = "Resizing in all modes.",
    .convert = convert,
    .limits = "scales or roi known only at run time"};

}  // namespace tenfold::onnx
