#include "support/paths.h"

#include <cstdlib>

namespace tenfold::testing {

namespace fs = std::filesystem;

namespace {

// build/<preset>/test/<label>_tests
fs::path build_dir() {
  if (const char* env = std::getenv("TENFOLD_BUILD")) return env;
  return fs::read_symlink("/proc/self/exe").parent_path().parent_path();
}

}  // namespace

fs::path source_dir() {
  if (const char* env = std::getenv("TENFOLD_SOURCE")) return env;
  return build_dir().parent_path().parent_path();
}

fs::path test_dir() { return source_dir() / "test"; }

fs::path bin_dir() { return build_dir() / "bin"; }

}  // namespace tenfold::testing
