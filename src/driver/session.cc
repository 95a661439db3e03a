#include "driver/session.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "base/file.h"
#include "base/text.h"
#include "driver/evaluate.h"
#include "driver/model_format.h"
#include "runtime/artifact.h"
#include "runtime/cpu_features.h"

namespace tenfold {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string sizes_text(const std::vector<int64_t>& dims) {
  std::string s = "[";
  for (size_t i = 0; i < dims.size(); ++i) s += (i ? ", " : "") + std::to_string(dims[i]);
  return s + "]";
}

std::string bytes_of(const rt::TensorView& v) {
  size_t bytes = static_cast<size_t>(byte_size(v.dtype));
  for (int64_t d : v.dims) bytes *= static_cast<size_t>(d);
  return {static_cast<const char*>(v.data), bytes};
}

}  // namespace

Result<ModelFormat> ModelSource::format() const {
  return in_memory ? Result<ModelFormat>(model_format(path, bytes)) : model_format(path);
}

Result<std::unique_ptr<Module>> ModelSource::load(const CompileOptions& options,
                                                  ModelNeeds* needs) const {
  return in_memory ? load_model_bytes(bytes, path, {}, options, needs)
                   : load_model(path, options, needs);
}

Result<std::shared_ptr<const rt::Executable>> make_executable(const CompiledModel& m) {
  TF_ASSIGN(auto code, rt::Code::from_bytes(m.shared_object));
  return rt::Executable::create(m.program, m.constants.get(), m.constants, std::move(code));
}

rt::TensorView view_of(const Literal& l) {
  return {const_cast<std::byte*>(l.bytes()), l.dtype(), l.dims()};
}

Status Session::use(std::shared_ptr<const rt::Executable> exe) {
  exe_ = std::move(exe);
  inputs_ = rt::inputs_of(exe_->program());
  outputs_ = rt::outputs_of(exe_->program());
  if (options_.threads <= 0)
    options_.threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  if (!pool_) pool_ = std::make_shared<rt::ThreadPool>(options_.threads);
  return ok_status();
}

// Before anything is compiled for nothing.
static Status runs_here(const std::string& target) {
  const Backend* backend = find_backend(target.substr(0, target.find(':')));
  if (!backend) return ok_status();  // compile() says so
  TF_ASSIGN(Target t, backend->parse_target(target));
#if defined(__x86_64__)
  std::string_view here = "x86_64";
#elif defined(__aarch64__)
  std::string_view here = "aarch64";
#else
  std::string_view here = "riscv64";
#endif
  std::string missing = rt::missing_cpu_features(t.features);
  if (t.triple.starts_with(here) && missing.empty()) return ok_status();
  return Error{"target-not-here",
               "`" + target + "` is code for another machine" +
                   (missing.empty() ? "" : " (this one lacks " + missing + ")") +
                   "; write it with `tenfold compile` and run it there",
               {"--target"},
               {}};
}

Status Session::compile_now(Module& m) {
  TF_TRY(runs_here(options_.compile.target));
  TF_ASSIGN(CompiledModel c, compile(m, options_.compile));
  compiled_ = std::make_unique<CompiledModel>(std::move(c));
  TF_ASSIGN(auto exe, make_executable(*compiled_));
  return use(std::move(exe));
}

