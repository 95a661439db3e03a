// Phases and statements; see emitter.h.
#include "backends/cpu/emitter.h"

#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <functional>

namespace tenfold::cpu {

using loop::Body;
using loop::Buffer;
using loop::Expr;
using loop::LoopKind;
using loop::Scope;
using loop::Stmt;
using SK = Stmt::Kind;
using EK = loop::ExprNode::Kind;

namespace {
constexpr int64_t kMaxUnrolledWeight = 60000;
constexpr int64_t kSharedFrameBytes = 8192;
constexpr int64_t kSmallBody = 40;  // expression nodes
constexpr int64_t kFar = INT64_MAX / 4;

Expr rounded_bytes(const loop::BufferDef& b) {
  Expr n = loop::int_const(byte_size(b.dtype));
  for (const Expr& d : b.shape) n = n * d;
  return loop::idiv(n + 63, loop::int_const(64)) * 64;
}
}  // namespace

KernelEmitter::KernelEmitter(llvm::Module& m, const Machine& machine, const CodegenOptions& opt,
                             const loop::Kernel& k, std::string stem, const std::string& features,
                             const std::string& cpu)
    : g_(m.getContext(), m, machine, opt.fast_math),
      opt_(opt),
      k_(k),
      stem_(std::move(stem)),
      features_(features),
      cpu_(cpu) {
  if (opt.fast_math) {
    // Everything but the promise that NaN and infinity do not occur: they keep their meaning.
    llvm::FastMathFlags f;
    f.setAllowReassoc();
    f.setAllowContract();
    f.setAllowReciprocal();
    f.setNoSignedZeros();
    g_.b.setFastMathFlags(f);
  }
}

void KernelEmitter::fail(std::string id, std::string message) {
  errors_.push_back({std::move(id), "kernel " + k_.name + ": " + std::move(message), {}, {}});
}

Result<std::vector<PhaseCode>> KernelEmitter::run() {
  for (const auto& s : k_.symbols) facts_.ranges[s.get()] = {s->min, s->max};
  std::vector<PhaseCode> phases;
  std::vector<const Stmt*> pending;
  auto emit_phase = [&](const std::vector<const Stmt*>& stmts, bool parallel) -> Status {
    PhaseCode code;
    code.symbol = stem_ + (phases.empty() ? "" : "_" + std::to_string(phases.size()));
    TF_TRY(phase(stmts, parallel, &code));
    phases.push_back(std::move(code));
    return ok_status();
  };
  auto flush = [&]() -> Status {
    const bool works = std::any_of(pending.begin(), pending.end(), [](const Stmt* s) {
      return s->kind != SK::Let && s->kind != SK::Alloc;
    });
    if (works) TF_TRY(emit_phase(pending, false));
    pending.clear();
    return ok_status();
  };
  for (const auto& s : k_.body) {
    if (s->kind == SK::For && s->loop_kind == LoopKind::Parallel) {
      TF_TRY(flush());
      TF_TRY(emit_phase({s.get()}, true));
    } else {
      pending.push_back(s.get());
    }
    if (s->kind == SK::Let) top_lets_.push_back(s.get());
  }
  TF_TRY(flush());
  if (phases.empty()) TF_TRY(emit_phase({}, false));  // nothing to do is a function as well
  if (!errors_.empty()) return errors_;
  return phases;
}

KernelEmitter::Storage KernelEmitter::storage_of(const Buffer& b, V base) {
  Storage st;
  st.base = base;
  st.depth = static_cast<int>(loops_.size());
  V stride = g_.wrap(g_.b.getInt64(1));
  st.strides.resize(b->shape.size());
  for (size_t d = b->shape.size(); d-- > 0;) {
    st.strides[d] = stride;
    if (d > 0) stride = index_op(Prim::Mul, stride, scalar(b->shape[d]), true, true);
  }
  return st;
}

void KernelEmitter::declare_params(llvm::Function* fn) {
  auto& b = g_.b;
  llvm::LLVMContext& ctx = g_.ctx;
  llvm::MDNode* empty = llvm::MDNode::get(ctx, {});
  auto md_i64 = [&](int64_t v) {
    return llvm::MDNode::get(ctx, llvm::ConstantAsMetadata::get(b.getInt64(v)));
  };
  llvm::Value* bufs = fn->getArg(0);
  llvm::Value* syms = fn->getArg(1);
  for (size_t i = 0; i < k_.symbols.size(); ++i) {
    auto* l =
        b.CreateAlignedLoad(b.getInt64Ty(), b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), syms, i),
                            llvm::Align(8), k_.symbols[i]->name);
    l->setMetadata(llvm::LLVMContext::MD_invariant_load, empty);
    l->setMetadata(llvm::LLVMContext::MD_noundef, empty);
    const Var& s = *k_.symbols[i];
    if (s.min <= s.max && s.max < INT64_MAX && s.min > INT64_MIN) {
      llvm::MDBuilder md(ctx);
      l->setMetadata(llvm::LLVMContext::MD_range, md.createRange(llvm::APInt(64, s.min, true),
                                                                 llvm::APInt(64, s.max + 1, true)));
    }
    vars_[k_.symbols[i].get()] = {Val(g_.wrap(l))};
  }
  llvm::MDBuilder md(ctx);
  llvm::MDNode* domain = md.createAnonymousAliasScopeDomain(k_.name);
  std::vector<llvm::MDNode*> scopes;
  for (const Buffer& p : k_.params) scopes.push_back(md.createAnonymousAliasScope(domain, p->name));
  // An output may take an input's storage only when both have the same shape and element size;
  // those pairs alone may overlap.
  auto may_overlap = [&](size_t i, size_t j) {
    if (!k_.param_written[i] && !k_.param_written[j]) return false;
    const Buffer &p = k_.params[i], &q = k_.params[j];
    if (byte_size(p->dtype) != byte_size(q->dtype)) return false;
    return loop::same(rounded_bytes(*p), rounded_bytes(*q));
  };
  for (size_t i = 0; i < k_.params.size(); ++i) {
    const Buffer& p = k_.params[i];
    auto* l = b.CreateAlignedLoad(b.getPtrTy(), b.CreateConstInBoundsGEP1_64(b.getPtrTy(), bufs, i),
                                  llvm::Align(8), p->name);
    l->setMetadata(llvm::LLVMContext::MD_invariant_load, empty);
    l->setMetadata(llvm::LLVMContext::MD_noundef, empty);
    l->setMetadata(llvm::LLVMContext::MD_nonnull, empty);
    // Inputs and outputs are the caller's arrays, aligned to their element and no further.
    l->setMetadata(llvm::LLVMContext::MD_align, md_i64(byte_size(p->dtype)));
    int64_t bytes = 0;
    if (loop::is_const(rounded_bytes(*p), &bytes)) {
      bytes = byte_size(p->dtype);
      for (const Expr& d : p->shape) {
        int64_t n = 0;
        loop::is_const(d, &n);
        bytes *= n;
      }
      if (bytes > 0) l->setMetadata(llvm::LLVMContext::MD_dereferenceable, md_i64(bytes));
    }
    Storage st = storage_of(p, g_.wrap(l));
    st.scope = llvm::MDNode::get(ctx, {scopes[i]});
    std::vector<llvm::Metadata*> others;
    for (size_t j = 0; j < k_.params.size(); ++j) {
      if (j != i && !may_overlap(i, j)) others.push_back(scopes[j]);
    }
    if (!others.empty()) st.noalias = llvm::MDNode::get(ctx, others);
    buffers_[p.get()] = st;
  }
}

