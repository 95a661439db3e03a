// Expressions and memory accesses; see emitter.h.
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>

#include "backends/cpu/emitter.h"

namespace tenfold::cpu {

using loop::Buffer;
using loop::Expr;
using EK = loop::ExprNode::Kind;

V KernelEmitter::scalar(const Expr& e) { return eval(e).re; }

Val KernelEmitter::eval(const Expr& e) {
  if (e->kind == EK::Const) return emit_const(g_, e->dtype, e->i, e->f, e->f2);
  if (e->kind == EK::Var) return eval_node(e);
  const MemoKey key{e.get(), piece_};
  if (auto it = memo_.find(key); it != memo_.end()) return it->second;
  Val v = eval_node(e);
  memo_[key] = v;
  memo_log_.push_back(key);
  return v;
}

V KernelEmitter::lane_iota(int64_t stride, int bits) {
  std::vector<llvm::Constant*> c;
  for (int i = 0; i < width(); ++i) {
    c.push_back(llvm::ConstantInt::get(g_.int_type(bits), static_cast<uint64_t>(i * stride), true));
  }
  return g_.wrap(width() == 1 ? c[0] : llvm::ConstantVector::get(c));
}

V KernelEmitter::index_op(Prim p, V a, V b, bool is_index, bool nonnegative) {
  auto& B = g_.b;
  auto* ca = llvm::dyn_cast<llvm::ConstantInt>(a.v);
  auto* cb = llvm::dyn_cast<llvm::ConstantInt>(b.v);
  switch (p) {
    case Prim::Add:
      if (ca && ca->isZero()) return b;
      if (cb && cb->isZero()) return a;
      g_.unify(a, b);
      return g_.wrap(B.CreateAdd(a.v, b.v, "", false, is_index));
    case Prim::Sub:
      if (cb && cb->isZero()) return a;
      g_.unify(a, b);
      return g_.wrap(B.CreateSub(a.v, b.v, "", false, is_index));
    case Prim::Mul:
      if (ca && ca->isOne()) return b;
      if (cb && cb->isOne()) return a;
      if (ca && ca->isZero()) return a;
      if (cb && cb->isZero()) return b;
      g_.unify(a, b);
      return g_.wrap(B.CreateMul(a.v, b.v, "", false, is_index));
    default:
      break;
  }
  const bool div = p == Prim::FloorDiv;
  if (cb && cb->isOne()) return div ? a : constant_i(a, 0);
  if (cb && cb->getValue().isPowerOf2()) {
    const int k = static_cast<int>(cb->getValue().logBase2());
    if (!div) return iand(a, static_cast<int64_t>(cb->getSExtValue() - 1));
    return nonnegative ? lshr(a, k) : ashr(a, k);
  }
  g_.unify(a, b);
  if (nonnegative) return g_.wrap(div ? B.CreateUDiv(a.v, b.v) : B.CreateURem(a.v, b.v));
  V r = g_.wrap(B.CreateSRem(a.v, b.v));
  V negative = r < constant_i(r, 0);
  if (!div) return select(negative, r + b, r);
  return g_.wrap(B.CreateSDiv(a.v, b.v)) - resize(negative, 64, false);
}

bool KernelEmitter::lin(const Expr& e, Lin* out) {
  if (e->dtype != DType::I64) return false;
  if (!varying(e)) {
    *out = {scalar(e), 0, {}};
    return true;
  }
  if (e->has_load) return false;
  if (e->kind == EK::Var) {
    if (e->var.get() == lanes_->facts->lane) {
      V start = g_.wrap(g_.b.getInt64(lanes_->pieces[piece_].start));
      *out = {index_op(Prim::Add, lanes_->begin, start, true, true), 1, {}};
      return true;
    }
    auto l = facts_.lets.find(e->var.get());
    return l != facts_.lets.end() && lin(l->second, out);
  }
  if (e->kind != EK::Op || e->args.size() != 2) return false;
  if (e->prim == Prim::FloorDiv || e->prim == Prim::FloorMod) {
    int64_t d = 0;
    if (!loop::is_const(e->args[1], &d) || d <= 0) return false;
    const IndexFacts::Parts p = facts_.parts(e->args[0], lanes_->facts->lane);
    if (!p.ok || p.multiple % d != 0) return false;
    Lin a;
    if (!lin(e->args[0], &a) || a.dynamic) return false;
    const bool div = e->prim == Prim::FloorDiv;
    const bool nonneg = facts_.range(e->args[0]).lo >= 0;
    V dv = g_.wrap(g_.b.getInt64(d));
    if (p.s % d == 0) {
      *out = {index_op(e->prim, a.base, dv, true, nonneg), div ? p.s / d : 0, {}};
      return true;
    }
    // The lanes must stay within one block of d. `begin` of the loop is part of U and c only when
    // it is constant, which parts() took for 0.
    int64_t begin = 0;
    auto* cb = llvm::dyn_cast<llvm::ConstantInt>(lanes_->begin.v);
    if (!cb) return false;
    begin = cb->getSExtValue() + lanes_->pieces[piece_].start;
    int64_t c = (p.c + p.s * begin) % d;
    if (c < 0) c += d;
    const int64_t last = c + p.s * (width() - 1);
    if (last < 0 || last >= d) return false;
    V base = index_op(e->prim, a.base, dv, true, nonneg);
    *out = {base, div ? 0 : p.s, {}};
    return true;
  }
  Lin a, b;
  if (e->prim != Prim::Add && e->prim != Prim::Sub && e->prim != Prim::Mul) return false;
  if (!lin(e->args[0], &a) || !lin(e->args[1], &b)) return false;
  if (e->prim == Prim::Mul) {
    if (!a.uniform()) std::swap(a, b);
    if (!a.uniform()) return false;
    out->base = index_op(Prim::Mul, a.base, b.base, true, true);
    out->stride = 0;
    out->dynamic = {};
    if (auto* c = llvm::dyn_cast<llvm::ConstantInt>(a.base.v)) {
      out->stride = b.stride * c->getSExtValue();
      if (b.dynamic) out->dynamic = index_op(Prim::Mul, b.dynamic, a.base, true, true);
    } else {
      V s = g_.wrap(g_.b.getInt64(b.stride));
      if (b.dynamic) s = index_op(Prim::Add, s, b.dynamic, true, true);
      out->dynamic = index_op(Prim::Mul, s, a.base, true, true);
    }
    return true;
  }
  const bool add = e->prim == Prim::Add;
  out->base = index_op(e->prim, a.base, b.base, true, true);
  out->stride = add ? a.stride + b.stride : a.stride - b.stride;
  out->dynamic = a.dynamic;
  if (b.dynamic) {
    V zero = g_.wrap(g_.b.getInt64(0));
    out->dynamic = index_op(e->prim, a.dynamic ? a.dynamic : zero, b.dynamic, true, true);
  }
  return true;
}

// A comparison of indices that step evenly over the lanes: small lane numbers against one bound.
Val KernelEmitter::compare_lanes(const Expr& e) {
  Lin a, b;
  if (e->args[0]->has_load || e->args[1]->has_load) return {};
  if (!lin(e->args[0], &a) || !lin(e->args[1], &b) || a.dynamic || b.dynamic) return {};
  const int64_t s = a.stride - b.stride;
  if (s == 0) {
    return emit_prim(g_, e->prim, DType::I64, {Val(a.base), Val(b.base)});
  }
  if (width() == 1) return emit_prim(g_, e->prim, DType::I64, {Val(a.base), Val(b.base)});
  const int64_t end = s * (width() - 1);
  const int64_t lo = std::min<int64_t>(0, end) - 1, hi = std::max<int64_t>(0, end) + 1;
  int bits = std::clamp(8 * g_.machine.vector_bytes / width(), 8, 32);
  while (bits < 64 && (hi >= (int64_t{1} << (bits - 1)) || lo < -(int64_t{1} << (bits - 1)))) {
    bits *= 2;
  }
  V bound = index_op(Prim::Sub, b.base, a.base, true, true);
  bound = g_.call(llvm::Intrinsic::smax, {bound, g_.wrap(g_.b.getInt64(lo))});
  bound = g_.call(llvm::Intrinsic::smin, {bound, g_.wrap(g_.b.getInt64(hi))});
  V steps = lane_iota(s, bits);
  V rhs = g_.splat(resize(bound, bits, true), width());
  switch (e->prim) {
    case Prim::Lt:
      return Val(steps < rhs);
    case Prim::Le:
      return Val(steps <= rhs);
    case Prim::Gt:
      return Val(steps > rhs);
    case Prim::Ge:
      return Val(steps >= rhs);
    case Prim::Eq:
      return Val(eq(steps, rhs));
    default:
      return Val(ne(steps, rhs));
  }
}

Val KernelEmitter::guard(const Expr& e) {
  auto& b = g_.b;
  const Expr &ce = e->args[0], &ae = e->args[1], &be = e->args[2];
  Val c = eval(ce);
  if (auto* k = llvm::dyn_cast<llvm::ConstantInt>(c.re.v)) return eval(k->isOne() ? ae : be);
  if (!ae->has_load && !be->has_load) return select_val(c.re, eval(ae), eval(be));
  if (lanes_ && varying(ce)) {
    V saved = lanes_->masks[piece_];
    V m = g_.splat(c.re, width());
    auto side = [&](const Expr& x, V cond) {
      const size_t mark = memo_mark();
      lanes_->masks[piece_] = saved ? saved & cond : cond;
      Val v = eval(x);
      lanes_->masks[piece_] = saved;
      memo_rewind(mark);
      return v;
    };
    Val x = ae->has_load ? side(ae, m) : eval(ae);
    Val y = be->has_load ? side(be, ~m) : eval(be);
    return select_val(m, x, y);
  }
  auto* yes = llvm::BasicBlock::Create(g_.ctx, "guard", fn_);
  auto* no = llvm::BasicBlock::Create(g_.ctx, "guard.else", fn_);
  auto* join = llvm::BasicBlock::Create(g_.ctx, "guard.end", fn_);
  b.CreateCondBr(c.re.v, yes, no);
  const bool wide = varying(e);
  auto side = [&](const Expr& x, llvm::BasicBlock* bb) {
    const size_t mark = memo_mark();
    b.SetInsertPoint(bb);
    Val v = eval(x);
    if (wide) {
      v.re = g_.splat(v.re, width());
      if (v.im) v.im = g_.splat(v.im, width());
    }
    memo_rewind(mark);
    bb = b.GetInsertBlock();
    b.CreateBr(join);
    return std::pair(v, bb);
  };
  auto [x, xb] = side(ae, yes);
  auto [y, yb] = side(be, no);
  b.SetInsertPoint(join);
  auto phi = [&](V p, V q) {
    llvm::PHINode* n = b.CreatePHI(p.type(), 2);
    n->addIncoming(p.v, xb);
    n->addIncoming(q.v, yb);
    return g_.wrap(n);
  };
  Val r(phi(x.re, y.re));
  if (x.im) r.im = phi(x.im, y.im);
  return r;
}

Val KernelEmitter::eval_node(const Expr& e) {
  switch (e->kind) {
    case EK::Const:
      return emit_const(g_, e->dtype, e->i, e->f, e->f2);
    case EK::Var: {
      if (lanes_ && e->var.get() == lanes_->facts->lane) {
        Lin l;
        lin(e, &l);
        return Val(index_op(Prim::Add, g_.splat(l.base, width()), lane_iota(1, 64), true, true));
      }
      auto it = vars_.find(e->var.get());
      if (it == vars_.end()) {
        fail("cpu-variable-scope", "variable " + e->var->name + " is used outside its scope");
        return emit_const(g_, e->var->dtype, 0, 0, 0);
      }
      return it->second[it->second.size() > 1 ? piece_ : 0];
    }
    case EK::Load:
      return load(e);
    case EK::Guard:
      return guard(e);
    case EK::Cast:
      return emit_cast(g_, eval(e->args[0]), e->args[0]->dtype, e->dtype);
    case EK::Bitcast:
      return emit_bitcast(g_, eval(e->args[0]), e->args[0]->dtype, e->dtype);
    case EK::Op:
      break;
  }
  const DType t = e->args[e->prim == Prim::Select ? 1 : 0]->dtype;
  if (t == DType::I64 && e->args.size() == 2) {
    switch (e->prim) {
      case Prim::Lt:
      case Prim::Le:
      case Prim::Gt:
      case Prim::Ge:
      case Prim::Eq:
      case Prim::Ne:
        if (varying(e)) {
          if (Val v = compare_lanes(e); v.re) return v;
        }
        break;
      case Prim::Add:
      case Prim::Sub:
      case Prim::Mul:
      case Prim::FloorDiv:
      case Prim::FloorMod: {
        Lin l;
        if (varying(e) && !e->has_load && width() > 1 && lin(e, &l)) {
          V steps =
              l.dynamic ? g_.splat(l.dynamic, width()) * lane_iota(1, 64) : lane_iota(l.stride, 64);
          if (l.dynamic && l.stride != 0) steps = steps + lane_iota(l.stride, 64);
          return Val(g_.splat(l.base, width()) + steps);
        }
        if (e->prim == Prim::FloorDiv || e->prim == Prim::FloorMod) {
          const Interval n = facts_.range(e->args[0]), d = facts_.range(e->args[1]);
          if (d.lo < 1) break;
          V a = scalar(e->args[0]), b = scalar(e->args[1]);
          if (n.lo >= 0 && n.hi < INT32_MAX && d.hi < INT32_MAX &&
              !llvm::isa<llvm::Constant>(a.v)) {
            return Val(
                resize(index_op(e->prim, resize(a, 32, false), resize(b, 32, false), false, true),
                       64, false));
          }
          return Val(index_op(e->prim, a, b, !e->has_load, n.lo >= 0));
        }
        return Val(index_op(e->prim, scalar(e->args[0]), scalar(e->args[1]), !e->has_load, false));
      }
      default:
        break;
    }
  }
  std::vector<Val> args;
  for (const Expr& a : e->args) args.push_back(eval(a));
  return emit_prim(g_, e->prim, t, args);
}

KernelEmitter::Address KernelEmitter::address(const Buffer& buf, const std::vector<Expr>& index) {
  const Storage& st = find(buf);
  Address a;
  V base = g_.wrap(g_.b.getInt64(0));
  V scattered;
  auto add = [&](V& to, V x) { to = to ? index_op(Prim::Add, to, x, true, true) : x; };
  for (size_t d = 0; d < index.size(); ++d) {
    Lin l;
    V s = st.strides[d];
    if (!lin(index[d], &l)) {
      V x = eval(index[d]).re;
      add(x.is_vector() ? scattered : base, index_op(Prim::Mul, x, s, false, true));
      continue;
    }
    add(base, index_op(Prim::Mul, l.base, s, true, true));
    if (l.stride != 0) {
      if (auto* c = llvm::dyn_cast<llvm::ConstantInt>(s.v))
        a.stride += l.stride * c->getSExtValue();
      else
        add(a.dynamic, index_op(Prim::Mul, g_.wrap(g_.b.getInt64(l.stride)), s, true, true));
    }
    if (l.dynamic) add(a.dynamic, index_op(Prim::Mul, l.dynamic, s, true, true));
  }
  if (st.lane_private) {
    V n = g_.wrap(g_.b.getInt64(lanes_->extent));
    base = index_op(Prim::Mul, base, n, true, true);
    base =
        index_op(Prim::Add, base, g_.wrap(g_.b.getInt64(lanes_->pieces[piece_].start)), true, true);
    a.stride = a.stride * lanes_->extent + 1;
    if (a.dynamic) a.dynamic = index_op(Prim::Mul, a.dynamic, n, true, true);
    if (scattered) scattered = index_op(Prim::Mul, scattered, n, true, true);
  }
  const int scale = is_complex(buf->dtype) ? 2 : 1;
  if (scale == 2) base = index_op(Prim::Mul, base, g_.wrap(g_.b.getInt64(2)), true, true);
  a.base = g_.wrap(g_.b.CreateInBoundsGEP(memory_type(g_, buf->dtype), st.base.v, base.v));
  if (width() == 1) {
    a.kind = Address::Kind::Uniform;
    a.stride = 0;
    a.dynamic = {};
  } else if (scattered || a.dynamic) {
    a.kind = Address::Kind::Scattered;
    V off = scattered ? scattered : g_.splat(a.dynamic, width()) * lane_iota(1, 64);
    if (scattered && a.dynamic) off = off + g_.splat(a.dynamic, width()) * lane_iota(1, 64);
    if (a.stride != 0) off = off + lane_iota(a.stride, 64);
    int64_t count = lanes_->extent;
    bool fixed = true;
    for (const Expr& n : buf->shape) {
      int64_t v = 0;
      fixed = fixed && loop::is_const(n, &v);
      count *= v;
    }
    if (fixed && count * scale < INT32_MAX) off = resize(off, 32, true);
    if (scale == 2) off = off + off;
    a.offsets = off;
  } else {
    a.kind = a.stride != 0 ? Address::Kind::Linear : Address::Kind::Uniform;
  }
  a.in_bounds = facts_.in_bounds(buf, index);
  return a;
}

V KernelEmitter::safe_pointer(V p, V active) {
  if (auto* c = llvm::dyn_cast<llvm::ConstantInt>(active.v); c && c->isOne()) return p;
  if (!dummy_) dummy_ = alloca_bytes(g_.b.getInt64Ty(), 2, "nowhere");
  return select(active, p, dummy_);
}

V KernelEmitter::load_part(const Address& a, llvm::Type* mem, int scale, int part, int part_bytes,
                           const Storage& st) {
  auto& b = g_.b;
  const llvm::Align align(static_cast<uint64_t>(part_bytes));
  V base = part ? g_.wrap(b.CreateInBoundsGEP(mem, a.base.v, b.getInt64(part))) : a.base;
  const int w = width();
  V m = mask();
  const bool whole = !lanes_ || lanes_->pieces[piece_].active == w;
  if (a.in_bounds && whole) m = {};
  if (a.kind == Address::Kind::Uniform) {
    if (m && !a.in_bounds) base = safe_pointer(base, any(m));
    return g_.wrap(annotate(b.CreateAlignedLoad(mem, base.v, align), st));
  }
  llvm::Type* vt = g_.vec(mem, w);
  const int64_t s = a.stride * scale;
  if (a.kind == Address::Kind::Linear && (s == 1 || s == -1)) {
    std::vector<int> reverse;
    for (int i = 0; i < w; ++i) reverse.push_back(w - 1 - i);
    if (s == -1) {
      base = g_.wrap(b.CreateInBoundsGEP(mem, base.v, b.getInt64(-(w - 1))));
      if (m) m = g_.wrap(b.CreateShuffleVector(m.v, reverse));
    }
    llvm::Value* v =
        m ? static_cast<llvm::Value*>(annotate(
                b.CreateMaskedLoad(vt, base.v, align, m.v, llvm::Constant::getNullValue(vt)), st))
          : annotate(b.CreateAlignedLoad(vt, base.v, align), st);
    return g_.wrap(s == -1 ? b.CreateShuffleVector(v, reverse) : v);
  }
  if (a.kind == Address::Kind::Linear && !m && s >= 2 && s <= 4 && w >= 4) {
    // The lanes lie in s consecutive registers; the last one is moved back to end with the last
    // lane, so nothing outside is touched.
    const int64_t span = (w - 1) * s + 1;
    V r;
    for (int64_t k = 0; k < s; ++k) {
      const int64_t at = std::min<int64_t>(k * w, span - w);
      V p = g_.wrap(b.CreateInBoundsGEP(mem, base.v, b.getInt64(at)));
      V l = g_.wrap(annotate(b.CreateAlignedLoad(vt, p.v, align), st));
      if (!r) {
        r = l;
        continue;
      }
      std::vector<int> pick;
      for (int i = 0; i < w; ++i) {
        const int64_t e = i * s;
        const int64_t from = std::min(e / w, s - 1);
        if (from < k)
          pick.push_back(k == 1 ? static_cast<int>(e) : i);
        else if (from == k)
          pick.push_back(static_cast<int>(w + e - at));
        else
          pick.push_back(-1);
      }
      r = g_.wrap(b.CreateShuffleVector(r.v, l.v, pick));
    }
    return r;
  }
  V off = a.kind == Address::Kind::Linear ? lane_iota(s, 32) : a.offsets;
  llvm::Value* ptrs = b.CreateInBoundsGEP(mem, base.v, off.v);
  V all = m ? m : full_mask(w);
  return g_.wrap(
      annotate(b.CreateMaskedGather(vt, ptrs, align, all.v, llvm::Constant::getNullValue(vt)), st));
}

void KernelEmitter::store_part(const Address& a, V value, int scale, int part, int part_bytes,
                               const Storage& st) {
  auto& b = g_.b;
  llvm::Type* mem = value.scalar_type();
  const llvm::Align align(static_cast<uint64_t>(part_bytes));
  V base = part ? g_.wrap(b.CreateInBoundsGEP(mem, a.base.v, b.getInt64(part))) : a.base;
  const int w = width();
  V m = mask();
  if (a.kind == Address::Kind::Uniform) {
    if (!m) {
      annotate(b.CreateAlignedStore(value.v, base.v, align), st);
      return;
    }
    auto* yes = llvm::BasicBlock::Create(g_.ctx, "store", fn_);
    auto* join = llvm::BasicBlock::Create(g_.ctx, "store.end", fn_);
    b.CreateCondBr(any(m).v, yes, join);
    b.SetInsertPoint(yes);
    annotate(b.CreateAlignedStore(value.v, base.v, align), st);
    b.CreateBr(join);
    b.SetInsertPoint(join);
    return;
  }
  value = g_.splat(value, w);
  const int64_t s = a.stride * scale;
  if (a.kind == Address::Kind::Linear && (s == 1 || s == -1)) {
    if (s == -1) {
      std::vector<int> reverse;
      for (int i = 0; i < w; ++i) reverse.push_back(w - 1 - i);
      base = g_.wrap(b.CreateInBoundsGEP(mem, base.v, b.getInt64(-(w - 1))));
      value = g_.wrap(b.CreateShuffleVector(value.v, reverse));
      if (m) m = g_.wrap(b.CreateShuffleVector(m.v, reverse));
    }
    if (m)
      annotate(b.CreateMaskedStore(value.v, base.v, align, m.v), st);
    else
      annotate(b.CreateAlignedStore(value.v, base.v, align), st);
    return;
  }
  V off = a.kind == Address::Kind::Linear ? lane_iota(s, 32) : a.offsets;
  llvm::Value* ptrs = b.CreateInBoundsGEP(mem, base.v, off.v);
  V all = m ? m : full_mask(w);
  annotate(b.CreateMaskedScatter(value.v, ptrs, align, all.v), st);
}

Val KernelEmitter::load(const Expr& e) {
  const DType t = e->buffer->dtype;
  const Address a = address(e->buffer, e->args);
  const Storage& st = find(e->buffer);
  llvm::Type* mem = memory_type(g_, t);
  if (is_complex(t)) {
    const int part = byte_size(real_of(t));
    return Val(load_part(a, mem, 2, 0, part, st), load_part(a, mem, 2, 1, part, st));
  }
  return Val(from_memory(g_, t, load_part(a, mem, 1, 0, byte_size(t), st)));
}

}  // namespace tenfold::cpu
