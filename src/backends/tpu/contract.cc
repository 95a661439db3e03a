// See contract.h. Weights stand still: for each block of columns and each step of the sum they are
// loaded into the arrays, all rows stream past them, and partial sums are added up in f32 (s32 for
// integers) in VMEM, step after step in order of k. Then the rest of the nest runs on the sums.
#include "backends/tpu/contract.h"

#include <algorithm>
#include <functional>

#include "backends/tpu/emit.h"
#include "loop/walk.h"
#include "tpu/isa/timing.h"

namespace tenfold::tpu {

using loop::Expr;
using loop::ExprNode;
using loop::Stmt;
using loop::VarDef;

namespace {

bool is_zero(const Expr& e) { return e->kind == ExprNode::Kind::Const && e->i == 0 && e->f == 0; }

// A widening conversion of data, or a guard with zero around one: the data itself.
Expr factor(const Expr& e) {
  if (e->kind == ExprNode::Kind::Cast && pack_of(e->args[0]->dtype) &&
      bit_width(e->args[0]->dtype) <= bit_width(e->dtype) &&
      is_float(e->dtype) == is_float(e->args[0]->dtype))
    return factor(e->args[0]);
  return e;
}

// The loads of an expression, with lets looked through.
void loads_of(const Expr& e, const Lets& lets, std::vector<Expr>& out) {
  loop::visit_once(e, [&](const Expr& x) {
    if (x->kind == ExprNode::Kind::Load) out.push_back(x);
    if (x->kind == ExprNode::Kind::Var)
      if (auto it = lets.find(x->var.get()); it != lets.end()) loads_of(it->second, lets, out);
  });
}

// How often v steps the last (0), the last but one (1) or another (2) dimension of the loads.
struct Steps {
  int64_t last = 0, row = 0, outer = 0;
  bool other = false;
  bool any() const { return last || row || outer || other; }
};
Steps steps_of(const std::vector<Expr>& loads, const VarDef* v) {
  Steps s;
  for (const Expr& l : loads) {
    for (size_t d = 0; d < l->args.size(); ++d) {
      const Linear x = linear(l->args[d], {});
      if (x.tangled(v)) s.other = true;
      const int64_t c = x.coeff(v);
      if (!c) continue;
      if (d + 1 == l->args.size())
        s.last = c;
      else if (d + 2 == l->args.size())
        s.row = c;
      else
        s.outer = c;
    }
  }
  return s;
}

}  // namespace

std::optional<Contraction> find_contraction(const loop::Kernel& kernel) {
  if (kernel.body.size() != 1) return std::nullopt;
  Contraction c;
  std::vector<const Stmt*> outer, summed;
  const loop::Body* body = &kernel.body;
  while (body->size() == 1 && (*body)[0]->kind == Stmt::Kind::For) {
    outer.push_back((*body)[0].get());
    body = &(*body)[0]->body;
  }
  // alloc acc; acc = 0; loops { acc = acc + x * y }; ...
  size_t i = 0;
  const auto& b = *body;
  for (; i < b.size() && b[i]->kind != Stmt::Kind::For; ++i) {
    if (b[i]->kind == Stmt::Kind::Alloc && b[i]->buffer->shape.empty() && !c.acc) {
      c.acc = b[i]->buffer;
    } else if (b[i]->kind == Stmt::Kind::Store && b[i]->buffer == c.acc && is_zero(b[i]->value)) {
    } else {
      return std::nullopt;
    }
  }
  if (!c.acc || i == b.size()) return std::nullopt;
  Lets lets;
  const Stmt* s = b[i].get();
  const Stmt* add = nullptr;
  while (!add) {
    if (s->kind != Stmt::Kind::For) return std::nullopt;
    summed.push_back(s);
    for (size_t j = 0; j < s->body.size(); ++j) {
      const Stmt* t = s->body[j].get();
      if (t->kind == Stmt::Kind::Let) {
        lets[t->var.get()] = t->value;
        continue;
      }
      if (j + 1 != s->body.size()) return std::nullopt;
      if (t->kind == Stmt::Kind::For) {
        s = t;
        break;
      }
      if (t->kind != Stmt::Kind::Store || t->buffer != c.acc) return std::nullopt;
      add = t;
    }
    if (s->body.empty()) return std::nullopt;
  }
  for (size_t j = i + 1; j < b.size(); ++j) {
    if (b[j]->kind == Stmt::Kind::For) return std::nullopt;
    c.epilogue.push_back(b[j].get());
  }
  // acc + x * y, lets expanded.
  const auto expand = [&](const Expr& e) {
    return loop::transform(e, [&](const Expr& x) {
      if (x->kind == ExprNode::Kind::Var)
        if (auto it = lets.find(x->var.get()); it != lets.end()) return it->second;
      return x;
    });
  };
  const Expr sum = expand(add->value);
  const auto is_acc = [&](const Expr& e) {
    return e->kind == ExprNode::Kind::Load && e->buffer == c.acc;
  };
  if (sum->kind != ExprNode::Kind::Op || sum->prim != Prim::Add) return std::nullopt;
  const Expr product = is_acc(sum->args[0])   ? sum->args[1]
                       : is_acc(sum->args[1]) ? sum->args[0]
                                              : nullptr;
  if (!product || product->kind != ExprNode::Kind::Op || product->prim != Prim::Mul)
    return std::nullopt;
  const bool floats = c.acc->dtype == DType::F32, ints = c.acc->dtype == DType::I32;
  if (!floats && !ints) return std::nullopt;
  for (int swap = 0; swap < 2; ++swap) {
    const Expr x = factor(product->args[swap]), y = factor(product->args[1 - swap]);
    std::vector<Expr> xs, ys;
    loads_of(x, {}, xs);
    loads_of(y, {}, ys);
    if (xs.empty() || ys.empty()) continue;
    DType type = x->dtype;
    if (x->dtype != y->dtype) continue;
    if (floats && type != DType::BF16 && type != DType::F32) continue;
    if (ints && type != DType::I8) continue;
    const Stmt *m = nullptr, *n = nullptr, *k = nullptr;
    bool transposed = false;
    for (const Stmt* l : summed) {
      const Steps a = steps_of(xs, l->var.get()), w = steps_of(ys, l->var.get());
      if (a.last == 1 && !a.row && !a.outer && !a.other && !w.other && !w.outer &&
          ((w.row == 1 && !w.last) || (w.last == 1 && !w.row)))
        k = l;
    }
    if (!k) continue;
    transposed = steps_of(ys, k->var.get()).last == 1;
    for (const Stmt* l : outer) {
      const Steps a = steps_of(xs, l->var.get()), w = steps_of(ys, l->var.get());
      if (!a.any() && !w.other && !w.outer &&
          (transposed ? w.row == 1 && !w.last : w.last == 1 && !w.row))
        n = l;
    }
    if (!n) continue;
    std::vector<const Stmt*> batch, reuse;
    // Rows of the left factor: the loop that steps its last dimension but one, else an outer one.
    for (int pass = 0; pass < 2 && !m; ++pass)
      for (const Stmt* l : outer) {
        const Steps a = steps_of(xs, l->var.get()), w = steps_of(ys, l->var.get());
        if (l == n || w.any() || a.other || a.last || extent_of(*l) < 2) continue;
        if (pass == 0 ? a.row >= 1 : a.outer >= 1 && type == DType::F32) m = l;
      }
    for (const Stmt* l : outer) {
      if (l == m || l == n) continue;
      (steps_of(ys, l->var.get()).any() ? batch : reuse).push_back(l);
    }
    // The loops of a reuse must not hide inside a batch loop's data: their order is free, as all
    // are independent.
    for (const Stmt* l : outer) {
      const auto folds = folds_of(*l);
      if (!folds || !folds->empty()) return std::nullopt;
    }
    c.m = m;
    c.n = n;
    c.k = k;
    c.batch = batch;
    c.reuse = reuse;
    for (const Stmt* l : summed)
      if (l != k) c.taps.push_back(l);
    c.lhs = x;
    c.rhs = y;
    c.transposed = transposed;
    c.type = type;
    c.macs = 1;
    for (const Stmt* l : outer) c.macs *= static_cast<double>(extent_of(*l));
    for (const Stmt* l : summed) c.macs *= static_cast<double>(extent_of(*l));
    return c;
  }
  return std::nullopt;
}

Roles contraction_roles(const Contraction& c) {
  Roles r;
  if (c.m) r.of[c.m->var.get()] = Role::Sublane;
  r.of[c.n->var.get()] = Role::Lane;
  return r;
}

// --- emission
// --------------------------------------------------------------------------------------

namespace {

constexpr int64_t kPartLanes = kLanes;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

class ContractionEmitter {
 public:
  ContractionEmitter(Vectorizer::Impl& v, const Contraction& c, int pieces)
      : v_(v), c_(c), b_(v.b), chip_(v.x.chip()), pieces_(pieces) {
    dim_ = chip_.mxu_dim;
    halves_ = dim_ / kLanes;
    rows_ = c.type == DType::I8 ? 32 : 16;
    m_extent_ = c.m ? extent_of(*c.m) : 1;
  }