Status KernelEmitter::phase(const std::vector<const Stmt*>& stmts, bool parallel, PhaseCode* out) {
  auto& b = g_.b;
  llvm::Type* ptr = b.getPtrTy();
  llvm::Type* i64 = b.getInt64Ty();
  auto* type = llvm::FunctionType::get(b.getVoidTy(), {ptr, ptr, i64, i64, ptr}, false);
  fn_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, out->symbol, g_.module);
  fn_->setDSOLocal(true);
  fn_->addFnAttr(llvm::Attribute::NoUnwind);
  fn_->addFnAttr("no-builtins");
  fn_->addFnAttr("target-cpu", cpu_);
  fn_->addFnAttr("target-features", features_);
  if (g_.machine.avx512) {
    fn_->addFnAttr("prefer-vector-width", "512");
    fn_->addFnAttr("min-legal-vector-width", "512");
  }
  for (int i : {0, 1, 4}) {
    fn_->addParamAttr(i, llvm::Attribute::NoCapture);
    fn_->addParamAttr(i, llvm::Attribute::NoAlias);
  }
  fn_->getArg(0)->setName("bufs");
  fn_->getArg(1)->setName("syms");
  fn_->getArg(2)->setName("begin");
  fn_->getArg(3)->setName("end");
  fn_->getArg(4)->setName("workspace");
  entry_ = llvm::BasicBlock::Create(g_.ctx, "entry", fn_);
  auto* start = llvm::BasicBlock::Create(g_.ctx, "start", fn_);
  vars_.clear();
  buffers_.clear();
  frames_.clear();
  offsets_.clear();
  memo_clear();
  pinned_.clear();
  loops_.clear();
  lanes_ = nullptr;
  piece_ = 0;
  dummy_ = {};
  workspace_ = g_.wrap(fn_->getArg(4));
  workspace_size_ = loop::int_const(0);
  b.SetInsertPoint(start);
  declare_params(fn_);
  for (const Stmt* s : top_lets_) {
    if (std::find(stmts.begin(), stmts.end(), s) == stmts.end()) let(*s);
  }
  out->extent = loop::int_const(1);
  if (parallel) {
    const Stmt& s = *stmts[0];
    out->extent = s.extent;
    // The runtime hands out [begin, end) of the iterations counted from 0.
    V lo = g_.wrap(fn_->getArg(2)), hi = g_.wrap(fn_->getArg(3));
    V begin = index_op(Prim::Add, scalar(s.begin), lo, true, true);
    serial_loop(s, begin, hi - lo);
  } else {
    for (const Stmt* s : stmts) stmt(*s);
  }
  b.CreateRetVoid();
  b.SetInsertPoint(entry_);
  b.CreateBr(start);
  out->workspace_bytes = workspace_size_;
  if (!errors_.empty()) return errors_;
  return ok_status();
}

