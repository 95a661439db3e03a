// Primitives on Bool and integers. Everything wraps to the type's width; nothing traps.
#include <algorithm>
#include <bit>
#include <limits>

#include "array/prim_kernels.h"

namespace tenfold::prim_detail {
namespace {

// Operations on a type of kBits kept in C. Small integers (kBits < 8) compute in their byte, with
// the result wrapped by wrap(); for the others that is the identity.
template <class C, int kBits>
struct IntOps {
  using U = std::make_unsigned_t<C>;
  static constexpr bool kSigned = std::is_signed_v<C>;
  static constexpr bool kSmall = kBits < 8;
  static constexpr U kMask = static_cast<U>(~U{0}) >> (sizeof(U) * 8 - kBits);

  static C wrap(U u) {
    if constexpr (!kSmall)
      return static_cast<C>(u);
    else if constexpr (kSigned) {
      return static_cast<C>(static_cast<C>(static_cast<U>(u << (8 - kBits))) >> (8 - kBits));
    } else {
      return static_cast<C>(u & kMask);
    }
  }
  // Arithmetic in unsigned of at least int's width: no overflow that C++ leaves undefined.
  using W = std::conditional_t<(sizeof(U) < 4), uint32_t, U>;
  static W w(C a) { return static_cast<W>(a); }
  static C from(W x) { return wrap(static_cast<U>(x)); }

