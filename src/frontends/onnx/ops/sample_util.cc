// See sample_util.h.
#include "frontends/onnx/ops/sample_util.h"

namespace tenfold::onnx {

using B = GraphBuilder;

Value* number_like(B& b, Value* x, const Dim& d) {
  if (d.is_const()) return b.full(b.constant(x->type.dtype, double(d.value())), x->type.shape);
  return b.full(b.convert(b.dim_scalar(d), x->type.dtype), x->type.shape);
}

Value* pixels(B& b, Value* image, const std::vector<Value*>& at) {
  const auto r = static_cast<int64_t>(at.size());
  Shape place = at[0]->type.shape;
  const auto rank = static_cast<int64_t>(place.size());
  Shape column = place;
  column.push_back(Dim(1));
  std::vector<Value*> parts;
  for (Value* v : at) parts.push_back(b.reshape(v, column));
  Value* index = r == 1 ? parts[0] : b.concatenate(parts, rank);
  std::vector<Dim> sizes(image->type.shape.size(), Dim(1));
  sizes[1] = image->type.shape[1];
  return b
      .create("stablehlo.gather", {image, index},
              {{"offset_dims", Attr{std::vector<int64_t>{1}}},
               {"collapsed_slice_dims", Attr{iota_list(r, 2)}},
               {"operand_batching_dims", Attr{std::vector<int64_t>{0}}},
               {"start_indices_batching_dims", Attr{std::vector<int64_t>{0}}},
               {"start_index_map", Attr{iota_list(r, 2)}},
               {"index_vector_dim", Attr{rank}},
               {"slice_sizes", Attr{sizes}},
               {"indices_are_sorted", Attr{false}}})
      ->result();
}

Value* over_channels(B& b, Value* weight, const Shape& shape) {
  std::vector<int64_t> map = {0};
  for (int64_t i = 1; i < weight->type.rank(); ++i) map.push_back(i + 1);
  return b.broadcast_in_dim(weight, shape, map);
}

namespace {

// x folded back and forth between low and high.
Value* reflect(B& b, Value* x, double low, Value* range) {
  Value* far = b.unary(Prim::Abs, add(b, x, -low));
  Value* none = b.compare("LE", range, like(b, range, 0));
  Value* period = b.select(none, like(b, range, 1), range);
  Value* turns = b.unary(Prim::Floor, div(b, far, period));
  Value* rest = sub(b, far, mul(b, turns, period));
  Value* odd = b.compare("EQ", b.binary(Prim::Rem, turns, like(b, turns, 2)), like(b, turns, 1));
  Value* folded = add(b, b.select(odd, sub(b, range, rest), rest), low);
  return b.select(none, like(b, x, 0), folded);
}

Value* clip(B& b, Value* x, Value* high) { return b.binary(Prim::Min, max(b, x, 0), high); }

// Factors of the four neighbours of a position `t` past the second.
std::vector<Value*> cubic(B& b, Value* t) {
  const double a = -0.75;
  const auto far = [&](Value* x) {  // 1 <= |x| <= 2: ((a x - 5a) x + 8a) x - 4a
    Value* v = add(b, mul(b, x, a), -5 * a);
    v = add(b, mul(b, v, x), 8 * a);
    return add(b, mul(b, v, x), -4 * a);
  };
  const auto near = [&](Value* x) {  // |x| <= 1: ((a + 2) x - (a + 3)) x x + 1
    Value* v = add(b, mul(b, x, a + 2), -(a + 3));
    return add(b, mul(b, mul(b, v, x), x), 1);
  };
  Value* u = sub_from(b, 1, t);
  return {far(add(b, t, 1)), near(t), near(u), far(add(b, u, 1))};
}

}  // namespace

Value* sample(B& b, Value* image, const std::vector<Value*>& at, Sampling mode, Outside outside,
              bool corners) {
  const size_t r = at.size();
  const DType w = at[0]->type.dtype;
  struct Axis {
    Value *first, *high, *range;  // floats: the first neighbour, the last index, the period
    std::vector<Value*> weights;
  };
  const double low = corners ? 0 : -0.5;
  std::vector<Axis> axes;
  for (size_t i = 0; i < r; ++i) {
    const Dim size = image->type.shape[i + 2];
    Axis a{};
    Value* x = at[i];
    a.high = number_like(b, x, size - Dim(1));
    a.range = corners ? a.high : number_like(b, x, size);
    if (mode == Sampling::Nearest) x = b.unary(Prim::RoundEven, x);
    if (outside != Outside::Zeros) {
      // Places up to the border stay as they are; a cubic goes on towards the outer edge.
      Value* top = add(b, a.range, low);
      Value* in = b.binary(Prim::And, b.compare("GE", x, like(b, x, low)), b.compare("LE", x, top));
      x = b.select(in, x,
                   outside == Outside::Border ? clip(b, x, a.high) : reflect(b, x, low, a.range));
    }
    if (mode == Sampling::Nearest) {
      a.first = outside == Outside::Zeros
                    ? x
                    : b.convert(b.convert(x, DType::I64), w);  // cuts towards zero
      a.weights = {nullptr};
    } else {
      Value* floor = b.unary(Prim::Floor, x);
      Value* t = sub(b, x, floor);
      if (mode == Sampling::Linear) {
        a.first = floor;
        a.weights = {sub_from(b, 1, t), t};
      } else {
        a.first = add(b, floor, -1);
        a.weights = cubic(b, t);
      }
    }
    axes.push_back(a);
  }
  // One neighbour along an axis: an index in range, and whether it was.
  struct Neighbour {
    Value *index, *inside;
  };
  std::vector<std::vector<Neighbour>> neighbours(r);
  for (size_t i = 0; i < r; ++i) {
    const Axis& a = axes[i];
    for (size_t k = 0; k < a.weights.size(); ++k) {
      Value* x = k == 0 ? a.first : add(b, a.first, static_cast<double>(k));
      Neighbour nb{};
      if (outside == Outside::Zeros) {
        nb.inside =
            b.binary(Prim::And, b.compare("GE", x, like(b, x, 0)), b.compare("LE", x, a.high));
      } else if (outside == Outside::Reflection) {
        Value* top = add(b, a.range, low);
        Value* in =
            b.binary(Prim::And, b.compare("GE", x, like(b, x, low)), b.compare("LE", x, top));
        x = b.select(in, x, reflect(b, x, low, a.range));
      }
      nb.index = b.convert(clip(b, x, a.high), DType::I64);
      neighbours[i].push_back(nb);
    }
  }
  Value* sum = nullptr;
  std::vector<size_t> k(r, 0);
  for (bool more = true; more;) {
    std::vector<Value*> index;
    Value *weight = nullptr, *inside = nullptr;
    for (size_t i = 0; i < r; ++i) {
      const Neighbour& nb = neighbours[i][k[i]];
      index.push_back(nb.index);
      if (nb.inside) inside = inside ? b.binary(Prim::And, inside, nb.inside) : nb.inside;
      Value* f = axes[i].weights[k[i]];
      if (f) weight = weight ? mul(b, weight, f) : f;
    }
    Value* p = pixels(b, image, index);
    if (weight) p = b.convert(p, w);
    if (inside) p = b.select(over_channels(b, inside, p->type.shape), p, like(b, p, 0));
    if (weight) p = mul(b, p, over_channels(b, weight, p->type.shape));
    sum = sum ? add(b, sum, p) : p;
    more = false;
    for (size_t i = r; i-- > 0 && !more;) {
      if (++k[i] < axes[i].weights.size()) {
        more = true;
      } else {
        k[i] = 0;
      }
    }
  }
  return sum;
}

}  // namespace tenfold::onnx
