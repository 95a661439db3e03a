// Loads and stores of vectorized nests. See layout.h for where an element lies.
//
// An access is classified by how its row (the dimension before the last) and its column move with
// the sublanes and lanes at hand: aligned tiles, rows apart, one row for all sublanes, one column
// for all lanes, a transposed block. What fits none is refused, naming the loop that should not
// run there.
#include <algorithm>
#include <bit>

#include "backends/tpu/emit.h"

namespace tenfold::tpu {

namespace {

constexpr int64_t kSlackRows = 512;  // VMEM beyond a buffer that a ragged load may touch

}  // namespace

const Place* Vectorizer::Impl::place_of(const BufferDef* buffer) {
  auto it = places.find(buffer);
  if (it != places.end()) return &it->second;
  refuse("buffer " + buffer->name + " has no place on the chip");
  return nullptr;
}

std::optional<Coord> Vectorizer::Impl::split_coord(const Expr& e) {
  int64_t by = 0;
  if (e->kind != ExprNode::Kind::Op || (e->prim != Prim::FloorDiv && e->prim != Prim::FloorMod) ||
      !loop::is_const(e->args[1], &by) || by <= 0)
    return std::nullopt;
  const Coord inner = coord(e->args[0], 0);
  if (refusal) return std::nullopt;
  const int64_t width = inner.kl ? kLanes : static_cast<int64_t>(units) * kSublanes;
  if (inner.kl + inner.ks != 1 || inner.kl * inner.ks != 0 || by % width || inner.base.c % width ||
      !inner.base.terms_divide(width))
    return std::nullopt;
  Val base;
  base.kind = Val::Kind::Index;
  base.dtype = DType::I64;
  base.index = inner.base;
  Coord r;
  r.base = inner.base.is_const()
               ? Sx(e->prim == Prim::FloorDiv ? inner.base.c / by : inner.base.c % by)
               : x.apply(e->prim, {base, x.constant(DType::I64, 0, by)}, DType::I64).index;
  if (e->prim == Prim::FloorMod) {
    r.kl = inner.kl;
    r.ks = inner.ks;
    // What a scalar division gives is still a multiple of the width: said so that tiles are seen.
    if (!r.base.terms_divide(width)) r.base = floor_div(b, r.base, width) * width;
  }
  return r;
}

Coord Vectorizer::Impl::coord(const Expr& e, const Sx& origin) {
  Coord r;
  const Linear l = linear(e, lets);
  r.base = Sx(l.constant) - origin;
  for (const auto& [term, k] : l.terms) {
    if (term->kind == ExprNode::Kind::Var) {
      auto it = axes.find(term->var.get());
      if (it != axes.end()) {
        r.base = r.base + it->second.first * k;
        if (it->second.role == Role::Sublane) r.ks += k;
        if (it->second.role == Role::Lane) r.kl += k;
        continue;
      }
    }
    if ((sublane && loop::uses(term, sublane)) || (lane && loop::uses(term, lane))) {
      if (const std::optional<Coord> split = split_coord(term)) {
        r.base = r.base + split->base * k;
        r.ks += split->ks * k;
        r.kl += split->kl * k;
        continue;
      }
    }
    if (sublane && loop::uses(term, sublane))
      refuse("an index is not linear", sublane, Role::Sublane);
    if (lane && loop::uses(term, lane)) refuse("an index is not linear", lane, Role::Lane);
    if (varies(term))
      refuse("an index depends on data of vector registers", sublane ? sublane : lane,
             sublane ? Role::Sublane : Role::Lane);
    if (refusal) return r;
    r.base = r.base + scalar(term) * k;
  }
  return r;
}

Address Vectorizer::Impl::address(const Place& p, const std::vector<Expr>& index) {
  Address a;
  // Indices of the block's own loops count from the span's first.
  std::vector<std::pair<Axis*, Sx>> saved;
  for (const VarDef* v : p.local)
    if (auto it = axes.find(v); it != axes.end()) {
      saved.emplace_back(&it->second, it->second.first);
      it->second.first = it->second.local;
    }
  std::vector<Coord> c;
  for (size_t d = 0; d < index.size(); ++d)
    c.push_back(coord(index[d], d < p.origin.size() ? p.origin[d] : Sx(0)));
  for (auto& [axis, first] : saved) axis->first = first;
  if (refusal || x.refused()) return a;
  const size_t rank = c.size();
  if (p.layout.flat) {
    a.row.base = floor_div(b, c[0].base, kLanes);
    a.col.base = floor_mod(b, c[0].base, kLanes);
    a.col.ks = c[0].ks;
    a.col.kl = c[0].kl;
    if (a.col.kl == 1 && !(a.col.base.is_const() && a.col.base.c == 0)) {
      refuse("a vector of one dimension is read from the middle of a register", lane, Role::Lane);
      return a;
    }
    if (a.col.kl == 1 && a.col.ks) {
      // Rows of 128: the sublanes step through them.
      if (a.col.ks % kLanes) {
        refuse("two loops step through one dimension", sublane, Role::Sublane);
        return a;
      }
      a.row.ks = a.col.ks / kLanes;
      a.col.ks = 0;
    }
  } else if (rank >= 1) {
    a.col = c[rank - 1];
    if (rank >= 2) a.row = c[rank - 2];
    int64_t stride = 1;
    for (size_t d = rank; d-- > 0;) {
      if (d + 2 >= rank) continue;
      a.outer = a.outer + c[d].base * stride;
      a.outer_step += c[d].ks * stride;
      if (c[d].kl) {
        refuse("the lanes would step through an outer dimension", lane, Role::Lane);
        return a;
      }
      stride *= p.layout.dims[d];
    }
  }
  // Sublanes that step through whole column tiles.
  if (a.col.kl == 1 && a.col.ks && a.col.ks % kLanes == 0 && !p.layout.flat) {
    a.tile_step = a.col.ks / kLanes;
    a.col.ks = 0;
  }
  if (guard_depth) {
    // With sublanes in it only the sum of both is inside: the margins of VMEM take the rest.
    if (!a.outer_step) a.outer = clamp(a.outer, p.layout.outer - 1);
    if (!a.row.ks && !a.row.kl) a.row.base = clamp(a.row.base, p.layout.rows - 1);
    if (!a.col.kl && !a.col.ks) a.col.base = clamp(a.col.base, p.layout.cols - 1);
  }
  a.ok = true;
  return a;
}

Sx Vectorizer::Impl::clamp(const Sx& s, int64_t last) {
  if (s.is_const()) return std::clamp<int64_t>(s.c, 0, last);
  return Sx(b.scl(Op::SMin, b.scl(Op::SMax, to_arg(b, s), 0), last));
}

Sx Vectorizer::Impl::tile_row(const Place& p, const Sx& outer, const Sx& row_tile, const Sx& ct) {
  const Layout& l = p.layout;
  return p.base + (outer * (l.row_tiles * l.col_tiles) + row_tile * l.col_tiles + ct) * kTileRows;
}

// Part `part` of every word, as a 32-bit value in its place.
Vector Vectorizer::Impl::extract(DType t, Vector word, const Sx& part) {
  const int64_t bits = 32 / pack_of(t);
  if (bits == 32) return word;
  auto by = [&](const Sx& n) { return x.splat(n); };
  const Sx up = Sx(32 - bits) - part * bits;
  Vector high = up.is_const() && up.c == 0 ? word : b.vec(Op::VShl, word, by(up));
  if (t == DType::BF16) return b.vec(Op::VAnd, high, x.splat_bits(0xffff0000u));
  return b.vec(is_signed(t) ? Op::VSra : Op::VShr, high, by(32 - bits));
}

Vector Vectorizer::Impl::load_unit(const Place& p, const Sx& outer, const Sx& unit, const Sx& ct) {
  const int64_t pack = p.layout.pack;
  const Sx tile = floor_div(b, unit, pack), part = floor_mod(b, unit, pack);
  const Vector word = b.load(p.region, to_arg(b, tile_row(p, outer, tile, ct)));
  if (pack == 1) return word;
  if (part.is_const()) return x.unpack(p.layout.dtype, word, part.c);
  Vector r = x.unpack(p.layout.dtype, word, 0);
  for (int64_t k = 1; k < pack; ++k) {
    const Mask here = b.msk(Op::VEqI, x.splat(part), x.splat_bits(static_cast<uint32_t>(k)));
    r = b.vec(Op::VSel, here, x.unpack(p.layout.dtype, word, k), r);
  }
  return r;
}

Val Vectorizer::Impl::load_rows(const Place& p, const Address& a, const Sx& ct_in) {
  const Layout& l = p.layout;
  const DType t = l.dtype;
  const int64_t pack = l.pack;
  const Sx ct =
      guard_depth || !ct_in.is_const() ? ct_in : std::min<int64_t>(ct_in.c, l.col_tiles - 1);
  Val r;
  r.kind = Val::Kind::Vec;
  r.dtype = t;
  const int64_t ks = a.row.ks;
  if (ks && (a.outer_step || a.tile_step)) {
    refuse("two dimensions move with the sublanes", sublane, Role::Sublane);
    return r;
  }
  const bool linear_rows = pack == 1 && l.col_tiles == 1;  // rows follow each other in memory
  if (!ks) {
    const int64_t tile_height = kSublanes * pack;
    const Sx tile = floor_div(b, a.row.base, tile_height),
             in = floor_mod(b, a.row.base, tile_height);
    const Sx word_row = pack == 1 ? in : floor_mod(b, in, kSublanes);
    const Sx part = pack == 1 ? Sx(0) : floor_div(b, in, kSublanes);
    Sx at = tile_row(p, a.outer, tile, ct) + word_row;
    if (linear_rows) at = p.base + a.outer * (l.row_tiles * kTileRows) + a.row.base;
    if (!a.outer_step && !a.tile_step) {
      r.v.push_back(extract(t, b.load_bcast(p.region, to_arg(b, at)), part));
      return r;
    }
    const int64_t stride = (a.outer_step * l.row_tiles * l.col_tiles + a.tile_step) * kTileRows;
    if ((guard_depth || rows_now % kSublanes) && std::abs(stride) * kSublanes > kSlackRows) {
      refuse("rows far apart with a ragged end", sublane, Role::Sublane);
      return r;
    }
    for (size_t u = 0; u < units; ++u) {
      const Sx row = at + stride * static_cast<int64_t>(u) * kSublanes;
      r.v.push_back(
          extract(t, b.load_stride(p.region, to_arg(b, row), static_cast<int>(stride)), part));
    }
    return r;
  }
  const int64_t last_unit = l.row_tiles * pack - 1;
  auto unit_at = [&](const Sx& n) { return guard_depth ? clamp(n, last_unit) : n; };
  if (ks == 1) {
    const Sx off = floor_mod(b, a.row.base, kSublanes);
    if (off.is_const() && off.c == 0) {
      const Sx first = floor_div(b, a.row.base, kSublanes);
      const Sx part = pack == 1 ? Sx(0) : floor_mod(b, first, pack);
      if (pack > 1 && part.is_const() && part.c == 0 && !guard_depth) {
        const Sx tile = floor_div(b, first, pack);
        std::vector<Vector> words;
        for (size_t k = 0; k * static_cast<size_t>(pack) < units; ++k)
          words.push_back(b.load(
              p.region, to_arg(b, tile_row(p, a.outer, tile + static_cast<int64_t>(k), ct))));
        r.kind = Val::Kind::Packed;
        r.v = words;
        return r;
      }
      for (size_t u = 0; u < units; ++u)
        r.v.push_back(load_unit(p, a.outer, unit_at(first + static_cast<int64_t>(u)), ct));
      return r;
    }
  }
  if (linear_rows && std::abs(ks) * kSublanes <= kSlackRows) {
    const Sx at = p.base + a.outer * (l.row_tiles * kTileRows) + a.row.base;
    for (size_t u = 0; u < units; ++u) {
      const code::Arg row = to_arg(b, at + static_cast<int64_t>(u) * kSublanes * ks);
      r.v.push_back(ks == 1 ? b.load(p.region, row)
                            : b.load_stride(p.region, row, static_cast<int>(ks)));
    }
    return r;
  }
  if (ks < 1) {
    refuse("rows are read backwards", sublane, Role::Sublane);
    return r;
  }
  // Row base + 8u*ks + s*ks lies in unit j = that / 8, sublane = that % 8: pick from the ks + 1
  // units that eight sublanes span.
  for (size_t u = 0; u < units; ++u) {
    const Sx base = a.row.base + static_cast<int64_t>(u) * kSublanes * ks;
    const Sx first = floor_div(b, base, kSublanes), off = floor_mod(b, base, kSublanes);
    const Vector step =
        ks == 1 ? b.vec(Op::VSublane)
                : b.vec(Op::VMulI, b.vec(Op::VSublane), x.splat_bits(static_cast<uint32_t>(ks)));
    const Vector row = b.vec(Op::VAddI, step, x.splat(off));
    const Vector which = b.vec(Op::VShr, row, x.splat_bits(3));
    Vector sum{};
    for (int64_t j = 0; j <= ks; ++j) {
      const Sx unit = clamp(first + j, last_unit);
      const Vector got = b.vec(Op::XGatherSub, load_unit(p, a.outer, unit, ct), row);
      if (j == 0) {
        sum = got;
        continue;
      }
      sum =
          b.vec(Op::VSel, b.msk(Op::VEqI, which, x.splat_bits(static_cast<uint32_t>(j))), got, sum);
    }
    r.v.push_back(sum);
  }
  return r;
}

Val Vectorizer::Impl::transposed(const Place& p, const Address& a) {
  // 128 rows (along the lanes) of the column tile that holds the sublanes' columns.
  Val r;
  r.kind = Val::Kind::Vec;
  r.dtype = p.layout.dtype;
  const Sx off_row = floor_mod(b, a.row.base, kSublanes), ct = floor_div(b, a.col.base, kLanes);
  const Sx off_col = floor_mod(b, a.col.base, kLanes);
  if (!(off_row.is_const() && off_row.c == 0) || !off_col.is_const() || off_col.c % kSublanes ||
      guard_depth || a.outer_step) {
    refuse("a transposed read is not aligned", lane, Role::Lane);
    return r;
  }
  if (off_col.c / kSublanes + static_cast<int64_t>(units) > kLanes / kSublanes) {
    refuse("a transposed read spans two blocks", sublane, Role::Sublane);
    return r;
  }
  const Sx first = floor_div(b, a.row.base, kSublanes);
  const int64_t all = (p.layout.rows + kSublanes - 1) / kSublanes;
  for (int64_t k = 0; k < std::min<int64_t>(all, kLanes / kSublanes); ++k) {
    Sx unit = first + k;
    if (all % (kLanes / kSublanes)) unit = clamp(unit, all - 1);
    b.emit(Op::XTransPush, load_unit(p, a.outer, unit, ct), static_cast<int>(k));
  }
  b.emit(Op::XTransGo);
  for (size_t u = 0; u < units; ++u)
    r.v.push_back(
        b.vec(Op::XTransPop, static_cast<int>(off_col.c / kSublanes + static_cast<int64_t>(u))));
  return r;
}

Val Vectorizer::Impl::load(const Place& p, const std::vector<Expr>& index) {
  const Address a = address(p, index);
  Val r;
  r.dtype = p.layout.dtype;
  r.kind = Val::Kind::Vec;
  if (!a.ok) return x.constant(r.dtype, 0, 0);
  if (r.dtype == DType::F16 || !pack_of(r.dtype)) {
    refuse("the chip does not compute on " + std::string(name(r.dtype)));
    return x.constant(DType::F32, 0, 0);
  }
  auto finish = [&](Val v) {
    if (v.dtype != DType::Bool) return v;
    Val m;
    m.kind = Val::Kind::Mask;
    m.dtype = DType::Bool;
    const size_t n = std::min(tenfold::tpu::units(v), units);
    for (size_t u = 0; u < n; ++u) m.m.push_back(b.msk(Op::VNeI, x.vec(v, u), x.splat_bits(0)));
    return m;
  };
  if (a.row.kl) {
    if (a.row.kl == 1 && a.col.ks == 1 && !a.col.kl && !a.row.ks) return finish(transposed(p, a));
    refuse("the lanes step through the dimension before the last", lane, Role::Lane);
    return x.constant(r.dtype, 0, 0);
  }
  if (a.col.kl > 1 || a.col.kl < 0 || (a.col.kl && a.col.ks)) {
    refuse("the last dimension is read in steps", lane, Role::Lane);
    return x.constant(r.dtype, 0, 0);
  }
  const Sx q = floor_div(b, a.col.base, kLanes), off = floor_mod(b, a.col.base, kLanes);
  const int64_t last = p.layout.col_tiles - 1;
  auto lane_tile = [&](const Sx& t) {
    if (last == 0) return Sx(0);
    return guard_depth ? clamp(t, last) : t;
  };
  if (a.col.kl == 1) {
    if (off.is_const() && off.c == 0) return finish(load_rows(p, a, lane_tile(q)));
    const Val lo = load_rows(p, a, lane_tile(q));
    const bool one =
        last == 0 || (off.is_const() && q.is_const() && off.c + axes.at(lane).extent <= kLanes);
    const Val hi = one ? lo : load_rows(p, a, clamp(q + 1, last));
    if (refusal) return x.constant(r.dtype, 0, 0);
    const Mask low = x.lanes_below(Sx(kLanes) - off);
    const size_t n = tenfold::tpu::units(lo);
    for (size_t u = 0; u < std::min(n, std::max(units, size_t{1})); ++u) {
      const code::Arg by = to_arg(b, Sx(kLanes) - off);
      const Vector v = b.vec(Op::XRotLane, x.vec(lo, u), by);
      r.v.push_back(one ? v : b.vec(Op::VSel, low, v, b.vec(Op::XRotLane, x.vec(hi, u), by)));
    }
    return finish(r);
  }
  if (a.col.ks) {
    if (a.col.ks != 1 || a.row.ks || a.outer_step ||
        !(off.is_const() ? off.c % kSublanes == 0 : off.terms_divide(8))) {
      refuse("the last dimension moves with the sublanes", sublane, Role::Sublane);
      return x.constant(r.dtype, 0, 0);
    }
    // Sublane s takes lane off + s of one row. More than a tile of columns: unit by unit.
    for (size_t u = 0; u < units; ++u) {
      const Sx col = a.col.base + static_cast<int64_t>(u) * kSublanes;
      Address one = a;
      one.col.ks = 0;
      if (p.layout.flat) one.row.base = a.row.base;
      const Val row = load_rows(p, one, lane_tile(floor_div(b, col, kLanes)));
      if (refusal) return x.constant(r.dtype, 0, 0);
      const Vector at = b.vec(Op::VAddI, b.vec(Op::VSublane), x.splat(floor_mod(b, col, kLanes)));
      r.v.push_back(b.vec(Op::XGatherLane, x.vec(row, 0), at));
    }
    return finish(r);
  }
  const Val rows = load_rows(p, a, lane_tile(q));
  if (refusal) return x.constant(r.dtype, 0, 0);
  const size_t n = rows.kind == Val::Kind::Packed ? units : rows.v.size();
  for (size_t u = 0; u < n; ++u)
    r.v.push_back(b.vec(Op::XBcastLane, x.vec(rows, u), to_arg(b, off)));
  return finish(r);
}

// One element as a scalar: an index, saturated to 32 bits.
Val Vectorizer::Impl::load_word(const Place& p, const std::vector<Expr>& index) {
  Val r;
  r.kind = Val::Kind::Index;
  r.dtype = p.layout.dtype;
  const Address a = address(p, index);
  if (!a.ok) return r;
  const VarDef* guilty = a.col.kl                                 ? lane
                         : (a.row.ks || a.outer_step || a.col.ks) ? sublane
                                                                  : nullptr;
  if (guilty || a.row.kl) {
    refuse("64-bit integers are read as indices only", guilty ? guilty : lane,
           guilty == sublane ? Role::Sublane : Role::Lane);
    return r;
  }
  const Val row = load_rows(p, a, floor_div(b, a.col.base, kLanes));
  if (refusal) return r;
  r.index = Sx(b.scl(Op::XToScalar, x.vec(row, 0), to_arg(b, floor_mod(b, a.col.base, kLanes))));
  return r;
}

std::optional<Mask> Vectorizer::Impl::both(std::optional<Mask> a, std::optional<Mask> c) {
  if (!a) return c;
  if (!c) return a;
  return b.msk(Op::MAnd, *a, *c);
}

// One row: `v`'s first sublane is what counts (all are the same).
void Vectorizer::Impl::store_word_part(const Place& p, const Sx& outer, const Sx& row, const Sx& ct,
                                       Vector v, std::optional<Mask> m) {
  const Layout& l = p.layout;
  const int64_t height = kSublanes * l.pack;
  if (l.rows == 1) {  // the other rows of the tile are padding
    std::vector<Vector> parts(static_cast<size_t>(l.pack), v);
    const code::Arg at = to_arg(b, tile_row(p, outer, 0, ct));
    const Vector word = x.pack(l.dtype, parts);
    if (m)
      b.store_mask(p.region, at, word, *m);
    else
      b.store(p.region, at, word);
    return;
  }
  const Sx tile = floor_div(b, row, height), in = floor_mod(b, row, height);
  if (l.pack == 1) {
    const Mask first = x.rows_below(1);
    b.store_mask(p.region, to_arg(b, tile_row(p, outer, tile, ct) + in), v, *both(first, m));
    return;
  }
  // Other rows share the word: read, blend, write.
  const Sx sub = floor_mod(b, in, kSublanes), part = floor_div(b, in, kSublanes);
  const int64_t bits = 32 / l.pack;
  const code::Arg at = to_arg(b, tile_row(p, outer, tile, ct) + sub);
  const Vector old = b.load_bcast(p.region, at);
  const Vector shift = x.splat(part * bits);
  const Vector field = b.vec(Op::VShl, x.splat_bits((1u << bits) - 1), shift);
  Vector raw = v;
  if (l.dtype == DType::BF16) raw = b.vec(Op::VShr, v, x.splat_bits(16));
  raw = b.vec(Op::VAnd, raw, x.splat_bits((1u << bits) - 1));
  const Vector word =
      b.vec(Op::VOr, b.vec(Op::VAnd, old, b.vec(Op::VNot, field)), b.vec(Op::VShl, raw, shift));
  b.store_mask(p.region, at, word, *both(x.rows_below(1), m));
}

void Vectorizer::Impl::store_to(const Place& p, const std::vector<Expr>& index, const Val& v) {
  const Address a = address(p, index);
  if (!a.ok) return;
  const Layout& l = p.layout;
  if (a.tile_step) return refuse("rows become column tiles", sublane, Role::Sublane);
  if (a.row.kl || a.col.kl > 1 || a.col.kl < 0 || (a.col.kl && a.col.ks))
    return refuse("the lanes step through another dimension of the result", lane, Role::Lane);
  const Sx q = floor_div(b, a.col.base, kLanes), off = floor_mod(b, a.col.base, kLanes);
  if (a.col.kl == 1) {
    const Axis& axis = axes.at(lane);
    const bool own = std::find(p.local.begin(), p.local.end(), lane) != p.local.end();
    // Lanes beyond the extent fall into padding, or into something else.
    const bool reaches_end = own || l.flat || a.col.base.c + axis.extent >= l.cols;
    if (off.is_const() && off.c == 0) {
      std::vector<Mask> masks;
      if (axis.ragged && !reaches_end) masks.push_back(x.lanes_below(Sx(axis.extent) - axis.first));
      return store_lanes(p, a, q, v, masks);
    }
    if (l.pack > 1 && !a.row.ks && l.rows != 1)
      return refuse("a row of narrow values is written from the middle of a register", lane,
                    Role::Lane);
    // Two tiles, each the lanes that fall into it.
    const Sx n = axis.ragged ? Sx(axis.extent) - axis.first : Sx(kLanes);
    Val turned;
    turned.kind = Val::Kind::Vec;
    turned.dtype = v.dtype;
    const size_t have = std::max(tenfold::tpu::units(v), size_t{1});
    for (size_t u = 0; u < std::min(have, std::max(units, size_t{1})); ++u)
      turned.v.push_back(b.vec(Op::XRotLane, x.vec(v, u), to_arg(b, off)));
    const Mask from = b.msk(Op::MNot, x.lanes_below(off)), to = x.lanes_below(off + n);
    store_lanes(p, a, q, turned, {all_of(from, to)});
    if (off.is_const() && q.is_const() && off.c + axis.extent <= kLanes) return;
    // The next tile, where there is one; its mask is empty when all lanes fitted.
    const Mask over = x.lanes_below(off + n - Sx(kLanes));
    store_lanes(p, a, clamp(q + 1, l.col_tiles - 1), turned,
                {l.col_tiles > 1 ? all_of(over, b.msk(Op::MNot, from)) : x.lanes_below(0)});
    return;
  }
  if (a.col.ks) {
    // A value for each row becomes neighbouring lanes of one row.
    if (a.col.ks != 1 || a.row.ks || a.outer_step || l.pack != 1)
      return refuse("rows become columns", sublane, Role::Sublane);
    for (size_t u = 0; u < units; ++u) {
      const Sx col = a.col.base + static_cast<int64_t>(u) * kSublanes;
      const Sx at = floor_mod(b, col, kLanes), tile = floor_div(b, col, kLanes);
      const int64_t rows =
          std::min<int64_t>(kSublanes, rows_now - static_cast<int64_t>(u) * kSublanes);
      const Vector target = b.vec(Op::VAddI, b.vec(Op::VSublane), x.splat(at));
      const Mask diagonal = b.msk(Op::VEqI, b.vec(Op::VLane), target);
      Vector line = b.vec(Op::VSel, diagonal, x.vec(v, u), x.splat_bits(0));
      for (int by = kSublanes / 2; by > 0; by /= 2)
        line = b.vec(Op::VOr, line, b.vec(Op::VRotSub, line, by));
      Mask m = all_of(b.msk(Op::MNot, x.lanes_below(at)), x.lanes_below(at + rows));
      if (sublane && axes.at(sublane).ragged && rows_now % kSublanes == 0) {
        const Sx left = Sx(axes.at(sublane).extent) - axes.at(sublane).first -
                        Sx(static_cast<int64_t>(u) * kSublanes);
        m = all_of(m, x.lanes_below(at + left));
      }
      if (!conditions.empty())
        return refuse("rows become columns under a condition", sublane, Role::Sublane);
      store_word_part(p, a.outer, a.row.base, tile, line, m);
    }
    return;
  }
  std::vector<Mask> masks;
  if (l.cols > 1)
    masks.push_back(all_of(x.lanes_below(off + 1), b.msk(Op::MNot, x.lanes_below(off))));
  store_lanes(p, a, q, v, masks);
}

// Stores into one column tile, under lane masks and the conditions in force.
void Vectorizer::Impl::store_lanes(const Place& p, const Address& a, const Sx& ct, const Val& v,
                                   const std::vector<Mask>& lane_masks) {
  const Layout& l = p.layout;
  const int64_t pack_n = l.pack;
  std::optional<Mask> lanes;
  for (const Mask& m : lane_masks) lanes = both(lanes, m);
  auto condition = [&](size_t u) -> std::optional<Mask> {
    if (conditions.empty()) return std::nullopt;
    return conditions[conditions.size() == 1 ? 0 : u];
  };
  if (!a.row.ks && !a.outer_step)
    return store_word_part(p, a.outer, a.row.base, ct, x.vec(v, 0), both(lanes, condition(0)));
  if (a.row.ks && a.outer_step)
    return refuse("two dimensions move with the sublanes", sublane, Role::Sublane);
  const Axis& axis = axes.at(sublane);
  if (a.outer_step) {
    if (pack_n != 1 && l.rows != 1)
      return refuse("narrow rows of several outer dimensions are written at once", sublane,
                    Role::Sublane);
    const int64_t stride = a.outer_step * l.row_tiles * l.col_tiles * kTileRows;
    const int64_t height = kSublanes * pack_n;
    const Sx at = tile_row(p, a.outer, floor_div(b, a.row.base, height), ct) +
                  (pack_n == 1 ? floor_mod(b, a.row.base, height) : Sx(0));
    for (size_t u = 0; u < units; ++u) {
      const int64_t rows =
          std::min<int64_t>(kSublanes, rows_now - static_cast<int64_t>(u) * kSublanes);
      const std::vector<Vector> parts(static_cast<size_t>(pack_n), x.vec(v, u));
      const Vector word = pack_n == 1 ? parts[0] : Vector{};
      const Sx row = at + stride * static_cast<int64_t>(u) * kSublanes;
      const bool span_ragged = axis.ragged && rows_now % kSublanes == 0;
      if (pack_n == 1 && rows == kSublanes && !lanes && !condition(u) && !span_ragged) {
        b.store_stride(p.region, to_arg(b, row), static_cast<int>(stride), word);
        continue;
      }
      if (span_ragged) return refuse("a ragged block of outer dimensions", sublane, Role::Sublane);
      for (int64_t s = 0; s < rows; ++s) {
        std::optional<Mask> m = both(x.rows_below(1), lanes);
        if (condition(u)) return refuse("rows apart under a condition", sublane, Role::Sublane);
        std::vector<Vector> one(static_cast<size_t>(pack_n),
                                b.vec(Op::VBcastSub, parts[0], static_cast<int>(s)));
        b.store_mask(p.region, to_arg(b, row + s * stride), x.pack(l.dtype, one), *m);
      }
    }
    return;
  }
  const bool own = std::find(p.local.begin(), p.local.end(), sublane) != p.local.end();
  const bool reaches_end = own || a.row.base.c + axis.extent >= l.rows;
  if (a.row.ks != 1) {
    // Rows apart: one by one.
    if (pack_n != 1 || a.row.ks < 1)
      return refuse("rows are written in steps", sublane, Role::Sublane);
  }
  const Sx off = floor_mod(b, a.row.base, kSublanes * pack_n);
  const bool aligned = a.row.ks == 1 && off.is_const() && off.c == 0;
  if (!aligned) {
    if (pack_n != 1 || condition(0) || (axis.ragged && rows_now % kSublanes == 0))
      return refuse("rows are written from the middle of a tile", sublane, Role::Sublane);
    for (size_t u = 0; u < units; ++u) {
      const int64_t rows =
          std::min<int64_t>(kSublanes, rows_now - static_cast<int64_t>(u) * kSublanes);
      const Vector word = x.vec(v, u);
      if (l.col_tiles == 1 && a.row.ks == 1) {
        const Sx at = p.base + a.outer * (l.row_tiles * kTileRows) + a.row.base +
                      static_cast<int64_t>(u) * kSublanes;
        std::optional<Mask> m = lanes;
        if (rows < kSublanes) m = both(m, x.rows_below(rows));
        if (m)
          b.store_mask(p.region, to_arg(b, at), word, *m);
        else
          b.store(p.region, to_arg(b, at), word);
        continue;
      }
      for (int64_t s = 0; s < rows; ++s)
        store_word_part(p, a.outer,
                        a.row.base + (static_cast<int64_t>(u) * kSublanes + s) * a.row.ks, ct,
                        b.vec(Op::VBcastSub, word, static_cast<int>(s)), lanes);
    }
    return;
  }
  const Sx first_tile = floor_div(b, a.row.base, kSublanes * pack_n);
  const auto pk = static_cast<size_t>(pack_n);
  for (size_t k = 0; k * pk < units; ++k) {
    const code::Arg at = to_arg(b, tile_row(p, a.outer, first_tile + static_cast<int64_t>(k), ct));
    // Which rows of this tile are the loop's.
    const int64_t begin = static_cast<int64_t>(k * pk) * kSublanes;
    const int64_t rows = std::min<int64_t>(kSublanes * pack_n, rows_now - begin);
    const bool some_rows =
        (rows < kSublanes * pack_n || (axis.ragged && rows_now % (kSublanes * pack_n) == 0)) &&
        !reaches_end;
    bool conditional = false;
    for (size_t u = k * pk; u < std::min(units, (k + 1) * pk); ++u)
      conditional |= condition(u).has_value();
    if (pack_n == 1) {
      std::optional<Mask> m = both(lanes, condition(k));
      if (some_rows) m = both(m, x.rows_below(Sx(axis.extent) - axis.first - Sx(begin)));
      const Vector word = x.vec(v, k);
      if (m)
        b.store_mask(p.region, at, word, *m);
      else
        b.store(p.region, at, word);
      continue;
    }
    Vector word{};
    if (!some_rows && !conditional) {
      word = x.packed(v, k);
    } else {
      const Vector old = b.load(p.region, at);
      std::vector<Vector> parts;
      for (size_t u = k * pk; u < (k + 1) * pk; ++u) {
        const Vector was = x.unpack(l.dtype, old, static_cast<int64_t>(u - k * pk));
        if (u >= units) {
          parts.push_back(was);
          continue;
        }
        std::optional<Mask> m = condition(u);
        if (some_rows)
          m = both(m, x.rows_below(Sx(axis.extent) - axis.first -
                                   Sx(static_cast<int64_t>(u) * kSublanes)));
        parts.push_back(m ? b.vec(Op::VSel, *m, x.vec(v, u), was) : x.vec(v, u));
      }
      word = x.pack(l.dtype, parts);
    }
    if (lanes)
      b.store_mask(p.region, at, word, *lanes);
    else
      b.store(p.region, at, word);
  }
}

// --- workspaces: 32-bit lanes, a copy for each unit of the sublane loop they were made in
// ----------

Val Vectorizer::Impl::load_scratch(const Scratch& s, const std::vector<Expr>& index) {
  Val r;
  r.kind = Val::Kind::Vec;
  r.dtype = s.dtype;
  Sx flat = 0;
  for (size_t d = 0; d + 1 < index.size(); ++d) flat = flat * s.dims[d] + scalar(index[d]);
  const Coord c = coord(index.back(), 0);
  if (refusal || x.refused()) return r;
  const Sx q = s.by_lane ? c.base : floor_div(b, c.base, kLanes);
  const Sx off = s.by_lane ? Sx(0) : floor_mod(b, c.base, kLanes);
  const bool whole = off.is_const() && off.c == 0;
  if (c.ks || c.kl > 1 || c.kl < 0 || (c.kl && (!whole || s.by_lane))) {
    refuse("a workspace is read out of step", c.ks ? sublane : lane,
           c.ks ? Role::Sublane : Role::Lane);
    return r;
  }
  const size_t n = s.by_unit ? units : 1;
  for (size_t u = 0; u < n; ++u) {
    const Sx row =
        Sx(s.row) +
        ((flat * s.col_tiles + q) * static_cast<int64_t>(n) + static_cast<int64_t>(u)) * kTileRows;
    Vector v = b.load(scratch_region, to_arg(b, row));
    if (!c.kl && !s.by_lane) v = b.vec(Op::XBcastLane, v, to_arg(b, off));
    r.v.push_back(v);
  }
  if (s.dtype == DType::Bool) {
    Val m;
    m.kind = Val::Kind::Mask;
    m.dtype = DType::Bool;
    for (Vector w : r.v) m.m.push_back(b.msk(Op::VNeI, w, x.splat_bits(0)));
    return m;
  }
  return r;
}

void Vectorizer::Impl::store_scratch(const Scratch& s, const std::vector<Expr>& index,
                                     const Val& v) {
  Sx flat = 0;
  for (size_t d = 0; d + 1 < index.size(); ++d) flat = flat * s.dims[d] + scalar(index[d]);
  const Coord c = coord(index.back(), 0);
  if (refusal || x.refused()) return;
  const Sx q = s.by_lane ? c.base : floor_div(b, c.base, kLanes);
  const Sx off = s.by_lane ? Sx(0) : floor_mod(b, c.base, kLanes);
  const bool whole = off.is_const() && off.c == 0;
  if (c.ks || (sublane && !s.by_unit))
    return refuse("a workspace is written out of step", sublane, Role::Sublane);
  if (c.kl > 1 || c.kl < 0 || (c.kl && (!whole || s.by_lane)))
    return refuse("a workspace is written out of step", lane, Role::Lane);
  const size_t n = s.by_unit ? units : 1;
  for (size_t u = 0; u < n; ++u) {
    const Sx row =
        Sx(s.row) +
        ((flat * s.col_tiles + q) * static_cast<int64_t>(n) + static_cast<int64_t>(u)) * kTileRows;
    std::optional<Mask> m;
    if (!c.kl && !s.by_lane)
      m = all_of(x.lanes_below(off + 1), b.msk(Op::MNot, x.lanes_below(off)));
    if (!conditions.empty()) m = both(m, conditions[conditions.size() == 1 ? 0 : u]);
    if (m)
      b.store_mask(scratch_region, to_arg(b, row), x.vec(v, u), *m);
    else
      b.store(scratch_region, to_arg(b, row), x.vec(v, u));
  }
}

}  // namespace tenfold::tpu
