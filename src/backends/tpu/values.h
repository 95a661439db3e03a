// Values of a vectorized nest and the chip's arithmetic on them, by primitive.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "array/prim.h"
#include "backends/tpu/code/kernel_code.h"
#include "backends/tpu/vectorize.h"
#include "tpu/chips/chip.h"

namespace tenfold::tpu {

using code::Mask;
using code::Vector;

// One value of an expression. Vectors come as units of eight rows; a single unit stands for all
// (the value is the same in each), as a scalar or a constant does.
struct Val {
  enum class Kind : uint8_t {
    None,
    Const,   // `bits`
    Index,   // a scalar of the scalar core (I64 index arithmetic, and booleans on it: 0 or 1)
    Vec,     // 32-bit lanes
    Packed,  // a narrow type as in memory: two or four units a register
    Mask,    // Bool
  };
  Kind kind = Kind::None;
  DType dtype = DType::F32;
  uint32_t bits = 0;
  Sx index;
  std::vector<Vector> v;
  std::vector<Mask> m;
};

class Values {
 public:
  Values(code::Builder& b, const Chip& chip) : b_(b), chip_(chip) {}

  // The value's unit `u` in 32-bit lanes (booleans: 0 or 1); in a mask.
  Vector vec(const Val& x, size_t u);
  Mask mask(const Val& x, size_t u);
  // The narrow type's registers as in memory: word `k` holds its units 2k, 2k + 1 or 4k ... 4k + 3.
  Vector packed(const Val& x, size_t k);
  Vector unpack(DType t, Vector word, int64_t part);
  Vector pack(DType t, const std::vector<Vector>& parts);

  Val constant(DType t, double f, int64_t i);
  Val apply(Prim p, const std::vector<Val>& args, DType result);
  Val cast(const Val& x, DType to);
  Val select(const Val& cond, const Val& a, const Val& b);
  // Folds lanes (all lanes get the result), or the eight sublanes.
  Vector fold_lanes(Prim p, DType t, Vector x);
  Vector fold_sublanes(Prim p, DType t, Vector x);
  Vector combine(Prim p, DType t, Vector a, Vector b);

  Vector splat_bits(uint32_t bits);
  Vector splat(const Sx& s);
  code::Arg arg(const Sx& s);
  Mask lanes_below(const Sx& n);  // lane < n
  Mask rows_below(const Sx& n);   // sublane < n

  void refuse(std::string why) {
    if (!refused_) refused_ = std::move(why);
  }
  const std::optional<std::string>& refused() const { return refused_; }
  code::Builder& b() { return b_; }
  const Chip& chip() const { return chip_; }

 private:
  Vector unary(Prim p, DType t, Vector x);
  Vector binary(Prim p, DType t, Vector x, Vector y);
  std::optional<Mask> compare(Prim p, DType t, Vector x, Vector y);
  Vector wrap(DType t, Vector x);  // to the type's width
  bool packed_op(Prim p, size_t arity, code::Instr* op) const;
  Val index_op(Prim p, const std::vector<Val>& args, DType result);

  code::Builder& b_;
  const Chip& chip_;
  std::optional<std::string> refused_;
};

// Units of a value: 1 where it is the same in all.
size_t units(const Val& x);

}  // namespace tenfold::tpu
