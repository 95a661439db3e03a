// tenfold targets and tenfold version: what this build can do, on this machine.
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

#include "command.h"
#include "driver/peak.h"
#include "runtime/artifact.h"
#include "tenfold/tenfold.h"
#include "tpu/chips/chip.h"

namespace tenfold::cli {
namespace {

Result<int> targets(bool json, const std::string& chip) {
  if (!chip.empty()) {
    TF_ASSIGN(tpu::Chip c, tpu::load_chip(chip));
    std::printf("%s\n", tpu::print_chip(c).c_str());
    return kDone;
  }
  int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  std::vector<std::string> names;
  for (const Backend* b : all_backends())
    for (auto& t : b->targets()) names.push_back(std::move(t));
  for (const tpu::ChipFile& f : tpu::chip_files()) names.push_back("tpu:" + std::string(f.name));
  if (json) {
    nlohmann::json j;
    j["host"] = {{"name", cpu_name()},
                 {"features", cpu_feature_list()},
                 {"cores", cores},
                 {"peak_gflops", peak_gflops(cores)},
                 {"peak_gflops_one_thread", peak_gflops(1)}};
    j["targets"] = names;
    std::printf("%s\n", j.dump(2).c_str());
    return kDone;
  }
  std::printf("this machine: %s, %d core%s, %.1f GFLOP/s f32 measured (%.1f on one thread)\n",
              cpu_name().c_str(), cores, cores == 1 ? "" : "s", peak_gflops(cores), peak_gflops(1));
  std::printf("  %s\n", cpu_feature_list().c_str());
  for (const Backend* b : all_backends()) {
    std::printf("%s: %s\n", std::string(b->name).c_str(), std::string(b->summary).c_str());
    for (const auto& t : b->targets()) std::printf("  %s\n", t.c_str());
  }
  std::printf("tpu: simulated chips, for `tenfold simulate`\n");
  for (const tpu::ChipFile& f : tpu::chip_files())
    std::printf("  tpu:%s\n", std::string(f.name).c_str());
  return kDone;
}

Result<int> version(bool json) {
  if (json) {
    nlohmann::json j;
    j["version"] = TENFOLD_VERSION;
    j["abi"] = tenfold_abi_version();
    j["package_format"] = rt::kPackageVersion;
    std::printf("%s\n", j.dump(2).c_str());
  } else {
    std::printf("tenfold %s (C ABI %u, package format %u)\n", TENFOLD_VERSION,
                tenfold_abi_version(), rt::kPackageVersion);
  }
  return kDone;
}

// Named in the interface, not built yet: says so instead of "no such command".
void add_absent(CLI::App& program, Action& action, const std::string& name,
                const std::string& summary) {
  CLI::App* sub = program.add_subcommand(name, summary + " (not in this build)");
  sub->allow_extras();
  sub->callback([&action, name] {
    action = [name]() -> Result<int> {
      return Error{"not-in-build", "`tenfold " + name + "` is not in this build", {}, {}};
    };
  });
}

}  // namespace

void add_targets(CLI::App& program, Action& action) {
  auto json = std::make_shared<bool>(false);
  auto chip = std::make_shared<std::string>();
  CLI::App* sub = program.add_subcommand("targets", "What this build can make code for");
  sub->add_flag("--json", *json, "One JSON object on standard output");
  sub->add_option("--chip", *chip,
                  "Print the chip file of NAME (or FILE), to start one of your own");
  sub->callback([json, chip, &action] { action = [json, chip] { return targets(*json, *chip); }; });
}

void add_version(CLI::App& program, Action& action) {
  auto json = std::make_shared<bool>(false);
  CLI::App* sub = program.add_subcommand("version", "Version of the program and its formats");
  sub->add_flag("--json", *json, "One JSON object on standard output");
  sub->callback([json, &action] { action = [json] { return version(*json); }; });
}

void add_tune(CLI::App& program, Action& action) {
  add_absent(program, action, "tune", "Search for faster kernels");
}

}  // namespace tenfold::cli
