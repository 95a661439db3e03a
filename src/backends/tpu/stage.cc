// See stage.h.
#include "backends/tpu/stage.h"

#include <algorithm>
#include <array>

#include "backends/tpu/chain.h"
#include "loop/walk.h"
#include "tpu/isa/timing.h"

namespace tenfold::tpu {

using loop::Stmt;
using loop::VarDef;

namespace {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

int64_t unit_of(const Nest& n, const VarDef* v) {
  const Role r = n.roles.role(v);
  if (r == Role::Lane) return kLanes;
  if (r == Role::Sublane)
    return n.contraction ? (n.contraction->type == DType::I8 ? 32 : 16) : n.step_rows;
  return 1;
}

namespace {

int64_t steps_of(const Nest& n, const Stmt* l) {
  return ceil_div(extent_of(*l), unit_of(n, l->var.get()));
}

// Whether the loop may be cut into blocks: each parameter not on the chip either ignores it or has
// one dimension that it alone steps through, in whole tiles.
bool can_cut(const Nest& n, const Stmt* l) {
  const VarDef* v = l->var.get();
  const int64_t unit = unit_of(n, v);
  for (const Param& p : n.params) {
    size_t alone = p.steps_with.size();
    for (size_t d = 0; d < p.steps_with.size(); ++d)
      if (p.steps_with[d] == v) alone = d;
    if (!uses_variable(n.kernel, p.buffer, v)) {
      if (p.written) return false;  // folded over: the result is not complete after a block
      continue;
    }
    if (alone == p.steps_with.size()) return false;
    const size_t rank = p.steps_with.size();
    if (p.layout.flat) return false;
    // A block ends at a tile's end.
    if (alone + 2 == rank && unit % (kSublanes * p.layout.pack)) return false;
    if (alone + 1 == rank && unit % kLanes) return false;
    if (alone + 2 == rank && unit > kSublanes * p.layout.pack && extent_of(*l) % unit != 0 &&
        extent_of(*l) > unit)
      return false;  // the last block would reach beyond the tensor's tiles
  }
  return true;
}

Layout block_layout(const Nest& n, const Param& p, const std::vector<GridLoop>& grid,
                    StagedParam* s) {
  std::vector<int64_t> dims = p.layout.dims;
  s->dim_level.assign(dims.size(), -1);
  s->level = -1;
  for (size_t g = 0; g < grid.size(); ++g) {
    if (grid[g].blocks() <= 1) continue;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (p.steps_with[d] != grid[g].var) continue;
      const int64_t unit = unit_of(n, grid[g].var);
      dims[d] = std::min(grid[g].block * unit, ceil_div(dims[d], unit) * unit);
      s->dim_level[d] = static_cast<int>(g);
      s->level = std::max(s->level, static_cast<int>(g));
    }
  }
  return s->level < 0 ? p.layout : layout_of(p.layout.dtype, dims, p.layout.flat);
}

// Counted dimensions of a copy, innermost first; each in rows.
struct CopyDim {
  int64_t count, hbm, vmem;
};

// The copy of one block: contiguous rows and at most three counted dimensions.
std::optional<DmaShape> copy_shape(const Layout& whole, const Layout& block, bool to_chip) {
  std::vector<CopyDim> dims;
  int64_t run = kTileRows;
  int64_t hbm = kTileRows, vmem = kTileRows;
  auto add = [&](int64_t count, int64_t all) {
    if (count > 1) {
      if (hbm == run && vmem == run && dims.empty())
        run *= count;
      else if (!dims.empty() && dims.back().hbm * dims.back().count == hbm &&
               dims.back().vmem * dims.back().count == vmem)
        dims.back().count *= count;
      else
        dims.push_back({count, hbm, vmem});
    }
    hbm *= all;
    vmem *= count;
  };
  // Block tiles may lie beyond the tensor's (a ragged last block never does).
  add(std::min(block.col_tiles, whole.col_tiles), whole.col_tiles);
  if (block.col_tiles > whole.col_tiles) vmem = block.col_tiles * kTileRows;
  add(std::min(block.row_tiles, whole.row_tiles), whole.row_tiles);
  if (block.row_tiles > whole.row_tiles) vmem = block.col_tiles * block.row_tiles * kTileRows;
  const size_t rank = whole.dims.size();
  for (size_t d = rank; d-- > 0;) {
    if (d + 2 >= rank) continue;
    add(block.dims[d], whole.dims[d]);
  }
  if (dims.size() > 3) return std::nullopt;
  DmaShape s;
  s.from = to_chip ? Space::Hbm : Space::Vmem;
  s.to = to_chip ? Space::Vmem : Space::Hbm;
  s.rows = static_cast<uint32_t>(run);
  for (size_t i = 0; i < dims.size(); ++i) {
    auto& d = s.dims[2 - i];
    d.count = static_cast<uint32_t>(dims[i].count);
    d.from_stride = static_cast<int32_t>(to_chip ? dims[i].hbm : dims[i].vmem);
    d.to_stride = static_cast<int32_t>(to_chip ? dims[i].vmem : dims[i].hbm);
  }
  return s;
}

}  // namespace

int64_t scratch_of(const Nest& n, const Chip& chip, const std::vector<GridLoop>& grid) {
  if (n.chain) return chain_rows(n, chip, grid);
  if (!n.contraction) return n.scratch_rows;
  const Contraction& c = *n.contraction;
  auto steps = [&](const Stmt* l) {
    for (const GridLoop& g : grid)
      if (g.var == l->var.get()) return std::min(g.block, g.steps);
    return steps_of(n, l);
  };
  int64_t units = c.type == DType::I8 ? 4 : 2;
  for (const Stmt* l : c.reuse) units *= steps(l);
  // Sums that the arrays keep, some rows at a time.
  if (chip.mxu_accumulates &&
      units * std::max<int64_t>(chip.mxu_dim / kLanes, 1) <= result_queue_entries(chip)) {
    return 0;
  }
  if (c.m) units *= steps(c.m);
  return units * std::min(steps(c.n), chip.mxu_count * chip.mxu_dim / kLanes) * kTileRows;
}

namespace {

// The largest multiple of `unit` up to `block` that cuts a loop into equal blocks, if it is not
// much smaller; else `block`.
int64_t even_block(int64_t steps, int64_t block, int64_t unit) {
  for (int64_t b = block; b * 2 > block; b -= unit)
    if (steps % b == 0) return b;
  return block;
}

std::optional<Staging> try_staging(const Nest& n, const Chip& chip, const std::vector<Home>& homes,
                                   std::vector<GridLoop> grid, int64_t rows, int ring) {
  Staging s;
  s.grid = std::move(grid);
  int64_t at = 0;
  for (size_t i = 0; i < n.params.size(); ++i) {
    const Param& p = n.params[i];
    StagedParam sp;
    if (homes[i].vmem_row >= 0) {
      sp.dim_level.assign(p.layout.dims.size(), -1);
      sp.block = p.layout;
      s.params.push_back(sp);
      continue;
    }
    sp.block = block_layout(n, p, s.grid, &sp);
    int64_t blocks = 1;
    for (int g = 0; g <= sp.level; ++g) blocks *= s.grid[static_cast<size_t>(g)].blocks();
    sp.ring = static_cast<int>(std::min<int64_t>(blocks, p.written ? 2 : ring));
    // A last block that was moved back overlaps the one before it in HBM: one copy at a time.
    if (p.written)
      for (const GridLoop& g : s.grid)
        if (g.steps % g.block) sp.ring = 1;
    if (!copy_shape(p.layout, sp.block, true)) return std::nullopt;
    sp.row = at;
    at += sp.block.mem_rows() * sp.ring;
    if (at > rows) return std::nullopt;
    s.params.push_back(sp);
  }
  s.scratch_row = at;
  s.scratch_rows = scratch_of(n, chip, s.grid);
  s.rows = at + s.scratch_rows;
  if (s.rows > rows) return std::nullopt;
  return s;
}

// Cycles of the arrays for the nest in such blocks: each step of a column group takes its weights
// and its rows, and each group waits once for its last results.
double array_cycles(const Nest& n, const Chip& chip, const std::vector<GridLoop>& grid) {
  if (!n.contraction) return 0;
  const Contraction& c = *n.contraction;
  struct Cut {
    double blocks, steps;
  };
  auto cut = [&](const Stmt* l) {
    const auto all = static_cast<double>(steps_of(n, l));
    for (const GridLoop& g : grid)
      if (g.var == l->var.get())
        return Cut{static_cast<double>(g.blocks()), static_cast<double>(g.block)};
    return Cut{1, all};
  };
  double times = 1, tiles = 1;  // blocks of rows; row tiles of one
  for (const Stmt* l : c.batch) times *= static_cast<double>(extent_of(*l));
  for (const Stmt* l : c.reuse) times *= cut(l).blocks, tiles *= cut(l).steps;
  if (c.m) times *= cut(c.m).blocks, tiles *= cut(c.m).steps;
  const int64_t dim = chip.mxu_dim, group = chip.mxu_count * dim / kLanes;
  const Cut columns = cut(c.n);
  const double groups =
      columns.blocks * static_cast<double>(ceil_div(static_cast<int64_t>(columns.steps), group));
  double steps =
      static_cast<double>(ceil_div(extent_of(*c.k), dim) * n.pieces * (n.pieces + 1) / 2);
  for (const Stmt* l : c.taps) steps *= static_cast<double>(extent_of(*l));
  const double rate = c.type == DType::I8 ? chip.mxu_int8_rate : 1;
  const double tile =
      (c.m ? (c.type == DType::I8 ? 32 : 16) : 1) / (chip.mxu_rows_per_cycle * rate);
  const double weights = static_cast<double>(dim) / (chip.mxu_weight_rows_per_cycle * rate);
  const double drain = static_cast<double>(chip.mxu_latency) +
                       tiles * static_cast<double>(std::min(group, steps_of(n, c.n)));
  return times * groups * (steps * (tiles * tile + weights) + drain);
}

}  // namespace

namespace {

// Outer loops one iteration at a time, as many rows together as there is room for.
std::optional<Staging> choose_chain_staging(const Nest& n, const Chip& chip,
                                            const std::vector<Home>& homes, int64_t rows) {
  constexpr int64_t kMostRows = 1024;
  for (int64_t block = kMostRows / kLanes;; block /= 2) {
    std::vector<GridLoop> grid;
    for (const Chain::Axis& a : n.chain->axes) {
      const int64_t steps = a.extent / a.unit;
      grid.push_back({a.var.get(), steps, a.unit == 1 ? 1 : std::min(block, steps)});
    }
    for (int ring : {3, 2}) {
      if (auto s = try_staging(n, chip, homes, grid, rows, ring)) return s;
    }
    if (block <= 1) return std::nullopt;
  }
}

}  // namespace

std::optional<Staging> choose_staging(const Nest& n, const Chip& chip,
                                      const std::vector<Home>& homes, int64_t rows) {
  if (n.chain) return choose_chain_staging(n, chip, homes, rows);
  int64_t streamed = 0;
  for (size_t i = 0; i < n.params.size(); ++i)
    if (homes[i].vmem_row < 0) streamed += n.params[i].layout.mem_rows();
  constexpr int64_t kSmall = 512;  // rows: 256 KiB
  std::optional<Staging> whole = try_staging(n, chip, homes, {}, rows, 1);
  if (whole && streamed <= kSmall) return whole;
  std::vector<const Stmt*> loops;
  for (const Stmt* l : n.grid) {
    if (can_cut(n, l))
      loops.push_back(l);
    else if (!n.contraction)
      break;
  }
  std::optional<Staging> best;
  double best_cost = 0;
  auto consider = [&](const std::vector<GridLoop>& grid) {
    std::optional<Staging> s = try_staging(n, chip, homes, grid, rows, 3);
    if (!s) s = try_staging(n, chip, homes, grid, rows, 2);
    if (!s) return;
    // The longer of copies and arithmetic, the first and last block that nothing overlaps with, and
    // a copy's latency.
    int64_t moved = 0, block_rows = 0, blocks = 1;
    for (size_t i = 0; i < n.params.size(); ++i) {
      if (homes[i].vmem_row >= 0) continue;
      const StagedParam& p = s->params[i];
      int64_t times = 1;
      for (int g = 0; g <= p.level; ++g) times *= s->grid[static_cast<size_t>(g)].blocks();
      moved += p.block.mem_rows() * times;
      block_rows += p.block.mem_rows();
    }
    for (const GridLoop& g : s->grid) blocks *= g.blocks();
    const double row_cycles = kRowBytes / chip.bytes_per_cycle(chip.hbm_gbps * chip.hbm_efficiency);
    const double cost =
        std::max(static_cast<double>(moved) * row_cycles, array_cycles(n, chip, grid)) +
        (static_cast<double>(block_rows) + static_cast<double>(blocks) * 96) * row_cycles;
    if (best && cost >= best_cost) return;
    best = std::move(s);
    best_cost = cost;
  };
  // All loops but the last two are cut into single iterations or not at all.
  const std::function<void(size_t, std::vector<GridLoop>)> choose =
      [&](size_t i, std::vector<GridLoop> grid) {
        if (i == loops.size()) return consider(grid);
        const Stmt* l = loops[i];
        const int64_t steps = steps_of(n, l);
        const int64_t group = n.contraction && l == n.contraction->n
                                  ? std::min(steps, chip.mxu_count * chip.mxu_dim / kLanes)
                                  : 1;
        const bool fine = i + 2 >= loops.size();
        for (int64_t block = group; block < steps; block = fine ? block * 2 : steps) {
          std::vector<GridLoop> g = grid;
          g.push_back({l->var.get(), steps, even_block(steps, block, group)});
          choose(i + 1, g);
        }
        // Whole; inner loops of a vector nest are cut only under outer ones that are.
        if (n.contraction || fine) choose(n.contraction ? i + 1 : loops.size(), grid);
      };
  choose(0, {});
  if (best) return best;
  return whole;
}

// --- emission
// --------------------------------------------------------------------------------------

namespace {

class StagedEmitter {
 public:
  StagedEmitter(const StagedKernel& k, code::Builder& b)
      : k_(k), n_(*k.nest), s_(k.staging), b_(b) {
    for (size_t i = 0; i < n_.params.size(); ++i) {
      const Param& p = n_.params[i];
      const StagedParam& sp = s_.params[i];
      const Home& h = k.homes[i];
      if (h.vmem_row >= 0) {
        vmem_.push_back(b.region(p.buffer->name, Space::Vmem, static_cast<uint32_t>(h.vmem_row),
                                 static_cast<uint32_t>(p.layout.mem_rows())));
        hbm_.push_back({});
        continue;
      }
      vmem_.push_back(b.region(p.buffer->name, Space::Vmem, static_cast<uint32_t>(k.area + sp.row),
                               static_cast<uint32_t>(sp.block.mem_rows() * sp.ring)));
      hbm_.push_back(b.region(p.buffer->name + ".hbm", Space::Hbm, static_cast<uint32_t>(h.hbm_row),
                              static_cast<uint32_t>(p.layout.mem_rows())));
    }
  }

