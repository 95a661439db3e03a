#include "driver/compile.h"

#include <malloc.h>
#include <sys/mman.h>

#include <chrono>
#include <cstdlib>
#include <cstring>

#include "base/file.h"
#include "driver/fix_shapes.h"
#include "driver/model_format.h"
#include "driver/program_text.h"
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

// Null when there is no memory for it. Each constant is released once it is in the blob.
std::shared_ptr<const std::byte> constant_blob(Lowered& l) {
  size_t bytes = (l.program.const_bytes + 64) / 64 * 64;
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  std::shared_ptr<std::byte> blob(static_cast<std::byte*>(pages),
                                  [bytes](std::byte* p) { munmap(p, bytes); });
  constexpr size_t kTrimBytes = size_t{32} << 20;
  size_t released = 0;
  // What lies between constants, and padding inside packed ones, is written into artifacts too: the
  // blob starts as zero pages, which cost nothing until written.
  for (auto& c : l.constants) {
    place(c, blob.get());
    drop_mapped_pages(c.value.bytes(), c.value.byte_count());
    released += c.value.byte_count();
    c.value = Literal();
#ifdef __GLIBC__
    // The allocator keeps freed blocks below its moving threshold; hand them back now and then.
    if (released > kTrimBytes) {
      malloc_trim(0);
      released = 0;
    }
#endif
  }
  return blob;
}

onnx::ImportOptions import_options(const CompileOptions& options) {
  onnx::ImportOptions import;
  import.shapes = options.shapes;
  import.sequence_lengths = options.sequence_lengths;
  import.empty_optionals = options.empty_optionals;
  import.override_defaults = options.override_defaults;
  import.values = options.values;
  return import;
}

Result<std::unique_ptr<Module>> read_stablehlo(std::string_view text, const std::string& path,
                                               const CompileOptions& options) {
  TF_ASSIGN(auto m, parse_stablehlo(text, path));
  m->source = path;
  TF_TRY(verify(*m));
  Function* f = m->main();
  if (!f) return Error{"no-entry", "the module has no function to compile", {path}, {}};
  for (size_t i = 0; i < f->body.args.size(); ++i)
    if (f->body.args[i]->name.empty()) f->body.args[i]->name = "arg" + std::to_string(i);
  for (size_t i = 0; i < f->body.results().size(); ++i) {
    if (f->result_names.size() <= i) f->result_names.emplace_back();
    if (f->result_names[i].empty()) f->result_names[i] = "result" + std::to_string(i);
  }
  TF_TRY(fix_shapes(*m, options.shapes));
  return std::move(m);
}

}  // namespace

Result<std::unique_ptr<Module>> load_model(const std::string& path, const CompileOptions& options,
                                           ModelNeeds* needs) {
  TF_ASSIGN(ModelFormat format, model_format(path));
  if (format == ModelFormat::StableHlo) {
    TF_ASSIGN(FileBytes file, map_file(path));
    return read_stablehlo(file.text(), path, options);
  }
  if (format == ModelFormat::Onnx) {
    onnx::ImportNeeds wanted;
    auto m = onnx::import_onnx(path, import_options(options), &wanted);
    if (needs) *needs = {wanted.values, wanted.shapes};
    return m;
  }
  return unsupported_format(format, path);
}

Result<std::unique_ptr<Module>> load_model_bytes(std::span<const std::byte> bytes,
                                                 const std::string& name, const std::string& folder,
                                                 const CompileOptions& options, ModelNeeds* needs) {
  ModelFormat format = model_format(name, bytes);
  if (format == ModelFormat::StableHlo) {
    return read_stablehlo({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, name,
                          options);
  }
  if (format == ModelFormat::Onnx) {
    onnx::ImportNeeds wanted;
    auto m = onnx::import_onnx_bytes(bytes, name, folder, import_options(options), &wanted);
    if (needs) *needs = {wanted.values, wanted.shapes};
    return m;
  }
  return unsupported_format(format, name);
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
  PipelineOptions passes = options.pipeline;
  passes.signed_bytes = out.target.machine.signed_bytes;
  TF_ASSIGN(out.report, run_pipeline(m, passes));
  watch.stage("graph");

  LowerOptions lowering;
  lowering.machine = out.target.machine;
  int level = options.lower_level >= 0 ? options.lower_level : options.pipeline.opt_level;
  lowering.opt_level = level;
  lowering.fast_math = options.pipeline.fast_math;
  TF_ASSIGN(Lowered lowered, lower(m, lowering));
  m.functions.clear();  // what the constants need of it, lowering has
  watch.stage("lower");

  const std::string& dir = options.pipeline.dump_dir;
  CodegenOptions codegen;
  codegen.opt_level = level;
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
      auto extent = size_expr(kc.extents[p], reg);
      auto workspace = size_expr(kc.workspace_bytes[p], reg);
      if (!extent || !workspace)
        return Error{"lower-unsupported",
                     "kernel " + info.name +
                         " needs scratch memory whose size depends on data; fix the shapes of its "
                         "inputs (--shape)",
                     {m.source},
                     info.origins};
      info.phases[p].extent = std::move(*extent);
      info.phases[p].workspace = std::move(*workspace);
      exports.push_back(kc.phase_symbols[p]);
    }
  }
  watch.stage("codegen");
  out.object = std::move(code.object);
  TF_ASSIGN(out.shared_object, backend->link_shared(out.object, out.target, exports));
  watch.stage("link");
  out.constants = constant_blob(lowered);
  if (!out.constants)
    return Error{"out-of-memory", "no memory for the model's constants", {m.source}, {}};
  out.program = std::move(lowered.program);
  if (!m.source.empty()) out.program.model_name = file_name(m.source);
  out.program.target = out.target.text;
  out.program.features = out.target.features;
  if (!dir.empty()) TF_TRY(write_file(dir + "/program.txt", print(out.program)));
  watch.stage("constants");
  return out;
}

}  // namespace tenfold