Result<std::shared_ptr<Session>> Session::open(ModelSource source, SessionOptions options,
                                               const std::vector<NamedLiteral>& given) {
  auto start = Clock::now();
  std::shared_ptr<Session> s(new Session());
  s->source_ = std::move(source);
  s->options_ = std::move(options);
  TF_ASSIGN(ModelFormat format, s->source_.format());
  if (format == ModelFormat::Artifact) {
    const ModelSource& from = s->source_;
    auto exe = from.in_memory ? rt::load_package(from.bytes, from.owner, from.path)
                              : rt::load_artifact(from.path);
    if (!exe.ok()) return exe.take_errors();
    TF_TRY(s->use(std::move(*exe)));
    return s;
  }
  std::set<std::string> fixed;
  auto module = load_with(s->source_, s->options_.compile, given, &fixed);
  if (!module.ok()) return module.take_errors();
  TF_TRY(s->compile_now(**module));
  const auto& values = s->options_.compile.values;
  s->fix(fixed, values);
  s->specialises_ = s->options_.per_shape || !fixed.empty() || !values.empty();
  if (!fixed.empty() || !values.empty()) {
    // The first specialisation; other sizes or values will need their own.
    std::vector<rt::TensorView> views;
    for (const auto& i : s->inputs_) {
      auto it = values.find(i.name);
      views.push_back(it == values.end() ? rt::TensorView{nullptr, i.dtype, i.dims}
                                         : view_of(it->second));
    }
    s->last_ = s->wanted(views);
    s->specialised_[s->last_] = s->exe_;
  }
  s->compile_seconds_ = since(start);
  return s;
}

Result<std::shared_ptr<Session>> Session::compile_only(ModelSource source, SessionOptions options) {
  auto start = Clock::now();
  std::shared_ptr<Session> s(new Session());
  s->source_ = std::move(source);
  s->options_ = std::move(options);
  TF_ASSIGN(auto module, s->source_.load(s->options_.compile));
  TF_ASSIGN(CompiledModel c, compile(*module, s->options_.compile));
  s->compiled_ = std::make_unique<CompiledModel>(std::move(c));
  s->compile_seconds_ = since(start);
  return s;
}

Result<std::shared_ptr<Session>> Session::from_module(Module& m, SessionOptions options) {
  auto start = Clock::now();
  std::shared_ptr<Session> s(new Session());
  s->source_ = ModelSource::file(m.source);
  s->options_ = std::move(options);
  TF_TRY(s->compile_now(m));
  s->compile_seconds_ = since(start);
  return s;
}

Result<std::vector<Literal>> Session::order_inputs(const std::vector<NamedLiteral>& given) const {
  std::vector<std::string> names;
  for (const auto& i : inputs_) names.push_back(i.name);
  return order_by_name(given, names, name());
}

std::vector<rt::TensorView> views_of(const std::vector<Literal>& inputs) {
  std::vector<rt::TensorView> views;
  for (const auto& i : inputs) views.push_back(view_of(i));
  return views;
}

std::vector<std::string> Session::recompilations() {
  std::lock_guard lock(compile_mutex_);
  return recompilations_;
}

// Whether that is more than before.
bool Session::fix(const std::set<std::string>& shapes,
                  const std::map<std::string, Literal>& values) {
  std::vector<Fixed> before = fixed_;
  fixed_.resize(inputs_.size(), options_.per_shape ? Fixed::Shape : Fixed::Nothing);
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (shapes.contains(inputs_[i].name)) fixed_[i] = std::max(fixed_[i], Fixed::Shape);
    if (values.contains(inputs_[i].name)) fixed_[i] = Fixed::Value;
  }
  return fixed_ != before;
}

std::vector<Session::Made> Session::wanted(const std::vector<rt::TensorView>& inputs) const {
  std::vector<Made> made(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (fixed_[i] >= Fixed::Shape) made[i].dims = inputs[i].dims;
    if (fixed_[i] == Fixed::Value) made[i].bytes = bytes_of(inputs[i]);
  }
  return made;
}

