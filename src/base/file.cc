// Files on POSIX.
#include "base/file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>

namespace tenfold {
namespace {

// Live mappings, so that pages are only ever dropped from these.
struct Mappings {
  std::mutex mutex;
  std::map<uintptr_t, size_t> sizes;
};
Mappings& mappings() {
  static Mappings m;
  return m;
}

namespace fs = std::filesystem;

std::string reason(int err) { return std::string(std::strerror(err)); }

Error file_error(std::string id, std::string message, const std::string& path) {
  return {std::move(id), std::move(message), Location{path}, {}};
}

struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

// Opens without waiting on a pipe that nobody writes.
Status open_for_read(const std::string& path, Descriptor& d) {
  do {
    d.fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  } while (d.fd < 0 && errno == EINTR);
  if (d.fd >= 0) return ok_status();
  const int err = errno;
  if (err == ENOENT || err == ENOTDIR) {
    return file_error("file-not-found", "found no such file; check the path", path);
  }
  return file_error("file-read", "cannot open: " + reason(err) + "; check its permissions", path);
}

}  // namespace

Result<FileBytes> map_file(const std::string& path) {
  Descriptor d;
  TF_TRY(open_for_read(path, d));
  struct stat st;
  if (::fstat(d.fd, &st) != 0) {
    return file_error("file-read", "cannot read its size: " + reason(errno), path);
  }
  if (!S_ISREG(st.st_mode)) {
    return file_error("file-not-regular",
                      std::string("found ") +
                          (S_ISDIR(st.st_mode) ? "a folder" : "no regular file") +
                          ", wanted a file; check the path",
                      path);
  }
  FileBytes f;
  if (st.st_size == 0) return f;
  const size_t n = static_cast<size_t>(st.st_size);
  void* p = ::mmap(nullptr, n, PROT_READ, MAP_PRIVATE, d.fd, 0);
  if (p == MAP_FAILED) return file_error("file-read", "cannot map: " + reason(errno), path);
  f.bytes = {static_cast<const std::byte*>(p), n};
  Mappings& m = mappings();
  {
    std::lock_guard lock(m.mutex);
    m.sizes[reinterpret_cast<uintptr_t>(p)] = n;
  }
  f.owner = std::shared_ptr<const void>(p, [n](const void* q) {
    Mappings& all = mappings();
    std::lock_guard lock(all.mutex);
    all.sizes.erase(reinterpret_cast<uintptr_t>(q));
    ::munmap(const_cast<void*>(q), n);
  });
  return f;
}

void drop_mapped_pages(const void* p, size_t n) {
  const uintptr_t page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  uintptr_t begin = (reinterpret_cast<uintptr_t>(p) + page - 1) / page * page;
  uintptr_t end = (reinterpret_cast<uintptr_t>(p) + n) / page * page;
  if (end <= begin) return;
  Mappings& m = mappings();
  std::lock_guard lock(m.mutex);
  auto it = m.sizes.upper_bound(begin);
  if (it == m.sizes.begin()) return;
  --it;
  if (end > it->first + it->second) return;
  // Clean pages of a read-only mapping: the file still has them.
  ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

Result<std::string> read_text_file(const std::string& path, size_t limit) {
  Descriptor d;
  TF_TRY(open_for_read(path, d));
  struct stat st;
  if (::fstat(d.fd, &st) == 0 && S_ISDIR(st.st_mode)) {
    return file_error("file-not-regular", "found a folder, wanted a file; check the path", path);
  }
  std::string s;
  char buf[1 << 16];
  while (true) {
    const ssize_t k = ::read(d.fd, buf, sizeof buf);
    if (k < 0 && errno == EINTR) continue;
    if (k < 0) return file_error("file-read", "cannot read: " + reason(errno), path);
    if (k == 0) return s;
    if (s.size() + static_cast<size_t>(k) > limit) {
      return file_error("file-too-large",
                        "found more than " + std::to_string(limit) + " bytes, wanted fewer", path);
    }
    s.append(buf, static_cast<size_t>(k));
  }
}

Result<AtomicFile> AtomicFile::create(const std::string& path) {
  AtomicFile f;
  f.path_ = path;
  f.aside_ = path + ".XXXXXX";
  f.fd_ = ::mkostemp(f.aside_.data(), O_CLOEXEC);
  if (f.fd_ < 0) {
    return file_error(
        "file-write",
        "cannot create: " + reason(errno) + "; check that the folder exists and can be written to",
        path);
  }
  return f;
}

AtomicFile::AtomicFile(AtomicFile&& o) noexcept
    : path_(std::move(o.path_)), aside_(std::move(o.aside_)), fd_(o.fd_) {
  o.fd_ = -1;
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(aside_.c_str());
}

Status AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const size_t want = std::min(bytes.size(), size_t{1} << 30);
    const ssize_t k = ::write(fd_, bytes.data(), want);
    if (k < 0 && errno == EINTR) continue;
    if (k < 0) {
      return file_error("file-write", "cannot write: " + reason(errno) + "; nothing was changed",
                        path_);
    }
    bytes = bytes.subspan(static_cast<size_t>(k));
  }
  return ok_status();
}
Status AtomicFile::write(std::string_view text) {
  return write(std::as_bytes(std::span(text.data(), text.size())));
}

