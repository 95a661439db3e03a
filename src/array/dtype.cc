// The table of element types.
#include "array/dtype.h"

#include <array>

namespace tenfold {
namespace {

enum class Class : uint8_t { Bool, Signed, Unsigned, Float, Complex };
struct Row {
  std::string_view name;
  uint8_t bytes;
  uint8_t bits;
  Class cls;
};

// In the order of DType.
constexpr std::array<Row, kDTypeCount> kRows = {{
    {"i1", 1, 1, Class::Bool},
    {"i2", 1, 2, Class::Signed},
    {"i4", 1, 4, Class::Signed},
    {"i8", 1, 8, Class::Signed},
    {"i16", 2, 16, Class::Signed},
    {"i32", 4, 32, Class::Signed},
    {"i64", 8, 64, Class::Signed},
    {"ui2", 1, 2, Class::Unsigned},
    {"ui4", 1, 4, Class::Unsigned},
    {"ui8", 1, 8, Class::Unsigned},
    {"ui16", 2, 16, Class::Unsigned},
    {"ui32", 4, 32, Class::Unsigned},
    {"ui64", 8, 64, Class::Unsigned},
    {"f4E2M1FN", 1, 4, Class::Float},
    {"f6E2M3FN", 1, 6, Class::Float},
    {"f6E3M2FN", 1, 6, Class::Float},
    {"f8E3M4", 1, 8, Class::Float},
    {"f8E4M3", 1, 8, Class::Float},
    {"f8E4M3FN", 1, 8, Class::Float},
    {"f8E4M3FNUZ", 1, 8, Class::Float},
    {"f8E4M3B11FNUZ", 1, 8, Class::Float},
    {"f8E5M2", 1, 8, Class::Float},
    {"f8E5M2FNUZ", 1, 8, Class::Float},
    {"f8E8M0FNU", 1, 8, Class::Float},
    {"bf16", 2, 16, Class::Float},
    {"f16", 2, 16, Class::Float},
    {"f32", 4, 32, Class::Float},
    {"f64", 8, 64, Class::Float},
    {"complex<f32>", 8, 64, Class::Complex},
    {"complex<f64>", 16, 128, Class::Complex},
}};
static_assert(kRows[static_cast<int>(DType::U64)].name == "ui64");
static_assert(kRows[static_cast<int>(DType::F8E8M0FNU)].name == "f8E8M0FNU");
static_assert(kRows[static_cast<int>(DType::C128)].name == "complex<f64>");

const Row& row(DType t) { return kRows[static_cast<int>(t)]; }

}  // namespace

std::string_view name(DType t) { return row(t).name; }

std::optional<DType> dtype_from_name(std::string_view mlir_name) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (kRows[i].name == mlir_name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

int byte_size(DType t) { return row(t).bytes; }
int bit_width(DType t) { return row(t).bits; }
bool is_integer(DType t) { return is_signed(t) || is_unsigned(t); }
bool is_signed(DType t) { return row(t).cls == Class::Signed; }
bool is_unsigned(DType t) { return row(t).cls == Class::Unsigned; }
bool is_float(DType t) { return row(t).cls == Class::Float; }
bool is_complex(DType t) { return row(t).cls == Class::Complex; }

DType real_of(DType t) {
  if (t == DType::C64) return DType::F32;
  if (t == DType::C128) return DType::F64;
  return t;
}

}  // namespace tenfold