void KernelEmitter::body(const Body& b) {
  for (const auto& s : b) stmt(*s);
}

void KernelEmitter::stmt(const Stmt& s) {
  memo_clear();
  switch (s.kind) {
    case SK::For:
      return for_loop(s);
    case SK::While:
      return while_loop(s);
    case SK::If:
      return if_stmt(s);
    case SK::Let:
      return let(s);
    case SK::Alloc:
      return alloc(s);
    case SK::Store:
      return store(s);
    case SK::Intrinsic:
      if (s.name == "prefetch") return prefetch(s);
      if (s.name == "dot4_u8s8") return dot4(s, false, true);
      if (s.name == "dot4_s8s8") return dot4(s, true, true);
      if (s.name == "dot4_u8u8") return dot4(s, false, false);
      return fail("cpu-unknown-intrinsic", "the CPU backend has no intrinsic \"" + s.name + "\"");
  }
}

void KernelEmitter::for_loop(const Stmt& s) {
  int64_t extent = 0;
  const bool fixed = loop::is_const(s.extent, &extent);
  if (fixed && extent <= 0) return;
  switch (s.loop_kind) {
    case LoopKind::Vectorized:
      if (fixed && !lanes_) return vector_loop(s, extent);
      if (fixed && extent <= 16) return unrolled_loop(s, extent);
      break;
    case LoopKind::Unrolled:
      if (fixed && weight(s.body) * extent <= kMaxUnrolledWeight) return unrolled_loop(s, extent);
      break;
    default:
      break;
  }
  serial_loop(s, scalar(s.begin), scalar(s.extent));
}

void KernelEmitter::serial_loop(const Stmt& s, V begin, V extent) {
  auto& b = g_.b;
  const Interval br = facts_.range(s.begin), er = facts_.range(s.extent);
  facts_.ranges[s.var.get()] = {br.lo,
                                br.hi > kFar || er.hi > kFar ? INT64_MAX : br.hi + er.hi - 1};
  loops_.push_back(s.var.get());
  auto* before = b.GetInsertBlock();
  auto* loop = llvm::BasicBlock::Create(g_.ctx, s.var->name, fn_);
  auto* exit = llvm::BasicBlock::Create(g_.ctx, s.var->name + ".end", fn_);
  auto* known = llvm::dyn_cast<llvm::ConstantInt>(extent.v);
  if (known && known->getSExtValue() >= 1)
    b.CreateBr(loop);
  else
    b.CreateCondBr(b.CreateICmpSGT(extent.v, b.getInt64(0)), loop, exit);
  b.SetInsertPoint(loop);
  llvm::PHINode* i = b.CreatePHI(b.getInt64Ty(), 2, s.var->name);
  i->addIncoming(b.getInt64(0), before);
  vars_[s.var.get()] = {Val(index_op(Prim::Add, begin, g_.wrap(i), true, true))};
  body(s.body);
  llvm::Value* next = b.CreateAdd(i, b.getInt64(1), s.var->name + ".next", true, true);
  i->addIncoming(next, b.GetInsertBlock());
  b.CreateCondBr(b.CreateICmpSLT(next, extent.v), loop, exit);
  b.SetInsertPoint(exit);
  loops_.pop_back();
  memo_clear();
}

