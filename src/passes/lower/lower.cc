// See lower.h. One Lowering walks the entry function's block and, for control flow, the blocks of
// its regions; each becomes a block of the program.
#include "passes/lower/lower.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <unordered_map>

#include "base/file.h"
#include "graph/check.h"
#include "passes/lower/emit_kernel.h"
#include "passes/lower/fusion_plan.h"
#include "passes/lower/loop_cost.h"
#include "passes/lower/merge_dims.h"
#include "passes/lower/schedule.h"
#include "passes/lower/sizes.h"

namespace tenfold {
namespace {

using rt::BufferInfo;
using rt::Instr;

// Equal for equal contents. Of a large constant some words stand for all: reading gigabytes here
// would cost as much as the rest of the compilation.
uint64_t content_hash(const Literal& l) {
  uint64_t h = 0x9e3779b97f4a7c15ull ^ l.byte_count();
  constexpr size_t kWords = 1024;
  const size_t words = l.byte_count() / 8, step = std::max<size_t>(words / kWords, 1);
  for (size_t i = 0; i < words; i += step) {
    uint64_t w;
    std::memcpy(&w, l.bytes() + i * 8, 8);
    h = (h ^ w) * 0xff51afd7ed558ccdull;
    h ^= h >> 32;
  }
  for (size_t i = words * 8; i < l.byte_count(); ++i)
    h = (h ^ static_cast<uint64_t>(l.bytes()[i])) * 0xff51afd7ed558ccdull;
  return h ^ static_cast<uint64_t>(l.dtype());
}

class Lowering {
 public:
  Lowering(const Module& m, const LowerOptions& o) : module_(m), options_(o) {}

  Result<Lowered> run() {
    const Function* f = module_.main();
    if (!f) return Error{"no-entry", "the module has no function to compile", {module_.source}, {}};
    rt::Program& p = out_.program;
    p.model_name = module_.name;
    p.blocks.emplace_back();
    std::vector<int32_t> shapes;
    for (const auto& a : f->body.args) {
      int b = new_buffer(a->type, BufferInfo::Kind::Input, a->name);
      buffers_[a.get()] = b;
      p.inputs.push_back(b);
      p.blocks[0].args.push_back(b);
      bind_shape(a.get(), shapes);
    }
    if (!shapes.empty()) emit(0, {.op = Instr::Op::BindShape, .ints = shapes});
    TF_TRY(lower_block(f->body, 0));
    outputs(*f);
    live_ranges();
    // Sizes only now: every symbol has its register.
    for (auto& [value_type, b] : pending_dims_)
      for (const auto& d : value_type.shape)
        p.buffers[b].dims.push_back(size_expr(d, [&](const std::string& n) { return reg(n); }));
    place_constants();
    if (!errors_.empty()) return errors_;
    return std::move(out_);
  }

 private:
  // --- buffers and symbols
  int new_buffer(const TensorType& t, BufferInfo::Kind kind, std::string name) {
    BufferInfo b;
    b.kind = kind;
    b.name = std::move(name);
    b.dtype = t.dtype;
    b.block = block_;
    out_.program.buffers.push_back(std::move(b));
    int id = static_cast<int>(out_.program.buffers.size()) - 1;
    pending_dims_.emplace_back(t, id);
    return id;
  }

  int32_t reg(const std::string& name) {
    auto it = registers_.find(name);
    TF_CHECK(it != registers_.end(), "symbol `" + name + "` is used but never bound");
    return it->second;
  }

  int32_t bind_symbol(const Symbol& s) {
    auto [it, fresh] = registers_.try_emplace(s.name, static_cast<int32_t>(registers_.size()));
    if (fresh) out_.program.symbols.push_back({s.name, s.min, s.max});
    in_scope_.push_back(s.name);
    return it->second;
  }

  bool bound(const std::string& symbol) const {
    return std::find(in_scope_.begin(), in_scope_.end(), symbol) != in_scope_.end();
  }

