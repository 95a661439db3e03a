// Reading pixels of an image [batch, channels, spatial...] at computed places.
#pragma once

#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

// A scalar constant or dimension of x's type spread to x's shape.
Value* number_like(GraphBuilder& b, Value* x, const Dim& d);

// Pixels at integer positions: one i64 tensor [batch, places...] a spatial dimension, every entry
// in range. Result [batch, channels, places...].
Value* pixels(GraphBuilder& b, Value* image, const std::vector<Value*>& at);
// Weight [batch, places...] over the channels of v [batch, channels, places...].
Value* over_channels(GraphBuilder& b, Value* weight, const Shape& shape);

enum class Outside { Zeros, Border, Reflection };
enum class Sampling { Nearest, Linear, Cubic };
// Interpolated values at fractional positions (one float tensor [batch, places...] a spatial
// dimension, 0 the centre of the first pixel). `corners`: the borders are the centres of the
// outermost pixels, else their outer edges. The result has the type of the positions, or the
// image's when nearest.
Value* sample(GraphBuilder& b, Value* image, const std::vector<Value*>& at, Sampling mode,
              Outside outside, bool corners);

}  // namespace tenfold::onnx
