#include "runtime/cpu_features.h"

#if defined(__aarch64__) || defined(__riscv)
#include <sys/auxv.h>
#endif

namespace tenfold::rt {
namespace {

#if defined(__x86_64__)
// 1 yes, 0 no, -1 not asked for here.
int has(std::string_view f) {
#define TF_FEATURE(llvm, gnu) \
  if (f == llvm) return __builtin_cpu_supports(gnu) != 0
  TF_FEATURE("sse4.1", "sse4.1");
  TF_FEATURE("sse4.2", "sse4.2");
  TF_FEATURE("avx", "avx");
  TF_FEATURE("avx2", "avx2");
  TF_FEATURE("fma", "fma");
  TF_FEATURE("bmi", "bmi");
  TF_FEATURE("bmi2", "bmi2");
  TF_FEATURE("avx512f", "avx512f");
  TF_FEATURE("avx512bw", "avx512bw");
  TF_FEATURE("avx512dq", "avx512dq");
  TF_FEATURE("avx512vl", "avx512vl");
  TF_FEATURE("avx512cd", "avx512cd");
  TF_FEATURE("avx512vnni", "avx512vnni");
  TF_FEATURE("avx512bf16", "avx512bf16");
  TF_FEATURE("avx512vbmi", "avx512vbmi");
  TF_FEATURE("avx512vbmi2", "avx512vbmi2");
#undef TF_FEATURE
  return -1;
}
#elif defined(__aarch64__)
int has(std::string_view f) {
  unsigned long caps = getauxval(AT_HWCAP);
  if (f == "neon") return (caps >> 1) & 1;
  if (f == "fullfp16") return (caps >> 10) & 1;
  if (f == "dotprod") return (caps >> 20) & 1;
  if (f == "sve") return (caps >> 22) & 1;
  return -1;
}
#elif defined(__riscv)
int has(std::string_view f) {
  if (f == "v") return (getauxval(AT_HWCAP) >> ('v' - 'a')) & 1;
  return -1;
}
#else
int has(std::string_view) { return -1; }
#endif

}  // namespace

std::string missing_cpu_features(std::string_view features) {
  std::string missing;
  while (!features.empty()) {
    size_t comma = features.find(',');
    std::string_view f = features.substr(0, comma);
    features = comma == std::string_view::npos ? std::string_view{} : features.substr(comma + 1);
    if (f.empty() || f[0] != '+') continue;
    f.remove_prefix(1);
    if (has(f) == 0) missing += (missing.empty() ? "" : ", ") + std::string(f);
  }
  return missing;
}

}  // namespace tenfold::rt
