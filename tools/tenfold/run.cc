// tenfold run: import, compile, run once, show what came out.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "array/npy.h"
#include "base/file.h"
#include "base/text.h"
#include "command.h"
#include "driver/verify.h"

namespace tenfold::cli {
namespace {

struct Run {
  Common common;
  InputFlags inputs;
  std::string model, output_dir;
  bool bisect = false;
};

// File names in the model's order; two outputs never share one.
std::vector<std::string> output_files(const Session& s) {
  std::set<std::string> taken;
  std::vector<std::string> files;
  for (const auto& o : s.outputs()) {
    std::string stem = safe_file_name(o.name), name = stem;
    for (int i = 1; !taken.insert(name).second; ++i) name = stem + "_" + std::to_string(i);
    files.push_back(name + ".npy");
  }
  return files;
}

std::string head_of(const Literal& l) {
  constexpr int64_t kShown = 6;
  std::string s;
  for (int64_t i = 0; i < std::min(kShown, l.size()); ++i) {
    char text[80];
    if (is_complex(l.dtype())) {
      auto v = l.as_c128(i);
      std::snprintf(text, sizeof text, "%.6g%+.6gi", v.real(), v.imag());
    } else if (is_float(l.dtype())) {
      std::snprintf(text, sizeof text, "%.6g", l.as_f64(i));
    } else {
      std::snprintf(text, sizeof text, "%lld", static_cast<long long>(l.as_i64(i)));
    }
    s += (i ? " " : "") + std::string(text);
  }
  if (l.size() > kShown) s += " ...";
  return s;
}

Result<int> run(const Run& c) {
  TF_ASSIGN(Opened o, open_with_inputs(c.model, c.common, c.inputs));
  Session& s = *o.session;
  // In per-shape mode this compiles: not part of the run.
  TF_ASSIGN(Session::Lease context, s.context_for(views_of(o.inputs)));
  context.give_back();
  auto start = std::chrono::steady_clock::now();
  TF_ASSIGN(std::vector<Literal> outputs, s.run(o.inputs));
  double run_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();

  std::vector<std::string> files = output_files(s);
  if (!c.output_dir.empty()) {
    std::error_code ec;
    std::filesystem::create_directories(c.output_dir, ec);
    if (ec)
      return Error{"file-write", "cannot make the folder: " + ec.message(), {c.output_dir}, {}};
    for (size_t i = 0; i < outputs.size(); ++i)
      TF_TRY(write_npy_file(join_path(c.output_dir, files[i]), outputs[i]));
  }
  bool right = true;
  if (c.common.verify) {
    TF_ASSIGN(right, report_verification(s, o.inputs, outputs));
  }
  if (c.bisect) {
    Progress progress("looking for the pass that makes a difference");
    TF_ASSIGN(BisectReport b, bisect_passes(s, o.inputs));
    if (!b.differs)
      std::fprintf(stderr, "bisect: no difference from the evaluator\n");
    else if (b.passes > 0)
      std::fprintf(stderr, "bisect: the difference comes with pass %d, %s (%d compilations)\n",
                   b.passes, b.culprit.c_str(), b.tried);
    else
      std::fprintf(stderr, "bisect: the difference comes with %s (%d compilations)\n",
                   b.culprit.c_str(), b.tried);
    right = right && !b.differs;
  }

  if (c.common.json) {
    nlohmann::json j;
    j["model"] = c.model;
    j["target"] = s.program().target;
    j["threads"] = s.threads();
    j["compile_s"] = s.compile_seconds();
    j["run_ms"] = run_ms;
    j["recompilations"] = s.recompilations().size();
    j["recompilation_causes"] = s.recompilations();
    if (c.common.verify) j["verified"] = right;
    j["outputs"] = nlohmann::json::array();
    for (size_t i = 0; i < outputs.size(); ++i) {
      nlohmann::json out;
      out["name"] = s.outputs()[i].name;
      out["dtype"] = name(outputs[i].dtype());
      out["shape"] = outputs[i].dims();
      out["sha256"] = outputs[i].sha256();
      if (!c.output_dir.empty()) out["file"] = files[i];
      j["outputs"].push_back(out);
    }
    std::printf("%s\n", j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  } else {
    for (size_t i = 0; i < outputs.size(); ++i)
      std::printf("%s: %s %s  sha256 %s\n    %s\n", s.outputs()[i].name.c_str(),
                  std::string(name(outputs[i].dtype())).c_str(),
                  dims_text(outputs[i].dims()).c_str(), outputs[i].sha256().substr(0, 16).c_str(),
                  head_of(outputs[i]).c_str());
    std::printf("compiled in %.3f s, ran in %.3f ms on %d thread%s (%s)\n", s.compile_seconds(),
                run_ms, s.threads(), s.threads() == 1 ? "" : "s", s.program().target.c_str());
  }
  return right ? kDone : kInputAtFault;
}

}  // namespace

void add_run(CLI::App& program, Action& action) {
  auto c = std::make_shared<Run>();
  CLI::App* sub = program.add_subcommand("run", "Compile a model and run it once");
  sub->add_option("MODEL", c->model, "Model (.onnx, .mlir) or artifact (.tenfold, .so)")
      ->required();
  c->inputs.add_options(sub);
  sub->add_option("--output-dir", c->output_dir, "Write each output to NAME.npy in this folder");
  sub->add_flag("--bisect", c->bisect, "Find the pass that makes the result differ");
  sub->add_flag("--json", c->common.json, "One JSON object on standard output");
  c->common.add_compile_options(sub);
  c->common.add_run_options(sub);
  sub->callback([c, &action] { action = [c] { return run(*c); }; });
}

}  // namespace tenfold::cli
