// Options, messages and progress that the subcommands share.
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <regex>
#include <thread>

#include "base/text.h"
#include "command.h"
#include "graph/pass.h"

namespace tenfold::cli {
namespace {

// "x=1,128" -> ("x", {1, 128}); ? and * leave a dimension open.
std::pair<std::string, std::vector<int64_t>> parse_shape(const std::string& text) {
  auto wrong = [&](const std::string& why) {
    return CLI::ValidationError("--shape", "found `" + text + "`, " + why +
                                               "; wanted NAME=1,128 with one number a dimension");
  };
  size_t eq = text.rfind('=');
  if (eq == std::string::npos || eq == 0) throw wrong("which names no input");
  std::vector<int64_t> dims;
  std::string list = text.substr(eq + 1);
  for (std::string_view part : split(list, ',')) {
    part = trim(part);
    if (list.empty()) break;  // a scalar
    if (part == "?" || part == "*" || part == "-1") {
      dims.push_back(-1);
      continue;
    }
    int64_t v = 0;
    auto [end, ec] = std::from_chars(part.data(), part.data() + part.size(), v);
    if (ec != std::errc() || end != part.data() + part.size() || v < 0)
      throw wrong("where `" + std::string(part) + "` is no size");
    dims.push_back(v);
  }
  return {text.substr(0, eq), dims};
}

void check_pass(const std::string& option, const std::string& name) {
  if (find_graph_pass(name)) return;
  std::vector<std::string> known;
  for (const GraphPass* p : all_graph_passes()) known.emplace_back(p->name);
  throw CLI::ValidationError(option,
                             "no pass is called `" + name + "`; there are " + join(known, ", "));
}

void check_place(const std::string& option, const std::string& name, int level) {
  if (name.empty() || place_of_pass(name, level) > 0) return;
  throw CLI::ValidationError(option, "-O" + std::to_string(level) + " has no pass `" + name +
                                         "`; it has " + join(pipeline(level), ", "));
}

}  // namespace

void Common::add_compile_options(CLI::App* app) {
  app->add_option("--target", target,
                  "What to make code for: cpu (this machine), cpu:skylake-avx512, cpu:cortex-a72, "
                  "... (see `tenfold targets`)")
      ->capture_default_str();
  app->add_option("-O", opt_level, "Optimisation level, 0 to 3")
      ->check(CLI::Range(0, 3))
      ->capture_default_str();
  app->add_option("--shape", shapes,
                  "Fixed size of an input, NAME=1,128 (? leaves a dimension open); may be repeated")
      ->allow_extra_args(false);
  app->add_flag("--fast-math", fast_math, "Let float arithmetic be reordered and contracted");
  app->add_option("--dump", dump,
                  "Write the model after each pass and every kernel to a folder, DIR[:REGEX]")
      ->envname("TENFOLD_DUMP");
  app->add_option(
      "--start-from", start_from,
      "Begin the graph passes with this one, or with a dump's number (07-sink_reshapes): "
      "the model is what --dump wrote before it");
  app->add_option("--stop-after", stop_after,
                  "End the graph passes after this one, or after a dump's number");
  app->add_option("--disable-pass", disabled, "Leave a graph pass out; may be repeated")
      ->allow_extra_args(false);
  app->add_option("--precision", precision, "Storage of f32 weights; this build has f32 alone")
      ->check(CLI::IsMember({"f32"}))
      ->capture_default_str();
  app->add_flag("--time-passes", time_passes, "Say on standard error how long each pass took");
}

void Common::add_run_options(CLI::App* app) {
  app->add_option("--threads", threads, "Threads to run with; 0: one for each core")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  app->add_flag("--verify", verify,
                "Compare with the graph evaluator and name the first node that differs");
  app->add_option("--seed", seed, "Of the random inputs")->capture_default_str();
  app->add_flag("--per-shape", per_shape,
                "Compile anew for each set of input shapes instead of once for all");
}

SessionOptions Common::session_options() const {
  SessionOptions o;
  o.threads = threads;
  o.per_shape = per_shape;
  o.compile.target = target;
  o.compile.compile_threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  PipelineOptions& p = o.compile.pipeline;
  p.opt_level = opt_level;
  p.fast_math = fast_math;
  p.disabled = disabled;
  p.start_from = start_from;
  p.stop_after = stop_after;
  for (const auto& d : disabled) {
    check_pass("--disable-pass", d);
    if (needed_pass(d)) throw CLI::ValidationError("--disable-pass", d + " is needed by lowering");
  }
  check_place("--start-from", start_from, opt_level);
  check_place("--stop-after", stop_after, opt_level);
  if (!dump.empty()) {
    size_t colon = dump.find(':');
    p.dump_dir = dump.substr(0, colon);
    if (colon != std::string::npos) p.dump_filter = dump.substr(colon + 1);
    try {
      std::regex filter(p.dump_filter);
    } catch (const std::regex_error& e) {
      throw CLI::ValidationError("--dump",
                                 "`" + p.dump_filter + "` is no regular expression: " + e.what());
    }
    std::error_code ec;
    std::filesystem::create_directories(p.dump_dir, ec);
    if (ec) throw CLI::ValidationError("--dump", "cannot make " + p.dump_dir + ": " + ec.message());
  }
  for (const auto& s : shapes) {
    auto [name, dims] = parse_shape(s);
    if (!o.compile.shapes.emplace(name, dims).second)
      throw CLI::ValidationError("--shape", "`" + name + "` is given twice");
  }
  return o;
}

void print_errors(const Errors& errors) {
  for (const Error& e : errors) std::fprintf(stderr, "%s\n", to_string(e).c_str());
}

void print_pass_times(const Session& session) {
  const CompiledModel* m = session.compiled();
  if (!m) return;
  for (const auto& p : m->report.passes)
    std::fprintf(stderr, "%9.3f ms  pass %s%s\n", p.seconds * 1e3, p.name.c_str(),
                 p.changed ? "" : " (no change)");
  for (const auto& s : m->stages)
    std::fprintf(stderr, "%9.3f ms  stage %s\n", s.seconds * 1e3, s.name.c_str());
}

std::string dims_text(const std::vector<int64_t>& dims) {
  std::string s = "[";
  for (size_t i = 0; i < dims.size(); ++i) s += (i ? ", " : "") + std::to_string(dims[i]);
  return s + "]";
}

std::string type_text(const rt::TensorInfo& t) {
  return std::string(name(t.dtype)) + " [" + join(t.dim_names, ", ") + "]";
}

struct Progress::State {
  std::string what;
  std::mutex mutex;
  std::condition_variable wake;
  bool done = false;
  int64_t part = 0, all = 0;
  std::thread thread;
};

Progress::Progress(std::string what) {
  if (!::isatty(STDERR_FILENO)) return;
  state_ = std::make_unique<State>();
  state_->what = std::move(what);
  state_->thread = std::thread([s = state_.get()] {
    auto start = std::chrono::steady_clock::now();
    std::unique_lock lock(s->mutex);
    if (s->wake.wait_for(lock, std::chrono::seconds(2), [&] { return s->done; })) return;
    constexpr int kWidth = 24;
    do {
      double seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      std::string bar;
      if (s->all > 0) {
        int64_t n = kWidth * s->part / s->all;
        bar = " [" + std::string(static_cast<size_t>(n), '#') +
              std::string(static_cast<size_t>(kWidth - n), '.') + "] " + std::to_string(s->part) +
              "/" + std::to_string(s->all);
      }
      std::fprintf(stderr, "\r%s%s  %.0f s ", s->what.c_str(), bar.c_str(), seconds);
      std::fflush(stderr);
    } while (!s->wake.wait_for(lock, std::chrono::milliseconds(200), [&] { return s->done; }));
    std::fprintf(stderr, "\r\033[K");
  });
}

Progress::~Progress() {
  if (!state_) return;
  {
    std::lock_guard lock(state_->mutex);
    state_->done = true;
  }
  state_->wake.notify_all();
  state_->thread.join();
}

void Progress::step(int64_t done, int64_t all) {
  if (!state_) return;
  std::lock_guard lock(state_->mutex);
  state_->part = done;
  state_->all = all;
}

}  // namespace tenfold::cli
