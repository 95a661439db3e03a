// The vectorizer's inside, shared by its files: statements (vectorize.cc), memory (access.cc) and
// the matrix unit (contract.cc).
#pragma once

#include <unordered_map>
#include <vector>

#include "backends/tpu/values.h"

namespace tenfold::tpu {

using loop::BufferDef;
using loop::Expr;
using loop::ExprNode;
using loop::Stmt;
using loop::VarDef;

// What a loop variable stands for at the moment.
struct Axis {
  Role role = Role::Scalar;
  Sx first;             // value at lane 0, or at sublane 0 of unit 0, or the scalar itself
  Sx local;             // the same from the span's first on
  int64_t extent = 0;   // of the loop
  bool ragged = false;  // some of the lanes or sublanes at hand may lie beyond the extent
};

// An index expression of one dimension: base + sublane * ks + lane * kl, base a scalar.
struct Coord {
  Sx base;
  int64_t ks = 0, kl = 0;
};

// A memory access, classified.
struct Address {
  bool ok = false;
  Sx outer;                // index over the outer dimensions, flattened
  int64_t outer_step = 0;  // of it, a sublane
  int64_t tile_step = 0;   // of the column tile, a sublane
  Coord row, col;
};

struct Cell {
  DType dtype = DType::F32;
  std::vector<Vector> v;  // changing registers, or fixed values
  bool fixed = false;
  // While loops fold into it.
  bool partial = false;
  Prim prim{};
  bool over_lanes = false, over_sublanes = false;
  std::vector<Vector> total;  // what it was before
};

struct Scratch {
  std::vector<int64_t> dims;
  DType dtype = DType::F32;
  bool by_unit = false;  // made inside the sublane loop: a copy for each sublane
  bool by_lane = false;  // made inside the lane loop: a copy for each lane
  int64_t row = 0;       // in the scratch region
  int64_t col_tiles = 1;
};

struct Vectorizer::Impl {
  Impl(code::Builder& builder, const Chip& chip, const Roles& r, code::RegionRef scratch,
       int64_t row)
      : b(builder),
        x(builder, chip),
        roles(r),
        scratch_region(scratch),
        scratch_top(row),
        scratch_first(row) {}

  // --- statements
  void body(const loop::Body& statements);
  void statement(const Stmt& s);
  void for_loop(const Stmt& s);
  void with_folds(const Stmt& s, const std::function<void()>& run);
  void sublane_loop(const Stmt& s);
  void lane_loop(const Stmt& s);
  void scalar_loop(const Stmt& s);
  void store(const Stmt& s);
  void store_cell(const Stmt& s, Cell& cell);

  // --- expressions
  Val value(const Expr& e);
  Val compute(const Expr& e);
  Sx scalar(const Expr& e);  // of an index expression without lanes or sublanes
  bool same_in_all_lanes(const Expr& e) const;
  bool varies(const Expr& e) const;  // with lanes or sublanes
  Val axis_value(const Axis& a);
  size_t units_now() const { return sublane ? units : 1; }
  Mask all_of(const Mask& a, const Mask& b_) { return b.msk(Op::MAnd, a, b_); }

  // --- memory
  const Place* place_of(const BufferDef* buffer);
  Coord coord(const Expr& e, const Sx& origin);
  // A quotient or remainder whose divisor the lanes (or sublanes) at hand never straddle.
  std::optional<Coord> split_coord(const Expr& e);
  Address address(const Place& p, const std::vector<Expr>& index);
  Val load(const Place& p, const std::vector<Expr>& index);
  void store_to(const Place& p, const std::vector<Expr>& index, const Val& v);
  Val load_scratch(const Scratch& s, const std::vector<Expr>& index);
  void store_scratch(const Scratch& s, const std::vector<Expr>& index, const Val& v);
  Val load_word(const Place& p, const std::vector<Expr>& index);
  Sx tile_row(const Place& p, const Sx& outer, const Sx& row_tile, const Sx& ct);
  // Eight aligned rows, number `unit` of them, as 32-bit lanes.
  Vector load_unit(const Place& p, const Sx& outer, const Sx& unit, const Sx& ct);
  Vector extract(DType t, Vector word, const Sx& part);  // every word's part, extended
  // Rows of one column tile: units, or packed pairs.
  Val load_rows(const Place& p, const Address& a, const Sx& ct);
  Val transposed(const Place& p, const Address& a);
  void store_lanes(const Place& p, const Address& a, const Sx& ct, const Val& v,
                   const std::vector<Mask>& lane_masks);
  void store_word_part(const Place& p, const Sx& outer, const Sx& row, const Sx& ct, Vector v,
                       std::optional<Mask> m);
  std::optional<Mask> both(std::optional<Mask> a, std::optional<Mask> c);
  Sx clamp(const Sx& s, int64_t last);  // under a guard: kept within [0, last]

  void refuse(std::string why, const VarDef* v = nullptr, Role r = Role::Scalar) {
    if (!refusal) refusal = Refusal{std::move(why), v, r};
  }

  code::Builder& b;
  Values x;
  const Roles& roles;
  Lets lets;
  std::unordered_map<const BufferDef*, Place> places;
  std::unordered_map<const VarDef*, Span> spans;
  std::unordered_map<const VarDef*, Axis> axes;
  std::unordered_map<const VarDef*, Val> let_values;
  std::unordered_map<const BufferDef*, Cell> cells;
  std::unordered_map<const BufferDef*, Scratch> scratches;
  const VarDef* sublane = nullptr;  // the loops in force
  const VarDef* lane = nullptr;
  size_t units = 1;      // of the sublane loop at hand
  int64_t rows_now = 8;  // rows of it that exist; less than 8 * units at a ragged end
  int64_t step_rows = 8;
  bool reciprocals = false;
  bool mixed = false;            // accesses of several packings: a ragged end is emitted by itself
  std::vector<Mask> conditions;  // of stores: one mask, or one a unit
  std::vector<std::vector<Mask>> condition_stack;
  int guard_depth = 0;
  code::RegionRef scratch_region;
  int64_t scratch_top, scratch_first, scratch_peak = 0;
  std::unordered_map<const ExprNode*, Val> memo;
  std::optional<Refusal> refusal;
};

}  // namespace tenfold::tpu
