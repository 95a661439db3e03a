// What the subcommands share: one file each, all listed in main.cc.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "driver/session.h"

namespace tenfold::cli {

// Exit codes: 0 done, 1 the input is at fault, 2 wrong usage.
inline constexpr int kDone = 0, kInputAtFault = 1, kWrongUsage = 2;

// Options that most subcommands take.
struct Common {
  std::string target = "cpu";
  int threads = 0;
  int opt_level = 3;
  bool fast_math = false;
  bool per_shape = false;
  bool json = false;
  bool time_passes = false;
  bool verify = false;
  std::string precision = "f32";
  std::vector<std::string> shapes;  // NAME=1,128
  std::vector<std::string> disabled;
  std::string start_from, stop_after, dump;
  uint64_t seed = 0;

  void add_compile_options(CLI::App* app);
  void add_run_options(CLI::App* app);
  // Checks what the parser could not; throws CLI::ValidationError, which is wrong usage.
  SessionOptions session_options() const;
};

struct InputFlags {
  std::vector<std::string> files;  // NAME=FILE.npy
  std::string npz;
  void add_options(CLI::App* app);
  bool empty() const { return files.empty() && npz.empty(); }
};

// The files of the flags.
Result<std::vector<NamedLiteral>> read_inputs(const InputFlags& flags);

// Opens the model with the inputs of the flags, or with random ones, which is said on stderr.
struct Opened {
  std::shared_ptr<Session> session;
  std::vector<Literal> inputs;
  bool random = false;
};
Result<Opened> open_with_inputs(const std::string& model, const Common& common,
                                const InputFlags& flags);

// Compares outputs with the graph evaluator's and says so; true: they agree.
Result<bool> report_verification(const Session& session, const std::vector<Literal>& inputs,
                                 const std::vector<Literal>& outputs);

// What a subcommand does once its options are read; gives the exit code.
using Action = std::function<Result<int>()>;
// Each adds itself to the program and sets `action` when it is chosen.
using AddCommand = void (*)(CLI::App& program, Action& action);
void add_run(CLI::App&, Action&);
void add_compile(CLI::App&, Action&);
void add_check(CLI::App&, Action&);
void add_bench(CLI::App&, Action&);
void add_profile(CLI::App&, Action&);
void add_simulate(CLI::App&, Action&);
void add_tune(CLI::App&, Action&);
void add_targets(CLI::App&, Action&);
void add_version(CLI::App&, Action&);

// One line a problem, on standard error.
void print_errors(const Errors& errors);
// Pass and stage times of a compilation, on standard error.
void print_pass_times(const Session& session);
// "f32 [1, n, 3]"
std::string type_text(const rt::TensorInfo& t);
std::string dims_text(const std::vector<int64_t>& dims);

// A line on standard error about work that takes longer than two seconds; nothing when that is no
// terminal.
class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();
  void step(int64_t done, int64_t all);  // thread-safe

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tenfold::cli
