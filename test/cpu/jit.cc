#include "jit.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

namespace tenfold {

int64_t eval_size(const loop::Expr& e, const std::vector<loop::Var>& symbols,
                  const std::vector<int64_t>& values) {
  loop::Substitution s;
  for (size_t i = 0; i < symbols.size(); ++i) s.push_back({symbols[i], loop::int_const(values[i])});
  int64_t v = -1;
  TF_CHECK(loop::is_const(loop::substitute(e, s), &v), loop::print(e));
  return v;
}

std::string Jit::build(const std::vector<loop::Kernel>& kernels, const std::string& target,
                       CodegenOptions options) {
  auto t = backend_cpu.parse_target(target);
  if (!t.ok()) return to_string(t.errors());
  auto c = backend_cpu.compile(kernels, *t, options);
  if (!c.ok()) return to_string(c.errors());
  code = std::move(*c);
  std::vector<std::string> exports;
  for (const auto& k : code.kernels) {
    exports.insert(exports.end(), k.phase_symbols.begin(), k.phase_symbols.end());
  }
  auto so = backend_cpu.link_shared(code.object, *t, exports);
  if (!so.ok()) return to_string(so.errors());
  const int fd = memfd_create("jit", 0);
  if (fd < 0 || write(fd, so->data(), so->size()) != static_cast<ssize_t>(so->size())) {
    return "memfd";
  }
  handle_ = dlopen(("/proc/self/fd/" + std::to_string(fd)).c_str(), RTLD_NOW | RTLD_LOCAL);
  close(fd);
  if (!handle_) return dlerror();
  for (const loop::Kernel& k : kernels) symbols_.push_back(k.symbols);
  return "";
}

Jit::~Jit() {
  if (handle_) dlclose(handle_);
}

Jit::Phase Jit::phase(size_t k, size_t i) const {
  return reinterpret_cast<Phase>(dlsym(handle_, code.kernels[k].phase_symbols[i].c_str()));
}

void Jit::run(size_t k, const std::vector<void*>& buffers, const std::vector<int64_t>& symbols,
              int pieces) const {
  const auto& kc = code.kernels[k];
  for (size_t p = 0; p < kc.phase_symbols.size(); ++p) {
    const int64_t bytes = eval_size(kc.workspace_bytes[p], symbols_[k], symbols);
    const int64_t n = eval_size(kc.extents[p], symbols_[k], symbols);
    void* ws = bytes > 0 ? aligned_alloc(64, static_cast<size_t>((bytes + 63) / 64 * 64)) : nullptr;
    const int64_t step = std::max<int64_t>(1, (n + pieces - 1) / pieces);
    for (int64_t b = 0; b < n; b += step) {
      phase(k, p)(buffers.data(), symbols.data(), b, std::min(n, b + step), ws);
    }
    free(ws);
  }
}

void Jit::run(size_t k, const std::vector<Literal*>& buffers, const std::vector<int64_t>& symbols,
              int pieces) const {
  // Literals need not be aligned as the runtime's buffers are.
  std::vector<void*> raw;
  for (Literal* l : buffers) {
    const size_t n = std::max<size_t>(64, (l->byte_count() + 63) / 64 * 64);
    raw.push_back(aligned_alloc(64, n));
    memcpy(raw.back(), l->bytes(), l->byte_count());
  }
  run(k, raw, symbols, pieces);
  for (size_t i = 0; i < buffers.size(); ++i) {
    memcpy(buffers[i]->mutable_bytes(), raw[i], buffers[i]->byte_count());
    free(raw[i]);
  }
}

}  // namespace tenfold
