// tenfold check: everything that is wrong with a model or unsupported, at once.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/text.h"
#include "command.h"
#include "driver/check.h"

namespace tenfold::cli {
namespace {

struct Check {
  Common common;
  std::string model;
  bool all_targets = false;
};

// What the model is made of.
void print_ops(const CheckReport& r) {
  if (r.ops.empty()) return;
  std::printf("%-34s %5s %5s %6s %7s  %s\n", "op", "opset", "since", "nodes", "refused", "types");
  for (const auto& u : r.ops)
    std::printf("%-34s %5d %5d %6d %7d  %s\n", u.op.c_str(), u.opset, u.since, u.nodes, u.refused,
                join(u.types, ", ").c_str());
}

Result<int> run(const Check& c) {
  SessionOptions options = c.common.session_options();
  Progress progress("checking " + file_name(c.model));
  CheckReport r = check_model(ModelSource::file(c.model), options.compile, c.all_targets);
  if (c.common.json) {
    nlohmann::json j;
    j["model"] = c.model;
    j["ok"] = r.ok;
    j["problems"] = nlohmann::json::array();
    for (const auto& p : r.problems)
      j["problems"].push_back({{"node", p.node},
                               {"op", p.op},
                               {"opset", p.opset},
                               {"message", p.message},
                               {"id", p.id}});
    j["ops"] = nlohmann::json::array();
    for (const auto& u : r.ops)
      j["ops"].push_back({{"op", u.op},
                          {"opset", u.opset},
                          {"since", u.since},
                          {"types", u.types},
                          {"nodes", u.nodes},
                          {"refused", u.refused}});
    j["targets"] = nlohmann::json::object();
    for (const auto& t : r.targets)
      j["targets"][t.name] = {{"ok", t.ok}, {"host_ops", nlohmann::json::array()}};
    std::printf("%s\n", j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
    return r.ok ? kDone : kInputAtFault;
  }
  for (const auto& p : r.problems) {
    std::string where = file_name(c.model) + (p.node.empty() ? "" : ":" + p.node);
    std::fprintf(stderr, "%s: %s [%s]\n", where.c_str(), p.message.c_str(), p.id.c_str());
  }
  print_ops(r);
  for (const auto& t : r.targets)
    std::printf("%s: %s\n", t.name.c_str(), t.ok ? "ok" : "not supported");
  if (!r.ok)
    std::fprintf(stderr, "%s: %zu problem%s\n", c.model.c_str(), r.problems.size(),
                 r.problems.size() == 1 ? "" : "s");
  return r.ok ? kDone : kInputAtFault;
}

}  // namespace

void add_check(CLI::App& program, Action& action) {
  auto c = std::make_shared<Check>();
  CLI::App* sub =
      program.add_subcommand("check", "List everything that is wrong with a model or unsupported");
  sub->add_option("MODEL", c->model, "Model (.onnx, .mlir) or artifact (.tenfold, .so)")
      ->required();
  sub->add_flag("--all-targets", c->all_targets, "For every target of this build");
  sub->add_flag("--json", c->common.json, "One JSON object on standard output");
  c->common.add_compile_options(sub);
  c->common.add_run_options(sub);
  sub->callback([c, &action] { action = [c] { return run(*c); }; });
}

}  // namespace tenfold::cli