  void run() {
    const Span n = span_of(c_.n, ceil_div(extent_of(*c_.n), kLanes));
    m_span_ = c_.m ? span_of(c_.m, ceil_div(m_extent_, rows_)) : Span{0, 1};
    repeat(c_.batch, 0, [&] {
      const int64_t group = chip_.mxu_count * halves_;
      const int64_t full = n.count / group, rest = n.count % group;
      if (full) loop(full, [&](const Sx& g) { columns(n.first + g * group, group); }, "columns");
      if (rest) columns(n.first + Sx(full * group), rest);
    });
  }

 private:
  Span span_of(const Stmt* l, int64_t steps) {
    auto it = v_.spans.find(l->var.get());
    return it != v_.spans.end() ? it->second : Span{0, steps};
  }
  void loop(int64_t trips, const std::function<void(const Sx&)>& f, const char* name) {
    if (trips == 1) return f(0);
    b_.loop(code::Arg(trips), [&](code::Scalar i) { f(Sx(i)); }, name);
  }
  void repeat(const std::vector<const Stmt*>& loops, size_t i, const std::function<void()>& f) {
    if (i == loops.size()) return f();
    const Stmt* l = loops[i];
    const Span s = span_of(l, extent_of(*l));
    loop(
        s.count,
        [&](const Sx& t) {
          Axis a;
          a.first = s.first + t;
          a.local = t;
          a.extent = extent_of(*l);
          v_.axes[l->var.get()] = a;
          v_.memo.clear();
          repeat(loops, i + 1, f);
        },
        l->var->name.c_str());
  }
  void set_axis(const Stmt* l, Role role, const Sx& first, const Sx& local, bool ragged) {
    Axis a;
    a.role = role;
    a.first = first;
    a.local = local;
    a.extent = extent_of(*l);
    a.ragged = ragged;
    v_.axes[l->var.get()] = a;
  }
  void roles(const Stmt* sublane, const Stmt* lane, int64_t units, int64_t rows) {
    v_.sublane = sublane ? sublane->var.get() : nullptr;
    v_.lane = lane ? lane->var.get() : nullptr;
    v_.units = static_cast<size_t>(sublane ? units : 1);
    v_.rows_now = sublane ? rows : kSublanes;
    v_.memo.clear();
  }