Status AtomicFile::commit() {
  // mkostemp gives 0600; a file made the plain way would have followed the umask.
  const mode_t mask = ::umask(0);
  ::umask(mask);
  const bool mode_ok = ::fchmod(fd_, 0666 & ~mask) == 0;
  // A full disk may show only here.
  const bool ok = mode_ok && ::fsync(fd_) == 0;
  int err = errno;
  const bool closed = ::close(fd_) == 0;
  if (ok && !closed) err = errno;
  fd_ = -1;
  if (ok && closed && ::rename(aside_.c_str(), path_.c_str()) == 0) return ok_status();
  if (ok && closed) err = errno;
  ::unlink(aside_.c_str());
  return file_error("file-write", "cannot write: " + reason(err) + "; nothing was changed", path_);
}

Status write_file(const std::string& path, std::span<const std::byte> bytes) {
  TF_ASSIGN(AtomicFile f, AtomicFile::create(path));
  TF_TRY(f.write(bytes));
  return f.commit();
}
Status write_file(const std::string& path, std::string_view text) {
  return write_file(path, std::as_bytes(std::span(text.data(), text.size())));
}

namespace {
// realpath, or "".
std::string resolved(const std::string& path) {
  char* p = ::realpath(path.c_str(), nullptr);
  std::string s = p ? p : "";
  ::free(p);
  return s;
}
}  // namespace

Result<std::string> resolve_inside(const std::string& folder, const std::string& name) {
  const std::string where = join_path(folder, name);
  if (name.empty() || name[0] == '/' || name.find('\0') != std::string::npos) {
    return file_error("file-outside-folder",
                      "found the path '" + name + "', wanted one relative to the model's folder",
                      folder);
  }
  const std::string root = resolved(folder);
  if (root.empty()) return file_error("file-not-found", "found no such folder", folder);
  // ".." as text is refused as soon as it climbs above the folder, so that whether something
  // exists outside does not show.
  int level = 0;
  for (const auto& part : fs::path(name)) {
    if (part == "..")
      --level;
    else if (part != "." && !part.empty())
      ++level;
    if (level < 0) break;
  }
  const std::string target = level < 0 ? "" : resolved(where);
  if (level >= 0 && target.empty()) {
    return file_error("file-not-found",
                      "found no such file beside the model; put it there under this name", where);
  }
  const std::string prefix = root == "/" ? root : root + "/";
  if (level < 0 || target.compare(0, prefix.size(), prefix) != 0) {
    return file_error("file-outside-folder",
                      "found a path that leads out of the model's folder '" + folder +
                          "'; move the file inside it",
                      where);
  }
  return target;
}

std::string parent_folder(const std::string& path) {
  const std::string p = fs::path(path).parent_path().string();
  return p.empty() ? "." : p;
}
std::string file_name(const std::string& path) { return fs::path(path).filename().string(); }
std::string file_stem(const std::string& path) { return fs::path(path).stem().string(); }
std::string file_suffix(const std::string& path) {
  std::string s = fs::path(path).extension().string();
  for (char& c : s) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return s;
}
std::string join_path(const std::string& folder, const std::string& name) {
  return (fs::path(folder) / name).string();
}

}  // namespace tenfold