  struct Neg {
    static C op(C a) { return from(W{0} - w(a)); }
  };
  struct Abs {
    static C op(C a) { return a < 0 ? from(W{0} - w(a)) : a; }
  };
  struct Sign {
    static C op(C a) { return static_cast<C>((a > 0) - (a < 0)); }
  };
  struct Not {
    static C op(C a) { return from(~w(a)); }
  };
  struct Popcnt {
    static C op(C a) { return from(W(std::popcount(U(U(a) & kMask)))); }
  };
  struct Clz {
    static C op(C a) {
      return from(W(std::countl_zero(U(U(a) & kMask)) - (int(sizeof(U)) * 8 - kBits)));
    }
  };
  struct Add {
    static C op(C a, C b) { return from(w(a) + w(b)); }
  };
  struct Sub {
    static C op(C a, C b) { return from(w(a) - w(b)); }
  };
  struct Mul {
    static C op(C a, C b) { return from(w(a) * w(b)); }
  };
  struct Div {
    static C op(C a, C b) {
      if (b == 0) return from(~W{0});
      if constexpr (kSigned) {
        if (b == -1) return from(W{0} - w(a));
      }
      return from(static_cast<W>(a / b));
    }
  };
  struct Rem {
    static C op(C a, C b) {
      if (b == 0) return a;
      if constexpr (kSigned) {
        if (b == -1) return 0;
      }
      return static_cast<C>(a % b);
    }
  };
  struct FloorDiv {
    static C op(C a, C b) {
      const C q = Div::op(a, b);
      if constexpr (kSigned) {
        if (b != 0 && (a < 0) != (b < 0) && Rem::op(a, b) != 0) return from(w(q) - 1);
      }
      return q;
    }
  };
  struct FloorMod {
    static C op(C a, C b) {
      const C r = Rem::op(a, b);
      if constexpr (kSigned) {
        if (b != 0 && r != 0 && (r < 0) != (b < 0)) return static_cast<C>(r + b);
      }
      return r;
    }
  };
  // By squaring, wrapping. A negative exponent gives what 1/x^|e| cuts to: 0 but for x = 1, -1
  // (and x = 0, where it is 0 as well).
  struct Pow {
    static C op(C a, C e) {
      if constexpr (kSigned) {
        if (e < 0) return a == 1 ? C(1) : a == C(-1) ? C((e & 1) ? -1 : 1) : C(0);
      }
      W r = 1, x = w(a);
      for (U k = static_cast<U>(U(e) & kMask); k != 0; k = static_cast<U>(k >> 1)) {
        if (k & 1) r *= x;
        x *= x;
      }
      return from(r);
    }
  };
  struct Max {
    static C op(C a, C b) { return a > b ? a : b; }
  };
  struct Min {
    static C op(C a, C b) { return a < b ? a : b; }
  };
  struct And {
    static C op(C a, C b) { return static_cast<C>(a & b); }
  };
  struct Or {
    static C op(C a, C b) { return static_cast<C>(a | b); }
  };
  struct Xor {
    static C op(C a, C b) { return static_cast<C>(a ^ b); }
  };
  static bool in_width(C b) { return !(b < 0) && static_cast<U>(b) < U(kBits); }
  struct Shl {
    static C op(C a, C b) {
      return in_width(b) ? from(w(a) << (w(b) & (sizeof(W) * 8 - 1))) : C(0);
    }
  };
  struct ShrL {
    static C op(C a, C b) {
      const W x = static_cast<W>(static_cast<U>(U(a) & kMask));
      return in_width(b) ? from(x >> (w(b) & (sizeof(W) * 8 - 1))) : C(0);
    }
  };
  // On an unsigned type the top bit is the sign, as StableHLO has it.
  struct ShrA {
    static C op(C a, C b) {
      using S = std::make_signed_t<C>;
      const S s = IntOps<S, kBits>::wrap(static_cast<U>(a));
      const int by = in_width(b) ? static_cast<int>(b) : kBits - 1;
      return wrap(static_cast<U>(s >> by));
    }
  };
  struct Fma {
    static C op(C a, C b, C c) { return from(w(a) * w(b) + w(c)); }
  };
};

template <class C, int kBits>
Kernel int_kernel_of(Prim p) {
  using O = IntOps<C, kBits>;
  switch (p) {
#define TENFOLD_U(n) \
  case Prim::n:      \
    return unary<C, C, typename O::n>;
#define TENFOLD_B(n) \
  case Prim::n:      \
    return binary<C, C, typename O::n>;
#define TENFOLD_SLOW(n) \
  case Prim::n:         \
    return binary<C, C, typename O::n, false>;
    // clang-format off
    TENFOLD_U(Neg) TENFOLD_U(Abs) TENFOLD_U(Sign) TENFOLD_U(Not) TENFOLD_U(Popcnt) TENFOLD_U(Clz)
    TENFOLD_B(Add) TENFOLD_B(Sub) TENFOLD_B(Mul) TENFOLD_B(Max) TENFOLD_B(Min)
    TENFOLD_B(And) TENFOLD_B(Or) TENFOLD_B(Xor) TENFOLD_B(Shl) TENFOLD_B(ShrL) TENFOLD_B(ShrA)
    TENFOLD_SLOW(Div) TENFOLD_SLOW(Rem) TENFOLD_SLOW(FloorDiv) TENFOLD_SLOW(FloorMod)
    TENFOLD_SLOW(Pow)
    // clang-format on
#undef TENFOLD_U
#undef TENFOLD_B
#undef TENFOLD_SLOW
                  case Prim::Eq:
    return binary<C, bool, EqOp>;
  case Prim::Ne:
    return binary<C, bool, NeOp>;
  case Prim::Lt:
  case Prim::TotalLt:
    return binary<C, bool, LtOp>;
  case Prim::Le:
    return binary<C, bool, LeOp>;
  case Prim::Gt:
    return binary<C, bool, GtOp>;
  case Prim::Ge:
    return binary<C, bool, GeOp>;
  case Prim::Fma:
    return ternary<C, typename O::Fma>;
    default : return nullptr;
  }
}

// Bool, kept as a byte of 0 or 1: Add and Max are or, Mul and Min are and (the arithmetic of
// StableHLO's i1).
struct BoolOps {
  using B = uint8_t;
  struct Not {
    static B op(B a) { return a ^ 1; }
  };
  struct And {
    static B op(B a, B b) { return a & b; }
  };
  struct Or {
    static B op(B a, B b) { return a | b; }
  };
  struct Xor {
    static B op(B a, B b) { return a ^ b; }
  };
};
Kernel bool_kernel(Prim p) {
  using B = uint8_t;
  switch (p) {
    case Prim::Not:
      return unary<B, B, BoolOps::Not>;
    case Prim::And:
    case Prim::Min:
    case Prim::Mul:
      return binary<B, B, BoolOps::And>;
    case Prim::Or:
    case Prim::Max:
    case Prim::Add:
      return binary<B, B, BoolOps::Or>;
    case Prim::Xor:
    case Prim::Ne:
      return binary<B, B, BoolOps::Xor>;
    case Prim::Eq:
      return binary<B, bool, EqOp>;
    case Prim::Lt:
    case Prim::TotalLt:
      return binary<B, bool, LtOp>;
    case Prim::Le:
      return binary<B, bool, LeOp>;
    case Prim::Gt:
      return binary<B, bool, GtOp>;
    case Prim::Ge:
      return binary<B, bool, GeOp>;
    default:
      return nullptr;
  }
}

// Select copies bytes; one loop a width serves all types.
template <class W>
void select(const void* const* args, const int64_t* strides, void* out, int64_t n) {
  const auto* c = static_cast<const uint8_t*>(args[0]);
  const W* a = static_cast<const W*>(args[1]);
  const W* b = static_cast<const W*>(args[2]);
  W* o = static_cast<W*>(out);
  const int64_t sc = strides[0], sa = strides[1], sb = strides[2];
  if constexpr (sizeof(W) <= 8) {
    if (sc == 1 && sa == 1 && sb == 1) {
      TENFOLD_VECTOR_LOOP
      for (int64_t i = 0; i < n; ++i) {
        const W x = a[i], y = b[i];
        o[i] = c[i] ? x : y;
      }
      return;
    }
  }
  for (int64_t i = 0; i < n; ++i) o[i] = c[i * sc] ? a[i * sa] : b[i * sb];
}

}  // namespace

Kernel int_kernel(Prim p, DType t) {
  switch (t) {
    case DType::Bool:
      return bool_kernel(p);
    case DType::I2:
      return int_kernel_of<int8_t, 2>(p);
    case DType::I4:
      return int_kernel_of<int8_t, 4>(p);
    case DType::I8:
      return int_kernel_of<int8_t, 8>(p);
    case DType::I16:
      return int_kernel_of<int16_t, 16>(p);
    case DType::I32:
      return int_kernel_of<int32_t, 32>(p);
    case DType::I64:
      return int_kernel_of<int64_t, 64>(p);
    case DType::U2:
      return int_kernel_of<uint8_t, 2>(p);
    case DType::U4:
      return int_kernel_of<uint8_t, 4>(p);
    case DType::U8:
      return int_kernel_of<uint8_t, 8>(p);
    case DType::U16:
      return int_kernel_of<uint16_t, 16>(p);
    case DType::U32:
      return int_kernel_of<uint32_t, 32>(p);
    case DType::U64:
      return int_kernel_of<uint64_t, 64>(p);
    default:
      return nullptr;
  }
}

Kernel select_kernel(DType t) {
  switch (byte_size(t)) {
    case 1:
      return select<uint8_t>;
    case 2:
      return select<uint16_t>;
    case 4:
      return select<uint32_t>;
    case 8:
      return select<uint64_t>;
    default:
      return select<unsigned __int128>;
  }
}

}  // namespace tenfold::prim_detail