  // Sums for column tiles first, first + 1, ... (count of them, at most one group).
  void columns(const Sx& first, int64_t count) {
    count_ = count;
    const bool whole = !c_.m || v_.spans.count(c_.m->var.get());
    const int64_t full = whole ? m_span_.count : m_extent_ / rows_;
    const int64_t rest = whole ? 0 : m_extent_ % rows_;
    int64_t reuse = 1;
    for (const Stmt* l : c_.reuse) reuse *= span_of(l, extent_of(*l)).count;
    // Sums stay in the arrays' accumulators where those hold them, a part of the rows at a time if
    // need be; else in VMEM.
    const int64_t room = chip_.mxu_accumulates ? result_queue_entries(chip_) / halves_ : 0;
    const int64_t tile_units = rows_ / kSublanes;
    in_array_ = room >= reuse * tile_units;
    const int64_t most = in_array_ ? room / (reuse * tile_units) : full + 1;
    if (full + (rest > 0) <= most) return part_of_rows(first, reuse, 0, full, rest);
    for (int64_t at = 0; at < full || (at == full && rest); at += most) {
      const int64_t n = std::min(most, full - at);
      part_of_rows(first, reuse, at, n, n < most ? rest : 0);
      if (n < most) break;
    }
  }

  // All sums of the block's row tiles tile0 .. tile0 + full - 1, and of `rest` rows after them: for
  // each iteration of the reuse loops, rows by columns.
  void part_of_rows(const Sx& first, int64_t reuse, int64_t tile0, int64_t full, int64_t rest) {
    const int64_t count = count_;
    tile0_ = tile0;
    full_ = full;
    rest_ = rest;
    units_ = (full + (rest > 0)) * (rows_ / kSublanes);
    acc_at_ = v_.scratch_top;
    if (!in_array_) {
      const int64_t acc_rows = reuse * units_ * count * kTileRows;
      v_.scratch_peak = std::max(v_.scratch_peak, acc_at_ + acc_rows - v_.scratch_first);
    }

    const int64_t k = extent_of(*c_.k);
    const int64_t steps = k / dim_, tail = k % dim_;
    // Sum in the order of the taps, then k, then the pieces of the operands.
    if (!in_array_) done_ = b_.var(b_.constant(0));
    auto push = [&](const Sx& kt, int64_t extent) { return weight_step(first, kt, extent, 0); };
    if (c_.taps.empty() && pieces_ == 1) {
      // The weights of the next step go in while the rows of this one stream.
      const int64_t all = steps + (tail > 0);
      weights(first, 0, steps ? dim_ : tail, 0);
      if (steps > 1) {
        loop(
            steps - 1,
            [&](const Sx& t) {
              rows(t * dim_, dim_, 0, push((t + 1) * dim_, dim_));
              swap();
            },
            "k");
      }
      if (steps && tail) {
        rows((steps - 1) * dim_, dim_, 0, push(steps * dim_, tail));
        swap();
      }
      rows(tail ? steps * dim_ : (all - 1) * dim_, tail ? tail : dim_, 0, {});
    } else {
      repeat(c_.taps, 0, [&] {
        auto step = [&](const Sx& kt, int64_t extent) {
          for (int i = 0; i < pieces_; ++i)
            for (int j = 0; i + j < pieces_; ++j) {
              weights(first, kt, extent, j);
              rows(kt, extent, i, {});
            }
        };
        if (steps) loop(steps, [&](const Sx& t) { step(t * dim_, dim_); }, "k");
        if (tail) step(steps * dim_, tail);
      });
    }
    finish(first, count);
  }

