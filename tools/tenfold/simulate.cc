// tenfold simulate: a model on a simulated chip, and where its cycles went.
#include "driver/simulate.h"

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "array/npy.h"
#include "base/file.h"
#include "base/text.h"
#include "command.h"

namespace tenfold::cli {
namespace {

struct Simulate {
  Common common;
  InputFlags inputs;
  std::string model, output_dir, mode = "", precision = "bf16";
  uint64_t max_cycles = uint64_t{1} << 40;
  bool timing_only = false, code = false, no_advice = false;
};

nlohmann::json to_json(const Simulation& s, const Simulate& c) {
  nlohmann::json j;
  j["model"] = c.model;
  j["target"] = c.common.target;
  j["precision"] = c.precision;
  j["chip"] = s.chip;
  j["clock_mhz"] = s.clock_mhz;
  j["cycles"] = s.cycles;
  j["microseconds"] = s.microseconds;
  j["mxu_utilization"] = s.mxu_utilization;
  j["mxu_useful_share"] = s.mxu_useful_share;
  j["hbm_bytes"] = s.hbm_bytes;
  j["hbm_bandwidth_share"] = s.hbm_bandwidth_share;
  j["hbm_peak_bytes"] = s.hbm_peak_bytes;
  j["onchip_peak_bytes"] = s.onchip_peak_bytes;
  j["cpu_seconds"] = s.cpu_seconds;
  j["compile_s"] = s.compile_seconds;
  j["simulated_bundles"] = s.simulated_bundles;
  j["units"] = s.units;
  j["nodes"] = nlohmann::json::array();
  j["host_ops"] = nlohmann::json::array();
  for (const auto& n : s.nodes) {
    j["nodes"].push_back({{"name", n.name},
                          {"op", n.op},
                          {"cycles", n.cycles},
                          {"flops", n.flops},
                          {"hbm_bytes", n.hbm_bytes},
                          {"bound_by", n.bound_by},
                          {"padding", n.padding},
                          {"padded", n.padded},
                          {"mxu_utilization", n.mxu_utilization},
                          {"mxu_useful_share", n.mxu_useful_share},
                          {"intensity", n.intensity},
                          {"roofline_share", n.roofline_share}});
    if (!n.host_reason.empty())
      j["host_ops"].push_back({{"name", n.name}, {"op", n.op}, {"reason", n.host_reason}});
  }
  j["advice"] = nlohmann::json::array();
  for (const auto& a : s.advice)
    j["advice"].push_back({{"text", a.text}, {"gain", a.gain}, {"simulated", a.simulated}});
  j["outputs"] = nlohmann::json::array();
  for (const auto& o : s.outputs)
    j["outputs"].push_back({{"name", o.name},
                            {"dtype", name(o.value.dtype())},
                            {"shape", o.value.dims()},
                            {"sha256", o.value.sha256()}});
  return j;
}

std::string amount(double v) {
  char text[32];
  const char* unit = "";
  for (const char* u : {"k", "M", "G", "T"}) {
    if (v < 10000) break;
    v /= 1000;
    unit = u;
  }
  std::snprintf(text, sizeof text, v < 100 && *unit ? "%.1f%s" : "%.0f%s", v, unit);
  return text;
}

void print_report(const Simulation& s) {
  std::printf("%s: %.3f us, %llu cycles at %.0f MHz\n", s.chip.c_str(), s.microseconds,
              static_cast<unsigned long long>(s.cycles), s.clock_mhz);
  std::printf(
      "matrix units: %.1f %% of their peak, %.1f %% of that useful; HBM: %s bytes, %.1f %% of its "
      "bandwidth\n",
      100 * s.mxu_utilization, 100 * s.mxu_useful_share,
      amount(static_cast<double>(s.hbm_bytes)).c_str(), 100 * s.hbm_bandwidth_share);
  std::printf("memory at the peak: HBM %.1f MiB, on the chip %.2f MiB\n\n",
              static_cast<double>(s.hbm_peak_bytes) / (1 << 20),
              static_cast<double>(s.onchip_peak_bytes) / (1 << 20));
  std::printf("%-36s %-24s %10s %6s %8s %8s %7s %8s %7s  %s\n", "node", "op", "cycles", "share",
              "flops", "hbm B", "mxu %", "flops/B", "roof %", "bound by");
  for (const auto& n : s.nodes) {
    const double share =
        s.cycles ? 100 * static_cast<double>(n.cycles) / static_cast<double>(s.cycles) : 0;
    std::printf("%-36.36s %-24.24s %10llu %5.1f%% %8s %8s %7.1f %8.1f %7.1f  %s", n.name.c_str(),
                n.op.c_str(), static_cast<unsigned long long>(n.cycles), share,
                amount(n.flops).c_str(), amount(static_cast<double>(n.hbm_bytes)).c_str(),
                100 * n.mxu_utilization, n.intensity, 100 * n.roofline_share, n.bound_by.c_str());
    if (n.padding >= 1.5) std::printf(", `%s` padded %.1fx", n.padded.c_str(), n.padding);
    if (!n.host_reason.empty()) std::printf(": %s", n.host_reason.c_str());
    std::printf("\n");
  }
  std::printf("\n%-8s", "unit");
  const char* kCauses[] = {"compute",    "weight_load", "weight_shift", "memory", "onchip_port",
                           "dependency", "issue",       "sync",         "idle"};
  for (const char* c : kCauses) std::printf(" %12s", c);
  std::printf("   (%% of the cycles)\n");
  for (const char* u :
       {"mxu", "valu", "eup", "xlu", "vload", "vstore", "scalar", "dma", "ici", "host"}) {
    auto it = s.units.find(u);
    if (it == s.units.end()) continue;
    std::printf("%-8s", u);
    for (const char* c : kCauses) {
      auto v = it->second.find(c);
      std::printf(" %12.1f",
                  v == it->second.end() || !s.cycles
                      ? 0.0
                      : 100 * static_cast<double>(v->second) / static_cast<double>(s.cycles));
    }
    std::printf("\n");
  }
  if (!s.advice.empty()) std::printf("\nwhat would help most:\n");
  for (const auto& a : s.advice)
    std::printf("  %.2fx %s: %s\n", a.gain, a.simulated ? "(simulated)" : "(estimated)",
                a.text.c_str());
  for (const auto& o : s.outputs)
    std::printf("\n%s: %s %s  sha256 %s", o.name.c_str(),
                std::string(name(o.value.dtype())).c_str(), dims_text(o.value.dims()).c_str(),
                o.value.sha256().substr(0, 16).c_str());
  std::printf("%scompiled in %.3f s, simulated in %.3f s of CPU time\n",
              s.outputs.empty() ? "\n" : "\n\n", s.compile_seconds, s.cpu_seconds);
}

Result<int> run(Simulate c) {
  SimulateOptions o;
  o.compile = c.common.session_options().compile;
  o.precision = c.precision;
  o.timing_only = c.timing_only;
  o.tile_clock = c.mode != "bundle";
  o.seed = c.common.seed;
  o.advice = !c.no_advice;
  o.code = c.code;
  o.max_cycles = c.max_cycles;
  if (c.mode == "tile" && !c.timing_only)
    return Error{"sim-mode",
                 "the tile clock computes no values; add --timing-only, or take --mode bundle",
                 {"--mode"},
                 {}};
  std::vector<NamedLiteral> given;
  if (!c.inputs.empty()) {
    TF_ASSIGN(given, read_inputs(c.inputs));
  }
  Result<Simulation> done = [&] {
    Progress progress("simulating " + file_name(c.model));
    return simulate(ModelSource::file(c.model), o, given);
  }();
  if (!done.ok()) return done.take_errors();
  const Simulation& s = *done;
  for (const auto& [name, dims] : s.sizes)
    std::fprintf(stderr, "tenfold: open dimensions of %s taken as %s; --shape gives others\n",
                 name.c_str(), dims_text(dims).c_str());
  if (s.random_inputs)
    std::fprintf(stderr, "tenfold: no inputs given, made random ones with seed %llu\n",
                 static_cast<unsigned long long>(c.common.seed));
  if (!c.output_dir.empty()) {
    std::error_code ec;
    std::filesystem::create_directories(c.output_dir, ec);
    if (ec)
      return Error{"file-write", "cannot make the folder: " + ec.message(), {c.output_dir}, {}};
    for (const auto& out : s.outputs)
      TF_TRY(write_npy_file(join_path(c.output_dir, safe_file_name(out.name) + ".npy"), out.value));
  }
  if (c.common.json)
    std::printf(
        "%s\n",
        to_json(s, c).dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  else
    print_report(s);
  if (c.code) std::fprintf(stderr, "%s", s.code_report.c_str());
  return kDone;
}

}  // namespace

void add_simulate(CLI::App& program, Action& action) {
  auto c = std::make_shared<Simulate>();
  c->common.target = "tpu:v5e";
  CLI::App* sub = program.add_subcommand("simulate", "Run and time a model on a simulated chip");
  sub->add_option("MODEL", c->model, "ONNX or StableHLO file")->required();
  sub->add_option("--target", c->common.target,
                  "tpu:v1 ... tpu:7x, tpu:edge, or tpu:FILE with a chip file")
      ->capture_default_str();
  sub->add_flag("--timing-only", c->timing_only, "Cycles alone: no values, no inputs needed");
  sub->add_option("--mode", c->mode,
                  "bundle: every bundle is stepped; tile: loops in steady state are multiplied out")
      ->check(CLI::IsMember({"bundle", "tile"}));
  sub->add_option("--precision", c->precision, "Of f32 contractions: bf16, bf16x3, bf16x6")
      ->check(CLI::IsMember({"bf16", "bf16x3", "bf16x6"}))
      ->capture_default_str();
  sub->add_option("-O", c->common.opt_level, "Optimisation level, 0 to 3")->check(CLI::Range(0, 3));
  sub->add_option("--shape", c->common.shapes,
                  "Fixed size of an input, NAME=1,128; may be repeated")
      ->allow_extra_args(false);
  sub->add_option("--disable-pass", c->common.disabled, "Leave a graph pass out; may be repeated")
      ->allow_extra_args(false);
  sub->add_option("--dump", c->common.dump, "Write the model after each pass to a folder");
  sub->add_option("--seed", c->common.seed, "Of the random inputs");
  sub->add_option("--output-dir", c->output_dir, "Write NAME.npy for each output");
  sub->add_flag("--code", c->code, "Say on standard error how each kernel's loops were scheduled");
  sub->add_option("--max-cycles", c->max_cycles, "Give up on a program that takes more");
  sub->add_flag("--no-advice", c->no_advice, "Do not simulate what would help");
  sub->add_flag("--json", c->common.json, "One JSON object on standard output");
  c->inputs.add_options(sub);
  sub->callback([c, &action] { action = [c] { return run(*c); }; });
}

}  // namespace tenfold::cli
