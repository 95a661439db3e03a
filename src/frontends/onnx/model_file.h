// A parsed model file with the bytes its constants point into, and the reading of tensors.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "array/literal.h"
#include "base/file.h"
#include "onnx-ml.pb.h"

namespace tenfold::onnx {

std::optional<DType> dtype_of(int onnx_type);  // nothing for STRING, UNDEFINED and unknown ones
std::string onnx_type_name(int onnx_type);     // "FLOAT16", "type 99"
int onnx_type_of(DType t);                     // 0 when ONNX has no such type

// Keeps everything alive that borrowed literals point into.
class ModelFile : public std::enable_shared_from_this<ModelFile> {
 public:
  static Result<std::shared_ptr<ModelFile>> load(const std::string& path);
  static Result<std::shared_ptr<ModelFile>> parse(std::span<const std::byte> bytes,
                                                  const std::string& file_name,
                                                  const std::string& folder);
  const ::onnx::ModelProto& proto() const { return proto_; }
  const std::string& name() const { return name_; }  // file name without folders

  // `max_bytes` bounds what is materialised (unpacked, sparse); borrowed bytes are free.
  Result<Literal> tensor(const ::onnx::TensorProto& t, int64_t max_bytes);
  Result<Literal> sparse_tensor(const ::onnx::SparseTensorProto& t, int64_t max_bytes);

 private:
  Result<std::span<const std::byte>> external(const ::onnx::TensorProto& t);
  ::onnx::ModelProto proto_;
  std::string name_;
  std::string folder_;
  std::map<std::string, FileBytes> mapped_;              // external data, by resolved path
  std::map<const ::onnx::TensorProto*, Literal> taken_;  // weights that left the protobuf
};

}  // namespace tenfold::onnx