  // Appends (buffer, dim, register) for each dimension of `v` that is a symbol not bound so far.
  void bind_shape(const Value* v, std::vector<int32_t>& ints) {
    for (int i = 0; i < v->type.rank(); ++i) {
      SymbolRef s = v->type.shape[i].as_symbol();
      if (!s || bound(s->name)) continue;
      ints.insert(ints.end(), {buffers_.at(v), i, bind_symbol(*s)});
      if (block_ != 0 || mid_block_) late_symbols_.push_back(s->name);
    }
  }

  bool depends_on_late_symbol(const TensorType& t) const {
    std::vector<SymbolRef> used;
    for (const auto& d : t.shape) d.collect_symbols(used);
    return std::any_of(used.begin(), used.end(), [&](const SymbolRef& s) {
      return std::find(late_symbols_.begin(), late_symbols_.end(), s->name) != late_symbols_.end();
    });
  }

  int temp(const TensorType& t, std::string name) {
    int b = new_buffer(t, BufferInfo::Kind::Temp, std::move(name));
    out_.program.buffers[b].dynamic = depends_on_late_symbol(t);
    return b;
  }

  // The buffer that holds `v`; constants get theirs on first use.
  int buffer_of(const Value* v) {
    auto it = buffers_.find(v);
    if (it != buffers_.end()) return it->second;
    TF_CHECK(v->def() && v->def()->is("stablehlo.constant"), "a value has no buffer: " + v->name);
    return buffers_[v] = constant_buffer(v->def()->lit("value"), v->name);
  }

  int constant_buffer(const Literal& l, const std::string& name) {
    const uint64_t hash = content_hash(l);
    auto [first, end] = constants_by_content_.equal_range(hash);
    for (auto it = first; it != end; ++it)
      if (values_.at(it->second).value.same(l)) return it->second;
    int b = new_buffer(l.type(), BufferInfo::Kind::Constant, name);
    constants_by_content_.emplace(hash, b);
    values_[b] = {l, 0, std::nullopt};
    return b;
  }

  // Constants that some instruction reads get their places; the others (weights that stand in the
  // blob in another layout only) are dropped.
  void place_constants() {
    rt::Program& p = out_.program;
    std::vector<bool> used(p.buffers.size());
    for (const auto& block : p.blocks) {
      for (const auto& i : block.instrs)
        for (int b : i.args) used[storage(b)] = true;
      for (int b : block.results) used[storage(b)] = true;
    }
    for (auto& [b, c] : values_) {
      if (!used[b]) continue;
      c.offset = p.buffers[b].const_offset = p.const_bytes;
      size_t bytes = c.value.byte_count();
      if (c.layout) {
        bytes = static_cast<size_t>(byte_size(c.value.dtype()));
        for (int64_t d : repacked_dims(c.value.dims(), *c.layout)) bytes *= static_cast<size_t>(d);
      }
      p.const_bytes += (bytes + 63) / 64 * 64;
      out_.constants.push_back(std::move(c));
    }
    for (size_t b = 0; b < p.buffers.size(); ++b)
      if (p.buffers[b].kind == BufferInfo::Kind::Constant && !used[b]) {
        p.buffers[b].dims.assign(1, {{{rt::SizeExpr::Op::Const, 0}}});
      }
  }

  int emit(int block, Instr i) {
    auto& v = out_.program.blocks[block].instrs;
    v.push_back(std::move(i));
    return static_cast<int>(v.size()) - 1;
  }

  // --- blocks
  Status lower_block(const Block& b, int id) {
    int outer = block_;
    block_ = id;
    BlockPlan plan = plan_fusion(b, {.fuse = options_.opt_level > 0});
    std::unordered_map<const Value*, const Op*> last = last_readers(b, plan);
    for (auto& op : b.ops) {
      if (op->def->kind == OpKind::Terminator) break;
      if (is_structural(*op)) {
        TF_TRY(lower_structural(*op, id));
      } else if (auto it = plan.group_of_root.find(op.get()); it != plan.group_of_root.end()) {
        TF_TRY(lower_group(plan.groups[it->second], last, id));
      }
      mid_block_ = true;
    }
    block_ = outer;
    return ok_status();
  }