  // Piece `i` of an f32 value: what the earlier bf16 pieces leave of it.
  Vector piece(const Val& val, size_t word, int i) {
    if (pieces_ == 1 || val.dtype != DType::F32) {
      Val as = val;
      if (val.dtype == DType::F32 && val.kind != Val::Kind::Packed) as.dtype = DType::BF16;
      return v_.x.packed(as, word);
    }
    std::vector<Vector> parts;
    for (size_t u = word * 2; u < word * 2 + 2; ++u) {
      const size_t have = tenfold::tpu::units(val);
      Vector r = v_.x.vec(val, have == 1 ? 0 : std::min(u, have - 1));
      for (int k = 0; k < i; ++k) r = b_.vec(Op::VSubF, r, b_.vec(Op::VRoundBf, r));
      parts.push_back(r);
    }
    return b_.vec(Op::VPackB, parts[0], parts[1]);
  }

  // Zeroes what lies beyond the sum's extent.
  Val within(const Val& val, const Sx& left, bool lanes, size_t units) {
    Val r;
    r.kind = Val::Kind::Vec;
    r.dtype = val.dtype;
    for (size_t u = 0; u < units; ++u) {
      const Mask m = lanes ? v_.x.lanes_below(left)
                           : v_.x.rows_below(left - Sx(static_cast<int64_t>(u) * kSublanes));
      const size_t have = tenfold::tpu::units(val);
      r.v.push_back(b_.vec(Op::VSel, m, v_.x.vec(val, have == 1 ? 0 : std::min(u, have - 1)),
                           v_.x.splat_bits(0)));
    }
    return r;
  }

