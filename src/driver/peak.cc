// Sixteen independent chains of fused multiply-adds keep every unit of the cores known today busy
// (two units, four or five cycles of latency). The best of several short rounds is taken: other
// load only ever makes one slower.
#include "driver/peak.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "base/file.h"
#include "runtime/cpu_features.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace tenfold {
namespace {

constexpr int kSteps = 200000;
constexpr int kRounds = 7;

// Each F(r): register r takes a step; PIN keeps the compiler from seeing through it.
#define TF_EACH16(F) \
  F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11) F(12) F(13) F(14) F(15)

#if defined(__x86_64__)
__attribute__((target("avx512f"))) void steps_avx512() {
  __m512 a[16], b = _mm512_set1_ps(0.999999f), c = _mm512_set1_ps(1e-7f);
#define F(r) a[r] = _mm512_set1_ps(1);
  TF_EACH16(F)
#undef F
  for (int i = 0; i < kSteps; ++i) {
#define F(r)                          \
  a[r] = _mm512_fmadd_ps(a[r], b, c); \
  asm volatile("" : "+v"(a[r]));
    TF_EACH16(F)
#undef F
  }
}

// Ten chains: with the two constants they fit into sixteen registers.
__attribute__((target("avx2,fma"))) void steps_avx2() {
  __m256 a[10], b = _mm256_set1_ps(0.999999f), c = _mm256_set1_ps(1e-7f);
#define TF_EACH10(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9)
#define F(r) a[r] = _mm256_set1_ps(1);
  TF_EACH10(F)
#undef F
  for (int i = 0; i < kSteps; ++i) {
#define F(r)                          \
  a[r] = _mm256_fmadd_ps(a[r], b, c); \
  asm volatile("" : "+x"(a[r]));
    TF_EACH10(F)
#undef F
  }
}

void steps_sse() {
  __m128 a[10], b = _mm_set1_ps(0.999999f), c = _mm_set1_ps(1e-7f);
#define F(r) a[r] = _mm_set1_ps(1);
  TF_EACH10(F)
#undef F
  for (int i = 0; i < kSteps; ++i) {
#define F(r)                                 \
  a[r] = _mm_add_ps(_mm_mul_ps(a[r], b), c); \
  asm volatile("" : "+x"(a[r]));
    TF_EACH10(F)
#undef F
  }
}
#elif defined(__aarch64__)
void steps_neon() {
  float32x4_t a[16], b = vdupq_n_f32(0.999999f), c = vdupq_n_f32(1e-7f);
#define F(r) a[r] = vdupq_n_f32(1);
  TF_EACH16(F)
#undef F
  for (int i = 0; i < kSteps; ++i) {
#define F(r)                    \
  a[r] = vfmaq_f32(c, a[r], b); \
  asm volatile("" : "+w"(a[r]));
    TF_EACH16(F)
#undef F
  }
}
#else
void steps_scalar() {
  float a[16];
  for (float& v : a) v = 1;
  for (int i = 0; i < kSteps; ++i) {
#define F(r)                       \
  a[r] = a[r] * 0.999999f + 1e-7f; \
  asm volatile("" : "+m"(a[r]));
    TF_EACH16(F)
#undef F
  }
}
#endif

struct Kernel {
  void (*run)();
  double flops;  // of one run
};

Kernel widest() {
  constexpr double kPerLane = 2.0 * kSteps;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {steps_avx512, kPerLane * 16 * 16};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return {steps_avx2, kPerLane * 10 * 8};
  return {steps_sse, kPerLane * 10 * 4};
#elif defined(__aarch64__)
  return {steps_neon, kPerLane * 16 * 4};
#else
  return {steps_scalar, kPerLane * 16};
#endif
}

double seconds_of_round(const Kernel& k, int threads) {
  std::atomic<int> ready{0};
  std::atomic<bool> go{false};
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) {
    others.emplace_back([&] {
      ++ready;
      while (!go) std::this_thread::yield();
      k.run();
    });
  }
  while (ready < threads - 1) std::this_thread::yield();
  auto start = std::chrono::steady_clock::now();
  go = true;
  k.run();
  for (auto& t : others) t.join();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

double peak_gflops(int threads) {
  static std::mutex mutex;
  static std::map<int, double> known;
  threads = std::max(threads, 1);
  std::lock_guard lock(mutex);
  double& peak = known[threads];
  if (peak > 0) return peak;
  Kernel k = widest();
  k.run();  // lets the clock settle
  double best = 1e9;
  for (int r = 0; r < kRounds; ++r) best = std::min(best, seconds_of_round(k, threads));
  return peak = k.flops * threads / best / 1e9;
}

std::string cpu_name() {
  auto text = read_text_file("/proc/cpuinfo", size_t{1} << 24);
  if (text.ok()) {
    size_t at = text->find("model name");
    size_t colon = at == std::string::npos ? at : text->find(':', at);
    size_t end = colon == std::string::npos ? colon : text->find('\n', colon);
    if (end != std::string::npos && colon + 2 < end)
      return text->substr(colon + 2, end - colon - 2);
  }
#if defined(__x86_64__)
  return "x86-64";
#elif defined(__aarch64__)
  return "AArch64";
#else
  return "RISC-V";
#endif
}

std::string cpu_feature_list() {
#if defined(__x86_64__)
  const char* known[] = {"avx",      "avx2",     "fma",        "avx512f",    "avx512bw",
                         "avx512dq", "avx512vl", "avx512vnni", "avx512bf16", "avx512vbmi"};
#elif defined(__aarch64__)
  const char* known[] = {"neon", "fullfp16", "dotprod", "sve"};
#else
  const char* known[] = {"v"};
#endif
  std::string list;
  for (const char* f : known) {
    if (!rt::missing_cpu_features("+" + std::string(f)).empty()) continue;
    list += (list.empty() ? "" : " ") + std::string(f);
  }
  return list;
}

}  // namespace tenfold
