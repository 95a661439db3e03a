// Interpolating resize, as ONNX defines it: what tenfold.resize, tenfold.resize_nearest and
// tenfold.resize_linear share. All three have the same attributes; the latter two compute an
// element at any index and so fuse.
#pragma once

#include "ops/attr_util.h"

namespace tenfold {

enum class ResizeMode : uint8_t { Nearest, Linear, Cubic };
enum class ResizeCoordinates : uint8_t {
  HalfPixel,
  HalfPixelSymmetric,
  PytorchHalfPixel,
  AlignCorners,
  Asymmetric,
  TfCropAndResize,
  TfHalfPixelForNn,
};
enum class ResizeNearest : uint8_t { RoundPreferFloor, RoundPreferCeil, Floor, Ceil };

struct ResizeAxis {
  Dim in, out;
  bool identity = false;        // passes through
  std::optional<double> scale;  // absent: out / in
  double roi_begin = 0, roi_end = 1;
};

struct Resize {
  ResizeMode mode;
  ResizeCoordinates coordinates;
  ResizeNearest nearest;
  double cubic_a;
  bool exclude_outside, antialias;
  double extrapolation;
  std::vector<ResizeAxis> axes;
};

// `mode` is fixed by the op's name for resize_nearest and resize_linear.
Resize read_resize(const Op& op, std::optional<ResizeMode> fixed_mode);
std::vector<TensorType> infer_resize(const Op& op, std::optional<ResizeMode> fixed_mode,
                                     Diag& diag);
std::vector<AttrSpec> resize_attrs(bool with_mode);
std::vector<std::string_view> resize_constraints();
Literal eval_resize(const Resize& r, const EvalContext& c);

// Type the interpolation is computed in, and the way back (integers round to even and saturate).
DType resize_compute_type(DType t);
loop::Expr resize_result(const loop::Expr& v, DType t);

// Loop-level pieces; `dim` turns dimensions into expressions.
using DimExpr = std::function<loop::Expr(const Dim&)>;
// Input coordinate (f64) of output position `o`.
loop::Expr resize_coordinate(const Resize& r, const ResizeAxis& a, const loop::Expr& o,
                             const DimExpr& dim);
// Scale of the axis (f64).
loop::Expr resize_scale(const ResizeAxis& a, const DimExpr& dim);
// i clamped to the input.
loop::Expr resize_clamp(const ResizeAxis& a, const loop::Expr& i, const DimExpr& dim);
// Whether the coordinate is outside under TfCropAndResize; null for the other modes.
loop::Expr resize_outside(const Resize& r, const ResizeAxis& a, const loop::Expr& x,
                          const DimExpr& dim);

}  // namespace tenfold
