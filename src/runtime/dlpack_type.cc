#include "runtime/dlpack_type.h"

namespace tenfold::rt {
namespace {

uint8_t code(DType t) {
  switch (t) {
    case DType::Bool:
      return kDLBool;
    case DType::F8E3M4:
      return kDLFloat8_e3m4;
    case DType::F8E4M3:
      return kDLFloat8_e4m3;
    case DType::F8E4M3B11FNUZ:
      return kDLFloat8_e4m3b11fnuz;
    case DType::F8E4M3FN:
      return kDLFloat8_e4m3fn;
    case DType::F8E4M3FNUZ:
      return kDLFloat8_e4m3fnuz;
    case DType::F8E5M2:
      return kDLFloat8_e5m2;
    case DType::F8E5M2FNUZ:
      return kDLFloat8_e5m2fnuz;
    case DType::F8E8M0FNU:
      return kDLFloat8_e8m0fnu;
    case DType::F6E2M3FN:
      return kDLFloat6_e2m3fn;
    case DType::F6E3M2FN:
      return kDLFloat6_e3m2fn;
    case DType::F4E2M1FN:
      return kDLFloat4_e2m1fn;
    case DType::BF16:
      return kDLBfloat;
    default:
      break;
  }
  if (is_complex(t)) return kDLComplex;
  if (is_float(t)) return kDLFloat;
  return is_signed(t) ? kDLInt : kDLUInt;
}

}  // namespace

DLDataType to_dlpack(DType t) {
  // A bool is a byte of 8 bits to DLPack.
  return {code(t), static_cast<uint8_t>(t == DType::Bool ? 8 : bit_width(t)), 1};
}

std::optional<DType> from_dlpack(DLDataType t) {
  for (int i = 0; i < kDTypeCount; ++i) {
    DLDataType d = to_dlpack(static_cast<DType>(i));
    if (d.code == t.code && d.bits == t.bits && t.lanes == 1) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace tenfold::rt
