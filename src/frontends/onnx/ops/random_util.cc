// See random_util.h.
#include "frontends/onnx/ops/random_util.h"

namespace tenfold::onnx {

Value* random_state(NodeContext& n, std::optional<uint32_t> seed) {
  uint64_t key = 0xcbf29ce484222325u;
  if (seed) {
    key = *seed | (uint64_t{1} << 32);
  } else {
    for (char c : n.output_name(0)) {
      key = (key ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    }
  }
  const uint64_t state[2] = {key, 0};
  return n.b.constant(Literal::from<uint64_t>(DType::U64, {2}, std::span<const uint64_t>(state)));
}

Value* uniform(GraphBuilder& b, DType w, const Shape& shape, Value*& state) {
  const bool f64 = w == DType::F64;
  const DType word = f64 ? DType::U64 : DType::U32;
  Op* op =
      b.create("stablehlo.rng_bit_generator", {state},
               {{"rng_algorithm", Attr{std::string("THREE_FRY")}}}, {state->type, {word, shape}});
  state = op->result(0);
  Value* bits = op->result(1);
  bits = b.binary(Prim::ShrL, bits, b.full(b.constant_i(word, f64 ? 11 : 8), shape));
  return mul(b, b.convert(bits, w), f64 ? 0x1p-53 : 0x1p-24);
}

}  // namespace tenfold::onnx