  // Weights on their way into the arrays while something else streams: block by block of their
  // rows.
  struct Next {
    int64_t alike = 0, blocks = 0;  // the first `alike` of them may be pushed by a loop
    std::function<void(const Sx& block)> push;
  };

  // Blocks of weight rows of a step for array q: of k, or of n where the right factor is
  // transposed.
  int64_t weight_blocks(const Sx& first, int64_t extent, int64_t q) const {
    if (!c_.transposed) return ceil_div(extent, rows_);
    int64_t columns = std::min(count_ - q * halves_, halves_) * kLanes;
    if (first.is_const())
      columns = std::min(columns, extent_of(*c_.n) - (first.c + q * halves_) * kLanes);
    return ceil_div(columns, rows_);
  }
  Next weight_step(const Sx& first, const Sx& kt, int64_t extent, int part) {
    Next n;
    const int64_t arrays = ceil_div(count_, halves_);
    n.blocks = weight_blocks(first, extent, 0);
    n.alike = c_.transposed ? weight_blocks(first, extent, arrays - 1) : extent / rows_;
    n.push = [this, first, kt, extent, part](const Sx& block) {
      weight_block(first, kt, extent, part, block);
    };
    return n;
  }

  // Block `block` of the weights of step kt, for every array.
  void weight_block(const Sx& first, const Sx& kt, int64_t extent, int part, const Sx& block) {
    const bool s8 = c_.type == DType::I8;
    const size_t units = static_cast<size_t>(rows_ / kSublanes);
    const int64_t n_extent = extent_of(*c_.n);
    for (int64_t q = 0; q * halves_ < count_; ++q) {
      const int64_t cols = std::min(halves_, count_ - q * halves_);
      const Sx column = first + q * halves_;
      auto number = [&](int64_t h) { return to_arg(b_, block * halves_ + h); };
      if (!c_.transposed) {
        for (int64_t h = 0; h < cols; ++h) {
          roles(c_.k, c_.n, static_cast<int64_t>(units), rows_);
          const Sx at = kt + block * rows_, col = (column + h) * kLanes;
          const int64_t left = block.is_const() ? extent - block.c * rows_ : rows_;
          set_axis(c_.k, Role::Sublane, at, at, false);
          set_axis(c_.n, Role::Lane, col, col_local(col), n_extent % kLanes != 0);
          if (left < rows_) {
            v_.rows_now = left;
            v_.units = static_cast<size_t>(ceil_div(left, kSublanes));
          }
          Val w = v_.value(c_.rhs);
          if (left < rows_) w = within(w, left, false, units);
          b_.emit(s8 ? Op::MxWS : Op::MxWB, q, number(h), piece(w, 0, part));
        }
      } else {
        // Rows of n, lanes of k.
        if (block.is_const() && block.c >= weight_blocks(first, extent, q)) continue;
        for (int64_t h = 0; h * kPartLanes < extent; ++h) {
          const Sx row = column * kLanes + block * rows_, at = kt + h * kPartLanes;
          roles(c_.n, c_.k, static_cast<int64_t>(units), rows_);
          set_axis(c_.n, Role::Sublane, row, col_local(row), false);
          set_axis(c_.k, Role::Lane, at, at, false);
          Val w = v_.value(c_.rhs);
          const int64_t left = extent - h * kPartLanes;
          if (left < kPartLanes) w = within(w, left, true, units);
          b_.emit(s8 ? Op::MxWTS : Op::MxWTB, q, number(h), piece(w, 0, part));
        }
      }
    }
  }
  void swap() {
    for (int64_t q = 0; q * halves_ < count_; ++q) b_.emit(Op::MxSwap, q);
  }