  bool staged(size_t i) const { return k_.homes[i].vmem_row < 0; }
  bool loaded(size_t i) const { return staged(i) && !n_.params[i].written; }
  bool stored(size_t i) const { return staged(i) && n_.params[i].written; }
  int64_t blocks(size_t i) const {
    int64_t n = 1;
    for (int g = 0; g <= s_.params[i].level; ++g) n *= s_.grid[static_cast<size_t>(g)].blocks();
    return n;
  }
  int semaphore(size_t i) const { return k_.semaphores + static_cast<int>(i); }

  // First step of block `g` of a grid loop: the last block ends at the loop's end.
  Sx start(const GridLoop& g, const Sx& i) {
    if (g.steps % g.block == 0) return i * g.block;
    if (i.is_const()) return std::min(i.c * g.block, g.steps - g.block);
    return Sx(b_.scl(Op::SMin, to_arg(b_, i * g.block), g.steps - g.block));
  }

  // Row of the parameter's block number `own` in HBM.
  Sx hbm_row(size_t i, const Sx& own) {
    const StagedParam& sp = s_.params[i];
    if (sp.level < 0) return 0;
    // The grid indices that `own` stands for.
    std::vector<Sx> at(static_cast<size_t>(sp.level) + 1);
    Sx rest = own;
    for (int g = sp.level; g >= 0; --g) {
      const int64_t n = s_.grid[static_cast<size_t>(g)].blocks();
      if (g == 0 || rest.is_const()) {
        at[static_cast<size_t>(g)] = g == 0 ? rest : Sx(rest.c % n);
        if (g > 0) rest = rest.c / n;
        continue;
      }
      const code::Arg r = to_arg(b_, rest);
      at[static_cast<size_t>(g)] = n == 1 ? Sx(0) : Sx(b_.scl(Op::SRem, r, n));
      if (n > 1) rest = Sx(b_.scl(Op::SDiv, r, n));
    }
    const Layout& l = n_.params[i].layout;
    const size_t rank = l.dims.size();
    Sx row = 0;
    int64_t stride = l.row_tiles * l.col_tiles;  // tiles of one outer index
    for (size_t d = rank; d-- > 0;) {
      const int level = sp.dim_level[d];
      int64_t tiles_per_step = 0;
      if (level >= 0) {
        const int64_t unit = unit_of(n_, s_.grid[static_cast<size_t>(level)].var);
        if (d + 1 == rank)
          tiles_per_step = unit / kLanes;
        else if (d + 2 == rank)
          tiles_per_step = unit / (kSublanes * l.pack) * l.col_tiles;
        else
          tiles_per_step = unit * stride;
        const GridLoop& g = s_.grid[static_cast<size_t>(level)];
        row = row + start(g, at[static_cast<size_t>(level)]) * (tiles_per_step * kTileRows);
      }
      if (d + 2 < rank) stride *= l.dims[d];
    }
    return row;
  }

