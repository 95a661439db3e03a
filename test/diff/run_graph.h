// Compiles a graph and runs it, in this process.
#pragma once

#include "driver/compile.h"
#include "driver/session.h"

namespace tenfold::testing {

// A module compiled at one level; every kernel splits over all threads however small it is.
class Compiled {
 public:
  static Result<Compiled> make(const Module& m, int opt_level);
  Result<std::vector<Literal>> run(const std::vector<Literal>& args, int threads) const;
  std::shared_ptr<const rt::Executable> executable() const { return exe_; }

 private:
  std::shared_ptr<const rt::Executable> exe_;
};

// One run on a context of its own; the outputs are copies.
Result<std::vector<Literal>> run_once(const std::shared_ptr<const rt::Executable>& exe,
                                      const std::shared_ptr<rt::ThreadPool>& pool,
                                      const std::vector<Literal>& args);

// Says `what` on standard error if the process dies before the next call.
void announce(const std::string& what);

}  // namespace tenfold::testing