  // The op (a group's root, a structural op, the terminator) that reads each buffer last.
  std::unordered_map<const Value*, const Op*> last_readers(const Block& b, const BlockPlan& plan) {
    std::unordered_map<const Value*, const Op*> last;
    auto read_nested = [&](const Op& op) {
      for (int i = 0; i < op.num_regions(); ++i)
        walk(*op.region(i), [&](const Op* o) {
          for (const Value* v : o->operands()) last[v] = &op;
        });
    };
    for (auto& op : b.ops) {
      auto it = plan.group_of_root.find(op.get());
      if (it != plan.group_of_root.end()) {
        for (const Op* m : plan.groups[it->second].members) {
          for (const Value* v : m->operands()) last[v] = op.get();
          for (int i = 0; i < m->num_regions(); ++i)
            walk(*m->region(i), [&](const Op* o) {
              for (const Value* v : o->operands()) last[v] = op.get();
            });
        }
      } else if (is_structural(*op) || op->def->kind == OpKind::Terminator) {
        for (const Value* v : op->operands()) last[v] = op.get();
        read_nested(*op);
      }
    }
    return last;
  }

  Status lower_group(const Group& g, const std::unordered_map<const Value*, const Op*>& last,
                     int id) {
    const Op& root = *g.root;
    // A reshape on its own only renames storage.
    if (g.members.size() == 1 && root.is("stablehlo.reshape")) {
      alias(root.result(), buffer_of(root.operand()));
      return ok_status();
    }
    int in_place = -1;
    if (root.def->in_place_operand >= 0 && g.members.size() >= 1 && g.hero == &root) {
      const Value* v = root.operand(root.def->in_place_operand);
      if (may_overwrite(v, root, last)) in_place = root.def->in_place_operand;
    }
    TF_ASSIGN(EmittedKernel k, emit_kernel(g, kernel_name(g), in_place));
    std::vector<int32_t> args(k.params.size());
    for (int i = 0; i < root.num_results(); ++i) {
      const Value* v = root.result(i);
      if (in_place >= 0 && i == 0)
        alias(v, buffer_of(root.operand(in_place)));
      else
        buffers_[v] = temp(v->type, v->name);
    }
    for (size_t i = 0; i < args.size(); ++i) args[i] = buffer_of(k.params[i]);
    loop::simplify(k.kernel);
    LoopCost work = cost_of(k.kernel.body, k.kernel.symbols);
    if (options_.opt_level >= 2) {
      std::vector<Repack> repacks;
      auto is_constant = [&](int i) {
        return out_.program.buffers[args[i]].kind == BufferInfo::Kind::Constant &&
               k.params[i]->def() && k.params[i]->def()->is("stablehlo.constant");
      };
      merge_dims(k.kernel, is_constant);
      TF_TRY(schedule_kernel(k, g.hero, options_.machine, is_constant, repacks));
      for (const auto& r : repacks) args[r.param] = repacked(args[r.param], r);
    }
    add_call(id, std::move(k), std::move(args), root.num_results(), work);
    return ok_status();
  }

  int repacked(int constant, const Repack& r) {
    std::string key = std::to_string(constant) + "/" + std::to_string(r.dim) + ":" +
                      std::to_string(r.block) + "*" + std::to_string(r.group);
    for (int d : r.order) key += "," + std::to_string(d);
    if (auto it = repacked_.find(key); it != repacked_.end()) return it->second;
    const Literal& l = values_.at(constant).value;
    int b = new_buffer({l.dtype(), to_shape(repacked_dims(l.dims(), r))},
                       BufferInfo::Kind::Constant, out_.program.buffers[constant].name);
    values_[b] = {l, 0, r};
    return repacked_[key] = b;
  }

