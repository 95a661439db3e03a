// See values.h.
#include "backends/tpu/values.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "array/floats.h"

namespace tenfold::tpu {

bool Sx::terms_divide(int64_t by) const {
  return std::all_of(terms.begin(), terms.end(), [&](const auto& t) { return t.second % by == 0; });
}
Sx operator+(const Sx& a, const Sx& b) {
  Sx r = a;
  r.c += b.c;
  for (const auto& [s, k] : b.terms) {
    auto it = std::find_if(r.terms.begin(), r.terms.end(),
                           [&](const auto& t) { return t.first.id == s.id; });
    if (it == r.terms.end())
      r.terms.emplace_back(s, k);
    else if ((it->second += k) == 0)
      r.terms.erase(it);
  }
  return r;
}
Sx operator*(const Sx& a, int64_t k) {
  if (k == 0) return 0;
  Sx r = a;
  r.c *= k;
  for (auto& t : r.terms) t.second *= k;
  return r;
}
Sx operator-(const Sx& a, const Sx& b) { return a + b * -1; }

code::Arg to_arg(code::Builder& b, const Sx& s) {
  if (s.is_const()) return code::Arg(s.c);
  return code::Arg(to_scalar(b, s));
}
code::Scalar to_scalar(code::Builder& b, const Sx& s) {
  if (s.is_const()) return b.constant(static_cast<int32_t>(s.c));
  std::optional<code::Scalar> sum;
  for (const auto& [r, k] : s.terms) {
    const code::Scalar t = k == 1 ? r : r * code::Arg(k);
    sum = sum ? *sum + code::Arg(t) : t;
  }
  return s.c ? *sum + code::Arg(s.c) : *sum;
}
namespace {
int64_t floor_of(int64_t a, int64_t by) { return a >= 0 ? a / by : -((-a + by - 1) / by); }
}  // namespace
Sx floor_div(code::Builder& b, const Sx& s, int64_t by) {
  if (s.terms_divide(by)) {
    Sx r;
    for (const auto& [t, k] : s.terms) r.terms.emplace_back(t, k / by);
    r.c = floor_of(s.c, by);
    return r;
  }
  return Sx(b.scl(Op::SSra, to_arg(b, s), std::countr_zero(static_cast<uint64_t>(by))));
}
Sx floor_mod(code::Builder& b, const Sx& s, int64_t by) {
  if (s.terms_divide(by)) return s.c - floor_of(s.c, by) * by;
  return Sx(b.scl(Op::SAnd, to_arg(b, s), by - 1));
}

size_t units(const Val& x) {
  switch (x.kind) {
    case Val::Kind::Vec:
      return x.v.size();
    case Val::Kind::Packed:
      return x.v.size() * static_cast<size_t>(pack_of(x.dtype));
    case Val::Kind::Mask:
      return x.m.size();
    default:
      return 1;
  }
}

namespace {

bool is_word(DType t) { return bit_width(t) == 32; }
bool small_int(DType t) { return is_integer(t) && bit_width(t) < 32; }

std::string text(DType t) { return std::string(name(t)); }

}  // namespace

code::Arg Values::arg(const Sx& s) { return to_arg(b_, s); }

Vector Values::splat_bits(uint32_t bits) {
  return b_.vec(Op::VSplat, static_cast<int>(static_cast<int32_t>(bits)));
}
Vector Values::splat(const Sx& s) { return b_.vec(Op::VSplat, arg(s)); }
Mask Values::lanes_below(const Sx& n) { return b_.msk(Op::MLaneLt, arg(n)); }
Mask Values::rows_below(const Sx& n) { return b_.msk(Op::MSubLt, arg(n)); }

Val Values::constant(DType t, double f, int64_t i) {
  Val r;
  r.kind = Val::Kind::Const;
  r.dtype = t;
  if (is_float(t))
    r.bits = std::bit_cast<uint32_t>(static_cast<float>(f));
  else
    r.bits = static_cast<uint32_t>(static_cast<int32_t>(i));
  return r;
}

Vector Values::vec(const Val& x, size_t u) {
  switch (x.kind) {
    case Val::Kind::Const:
      return splat_bits(x.bits);
    case Val::Kind::Index:
      return splat(x.index);
    case Val::Kind::Vec:
      if (x.v.empty()) break;
      return x.v[x.v.size() == 1 ? 0 : std::min(u, x.v.size() - 1)];
    case Val::Kind::Packed: {
      if (x.v.empty()) break;
      const auto n = static_cast<size_t>(pack_of(x.dtype));
      return unpack(x.dtype, x.v[std::min(u / n, x.v.size() - 1)], static_cast<int64_t>(u % n));
    }
    case Val::Kind::Mask:
      if (x.m.empty()) break;
      return b_.vec(Op::VSel, x.m[x.m.size() == 1 ? 0 : u], splat_bits(1), splat_bits(0));
    case Val::Kind::None:
      break;
  }
  refuse("a value is missing");
  return splat_bits(0);
}

Mask Values::mask(const Val& x, size_t u) {
  if (x.kind == Val::Kind::Mask && !x.m.empty())
    return x.m[x.m.size() == 1 ? 0 : std::min(u, x.m.size() - 1)];
  if (x.kind == Val::Kind::Const) return b_.msk(Op::MLaneLt, x.bits ? kLanes : 0);
  if (x.kind == Val::Kind::Index) return b_.msk(Op::MLaneLt, arg(x.index * kLanes));
  return b_.msk(Op::VNeI, vec(x, u), splat_bits(0));
}

Vector Values::unpack(DType t, Vector word, int64_t part) {
  switch (t) {
    case DType::BF16:
      return b_.vec(part ? Op::VUnpackHiB : Op::VUnpackLoB, word);
    case DType::I16:
      return b_.vec(part ? Op::VUnpackHiH : Op::VUnpackLoH, word);
    case DType::U16:
      return b_.vec(Op::VAnd, b_.vec(part ? Op::VUnpackHiH : Op::VUnpackLoH, word),
                    splat_bits(0xffff));
    case DType::I8:
      return b_.vec(Op::VUnpack4, word, static_cast<int>(part));
    case DType::U8:
    case DType::Bool:
      return b_.vec(Op::VUnpack4U, word, static_cast<int>(part));
    default:
      return word;
  }
}

Vector Values::pack(DType t, const std::vector<Vector>& parts) {
  if (parts.size() == 1) return parts[0];
  if (t == DType::BF16) return b_.vec(Op::VPackB, parts[0], parts[1]);
  if (parts.size() == 2) return b_.vec(Op::VPackH, parts[0], parts[1]);
  return b_.vec(Op::VPack2B, b_.vec(Op::VPackH, parts[0], parts[1]),
                b_.vec(Op::VPackH, parts[2], parts[3]));
}

Vector Values::packed(const Val& x, size_t k) {
  if (x.kind == Val::Kind::Packed && !x.v.empty())
    return x.v[x.v.size() == 1 ? 0 : std::min(k, x.v.size() - 1)];
  const size_t n = units(x), p = static_cast<size_t>(pack_of(x.dtype));
  std::vector<Vector> parts;
  for (size_t u = k * p; u < (k + 1) * p; ++u)
    parts.push_back(vec(x, n == 1 ? 0 : std::min(u, n - 1)));
  return pack(x.dtype, parts);
}

Vector Values::wrap(DType t, Vector x) {
  if (!small_int(t)) return x;
  const Vector by = splat_bits(static_cast<uint32_t>(32 - bit_width(t)));
  return b_.vec(is_signed(t) ? Op::VSra : Op::VShr, b_.vec(Op::VShl, x, by), by);
}

Vector Values::unary(Prim p, DType t, Vector x) {
  auto bad = [&]() {
    refuse("the chip has no instruction for " + std::string(name(p)) + " on " + text(t));
    return x;
  };
  auto op1 = [&](Op o) { return b_.vec(o, x); };
  auto bits = [&](float f) { return splat_bits(std::bit_cast<uint32_t>(f)); };
  if (is_float(t)) {
    switch (p) {
      case Prim::Neg:
        return op1(Op::VNegF);
      case Prim::Abs:
        return op1(Op::VAbsF);
      case Prim::Floor:
        return op1(Op::VFloorF);
      case Prim::Ceil:
        return op1(Op::VCeilF);
      case Prim::RoundEven:
        return op1(Op::VRoundF);
      case Prim::RoundAfz: {
        // trunc(x), one further from zero where the rest is half or more; the sign of x kept.
        Vector whole = op1(Op::VTruncF);
        Vector rest = b_.vec(Op::VAbsF, b_.vec(Op::VSubF, x, whole));
        Vector sign = b_.vec(Op::VAnd, x, splat_bits(0x80000000u));
        Vector step = b_.vec(Op::VOr, sign, bits(1));
        return b_.vec(Op::VSel, b_.msk(Op::VLeF, bits(0.5f), rest), b_.vec(Op::VAddF, whole, step),
                      whole);
      }
      case Prim::Sign: {
        Vector r = b_.vec(Op::VSel, b_.msk(Op::VLtF, bits(0), x), bits(1), x);
        return b_.vec(Op::VSel, b_.msk(Op::VLtF, x, bits(0)), bits(-1), r);
      }
      case Prim::Sqrt:
        return op1(Op::VSqrt);
      case Prim::Rsqrt:
        return op1(Op::VRsqrt);
      case Prim::Cbrt:
        return op1(Op::VCbrt);
      case Prim::Exp:
        return op1(Op::VExp);
      case Prim::Expm1:
        return op1(Op::VExpm1);
      case Prim::Log:
        return op1(Op::VLog);
      case Prim::Log1p:
        return op1(Op::VLog1p);
      case Prim::Logistic:
        return op1(Op::VLogistic);
      case Prim::Sin:
        return op1(Op::VSin);
      case Prim::Cos:
        return op1(Op::VCos);
      case Prim::Tan:
        return op1(Op::VTan);
      case Prim::Tanh:
        return op1(Op::VTanh);
      case Prim::Erf:
        return op1(Op::VErf);
      default:
        return bad();
    }
  }
  if (!is_integer(t)) return bad();
  switch (p) {
    case Prim::Neg:
      return b_.vec(Op::VSubI, splat_bits(0), x);
    case Prim::Abs:
      return is_signed(t) ? b_.vec(Op::VMaxI, x, b_.vec(Op::VSubI, splat_bits(0), x)) : x;
    case Prim::Sign:
      return is_signed(t) ? b_.vec(Op::VMinI, splat_bits(1), b_.vec(Op::VMaxI, splat_bits(~0u), x))
                          : b_.vec(Op::VMinU, splat_bits(1), x);
    case Prim::Not:
      return b_.vec(Op::VNot, x);
    case Prim::Popcnt:
      if (!is_word(t)) return bad();
      return op1(Op::VPopcnt);
    case Prim::Clz:
      if (!is_word(t)) return bad();
      return op1(Op::VClz);
    default:
      return bad();
  }
}

Vector Values::binary(Prim p, DType t, Vector x, Vector y) {
  auto bad = [&]() {
    refuse("the chip has no instruction for " + std::string(name(p)) + " on " + text(t));
    return x;
  };
  auto op2 = [&](Op o) { return b_.vec(o, x, y); };
  if (is_float(t)) {
    switch (p) {
      case Prim::Add:
        return op2(Op::VAddF);
      case Prim::Sub:
        return op2(Op::VSubF);
      case Prim::Mul:
        return op2(Op::VMulF);
      case Prim::Div:
        return op2(Op::VDivF);
      case Prim::Rem:
        return op2(Op::VRemF);
      case Prim::Max:
        return op2(Op::VMaxF);
      case Prim::Min:
        return op2(Op::VMinF);
      case Prim::Pow:
        return op2(Op::VPow);
      case Prim::Atan2:
        return op2(Op::VAtan2);
      default:
        return bad();
    }
  }
  const bool sign = is_signed(t);
  switch (p) {
    case Prim::Add:
      return op2(Op::VAddI);
    case Prim::Sub:
      return op2(Op::VSubI);
    case Prim::Mul:
      return op2(Op::VMulI);
    case Prim::Div:
      return op2(sign ? Op::VDivI : Op::VDivU);
    case Prim::Rem:
      return op2(sign ? Op::VRemI : Op::VRemU);
    case Prim::Max:
      return op2(sign ? Op::VMaxI : Op::VMaxU);
    case Prim::Min:
      return op2(sign ? Op::VMinI : Op::VMinU);
    case Prim::And:
      return op2(Op::VAnd);
    case Prim::Or:
      return op2(Op::VOr);
    case Prim::Xor:
      return op2(Op::VXor);
    case Prim::Shl:
      return is_word(t) ? op2(Op::VShl) : bad();
    case Prim::ShrL:
      return is_word(t) ? op2(Op::VShr) : bad();
    case Prim::ShrA:
      return is_word(t) ? op2(Op::VSra) : bad();
    default:
      return bad();
  }
}

std::optional<Mask> Values::compare(Prim p, DType t, Vector x, Vector y) {
  if (p == Prim::Gt || p == Prim::Ge) {
    std::swap(x, y);
    p = p == Prim::Gt ? Prim::Lt : Prim::Le;
  }
  const bool f = is_float(t), u = is_unsigned(t) || t == DType::Bool;
  switch (p) {
    case Prim::Eq:
      return b_.msk(f ? Op::VEqF : Op::VEqI, x, y);
    case Prim::Ne:
      return b_.msk(f ? Op::VNeF : Op::VNeI, x, y);
    case Prim::Lt:
      return b_.msk(f ? Op::VLtF : u ? Op::VLtU : Op::VLtI, x, y);
    case Prim::Le:
      return b_.msk(f ? Op::VLeF : u ? Op::VLeU : Op::VLeI, x, y);
    default:
      return std::nullopt;
  }
}

bool Values::packed_op(Prim p, size_t arity, code::Instr* op) const {
  Op o = Op::Halt;
  if (arity == 2 && chip_.bf16_valu) {
    switch (p) {
      case Prim::Add:
        o = Op::VAddB;
        break;
      case Prim::Sub:
        o = Op::VSubB;
        break;
      case Prim::Mul:
        o = Op::VMulB;
        break;
      case Prim::Max:
        o = Op::VMaxB;
        break;
      case Prim::Min:
        o = Op::VMinB;
        break;
      default:
        break;
    }
  }
  if (arity == 1 && chip_.bf16_eup) {
    switch (p) {
      case Prim::Exp:
        o = Op::VExpB;
        break;
      case Prim::Log:
        o = Op::VLogB;
        break;
      case Prim::Tanh:
        o = Op::VTanhB;
        break;
      case Prim::Logistic:
        o = Op::VLogisticB;
        break;
      case Prim::Rsqrt:
        o = Op::VRsqrtB;
        break;
      default:
        break;
    }
  }
  op->op = o;
  return o != Op::Halt;
}

// Index arithmetic on the scalar core.
Val Values::index_op(Prim p, const std::vector<Val>& args, DType result) {
  auto scalar = [&](const Val& v) {
    return v.kind == Val::Kind::Const ? Sx(static_cast<int32_t>(v.bits)) : v.index;
  };
  const Sx x = scalar(args[0]), y = args.size() > 1 ? scalar(args[1]) : Sx();
  Val r;
  r.kind = Val::Kind::Index;
  r.dtype = result;
  auto two = [&](Op o, const Sx& a, const Sx& b) { return Sx(b_.scl(o, arg(a), arg(b))); };
  switch (p) {
    case Prim::Add:
      r.index = x + y;
      return r;
    case Prim::Sub:
      r.index = x - y;
      return r;
    case Prim::Neg:
      r.index = x * -1;
      return r;
    case Prim::Mul:
      r.index = y.is_const() ? x * y.c : x.is_const() ? y * x.c : two(Op::SMul, x, y);
      return r;
    case Prim::FloorDiv:
    case Prim::FloorMod: {
      // By a positive constant: the remainder is made positive first.
      if (!y.is_const() || y.c <= 0) break;
      if (x.is_const()) {
        const int64_t q = x.c >= 0 ? x.c / y.c : -((-x.c + y.c - 1) / y.c);
        r.index = p == Prim::FloorDiv ? q : x.c - q * y.c;
        return r;
      }
      const bool power = (y.c & (y.c - 1)) == 0;
      if (power) {
        const int64_t by = std::countr_zero(static_cast<uint64_t>(y.c));
        r.index = p == Prim::FloorDiv ? two(Op::SSra, x, by) : two(Op::SAnd, x, y.c - 1);
        return r;
      }
      const Sx rem = two(Op::SRem, x, y);
      const Sx neg = two(Op::SLt, rem, 0);
      if (p == Prim::FloorDiv)
        r.index = two(Op::SDiv, x, y) - neg;
      else
        r.index = rem + Sx(b_.scl(Op::SMul, arg(neg), arg(y)));
      return r;
    }
    case Prim::Min:
      r.index = two(Op::SMin, x, y);
      return r;
    case Prim::Max:
      r.index = two(Op::SMax, x, y);
      return r;
    case Prim::Eq:
      r.index = two(Op::SEq, x, y);
      return r;
    case Prim::Ne:
      r.index = two(Op::SNe, x, y);
      return r;
    case Prim::Lt:
      r.index = two(Op::SLt, x, y);
      return r;
    case Prim::Le:
      r.index = two(Op::SLe, x, y);
      return r;
    case Prim::Gt:
      r.index = two(Op::SLt, y, x);
      return r;
    case Prim::Ge:
      r.index = two(Op::SLe, y, x);
      return r;
    case Prim::And:
      r.index = two(Op::SAnd, x, y);
      return r;
    case Prim::Or:
      r.index = two(Op::SOr, x, y);
      return r;
    case Prim::Not:
      if (result != DType::Bool) break;
      r.index = two(Op::SXor, x, 1);
      return r;
    case Prim::Select: {
      r.index = Sx(b_.scl(Op::SSel, to_scalar(b_, x), arg(scalar(args[1])), arg(scalar(args[2]))));
      return r;
    }
    default:
      break;
  }
  refuse("index arithmetic with " + std::string(name(p)) + " has no form on the scalar core");
  return r;
}

Val Values::apply(Prim p, const std::vector<Val>& args, DType result) {
  const DType t = args.back().dtype;
  auto scalar_like = [&](const Val& v) {
    return v.kind == Val::Kind::Index || (v.kind == Val::Kind::Const && !is_float(v.dtype));
  };
  const bool indices = std::all_of(args.begin(), args.end(), scalar_like);
  const bool any_index = std::any_of(args.begin(), args.end(),
                                     [](const Val& v) { return v.kind == Val::Kind::Index; });
  if (indices && any_index && (t == DType::I64 || t == DType::I32 || t == DType::Bool))
    return index_op(p, args, result);
  if (p == Prim::Select) return select(args[0], args[1], args[2]);
  if (is_complex(t) || t == DType::F64 || t == DType::F16 || (is_float(t) && bit_width(t) < 16)) {
    refuse("the chip does not compute on " + text(t));
    return constant(result, 0, 0);
  }
  size_t n = 1;
  for (const Val& a : args) n = std::max(n, units(a));

  Val r;
  r.dtype = result;
  if (t == DType::Bool) {
    r.kind = Val::Kind::Mask;
    for (size_t u = 0; u < n; ++u) {
      const Mask x = mask(args[0], u);
      if (p == Prim::Not) {
        r.m.push_back(b_.msk(Op::MNot, x));
        continue;
      }
      if (args.size() < 2) {
        refuse("no form of " + std::string(name(p)) + " on booleans");
        return args[0];
      }
      const Mask y = mask(args[1], u);
      switch (p) {
        case Prim::And:
        case Prim::Mul:
        case Prim::Min:
          r.m.push_back(b_.msk(Op::MAnd, x, y));
          break;
        case Prim::Or:
        case Prim::Max:
        case Prim::Add:
          r.m.push_back(b_.msk(Op::MOr, x, y));
          break;
        case Prim::Xor:
        case Prim::Ne:
          r.m.push_back(b_.msk(Op::MXor, x, y));
          break;
        case Prim::Eq:
          r.m.push_back(b_.msk(Op::MNot, b_.msk(Op::MXor, x, y)));
          break;
        case Prim::Lt:
          r.m.push_back(b_.msk(Op::MAnd, b_.msk(Op::MNot, x), y));
          break;
        case Prim::Le:
          r.m.push_back(b_.msk(Op::MOr, b_.msk(Op::MNot, x), y));
          break;
        case Prim::Gt:
          r.m.push_back(b_.msk(Op::MAnd, x, b_.msk(Op::MNot, y)));
          break;
        case Prim::Ge:
          r.m.push_back(b_.msk(Op::MOr, x, b_.msk(Op::MNot, y)));
          break;
        default:
          refuse("no form of " + std::string(name(p)) + " on booleans");
          return args[0];
      }
    }
    return r;
  }

  // Packed bf16 where the chip computes on it and an operand is packed already.
  code::Instr how;
  const bool any_packed = std::any_of(args.begin(), args.end(),
                                      [](const Val& v) { return v.kind == Val::Kind::Packed; });
  if (t == DType::BF16 && result == DType::BF16 && any_packed && packed_op(p, args.size(), &how)) {
    r.kind = Val::Kind::Packed;
    for (size_t u = 0; u < n / 2; ++u)
      r.v.push_back(args.size() == 1 ? b_.vec(how.op, packed(args[0], u))
                                     : b_.vec(how.op, packed(args[0], u), packed(args[1], u)));
    return r;
  }

  // Predicates.
  if (result == DType::Bool) {
    r.kind = Val::Kind::Mask;
    for (size_t u = 0; u < n; ++u) {
      const Vector x = vec(args[0], u);
      if (args.size() == 2) {
        const DType as = t == DType::I64 ? DType::I32 : t;
        const std::optional<Mask> m = compare(p, as, x, vec(args[1], u));
        if (!m) {
          refuse("no comparison " + std::string(name(p)) + " on " + text(t));
          return r;
        }
        r.m.push_back(*m);
        continue;
      }
      const Vector inf = splat_bits(0x7f800000u), size = b_.vec(Op::VAbsF, x);
      if (p == Prim::IsNan)
        r.m.push_back(b_.msk(Op::VNeF, x, x));
      else if (p == Prim::IsInf)
        r.m.push_back(b_.msk(Op::VEqF, size, inf));
      else if (p == Prim::IsFinite)
        r.m.push_back(b_.msk(Op::VLtF, size, inf));
      else
        refuse("no form of " + std::string(name(p)));
    }
    return r;
  }

  r.kind = Val::Kind::Vec;
  for (size_t u = 0; u < n; ++u) {
    const Vector x = vec(args[0], u);
    Vector y;
    if (t == DType::I64 || t == DType::U64) {
      // Index arithmetic that varies over the register; within 32 bits for any shape that fits.
      if (p == Prim::FloorDiv || p == Prim::FloorMod) {
        const Vector d = vec(args[1], u);
        const Vector rem = b_.vec(Op::VRemI, x, d);
        const Mask neg = b_.msk(Op::VLtI, rem, splat_bits(0));
        if (p == Prim::FloorMod)
          y = b_.vec(Op::VSel, neg, b_.vec(Op::VAddI, rem, d), rem);
        else
          y = b_.vec(Op::VAddI, b_.vec(Op::VDivI, x, d),
                     b_.vec(Op::VSel, neg, splat_bits(~0u), splat_bits(0)));
      } else {
        y = args.size() == 1 ? unary(p, DType::I32, x) : binary(p, DType::I32, x, vec(args[1], u));
      }
    } else if (args.size() == 1) {
      y = unary(p, t, x);
    } else if (args.size() == 2) {
      y = binary(p, t, x, vec(args[1], u));
    } else {
      refuse("the chip has no instruction for " + std::string(name(p)));
      return r;
    }
    if (t == DType::BF16) y = b_.vec(Op::VRoundBf, y);
    r.v.push_back(wrap(t, y));
  }
  return r;
}

Val Values::select(const Val& cond, const Val& a, const Val& b) {
  const DType t = a.dtype;
  size_t n = std::max({units(cond), units(a), units(b)});
  Val r;
  r.dtype = t;
  if (t == DType::Bool) {
    r.kind = Val::Kind::Mask;
    for (size_t u = 0; u < n; ++u) {
      const Mask c = mask(cond, u);
      r.m.push_back(b_.msk(Op::MOr, b_.msk(Op::MAnd, c, mask(a, u)),
                           b_.msk(Op::MAnd, b_.msk(Op::MNot, c), mask(b, u))));
    }
    return r;
  }
  r.kind = Val::Kind::Vec;
  for (size_t u = 0; u < n; ++u)
    r.v.push_back(b_.vec(Op::VSel, mask(cond, u), vec(a, u), vec(b, u)));
  return r;
}

Val Values::cast(const Val& x, DType to) {
  const DType from = x.dtype;
  if (from == to) return x;
  if (is_complex(to) || is_complex(from) || to == DType::F64 || from == DType::F64 ||
      to == DType::F16 || from == DType::F16 || !pack_of(to) || !pack_of(from)) {
    refuse("the chip does not convert " + text(from) + " to " + text(to));
    return constant(to, 0, 0);
  }
  Val r = x;
  r.dtype = to;
  // Scalars of the scalar core: the same number.
  if (x.kind == Val::Kind::Index && is_integer(to) && bit_width(to) >= 32) return r;
  if (to == DType::I64 || to == DType::U64) {
    if (from == DType::I32 || small_int(from) || from == DType::Bool || from == DType::I64) {
      if (from == DType::Bool) {
        r.kind = Val::Kind::Vec;
        r.v.clear();
        r.m.clear();
        for (size_t u = 0; u < units(x); ++u) r.v.push_back(vec(x, u));
      }
      return r;
    }
    refuse("64-bit integers are not computed on the chip");
    return r;
  }
  const size_t n = units(x);
  r = Val{};
  r.dtype = to;
  if (from == DType::BF16 && to == DType::F32) {
    if (x.kind == Val::Kind::Const || x.kind == Val::Kind::Vec) {
      r = x;
      r.dtype = to;
      return r;
    }
  }
  if (to == DType::Bool) {
    r.kind = Val::Kind::Mask;
    for (size_t u = 0; u < n; ++u)
      r.m.push_back(is_float(from) ? b_.msk(Op::VNeF, vec(x, u), splat_bits(0)) : mask(x, u));
    return r;
  }
  r.kind = Val::Kind::Vec;
  const bool from_index = from == DType::I64 || from == DType::U64;
  for (size_t u = 0; u < n; ++u) {
    Vector v = vec(x, u);
    if (is_float(from) && is_float(to)) {
      if (to == DType::BF16) v = b_.vec(Op::VRoundBf, v);
    } else if (is_float(to)) {
      // A wide integer would be rounded twice on its way to bf16.
      if (to == DType::BF16 && (from == DType::I32 || from == DType::U32)) {
        refuse("32-bit integers do not become bf16 on the chip in one rounding");
        return r;
      }
      v = b_.vec(from == DType::U32 ? Op::VCvtFU : Op::VCvtFS, v);
      if (to == DType::BF16) v = b_.vec(Op::VRoundBf, v);
    } else if (is_float(from)) {
      v = b_.vec(is_unsigned(to) ? Op::VCvtUF : Op::VCvtSF, v);
      if (small_int(to)) {
        const int bits = bit_width(to);
        if (is_unsigned(to)) {
          v = b_.vec(Op::VMinU, v, splat_bits((1u << bits) - 1));
        } else {
          v = b_.vec(Op::VMinI, v, splat_bits((1u << (bits - 1)) - 1));
          v = b_.vec(Op::VMaxI, v, splat_bits(static_cast<uint32_t>(-(1 << (bits - 1)))));
        }
      }
    } else {
      v = wrap(to, v);
      (void)from_index;
    }
    r.v.push_back(v);
  }
  return r;
}

Vector Values::combine(Prim p, DType t, Vector a, Vector b) {
  if (t == DType::Bool) {
    switch (p) {
      case Prim::And:
      case Prim::Mul:
      case Prim::Min:
        return b_.vec(Op::VAnd, a, b);
      case Prim::Xor:
        return b_.vec(Op::VXor, a, b);
      default:
        return b_.vec(Op::VOr, a, b);
    }
  }
  Vector r = binary(p, t, a, b);
  if (t == DType::BF16) r = b_.vec(Op::VRoundBf, r);
  return wrap(t, r);
}

Vector Values::fold_lanes(Prim p, DType t, Vector x) {
  if (is_float(t) && t != DType::BF16) {
    if (p == Prim::Add) return b_.vec(Op::XSum, x);
    if (p == Prim::Max) return b_.vec(Op::XMax, x);
    if (p == Prim::Min) return b_.vec(Op::XMin, x);
  } else if (t == DType::I32) {
    if (p == Prim::Add) return b_.vec(Op::XSumI, x);
    if (p == Prim::Max) return b_.vec(Op::XMaxI, x);
    if (p == Prim::Min) return b_.vec(Op::XMinI, x);
  }
  for (int by = kLanes / 2; by > 0; by /= 2) x = combine(p, t, x, b_.vec(Op::XRotLane, x, by));
  return x;
}

Vector Values::fold_sublanes(Prim p, DType t, Vector x) {
  for (int by = kSublanes / 2; by > 0; by /= 2) x = combine(p, t, x, b_.vec(Op::VRotSub, x, by));
  return x;
}

}  // namespace tenfold::tpu
