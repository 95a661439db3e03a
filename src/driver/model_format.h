// What kind of file a model is.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/result.h"

namespace tenfold {

enum class ModelFormat : uint8_t {
  Onnx,
  StableHlo,          // text
  StableHloBytecode,  // .bc
  TfLite,
  Trees,     // XGBoost .json .ubj, LightGBM .txt
  Artifact,  // .tenfold, .so
  Unknown,
};

// By suffix; by the first bytes where the suffix says nothing.
ModelFormat model_format(const std::string& name, std::span<const std::byte> bytes);
Result<ModelFormat> model_format(const std::string& path);
// Why a file of this format cannot be compiled here.
Error unsupported_format(ModelFormat format, const std::string& path);

}  // namespace tenfold