  Sx slot_row(size_t i, const Sx& own) {
    const StagedParam& sp = s_.params[i];
    if (sp.ring == 1) return 0;
    Sx slot = own.is_const() ? Sx(own.c % sp.ring)
              : sp.ring == 2 ? Sx(b_.scl(Op::SAnd, to_arg(b_, own), 1))
                             : Sx(b_.scl(Op::SRem, to_arg(b_, own), sp.ring));
    return slot * sp.block.mem_rows();
  }

  void start_load(size_t i, const Sx& own) {
    DmaShape shape = *copy_shape(n_.params[i].layout, s_.params[i].block, true);
    shape.weights = n_.contraction && is_weights(i);
    b_.dma(hbm_[i], to_arg(b_, hbm_row(i, own)), vmem_[i], to_arg(b_, slot_row(i, own)),
           semaphore(i), shape);
  }
  void start_store(size_t i, const Sx& own) {
    const DmaShape shape = *copy_shape(n_.params[i].layout, s_.params[i].block, false);
    b_.dma(vmem_[i], to_arg(b_, slot_row(i, own)), hbm_[i], to_arg(b_, hbm_row(i, own)),
           semaphore(i), shape);
  }
  bool is_weights(size_t i) const {
    bool found = false;
    loop::visit_once(n_.contraction->rhs, [&](const loop::Expr& e) {
      found |= e->kind == loop::ExprNode::Kind::Load && e->buffer == n_.params[i].buffer;
    });
    return found;
  }

