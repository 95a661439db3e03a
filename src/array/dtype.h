// Element types of tensors, on every level.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tenfold {

// Sub-byte types (I2 I4 U2 U4 and the 4/6-bit floats) are stored one element a byte everywhere
// inside Tenfold (literals and buffers); packing happens only where a file format asks for it.
enum class DType : uint8_t {
  Bool,  // one byte, 0 or 1
  I2,
  I4,
  I8,
  I16,
  I32,
  I64,
  U2,
  U4,
  U8,
  U16,
  U32,
  U64,
  F4E2M1FN,
  F6E2M3FN,
  F6E3M2FN,
  F8E3M4,
  F8E4M3,
  F8E4M3FN,
  F8E4M3FNUZ,
  F8E4M3B11FNUZ,
  F8E5M2,
  F8E5M2FNUZ,
  F8E8M0FNU,
  BF16,
  F16,
  F32,
  F64,
  C64,   // two f32
  C128,  // two f64
};
constexpr int kDTypeCount = static_cast<int>(DType::C128) + 1;

// MLIR spelling: i1 i32 ui8 f32 bf16 f8E4M3FN complex<f32>.
std::string_view name(DType t);
std::optional<DType> dtype_from_name(std::string_view mlir_name);
int byte_size(DType t);     // bytes of one stored element (sub-byte types: 1)
int bit_width(DType t);     // logical bits: I4 4, Bool 1, C64 64
bool is_integer(DType t);   // Bool is not
bool is_signed(DType t);    // signed integer
bool is_unsigned(DType t);  // unsigned integer
bool is_float(DType t);     // real floating point of any width
bool is_complex(DType t);
DType real_of(DType t);  // C64 -> F32, C128 -> F64, others unchanged

}  // namespace tenfold