  // Loads the weights of step kt and makes them those in use. Blocks that are all alike are a loop.
  void weights(const Sx& first, const Sx& kt, int64_t extent, int part) {
    const Next n = weight_step(first, kt, extent, part);
    if (n.alike) loop(n.alike, n.push, "weights");
    for (int64_t i = n.alike; i < n.blocks; ++i) n.push(i);
    swap();
  }
  // Column position relative to the block of the n loop.
  Sx col_local(const Sx& col) {
    const Span n = span_of(c_.n, 0);
    return col - n.first * kLanes;
  }

  // Streams all rows, and with them the weights of the next step; partial sums are added to those
  // of earlier steps.
  void rows(const Sx& kt, int64_t extent, int part, const Next& next) {
    const bool s8 = c_.type == DType::I8;
    const int64_t parts = ceil_div(extent, kPartLanes);
    Mask earlier;
    if (!in_array_) earlier = b_.msk(Op::MLaneLt, done_ * code::Arg(int64_t{kLanes}));
    auto tile = [&](const Sx& t, const Sx& unit0, int64_t have) {
      roles(c_.m, c_.k, rows_ / kSublanes, rows_);
      if (c_.m) {
        set_axis(c_.m, Role::Sublane, (m_span_.first + t) * rows_, t * rows_, false);
        v_.rows_now = have;
        v_.units = static_cast<size_t>(ceil_div(have, kSublanes));
      }
      const int64_t arrays = ceil_div(count_, halves_);
      std::vector<Vector> words;
      for (int64_t p = 0; p < parts; ++p) {
        const Sx at = kt + p * kPartLanes;
        set_axis(c_.k, Role::Lane, at, at, false);
        v_.memo.clear();
        Val l = v_.value(c_.lhs);
        const int64_t left = extent - p * kPartLanes;
        if (left < kPartLanes && extent % rows_) l = within(l, left, true, v_.units);
        words.push_back(piece(l, 0, part));
      }
      for (int64_t q = 0; q < arrays; ++q) {
        for (int64_t p = 0; p + 1 < parts; ++p)
          b_.emit(s8 ? Op::MxLS : Op::MxLB, q, p, words[static_cast<size_t>(p)]);
        if (in_array_) {
          b_.emit(s8 ? Op::MxAS : Op::MxAB, q, parts - 1, have, to_arg(b_, unit0 * halves_),
                  words.back());
        } else {
          b_.emit(s8 ? Op::MxMS : Op::MxMB, q, parts - 1, have, words.back());
        }
      }
      if (in_array_) return;
      for (int64_t q = 0; q < arrays; ++q)
        for (int64_t u = 0; u < ceil_div(have, kSublanes); ++u)
          for (int64_t h = 0; h < halves_; ++h) {
            const Vector r = b_.vec(Op::MxPop, q);
            const int64_t col = q * halves_ + h;
            if (col >= count_) continue;
            const code::Arg at = to_arg(b_, acc_row(unit0 + u, col));
            const Vector old = b_.load_mask(v_.scratch_region, at, earlier);
            b_.store(v_.scratch_region, at, b_.vec(s8 ? Op::VAddI : Op::VAddF, old, r));
          }
    };
    over_rows(tile, next);
    if (!in_array_) b_.set(done_, 1);
  }

  Sx acc_row(const Sx& unit, int64_t col) {
    return Sx(acc_at_) + (unit * count_ + col) * kTileRows;
  }

