// What this machine can do at most, measured: what a figure is a share of.
#pragma once

#include <string>

namespace tenfold {

// f32 multiply-adds per second (two operations each) in billions, with the widest vectors that this
// processor has and nothing but registers, on `threads` threads together. Takes some hundredth of a
// second the first time, then comes from memory.
double peak_gflops(int threads);

// "Intel(R) Xeon(R) ...", or the architecture.
std::string cpu_name();
// "avx2 fma avx512f ...": what matters to generated code.
std::string cpu_feature_list();

}  // namespace tenfold
