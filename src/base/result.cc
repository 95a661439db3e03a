#include "base/result.h"

#include <cstdio>
#include <cstdlib>

namespace tenfold {

std::string to_string(const Error& e) {
  std::string s = e.loc.empty() ? "" : e.loc.text + ": ";
  s += e.message + " [" + e.id + "]";
  for (const auto& n : e.notes) s += "\n    " + n;
  return s;
}

std::string to_string(const Errors& es) {
  std::string s;
  for (const auto& e : es) s += to_string(e) + "\n";
  return s;
}

void check_failed(const char* file, int line, const char* cond, const std::string& msg) {
  std::fprintf(stderr, "tenfold: internal error (please report): %s:%d: %s %s\n", file, line, cond,
               msg.c_str());
  std::abort();
}

}  // namespace tenfold