  void add_call(int id, EmittedKernel k, std::vector<int32_t> args, int32_t results,
                const LoopCost& work) {
    rt::KernelInfo info;
    info.name = k.kernel.name;
    info.origins = k.kernel.origins;
    for (const auto& s : k.symbols) info.symbols.push_back(reg(s->name));
    auto of_kernel = [&](const std::string& n) { return reg(n); };
    const rt::SizeExpr unknown{{{rt::SizeExpr::Op::Const, 0}}};
    auto estimate = [&](const loop::Expr& e) {
      return size_expr(loop::simplify(e), of_kernel).value_or(unknown);
    };
    info.flops = estimate(work.flops);
    info.bytes = estimate(work.bytes);
    for (auto [first, end] : phases(k.kernel)) {
      loop::Body part;
      for (int i = first; i < end; ++i) part.push_back(clone(*k.kernel.body[i]));
      LoopCost c = cost_of(part, k.kernel.symbols);
      rt::Phase phase;
      // A vector core retires about `lanes` scalar operations a nanosecond; memory-bound work moves
      // about 8 bytes in that time.
      int64_t lanes = std::max(1, options_.machine.vector_bytes / 4);
      phase.cost = estimate(loop::imax(loop::idiv(c.weight, loop::int_const(2 * lanes)),
                                       loop::idiv(c.bytes, loop::int_const(16))));
      info.phases.push_back(std::move(phase));
    }
    Instr call;
    call.op = Instr::Op::Call;
    call.a = static_cast<int32_t>(out_.kernels.size());
    call.args = std::move(args);
    call.ints = {results};
    out_.kernels.push_back(std::move(k.kernel));
    out_.program.kernels.push_back(std::move(info));
    emit(id, std::move(call));
  }

  void alias(const Value* v, int target) {
    int b = new_buffer(v->type, BufferInfo::Kind::Temp, v->name);
    out_.program.buffers[b].alias_of = target;
    buffers_[v] = b;
  }

  int storage(int b) const {
    while (out_.program.buffers[b].alias_of >= 0) b = out_.program.buffers[b].alias_of;
    return b;
  }

  // Whether `reader` is the last to see v's storage, which is this block's own scratch or a
  // loop-carried buffer.
  bool may_overwrite(const Value* v, const Op& reader,
                     const std::unordered_map<const Value*, const Op*>& last) {
    auto it = last.find(v);
    if (it == last.end() || it->second != &reader) return false;
    if (std::count(reader.operands().begin(), reader.operands().end(), v) != 1) return false;
    auto known = buffers_.find(v);
    if (known == buffers_.end()) return false;
    int s = storage(known->second);
    const BufferInfo& info = out_.program.buffers[s];
    if (info.kind != BufferInfo::Kind::Temp) return false;
    bool carried = v->block() && v->block() == reader.parent();
    if (info.block != block_ && !carried) return false;
    // Other names of the same storage must be dead as well.
    for (const auto& [w, b] : buffers_) {
      if (w == v || storage(b) != s) continue;
      auto l = last.find(w);
      if (l == last.end()) {
        if (w->block() == reader.parent() || (w->def() && w->def()->parent() == reader.parent()))
          continue;  // in this block and never read again
        if (carried_.count(w)) continue;
        return false;
      }
      if (l->second != &reader && !precedes(*l->second, reader)) return false;
    }
    return true;
  }

  static bool precedes(const Op& a, const Op& b) {
    if (a.parent() != b.parent()) return false;
    for (auto& op : b.parent()->ops) {
      if (op.get() == &a) return true;
      if (op.get() == &b) return false;
    }
    return false;
  }

