// tenfold bench: how long a model takes to compile and to run, and what share of the machine that
// is.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "command.h"
#include "driver/peak.h"

namespace tenfold::cli {
namespace {

struct Bench {
  Common common;
  InputFlags inputs;
  std::string model;
  int rounds = 0;
};

double peak_rss_mib() {
  auto text = read_text_file("/proc/self/status", 1 << 20);
  if (!text.ok()) return 0;
  size_t at = text->find("VmHWM:");
  if (at == std::string::npos) return 0;
  return std::strtod(text->c_str() + at + 6, nullptr) / 1024;
}

Result<int> run(const Bench& c) {
  TF_ASSIGN(Opened o, open_with_inputs(c.model, c.common, c.inputs));
  Session& s = *o.session;
  bool right = true;
  if (c.common.verify) {
    TF_ASSIGN(auto outputs, s.run(o.inputs));
    TF_ASSIGN(right, report_verification(s, o.inputs, outputs));
  }
  int code = right ? kDone : kInputAtFault;
  std::vector<rt::TensorView> views = views_of(o.inputs);
  TF_ASSIGN(Session::Lease context, s.context_for(views));
  auto once = [&]() -> Result<double> {
    auto start = std::chrono::steady_clock::now();
    TF_TRY(context->run(views));
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
        .count();
  };
  std::vector<rt::KernelTime> kernels;
  context->profile = &kernels;
  TF_ASSIGN(double first_ms, once());
  context->profile = nullptr;
  double flops = 0;
  for (const auto& k : kernels) flops += k.flops;

  std::vector<double> times;
  {
    Progress progress("running " + file_name(c.model));
    double spent = 0;
    constexpr double kEnoughMs = 1000;
    constexpr size_t kFewest = 5, kMost = 10000;
    while (c.rounds > 0 ? times.size() < static_cast<size_t>(c.rounds)
                        : times.size() < kFewest || (spent < kEnoughMs && times.size() < kMost)) {
      TF_ASSIGN(double ms, once());
      times.push_back(ms);
      spent += ms;
      if (c.rounds > 0) progress.step(static_cast<int64_t>(times.size()), c.rounds);
    }
  }
  double peak_rss = peak_rss_mib();
  std::sort(times.begin(), times.end());
  size_t n = times.size();
  double median = n % 2 ? times[n / 2] : (times[n / 2 - 1] + times[n / 2]) / 2;
  double gflop = flops / 1e9;
  double share = gflop / (times[0] / 1e3) / peak_gflops(s.threads());

  if (c.common.json) {
    nlohmann::json j;
    j["model"] = c.model;
    j["target"] = s.program().target;
    j["threads"] = s.threads();
    j["compile_s"] = s.compile_seconds();
    j["first_ms"] = first_ms;
    j["min_ms"] = times[0];
    j["median_ms"] = median;
    j["rounds"] = n;
    j["peak_rss_mib"] = peak_rss;
    j["arena_mib"] = static_cast<double>(context->arena_bytes()) / (1 << 20);
    j["gflop"] = gflop;
    j["share_of_peak"] = share;
    j["peak_gflops"] = peak_gflops(s.threads());
    j["kernels"] = context->executable().program().kernels.size();
    j["kernels_tuned"] = 0;
    j["recompilations"] = s.recompilations().size();
    j["recompilation_causes"] = s.recompilations();
    std::printf("%s\n", j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
    return code;
  }
  std::printf("%s on %s, %d thread%s\n", c.model.c_str(), s.program().target.c_str(), s.threads(),
              s.threads() == 1 ? "" : "s");
  std::printf("  compile        %10.3f s\n", s.compile_seconds());
  std::printf("  first run      %10.3f ms\n", first_ms);
  std::printf("  minimum        %10.3f ms  of %zu\n", times[0], n);
  std::printf("  median         %10.3f ms\n", median);
  std::printf("  work           %10.3f GFLOP in %zu kernels\n", gflop,
              context->executable().program().kernels.size());
  std::printf("  share of peak  %10.1f %%   of %.1f GFLOP/s measured\n", share * 100,
              peak_gflops(s.threads()));
  std::printf("  peak memory    %10.1f MiB\n", peak_rss);
  return code;
}

}  // namespace

void add_bench(CLI::App& program, Action& action) {
  auto c = std::make_shared<Bench>();
  CLI::App* sub = program.add_subcommand("bench", "Measure a model");
  sub->add_option("MODEL", c->model, "Model (.onnx, .mlir) or artifact (.tenfold, .so)")
      ->required();
  c->inputs.add_options(sub);
  sub->add_option("--rounds", c->rounds, "Timed calls after one warm-up; 0: about a second of them")
      ->check(CLI::NonNegativeNumber);
  sub->add_flag("--json", c->common.json, "One JSON object on standard output");
  c->common.add_compile_options(sub);
  c->common.add_run_options(sub);
  sub->callback([c, &action] { action = [c] { return run(*c); }; });
}

}  // namespace tenfold::cli
