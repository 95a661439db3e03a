// MatMulNBits and GatherBlockQuantized: weights of a few bits with a scale for each block.
#include <fmt/format.h>

#include "frontends/onnx/ops/quant_util.h"

namespace tenfold::onnx {

namespace {

using B = GraphBuilder;

// Bytes [..., n] -> numbers of `bits` [..., n * 8 / bits], the low bits first.
Value* unpack(B& b, Value* x, int64_t bits) {
  if (bits == 8) return x;
  const int64_t per = 8 / bits;
  Shape s = x->type.shape;
  s.push_back(Dim(per));
  const int64_t rank = x->type.rank();
  Value* v = b.broadcast_in_dim(x, s, iota_list(rank));
  Value* shift = b.broadcast_in_dim(
      mul(b, b.iota({DType::U8, {Dim(per)}}, 0), static_cast<double>(bits)), s, {rank});
  v = b.binary(Prim::And, b.binary(Prim::ShrL, v, shift),
               b.full(b.constant_i(DType::U8, (1 << bits) - 1), s));
  Shape flat = x->type.shape;
  flat.back() = flat.back() * Dim(per);
  return b.reshape(v, flat);
}

Value* cut_last(B& b, Value* x, const Dim& size) {
  if (equal(x->type.shape.back(), size) == Truth::Yes) return x;
  Shape limit = x->type.shape;
  limit.back() = size;
  return b.slice(x, Shape(limit.size(), Dim(0)), limit, std::vector<int64_t>(limit.size(), 1));
}

Outputs matmul_nbits(NodeContext& n) {
  B& b = n.b;
  Value *x = n.input(0), *packed = n.input(1), *scales = n.input(2), *zeros = n.opt(3);
  const int64_t k = n.attr_i("K"), rows = n.attr_i("N");
  const int64_t bits = n.attr_i("bits", 4), block = n.attr_i("block_size");
  n.ignore_attr("accuracy_level");  // a bound on how coarse the arithmetic may be
  if (n.attr_i("weight_prepacked", 0) != 0) n.fail("weight_prepacked is not supported");
  if (n.has(4)) n.fail("g_idx (input 4) is not supported");
  if (bits != 2 && bits != 4 && bits != 8) n.fail(fmt::format("{} bits", bits));
  if (k < 1 || rows < 1 || block < 8 || block > (1 << 20) || block * bits % 8 != 0) {
    n.invalid(fmt::format("K {}, N {}, block_size {}", k, rows, block));
  }
  if (packed->type.dtype != DType::U8) n.invalid("B must be uint8, found " + packed->type.str());
  const int64_t blocks = (k + block - 1) / block;
  const auto count = [&](Value* v, int64_t want, const char* what) {
    if (!v->type.is_static() || v->type.num_elements().value() != want) {
      n.invalid(fmt::format("{} is {}, wanted {} elements", what, v->type.str(), want));
    }
  };
  count(packed, rows * blocks * (block * bits / 8), "B");
  count(scales, rows * blocks, "scales");
  const DType t = x->type.dtype, w = wide(t);
  Value* q = b.reshape(packed, {Dim(rows), Dim(blocks * (block * bits / 8))});
  q = cut_last(b, unpack(b, q, bits), Dim(k));
  const Shape grid = {Dim(rows), Dim(blocks)}, full = {Dim(rows), Dim(k)};
  Value* s = b.reshape(b.convert(scales, w), grid);
  Value* z = nullptr;
  if (zeros && zeros->type.dtype == DType::U8) {
    const int64_t bytes = (blocks * bits + 7) / 8;
    count(zeros, rows * bytes, "zero_points");
    z = cut_last(b, unpack(b, b.reshape(zeros, {Dim(rows), Dim(bytes)}), bits), Dim(blocks));
    z = b.convert(z, w);
  } else if (zeros) {
    count(zeros, rows * blocks, "zero_points");
    z = b.reshape(b.convert(zeros, w), grid);
  } else {
    z = b.splat({w, grid}, static_cast<double>(1 << (bits - 1)));
  }
  Value* weight = sub(b, b.convert(q, w), spread_scale(n, z, full, 1, block, "zero_points"));
  weight = mul(b, weight, spread_scale(n, s, full, 1, block, "scales"));
  n.need_rank(x, 1, 16, "A");
  n.require_equal(x->type.shape.back(), Dim(k), "the last dimension of A and K");
  Value* y = b.dot_general(b.convert(x, w), weight, {}, {}, {x->type.rank() - 1}, {1});
  if (Value* bias = n.opt(5)) y = n.binary(Prim::Add, y, b.convert(bias, w));
  return {b.convert(y, t)};
}

Outputs gather_block(NodeContext& n) {
  B& b = n.b;
  Value *data = n.input(0), *indices = n.input(1), *scales = n.input(2), *zeros = n.opt(3);
  const int64_t rank = data->type.rank();
  const int64_t axis = n.axis(n.attr_i("gather_axis", 0), rank);
  const int64_t along = n.axis(n.attr_i("quantize_axis", 1), rank);
  const int64_t block = n.attr_i("block_size", 128), bits = n.attr_i("bits", 4);
  n.need_rank(scales, rank, rank, "scales");
  const bool bytes = data->type.dtype == DType::U8;
  if (!is_integer(data->type.dtype)) {
    n.fail("onnx-unsupported-type", "data of " + data->type.str());
  }
  if (block < 1) n.invalid(fmt::format("block_size {}", block));
  if (bytes && bits != 2 && bits != 4 && bits != 8) n.fail(fmt::format("{} bits", bits));
  double middle = 0;
  if (bytes) {
    data = unpack(b, data, bits);
    middle = static_cast<double>(1 << (bits - 1));
    if (zeros) {
      zeros = cut_last(b, unpack(b, zeros, bits), scales->type.shape.back());
    }
  }
  if (axis == along) n.fail("gathering along the quantized axis is not supported");
  const DType t = scales->type.dtype, w = wide(t);
  Value* at = wrap_indices(b, indices, data->type.shape[static_cast<size_t>(axis)]);
  Value* q = take(b, data, at, axis);
  const int64_t moved = along > axis ? along + indices->type.rank() - 1 : along;
  const auto spread = [&](Value* v) {
    return spread_scale(n, b.convert(take(b, v, at, axis), w), q->type.shape, moved, block,
                        "scales");
  };
  Value* v = b.convert(q, w);
  if (zeros) {
    v = sub(b, v, spread(zeros));
  } else if (middle != 0) {
    v = add(b, v, -middle);
  }
  return {b.convert(mul(b, v, spread(scales)), t)};
}

Outputs convert(NodeContext& n) {
  return n.op_type() == "MatMulNBits" ? matmul_nbits(n) : gather_block(n);
}

}  // namespace

extern const OnnxOp onnx_ms_block_quantized;
const OnnxOp onnx_ms_block_quantized = {
    .names = {{"MatMulNBits", {1}}, {"GatherBlockQuantized", {1}}},
    .domain = "com.microsoft",
    .summary = "Weights of 2, 4 or 8 bits in blocks.",
    .convert = convert,
    .limits = "g_idx, prepacked weights, gathering along the quantized axis"};

}  // namespace tenfold::onnx
