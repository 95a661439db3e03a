// What a program takes and gives, as a caller sees it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "array/dtype.h"
#include "runtime/program.h"

namespace tenfold::rt {

struct TensorInfo {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> dims;           // -1: open
  std::vector<std::string> dim_names;  // "n", "2*n + 1"; the number for a fixed one
};

std::vector<TensorInfo> inputs_of(const Program& p);
std::vector<TensorInfo> outputs_of(const Program& p);

// Readable form on the program's symbols, and the value where it depends on none.
std::string size_text(const SizeExpr& e, const Program& p);
bool constant_size(const SizeExpr& e, int64_t* v);
// On given values of the symbol registers.
int64_t size_value(const SizeExpr& e, const std::vector<int64_t>& symbols);

}  // namespace tenfold::rt