void KernelEmitter::unrolled_loop(const Stmt& s, int64_t extent) {
  V begin = scalar(s.begin);
  const Interval br = facts_.range(s.begin);
  int64_t first = 0;
  const bool fixed = loop::is_const(s.begin, &first);
  loops_.push_back(s.var.get());
  ++unrolled_;
  for (int64_t i = 0; i < extent; ++i) {
    vars_[s.var.get()] = {Val(index_op(Prim::Add, begin, g_.wrap(g_.b.getInt64(i)), true, true))};
    if (fixed)
      facts_.constants[s.var.get()] = first + i;
    else
      facts_.ranges[s.var.get()] = {br.lo, br.hi == INT64_MAX ? INT64_MAX : br.hi + i};
    body(s.body);
  }
  facts_.constants.erase(s.var.get());
  --unrolled_;
  loops_.pop_back();
  memo_clear();
}

std::vector<KernelEmitter::Piece> KernelEmitter::make_pieces(int extent, int element_bytes) const {
  const int full = std::max(1, g_.machine.vector_bytes / element_bytes);
  std::vector<Piece> p;
  int at = 0;
  for (; at + full <= extent; at += full) p.push_back({at, full, full});
  int rest = extent - at;
  if (rest > 1 && g_.machine.masked_memory) {
    int w = 2;
    while (w < rest) w *= 2;
    p.push_back({at, w, rest});
    rest = 0;
  }
  for (int w = full; rest > 0; w /= 2) {
    if (w <= rest) {
      p.push_back({at, w, w});
      at += w;
      rest -= w;
    }
  }
  return p;
}

V KernelEmitter::full_mask(int w) {
  return g_.wrap(llvm::ConstantInt::getTrue(g_.vec(g_.b.getInt1Ty(), w)));
}

void KernelEmitter::vector_loop(const Stmt& s, int64_t extent) {
  const LaneFacts facts = analyse_lanes(s);
  if (!facts.legal || extent > 4096 || extent == 1) {
    if (extent == 1) return unrolled_loop(s, 1);
    return serial_loop(s, scalar(s.begin), scalar(s.extent));
  }
  Lanes lanes;
  lanes.facts = &facts;
  lanes.begin = scalar(s.begin);
  lanes.extent = static_cast<int>(extent);
  lanes.pieces = make_pieces(lanes.extent, facts.element_bytes);
  for (const Piece& p : lanes.pieces) {
    V m;
    if (p.active < p.width) {
      std::vector<llvm::Constant*> bits;
      for (int i = 0; i < p.width; ++i) bits.push_back(g_.b.getInt1(i < p.active));
      m = g_.wrap(llvm::ConstantVector::get(bits));
    }
    lanes.masks.push_back(m);
  }
  const Interval br = facts_.range(s.begin);
  facts_.ranges[s.var.get()] = {br.lo, br.hi == INT64_MAX ? INT64_MAX : br.hi + extent - 1};
  const size_t facts_lanes_begin = loops_.size();
  loops_.push_back(s.var.get());
  lanes_ = &lanes;
  const Body* todo = &s.body;
  llvm::BasicBlock* slow = nullptr;
  // A tail's guard around the whole body: when all lanes are in, a plain body without masks; else
  // lanes under masks, or one by one where masked memory is dear. A large body, or one that stands
  // here many times over, is not worth two copies: its masks cost nothing beside it.
  const bool guarded = s.body.size() == 1 && s.body[0]->kind == SK::If &&
                       s.body[0]->else_body.empty() && facts.varying(s.body[0]->cond) &&
                       !s.body[0]->cond->has_load;
  if (guarded &&
      (!g_.machine.masked_memory || (unrolled_ == 0 && weight(s.body[0]->body) <= kSmallBody))) {
    V all = all_lanes(s.body[0]->cond);
    if (!all && !g_.machine.masked_memory) {
      for (piece_ = 0; piece_ < static_cast<int>(lanes.pieces.size()); ++piece_) {
        V m = g_.splat(condition(s.body[0]->cond), width());
        V a = m.is_vector() ? g_.wrap(g_.b.CreateAndReduce(m.v)) : m;
        all = all ? all & a : a;
      }
      piece_ = 0;
    }
    if (all) {
      auto* fast = llvm::BasicBlock::Create(g_.ctx, "all_lanes", fn_);
      slow = llvm::BasicBlock::Create(g_.ctx, "some_lanes", fn_);
      g_.b.CreateCondBr(all.v, fast, slow);
      g_.b.SetInsertPoint(fast);
      todo = &s.body[0]->body;
    }
  }
  body(*todo);
  memo_clear();
  llvm::BasicBlock* join = nullptr;
  if (slow) {
    join = llvm::BasicBlock::Create(g_.ctx, "lanes.end", fn_);
    g_.b.CreateBr(join);
    g_.b.SetInsertPoint(slow);
    if (g_.machine.masked_memory) body(s.body);
  }
  lanes_ = nullptr;
  piece_ = 0;
  loops_.resize(facts_lanes_begin);
  memo_clear();
  if (slow) {
    if (!g_.machine.masked_memory) serial_loop(s, lanes.begin, scalar(s.extent));
    g_.b.CreateBr(join);
    g_.b.SetInsertPoint(join);
  }
}

