#include "driver/compile.h"

#include <chrono>
#include <cstring>

#include "base/file.h"
#include "frontends/onnx/import.h"
#include "graph/text.h"
#include "passes/lower/lower.h"
#include "passes/lower/sizes.h"

namespace tenfold {
namespace {

class Stopwatch {
 public:
  explicit Stopwatch(std::vector<CompiledModel::Stage>& out) : out_(out) {}
  void stage(std::string name) {
    auto now = std::chrono::steady_clock::now();
    out_.push_back({std::move(name), std::chrono::duration<double>(now - last_).count()});
    last_ = now;
  }

 private:
  std::vector<CompiledModel::Stage>& out_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

std::shared_ptr<const std::string> constant_blob(const Lowered& l) {
  auto blob = std::make_shared<std::string>(l.program.const_bytes, '\0');
  for (const auto& c : l.constants)
    std::memcpy(blob->data() + c.offset, c.value.bytes(), c.value.byte_count());
  return blob;
}

}  // namespace

Result<std::unique_ptr<Module>> load_model(const std::string& path, const CompileOptions& options) {
  if (path.ends_with(".mlir")) {
    TF_ASSIGN(FileBytes file, map_file(path));
    TF_ASSIGN(auto m, parse_stablehlo(file.text(), path));
    m->source = path;
    TF_TRY(verify(*m));
    return std::move(m);
  }
  onnx::ImportOptions import;
  import.shapes = options.shapes;
  return onnx::import_onnx(path, import);
}

Result<CompiledModel> compile(Module& m, const CompileOptions& options) {
  CompiledModel out;
  Stopwatch watch(out.stages);
  std::string backend_name = options.target.substr(0, options.target.find(':'));
  const Backend* backend = find_backend(backend_name);
  if (!backend) {
    std::string known;
    for (const Backend* b : all_backends())
      known += (known.empty() ? "" : ", ") + std::string(b->name);
    return Error{"unknown-target",
                 "no target is called `" + options.target + "`; there is " + known,
                 {"--target"},
                 {}};
  }
  TF_ASSIGN(out.target, backend->parse_target(options.target));
  TF_ASSIGN(out.report, run_pipeline(m, options.pipeline));
  watch.stage("graph");

  LowerOptions lowering;
  lowering.machine = out.target.machine;
  lowering.opt_level = options.pipeline.opt_level;
  lowering.fast_math = options.pipeline.fast_math;
  TF_ASSIGN(Lowered lowered, lower(m, lowering));
  watch.stage("lower");

  const std::string& dir = options.pipeline.dump_dir;
  CodegenOptions codegen;
  codegen.opt_level = options.pipeline.opt_level;
  codegen.fast_math = options.pipeline.fast_math;
  codegen.threads = options.compile_threads;
  codegen.want_ir = codegen.want_asm = !dir.empty();
  if (!dir.empty())
    for (const auto& k : lowered.kernels)
      TF_TRY(write_file(dir + "/kernel-" + k.name + ".loop", loop::print(k)));
  TF_ASSIGN(CompiledKernels code, backend->compile(lowered.kernels, out.target, codegen));
  if (!dir.empty()) {
    TF_TRY(write_file(dir + "/code.ll", code.ir_dump));
    TF_TRY(write_file(dir + "/code.s", code.asm_dump));
  }
  std::vector<std::string> exports;
  for (size_t i = 0; i < lowered.kernels.size(); ++i) {
    rt::KernelInfo& info = lowered.program.kernels[i];
    const auto& kc = code.kernels[i];
    TF_CHECK(kc.phase_symbols.size() == info.phases.size(), "phases of " + info.name);
    auto reg = [&](const std::string& name) -> int32_t {
      for (size_t s = 0; s < lowered.kernels[i].symbols.size(); ++s)
        if (lowered.kernels[i].symbols[s]->name == name) return info.symbols[s];
      TF_CHECK(false, "unknown symbol " + name);
      return 0;
    };
    for (size_t p = 0; p < info.phases.size(); ++p) {
      info.phases[p].symbol = kc.phase_symbols[p];
      info.phases[p].extent = size_expr(kc.extents[p], reg);
      info.phases[p].workspace = size_expr(kc.workspace_bytes[p], reg);
      exports.push_back(kc.phase_symbols[p]);
    }
  }
  watch.stage("codegen");
  out.object = std::move(code.object);
  TF_ASSIGN(out.shared_object, backend->link_shared(out.object, out.target, exports));
  watch.stage("link");
  out.program = std::move(lowered.program);
  out.program.target = out.target.text;
  out.program.features = out.target.features;
  out.constants = constant_blob(lowered);
  watch.stage("constants");
  return out;
}

}  // namespace tenfold
