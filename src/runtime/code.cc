// Loading compiled code: a shared object from memory (through an anonymous file) or from disk.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "runtime/executor.h"

namespace tenfold::rt {
namespace {

Error load_error(const std::string& what) {
  return Error{"code-load", "the compiled code cannot be loaded: " + what, {}, {}};
}

// The loader takes a name that it has loaded before for the same library, and descriptors are used
// again. So each load spells its path in a way of its own: a counter's bits as "/." and "/".
std::string unique_path(int fd) {
  static std::atomic<uint64_t> counter{0};
  std::string path = "/proc/self/fd";
  for (uint64_t n = ++counter; n; n >>= 1) path += n & 1 ? "/." : "/";
  return path + "/" + std::to_string(fd);
}

}  // namespace

Result<std::shared_ptr<Code>> Code::from_file(const std::string& path) {
  auto code = std::make_shared<Code>();
  code->handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!code->handle_) {
    const char* why = dlerror();
    return load_error(why ? why : path);
  }
  return code;
}

Result<std::shared_ptr<Code>> Code::from_bytes(std::string_view shared_object) {
  int fd = memfd_create("tenfold-code", MFD_CLOEXEC);
  if (fd < 0) return load_error(std::strerror(errno));
  for (size_t done = 0; done < shared_object.size();) {
    ssize_t n = write(fd, shared_object.data() + done, shared_object.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      int e = errno;
      close(fd);
      return load_error(std::strerror(e));
    }
    done += static_cast<size_t>(n);
  }
  auto code = from_file(unique_path(fd));
  close(fd);
  return code;
}

Code::~Code() {
  if (handle_) dlclose(handle_);
}

std::shared_ptr<Code> Code::from_table(std::unordered_map<std::string, void*> functions) {
  auto code = std::make_shared<Code>();
  code->table_ = std::move(functions);
  return code;
}

void* Code::find(const std::string& symbol) const {
  if (handle_) return dlsym(handle_, symbol.c_str());
  auto it = table_.find(symbol);
  return it == table_.end() ? nullptr : it->second;
}

}  // namespace tenfold::rt
