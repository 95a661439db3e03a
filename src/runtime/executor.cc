#include "runtime/executor.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>

#include "runtime/arena.h"

namespace tenfold::rt {
namespace {

// Less work than this for each thread is done faster alone.
constexpr int64_t kNanosecondsPerThread = 10000;
// Work beyond this is cut into more parts than threads, so that a thread whose core is taken away
// for a moment leaves the rest to the others.
constexpr int64_t kNanosecondsPerPart = 50000;

Error program_error(const std::string& what) {
  return Error{"bad-program", "the compiled model is damaged: " + what, {}, {}};
}

std::string dims_text(const std::vector<int64_t>& dims) {
  std::string s = "[";
  for (size_t i = 0; i < dims.size(); ++i) s += (i ? ", " : "") + std::to_string(dims[i]);
  return s + "]";
}

bool valid(const SizeExpr& e, size_t symbols) {
  int depth = 0;
  for (const auto& s : e.steps) {
    if (s.op == SizeExpr::Op::Const) {
      ++depth;
    } else if (s.op == SizeExpr::Op::Sym) {
      if (s.v < 0 || static_cast<size_t>(s.v) >= symbols) return false;
      ++depth;
    } else if (s.op <= SizeExpr::Op::Max) {
      if (--depth < 1) return false;
    } else {
      return false;
    }
    if (depth > 64) return false;
  }
  return depth == 1;
}

}  // namespace

struct Context::Block {
  std::byte* data = nullptr;
  int64_t capacity = 0;
  void reserve(int64_t bytes) {
    if (bytes <= capacity) return;
    std::free(data);
    capacity = (bytes + 63) / 64 * 64;
    data = static_cast<std::byte*>(std::aligned_alloc(64, static_cast<size_t>(capacity)));
    if (!data) throw std::bad_alloc();
  }
  Block() = default;
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block() { std::free(data); }
};

Result<std::shared_ptr<const Executable>> Executable::create(Program program,
                                                             const std::byte* constants,
                                                             std::shared_ptr<const void> owner,
                                                             std::shared_ptr<Code> code) {
  auto exe = std::make_shared<Executable>();
  const Program& p = program;
  int32_t buffers = static_cast<int32_t>(p.buffers.size());
  int32_t blocks = static_cast<int32_t>(p.blocks.size());
  size_t symbols = p.symbols.size();
  auto is_buffer = [&](int32_t b) { return b >= 0 && b < buffers; };
  if (blocks == 0) return program_error("it has no entry");
  for (const auto& b : p.buffers) {
    for (const auto& d : b.dims)
      if (!valid(d, symbols)) return program_error("a buffer's size");
    if (b.block < 0 || b.block >= blocks) return program_error("a buffer's block");
    if (static_cast<int>(b.dtype) >= kDTypeCount) return program_error("a buffer's element type");
    if (b.kind == BufferInfo::Kind::Constant) {
      uint64_t n = static_cast<uint64_t>(byte_size(b.dtype));
      for (const auto& d : b.dims) {
        if (d.steps.size() != 1 || d.steps[0].op != SizeExpr::Op::Const || d.steps[0].v < 0)
          return program_error("a constant's shape");
        if (__builtin_mul_overflow(n, static_cast<uint64_t>(d.steps[0].v), &n))
          return program_error("a constant's size");
      }
      if (b.const_offset > p.const_bytes || n > p.const_bytes - b.const_offset)
        return program_error("a constant's place");
    }
  }
  exe->storage_.resize(p.buffers.size());
  for (int32_t i = 0; i < buffers; ++i) {
    int32_t at = i, steps = 0;
    while (p.buffers[at].alias_of >= 0) {
      at = p.buffers[at].alias_of;
      if (!is_buffer(at) || ++steps > buffers) return program_error("a buffer's alias");
    }
    exe->storage_[i] = at;
  }
  for (int32_t b : p.inputs)
    if (!is_buffer(b)) return program_error("an input");
  for (int32_t b : p.outputs)
    if (!is_buffer(b)) return program_error("an output");
  for (const auto& k : p.kernels) {
    for (int32_t s : k.symbols)
      if (s < 0 || static_cast<size_t>(s) >= symbols) return program_error("a kernel's symbol");
    for (const SizeExpr* e : {&k.flops, &k.bytes})
      if (!e->steps.empty() && !valid(*e, symbols))
        return program_error("the cost of kernel " + k.name);
    std::vector<PhaseFunction> functions;
    for (const auto& phase : k.phases) {
      if (!valid(phase.extent, symbols) || !valid(phase.cost, symbols) ||
          !valid(phase.workspace, symbols))
        return program_error("a size of kernel " + k.name);
      void* f = code->find(phase.symbol);
      if (!f) return program_error("no code for " + phase.symbol);
      functions.push_back(reinterpret_cast<PhaseFunction>(f));
    }
    exe->phases_.push_back(std::move(functions));
  }
  for (int32_t b = 0; b < blocks; ++b) {
    for (int32_t r : p.blocks[b].results)
      if (!is_buffer(r)) return program_error("a block's result");
    for (const auto& i : p.blocks[b].instrs) {
      for (int32_t a : i.args)
        if (!is_buffer(a)) return program_error("an instruction's buffer");
      for (int32_t n : i.blocks)  // nested blocks come later, so nesting ends
        if (n <= b || n >= blocks) return program_error("an instruction's block");
      bool ok = true;
      switch (i.op) {
        case Instr::Op::Call:
          ok = i.a >= 0 && static_cast<size_t>(i.a) < p.kernels.size() && i.ints.size() == 1 &&
               i.ints[0] >= 0 && static_cast<size_t>(i.ints[0]) <= i.args.size();
          break;
        case Instr::Op::BindSymbol:
          ok = i.args.size() == 1 && i.a >= 0 && static_cast<size_t>(i.a) < symbols;
          break;
        case Instr::Op::BindShape:
          ok = i.ints.size() % 3 == 0;
          for (size_t k = 0; ok && k < i.ints.size(); k += 3)
            ok = is_buffer(i.ints[k]) && i.ints[k + 1] >= 0 &&
                 static_cast<size_t>(i.ints[k + 1]) < p.buffers[i.ints[k]].dims.size() &&
                 i.ints[k + 2] >= 0 && static_cast<size_t>(i.ints[k + 2]) < symbols;
          break;
        case Instr::Op::Copy:
          ok = i.args.size() == 2;
          break;
        case Instr::Op::If:
          ok = i.args.size() == 1 && !i.blocks.empty();
          break;
        case Instr::Op::While:
          ok = i.blocks.size() == 2 && p.blocks[i.blocks[0]].results.size() == 1;
          break;
        case Instr::Op::Check:
          ok = i.args.size() == 1;
          break;
        case Instr::Op::CheckSizes:
          ok = i.sizes.size() == 2 && i.a >= 0 && i.a <= 2 && valid(i.sizes[0], symbols) &&
               valid(i.sizes[1], symbols);
          break;
        default:
          ok = false;
      }
      if (!ok) return program_error("an instruction");
    }
  }
  exe->block_temps_.resize(p.blocks.size());
  for (int32_t i = 0; i < buffers; ++i) {
    const BufferInfo& b = p.buffers[i];
    if (b.kind == BufferInfo::Kind::Temp && b.alias_of < 0 && !b.dynamic)
      exe->block_temps_[b.block].push_back(i);
  }
  exe->program_ = std::move(program);
  exe->constants_ = constants;
  exe->owner_ = std::move(owner);
  exe->code_ = std::move(code);
  return std::shared_ptr<const Executable>(std::move(exe));
}

Context::Context(std::shared_ptr<const Executable> executable, std::shared_ptr<ThreadPool> pool)
    : exe_(std::move(executable)), pool_(std::move(pool)) {
  const Program& p = exe_->program_;
  symbols_.resize(p.symbols.size());
  pointers_.resize(p.buffers.size());
  offsets_.resize(p.buffers.size());
  actual_dims_.resize(p.buffers.size());
  dynamic_.resize(p.buffers.size());
  workspaces_.resize(static_cast<size_t>(pool_->threads()));
  output_memory_.resize(p.outputs.size());
  bound_.resize(p.outputs.size());
  outputs_.resize(p.outputs.size());
  for (size_t i = 0; i < p.buffers.size(); ++i)
    if (p.buffers[i].kind == BufferInfo::Kind::Constant)
      pointers_[i] = const_cast<std::byte*>(exe_->constants_ + p.buffers[i].const_offset);
}

Context::~Context() = default;

int64_t Context::eval(const SizeExpr& e) const {
  int64_t stack[65];
  int n = 0;
  using Op = SizeExpr::Op;
  for (const auto& s : e.steps) {
    if (s.op == Op::Const) {
      stack[n++] = s.v;
      continue;
    }
    if (s.op == Op::Sym) {
      stack[n++] = symbols_[static_cast<size_t>(s.v)];
      continue;
    }
    int64_t b = stack[--n], a = stack[n - 1], r = 0;
    switch (s.op) {
      case Op::Add:
        r = static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
        break;
      case Op::Sub:
        r = static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
        break;
      case Op::Mul:
        r = static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
        break;
      case Op::FloorDiv:
        r = b ? a / b - (a % b != 0 && (a < 0) != (b < 0)) : 0;
        break;
      case Op::Mod:
        r = b ? (a % b + b) % b : 0;
        break;
      case Op::Min:
        r = std::min(a, b);
        break;
      default:
        r = std::max(a, b);
        break;
    }
    stack[n - 1] = r;
  }
  return stack[0];
}

std::vector<int64_t> Context::dims_of(int32_t buffer) const {
  const BufferInfo& b = exe_->program_.buffers[buffer];
  if (b.dynamic && b.alias_of < 0) return actual_dims_[buffer];
  std::vector<int64_t> d;
  d.reserve(b.dims.size());
  for (const auto& e : b.dims) d.push_back(std::max<int64_t>(eval(e), 0));
  return d;
}

int64_t Context::bytes_of(int32_t buffer) const {
  int64_t n = byte_size(exe_->program_.buffers[buffer].dtype);
  for (int64_t d : dims_of(buffer))
    if (__builtin_mul_overflow(n, d, &n)) throw std::bad_alloc();
  return n;
}

void* Context::pointer(int32_t buffer) const { return pointers_[exe_->storage_[buffer]]; }

void Context::define_dynamic(int32_t buffer, std::vector<int64_t> dims) {
  actual_dims_[buffer] = std::move(dims);
  if (!dynamic_[buffer]) dynamic_[buffer] = std::make_unique<Block>();
  dynamic_[buffer]->reserve(std::max<int64_t>(bytes_of(buffer), 64));
  pointers_[buffer] = dynamic_[buffer]->data;
}

void* Context::workspace(int worker, int64_t bytes) {
  if (bytes == 0) return nullptr;
  auto& w = workspaces_[static_cast<size_t>(worker)];
  if (!w) w = std::make_unique<Block>();
  w->reserve(bytes);
  return w->data;
}

void Context::bind_output(size_t i, void* data, size_t bytes) {
  if (i < bound_.size()) bound_[i] = {data, bytes};
}

std::shared_ptr<void> Context::take_output(size_t i) {
  int32_t o = exe_->program_.outputs[i];
  auto& block = exe_->program_.buffers[o].dynamic ? dynamic_[exe_->storage_[o]] : output_memory_[i];
  if (!block || block->data != outputs_[i].data) return nullptr;
  std::shared_ptr<Block> taken = std::move(block);
  return std::shared_ptr<void>(taken, taken->data);
}

Status Context::bind_inputs(const std::vector<TensorView>& inputs) {
  const Program& p = exe_->program_;
  if (inputs.size() != p.inputs.size())
    return Error{"input-count",
                 "the model takes " + std::to_string(p.inputs.size()) + " inputs, got " +
                     std::to_string(inputs.size()),
                 {p.model_name},
                 {}};
  Errors errors;
  std::vector<bool> bound(p.symbols.size());
  auto fail = [&](size_t input, std::string id, const std::string& what) {
    const std::string& name = p.buffers[p.inputs[input]].name;
    errors.push_back({std::move(id), "input `" + name + "`: " + what, {p.model_name}, {}});
  };
  std::vector<std::pair<size_t, size_t>> others;  // input, dimension
  for (size_t i = 0; i < inputs.size(); ++i) {
    const BufferInfo& b = p.buffers[p.inputs[i]];
    const TensorView& v = inputs[i];
    if (v.dtype != b.dtype) {
      fail(i, "input-dtype",
           "is " + std::string(name(v.dtype)) + ", the model takes " + std::string(name(b.dtype)));
      continue;
    }
    if (v.dims.size() != b.dims.size()) {
      fail(i, "input-rank",
           "has shape " + dims_text(v.dims) + " of rank " + std::to_string(v.dims.size()) +
               ", the model takes rank " + std::to_string(b.dims.size()));
      continue;
    }
    for (size_t d = 0; d < v.dims.size(); ++d) {
      const auto& steps = b.dims[d].steps;
      // A bare symbol is bound by its first dimension; "1 * s" is how one arrives.
      int32_t symbol = -1;
      for (const auto& s : steps)
        if (s.op == SizeExpr::Op::Sym) symbol = static_cast<int32_t>(s.v);
      bool bare = symbol >= 0 &&
                  (steps.size() == 1 || (steps.size() == 3 && steps[0].op == SizeExpr::Op::Const &&
                                         steps[0].v == 1 && steps[2].op == SizeExpr::Op::Mul));
      if (bare && !bound[static_cast<size_t>(symbol)]) {
        const SymbolInfo& s = p.symbols[static_cast<size_t>(symbol)];
        if (v.dims[d] < s.min || v.dims[d] > s.max)
          fail(i, "input-shape",
               "dimension " + std::to_string(d) + " (" + s.name + ") is " +
                   std::to_string(v.dims[d]) + ", the model allows " + std::to_string(s.min) +
                   " to " + (s.max == INT64_MAX ? "any size" : std::to_string(s.max)));
        symbols_[static_cast<size_t>(symbol)] = v.dims[d];
        bound[static_cast<size_t>(symbol)] = true;
        continue;
      }
      others.emplace_back(i, d);
    }
    pointers_[p.inputs[i]] = v.data;
  }
  // Expressions only now: a later input may bind what they need.
  for (auto [i, d] : others) {
    int64_t want = eval(p.buffers[p.inputs[i]].dims[d]);
    if (inputs[i].dims[d] != want)
      fail(i, "input-shape",
           "dimension " + std::to_string(d) + " is " + std::to_string(inputs[i].dims[d]) +
               ", the model takes " + std::to_string(want));
  }
  if (!errors.empty()) return errors;
  return ok_status();
}

int64_t Context::plan_block(int32_t block) {
  const Program& p = exe_->program_;
  std::vector<ArenaItem> items;
  std::vector<std::pair<bool, int32_t>> what;  // nested block? , its or the buffer's number
  for (int32_t b : exe_->block_temps_[block]) {
    items.push_back({bytes_of(b), p.buffers[b].first, p.buffers[b].last, 0});
    what.emplace_back(false, b);
  }
  const auto& instrs = p.blocks[block].instrs;
  for (size_t i = 0; i < instrs.size(); ++i)
    for (int32_t nested : instrs[i].blocks) {
      int64_t bytes = plan_block(nested);
      if (bytes == 0) continue;
      items.push_back({bytes, static_cast<int32_t>(i), static_cast<int32_t>(i), 0});
      what.emplace_back(true, nested);
    }
  if (items.empty()) return 0;
  std::vector<ArenaItem*> order;
  for (auto& i : items) order.push_back(&i);
  int64_t total = place(order);
  for (size_t i = 0; i < items.size(); ++i) {
    if (what[i].first)
      nested_offsets_.emplace_back(what[i].second, items[i].offset);
    else
      offsets_[what[i].second] = items[i].offset;
  }
  return total;
}

void Context::plan() {
  if (planned_ && planned_for_ == symbols_) return;
  const Program& p = exe_->program_;
  nested_offsets_.clear();
  arena_size_ = plan_block(0);
  if (!arena_) arena_ = std::make_unique<Block>();
  arena_->reserve(std::max<int64_t>(arena_size_, 64));
  std::vector<int64_t> base(p.blocks.size());
  // A block's parent has a smaller number, and was recorded after it: go backwards.
  std::vector<int32_t> parent(p.blocks.size(), -1);
  for (size_t b = 0; b < p.blocks.size(); ++b)
    for (const auto& i : p.blocks[b].instrs)
      for (int32_t n : i.blocks) parent[n] = static_cast<int32_t>(b);
  std::vector<int64_t> offset(p.blocks.size());
  for (auto [b, o] : nested_offsets_) offset[b] = o;
  for (size_t b = 1; b < p.blocks.size(); ++b)
    base[b] = parent[b] < 0 ? 0 : base[parent[b]] + offset[b];
  for (size_t b = 0; b < p.blocks.size(); ++b)
    for (int32_t t : exe_->block_temps_[b]) pointers_[t] = arena_->data + base[b] + offsets_[t];
  planned_for_ = symbols_;
  planned_ = true;
}

Status Context::run(const std::vector<TensorView>& inputs) {
  TF_TRY(bind_inputs(inputs));
  const Program& p = exe_->program_;
  try {
    plan();
    for (size_t i = 0; i < p.outputs.size(); ++i) {
      int32_t o = p.outputs[i];
      if (p.buffers[o].kind != BufferInfo::Kind::Output || p.buffers[o].dynamic) continue;
      int64_t bytes = bytes_of(o);
      if (bound_[i].first && static_cast<int64_t>(bound_[i].second) == bytes) {
        pointers_[o] = bound_[i].first;
        continue;
      }
      if (!output_memory_[i]) output_memory_[i] = std::make_unique<Block>();
      output_memory_[i]->reserve(std::max<int64_t>(bytes, 64));
      pointers_[o] = output_memory_[i]->data;
    }
    TF_TRY(run_block(0));
    for (size_t i = 0; i < p.outputs.size(); ++i) {
      int32_t o = p.outputs[i];
      outputs_[i] = {pointer(o), p.buffers[o].dtype, dims_of(o)};
    }
  } catch (const std::bad_alloc&) {
    return Error{"out-of-memory", "the model needs more memory than there is", {p.model_name}, {}};
  }
  return ok_status();
}

void Context::call(const Instr& i) {
  const Program& p = exe_->program_;
  const KernelInfo& k = p.kernels[i.a];
  for (int32_t r = 0; r < i.ints[0]; ++r) {
    const BufferInfo& b = p.buffers[i.args[r]];
    if (!b.dynamic || b.alias_of >= 0) continue;
    std::vector<int64_t> dims;
    for (const auto& e : b.dims) dims.push_back(std::max<int64_t>(eval(e), 0));
    define_dynamic(i.args[r], std::move(dims));
  }
  void* buffers[64];
  std::vector<void*> many;
  void** args = buffers;
  if (i.args.size() > 64) {
    many.resize(i.args.size());
    args = many.data();
  }
  for (size_t a = 0; a < i.args.size(); ++a) args[a] = pointer(i.args[a]);
  int64_t few[16];
  std::vector<int64_t> more;
  int64_t* symbols = few;
  if (k.symbols.size() > 16) {
    more.resize(k.symbols.size());
    symbols = more.data();
  }
  for (size_t s = 0; s < k.symbols.size(); ++s) symbols[s] = symbols_[k.symbols[s]];

  auto start = profile ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
  int used = 1;
  for (size_t ph = 0; ph < k.phases.size(); ++ph) {
    PhaseFunction f = exe_->phases_[i.a][ph];
    int64_t extent = eval(k.phases[ph].extent);
    if (extent <= 0) continue;
    int64_t bytes = eval(k.phases[ph].workspace);
    int parts = 1;
    if (extent > 1 && pool_->threads() > 1)
      parts = static_cast<int>(std::min<int64_t>(
          {pool_->threads(), extent, 1 + eval(k.phases[ph].cost) / kNanosecondsPerThread}));
    if (parts <= 1) {
      f(args, symbols, 0, extent, workspace(0, bytes));
      continue;
    }
    used = std::max(used, parts);
    struct Job {
      PhaseFunction f;
      void* const* args;
      const int64_t* symbols;
      void** workspaces;
    };
    void* some[64];
    std::vector<void*> all;
    int threads = pool_->threads();
    if (threads > 64) all.resize(static_cast<size_t>(threads));
    Job job{f, args, symbols, threads > 64 ? all.data() : some};
    for (int t = 0; t < threads; ++t) job.workspaces[t] = workspace(t, bytes);
    int64_t more_parts =
        std::min<int64_t>(eval(k.phases[ph].cost) / kNanosecondsPerPart, 4 * parts);
    pool_->run(
        extent, static_cast<int>(std::min(extent, std::max<int64_t>(parts, more_parts))),
        [](void* c, int64_t begin, int64_t end, int worker) {
          auto* j = static_cast<Job*>(c);
          j->f(j->args, j->symbols, begin, end, j->workspaces[worker]);
        },
        &job);
  }
  if (profile) {
    auto took = std::chrono::steady_clock::now() - start;
    auto value = [&](const SizeExpr& e) {
      return e.steps.empty() ? 0.0 : static_cast<double>(eval(e));
    };
    profile->push_back({i.a, std::chrono::duration_cast<std::chrono::nanoseconds>(took).count(),
                        used, value(k.flops), value(k.bytes)});
  }
  if (observe)
    for (int32_t r = 0; r < i.ints[0]; ++r)
      observe(i.args[r], {pointer(i.args[r]), p.buffers[i.args[r]].dtype, dims_of(i.args[r])});
}

Status Context::set_symbol(int32_t symbol, int64_t v, const std::string& where) {
  const SymbolInfo& s = exe_->program_.symbols[symbol];
  if (v < s.min || v > s.max)
    return Error{"size-out-of-bounds",
                 "a size computed at run time (" + s.name + ") is " + std::to_string(v) +
                     ", it must be from " + std::to_string(s.min) + " to " + std::to_string(s.max),
                 {where},
                 {}};
  symbols_[symbol] = v;
  return ok_status();
}

Status Context::check_sizes(const Instr& i) const {
  const int64_t a = eval(i.sizes[0]), b = eval(i.sizes[1]);
  const auto relation = static_cast<SizeRelation>(i.a);
  const bool at_most = relation == SizeRelation::AtMost;
  if (at_most ? a <= b : a == b || (relation == SizeRelation::EqualOrOne && a == 1))
    return ok_status();
  return Error{at_most ? "size-range" : "shape-mismatch",
               i.message + ", found " + std::to_string(a) + " and " + std::to_string(b),
               {i.where},
               {}};
}

Status Context::run_block(int32_t block) {
  const Program& p = exe_->program_;
  for (const Instr& i : p.blocks[block].instrs) {
    switch (i.op) {
      case Instr::Op::Call:
        call(i);
        break;
      case Instr::Op::BindSymbol: {
        int64_t v = 0;
        std::memcpy(&v, pointer(i.args[0]), sizeof v);
        TF_TRY(set_symbol(i.a, v, i.where));
        break;
      }
      case Instr::Op::BindShape:
        for (size_t k = 0; k < i.ints.size(); k += 3)
          TF_TRY(set_symbol(i.ints[k + 2], dims_of(i.ints[k])[i.ints[k + 1]], i.where));
        break;
      case Instr::Op::Copy: {
        int32_t to = i.args[1];
        const BufferInfo& b = p.buffers[to];
        if (b.dynamic && b.alias_of < 0) define_dynamic(to, dims_of(i.args[0]));
        void* d = pointer(to);
        void* s = pointer(i.args[0]);
        if (d != s) std::memcpy(d, s, static_cast<size_t>(bytes_of(i.args[0])));
        break;
      }
      case Instr::Op::If: {
        int64_t n = static_cast<int64_t>(i.blocks.size());
        int64_t pick;
        if (p.buffers[i.args[0]].dtype == DType::Bool) {
          pick = *static_cast<const uint8_t*>(pointer(i.args[0])) ? 0 : 1;
        } else {
          int32_t index = 0;
          std::memcpy(&index, pointer(i.args[0]), sizeof index);
          pick = index;
        }
        if (pick < 0 || pick >= n) pick = n - 1;
        TF_TRY(run_block(i.blocks[static_cast<size_t>(pick)]));
        break;
      }
      case Instr::Op::While: {
        int32_t condition = p.blocks[i.blocks[0]].results[0];
        for (;;) {
          TF_TRY(run_block(i.blocks[0]));
          if (!*static_cast<const uint8_t*>(pointer(condition))) break;
          TF_TRY(run_block(i.blocks[1]));
        }
        break;
      }
      case Instr::Op::Check:
        if (!*static_cast<const uint8_t*>(pointer(i.args[0])))
          return Error{"check-failed", i.message, {i.where}, {}};
        break;
      case Instr::Op::CheckSizes:
        TF_TRY(check_sizes(i));
        break;
    }
  }
  return ok_status();
}

}  // namespace tenfold::rt
