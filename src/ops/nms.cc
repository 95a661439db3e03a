// tenfold.nms: non-maximum suppression as ONNX defines it.
#include <numeric>

#include "ops/attr_util.h"
#include "ops/row_util.h"

namespace tenfold {

namespace {

Dim limit_of(const Op& op) {
  const auto m = dims_or(op, "max_output_boxes_per_class", 1, 0);
  return m.empty() ? Dim(0) : min(m[0], op.operand(0)->type.shape[1]);
}

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  const TensorType &boxes = op.operand(0)->type, &scores = op.operand(1)->type;
  const std::vector<TensorType> guess{{DType::I64, {0, 3}}, {DType::I64, {}}};
  if (boxes.rank() != 3 || boxes.dtype != DType::F32 || !diag.equal(boxes.shape[2], 4))
    diag.fail("C1", "boxes are " + boxes.str() + ", wanted [batches, boxes, 4] of f32");
  if (scores.rank() != 3 || scores.dtype != DType::F32)
    diag.fail("C2", "scores are " + scores.str() + ", wanted [batches, classes, boxes] of f32");
  for (int i = 2; i < 4; ++i)
    if (op.operand(i)->type.rank() != 0 || op.operand(i)->type.dtype != DType::F32)
      diag.fail("C3", "a threshold is " + op.operand(i)->type.str() + ", wanted tensor<f32>");
  if (dims_or(op, "max_output_boxes_per_class", 0, 0).size() != 1)
    diag.fail("C4", "max_output_boxes_per_class must be one dimension");
  if (!diag.ok()) return guess;
  if (!diag.equal(boxes.shape[0], scores.shape[0]) ||
      !diag.equal(boxes.shape[1], scores.shape[2])) {
    diag.fail("C2", "boxes " + boxes.str() + " and scores " + scores.str() + " do not fit");
    return guess;
  }
  return {{DType::I64, {scores.shape[0] * scores.shape[1] * max(limit_of(op), 0), 3}},
          {DType::I64, {}}};
}

struct Box {
  float y1, x1, y2, x2;
};

Result<std::vector<Literal>> eval(EvalContext& c) {
  const auto boxes = c.args[0].data<float>(), scores = c.args[1].data<float>();
  const float iou_limit = c.args[2].data<float>()[0], score_limit = c.args[3].data<float>()[0];
  const int64_t batches = c.args[1].dims()[0], classes = c.args[1].dims()[1];
  const int64_t count = c.args[1].dims()[2], limit = c.dim(limit_of(*c.op));
  const bool center = c.op->flag("center_point_box");
  Literal out(DType::I64, c.shape(c.op->result(0)->type));
  const auto box = [&](int64_t batch, int64_t i) -> Box {
    const float* p = boxes.data() + (batch * count + i) * 4;
    if (center) return {p[1] - p[3] / 2, p[0] - p[2] / 2, p[1] + p[3] / 2, p[0] + p[2] / 2};
    return {std::min(p[0], p[2]), std::min(p[1], p[3]), std::max(p[0], p[2]), std::max(p[1], p[3])};
  };
  const auto overlaps = [&](const Box& a, const Box& b) {
    const float w = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
    const float h = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
    if (!(w > 0) || !(h > 0)) return false;
    const float inter = w * h;
    const float area_a = (a.y2 - a.y1) * (a.x2 - a.x1), area_b = (b.y2 - b.y1) * (b.x2 - b.x1);
    const float whole = area_a + area_b - inter;
    return area_a > 0 && area_b > 0 && whole > 0 && inter / whole > iou_limit;
  };
  int64_t found = 0;
  for (int64_t batch = 0; batch < batches; ++batch) {
    for (int64_t cls = 0; cls < classes; ++cls) {
      const float* s = scores.data() + (batch * classes + cls) * count;
      std::vector<int64_t> candidates, kept;
      for (int64_t i = 0; i < count; ++i)
        if (s[i] > score_limit) candidates.push_back(i);
      std::stable_sort(candidates.begin(), candidates.end(),
                       [&](int64_t a, int64_t b) { return s[a] > s[b]; });
      for (int64_t i : candidates) {
        if (static_cast<int64_t>(kept.size()) >= limit) break;
        const bool clash = std::any_of(kept.begin(), kept.end(), [&](int64_t k) {
          return overlaps(box(batch, k), box(batch, i));
        });
        if (clash) continue;
        kept.push_back(i);
        out.set_i64(3 * found, batch);
        out.set_i64(3 * found + 1, cls);
        out.set_i64(3 * found + 2, i);
        ++found;
      }
    }
  }
  return std::vector<Literal>{out, Literal::scalar_i(DType::I64, found)};
}

Status emit(EmitContext& c) {
  using namespace loop;
  Builder& b = *c.b;
  const Op& op = *c.op;
  const Shape& s = op.operand(1)->type.shape;
  const Expr batches = c.dim(s[0]), classes = c.dim(s[1]), count = c.dim(s[2]);
  const Expr limit = c.dim(max(limit_of(op), 0));
  const bool center = op.flag("center_point_box");
  const auto call = [](Prim p, const Expr& x, const Expr& y) { return loop::op(p, {x, y}); };
  const auto sub = [&](const Expr& x, const Expr& y) { return call(Prim::Sub, x, y); };
  const auto positive = [&](const Expr& x) { return call(Prim::Gt, x, zero(DType::F32)); };
  using Corners = std::vector<Expr>;  // y1, x1, y2, x2
  const auto box = [&](const Expr& batch, const Expr& i) -> Corners {
    Corners p;
    for (int k = 0; k < 4; ++k) p.push_back(b.let("p", c.operand(0, {batch, i, int_const(k)})));
    if (!center)
      return {call(Prim::Min, p[0], p[2]), call(Prim::Min, p[1], p[3]), call(Prim::Max, p[0], p[2]),
              call(Prim::Max, p[1], p[3])};
    const Expr h = call(Prim::Div, p[3], float_const(2, DType::F32));
    const Expr w = call(Prim::Div, p[2], float_const(2, DType::F32));
    return {sub(p[1], h), sub(p[0], w), call(Prim::Add, p[1], h), call(Prim::Add, p[0], w)};
  };
  for_rows(b, {}, [&](const std::vector<Expr>&) {
    const Buffer found = b.cell("found", int_const(0));
    const Buffer places = b.alloc("places", DType::I64, {int_const(2), count}, Scope::Workspace);
    const Buffer values = b.alloc("values", DType::F32, {int_const(2), count}, Scope::Workspace);
    const Buffer kept = b.alloc("kept", DType::I64, {limit}, Scope::Workspace);
    const Expr iou_limit = b.let("iou_limit", c.operand(2, {}));
    const Expr score_limit = b.let("score_limit", c.operand(3, {}));
    b.for_("batch", batches, [&](Expr batch) {
      b.for_("class", classes, [&](Expr cls) {
        const Buffer candidates = b.cell("candidates", int_const(0));
        b.for_("i", count, [&](Expr i) {
          const Expr score = b.let("score", c.operand(1, {batch, cls, i}));
          b.if_(call(Prim::Gt, score, score_limit), [&] {
            b.store(places, {int_const(0), b.get(candidates)}, i);
            b.store(values, {int_const(0), b.get(candidates)}, score);
            b.set(candidates, b.get(candidates) + 1);
          });
        });
        const Expr n = b.let("n", b.get(candidates));
        const Expr side = emit_merge_sort(
            b, n, {places, values}, [&](const Expr& from, const Expr& i, const Expr& j) {
              return call(Prim::Gt, load(values, {from, i}), load(values, {from, j}));
            });
        const Buffer keep = b.cell("keep", int_const(0));
        const Buffer next = b.cell("next", int_const(0));
        b.while_(logical_and(lt(b.get(next), n), lt(b.get(keep), limit)), [&] {
          const Expr i = b.let("box", load(places, {side, b.get(next)}));
          const Corners p = box(batch, i);
          const Buffer clash = b.cell("clash", bool_const(false));
          const Buffer k = b.cell("k", int_const(0));
          b.while_(logical_and(lt(b.get(k), b.get(keep)), logical_not(b.get(clash))), [&] {
            const Corners q = box(batch, load(kept, {b.get(k)}));
            const Expr h =
                b.let("h", sub(call(Prim::Min, p[2], q[2]), call(Prim::Max, p[0], q[0])));
            const Expr w =
                b.let("w", sub(call(Prim::Min, p[3], q[3]), call(Prim::Max, p[1], q[1])));
            const Expr inter = b.let("inter", call(Prim::Mul, w, h));
            const auto area = [&](const Corners& r) {
              return b.let("area", call(Prim::Mul, sub(r[2], r[0]), sub(r[3], r[1])));
            };
            const Expr area_p = area(p), area_q = area(q);
            const Expr whole = b.let("whole", sub(call(Prim::Add, area_q, area_p), inter));
            Expr hit = logical_and(positive(w), positive(h));
            hit = logical_and(hit, logical_and(positive(area_p), positive(area_q)));
            hit = logical_and(hit, positive(whole));
            b.set(clash,
                  logical_and(hit, call(Prim::Gt, call(Prim::Div, inter, whole), iou_limit)));
            b.set(k, b.get(k) + 1);
          });
          b.if_(logical_not(b.get(clash)), [&] {
            b.store(kept, {b.get(keep)}, i);
            b.set(keep, b.get(keep) + 1);
            c.store(0, {b.get(found), int_const(0)}, batch);
            c.store(0, {b.get(found), int_const(1)}, cls);
            c.store(0, {b.get(found), int_const(2)}, i);
            b.set(found, b.get(found) + 1);
          });
          b.set(next, b.get(next) + 1);
        });
      });
    });
    const Expr total = c.dim(op.result(0)->type.shape[0]);
    b.for_range("rest", b.get(found), total - b.get(found), [&](Expr i) {
      for (int k = 0; k < 3; ++k) c.store(0, {i, int_const(k)}, int_const(0));
    });
    c.store(1, {}, b.get(found));
  });
  return ok_status();
}

}  // namespace

extern const OpDef op_nms;
const OpDef op_nms = {
    .name = "tenfold.nms",
    .summary = "Non-maximum suppression of boxes",
    .doc =
        "Operands: boxes [batches, boxes, 4], scores [batches, classes, boxes], IoU threshold and "
        "score threshold (f32 scalars; -inf keeps all scores). Results: rows (batch, class, box), "
        "zero past their number, and that number (an i64 scalar, for tenfold.bind_symbol). Boxes "
        "are two corners y, x, or x, y, width, height with center_point_box. Of equal scores the "
        "lower box comes first.",
    .kind = OpKind::Opaque,
    .min_operands = 4,
    .max_operands = 4,
    .num_results = 2,
    .attrs = {{"max_output_boxes_per_class", AttrKind::Dims, true, "one dimension"},
              {"center_point_box", AttrKind::Bool, false, "default false"}},
    .infer = infer,
    .eval = eval,
    .emit = emit,
    .needs_buffer = 1,
    .constraints = {"C1", "C2", "C3", "C4"},
};

}  // namespace tenfold