  // f(tile of rows, its first unit among the sums, rows that exist). `next` runs beside the first
  // tiles.
  void over_rows(const std::function<void(const Sx&, const Sx&, int64_t)>& f, const Next& next) {
    const int64_t step = rows_ / kSublanes;
    int64_t pushed = 0;
    repeat(c_.reuse, 0, [&] {
      Sx index = 0;
      for (const Stmt* l : c_.reuse)
        index = index * span_of(l, extent_of(*l)).count + v_.axes.at(l->var.get()).local;
      const Sx unit0 = index * units_;
      if (!c_.m) return f(0, unit0, 1);
      auto tile = [&](const Sx& t) { f(t + tile0_, unit0 + t * step, rows_); };
      const int64_t both = c_.reuse.empty() ? std::min(next.alike, full_) : 0;
      if (both) {
        loop(
            both,
            [&](const Sx& t) {
              next.push(t);
              tile(t);
            },
            "rows and weights");
        pushed = both;
      }
      if (full_ > both) loop(full_ - both, [&](const Sx& t) { tile(t + both); }, "rows");
      if (rest_) f(tile0_ + full_, unit0 + full_ * step, rest_);
    });
    if (next.alike > pushed)
      loop(next.alike - pushed, [&](const Sx& i) { next.push(i + pushed); }, "weights");
    for (int64_t i = next.alike; i < next.blocks; ++i) next.push(i);
  }

  // The rest of the nest, on the sums.
  void finish(const Sx& first, int64_t count) {
    const bool own = c_.m && v_.spans.count(c_.m->var.get());
    over_rows(
        [&](const Sx& t, const Sx& unit0, int64_t have) {
          for (int64_t col = 0; col < count; ++col) {
            roles(c_.m, c_.n, ceil_div(have, kSublanes), have);
            const Sx at = (first + col) * kLanes;
            if (c_.m)
              set_axis(c_.m, Role::Sublane, (m_span_.first + t) * rows_, t * rows_,
                       have < rows_ || (own && m_extent_ % rows_ != 0));
            set_axis(c_.n, Role::Lane, at, col_local(at), extent_of(*c_.n) % kLanes != 0);
            Cell cell;
            cell.dtype = c_.acc->dtype;
            cell.fixed = true;
            for (int64_t u = 0; u < (c_.m ? ceil_div(have, kSublanes) : 1); ++u) {
              if (in_array_) {
                const Vector sum = b_.vec(Op::MxRead, col / halves_,
                                          to_arg(b_, (unit0 + u) * halves_ + col % halves_));
                cell.v.push_back(c_.m ? sum : b_.vec(Op::VBcastSub, sum, 0));
                continue;
              }
              const code::Arg row = to_arg(b_, acc_row(unit0 + u, col));
              cell.v.push_back(c_.m ? b_.load(v_.scratch_region, row)
                                    : b_.load_bcast(v_.scratch_region, row));
            }
            v_.cells[c_.acc.get()] = cell;
            for (const Stmt* s : c_.epilogue) v_.statement(*s);
          }
          // Columns of an array that no factor has: their sums are taken out all the same.
          if (!in_array_) return;
          for (int64_t col = count; col % halves_ != 0; ++col)
            for (int64_t u = 0; u < (c_.m ? ceil_div(have, kSublanes) : 1); ++u)
              b_.vec(Op::MxRead, col / halves_, to_arg(b_, (unit0 + u) * halves_ + col % halves_));
        },
        {});
    roles(nullptr, nullptr, 1, kSublanes);
  }

  Vectorizer::Impl& v_;
  const Contraction& c_;
  code::Builder& b_;
  const Chip& chip_;
  int pieces_;
  int64_t dim_, halves_, rows_, m_extent_;
  Span m_span_;
  bool in_array_ = false;  // sums are kept in the arrays' accumulators
  code::Scalar done_;      // else: whether there are sums of earlier steps
  int64_t acc_at_ = 0, count_ = 0, units_ = 0;
  int64_t tile0_ = 0, full_ = 0, rest_ = 0;  // row tiles at hand
};

void emit_contraction(Vectorizer& v, const Contraction& c, int pieces) {
  ContractionEmitter(v.impl(), c, pieces).run();
}

}  // namespace tenfold::tpu
