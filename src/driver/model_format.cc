#include "driver/model_format.h"

#include <string_view>

#include "base/file.h"
#include "base/text.h"
#include "runtime/artifact.h"

namespace tenfold {

ModelFormat model_format(const std::string& name, std::span<const std::byte> bytes) {
  std::string suffix = file_suffix(name);
  // The content decides what is an artifact, so that a package under another name works too.
  if (rt::looks_like_artifact(bytes)) return ModelFormat::Artifact;
  if (suffix == ".tenfold" || suffix == ".so") return ModelFormat::Artifact;
  if (suffix == ".onnx") return ModelFormat::Onnx;
  std::string_view text(reinterpret_cast<const char*>(bytes.data()),
                        std::min<size_t>(bytes.size(), 4096));
  if (text.starts_with("ML\xefR")) return ModelFormat::StableHloBytecode;
  if (suffix == ".mlir") return ModelFormat::StableHlo;
  if (suffix == ".bc") return ModelFormat::StableHloBytecode;
  if (suffix == ".tflite" || (text.size() >= 8 && text.substr(4, 4) == "TFL3"))
    return ModelFormat::TfLite;
  if (suffix == ".json" || suffix == ".ubj" || suffix == ".txt") return ModelFormat::Trees;
  std::string_view start = trim(text);
  if (start.starts_with("module") || start.starts_with("func.func") || start.starts_with("//") ||
      start.starts_with("#"))
    return ModelFormat::StableHlo;
  // A model in protobuf starts with its first field, the IR version: tag 8, a small number.
  if (text.size() >= 2 && text[0] == 8 && text[1] > 0 && text[1] < 64) return ModelFormat::Onnx;
  return ModelFormat::Unknown;
}

Result<ModelFormat> model_format(const std::string& path) {
  TF_ASSIGN(FileBytes file, map_file(path));
  return model_format(path, file.bytes);
}

Error unsupported_format(ModelFormat format, const std::string& path) {
  switch (format) {
    case ModelFormat::StableHloBytecode:
      return {
          "format-not-in-build",
          "found MLIR bytecode, which this build does not read; give the StableHLO text (.mlir)",
          {path},
          {}};
    case ModelFormat::TfLite:
      return {"format-not-in-build",
              "found a TFLite model, which this build does not read; export it to ONNX",
              {path},
              {}};
    case ModelFormat::Trees:
      return {"format-not-in-build",
              "found a tree ensemble, which this build does not read; export it to ONNX",
              {path},
              {}};
    case ModelFormat::Artifact:
      return {"model-is-artifact",
              "found a compiled model, wanted one to compile; give the file it was compiled from",
              {path},
              {}};
    default:
      return {"unknown-format",
              "found a file of no known kind, wanted .onnx, .mlir (StableHLO text), .tenfold or "
              ".so; check the path or the suffix",
              {path},
              {}};
  }
}

}  // namespace tenfold
