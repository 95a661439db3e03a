// What this processor can do, by LLVM's names of features.
#pragma once

#include <string>
#include <string_view>

namespace tenfold::rt {

// `features` as a target has them: "+avx2,+fma,-avx512f". The ones asked for with + that are known
// by name here and that this processor lacks, as "avx2, fma"; "" when it has all.
std::string missing_cpu_features(std::string_view features);

}  // namespace tenfold::rt
