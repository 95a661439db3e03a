#include "tpu/sim/execute.h"

#include <array>
#include <cstring>

#include "array/prim.h"

namespace tenfold::tpu {
namespace {

constexpr int kWords = kVregWords;

// Elementwise instructions are the primitives that the evaluator computes with, so that a chip's
// result is the reference's, bit for bit.
struct PrimRow {
  Op op;
  Prim prim;
  DType type;
};
constexpr PrimRow kPrims[] = {
    {Op::VSel, Prim::Select, DType::U32},
    {Op::VAddF, Prim::Add, DType::F32},
    {Op::VSubF, Prim::Sub, DType::F32},
    {Op::VMulF, Prim::Mul, DType::F32},
    {Op::VMaxF, Prim::Max, DType::F32},
    {Op::VMinF, Prim::Min, DType::F32},
    {Op::VAbsF, Prim::Abs, DType::F32},
    {Op::VNegF, Prim::Neg, DType::F32},
    {Op::VFloorF, Prim::Floor, DType::F32},
    {Op::VCeilF, Prim::Ceil, DType::F32},
    {Op::VRoundF, Prim::RoundEven, DType::F32},
    {Op::VEqF, Prim::Eq, DType::F32},
    {Op::VNeF, Prim::Ne, DType::F32},
    {Op::VLtF, Prim::Lt, DType::F32},
    {Op::VLeF, Prim::Le, DType::F32},
    {Op::VAddB, Prim::Add, DType::BF16},
    {Op::VSubB, Prim::Sub, DType::BF16},
    {Op::VMulB, Prim::Mul, DType::BF16},
    {Op::VMaxB, Prim::Max, DType::BF16},
    {Op::VMinB, Prim::Min, DType::BF16},
    {Op::VAddI, Prim::Add, DType::I32},
    {Op::VSubI, Prim::Sub, DType::I32},
    {Op::VMulI, Prim::Mul, DType::I32},
    {Op::VMaxI, Prim::Max, DType::I32},
    {Op::VMinI, Prim::Min, DType::I32},
    {Op::VMaxU, Prim::Max, DType::U32},
    {Op::VMinU, Prim::Min, DType::U32},
    {Op::VAnd, Prim::And, DType::U32},
    {Op::VOr, Prim::Or, DType::U32},
    {Op::VXor, Prim::Xor, DType::U32},
    {Op::VNot, Prim::Not, DType::U32},
    {Op::VShl, Prim::Shl, DType::U32},
    {Op::VShr, Prim::ShrL, DType::U32},
    {Op::VSra, Prim::ShrA, DType::I32},
    {Op::VClz, Prim::Clz, DType::U32},
    {Op::VPopcnt, Prim::Popcnt, DType::U32},
    {Op::VEqI, Prim::Eq, DType::I32},
    {Op::VNeI, Prim::Ne, DType::I32},
    {Op::VLtI, Prim::Lt, DType::I32},
    {Op::VLeI, Prim::Le, DType::I32},
    {Op::VLtU, Prim::Lt, DType::U32},
    {Op::VLeU, Prim::Le, DType::U32},
    {Op::VExp, Prim::Exp, DType::F32},
    {Op::VLog, Prim::Log, DType::F32},
    {Op::VTanh, Prim::Tanh, DType::F32},
    {Op::VLogistic, Prim::Logistic, DType::F32},
    {Op::VRsqrt, Prim::Rsqrt, DType::F32},
    {Op::VSqrt, Prim::Sqrt, DType::F32},
    {Op::VDivF, Prim::Div, DType::F32},
    {Op::VErf, Prim::Erf, DType::F32},
    {Op::VExpm1, Prim::Expm1, DType::F32},
    {Op::VLog1p, Prim::Log1p, DType::F32},
    {Op::VSin, Prim::Sin, DType::F32},
    {Op::VCos, Prim::Cos, DType::F32},
    {Op::VTan, Prim::Tan, DType::F32},
    {Op::VAtan2, Prim::Atan2, DType::F32},
    {Op::VPow, Prim::Pow, DType::F32},
    {Op::VRemF, Prim::Rem, DType::F32},
    {Op::VCbrt, Prim::Cbrt, DType::F32},
    {Op::VDivI, Prim::Div, DType::I32},
    {Op::VRemI, Prim::Rem, DType::I32},
    {Op::VDivU, Prim::Div, DType::U32},
    {Op::VRemU, Prim::Rem, DType::U32},
    {Op::VExpB, Prim::Exp, DType::BF16},
    {Op::VLogB, Prim::Log, DType::BF16},
    {Op::VTanhB, Prim::Tanh, DType::BF16},
    {Op::VLogisticB, Prim::Logistic, DType::BF16},
    {Op::VRsqrtB, Prim::Rsqrt, DType::BF16},
};

const std::array<const PrimRow*, kNumOps>& prim_rows() {
  static const auto rows = [] {
    std::array<const PrimRow*, kNumOps> r{};
    for (const PrimRow& row : kPrims) r[static_cast<size_t>(row.op)] = &row;
    return r;
  }();
  return rows;
}

void run_prim(Op op, const VectorArgs& a) {
  const PrimRow& row = *prim_rows()[static_cast<size_t>(op)];
  const bool select = row.prim == Prim::Select;
  const void* args[3] = {a.v[0], a.v[1], nullptr};
  if (select) {
    args[0] = a.m[0];
    args[1] = a.v[0];
    args[2] = a.v[1];
  }
  const int64_t strides[3] = {1, 1, 1};
  void* out = a.vd != nullptr ? static_cast<void*>(a.vd) : static_cast<void*>(a.md);
  apply(row.prim, row.type, args, strides, out, row.type == DType::BF16 ? 2 * kWords : kWords);
}

void reciprocal(Op op, const VectorArgs& a) {
  const bool narrow = op == Op::VRcpB;
  const float one = 1;
  const uint16_t one_bf16 = 0x3f80;
  const void* args[2] = {narrow ? static_cast<const void*>(&one_bf16) : &one, a.v[0]};
  const int64_t strides[2] = {0, 1};
  apply(Prim::Div, narrow ? DType::BF16 : DType::F32, args, strides, a.vd,
        narrow ? 2 * kWords : kWords);
}

void convert(Op op, const VectorArgs& a) {
  switch (op) {
    case Op::VCvtFS:
      return cast(DType::I32, DType::F32, a.v[0], a.vd, kWords);
    case Op::VCvtFU:
      return cast(DType::U32, DType::F32, a.v[0], a.vd, kWords);
    case Op::VCvtSF:
      return cast(DType::F32, DType::I32, a.v[0], a.vd, kWords);
    case Op::VCvtUF:
      return cast(DType::F32, DType::U32, a.v[0], a.vd, kWords);
    default: {  // VRoundBf
      uint16_t half[kWords];
      cast(DType::F32, DType::BF16, a.v[0], half, kWords);
      for (int i = 0; i < kWords; ++i) a.vd[i] = uint32_t{half[i]} << 16;
    }
  }
}

void truncate(Op, const VectorArgs& a) {
  float x[kWords];
  std::memcpy(x, a.v[0], sizeof x);
  for (float& e : x) e = __builtin_truncf(e);
  std::memcpy(a.vd, x, sizeof x);
}

void multiply_high(Op, const VectorArgs& a) {
  for (int i = 0; i < kWords; ++i)
    a.vd[i] = static_cast<uint32_t>(uint64_t{a.v[0][i]} * a.v[1][i] >> 32);
}

// ---- packing: row s of a 16-row register is in the low half of sublane s, row 8 + s in the high
// --

void pack(Op op, const VectorArgs& a) {
  switch (op) {
    case Op::VPackB: {
      uint16_t low[kWords], high[kWords];
      cast(DType::F32, DType::BF16, a.v[0], low, kWords);
      cast(DType::F32, DType::BF16, a.v[1], high, kWords);
      for (int i = 0; i < kWords; ++i) a.vd[i] = low[i] | uint32_t{high[i]} << 16;
      return;
    }
    case Op::VPackH:
      for (int i = 0; i < kWords; ++i) a.vd[i] = (a.v[0][i] & 0xffff) | a.v[1][i] << 16;
      return;
    default:  // VPack2B: bytes 0, 1 from rows 0-15, bytes 2, 3 from rows 16-31
      for (int i = 0; i < kWords; ++i) {
        const uint32_t lo = a.v[0][i], hi = a.v[1][i];
        a.vd[i] = (lo & 0xff) | (lo >> 8 & 0xff00) | (hi & 0xff) << 16 | (hi << 8 & 0xff000000);
      }
  }
}

void unpack(Op op, const VectorArgs& a) {
  const uint32_t* in = a.v[0];
  uint32_t* out = a.vd;
  const int byte = 8 * a.x[0];
  switch (op) {
    case Op::VUnpackLoB:
      for (int i = 0; i < kWords; ++i) out[i] = in[i] << 16;
      return;
    case Op::VUnpackHiB:
      for (int i = 0; i < kWords; ++i) out[i] = in[i] & 0xffff0000;
      return;
    case Op::VUnpackLoH:
      for (int i = 0; i < kWords; ++i) out[i] = static_cast<uint32_t>(int32_t(in[i] << 16) >> 16);
      return;
    case Op::VUnpackHiH:
      for (int i = 0; i < kWords; ++i) out[i] = static_cast<uint32_t>(int32_t(in[i]) >> 16);
      return;
    case Op::VUnpack4:
      for (int i = 0; i < kWords; ++i)
        out[i] = static_cast<uint32_t>(int32_t(in[i] << (24 - byte)) >> 24);
      return;
    default:  // VUnpack4U
      for (int i = 0; i < kWords; ++i) out[i] = in[i] >> byte & 0xff;
  }
}

// ---- moves between lanes and sublanes ----------------------------------------------------------

void move(Op op, const VectorArgs& a) {
  switch (op) {
    case Op::VMov:
      std::memcpy(a.vd, a.v[0], kWords * 4);
      return;
    case Op::VSplat:
      for (int i = 0; i < kWords; ++i) a.vd[i] = static_cast<uint32_t>(a.x[0]);
      return;
    case Op::VLane:
      for (int i = 0; i < kWords; ++i) a.vd[i] = static_cast<uint32_t>(i % kLanes);
      return;
    case Op::VSublane:
      for (int i = 0; i < kWords; ++i) a.vd[i] = static_cast<uint32_t>(i / kLanes);
      return;
    case Op::VBcastSub:
      for (int s = 0; s < kSublanes; ++s)
        std::memcpy(a.vd + s * kLanes, a.v[0] + (a.x[0] & 7) * kLanes, kRowBytes);
      return;
    default:  // VRotSub
      for (int s = 0; s < kSublanes; ++s)
        std::memcpy(a.vd + (s + a.x[0] & 7) * kLanes, a.v[0] + s * kLanes, kRowBytes);
  }
}

void mask(Op op, const VectorArgs& a) {
  const uint8_t* x = a.m[0];
  const uint8_t* y = a.m[1];
  switch (op) {
    case Op::MLaneLt:
      for (int i = 0; i < kWords; ++i) a.md[i] = i % kLanes < a.x[0];
      return;
    case Op::MSubLt:
      for (int i = 0; i < kWords; ++i) a.md[i] = i / kLanes < a.x[0];
      return;
    case Op::MAnd:
      for (int i = 0; i < kWords; ++i) a.md[i] = x[i] & y[i];
      return;
    case Op::MOr:
      for (int i = 0; i < kWords; ++i) a.md[i] = x[i] | y[i];
      return;
    case Op::MXor:
      for (int i = 0; i < kWords; ++i) a.md[i] = x[i] ^ y[i];
      return;
    default:  // MNot
      for (int i = 0; i < kWords; ++i) a.md[i] = x[i] ^ 1;
  }
}

void lanes(Op op, const VectorArgs& a) {
  for (int s = 0; s < kSublanes; ++s) {
    const uint32_t* in = a.v[0] + s * kLanes;
    uint32_t* out = a.vd + s * kLanes;
    for (int l = 0; l < kLanes; ++l) {
      switch (op) {
        case Op::XRotLane:
          out[l + a.x[0] & 127] = in[l];
          break;
        case Op::XBcastLane:
          out[l] = in[a.x[0] & 127];
          break;
        case Op::XGatherLane:
          out[l] = in[a.v[1][s * kLanes + l] & 127];
          break;
        default:  // XGatherSub
          out[l] = a.v[0][(a.v[1][s * kLanes + l] & 7) * kLanes + static_cast<uint32_t>(l)];
      }
    }
  }
}

// Halves are joined until one lane is left: an order that a tree of lanes has, the same for all.
void reduce_lanes(Op op, const VectorArgs& a) {
  const bool integer = op == Op::XSumI || op == Op::XMaxI || op == Op::XMinI;
  const Prim p = op == Op::XSum || op == Op::XSumI   ? Prim::Add
                 : op == Op::XMax || op == Op::XMaxI ? Prim::Max
                                                     : Prim::Min;
  const int64_t strides[2] = {1, 1};
  uint32_t row[kLanes];
  for (int s = 0; s < kSublanes; ++s) {
    std::memcpy(row, a.v[0] + s * kLanes, kRowBytes);
    for (int half = kLanes / 2; half > 0; half /= 2) {
      const void* args[2] = {row, row + half};
      apply(p, integer ? DType::I32 : DType::F32, args, strides, row, half);
    }
    for (int l = 0; l < kLanes; ++l) a.vd[s * kLanes + l] = row[0];
  }
}

}  // namespace

VectorFn vector_function(Op op) {
  if (prim_rows()[static_cast<size_t>(op)] != nullptr) return run_prim;
  switch (op) {
    case Op::VRcp:
    case Op::VRcpB:
      return reciprocal;
    case Op::VCvtFS:
    case Op::VCvtFU:
    case Op::VCvtSF:
    case Op::VCvtUF:
    case Op::VRoundBf:
      return convert;
    case Op::VTruncF:
      return truncate;
    case Op::VMulHiU:
      return multiply_high;
    case Op::VPackB:
    case Op::VPackH:
    case Op::VPack2B:
      return pack;
    case Op::VUnpackLoB:
    case Op::VUnpackHiB:
    case Op::VUnpackLoH:
    case Op::VUnpackHiH:
    case Op::VUnpack4:
    case Op::VUnpack4U:
      return unpack;
    case Op::VMov:
    case Op::VSplat:
    case Op::VLane:
    case Op::VSublane:
    case Op::VBcastSub:
    case Op::VRotSub:
      return move;
    case Op::MLaneLt:
    case Op::MSubLt:
    case Op::MAnd:
    case Op::MOr:
    case Op::MXor:
    case Op::MNot:
      return mask;
    case Op::XRotLane:
    case Op::XBcastLane:
    case Op::XGatherLane:
    case Op::XGatherSub:
      return lanes;
    case Op::XSum:
    case Op::XMax:
    case Op::XMin:
    case Op::XSumI:
    case Op::XMaxI:
    case Op::XMinI:
      return reduce_lanes;
    default:
      return nullptr;
  }
}

int32_t scalar_value(Op op, int32_t a, int32_t b, int32_t c) {
  const auto ua = static_cast<uint32_t>(a), ub = static_cast<uint32_t>(b);
  const auto wrap = [](uint32_t v) { return static_cast<int32_t>(v); };
  switch (op) {
    case Op::SMov:
      return a;
    case Op::SAdd:
      return wrap(ua + ub);
    case Op::SSub:
      return wrap(ua - ub);
    case Op::SMul:
      return wrap(ua * ub);
    case Op::SDiv:
      return b == 0 ? -1 : b == -1 ? wrap(0 - ua) : a / b;
    case Op::SRem:
      return b == 0 ? a : b == -1 ? 0 : a % b;
    case Op::SAnd:
      return a & b;
    case Op::SOr:
      return a | b;
    case Op::SXor:
      return a ^ b;
    case Op::SShl:
      return wrap(ua << (b & 31));
    case Op::SShr:
      return wrap(ua >> (b & 31));
    case Op::SSra:
      return a >> (b & 31);
    case Op::SMin:
      return std::min(a, b);
    case Op::SMax:
      return std::max(a, b);
    case Op::SEq:
      return a == b;
    case Op::SNe:
      return a != b;
    case Op::SLt:
      return a < b;
    case Op::SLe:
      return a <= b;
    case Op::SSel:
      return a != 0 ? b : c;
    default:
      return 0;
  }
}

}  // namespace tenfold::tpu