  // --- control flow and bindings
  Status lower_structural(const Op& op, int id) {
    if (op.is("tenfold.bind_symbol")) {
      SymbolRef s = Dim::symbol(op.str("symbol"), op.i64("min"), op.i64("max")).as_symbol();
      Instr i;
      i.op = Instr::Op::BindSymbol;
      i.args = {buffer_of(op.operand())};
      i.a = bind_symbol(*s);
      i.where = op.loc.text;
      emit(id, std::move(i));
      late_symbols_.push_back(s->name);
      for (int r = 0; r < op.num_results(); ++r) alias(op.result(r), buffer_of(op.operand()));
      return ok_status();
    }
    if (op.is("tenfold.require")) {
      const SizeRule rule = rule_of(op);
      Instr i;
      i.op = Instr::Op::CheckSizes;
      i.a = static_cast<int32_t>(rule.relation);
      for (const Dim* d : {&rule.a, &rule.b})
        i.sizes.push_back(size_expr(*d, [&](const std::string& n) { return reg(n); }));
      i.message = op.str("what") + ": " + rule.str();
      i.where = op.loc.text;
      emit(id, std::move(i));
      return ok_status();
    }
    if (op.is("stablehlo.if") || op.is("stablehlo.case")) return lower_branches(op, id);
    if (op.is("stablehlo.while")) return lower_while(op, id);
    if (op.is("stablehlo.optimization_barrier")) {
      for (int i = 0; i < op.num_results(); ++i) alias(op.result(i), buffer_of(op.operand(i)));
      return ok_status();
    }
    return Error{
        "lower-unsupported",
        "`" + op.name() + "` has no lowering; it should have been inlined or refused before",
        op.loc,
        {}};
  }

  void result_buffers(const Op& op) {
    for (int i = 0; i < op.num_results(); ++i) {
      const Value* v = op.result(i);
      buffers_[v] = temp(v->type, v->name);
      for (const auto& d : v->type.shape)
        if (auto s = d.as_symbol(); s && !bound(s->name))
          out_.program.buffers[buffers_[v]].dynamic = true;
      // Sizes are what the regions give; whether they are what the type says is checked then.
      if (op.attr("bound_symbols") && v->type.rank() > 0)
        out_.program.buffers[buffers_[v]].dynamic = true;
    }
  }

  // The size of dimension `i` of `v`, unless `binding` has it, must be what its type says: the size
  // found gets a register of its own.
  void check_dim(const Op& op, const Value* v, int i, const std::vector<int32_t>& binding,
                 std::vector<int32_t>& ints, std::vector<Instr>& checks) {
    const int32_t b = buffers_.at(v);
    for (size_t k = 0; k < binding.size(); k += 3)
      if (binding[k] == b && binding[k + 1] == i) return;
    const auto found = static_cast<int32_t>(registers_.size());
    registers_["." + std::to_string(found)] = found;  // what no symbol is called
    out_.program.symbols.push_back({"found" + std::to_string(found), 0, INT64_MAX});
    ints.insert(ints.end(), {b, i, found});
    const Dim& d = v->type.shape[i];
    Instr check{.op = Instr::Op::CheckSizes};
    check.sizes = {{{{rt::SizeExpr::Op::Sym, found}}},
                   size_expr(d, [&](const std::string& n) { return reg(n); })};
    check.message = op.name() + ": dimension " + std::to_string(i) + " of " +
                    (v->name.empty() ? "a value" : v->name) + " must be " + d.str();
    check.where = op.loc.text;
    checks.push_back(std::move(check));
  }

  // Binds the symbols that `values`' types bring, and checks the sizes that these state otherwise:
  // an op with bound_symbols gives values of any size.
  void bind_and_check(const Op& op, const std::vector<const Value*>& values, int id) {
    std::vector<int32_t> ints;
    for (const Value* v : values) bind_shape(v, ints);
    std::vector<Instr> checks;
    if (op.attr("bound_symbols")) {
      const std::vector<int32_t> binding = ints;
      for (const Value* v : values)
        for (int i = 0; i < v->type.rank(); ++i) check_dim(op, v, i, binding, ints, checks);
    }
    if (!ints.empty()) emit(id, {.op = Instr::Op::BindShape, .ints = ints, .where = op.loc.text});
    for (auto& c : checks) emit(id, std::move(c));
  }

  int new_block() {
    out_.program.blocks.emplace_back();
    return static_cast<int>(out_.program.blocks.size()) - 1;
  }