Result<Session::Lease> Session::context_for(const std::vector<rt::TensorView>& inputs) {
  // run() says what is wrong with a wrong number or type of inputs.
  bool fits = inputs.size() == inputs_.size();
  for (size_t i = 0; fits && i < inputs.size(); ++i) fits = inputs[i].dtype == inputs_[i].dtype;
  if (!specialises_ || !compiled_ || !fits) return context();
  std::lock_guard lock(compile_mutex_);
  std::vector<Made> made = wanted(inputs);
  auto found = specialised_.find(made);
  if (found == specialised_.end()) {
    CompileOptions options = options_.compile;
    options.values.clear();
    std::vector<NamedLiteral> given;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const rt::TensorView& v = inputs[i];
      const std::string& name = inputs_[i].name;
      given.push_back(
          {name, Literal::borrow(v.dtype, v.dims, static_cast<const std::byte*>(v.data), {})});
      if (fixed_[i] >= Fixed::Shape) options.shapes[name] = v.dims;
      if (fixed_[i] == Fixed::Value) options.values.emplace(name, given.back().value);
    }
    std::set<std::string> fixed;
    TF_ASSIGN(auto module, load_with(source_, options, given, &fixed));
    TF_ASSIGN(CompiledModel compiled, compile(*module, options));
    TF_ASSIGN(auto exe, make_executable(compiled));
    recompilations_.push_back(cause(made));
    // What the other programs were compiled for may no longer be all that counts.
    if (fix(fixed, options.values)) specialised_.clear();
    made = wanted(inputs);
    found = specialised_.emplace(made, std::move(exe)).first;
  }
  last_ = std::move(made);
  return lease(found->second);
}

// Why the program at hand does not do.
std::string Session::cause(const std::vector<Made>& made) const {
  for (size_t i = 0; i < last_.size(); ++i) {
    const std::string input = "`" + inputs_[i].name + "`";
    const auto &was = last_[i].dims, &is = made[i].dims;
    for (size_t d = 0; d < is.size() && is.size() == was.size(); ++d)
      if (was[d] != is[d])
        return "dimension " + std::to_string(d) + " of " + input + " was " +
               std::to_string(was[d]) + ", is " + std::to_string(is[d]);
    if (was != is) return input + " was " + sizes_text(was) + ", is " + sizes_text(is);
    if (last_[i].bytes != made[i].bytes)
      return "the value of " + input + ", which is compiled in, has changed";
  }
  return "the first inputs fix the open dimensions";
}

void Session::Lease::give_back() {
  if (!c_) return;
  c_->profile = nullptr;
  c_->observe = nullptr;
  for (size_t i = 0; i < s_->outputs_.size(); ++i) c_->bind_output(i, nullptr, 0);
  std::lock_guard lock(s_->mutex_);
  s_->idle_.emplace_back(&c_->executable(), std::move(c_));
}

Session::Lease Session::lease(const std::shared_ptr<const rt::Executable>& exe) {
  std::unique_ptr<rt::Context> c;
  std::lock_guard lock(mutex_);
  for (auto it = idle_.begin(); it != idle_.end() && !c; ++it) {
    if (it->first != exe.get()) continue;
    c = std::move(it->second);
    idle_.erase(it);
    break;
  }
  if (!c) c = std::make_unique<rt::Context>(exe, pool_);
  return {this, std::move(c)};
}

Result<std::vector<Literal>> Session::run(const std::vector<Literal>& inputs,
                                          std::vector<rt::KernelTime>* profile) {
  std::vector<rt::TensorView> views = views_of(inputs);
  TF_ASSIGN(Lease c, context_for(views));
  c->profile = profile;
  TF_TRY(c->run(views));
  std::vector<Literal> outputs;
  for (size_t i = 0; i < c->outputs().size(); ++i) {
    const rt::TensorView& o = c->outputs()[i];
    if (auto memory = c->take_output(i)) {
      outputs.push_back(Literal::borrow(o.dtype, o.dims, static_cast<const std::byte*>(o.data),
                                        std::move(memory)));
      continue;
    }
    Literal copy = Literal::uninit(o.dtype, o.dims);
    if (copy.byte_count()) std::memcpy(copy.mutable_bytes(), o.data, copy.byte_count());
    outputs.push_back(std::move(copy));
  }
  return outputs;
}

}  // namespace tenfold
