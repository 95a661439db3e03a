// tenfold profile: where the time of a run goes, per kernel and per node of the model.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/text.h"
#include "command.h"
#include "driver/peak.h"

namespace tenfold::cli {
namespace {

struct Profile {
  Common common;
  InputFlags inputs;
  std::string model, output_dir;
  int rounds = 10;
};

// Of one run: the best of all rounds, kernel call by kernel call.
struct Row {
  std::string name;
  std::vector<std::string> origins;
  int64_t calls = 0;
  double ns = 0, flops = 0, bytes = 0;
  int threads = 1;
};

std::string dump(const nlohmann::json& j) {
  return j.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

nlohmann::json row_json(const Row& r, double peak) {
  double gflops = r.ns > 0 ? r.flops / r.ns : 0;
  return {{"name", r.name},
          {"origins", r.origins},
          {"calls", r.calls},
          {"microseconds", r.ns / 1e3},
          {"flops", r.flops},
          {"bytes", r.bytes},
          {"gflops_per_s", gflops},
          {"gbytes_per_s", r.ns > 0 ? r.bytes / r.ns : 0},
          {"flops_per_byte", r.bytes > 0 ? r.flops / r.bytes : 0},
          {"share_of_peak", peak > 0 ? gflops / peak : 0},
          {"threads", r.threads}};
}

Result<int> run(const Profile& c) {
  TF_ASSIGN(Opened o, open_with_inputs(c.model, c.common, c.inputs));
  Session& s = *o.session;
  std::vector<rt::TensorView> views = views_of(o.inputs);
  TF_ASSIGN(Session::Lease context, s.context_for(views));
  std::vector<rt::KernelTime> calls;
  for (int r = 0; r <= c.rounds; ++r) {  // the first warms up
    std::vector<rt::KernelTime> now;
    context->profile = &now;
    TF_TRY(context->run(views));
    // The same inputs make the same calls.
    if (r < 2 || now.size() != calls.size()) calls = now;
    for (size_t i = 0; i < calls.size(); ++i)
      calls[i].nanoseconds = std::min(calls[i].nanoseconds, now[i].nanoseconds);
  }
  context->profile = nullptr;

  const rt::Program& p = context->executable().program();
  std::vector<Row> kernels(p.kernels.size());
  double total = 0;
  for (size_t k = 0; k < kernels.size(); ++k) {
    kernels[k].name = p.kernels[k].name;
    kernels[k].origins = p.kernels[k].origins;
  }
  nlohmann::json events = nlohmann::json::array();
  for (const auto& call : calls) {
    Row& r = kernels[static_cast<size_t>(call.kernel)];
    ++r.calls;
    r.ns += static_cast<double>(call.nanoseconds);
    r.flops += call.flops;
    r.bytes += call.bytes;
    r.threads = std::max(r.threads, call.threads);
    events.push_back({{"name", r.name},
                      {"ph", "X"},
                      {"ts", total / 1e3},
                      {"dur", static_cast<double>(call.nanoseconds) / 1e3},
                      {"pid", 1},
                      {"tid", 1},
                      {"args", {{"nodes", r.origins}, {"flops", call.flops}}}});
    total += static_cast<double>(call.nanoseconds);
  }
  std::erase_if(kernels, [](const Row& r) { return r.calls == 0; });
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const Row& a, const Row& b) { return a.ns > b.ns; });
  // A kernel that stands for several nodes gives each an equal part.
  std::map<std::string, Row> by_node;
  for (const Row& r : kernels) {
    for (const auto& origin : r.origins) {
      Row& node = by_node[origin];
      double part = 1.0 / static_cast<double>(r.origins.size());
      node.name = origin;
      node.origins.push_back(r.name);
      node.calls += r.calls;
      node.ns += r.ns * part;
      node.flops += r.flops * part;
      node.bytes += r.bytes * part;
      node.threads = std::max(node.threads, r.threads);
    }
  }
  double peak = peak_gflops(s.threads());
  nlohmann::json j;
  j["model"] = c.model;
  j["target"] = p.target;
  j["threads"] = s.threads();
  j["microseconds"] = total / 1e3;
  j["peak_gflops"] = peak;
  j["kernels"] = nlohmann::json::array();
  for (const Row& r : kernels) j["kernels"].push_back(row_json(r, peak));
  j["nodes"] = nlohmann::json::array();
  for (const auto& [name, r] : by_node) {
    nlohmann::json n = row_json(r, peak);
    n["kernels"] = n["origins"];
    n.erase("origins");
    j["nodes"].push_back(n);
  }
  if (!c.output_dir.empty()) {
    std::error_code ec;
    std::filesystem::create_directories(c.output_dir, ec);
    if (ec)
      return Error{"file-write", "cannot make the folder: " + ec.message(), {c.output_dir}, {}};
    TF_TRY(write_file(join_path(c.output_dir, "profile.json"), dump(j)));
    TF_TRY(write_file(join_path(c.output_dir, "trace.json"),
                      dump({{"traceEvents", events}, {"displayTimeUnit", "ns"}})));
  }
  if (c.common.json) {
    std::printf("%s", dump(j).c_str());
    return kDone;
  }
  std::printf("%s on %s, %d thread%s: %.3f ms in %zu kernels, best of %d runs\n", c.model.c_str(),
              p.target.c_str(), s.threads(), s.threads() == 1 ? "" : "s", total / 1e6,
              kernels.size(), c.rounds);
  std::printf("%7s %6s %10s %6s %8s %8s %6s  %s\n", "time", "calls", "us", "thr", "GFLOP/s", "GB/s",
              "peak", "kernel (nodes)");
  for (const Row& r : kernels) {
    std::string nodes = join(r.origins, ", ");
    if (nodes.size() > 60) nodes = nodes.substr(0, 57) + "...";
    double gflops = r.ns > 0 ? r.flops / r.ns : 0;
    std::printf("%6.1f%% %6lld %10.2f %6d %8.2f %8.2f %5.1f%%  %s (%s)\n",
                total > 0 ? 100 * r.ns / total : 0, static_cast<long long>(r.calls), r.ns / 1e3,
                r.threads, gflops, r.ns > 0 ? r.bytes / r.ns : 0, 100 * gflops / peak,
                r.name.c_str(), nodes.c_str());
  }
  return kDone;
}

}  // namespace

void add_profile(CLI::App& program, Action& action) {
  auto c = std::make_shared<Profile>();
  CLI::App* sub = program.add_subcommand("profile", "Where the time of a run goes");
  sub->add_option("MODEL", c->model, "Model (.onnx, .mlir) or artifact (.tenfold, .so)")
      ->required();
  c->inputs.add_options(sub);
  sub->add_option("-o,--output-dir", c->output_dir,
                  "Write profile.json, and trace.json for Perfetto, to this folder");
  sub->add_option("--rounds", c->rounds, "Runs to take the best of")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  sub->add_flag("--json", c->common.json, "One JSON object on standard output");
  c->common.add_compile_options(sub);
  c->common.add_run_options(sub);
  sub->callback([c, &action] { action = [c] { return run(*c); }; });
}

}  // namespace tenfold::cli