  Status lower_branches(const Op& op, int id) {
    result_buffers(op);
    Instr instr;
    instr.op = Instr::Op::If;
    instr.args = {buffer_of(op.operand())};
    for (int r = 0; r < op.num_regions(); ++r) {
      int nested = new_block();
      instr.blocks.push_back(nested);
      const size_t scope = in_scope_.size();
      TF_TRY(lower_block(*op.region(r), nested));
      in_scope_.resize(scope);
      const auto& results = op.region(r)->results();
      for (size_t i = 0; i < results.size(); ++i)
        emit(nested, {.op = Instr::Op::Copy,
                      .args = {buffer_of(results[i]), buffers_[op.result(static_cast<int>(i))]}});
    }
    emit(id, std::move(instr));
    bind_results(op, id);
    return ok_status();
  }

  void bind_results(const Op& op, int id) {
    bool mid = std::exchange(mid_block_, true);
    std::vector<const Value*> results;
    for (int i = 0; i < op.num_results(); ++i) results.push_back(op.result(i));
    bind_and_check(op, results, id);
    mid_block_ = mid;
  }

  Status lower_while(const Op& op, int id) {
    result_buffers(op);
    const Block& cond = *op.region(0);
    const Block& body = *op.region(1);
    int n = op.num_operands();
    std::vector<int> carried(n);
    for (int i = 0; i < n; ++i) {
      const Value* result = op.result(i);
      carried[i] = buffers_[result];
      if (!(body.args[i]->type == op.operand(i)->type))
        out_.program.buffers[carried[i]].dynamic = true;
      emit(id, {.op = Instr::Op::Copy, .args = {buffer_of(op.operand(i)), carried[i]}});
      carried_.insert(result);
      for (const Block* b : {&cond, &body}) {
        buffers_[b->args[i].get()] = carried[i];
        carried_.insert(b->args[i].get());
      }
    }
    Instr instr;
    instr.op = Instr::Op::While;
    instr.args.assign(carried.begin(), carried.end());
    for (const Block* b : {&cond, &body}) {
      int nested = new_block();
      instr.blocks.push_back(nested);
      const size_t scope = in_scope_.size();
      int outer = std::exchange(block_, nested);
      std::vector<const Value*> args;
      for (auto& a : b->args) args.push_back(a.get());
      bind_and_check(op, args, nested);
      block_ = outer;
      TF_TRY(lower_block(*b, nested));
      in_scope_.resize(scope);
      if (b == &cond) {
        out_.program.blocks[nested].results = {buffer_of(cond.results()[0])};
      } else {
        carry_back(body, nested, carried);
      }
    }
    emit(id, std::move(instr));
    bind_results(op, id);
    return ok_status();
  }

  // body results -> carried buffers, as one parallel assignment.
  void carry_back(const Block& body, int nested, const std::vector<int>& carried) {
    const auto& results = body.results();
    std::vector<std::pair<int, int>> copies;  // from, to
    for (size_t i = 0; i < results.size(); ++i) {
      int from = buffer_of(results[i]);
      if (storage(from) == storage(carried[i])) continue;
      bool from_is_carried = std::any_of(carried.begin(), carried.end(),
                                         [&](int c) { return storage(c) == storage(from); });
      if (from_is_carried) {
        int saved = temp(results[i]->type, "");
        out_.program.buffers[saved].block = nested;
        emit(nested, {.op = Instr::Op::Copy, .args = {from, saved}});
        from = saved;
      }
      copies.emplace_back(from, carried[i]);
    }
    for (auto [from, to] : copies) emit(nested, {.op = Instr::Op::Copy, .args = {from, to}});
  }

  // --- function results
  void outputs(const Function& f) {
    rt::Program& p = out_.program;
    const auto& results = f.body.results();
    for (size_t i = 0; i < results.size(); ++i) {
      int b = buffer_of(results[i]);
      std::string name =
          i < f.result_names.size() ? f.result_names[i] : "result" + std::to_string(i);
      BufferInfo& info = p.buffers[b];
      bool own = info.kind == BufferInfo::Kind::Temp && info.alias_of < 0 && !info.dynamic &&
                 info.block == 0;
      if (own) {
        info.kind = BufferInfo::Kind::Output;
        info.name = name;
      } else {
        int o = new_buffer(results[i]->type, BufferInfo::Kind::Output, name);
        p.buffers[o].dynamic = depends_on_late_symbol(results[i]->type);
        emit(0, {.op = Instr::Op::Copy, .args = {b, o}});
        b = o;
      }
      p.outputs.push_back(b);
      p.blocks[0].results.push_back(b);
    }
  }

