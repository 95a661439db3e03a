// Reads a StableHLO text file, verifies it, prints it, evaluates it: the graph level alone, for
// tests and for looking at dumps.
//
//   graph_tool print FILE.mlir                      the module, on standard output
//   graph_tool check FILE.mlir                      nothing, or the problems
//   graph_tool eval FILE.mlir OUTDIR IN0.npy ...    OUTDIR/0.npy ...
#include <cstdio>
#include <fstream>
#include <iterator>

#include "array/npy.h"
#include "graph/evaluator.h"
#include "graph/text.h"

namespace {

using namespace tenfold;

std::optional<std::string> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

int fail(const Errors& es) {
  std::fputs(to_string(es).c_str(), stderr);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 2 ? argv[1] : "";
  if ((mode != "print" && mode != "check" && mode != "eval") || (mode == "eval" && argc < 4)) {
    std::fputs("usage: graph_tool print|check|eval FILE.mlir [OUTDIR IN.npy ...]\n", stderr);
    return 2;
  }
  const auto text = read_file(argv[2]);
  if (!text) {
    std::fprintf(stderr, "%s: cannot be read\n", argv[2]);
    return 1;
  }
  auto module = parse_stablehlo(*text, argv[2]);
  if (!module.ok()) return fail(module.errors());
  if (mode == "print") std::fputs(print(**module).c_str(), stdout);
  if (mode != "eval") return 0;
  const Function& f = *(*module)->main();
  std::vector<Literal> args;
  for (int i = 4; i < argc; ++i) {
    std::optional<DType> want;
    const size_t k = static_cast<size_t>(i) - 4;
    if (k < f.body.args.size()) want = f.body.args[k]->type.dtype;
    auto l = read_npy_file(argv[i], want);
    if (!l.ok()) return fail(l.errors());
    args.push_back(*l);
  }
  auto results = evaluate(**module, f, args);
  if (!results.ok()) return fail(results.errors());
  for (size_t i = 0; i < results->size(); ++i) {
    const auto s =
        write_npy_file(std::string(argv[3]) + "/" + std::to_string(i) + ".npy", (*results)[i]);
    if (!s.ok()) return fail(s.errors());
  }
  return 0;
}
