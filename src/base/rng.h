// Seeded random numbers, the same on every machine: xoshiro256++ (Blackman and Vigna, public
// domain), its state filled by splitmix64.
#pragma once

#include <cmath>
#include <cstdint>

namespace tenfold {

class Rng {
 public:
  explicit Rng(uint64_t seed) {
    for (uint64_t& s : s_) {
      seed += 0x9e3779b97f4a7c15u;
      uint64_t z = seed;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
      s = z ^ (z >> 31);
    }
  }
  uint64_t next() {
    const uint64_t r = rotl(s_[0] + s_[3], 23) + s_[0];
    const uint64_t t = s_[1] << 17;
    s_[2] ^= s_[0];
    s_[3] ^= s_[1];
    s_[1] ^= s_[2];
    s_[0] ^= s_[3];
    s_[2] ^= t;
    s_[3] = rotl(s_[3], 45);
    return r;
  }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }  // [0, 1)
  double uniform(double lo, double hi) { return lo + (hi - lo) * uniform(); }
  // [0, n) without bias; n >= 1.
  uint64_t below(uint64_t n) {
    const uint64_t least = (0 - n) % n;
    while (true) {
      const uint64_t x = next();
      if (x >= least) return x % n;
    }
  }
  // [lo, hi], both ends included.
  int64_t range(int64_t lo, int64_t hi) {
    const uint64_t width = static_cast<uint64_t>(hi) - static_cast<uint64_t>(lo) + 1;
    return static_cast<int64_t>(static_cast<uint64_t>(lo) + (width ? below(width) : next()));
  }
  bool chance(double p) { return uniform() < p; }
  // Mean 0, deviation 1; Box and Muller, one of the pair.
  double normal() {
    const double r = std::sqrt(-2 * std::log(1 - uniform()));
    return r * std::cos(6.283185307179586 * uniform());
  }

 private:
  static uint64_t rotl(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
  uint64_t s_[4];
};

}  // namespace tenfold