  // First and last instruction, in its own block, at which each buffer's storage is touched.
  void live_ranges() {
    rt::Program& p = out_.program;
    for (auto& b : p.buffers) b.first = INT32_MAX, b.last = -1;
    touch_block(0, {});
    for (size_t i = 0; i < p.buffers.size(); ++i) {
      BufferInfo& b = p.buffers[i];
      if (b.last < 0) b.first = b.last = 0;
    }
  }

  // `path`: (block, instruction) of each enclosing control instruction, outermost first.
  void touch_block(int id, std::vector<std::pair<int, int>> path) {
    const auto& instrs = out_.program.blocks[id].instrs;
    path.emplace_back(id, 0);
    for (size_t i = 0; i < instrs.size(); ++i) {
      path.back().second = static_cast<int>(i);
      for (int b : instrs[i].args) touch(b, path);
      if (instrs[i].op == Instr::Op::BindShape)
        for (size_t k = 0; k + 2 < instrs[i].ints.size() + 0; k += 3)
          touch(instrs[i].ints[k], path);
      for (int nested : instrs[i].blocks) touch_block(nested, path);
    }
    path.back().second = static_cast<int>(instrs.size());
    for (int b : out_.program.blocks[id].results) touch(b, path);
  }

  void touch(int b, const std::vector<std::pair<int, int>>& path) {
    BufferInfo& s = out_.program.buffers[storage(b)];
    for (auto [block, at] : path) {
      if (block != s.block) continue;
      s.first = std::min(s.first, at);
      s.last = std::max(s.last, at);
    }
  }

  std::string kernel_name(const Group& g) {
    std::string n;
    auto add = [&](const Op& op) {
      std::string_view full = op.def->name;
      std::string_view stem = full.substr(full.find('.') + 1);
      if (n.size() + stem.size() < 48) n += (n.empty() ? "" : "_") + std::string(stem);
    };
    if (g.hero) add(*g.hero);
    for (const Op* e : g.epilogue) add(*e);
    if (!g.hero) add(*g.root);
    return n + "_" + std::to_string(out_.kernels.size());
  }

  const Module& module_;
  const LowerOptions& options_;
  Lowered out_;
  Errors errors_;
  int block_ = 0;
  bool mid_block_ = false;
  std::unordered_map<const Value*, int> buffers_;
  std::unordered_set<const Value*> carried_;
  std::vector<std::pair<TensorType, int>> pending_dims_;
  std::map<std::string, int32_t> registers_;
  std::vector<std::string> in_scope_;  // symbols bound here or in a block around
  std::vector<std::string> late_symbols_;
  std::map<int, PlacedConstant> values_;  // by constant buffer
  std::unordered_multimap<uint64_t, int> constants_by_content_;
  std::map<std::string, int> repacked_;
};

}  // namespace

void place(const PlacedConstant& c, std::byte* blob) {
  if (c.layout) return repack(c.value, *c.layout, blob + c.offset);
  // Piece by piece, so that a mapped file and its copy never stand in memory together; pages of
  // zeros stay unwritten and so take none.
  constexpr size_t kPiece = size_t{16} << 20;
  const std::byte* from = c.value.bytes();
  for (size_t at = 0, n; at < c.value.byte_count(); at += n) {
    n = std::min(kPiece, c.value.byte_count() - at);
    const bool zero = from[at] == std::byte{0} && std::memcmp(from + at, from + at + 1, n - 1) == 0;
    if (!zero) std::memcpy(blob + c.offset + at, from + at, n);
    drop_mapped_pages(from + at, n);
  }
}

Result<Lowered> lower(const Module& m, const LowerOptions& options) {
  return Lowering(m, options).run();
}

}  // namespace tenfold
