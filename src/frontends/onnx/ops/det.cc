// Det: determinants by elimination with partial pivoting, all matrices of a batch at once.
#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

namespace {

using B = GraphBuilder;

Outputs convert(NodeContext& n) {
  B& b = n.b;
  Value* x = n.input(0);
  const DType t = x->type.dtype, w = wide(t);
  n.need_rank(x, 2, 16, "X");
  const Shape s = x->type.shape;
  const Dim m = s.back();
  n.require_equal(s[s.size() - 2], m, "rows and columns");
  const Shape outer(s.begin(), s.end() - 2);
  const Dim count = product_of(outer, 0, outer.size());
  const Shape cube = {count, m, m}, line = {count, m}, list = {count};
  Value* a = b.reshape(b.convert(x, w), cube);
  const auto step = [&](B& c, const std::vector<Value*>& v) -> std::vector<Value*> {
    Value *k = v[0], *a = v[1], *det = v[2];
    Value* zero = c.constant_i(DType::I64, 0);
    const auto along = [&](Value* u, int64_t d) { return c.broadcast_in_dim(u, cube, {0, d}); };
    Value* row_no = c.iota({DType::I64, line}, 1);
    Value* ks = c.full(k, line);
    const auto slice = [&](bool row) {
      return c.reshape(
          c.create("stablehlo.dynamic_slice", {a, zero, row ? k : zero, row ? zero : k},
                   {{"slice_sizes", Attr{row ? std::vector<Dim>{count, Dim(1), m}
                                             : std::vector<Dim>{count, m, Dim(1)}}}})
              ->result(),
          line);
    };
    // The largest element of column k at or below the diagonal.
    Value* column = slice(false);
    Value* size = c.unary(Prim::Abs, column);
    size = c.select(c.compare("GE", row_no, ks), size, like(c, size, -1));
    Value* most = c.broadcast_in_dim(c.reduce(Prim::Max, size, {1}), line, {0});
    Value* is_most = c.compare("EQ", size, most);
    Value* past = c.full(c.dim_scalar(m), line);
    Value* p = c.reduce(Prim::Min, c.select(is_most, row_no, past), {1});
    Value* limit = c.full(c.dim_scalar(max(m - Dim(1), Dim(0))), list);
    p = c.binary(Prim::Min, p, limit);  // rows of NaN have no largest element
    // Row p, by a sum over one nonzero row; select keeps NaN and infinity where they are.
    Value* is_p = c.compare("EQ", row_no, c.broadcast_in_dim(p, line, {0}));
    Value* picked = c.select(along(is_p, 1), a, like(c, a, 0));
    Value* pivot_row = c.reduce(Prim::Add, picked, {1});
    Value* row_k = slice(true);
    a = c.select(along(is_p, 1), along(row_k, 2), a);
    Value* is_k = c.compare("EQ", row_no, ks);
    a = c.select(along(is_k, 1), along(pivot_row, 2), a);
    column = slice(false);
    Value* pivot =
        c.reshape(c.create("stablehlo.dynamic_slice", {a, zero, k, k},
                           {{"slice_sizes", Attr{std::vector<Dim>{count, Dim(1), Dim(1)}}}})
                      ->result(),
                  list);
    Value* none = c.compare("EQ", pivot, like(c, pivot, 0));
    Value* safe = c.select(none, like(c, pivot, 1), pivot);
    Value* factor = div(c, column, c.broadcast_in_dim(safe, line, {0}));
    factor = c.select(c.compare("GT", row_no, ks), factor, like(c, factor, 0));
    Value* below = along(c.compare("GT", row_no, ks), 1);
    a = c.select(below, sub(c, a, mul(c, along(factor, 1), along(pivot_row, 2))), a);
    Value* swapped = c.compare("NE", p, c.full(k, list));
    det = mul(c, det, c.select(swapped, c.unary(Prim::Neg, pivot), pivot));
    return {add(c, k, 1), a, det};
  };
  Value* size = b.dim_scalar(m);
  const auto r = b.while_(
      {b.constant_i(DType::I64, 0), a, b.splat({w, list}, 1)},
      [&](B& c, const std::vector<Value*>& v) -> std::vector<Value*> {
        return {c.compare("LT", v[0], size)};
      },
      step);
  return {b.convert(b.reshape(r[2], outer), t)};
}

}  // namespace

extern const OnnxOp onnx_det;
const OnnxOp onnx_det = {.names = {{"Det", {11, 22}}},
                         .summary = "Determinants of square matrices.",
                         .convert = convert};

}  // namespace tenfold::onnx
