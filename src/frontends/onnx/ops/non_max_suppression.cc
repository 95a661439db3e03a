// NonMaxSuppression: all batches and classes step by step, the best box left in each at a time.
#include <limits>

#include <fmt/format.h>

#include "frontends/onnx/ops/quant_util.h"

namespace tenfold::onnx {

namespace {

using B = GraphBuilder;

struct Boxes {
  Value *x1, *y1, *x2, *y2, *area;  // [batches, boxes]
};

Boxes read_boxes(NodeContext& n, Value* boxes, bool centers) {
  B& b = n.b;
  const Shape s = {boxes->type.shape[0], boxes->type.shape[1]};
  const auto entry = [&](int64_t i) {
    return b.reshape(b.slice(boxes, {Dim(0), Dim(0), Dim(i)}, {s[0], s[1], Dim(i + 1)}, {1, 1, 1}),
                     s);
  };
  Boxes r{};
  Value* v[4] = {entry(0), entry(1), entry(2), entry(3)};
  if (centers) {
    Value *w = mul(b, v[2], 0.5), *h = mul(b, v[3], 0.5);
    r.x1 = sub(b, v[0], w);
    r.x2 = add(b, v[0], w);
    r.y1 = sub(b, v[1], h);
    r.y2 = add(b, v[1], h);
  } else {
    r.y1 = b.binary(Prim::Min, v[0], v[2]);
    r.y2 = b.binary(Prim::Max, v[0], v[2]);
    r.x1 = b.binary(Prim::Min, v[1], v[3]);
    r.x2 = b.binary(Prim::Max, v[1], v[3]);
  }
  r.area = mul(b, sub(b, r.x2, r.x1), sub(b, r.y2, r.y1));
  return r;
}

// v [batches, boxes] at `at` [batches, classes].
Value* pick(B& b, Value* v, Value* at) {
  const Shape s = at->type.shape;
  return b
      .create("stablehlo.gather", {v, b.reshape(at, {s[0], s[1], Dim(1)})},
              {{"offset_dims", Attr{std::vector<int64_t>{}}},
               {"collapsed_slice_dims", Attr{std::vector<int64_t>{1}}},
               {"operand_batching_dims", Attr{std::vector<int64_t>{0}}},
               {"start_indices_batching_dims", Attr{std::vector<int64_t>{0}}},
               {"start_index_map", Attr{std::vector<int64_t>{1}}},
               {"index_vector_dim", Attr{int64_t{2}}},
               {"slice_sizes", Attr{std::vector<Dim>{Dim(1), Dim(1)}}},
               {"indices_are_sorted", Attr{false}}})
      ->result();
}

Outputs convert(NodeContext& n) {
  B& b = n.b;
  Value *boxes = n.input(0), *scores = n.input(1);
  n.need_rank(boxes, 3, 3, "boxes");
  n.need_rank(scores, 3, 3, "scores");
  n.require_equal(boxes->type.shape[2], Dim(4), "entries of a box");
  n.require_equal(boxes->type.shape[0], scores->type.shape[0], "batches of boxes and scores");
  n.require_equal(boxes->type.shape[1], scores->type.shape[2], "numbers of boxes and scores");
  const Shape shape = {scores->type.shape[0], scores->type.shape[1], scores->type.shape[2]};
  const Shape per_class = {shape[0], shape[1]};
  const Dim count = shape[2];
  const int64_t centers = n.attr_i("center_point_box", 0);
  if (centers != 0 && centers != 1) n.invalid(fmt::format("center_point_box is {}", centers));
  Dim steps(0);
  if (Value* most = n.opt(2)) {
    const auto known = n.const_ints(most);
    if (known && known->size() == 1) {
      steps = min(Dim(std::max<int64_t>((*known)[0], 0)), count);
    } else {
      Value* m = b.convert(one_number(n, most, "max_output_boxes_per_class"), DType::I64);
      m = b.binary(Prim::Min, max(b, m, 0), b.dim_scalar(count));
      steps = n.runtime_dim(m, "boxes");
    }
  }
  if (steps == Dim(0)) {
    for (int i : {3, 4}) n.skip_input(i);
    return {b.splat({DType::I64, {Dim(0), Dim(3)}}, 0)};
  }
  const DType t = scores->type.dtype;
  Value* threshold =
      n.opt(3) ? b.convert(one_number(n, n.opt(3), "iou_threshold"), t) : b.constant(t, 0);
  const double lowest = -std::numeric_limits<double>::infinity();
  Value* left = b.splat({DType::Bool, shape}, 1);
  if (Value* v = n.opt(4)) {
    left =
        b.compare("GT", scores, b.full(b.convert(one_number(n, v, "score_threshold"), t), shape));
  }
  const Boxes box = read_boxes(n, boxes, centers != 0);
  Value* total = b.dim_scalar(steps);
  Value* index = b.iota({DType::I64, shape}, 2);
  Value* none = b.full(b.dim_scalar(count), shape);
  const Shape chosen = {steps, shape[0], shape[1]};
  const auto body = [&](B& c, const std::vector<Value*>& a) -> std::vector<Value*> {
    Value *k = a[0], *open = a[1], *out = a[3];
    const auto spread = [&](Value* v) { return c.broadcast_in_dim(v, shape, {0, 1}); };
    const auto all = [&](Value* v) { return c.broadcast_in_dim(v, shape, {0, 2}); };
    // The best box left; the first of equals.
    Value* s = c.select(open, scores, like(c, scores, lowest));
    Value* best = c.reduce(Prim::Max, s, {2});
    Value* is_best = c.binary(Prim::And, open, c.compare("EQ", s, spread(best)));
    Value* first = c.reduce(Prim::Min, c.select(is_best, index, none), {2});
    Value* found = c.compare("LT", first, c.full(c.dim_scalar(count), per_class));
    Value* entry = c.select(found, first, like(c, first, -1));
    Value* zero = c.constant_i(DType::I64, 0);
    Value* row = c.reshape(entry, {Dim(1), shape[0], shape[1]});
    out = c.create("stablehlo.dynamic_update_slice", {out, row, k, zero, zero})->result();
    // Overlap of that box with every other.
    Value* at = c.select(found, first, like(c, first, 0));
    const auto side = [&](Value* v, Prim p) { return c.binary(p, spread(pick(c, v, at)), all(v)); };
    Value* w = sub(c, side(box.x2, Prim::Min), side(box.x1, Prim::Max));
    Value* h = sub(c, side(box.y2, Prim::Min), side(box.y1, Prim::Max));
    Value* inter = mul(c, max(c, w, 0), max(c, h, 0));
    Value *mine = spread(pick(c, box.area, at)), *theirs = all(box.area);
    Value* joined = sub(c, add(c, mine, theirs), inter);
    const auto positive = [&](Value* v) { return c.compare("GT", v, like(c, v, 0)); };
    Value* over = c.compare("GT", div(c, inter, joined), c.full(threshold, shape));
    for (Value* v : {inter, mine, theirs, joined}) over = c.binary(Prim::And, over, positive(v));
    Value* same = c.compare("EQ", index, spread(at));
    Value* gone = c.binary(Prim::And, c.binary(Prim::Or, over, same), spread(found));
    open = c.binary(Prim::And, open, c.unary(Prim::Not, gone));
    return {add(c, k, 1), open, c.reduce(Prim::Or, open, {0, 1, 2}), out};
  };
  const auto r = b.while_(
      {b.constant_i(DType::I64, 0), left, b.reduce(Prim::Or, left, {0, 1, 2}),
       b.splat({DType::I64, chosen}, -1)},
      [&](B& c, const std::vector<Value*>& a) -> std::vector<Value*> {
        return {c.binary(Prim::And, c.compare("LT", a[0], total), a[2])};
      },
      body);
  // In order of batch, class, choice.
  Value* order = b.transpose(r[3], {1, 2, 0});
  const Dim all = shape[0] * shape[1] * steps;
  Value* flat = b.reshape(order, {all});
  Value* at = positions_of(n, b.compare("GE", flat, like(b, flat, 0)), "selected");
  const Shape col = {at->type.shape[0], Dim(1)};
  const auto over = [&](const Dim& d) {
    return b.full(b.dim_scalar(max(d, Dim(1))), at->type.shape);
  };
  Value* cls = div(b, at, over(steps));
  Value* batch = div(b, cls, over(shape[1]));
  cls = b.binary(Prim::Rem, cls, over(shape[1]));
  return {b.concatenate(
      {b.reshape(batch, col), b.reshape(cls, col), b.reshape(take(b, flat, at, 0), col)}, 1)};
}

}  // namespace

extern const OnnxOp onnx_non_max_suppression;
const OnnxOp onnx_non_max_suppression = {.names = {{"NonMaxSuppression", {10, 11}}},
                                         .summary = "Boxes that do not overlap better ones.",
                                         .convert = convert};

}  // namespace tenfold::onnx
