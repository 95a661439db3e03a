#include "ops/random_util.h"

namespace tenfold {

namespace {
constexpr uint32_t kMul0 = 0xD2511F53u, kMul1 = 0xCD9E8D57u;
constexpr uint32_t kWeyl0 = 0x9E3779B9u, kWeyl1 = 0xBB67AE85u;
constexpr int kPhiloxRounds = 10;
constexpr uint32_t kParity = 0x1BD11BDAu;
constexpr int kRotations[8] = {13, 15, 26, 6, 17, 29, 16, 24};
}  // namespace

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> c, std::array<uint32_t, 2> k) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const uint64_t p0 = uint64_t{kMul0} * c[0], p1 = uint64_t{kMul1} * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k[0], static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k[1], static_cast<uint32_t>(p0)};
    k[0] += kWeyl0;
    k[1] += kWeyl1;
  }
  return c;
}

std::array<uint32_t, 2> threefry(std::array<uint32_t, 2> x, std::array<uint32_t, 2> k) {
  const uint32_t keys[3] = {k[0], k[1], k[0] ^ k[1] ^ kParity};
  x[0] += keys[0];
  x[1] += keys[1];
  for (uint32_t block = 0; block < 5; ++block) {
    for (int i = 0; i < 4; ++i) {
      const int r = kRotations[(block % 2) * 4 + static_cast<uint32_t>(i)];
      x[0] += x[1];
      x[1] = (x[1] << r) | (x[1] >> (32 - r));
      x[1] ^= x[0];
    }
    x[0] += keys[(block + 1) % 3];
    x[1] += keys[(block + 2) % 3] + block + 1;
  }
  return x;
}

using namespace loop;

namespace {
Expr u32(uint32_t v) { return int_const(v, DType::U32); }
Expr add(const Expr& a, const Expr& b) { return op(Prim::Add, {a, b}); }
Expr bit_xor(const Expr& a, const Expr& b) { return op(Prim::Xor, {a, b}); }
}  // namespace

Words philox(Words c, Words k, const Let& let) {
  const auto product = [&](uint32_t m, const Expr& x) {
    return let(op(Prim::Mul, {int_const(m, DType::U64), cast(x, DType::U64)}));
  };
  const auto high = [](const Expr& p) {
    return cast(op(Prim::ShrL, {p, int_const(32, DType::U64)}), DType::U32);
  };
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const Expr p0 = product(kMul0, c[0]), p1 = product(kMul1, c[2]);
    c = {let(bit_xor(bit_xor(high(p1), c[1]), k[0])), let(cast(p1, DType::U32)),
         let(bit_xor(bit_xor(high(p0), c[3]), k[1])), let(cast(p0, DType::U32))};
    k = {add(k[0], u32(kWeyl0)), add(k[1], u32(kWeyl1))};
  }
  return c;
}

Words threefry(Words x, const Words& k, const Let& let) {
  const Expr keys[3] = {k[0], k[1], let(bit_xor(bit_xor(k[0], k[1]), u32(kParity)))};
  x = {let(add(x[0], keys[0])), let(add(x[1], keys[1]))};
  for (uint32_t block = 0; block < 5; ++block) {
    for (uint32_t i = 0; i < 4; ++i) {
      const uint32_t r = static_cast<uint32_t>(kRotations[(block % 2) * 4 + i]);
      x[0] = let(add(x[0], x[1]));
      const Expr rotated =
          op(Prim::Or, {op(Prim::Shl, {x[1], u32(r)}), op(Prim::ShrL, {x[1], u32(32 - r)})});
      x[1] = let(bit_xor(rotated, x[0]));
    }
    x[0] = let(add(x[0], keys[(block + 1) % 3]));
    x[1] = let(add(x[1], add(keys[(block + 2) % 3], u32(block + 1))));
  }
  return x;
}

}  // namespace tenfold
