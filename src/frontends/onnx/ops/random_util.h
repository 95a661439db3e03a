// The random numbers of the importer.
//
// The generator is Threefry 2x32 (stablehlo.rng_bit_generator, THREE_FRY) from a state of two u64:
// the key, then a counter of 0. The key is the seed in the low half and 1 in the high half; without
// a seed, the FNV-1a hash of the node's first output name: a node draws the same numbers in every
// run, two nodes different ones.
#pragma once

#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

Value* random_state(NodeContext& n, std::optional<uint32_t> seed);
// Numbers in [0, 1) of type w (f32 or f64): the upper 24 (f64: 53) bits of a word as a fraction of
// one. `state` moves on.
Value* uniform(GraphBuilder& b, DType w, const Shape& shape, Value*& state);

}  // namespace tenfold::onnx
