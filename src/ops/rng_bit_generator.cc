// stablehlo.rng_bit_generator: random bits as a function of a state.
#include <cstring>

#include "ops/attr_util.h"
#include "ops/random_util.h"

namespace tenfold {

namespace {

// The bits are a stream of 64-bit words. Elements of 64 bits take one word each, all others 32 bits
// (cut to their width): the low half of a word first.
bool is_threefry(const Op& op) { return op.str("rng_algorithm") == "THREE_FRY"; }
bool wide(DType t) { return bit_width(t) == 64; }

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  const TensorType& state = op.operand()->type;
  const std::string& algorithm = op.str("rng_algorithm");
  if (algorithm != "DEFAULT" && algorithm != "THREE_FRY" && algorithm != "PHILOX")
    diag.fail("I1", "rng_algorithm is " + algorithm + ", wanted DEFAULT, THREE_FRY or PHILOX");
  if (state.rank() != 1 || state.dtype != DType::U64) {
    diag.fail("I2", "initial_state is " + state.str() + ", wanted a vector of ui64");
  } else {
    const bool two = equal(state.shape[0], 2) == Truth::Yes;
    const bool three = equal(state.shape[0], 3) == Truth::Yes && algorithm != "THREE_FRY";
    if (!two && !three)
      diag.fail("C2", algorithm + " takes a state of 2" +
                          (algorithm == "THREE_FRY" ? "" : " or 3") + " words, found " +
                          state.str());
  }
  const TensorType& output = op.result(1)->type;
  if (!is_integer(output.dtype) && !is_float(output.dtype))
    diag.fail("O2", "output must be integers or floats, found " + output.str());
  return {state, output};
}

uint64_t word_of(uint32_t low, uint32_t high) { return uint64_t{low} | uint64_t{high} << 32; }

Result<std::vector<Literal>> eval(EvalContext& c) {
  const DType t = c.op->result(1)->type.dtype;
  Literal out(t, c.shape(c.op->result(1)->type));
  const auto state = c.args[0].data<uint64_t>();
  const bool threefry_mode = is_threefry(*c.op);
  const int64_t words = wide(t) ? out.size() : (out.size() + 1) / 2;
  const std::array<uint32_t, 2> key = {static_cast<uint32_t>(state[0]),
                                       static_cast<uint32_t>(state[0] >> 32)};
  const uint64_t low = state[1], high = state.size() > 2 ? state[2] : 0;
  const auto word = [&](int64_t i) -> uint64_t {
    if (threefry_mode) {
      const uint64_t n = low + static_cast<uint64_t>(i);
      const auto w = threefry({static_cast<uint32_t>(n), static_cast<uint32_t>(n >> 32)}, key);
      return word_of(w[0], w[1]);
    }
    const uint64_t n = low + static_cast<uint64_t>(i / 2);
    const uint64_t carried = high + (state.size() > 2 && n < low ? 1 : 0);
    const auto w = philox({static_cast<uint32_t>(n), static_cast<uint32_t>(n >> 32),
                           static_cast<uint32_t>(carried), static_cast<uint32_t>(carried >> 32)},
                          key);
    return i % 2 == 0 ? word_of(w[0], w[1]) : word_of(w[2], w[3]);
  };
  const int size = byte_size(t);
  std::byte* to = out.mutable_bytes();
  for (int64_t e = 0; e < out.size(); ++e) {
    uint64_t bits = wide(t) ? word(e) : e % 2 == 0 ? word(e / 2) & 0xffffffffu : word(e / 2) >> 32;
    if (bit_width(t) < 8 && is_integer(t))
      out.set_i64(e, static_cast<int64_t>(bits));
    else if (bit_width(t) < 8)
      to[e] = static_cast<std::byte>(bits & ((1u << bit_width(t)) - 1));
    else
      std::memcpy(to + e * size, &bits, static_cast<size_t>(size));
  }
  const uint64_t used = static_cast<uint64_t>(threefry_mode ? words : (words + 1) / 2);
  Literal next = c.args[0];
  auto n = next.mutable_data<uint64_t>();
  n[1] = low + used;
  if (n.size() > 2) n[2] = high + (n[1] < low ? 1 : 0);
  return std::vector<Literal>{next, out};
}

Status emit(EmitContext& c) {
  using namespace loop;
  Builder& b = *c.b;
  const TensorType& type = c.op->result(1)->type;
  const DType t = type.dtype;
  const bool threefry_mode = is_threefry(*c.op);
  const bool long_state = equal(c.op->operand()->type.shape[0], 3) == Truth::Yes;
  const auto state = [&](int64_t i) { return c.operand(0, {int_const(i)}); };
  const auto u64 = [](const Expr& e) { return cast(e, DType::U64); };
  const auto low32 = [](const Expr& e) { return cast(e, DType::U32); };
  const auto high32 = [](const Expr& e) {
    return cast(loop::op(Prim::ShrL, {e, int_const(32, DType::U64)}), DType::U32);
  };
  const Let let = [&](const Expr& e) { return b.let("w", e); };
  std::vector<Expr> dims;
  Expr count = int_const(1);
  for (const Dim& d : type.shape) {
    dims.push_back(c.dim(d));
    count = count * dims.back();
  }
  const int64_t per_block = (threefry_mode ? 1 : 2) * (wide(t) ? 1 : 2);
  const Expr blocks = idiv(count + (per_block - 1), int_const(per_block));
  // The element of type t with these bits.
  const auto element = [&](const Expr& bits) {
    if (is_integer(t)) return cast(bits, t);
    const int width = bit_width(t);
    const DType carrier = width == 64   ? DType::U64
                          : width == 32 ? DType::U32
                          : width == 16 ? DType::U16
                                        : DType::U8;
    Expr v = cast(bits, carrier);
    if (width < 8) v = loop::op(Prim::And, {v, int_const((1 << width) - 1, DType::U8)});
    return bitcast(v, t);
  };
  b.for_(
      "block", blocks,
      [&](Expr i) {
        const Words key = {low32(state(0)), high32(state(0))};
        const Expr n = let(loop::op(Prim::Add, {state(1), u64(i)}));
        Words words;
        if (threefry_mode) {
          words = threefry({let(low32(n)), let(high32(n))}, key, let);
        } else {
          Expr top = int_const(0, DType::U64);
          if (long_state) {
            const Expr carry = u64(loop::op(Prim::Lt, {n, state(1)}));
            top = let(loop::op(Prim::Add, {state(2), carry}));
          }
          words = philox({let(low32(n)), let(high32(n)), low32(top), high32(top)}, key, let);
        }
        for (int64_t k = 0; k < per_block; ++k) {
          Expr bits = words[k];
          if (wide(t)) {
            const Expr shifted =
                loop::op(Prim::Shl, {u64(words[2 * k + 1]), int_const(32, DType::U64)});
            bits = loop::op(Prim::Or, {u64(words[2 * k]), shifted});
          }
          const Expr e = b.let("e", i * per_block + k);
          b.if_(lt(e, count), [&] {
            std::vector<Expr> index(dims.size());
            Expr rest = e;
            for (size_t d = dims.size(); d-- > 0;) {
              index[d] = d == 0 ? rest : imod(rest, dims[d]);
              if (d > 0) rest = idiv(rest, dims[d]);
            }
            c.store(1, index, element(bits));
          });
        }
      },
      b.at_top() ? LoopKind::Parallel : LoopKind::Serial);
  c.store(0, {int_const(0)}, state(0));
  const Expr next = loop::op(Prim::Add, {state(1), u64(blocks)});
  // Words are counted in whole blocks of 64 (Threefry) or 128 bits (Philox).
  c.store(0, {int_const(1)}, next);
  if (long_state)
    c.store(0, {int_const(2)},
            loop::op(Prim::Add, {state(2), u64(loop::op(Prim::Lt, {next, state(1)}))}));
  return ok_status();
}

}  // namespace

extern const OpDef op_rng_bit_generator;
const OpDef op_rng_bit_generator = {
    .name = "stablehlo.rng_bit_generator",
    .summary = "Random bits as a function of a state",
    .doc =
        "THREE_FRY is Threefry 2x32 with 20 rounds: state (key, counter). PHILOX and DEFAULT are "
        "Philox 4x32 with 10 rounds: state (key, counter low[, counter high]). Word i of the "
        "stream is the block cipher of counter + i (Philox: two words a counter). Elements of 64 "
        "bits take a word, others 32 bits, low half first. The new state's counter is past the "
        "blocks used.",
    .kind = OpKind::Opaque,
    .min_operands = 1,
    .max_operands = 1,
    .num_results = 2,
    .attrs = {{"rng_algorithm", AttrKind::Enum, true, "DEFAULT, THREE_FRY or PHILOX"}},
    .infer = infer,
    .explicit_results = true,
    .eval = eval,
    .emit = emit,
    .constraints = {"I1", "I2", "C2", "O2"},
};

}  // namespace tenfold
