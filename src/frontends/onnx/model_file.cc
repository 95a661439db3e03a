// Reading of the protobuf file, of tensors in all their storage forms, and of external data.
#include "frontends/onnx/model_file.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream.h>

namespace tenfold::onnx {

namespace fs = std::filesystem;
using ::onnx::TensorProto;

namespace {

constexpr size_t kOwnHomeBytes = size_t{64} << 10;

// Feeds mapped bytes to the protobuf reader, which copies them, and gives the pages read back: the
// file and its copy never stand in memory together.
class ForgetfulStream final : public google::protobuf::io::ZeroCopyInputStream {
 public:
  explicit ForgetfulStream(std::span<const std::byte> bytes) : bytes_(bytes) {}
  bool Next(const void** data, int* size) override {
    if (at_ > dropped_) drop_mapped_pages(bytes_.data() + dropped_, at_ - dropped_);
    dropped_ = at_;
    if (at_ == bytes_.size()) return false;
    size_t n = std::min(kChunk, bytes_.size() - at_);
    *data = bytes_.data() + at_;
    *size = static_cast<int>(n);
    at_ += n;
    return true;
  }
  void BackUp(int count) override { at_ -= static_cast<size_t>(count); }
  bool Skip(int count) override {
    size_t n = std::min(static_cast<size_t>(count), bytes_.size() - at_);
    at_ += n;
    return n == static_cast<size_t>(count);
  }
  int64_t ByteCount() const override { return static_cast<int64_t>(at_); }

