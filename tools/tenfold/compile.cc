// tenfold compile: writes an artifact.
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "command.h"

namespace tenfold::cli {
namespace {

struct Compile {
  Common common;
  std::string model, output, emit;
};

Result<int> run(const Compile& c) {
  SessionOptions options = c.common.session_options();
  std::shared_ptr<Session> s;
  {
    Progress progress("compiling " + file_name(c.model));
    // Only compiled, not loaded: the target may be another machine.
    if (!c.common.verify) {
      TF_ASSIGN(s, Session::compile_only(ModelSource::file(c.model), std::move(options)));
    } else {
      TF_ASSIGN(s, Session::open(ModelSource::file(c.model), std::move(options)));
    }
  }
  if (c.common.verify) {
    std::vector<Literal> inputs = random_inputs(s->program(), c.common.seed);
    TF_ASSIGN(auto outputs, s->run(inputs));
    TF_ASSIGN(bool right, report_verification(*s, inputs, outputs));
    if (!right) return kInputAtFault;  // nothing is written
  }
  if (c.common.time_passes) print_pass_times(*s);
  TF_TRY(s->save(c.output, c.emit));
  std::error_code ec;
  auto bytes = std::filesystem::file_size(c.output, ec);
  if (c.common.json) {
    nlohmann::json j;
    j["model"] = c.model;
    j["target"] = s->compiled()->program.target;
    j["compile_s"] = s->compile_seconds();
    j["file"] = c.output;
    j["bytes"] = ec ? 0 : bytes;
    j["kernels"] = s->compiled()->program.kernels.size();
    std::printf("%s\n", j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  } else {
    std::printf("%s: %llu bytes, %zu kernels, %s, compiled in %.3f s\n", c.output.c_str(),
                static_cast<unsigned long long>(ec ? 0 : bytes),
                s->compiled()->program.kernels.size(), s->compiled()->program.target.c_str(),
                s->compile_seconds());
  }
  return kDone;
}

}  // namespace

void add_compile(CLI::App& program, Action& action) {
  auto c = std::make_shared<Compile>();
  CLI::App* sub = program.add_subcommand("compile", "Compile a model into an artifact");
  sub->add_option("MODEL", c->model, "Model (.onnx, .mlir)")->required();
  sub->add_option("-o,--output", c->output, "File to write: .tenfold, .so, or .o with its header")
      ->required();
  sub->add_option("--emit", c->emit, "Kind of artifact, whatever the file is called")
      ->check(CLI::IsMember({"tenfold", "so", "o", "c"}));
  sub->add_flag("--json", c->common.json, "One JSON object on standard output");
  c->common.add_compile_options(sub);
  c->common.add_run_options(sub);
  sub->callback([c, &action] { action = [c] { return run(*c); }; });
}

}  // namespace tenfold::cli
