#include "driver/check.h"

#include "base/file.h"
#include "frontends/onnx/import.h"

namespace tenfold {
namespace {

// "model.onnx:conv_1" -> "conv_1"
std::string node_of(const Error& e, const std::string& path) {
  for (const std::string& prefix : {path + ":", file_name(path) + ":"})
    if (e.loc.text.starts_with(prefix)) return e.loc.text.substr(prefix.size());
  return e.loc.text == path || e.loc.text == file_name(path) ? "" : e.loc.text;
}

void add(CheckReport& r, const Errors& errors, const std::string& path) {
  r.ok = false;
  for (const Error& e : errors) r.problems.push_back({node_of(e, path), "", 0, e.id, e.message});
}

}  // namespace

CheckReport check_model(const ModelSource& source, const CompileOptions& options,
                        bool all_targets) {
  CheckReport report;
  auto format = source.format();
  if (!format.ok()) {
    add(report, format.errors(), source.path);
    return report;
  }
  if (*format == ModelFormat::Artifact) {
    auto s = Session::open(source, {});
    if (!s.ok())
      add(report, s.errors(), source.path);
    else
      report.targets.push_back({(*s)->program().target, true});
    return report;
  }
  if (*format == ModelFormat::Onnx && !source.in_memory) {
    onnx::ImportOptions import;
    import.shapes = options.shapes;
    std::vector<onnx::OpUse> uses;
    const auto problems = onnx::check_onnx(source.path, import, &uses);
    for (auto& u : uses)
      report.ops.push_back({u.op, u.opset, u.since, u.types, u.nodes, u.refused});
    for (auto& p : problems) {
      report.ok = false;
      report.problems.push_back({p.node, p.op, p.opset, p.id, p.message});
    }
    if (!report.ok) return report;
  }
  // The rest shows only when code is made. Targets of one backend differ in speed, not in what they
  // can do, so one compilation speaks for all of them.
  auto compiles = [&](const std::string& target) {
    CompileOptions o = options;
    o.target = target;
    o.pipeline.opt_level = std::min(o.pipeline.opt_level, 1);
    auto module = source.load(o);
    if (!module.ok()) {
      add(report, module.errors(), source.path);
      return false;
    }
    auto compiled = compile(**module, o);
    if (!compiled.ok()) add(report, compiled.errors(), source.path);
    return compiled.ok();
  };
  if (!all_targets) {
    report.targets.push_back({options.target, compiles(options.target)});
    return report;
  }
  for (const Backend* b : all_backends()) {
    bool ok = compiles(std::string(b->name));
    for (auto& t : b->targets()) report.targets.push_back({std::move(t), ok});
  }
  return report;
}

}  // namespace tenfold
