// See run_graph.h.
#include "run_graph.h"

#include <csignal>
#include <cstring>
#include <map>

#include <unistd.h>

namespace tenfold::testing {
namespace {

char announced[4096];

void last_words(int signal) {
  [[maybe_unused]] ssize_t n = write(2, announced, std::strlen(announced));
  std::signal(signal, SIG_DFL);
  raise(signal);
}

}  // namespace

void announce(const std::string& what) {
  static const bool installed = [] {
    for (int s : {SIGABRT, SIGSEGV, SIGFPE, SIGBUS, SIGILL}) std::signal(s, last_words);
    return true;
  }();
  (void)installed;
  std::snprintf(announced, sizeof announced, "died at: %s\n", what.c_str());
}

Result<Compiled> Compiled::make(const Module& m, int opt_level) {
  std::unique_ptr<Module> copy = m.clone();
  CompileOptions options;
  options.pipeline.opt_level = opt_level;
  options.pipeline.verify_each = true;
  options.compile_threads = 1;
  TF_ASSIGN(CompiledModel c, compile(*copy, options));
  for (rt::KernelInfo& k : c.program.kernels) {
    for (rt::Phase& p : k.phases) {
      p.cost.steps = {{rt::SizeExpr::Op::Const, int64_t{1} << 40}};
    }
  }
  Compiled r;
  TF_ASSIGN(r.exe_, make_executable(c));
  return r;
}

Result<std::vector<Literal>> run_once(const std::shared_ptr<const rt::Executable>& exe,
                                      const std::shared_ptr<rt::ThreadPool>& pool,
                                      const std::vector<Literal>& args) {
  rt::Context context(exe, pool);
  std::vector<rt::TensorView> views;
  for (const Literal& l : args) views.push_back(view_of(l));
  TF_TRY(context.run(views));
  std::vector<Literal> out;
  for (const rt::TensorView& v : context.outputs()) {
    Literal l(v.dtype, v.dims);
    if (l.byte_count()) std::memcpy(l.mutable_bytes(), v.data, l.byte_count());
    out.push_back(std::move(l));
  }
  return out;
}

Result<std::vector<Literal>> Compiled::run(const std::vector<Literal>& args, int threads) const {
  static std::map<int, std::shared_ptr<rt::ThreadPool>> pools;
  auto& pool = pools[threads];
  if (!pool) pool = std::make_shared<rt::ThreadPool>(threads);
  return run_once(exe_, pool, args);
}

}  // namespace tenfold::testing