// Whether a condition holds in every lane, as a scalar, when that can be told from the first and
// the last one: comparisons of numbers that step evenly. Null otherwise.
V KernelEmitter::all_lanes(const Expr& c) {
  if (!varying(c)) return condition(c);
  if (c->kind != EK::Op || c->args.size() != 2) return {};
  if (c->prim == Prim::And) {
    V a = all_lanes(c->args[0]);
    V b = a ? all_lanes(c->args[1]) : V{};
    return b ? a & b : V{};
  }
  const bool less = c->prim == Prim::Lt || c->prim == Prim::Le;
  if ((!less && c->prim != Prim::Gt && c->prim != Prim::Ge) || c->args[0]->dtype != DType::I64) {
    return {};
  }
  // Divisions step evenly within one register only.
  std::function<bool(const Expr&)> even = [&](const Expr& e) {
    if (!varying(e)) return true;
    if (e->kind == EK::Var) {
      auto l = facts_.lets.find(e->var.get());
      return l == facts_.lets.end() || even(l->second);
    }
    if (e->kind != EK::Op ||
        (e->prim != Prim::Add && e->prim != Prim::Sub && e->prim != Prim::Mul)) {
      return false;
    }
    return even(e->args[0]) && even(e->args[1]);
  };
  Lin a, b;
  if (!even(c->args[0]) || !even(c->args[1]) || !lin(c->args[0], &a) || !lin(c->args[1], &b) ||
      a.dynamic || b.dynamic) {
    return {};
  }
  // The lane where it fails first.
  const int64_t step = a.stride - b.stride;
  const int64_t lane = (step > 0) == less ? lanes_->extent - 1 : 0;
  V x = index_op(Prim::Add, a.base, g_.wrap(g_.b.getInt64(a.stride * lane)), true, true);
  V y = index_op(Prim::Add, b.base, g_.wrap(g_.b.getInt64(b.stride * lane)), true, true);
  return emit_prim(g_, c->prim, DType::I64, {Val(x), Val(y)}).re;
}

void KernelEmitter::while_loop(const Stmt& s) {
  auto& b = g_.b;
  auto* head = llvm::BasicBlock::Create(g_.ctx, "while", fn_);
  auto* inside = llvm::BasicBlock::Create(g_.ctx, "do", fn_);
  auto* exit = llvm::BasicBlock::Create(g_.ctx, "while.end", fn_);
  b.CreateBr(head);
  b.SetInsertPoint(head);
  V c = condition(s.cond);
  b.CreateCondBr(c.v, inside, exit);
  b.SetInsertPoint(inside);
  loops_.push_back(nullptr);
  body(s.body);
  loops_.pop_back();
  b.CreateBr(head);
  b.SetInsertPoint(exit);
  memo_clear();
}