  void first_copies(const std::vector<bool>& which) {
    for (size_t i = 0; i < n_.params.size(); ++i) {
      if (!loaded(i) || !which[i]) continue;
      const int64_t n = std::min<int64_t>(std::max(s_.params[i].ring - 1, 1), blocks(i));
      for (int64_t own = 0; own < n; ++own) start_load(i, own);
    }
  }

  std::optional<Refusal> run(const Chip& chip, const std::function<void()>& ahead) {
    std::vector<bool> late(n_.params.size());
    for (size_t i = 0; i < late.size(); ++i) late[i] = i >= k_.early.size() || !k_.early[i];
    first_copies(late);
    int64_t all = 1;
    for (const GridLoop& g : s_.grid) all *= g.blocks();
    if (all == 1 && ahead) ahead();
    begin_level(-1, 0);
    level(0, {}, chip, all > 1 ? ahead : nullptr);
    end_level(-1, 0);
    for (size_t i = 0; i < n_.params.size(); ++i)
      if (stored(i))
        b_.wait(semaphore(i), std::min<int64_t>(s_.params[i].ring, blocks(i)), {vmem_[i], hbm_[i]});
    return refusal_;
  }

 private:
  // Before and after the part of the program in which the blocks that move with loop `g` stay.
  void begin_level(int g, const Sx& own) {
    for (size_t i = 0; i < n_.params.size(); ++i) {
      const StagedParam& sp = s_.params[i];
      if (!staged(i) || sp.level != g) continue;
      if (loaded(i)) {
        b_.wait(semaphore(i), 1, {vmem_[i]});
        const int64_t ahead = sp.ring - 1, n = blocks(i);
        if (ahead < 1 || n <= ahead) continue;
        const code::Scalar more = b_.scl(Op::SLt, to_arg(b_, own), n - ahead);
        b_.if_(more, [&] { start_load(i, own + ahead); });
      } else if (blocks(i) > sp.ring) {
        const code::Scalar full = b_.scl(Op::SLe, sp.ring, to_arg(b_, own));
        b_.if_(full, [&] { b_.wait(semaphore(i), 1, {vmem_[i], hbm_[i]}); });
      }
    }
  }
  void end_level(int g, const Sx& own) {
    for (size_t i = 0; i < n_.params.size(); ++i)
      if (stored(i) && s_.params[i].level == g) start_store(i, own);
  }

