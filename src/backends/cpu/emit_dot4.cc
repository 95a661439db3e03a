// The dot4 intrinsics: four byte products into an i32, by the machine's instruction where it has
// one, else spelled out. Exact either way.
#include <llvm/IR/IntrinsicsAArch64.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "backends/cpu/emitter.h"

namespace tenfold::cpu {

using loop::Expr;
using EK = loop::ExprNode::Kind;

// Four consecutive bytes from an address, as one i32 a lane.
V KernelEmitter::load_four(const Expr& e) {
  auto& b = g_.b;
  Address a = address(e->buffer, e->args);
  const Storage& st = find(e->buffer);
  llvm::Type* i32 = b.getInt32Ty();
  const llvm::Align align(1);
  V m = mask();
  const int w = width();
  if (a.kind == Address::Kind::Uniform) {
    V base = m ? safe_pointer(a.base, any(m)) : a.base;
    return g_.wrap(annotate(b.CreateAlignedLoad(i32, base.v, align), st));
  }
  llvm::Type* vt = g_.vec(i32, w);
  if (a.kind == Address::Kind::Linear && a.stride == 4) {
    if (m) {
      return g_.wrap(annotate(
          b.CreateMaskedLoad(vt, a.base.v, align, m.v, llvm::Constant::getNullValue(vt)), st));
    }
    return g_.wrap(annotate(b.CreateAlignedLoad(vt, a.base.v, align), st));
  }
  V off = a.kind == Address::Kind::Linear ? lane_iota(a.stride, 32) : a.offsets;
  llvm::Value* ptrs = b.CreateInBoundsGEP(b.getInt8Ty(), a.base.v, off.v);
  V all = m ? m : full_mask(w);
  return g_.wrap(
      annotate(b.CreateMaskedGather(vt, ptrs, align, all.v, llvm::Constant::getNullValue(vt)), st));
}

namespace {

// acc + dot(u8 x, s8 y), nullptr value where there is no instruction.
V busd(Gen& g, V acc, V x, V y) {
  const int w = g.lanes(acc);
  const llvm::Intrinsic::ID id = w == 16  ? llvm::Intrinsic::x86_avx512_vpdpbusd_512
                                 : w == 8 ? llvm::Intrinsic::x86_avx512_vpdpbusd_256
                                          : llvm::Intrinsic::x86_avx512_vpdpbusd_128;
  return g.wrap(g.b.CreateIntrinsic(id, {}, {acc.v, x.v, y.v}));
}

V spelled_out(V acc, V x, V y, bool signed_x, bool signed_y) {
  for (int k = 0; k < 4; ++k) {
    auto byte = [&](V v, bool sign) {
      return sign ? ashr(shl(v, 24 - 8 * k), 24) : iand(lshr(v, 8 * k), 255);
    };
    acc = acc + byte(x, signed_x) * byte(y, signed_y);
  }
  return acc;
}

V dot(Gen& g, V acc, V x, V y, bool signed_x, bool signed_y) {
  const int w = g.lanes(acc);
  if (g.machine.vnni && (w == 16 || w == 8 || w == 4)) {
    x = g.splat(x, w);
    y = g.splat(y, w);
    if (!signed_x && signed_y) return busd(g, acc, x, y);
    V flip = constant_i(acc, static_cast<int32_t>(0x80808080));
    if (signed_x && signed_y) {  // (x + 128) y - 128 y
      V extra = busd(g, constant_i(acc, 0), flip, y);
      return busd(g, acc, x ^ flip, y) - extra;
    }
    // x (y - 128) + 128 x
    V extra = busd(g, constant_i(acc, 0), x, constant_i(acc, 0x40404040));
    return busd(g, acc, x, y ^ flip) + shl(extra, 1);
  }
  if (g.machine.dotprod && w == 4 && signed_x == signed_y) {
    x = g.splat(x, w);
    y = g.splat(y, w);
    llvm::Type* bytes = g.vec(g.int_type(8), 16);
    return g.wrap(g.b.CreateIntrinsic(
        signed_x ? llvm::Intrinsic::aarch64_neon_sdot : llvm::Intrinsic::aarch64_neon_udot,
        {acc.type(), bytes},
        {acc.v, g.b.CreateBitCast(x.v, bytes), g.b.CreateBitCast(y.v, bytes)}));
  }
  return spelled_out(acc, x, y, signed_x, signed_y);
}

}  // namespace

void KernelEmitter::dot4(const loop::Stmt& s, bool signed_a, bool signed_b) {
  const bool fits = s.args.size() == 3 && s.args[0]->kind == EK::Load &&
                    s.args[1]->kind == EK::Load && s.args[2]->kind == EK::Load &&
                    s.args[0]->dtype == DType::I32 && byte_size(s.args[1]->dtype) == 1 &&
                    byte_size(s.args[2]->dtype) == 1;
  if (!fits) return fail("cpu-dot4", s.name + " wants an i32 and two byte addresses");
  const Storage& st = find(s.args[0]->buffer);
  const int n = lanes_ ? static_cast<int>(lanes_->pieces.size()) : 1;
  for (piece_ = 0; piece_ < n; ++piece_) {
    V x = load_four(s.args[1]), y = load_four(s.args[2]);
    const Address a = address(s.args[0]->buffer, s.args[0]->args);
    V acc = load_part(a, g_.b.getInt32Ty(), 1, 0, 4, st);
    if (width() > 1) acc = g_.splat(acc, width());
    store_part(a, dot(g_, acc, x, y, signed_a, signed_b), 1, 0, 4, st);
  }
  piece_ = 0;
}

}  // namespace tenfold::cpu