void KernelEmitter::if_stmt(const Stmt& s) {
  auto& b = g_.b;
  if (varying(s.cond)) {
    std::vector<V> saved = lanes_->masks, conds;
    const int n = static_cast<int>(lanes_->pieces.size());
    for (piece_ = 0; piece_ < n; ++piece_) conds.push_back(g_.splat(condition(s.cond), width()));
    piece_ = 0;
    auto narrow = [&](bool negate) {
      for (int i = 0; i < n; ++i) {
        V c = negate ? ~conds[i] : conds[i];
        lanes_->masks[i] = saved[i] ? saved[i] & c : c;
      }
    };
    narrow(false);
    body(s.body);
    if (!s.else_body.empty()) {
      narrow(true);
      body(s.else_body);
    }
    lanes_->masks = saved;
    memo_clear();
    return;
  }
  V c = condition(s.cond);
  auto* then_bb = llvm::BasicBlock::Create(g_.ctx, "if", fn_);
  auto* join = llvm::BasicBlock::Create(g_.ctx, "if.end", fn_);
  auto* else_bb = s.else_body.empty() ? join : llvm::BasicBlock::Create(g_.ctx, "else", fn_);
  b.CreateCondBr(c.v, then_bb, else_bb);
  b.SetInsertPoint(then_bb);
  body(s.body);
  b.CreateBr(join);
  if (else_bb != join) {
    b.SetInsertPoint(else_bb);
    memo_clear();
    body(s.else_body);
    b.CreateBr(join);
  }
  b.SetInsertPoint(join);
  memo_clear();
}

void KernelEmitter::let(const Stmt& s) {
  if (s.var->dtype == DType::I64 && !s.value->has_load) {
    facts_.lets[s.var.get()] = s.value;
    facts_.ranges.erase(s.var.get());
  }
  std::vector<Val> values;
  if (lanes_ && lanes_->facts->varying_lets.contains(s.var.get())) {
    const int n = static_cast<int>(lanes_->pieces.size());
    for (piece_ = 0; piece_ < n; ++piece_) values.push_back(eval(s.value));
    piece_ = 0;
  } else {
    values.push_back(eval(s.value));
  }
  vars_[s.var.get()] = std::move(values);
}

V KernelEmitter::alloca_bytes(llvm::Type* t, int64_t count, const std::string& name) {
  llvm::IRBuilder<> at(entry_, entry_->begin());
  auto* a = at.CreateAlloca(llvm::ArrayType::get(t, static_cast<uint64_t>(count)), nullptr, name);
  a->setAlignment(llvm::Align(64));
  return g_.wrap(a);
}

void KernelEmitter::alloc(const Stmt& s) {
  const Buffer& buf = s.buffer;
  if (buf->alias_of) {
    Storage st = storage_of(buf, find(buf->alias_of).base);
    const Storage& root = find(buf->alias_of);
    st.scope = root.scope;
    st.noalias = root.noalias;
    buffers_[buf.get()] = st;
    return;
  }
  if (buf->scope == Scope::Workspace) {
    // Copies of an unrolled body share one place.
    auto known = offsets_.find(buf.get());
    if (known == offsets_.end()) {
      known = offsets_.emplace(buf.get(), workspace_size_).first;
      const Expr size = rounded_bytes(*buf);
      pinned_.push_back(size);
      workspace_size_ = workspace_size_ + size;
      std::function<bool(const Expr&)> symbols_only = [&](const Expr& e) {
        if (e->has_load) return false;
        if (e->kind == EK::Var) {
          return std::any_of(k_.symbols.begin(), k_.symbols.end(),
                             [&](const loop::Var& v) { return v == e->var; });
        }
        return std::all_of(e->args.begin(), e->args.end(), symbols_only);
      };
      if (!symbols_only(size)) {
        fail("cpu-workspace-shape", "the size of workspace buffer " + buf->name +
                                        " depends on more than the kernel's symbols");
      }
    }
    V base = g_.wrap(
        g_.b.CreateInBoundsGEP(g_.b.getInt8Ty(), workspace_.v, scalar(known->second).v, buf->name));
    buffers_[buf.get()] = storage_of(buf, base);
    return;
  }
  if (buf->scope != Scope::Stack) {
    return fail("cpu-scope", "buffer " + buf->name + " has a scope that a CPU does not have");
  }
  int64_t count = 1;
  for (const Expr& d : buf->shape) {
    int64_t n = 0;
    if (!loop::is_const(d, &n)) {
      return fail("cpu-stack-shape", "stack buffer " + buf->name + " has no constant shape");
    }
    count *= n;
  }
  if (lanes_) count *= lanes_->extent;
  count = std::max<int64_t>(count, 1);
  llvm::Type* mem = memory_type(g_, buf->dtype);
  const int64_t bytes = count * byte_size(buf->dtype);
  if (bytes > (4 << 20)) {
    return fail("cpu-stack-size", "stack buffer " + buf->name + " has " + std::to_string(bytes) +
                                      " bytes; use Workspace");
  }
  V base;
  if (auto it = frames_.find(buf.get()); it != frames_.end()) base = it->second;
  if (!base) {
    base = alloca_bytes(mem, count * (is_complex(buf->dtype) ? 2 : 1), buf->name);
    if (bytes > kSharedFrameBytes) frames_[buf.get()] = base;
  }
  Storage st = storage_of(buf, base);
  st.lane_private = lanes_ != nullptr;
  buffers_[buf.get()] = st;
}

