// MatMulNBits, MatMulBnb4 and GatherBlockQuantized: weights of a few bits with a scale for each
// block.
#include <fmt/format.h>

#include "frontends/onnx/ops/quant_util.h"

namespace tenfold::onnx {

namespace {

using B = GraphBuilder;

Outputs matmul_nbits(NodeContext& n) {
  B& b = n.b;
  Value *x = n.input(0), *packed = n.input(1), *scales = n.input(2), *zeros = n.opt(3);
  const int64_t k = n.attr_i("K"), rows = n.attr_i("N");
  const int64_t bits = n.attr_i("bits", 4), block = n.attr_i("block_size");
  n.ignore_attr("accuracy_level");  // a bound on how coarse the arithmetic may be
  if (n.attr_i("weight_prepacked", 0) != 0) n.fail("weight_prepacked is not supported");
  Value* group = n.opt(4);
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
  q = cut_last(b, unpack_bits(b, q, bits), Dim(k));
  const Shape grid = {Dim(rows), Dim(blocks)}, full = {Dim(rows), Dim(k)};
  Value* s = b.reshape(b.convert(scales, w), grid);
  Value* z = nullptr;
  if (zeros && zeros->type.dtype == DType::U8) {
    const int64_t bytes = (blocks * bits + 7) / 8;
    count(zeros, rows * bytes, "zero_points");
    z = cut_last(b, unpack_bits(b, b.reshape(zeros, {Dim(rows), Dim(bytes)}), bits), Dim(blocks));
    z = b.convert(z, w);
  } else if (zeros) {
    count(zeros, rows * blocks, "zero_points");
    z = b.reshape(b.convert(zeros, w), grid);
  } else {
    z = b.splat({w, grid}, static_cast<double>(1 << (bits - 1)));
  }
  // Without g_idx, column i belongs to block i / block_size.
  const auto spread = [&](Value* v, const char* what) {
    if (!group) return spread_scale(n, v, full, 1, block, what);
    count(group, k, "g_idx");
    return take(b, v, b.reshape(group, {Dim(k)}), 1);
  };
  Value* weight = sub(b, b.convert(q, w), spread(z, "zero_points"));
  weight = mul(b, weight, spread(s, "scales"));
  n.need_rank(x, 1, 16, "A");
  n.require_equal(x->type.shape.back(), Dim(k), "the last dimension of A and K");
  Value* y = b.dot_general(b.convert(x, w), weight, {}, {}, {x->type.rank() - 1}, {1});
  if (Value* bias = n.opt(5)) y = n.binary(Prim::Add, y, b.convert(bias, w));
  return {b.convert(y, t)};
}

// The numbers that bitsandbytes' 4-bit codes stand for, as fractions of a block's largest.
constexpr float kFp4[16] = {
    0.0f,  0.0625f / 12,  8.0f / 12,  1.0f,  4.0f / 12,  6.0f / 12,  2.0f / 12,  3.0f / 12,
    -0.0f, -0.0625f / 12, -8.0f / 12, -1.0f, -4.0f / 12, -6.0f / 12, -2.0f / 12, -3.0f / 12};
constexpr float kNf4[16] = {-1.0f,
                            -0.6961928009986877f,
                            -0.5250730514526367f,
                            -0.39491748809814453f,
                            -0.28444138169288635f,
                            -0.18477343022823334f,
                            -0.09105003625154495f,
                            0.0f,
                            0.07958029955625534f,
                            0.16093020141124725f,
                            0.24611230194568634f,
                            0.33791524171829224f,
                            0.44070982933044434f,
                            0.5626170039176941f,
                            0.7229568362236023f,
                            1.0f};

Outputs matmul_bnb4(NodeContext& n) {
  B& b = n.b;
  Value *x = n.input(0), *packed = n.input(1), *largest = n.input(2);
  const int64_t k = n.attr_i("K"), rows = n.attr_i("N"), block = n.attr_i("block_size");
  const int64_t type = n.attr_i("quant_type");
  const bool transposed = n.attr_flag("transB", true);
  if (n.attr_flag("training_mode")) n.fail("training_mode is not supported");
  if (type != 0 && type != 1) n.invalid(fmt::format("quant_type is {}", type));
  if (k < 1 || rows < 1 || k > INT32_MAX || rows > INT32_MAX || block < 16 || block > (1 << 20)) {
    n.invalid(fmt::format("K {}, N {}, block_size {}", k, rows, block));
  }
  const int64_t count = k * rows, blocks = (count + block - 1) / block;
  const DType t = x->type.dtype, w = wide(t);
  const auto flat = [&](Value* v, int64_t size, const char* what) {
    if (!v->type.is_static() || v->type.num_elements().value() != size) {
      n.invalid(fmt::format("{} is {}, wanted {} elements", what, v->type.str(), size));
    }
    return b.reshape(v, {Dim(size)});
  };
  // Two codes a byte, the first one in the high bits.
  Value* bytes = flat(packed, (count + 1) / 2, "B");
  Value* high = b.binary(Prim::ShrL, bytes, like(b, bytes, 4));
  Value* low = b.binary(Prim::And, bytes, like(b, bytes, 15));
  const Shape pair = {bytes->type.shape[0], Dim(1)};
  Value* codes = b.concatenate({b.reshape(high, pair), b.reshape(low, pair)}, 1);
  codes = cut_last(b, b.reshape(codes, {Dim((count + 1) / 2 * 2)}), Dim(count));
  Value* table = b.constant(
      Literal::from<float>(DType::F32, {16}, std::span<const float>(type == 0 ? kFp4 : kNf4)));
  Value* v = b.convert(take(b, table, b.convert(codes, DType::I64), 0), w);
  Value* scale = b.convert(flat(largest, blocks, "absmax"), w);
  v = mul(b, v, spread_scale(n, scale, {Dim(count)}, 0, block, "absmax"));
  v = b.reshape(v, {Dim(rows), Dim(k)});
  n.need_rank(x, 1, 16, "A");
  n.require_equal(x->type.shape.back(), Dim(transposed ? k : rows), "the last dimension of A");
  Value* y = b.dot_general(b.convert(x, w), v, {}, {}, {x->type.rank() - 1}, {transposed ? 1 : 0});
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
    data = unpack_bits(b, data, bits);
    middle = static_cast<double>(1 << (bits - 1));
    if (zeros) {
      zeros = cut_last(b, unpack_bits(b, zeros, bits), scales->type.shape.back());
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
  if (n.op_type() == "MatMulBnb4") return matmul_bnb4(n);
  return n.op_type() == "MatMulNBits" ? matmul_nbits(n) : gather_block(n);
}

}  // namespace

extern const OnnxOp onnx_ms_block_quantized;
const OnnxOp onnx_ms_block_quantized = {
    .names = {{"MatMulNBits", {1}}, {"MatMulBnb4", {1}}, {"GatherBlockQuantized", {1}}},
    .domain = "com.microsoft",
    .summary = "Weights of 2, 4 or 8 bits in blocks.",
    .convert = convert,
    .limits = "prepacked weights, gathering along the quantized axis"};

}  // namespace tenfold::onnx
