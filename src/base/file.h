// Files: mapped for reading, written aside and renamed, and kept inside a folder.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tenfold {

// Read-only contents, valid while `owner` lives.
struct FileBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
  std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
};

// Maps a regular file of any size; pages are read when touched.
// Errors: file-not-found, file-not-regular, file-read.
Result<FileBytes> map_file(const std::string& path);
// Gives the memory of mapped pages wholly inside [p, p + n) back; they are read again when touched.
// Does nothing for memory that map_file() did not give.
void drop_mapped_pages(const void* p, size_t n);
// The whole file as a string, refused when larger than `limit` (file-too-large). For text that is
// edited or kept; also reads what cannot be mapped.
Result<std::string> read_text_file(const std::string& path, size_t limit = size_t{1} << 30);

// A file that appears under its name only when complete: written to a neighbour, renamed by
// commit(), removed when dropped without it. Errors: file-write.
class AtomicFile {
 public:
  static Result<AtomicFile> create(const std::string& path);
  AtomicFile(AtomicFile&& o) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();
  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text);
  Status commit();

 private:
  AtomicFile() = default;
  std::string path_, aside_;
  int fd_ = -1;
};
Status write_file(const std::string& path, std::span<const std::byte> bytes);
Status write_file(const std::string& path, std::string_view text);

// `name`, a relative path from a model file, inside `folder`: refused (file-outside-folder) when
// absolute or when it leads outside once "..", and links on the way, are resolved. The file must
// exist. Gives the resolved path.
Result<std::string> resolve_inside(const std::string& folder, const std::string& name);

std::string parent_folder(const std::string& path);  // "a/b.onnx" -> "a", "b.onnx" -> "."
std::string file_name(const std::string& path);      // "a/b.onnx" -> "b.onnx"
std::string file_stem(const std::string& path);      // "a/b.onnx" -> "b"
std::string file_suffix(const std::string& path);    // lower case with the dot: ".onnx"; or ""
std::string join_path(const std::string& folder, const std::string& name);

}  // namespace tenfold