bool KernelEmitter::contracts(const Stmt& s) const {
  if (s.value->dtype != DType::F32 && s.value->dtype != DType::F64) return false;
  Prim p{};
  const Expr x = accumulated(s, &p);
  if (!x || p != Prim::Add || x->kind != EK::Op || x->prim != Prim::Mul) return false;
  // Only a sum over a loop: some loop since the buffer's declaration leaves its index alone.
  const auto it = buffers_.find(s.buffer.get());
  if (it == buffers_.end()) return false;
  for (size_t d = it->second.depth; d < loops_.size(); ++d) {
    if (!loops_[d]) continue;
    bool free = true;
    for (const Expr& e : s.index) free = free && !facts_.depends(e, loops_[d]);
    if (free) return true;
  }
  return false;
}

void KernelEmitter::store(const Stmt& s) {
  if (lanes_) {
    if (auto r = lanes_->facts->reductions.find(&s); r != lanes_->facts->reductions.end()) {
      return reduce_store(s, r->second);
    }
  }
  const Storage& st = find(s.buffer);
  const DType t = s.buffer->dtype;
  bool uniform = lanes_ && !st.lane_private && !varying(s.value);
  if (uniform) {
    for (const Expr& e : s.index) uniform = uniform && !varying(e);
  }
  const int n = lanes_ && !uniform ? static_cast<int>(lanes_->pieces.size()) : 1;
  const bool contract = contracts(s);
  for (piece_ = 0; piece_ < n; ++piece_) {
    Val v;
    if (contract) {
      Prim p{};
      const Expr mul = accumulated(s, &p);
      const Expr& acc = s.value->args[0] == mul ? s.value->args[1] : s.value->args[0];
      V a = eval(mul->args[0]).re, b = eval(mul->args[1]).re;
      v = Val(fma(a, b, eval(acc).re));
    } else {
      v = eval(s.value);
    }
    const Address a = address(s.buffer, s.index);
    if (is_complex(t)) {
      const int part = byte_size(real_of(t));
      store_part(a, v.re, 2, 0, part, st);
      store_part(a, v.im, 2, 1, part, st);
    } else {
      store_part(a, to_memory(g_, t, v.re), 1, 0, byte_size(t), st);
    }
  }
  piece_ = 0;
}

