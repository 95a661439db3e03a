#include "tpu/sim/array_math.h"

// One source, three instruction sets, the same bits: products and sums are rounded one by one (the
// build forbids contraction), so wider vectors change nothing but time.
#if defined(__x86_64__) && defined(__clang__) && defined(__linux__) && \
    !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
#define TENFOLD_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define TENFOLD_CLONES
#endif

namespace tenfold::tpu {
namespace {

constexpr int kBlock = 16;  // columns kept in registers, as one vector
using Vec = float __attribute__((vector_size(kBlock * 4)));

}  // namespace

TENFOLD_CLONES
void multiply(const float* in, int rows, const float* weights, int k0, int k1, int columns, int dim,
              float* out) {
  for (int n = 0; n < columns; n += 2 * kBlock) {
    int r = 0;
    for (; r + 4 <= rows; r += 4) {
      const float* a = in + r * dim;
      float* o = out + r * dim + n;
      Vec s00 = *(Vec*)(o), s01 = *(Vec*)(o + kBlock);
      Vec s10 = *(Vec*)(o + dim), s11 = *(Vec*)(o + dim + kBlock);
      Vec s20 = *(Vec*)(o + 2 * dim), s21 = *(Vec*)(o + 2 * dim + kBlock);
      Vec s30 = *(Vec*)(o + 3 * dim), s31 = *(Vec*)(o + 3 * dim + kBlock);
      for (int k = k0; k < k1; ++k) {
        const Vec w0 = *(const Vec*)(weights + k * dim + n);
        const Vec w1 = *(const Vec*)(weights + k * dim + n + kBlock);
        s00 += a[k] * w0;
        s01 += a[k] * w1;
        s10 += a[dim + k] * w0;
        s11 += a[dim + k] * w1;
        s20 += a[2 * dim + k] * w0;
        s21 += a[2 * dim + k] * w1;
        s30 += a[3 * dim + k] * w0;
        s31 += a[3 * dim + k] * w1;
      }
      *(Vec*)(o) = s00, *(Vec*)(o + kBlock) = s01;
      *(Vec*)(o + dim) = s10, *(Vec*)(o + dim + kBlock) = s11;
      *(Vec*)(o + 2 * dim) = s20, *(Vec*)(o + 2 * dim + kBlock) = s21;
      *(Vec*)(o + 3 * dim) = s30, *(Vec*)(o + 3 * dim + kBlock) = s31;
    }
    for (; r < rows; ++r) {
      const float* a = in + r * dim;
      float* o = out + r * dim + n;
      Vec s0 = *(Vec*)(o), s1 = *(Vec*)(o + kBlock);
      for (int k = k0; k < k1; ++k) {
        s0 += a[k] * *(const Vec*)(weights + k * dim + n);
        s1 += a[k] * *(const Vec*)(weights + k * dim + n + kBlock);
      }
      *(Vec*)(o) = s0, *(Vec*)(o + kBlock) = s1;
    }
  }
}

}  // namespace tenfold::tpu