 private:
  static constexpr size_t kChunk = size_t{1} << 20;
  std::span<const std::byte> bytes_;
  size_t at_ = 0, dropped_ = 0;
};

// Nested graphs cost three levels each; silero-vad nests dozens.
constexpr int kProtoDepth = 600;

Error bad_tensor(const TensorProto& t, std::string what) {
  return {"onnx-bad-tensor", fmt::format("tensor '{}' {}", t.name(), what), {}, {}};
}

// Element count, or an error on negative or overflowing dimensions.
template <class Dims>
Result<int64_t> count_of(const Dims& dims, const std::string& name) {
  int64_t n = 1;
  bool zero = false;
  for (int64_t d : dims) {
    if (d < 0) {
      return Error{"onnx-bad-tensor", fmt::format("tensor '{}' has dimension {}", name, d), {}, {}};
    }
    if (d == 0) zero = true;
    if (d > 0 && n > (int64_t{1} << 56) / d) {
      return Error{"onnx-bad-tensor",
                   fmt::format("tensor '{}' has more elements than a file can hold", name),
                   {},
                   {}};
    }
    if (d > 0) n *= d;
  }
  return zero ? 0 : n;
}

int packed_per_byte(DType t) {
  switch (t) {
    case DType::I2:
    case DType::U2:
      return 4;
    case DType::I4:
    case DType::U4:
    case DType::F4E2M1FN:
      return 2;
    default:
      return 1;
  }
}

// Packed elements, first in the low bits, to one a byte.
void unpack(DType t, const uint8_t* in, int64_t n, uint8_t* out) {
  const int per = packed_per_byte(t), bits = 8 / per;
  const uint8_t mask = static_cast<uint8_t>((1 << bits) - 1);
  const bool sign = t == DType::I4 || t == DType::I2;
  for (int64_t i = 0; i < n; ++i) {
    uint8_t v = static_cast<uint8_t>(in[i / per] >> (bits * (i % per))) & mask;
    if (sign && (v >> (bits - 1))) v = static_cast<uint8_t>(v | ~mask);
    out[i] = v;
  }
}

}  // namespace

std::optional<DType> dtype_of(int t) {
  switch (t) {
    case TensorProto::FLOAT:
      return DType::F32;
    case TensorProto::UINT8:
      return DType::U8;
    case TensorProto::INT8:
      return DType::I8;
    case TensorProto::UINT16:
      return DType::U16;
    case TensorProto::INT16:
      return DType::I16;
    case TensorProto::INT32:
      return DType::I32;
    case TensorProto::INT64:
      return DType::I64;
    case TensorProto::BOOL:
      return DType::Bool;
    case TensorProto::FLOAT16:
      return DType::F16;
    case TensorProto::DOUBLE:
      return DType::F64;
    case TensorProto::UINT32:
      return DType::U32;
    case TensorProto::UINT64:
      return DType::U64;
    case TensorProto::COMPLEX64:
      return DType::C64;
    case TensorProto::COMPLEX128:
      return DType::C128;
    case TensorProto::BFLOAT16:
      return DType::BF16;
    case TensorProto::FLOAT8E4M3FN:
      return DType::F8E4M3FN;
    case TensorProto::FLOAT8E4M3FNUZ:
      return DType::F8E4M3FNUZ;
    case TensorProto::FLOAT8E5M2:
      return DType::F8E5M2;
    case TensorProto::FLOAT8E5M2FNUZ:
      return DType::F8E5M2FNUZ;
    case TensorProto::UINT4:
      return DType::U4;
    case TensorProto::INT4:
      return DType::I4;
    case TensorProto::FLOAT4E2M1:
      return DType::F4E2M1FN;
    case TensorProto::FLOAT8E8M0:
      return DType::F8E8M0FNU;
    case TensorProto::UINT2:
      return DType::U2;
    case TensorProto::INT2:
      return DType::I2;
    case TensorProto::FLOAT6E2M3:
      return DType::F6E2M3FN;
    case TensorProto::FLOAT6E3M2:
      return DType::F6E3M2FN;
    default:
      return {};
  }
}

std::string onnx_type_name(int t) {
  if (TensorProto::DataType_IsValid(t)) {
    return TensorProto::DataType_Name(static_cast<TensorProto::DataType>(t));
  }
  return fmt::format("type {}", t);
}

int onnx_type_of(DType t) {
  for (int i = 1; TensorProto::DataType_IsValid(i); ++i) {
    if (dtype_of(i) == t) return i;
  }
  return 0;
}

Result<std::shared_ptr<ModelFile>> ModelFile::load(const std::string& path) {
  TF_ASSIGN(FileBytes file, map_file(path));
  std::error_code ec;
  fs::path folder = fs::path(path).parent_path();
  if (folder.empty()) folder = ".";
  return parse(file.bytes, fs::path(path).filename().string(), folder.string());
}

Result<std::shared_ptr<ModelFile>> ModelFile::parse(std::span<const std::byte> bytes,
                                                    const std::string& file_name,
                                                    const std::string& folder) {
  auto m = std::make_shared<ModelFile>();
  m->name_ = file_name;
  m->folder_ = folder;
  const Location loc{file_name};
  if (bytes.empty()) return Error{"onnx-invalid", "the file is empty", loc, {}};
  if (bytes.size() > static_cast<size_t>(INT32_MAX)) {
    return Error{"onnx-too-large",
                 fmt::format("the file has {} bytes; protobuf files end at 2147483647; store the "
                             "weights as external data",
                             bytes.size()),
                 loc,
                 {}};
  }
  ForgetfulStream stream(bytes);
  google::protobuf::io::CodedInputStream in(&stream);
  in.SetRecursionLimit(kProtoDepth);
  if (!m->proto_.MergeFromCodedStream(&in) || !in.ConsumedEntireMessage()) {
    return Error{"onnx-invalid",
                 "not a readable ONNX protobuf (truncated, damaged, or nested too deeply)",
                 loc,
                 {}};
  }
  if (!m->proto_.has_graph()) {
    return Error{"onnx-invalid", "the file holds no ONNX graph", loc, {}};
  }
  return m;
}

Result<std::span<const std::byte>> ModelFile::external(const TensorProto& t) {
  std::string location;
  int64_t offset = 0, length = -1;
  for (const auto& e : t.external_data()) {
    const auto number = [&](int64_t& out) -> bool {
      const char* end = e.value().data() + e.value().size();
      auto [p, ec] = std::from_chars(e.value().data(), end, out);
      return ec == std::errc() && p == end && out >= 0;
    };
    if (e.key() == "location") {
      location = e.value();
    } else if (e.key() == "offset") {
      if (!number(offset))
        return bad_tensor(t, "has external data with offset '" + e.value() + "'");
    } else if (e.key() == "length") {
      if (!number(length))
        return bad_tensor(t, "has external data with length '" + e.value() + "'");
    } else if (e.key() != "checksum" && e.key() != "basepath") {
      return bad_tensor(t, "has external data with unknown key '" + e.key() + "'");
    }
  }
  if (location.empty()) return bad_tensor(t, "has external data without a location");
  if (location.find('\0') != std::string::npos) {
    return bad_tensor(t, "has external data whose location holds a zero byte");
  }
  if (folder_.empty()) return bad_tensor(t, "has external data, but the model has no folder");
  const fs::path rel(location);
  const auto outside = [&] {
    return Error{"onnx-external-data-outside",
                 fmt::format("tensor '{}' has external data at '{}', which is outside the model's "
                             "folder; it is not read",
                             t.name(), location),
                 {},
                 {}};
  };
  if (rel.is_absolute()) return outside();
  std::error_code ec;
  const fs::path root = fs::canonical(folder_, ec);
  if (ec) return bad_tensor(t, "has external data, but the model's folder cannot be resolved");
  // Decide on the name alone first, so that nothing outside is even looked at.
  const fs::path plain = (root / rel).lexically_normal();
  const auto inside = [&](const fs::path& p) {
    auto [r, q] = std::mismatch(root.begin(), root.end(), p.begin(), p.end());
    return r == root.end() && q != p.end();
  };
  if (!inside(plain)) return outside();
  const fs::path real = fs::canonical(plain, ec);
  if (ec) {
    return bad_tensor(t, fmt::format("has external data at '{}', which cannot be opened: {}",
                                     location, ec.message()));
  }
  if (!inside(real)) return outside();
  auto it = mapped_.find(real.string());
  if (it == mapped_.end()) {
    TF_ASSIGN(FileBytes file, map_file(real.string()));
    it = mapped_.emplace(real.string(), std::move(file)).first;
  }
  const auto all = it->second.bytes;
  const uint64_t size = all.size();
  if (static_cast<uint64_t>(offset) > size) {
    return bad_tensor(t, fmt::format("has external data at offset {} of '{}', which has {} bytes",
                                     offset, location, size));
  }
  if (length < 0) length = static_cast<int64_t>(size - static_cast<uint64_t>(offset));
  if (static_cast<uint64_t>(length) > size - static_cast<uint64_t>(offset)) {
    return bad_tensor(t, fmt::format("has external data of {} bytes at offset {} of '{}', which "
                                     "has {} bytes",
                                     length, offset, location, size));
  }
  return all.subspan(static_cast<size_t>(offset), static_cast<size_t>(length));
}

Result<Literal> ModelFile::tensor(const TensorProto& t, int64_t max_bytes) {
  const auto dt = dtype_of(t.data_type());
  if (!dt) {
    return Error{
        "onnx-unsupported-type",
        fmt::format("tensor '{}' has element type {}", t.name(), onnx_type_name(t.data_type())),
        {},
        {}};
  }
  if (auto it = taken_.find(&t); it != taken_.end()) return it->second;
  if (t.has_segment()) return bad_tensor(t, "is stored in segments, which are not supported");
  TF_ASSIGN(const int64_t n, count_of(t.dims(), t.name()));
  std::vector<int64_t> dims(t.dims().begin(), t.dims().end());
  const DType d = *dt;
  const int per = packed_per_byte(d);
  const int64_t stored = (n + per - 1) / per * byte_size(d);

  std::span<const std::byte> raw;
  std::shared_ptr<const void> owner;  // of external data
  bool has_raw = false;
  if (t.data_location() == TensorProto::EXTERNAL) {
    TF_ASSIGN(raw, external(t));
    has_raw = true;
    for (const auto& [path, file] : mapped_)
      if (raw.data() >= file.bytes.data() && raw.data() < file.bytes.data() + file.bytes.size())
        owner = file.owner;
    // A length left out runs to the end of the file.
    bool has_length = false;
    for (const auto& e : t.external_data()) has_length |= e.key() == "length";
    if (!has_length && static_cast<int64_t>(raw.size()) >= stored) {
      raw = raw.first(static_cast<size_t>(stored));
    }
  } else if (t.has_raw_data()) {
    raw = {reinterpret_cast<const std::byte*>(t.raw_data().data()), t.raw_data().size()};
    has_raw = true;
  }
  if (has_raw) {
    if (static_cast<int64_t>(raw.size()) != stored) {
      return bad_tensor(
          t, fmt::format("has {} bytes, but its type and shape need {}", raw.size(), stored));
    }
    // A large weight leaves the protobuf for a home of its own, so that it can be freed alone.
    if (per == 1 && d != DType::Bool && raw.size() >= kOwnHomeBytes && t.has_raw_data() &&
        t.data_location() != TensorProto::EXTERNAL) {
      auto home =
          std::shared_ptr<const std::string>(const_cast<TensorProto&>(t).release_raw_data());
      auto* at = reinterpret_cast<const std::byte*>(home->data());
      Literal l = Literal::borrow(d, dims, at, home);
      taken_[&t] = l;
      return l;
    }
    // External data stays in its mapped file; small embedded values are copied, so that nothing
    // keeps the protobuf alive.
    if (per == 1 && d != DType::Bool && t.data_location() == TensorProto::EXTERNAL &&
        raw.size() >= 64 && reinterpret_cast<uintptr_t>(raw.data()) % byte_size(real_of(d)) == 0) {
      return Literal::borrow(d, std::move(dims), raw.data(), std::move(owner));
    }
    if (n > max_bytes / byte_size(d)) return bad_tensor(t, "is larger than the constant limit");
    Literal out(d, std::move(dims));
    if (n == 0) return out;
    auto* to = reinterpret_cast<uint8_t*>(out.mutable_bytes());
    const auto* from = reinterpret_cast<const uint8_t*>(raw.data());
    if (per > 1) {
      unpack(d, from, n, to);
    } else {
      std::memcpy(to, from, raw.size());
      if (d == DType::Bool) {
        for (int64_t i = 0; i < n; ++i) to[i] = to[i] != 0;
      }
    }
    return out;
  }

  // Typed fields.
  const auto need = [&](int64_t have, int64_t want, const char* field) -> Status {
    if (have == want) return ok_status();
    return bad_tensor(
        t, fmt::format("has {} entries in {}, but its shape needs {}", have, field, want));
  };
  if (n > max_bytes / byte_size(d)) return bad_tensor(t, "is larger than the constant limit");
  switch (d) {
    case DType::F32:
    case DType::C64: {
      TF_TRY(need(t.float_data_size(), d == DType::C64 ? 2 * n : n, "float_data"));
      Literal out(d, std::move(dims));
      if (n) std::memcpy(out.mutable_bytes(), t.float_data().data(), out.byte_count());
      return out;
    }
    case DType::F64:
    case DType::C128: {
      TF_TRY(need(t.double_data_size(), d == DType::C128 ? 2 * n : n, "double_data"));
      Literal out(d, std::move(dims));
      if (n) std::memcpy(out.mutable_bytes(), t.double_data().data(), out.byte_count());
      return out;
    }
    case DType::I64: {
      TF_TRY(need(t.int64_data_size(), n, "int64_data"));
      Literal out(d, std::move(dims));
      if (n) std::memcpy(out.mutable_bytes(), t.int64_data().data(), out.byte_count());
      return out;
    }
    case DType::U32:
    case DType::U64: {
      TF_TRY(need(t.uint64_data_size(), n, "uint64_data"));
      Literal out(d, std::move(dims));
      for (int64_t i = 0; i < n; ++i) {
        out.set_i64(i, static_cast<int64_t>(t.uint64_data(static_cast<int>(i))));
      }
      return out;
    }
    default:
      break;
  }
  TF_TRY(need(t.int32_data_size(), (n + per - 1) / per, "int32_data"));
  Literal out(d, std::move(dims));
  if (n == 0) return out;
  std::byte* to = out.mutable_bytes();
  if (per > 1) {
    std::vector<uint8_t> packed(t.int32_data().begin(), t.int32_data().end());
    unpack(d, packed.data(), n, reinterpret_cast<uint8_t*>(to));
    return out;
  }
  const int size = byte_size(d);
  for (int64_t i = 0; i < n; ++i) {
    uint32_t v = static_cast<uint32_t>(t.int32_data(static_cast<int>(i)));
    if (d == DType::Bool) v = v != 0;
    std::memcpy(to + i * size, &v, static_cast<size_t>(size));  // little-endian, low bytes
  }
  return out;
}

Result<Literal> ModelFile::sparse_tensor(const ::onnx::SparseTensorProto& s, int64_t max_bytes) {
  const TensorProto& v = s.values();
  TF_ASSIGN(const int64_t n, count_of(s.dims(), v.name()));
  TF_ASSIGN(Literal values, tensor(v, max_bytes));
  TF_ASSIGN(Literal indices, tensor(s.indices(), max_bytes));
  const int size = byte_size(values.dtype());
  if (n > max_bytes / size)
    return bad_tensor(v, "is a sparse tensor larger than the constant limit");
  if (values.rank() != 1 || indices.dtype() != DType::I64 || indices.rank() < 1 ||
      indices.rank() > 2 || indices.dims()[0] != values.size()) {
    return bad_tensor(v, "is a sparse tensor whose values and indices do not fit together");
  }
  std::vector<int64_t> dims(s.dims().begin(), s.dims().end());
  const auto rank = static_cast<int64_t>(dims.size());
  if (indices.rank() == 2 && indices.dims()[1] != rank) {
    return bad_tensor(v, "is a sparse tensor whose indices have the wrong width");
  }
  Literal out(values.dtype(), dims);
  std::byte* to = out.mutable_bytes();
  const auto idx = indices.data<int64_t>();
  for (int64_t i = 0; i < values.size(); ++i) {
    int64_t at = 0;
    if (indices.rank() == 1) {
      at = idx[static_cast<size_t>(i)];
    } else {
      for (int64_t k = 0; k < rank; ++k) {
        const int64_t c = idx[static_cast<size_t>(i * rank + k)];
        if (c < 0 || c >= dims[static_cast<size_t>(k)]) at = -1;
        if (at >= 0) at = at * dims[static_cast<size_t>(k)] + c;
      }
    }
    if (at < 0 || at >= n) {
      return bad_tensor(v, fmt::format("is a sparse tensor with an index outside at entry {}", i));
    }
    std::memcpy(to + at * size, values.bytes() + i * size, static_cast<size_t>(size));
  }
  return out;
}

}  // namespace tenfold::onnx