// All lanes' values into one place: pieces are combined lane by lane, then in halves. The order is
// fixed by the target's register width alone.
void KernelEmitter::reduce_store(const Stmt& s, Prim p) {
  const Storage& st = find(s.buffer);
  const DType t = s.buffer->dtype;
  Prim q{};
  const Expr x = accumulated(s, &q);
  const bool has_im = is_complex(t);
  Val total;
  Val whole;  // combined full pieces
  auto combine = [&](Val& into, Val v) { into = into.re ? emit_prim(g_, p, t, {into, v}) : v; };
  auto identity = [&]() -> Val {
    switch (p) {
      case Prim::Add:
        return emit_const(g_, t, 0, -0.0, -0.0);
      case Prim::Mul:
        return emit_const(g_, t, 1, 1.0, 0.0);
      case Prim::Or:
      case Prim::Xor:
        return emit_const(g_, t, 0, 0, 0);
      case Prim::And:
        return emit_const(g_, t, -1, 0, 0);
      default:
        break;
    }
    const double inf = std::numeric_limits<double>::infinity();
    if (is_float(t)) return emit_const(g_, t, 0, p == Prim::Max ? -inf : inf, 0);
    const int bits = bit_width(t);
    if (t == DType::Bool) return emit_const(g_, t, p == Prim::Min, 0, 0);
    const int64_t lo = is_signed(t) ? static_cast<int64_t>(~uint64_t{0} << (bits - 1)) : 0;
    const int64_t hi = is_signed(t) ? ~lo : static_cast<int64_t>(~uint64_t{0} >> (64 - bits));
    return emit_const(g_, t, p == Prim::Max ? lo : hi, 0, 0);
  };
  auto splat = [&](Val v) {
    v.re = g_.splat(v.re, width());
    if (v.im) v.im = g_.splat(v.im, width());
    return v;
  };
  auto tree = [&](Val v) {
    for (int w = g_.lanes(v.re); w > 1; w /= 2) {
      std::vector<int> lo, hi;
      for (int i = 0; i < w / 2; ++i) {
        lo.push_back(i);
        hi.push_back(i + w / 2);
      }
      auto part = [&](V y, const std::vector<int>& m) {
        if (w == 2) return g_.wrap(g_.b.CreateExtractElement(y.v, uint64_t(m[0])));
        return g_.wrap(g_.b.CreateShuffleVector(y.v, m));
      };
      Val a(part(v.re, lo)), b(part(v.re, hi));
      if (has_im) {
        a.im = part(v.im, lo);
        b.im = part(v.im, hi);
      }
      v = emit_prim(g_, p, t, {a, b});
    }
    return v;
  };
  const int n = static_cast<int>(lanes_->pieces.size());
  const int full = lanes_->pieces[0].width;
  for (piece_ = 0; piece_ < n; ++piece_) {
    Val v = splat(eval(x));
    if (V m = mask()) v = select_val(m, v, splat(identity()));
    if (width() == full) {
      combine(whole, v);
    } else {
      if (whole.re) {
        combine(total, tree(whole));
        whole = {};
      }
      combine(total, tree(v));
    }
  }
  piece_ = 0;
  if (whole.re) combine(total, tree(whole));
  // The target itself: read and written once, whatever the mask (its identity changes nothing).
  std::vector<V> saved = lanes_->masks;
  Address a = address(s.buffer, s.index);
  V active;
  if (!a.in_bounds && std::all_of(saved.begin(), saved.end(), [](V m) { return bool(m); })) {
    for (V m : saved) active = active ? active | any(m) : any(m);
    a.base = safe_pointer(a.base, active);
  }
  for (V& m : lanes_->masks) m = {};
  a.in_bounds = true;
  const int part = byte_size(real_of(t));
  if (has_im) {
    Val old(load_part(a, memory_type(g_, t), 2, 0, part, st),
            load_part(a, memory_type(g_, t), 2, 1, part, st));
    Val r = emit_prim(g_, p, t, {old, total});
    store_part(a, r.re, 2, 0, part, st);
    store_part(a, r.im, 2, 1, part, st);
  } else {
    Val old(from_memory(g_, t, load_part(a, memory_type(g_, t), 1, 0, byte_size(t), st)));
    Val r = emit_prim(g_, p, t, {old, total});
    store_part(a, to_memory(g_, t, r.re), 1, 0, byte_size(t), st);
  }
  lanes_->masks = saved;
}

// prefetch(address, [write 0/1], [locality 0..3])
void KernelEmitter::prefetch(const Stmt& s) {
  if (s.args.empty() || s.args[0]->kind != EK::Load) {
    return fail("cpu-prefetch", "prefetch wants a Load as its address");
  }
  int64_t write = 0, locality = 3;
  if (s.args.size() > 1) loop::is_const(s.args[1], &write);
  if (s.args.size() > 2) loop::is_const(s.args[2], &locality);
  const Address a = address(s.args[0]->buffer, s.args[0]->args);
  if (a.kind == Address::Kind::Scattered) return;
  g_.b.CreateIntrinsic(llvm::Intrinsic::prefetch, {g_.b.getPtrTy()},
                       {a.base.v, g_.b.getInt32(static_cast<uint32_t>(write)),
                        g_.b.getInt32(static_cast<uint32_t>(locality)), g_.b.getInt32(1)});
}

const KernelEmitter::Storage& KernelEmitter::find(const Buffer& b) {
  auto it = buffers_.find(b.get());
  if (it != buffers_.end()) return it->second;
  if (b->alias_of) {  // a view of a parameter needs no declaration
    const Storage& root = find(b->alias_of);
    Storage st = storage_of(b, root.base);
    st.scope = root.scope;
    st.noalias = root.noalias;
    st.lane_private = root.lane_private;
    return buffers_[b.get()] = st;
  }
  fail("cpu-buffer-scope", "buffer " + b->name + " is used outside the phase that declares it");
  return buffers_[b.get()] = storage_of(b, g_.wrap(llvm::PoisonValue::get(g_.b.getPtrTy())));
}

void KernelEmitter::memo_clear() {
  memo_.clear();
  memo_log_.clear();
}
void KernelEmitter::memo_rewind(size_t mark) {
  while (memo_log_.size() > mark) {
    memo_.erase(memo_log_.back());
    memo_log_.pop_back();
  }
}

}  // namespace tenfold::cpu