  void level(size_t g, std::vector<Sx> at, const Chip& chip, const std::function<void()>& ahead) {
    if (g == s_.grid.size()) return body(at, chip);
    const GridLoop& l = s_.grid[g];
    auto run = [&](const Sx& i) {
      std::vector<Sx> here = at;
      here.push_back(i);
      Sx own = 0;
      for (size_t k = 0; k <= g; ++k) own = own * s_.grid[k].blocks() + here[k];
      begin_level(static_cast<int>(g), own);
      if (g == 0 && ahead) {
        const code::Scalar last = b_.scl(Op::SEq, to_arg(b_, i), l.blocks() - 1);
        b_.if_(last, ahead);
      }
      level(g + 1, here, chip, nullptr);
      end_level(static_cast<int>(g), own);
    };
    if (l.blocks() == 1) return run(0);
    code::Loop* loop = b_.loop(code::Arg(l.blocks()), [&](code::Scalar i) { run(Sx(i)); }, "grid");
    loop->pipeline = false;
  }

  void body(const std::vector<Sx>& at, const Chip& chip) {
    if (n_.chain) return chain_body(at, chip);
    std::vector<Place> places;
    for (size_t i = 0; i < n_.params.size(); ++i) {
      Place p;
      p.region = vmem_[i];
      p.layout = s_.params[i].block;
      if (staged(i)) {
        Sx own = 0;
        for (int g = 0; g <= s_.params[i].level; ++g)
          own = own * s_.grid[static_cast<size_t>(g)].blocks() + at[static_cast<size_t>(g)];
        p.base = slot_row(i, own);
        for (int level : s_.params[i].dim_level)
          if (level >= 0) p.local.push_back(s_.grid[static_cast<size_t>(level)].var);
      }
      places.push_back(p);
    }
    std::vector<std::pair<const VarDef*, Span>> spans;
    for (size_t g = 0; g < s_.grid.size(); ++g) {
      const GridLoop& l = s_.grid[g];
      if (l.blocks() <= 1) continue;
      spans.emplace_back(l.var, Span{start(l, at[g]), l.block});
    }
    const code::RegionRef scratch =
        b_.region("scratch", Space::Vmem, static_cast<uint32_t>(k_.area + s_.scratch_row),
                  static_cast<uint32_t>(std::max<int64_t>(s_.scratch_rows, 8)));
    refusal_ = emit_nest(n_, b_, chip, places, spans, scratch, 0);
  }

