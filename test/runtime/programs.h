// Programs made by hand, with functions of this process as their code.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/artifact.h"
#include "runtime/executor.h"

namespace tenfold::rt {

SizeExpr constant(int64_t v);
SizeExpr symbol(int32_t s);
SizeExpr binary(SizeExpr a, SizeExpr::Op op, SizeExpr b);

// y[i][j] = x[i][j] * scale[j] + 1 with x of [n, 3], n from 1 to 1000, in two kernels with a
// temporary between them; scale = {1, 10, 100} is a constant. One parallel iteration a row.
Program scale_program();
std::vector<float> scale_constants();
std::unordered_map<std::string, void*> scale_functions();

// out = the number of doublings of x until it is 100 or more; fails when x is negative.
Program count_program();
std::unordered_map<std::string, void*> count_functions();

std::shared_ptr<const Executable> executable(Program p, const void* constants,
                                             std::unordered_map<std::string, void*> functions);

}  // namespace tenfold::rt
