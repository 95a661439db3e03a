// A model that can be run: opened from a model file (imported and compiled here) or from an
// artifact. What the command line and the Python package stand on.
//
// A Session may be shared by threads: each call takes a context of its own from a pool.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "array/npy.h"
#include "driver/compile.h"
#include "driver/model_format.h"
#include "runtime/executor.h"
#include "runtime/signature.h"

namespace tenfold {

struct SessionOptions {
  CompileOptions compile;
  int threads = 0;  // 0: one for each core
  // Compiles anew for each set of input shapes instead of once for all.
  bool per_shape = false;
};

// Where a model comes from.
struct ModelSource {
  std::string path;                  // or the name that stands in messages
  std::span<const std::byte> bytes;  // set: the model itself, kept alive by `owner`
  std::shared_ptr<const void> owner;
  bool in_memory = false;

  static ModelSource file(std::string path) { return {std::move(path), {}, nullptr, false}; }
  Result<ModelFormat> format() const;
  Result<std::unique_ptr<Module>> load(const CompileOptions& options,
                                       ModelNeeds* needs = nullptr) const;
};

class Session {
 public:
  // `given`: the inputs that the first run will have. They decide what the model file leaves open:
  // lengths of sequences, ranks, which inputs with a default are arguments.
  static Result<std::shared_ptr<Session>> open(ModelSource source, SessionOptions options,
                                               const std::vector<NamedLiteral>& given = {});
  // Compiles for save() and loads nothing: the target may be another machine. Not to be run.
  static Result<std::shared_ptr<Session>> compile_only(ModelSource source, SessionOptions options);
  // From a module made elsewhere; it is consumed.
  static Result<std::shared_ptr<Session>> from_module(Module& m, SessionOptions options);

  const rt::Program& program() const { return exe_->program(); }
  const std::vector<rt::TensorInfo>& inputs() const { return inputs_; }
  const std::vector<rt::TensorInfo>& outputs() const { return outputs_; }
  const CompiledModel* compiled() const { return compiled_.get(); }  // null for an artifact
  const SessionOptions& options() const { return options_; }
  const ModelSource& source() const { return source_; }
  const std::string& name() const { return source_.path; }
  int threads() const { return options_.threads; }
  double compile_seconds() const { return compile_seconds_; }  // import included
  // Whether shapes, or values of inputs, decide which program runs: context_for() may compile.
  bool specialises() const { return specialises_; }
  // Compilations after the first, and why each was needed.
  std::vector<std::string> recompilations();

  // See order_by_name().
  Result<std::vector<Literal>> order_inputs(const std::vector<NamedLiteral>& given) const;
  // Inputs in order. The outputs own their memory.
  Result<std::vector<Literal>> run(const std::vector<Literal>& inputs,
                                   std::vector<rt::KernelTime>* profile = nullptr);

  // For callers that keep a context: bench, Python.
  class Lease {
   public:
    Lease(Session* s, std::unique_ptr<rt::Context> c) : s_(s), c_(std::move(c)) {}
    Lease(Lease&&) = default;
    Lease& operator=(Lease&& o) {
      give_back();
      s_ = o.s_;
      c_ = std::move(o.c_);
      return *this;
    }
    ~Lease() { give_back(); }
    void give_back();
    rt::Context* operator->() const { return c_.get(); }
    rt::Context& operator*() const { return *c_; }

   private:
    Session* s_;
    std::unique_ptr<rt::Context> c_;
  };
  Lease context() { return lease(exe_); }
  // The context of the program that does for these inputs, compiled if need be: in per-shape mode
  // there is one for each set of shapes, and where inputs steer the model one for their values.
  Result<Lease> context_for(const std::vector<rt::TensorView>& inputs);

  // Writes an artifact by the suffix, or by `form` ("tenfold", "so", "o"). Not for artifacts.
  Status save(const std::string& path, const std::string& form = {}) const;

 private:
  Session() = default;
  Status compile_now(Module& m);
  Status use(std::shared_ptr<const rt::Executable> exe);
  // What of an input a program was compiled for.
  enum class Fixed : uint8_t { Nothing, Shape, Value };
  struct Made {
    std::vector<int64_t> dims;
    std::string bytes;
    auto operator<=>(const Made&) const = default;
  };
  std::vector<Made> wanted(const std::vector<rt::TensorView>& inputs) const;
  std::string cause(const std::vector<Made>& made) const;
  bool fix(const std::set<std::string>& shapes, const std::map<std::string, Literal>& values);
  Lease lease(const std::shared_ptr<const rt::Executable>& exe);

  ModelSource source_;
  SessionOptions options_;
  std::unique_ptr<CompiledModel> compiled_;
  std::shared_ptr<const rt::Executable> exe_;
  std::shared_ptr<rt::ThreadPool> pool_;
  std::vector<rt::TensorInfo> inputs_, outputs_;
  double compile_seconds_ = 0;
  std::vector<std::string> recompilations_;

  bool specialises_ = false;  // set when opened: something is fixed
  std::mutex compile_mutex_;  // of recompilations_ and what is below; by input
  std::vector<Fixed> fixed_;
  std::map<std::vector<Made>, std::shared_ptr<const rt::Executable>> specialised_;
  std::vector<Made> last_;

  std::mutex mutex_;  // of idle_
  std::vector<std::pair<const rt::Executable*, std::unique_ptr<rt::Context>>> idle_;
  friend class Lease;
};

// The executable of a compiled model, its code loaded into this process.
Result<std::shared_ptr<const rt::Executable>> make_executable(const CompiledModel& m);

rt::TensorView view_of(const Literal& l);  // only ever read
std::vector<rt::TensorView> views_of(const std::vector<Literal>& inputs);

// By name into the order of `names`. Every problem at once: unknown, missing and repeated names.
Result<std::vector<Literal>> order_by_name(const std::vector<NamedLiteral>& given,
                                           const std::vector<std::string>& names,
                                           const std::string& where);

// Seeded values that fit the signature: open dimensions get small sizes, integers small values.
std::vector<Literal> random_inputs(const rt::Program& p, uint64_t seed);

}  // namespace tenfold