  // Where the block at hand of a staged parameter starts.
  Sx block_row(size_t i, const std::vector<Sx>& at) {
    Sx own = 0;
    for (int g = 0; g <= s_.params[i].level; ++g)
      own = own * s_.grid[static_cast<size_t>(g)].blocks() + at[static_cast<size_t>(g)];
    return slot_row(i, own);
  }

  void chain_body(const std::vector<Sx>& at, const Chip& chip) {
    const Chain& c = *n_.chain;
    auto row = static_cast<uint32_t>(k_.area + s_.scratch_row);
    auto room = [&](const std::string& name, int64_t rows) {
      const code::RegionRef r = b_.region(name, Space::Vmem, row, static_cast<uint32_t>(rows));
      row += static_cast<uint32_t>(rows);
      return r;
    };
    std::vector<code::RegionRef> inside;
    std::vector<Layout> layouts;
    for (const ChainValue& v : c.values) {
      layouts.push_back(chain_block(c, v, s_.grid));
      inside.push_back(room("between", layouts.back().mem_rows()));
    }
    const auto end = static_cast<uint32_t>(k_.area + s_.scratch_row + s_.scratch_rows);
    const code::RegionRef scratch = room("scratch", end - row);
    std::vector<Sx> bases;
    for (size_t i = 0; i < n_.params.size(); ++i)
      bases.push_back(staged(i) ? block_row(i, at) : Sx(0));
    for (const ChainLink& link : c.links) {
      std::vector<std::pair<const VarDef*, Span>> spans;
      for (size_t g = 0; g < s_.grid.size(); ++g) {
        const GridLoop& l = s_.grid[g];
        if (l.blocks() <= 1) continue;
        const int64_t unit = unit_of(link.nest, link.vars[g]);
        spans.emplace_back(link.vars[g], Span{start(l, at[g]) * (c.axes[g].unit / unit),
                                              l.block * c.axes[g].unit / unit});
      }
      std::vector<Place> places;
      for (size_t p = 0; p < link.nest.params.size(); ++p) {
        Place place;
        std::vector<int> axes;
        if (link.inside[p] >= 0) {
          const auto v = static_cast<size_t>(link.inside[p]);
          place.region = inside[v];
          place.layout = layouts[v];
          axes = c.values[v].axis_of;
        } else {
          const auto i = static_cast<size_t>(link.outside[p]);
          place.region = vmem_[i];
          place.layout = s_.params[i].block;
          place.base = bases[i];
          axes = s_.params[i].dim_level;
        }
        for (int a : axes)
          if (a >= 0 && s_.grid[static_cast<size_t>(a)].blocks() > 1)
            place.local.push_back(link.vars[static_cast<size_t>(a)]);
        places.push_back(place);
      }
      if (auto r = emit_nest(link.nest, b_, chip, places, spans, scratch, 0)) refusal_ = r;
    }
  }

  const StagedKernel& k_;
  const Nest& n_;
  const Staging& s_;
  code::Builder& b_;
  std::vector<code::RegionRef> vmem_, hbm_;
  std::optional<Refusal> refusal_;
};

}  // namespace

void emit_first_copies(const StagedKernel& k, code::Builder& b, const std::vector<bool>& which) {
  StagedEmitter(k, b).first_copies(which);
}

std::optional<Refusal> emit_staged(const StagedKernel& k, code::Builder& b, const Chip& chip,
                                   const std::function<void()>& ahead) {
  return StagedEmitter(k, b).run(chip, ahead);
}

}  // namespace tenfold::tpu
