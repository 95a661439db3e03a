#include "passes/lower/schedule_contraction.h"

#include <algorithm>
#include <cmath>

#include "loop/schedule.h"
#include "passes/lower/merge_dims.h"
#include "passes/lower/nest.h"

namespace tenfold {
namespace {

using loop::Buffer;
using loop::Expr;
using loop::ExprNode;
using loop::Kernel;
using loop::Schedule;
using loop::Stmt;
using loop::Tail;

// Rows of one parallel task of a matrix product: enough to use a packed column block several times
// while it is in the second-level cache, few enough to share out.
constexpr int64_t kRowsPerTask = 192;

// Multiply-adds of one depthwise block that are written out.
constexpr int64_t kTapsInBlock = 64;

// Rows that keep the registers busy.
constexpr int64_t kEnoughRows = 6;

Kernel clone_kernel(const Kernel& k) {
  Kernel c;
  c.name = k.name;
  c.params = k.params;
  c.param_written = k.param_written;
  c.symbols = k.symbols;
  c.body = loop::clone(k.body);
  c.origins = k.origins;
  c.trace = k.trace;
  c.flops = k.flops;
  return c;
}

// The parts of one naive sum-of-products nest.
struct Nest {
  std::vector<Stmt*> outs, reds;
  Stmt* update = nullptr;   // acc = acc + a * b
  Stmt* columns = nullptr;  // J
  Stmt* rows = nullptr;     // I, or null
  Buffer acc;
  Expr a, b;
};

Expr stripped(Expr e) {
  while (e->kind == ExprNode::Kind::Cast) e = e->args[0];
  return e;
}

bool analyse(Stmt* top, Nest& n) {
  n.outs = perfect_nest(top);
  if (n.outs.empty()) return false;
  loop::Body& body = n.outs.back()->body;
  if (body.size() < 4 || body[0]->kind != Stmt::Kind::Alloc || body[1]->kind != Stmt::Kind::Store ||
      body[2]->kind != Stmt::Kind::For)
    return false;
  n.acc = body[0]->buffer;
  if (!n.acc->shape.empty() || body[1]->buffer != n.acc ||
      !loop::is_const(body[1]->index.empty() ? loop::int_const(0) : body[1]->index[0]))
    return false;
  n.reds = perfect_nest(body[2].get());
  loop::Body& inner = n.reds.back()->body;
  if (inner.size() != 1 || inner[0]->kind != Stmt::Kind::Store || inner[0]->buffer != n.acc)
    return false;
  n.update = inner[0].get();
  const Expr& v = n.update->value;
  if (v->kind != ExprNode::Kind::Op || v->prim != Prim::Add) return false;
  const Expr& product = v->args[1];
  if (v->args[0]->kind != ExprNode::Kind::Load || v->args[0]->buffer != n.acc ||
      product->kind != ExprNode::Kind::Op || product->prim != Prim::Mul ||
      is_complex(product->dtype))
    return false;
  // J: the loop along which the result is contiguous.
  const Stmt& out = *body.back();
  if (out.kind != Stmt::Kind::Store) return false;
  Expr at = flat_offset(out.buffer, out.index);
  for (size_t i = 3; i + 1 < body.size(); ++i)
    if (body[i]->kind != Stmt::Kind::Let) return false;
  for (Stmt* l : n.outs) {
    Expr s = stride_of(at, l->var);
    int64_t one = 0;
    if (s && loop::is_const(s, &one) && one == 1) n.columns = l;
  }
  if (!n.columns) return false;
  n.a = product->args[0];
  n.b = product->args[1];
  if (!mentions(n.b, n.columns->var)) std::swap(n.a, n.b);
  if (!mentions(n.b, n.columns->var)) return false;
  // I: the innermost of the others, unless it is short or open and another is not.
  auto known = [](const Stmt* l) { return std::min<int64_t>(constant_extent(*l), kEnoughRows); };
  for (Stmt* l : n.outs)
    if (l != n.columns && !mentions(n.b, l->var) && (!n.rows || known(l) >= known(n.rows)))
      n.rows = l;
  return true;
}

// The dot product of four bytes that computes the update, "" when there is none: the products are
// of bytes in i32, and the innermost reduction takes a multiple of four steps.
std::string byte_dot(const Nest& n) {
  const Expr a = stripped(n.a), b = stripped(n.b);
  const bool loads = a->kind == ExprNode::Kind::Load && b->kind == ExprNode::Kind::Load;
  if (!loads || n.acc->dtype != DType::I32 || constant_extent(*n.reds.back()) % 4 != 0) return "";
  if (b->dtype == DType::I8 && a->dtype == DType::U8) return "dot4_u8s8";
  if (b->dtype == DType::I8 && a->dtype == DType::I8) return "dot4_s8s8";
  if (b->dtype == DType::U8 && a->dtype == DType::U8) return "dot4_u8u8";
  return "";
}

// b's parameter in blocks of `block` columns; its reads follow. The literal is repacked to match.
bool repack_param(Kernel& k, const Nest& n, int64_t block, int64_t group,
                  const std::function<bool(int)>& constant, std::vector<Repack>& repacks) {
  Expr b = stripped(n.b);
  if (b->kind != ExprNode::Kind::Load) return false;
  auto at = std::find(k.params.begin(), k.params.end(), b->buffer);
  if (at == k.params.end()) return false;
  int param = static_cast<int>(at - k.params.begin());
  if (!constant(param) || k.param_written[param]) return false;
  int column = -1;
  for (size_t i = 0; i < b->args.size(); ++i) {
    if (!mentions(b->args[i], n.columns->var)) continue;
    if (column >= 0 || b->args[i]->kind != ExprNode::Kind::Var) return false;
    column = static_cast<int>(i);
  }
  if (column < 0) return false;
  // One read only, so that one layout serves.
  int reads = 0;
  for (const Access& a : accesses(k.body)) reads += a.buffer == b->buffer;
  if (reads != 1) return false;
  Repack r;
  r.param = param;
  r.dim = column;
  r.block = block;
  // Dimensions in the order of the loops that run along them, so that the kernel streams.
  auto depth = [&](int d) {
    for (size_t i = 0; i < n.reds.size(); ++i)
      if (mentions(b->args[d], n.reds[i]->var)) return static_cast<int>(i);
    return -1;
  };
  for (int d = 0; d < static_cast<int>(b->args.size()); ++d)
    if (d != column) r.order.push_back(d);
  std::stable_sort(r.order.begin(), r.order.end(),
                   [&](int x, int y) { return depth(x) < depth(y); });
  auto packed = std::make_shared<loop::BufferDef>(*b->buffer);
  packed->shape = {
      loop::simplify(loop::idiv(b->buffer->shape[column] + (block - 1), loop::int_const(block)))};
  std::vector<Expr> index{loop::idiv(b->args[column], loop::int_const(block))};
  r.group = group;
  for (int d : r.order) {
    const bool grouped = group > 1 && d == r.order.back();
    const Expr n = loop::int_const(grouped ? group : 1);
    packed->shape.push_back(
        loop::simplify(loop::idiv(b->buffer->shape[d] + (grouped ? group - 1 : 0), n)));
    index.push_back(loop::idiv(b->args[d], n));
  }
  packed->shape.push_back(loop::int_const(block));
  index.push_back(loop::imod(b->args[column], loop::int_const(block)));
  if (group > 1) {
    packed->shape.push_back(loop::int_const(group));
    index.push_back(loop::imod(b->args[r.order.back()], loop::int_const(group)));
  }
  Expr read = loop::load(packed, index);
  if (n.b->kind == ExprNode::Kind::Cast) read = loop::cast(read, n.b->dtype);
  const Expr& old = n.update->value;
  bool b_first = old->args[1]->args[0] == n.b;
  Expr product = b_first ? loop::op(Prim::Mul, {read, old->args[1]->args[1]})
                         : loop::op(Prim::Mul, {old->args[1]->args[0], read});
  n.update->value = loop::op(Prim::Add, {old->args[0], product});
  k.params[param] = packed;
  repacks.push_back(std::move(r));
  return true;
}

class Blocker {
 public:
  Blocker(EmittedKernel& ek, const loop::Machine& m, const std::function<bool(int)>& constant,
          std::vector<Repack>& repacks, bool bytes)
      : ek_(ek),
        machine_(m),
        constant_(constant),
        repacks_(repacks),
        bytes_(bytes),
        kernel_(clone_kernel(ek.kernel)),
        schedule_(&kernel_) {}

  bool run() {
    if (kernel_.body.size() != 1) return false;
    Nest n;
    if (!analyse(kernel_.body[0].get(), n)) return false;
    Status done = build(n);
    if (!done.ok()) {
      ek_.kernel.trace.push_back("# not blocked: " + to_string(done.errors()));
      return false;
    }
    ek_.kernel = std::move(kernel_);
    repacks_.insert(repacks_.end(), own_repacks_.begin(), own_repacks_.end());
    return true;
  }

 private:
  static Error refused(std::string why) {
    return Error{"schedule-refused", std::move(why), {}, {}};
  }

  Status build(Nest& n) {
    TF_TRY(widen_rows(n));
    lanes_ = std::max(1, machine_.vector_bytes / byte_size(n.acc->dtype));
    int64_t columns = constant_extent(*n.columns);
    if (columns >= 0 && columns * 4 <= lanes_) return refused("too few columns for vectors");
    int64_t rows = n.rows ? constant_extent(*n.rows) : 1;
    const bool both = both_ = mentions(n.a, n.columns->var);  // depthwise: a runs along them too
    // A large product of matrices goes by tasks of many rows.
    const bool large = !both && n.outs.size() == 2 && n.rows == n.outs[0] && columns > 0 &&
                       rows >= 2 * kRowsPerTask && bytes_of(n) > machine_.l2_bytes / 2;
    RegisterBlock block = choose_register_block(rows, columns, lanes_, machine_);
    if (both)
      block.vectors = 1, block.rows = static_cast<int>(rows < 0 ? 4 : std::min<int64_t>(rows, 8));
    vectors_ = block.vectors;
    row_block_ = block.rows;
    int64_t width = int64_t{vectors_} * lanes_;
    if (!both && bytes_) byte_dot_ = byte_dot(n);
    packed_ = !both && columns > 0 &&
              repack_param(kernel_, n, width, byte_dot_.empty() ? 1 : 4, constant_, own_repacks_);
    if (!packed_) byte_dot_.clear();
    if (!packed_ && !both && !contiguous_columns(n)) {
      // One row reads each packed element as often as windows overlap. A dot product along the
      // reduction is quicker than copying for few.
      if (rows == 1 && overlap(n) < lanes_ && stride_is_one(n, n.reds.back()))
        return refused("packing b for one row");
      if (!pack_layout(n)) return refused("b is not contiguous along columns and cannot be packed");
    }
    // Columns that lie apart in a large matrix are gathered once for many rows.
    if (large && !packed_ && pack_buffer_.empty()) (void)pack_layout(n);
    guarded_ = columns < 0 || columns % width != 0;
    std::string top = n.outs[0]->var->name;
    // A plain matrix product has no other loops to share out: cut its rows into tasks, of one block
    // of registers unless each task packs its columns of b first.
    const bool packs = !pack_buffer_.empty();
    const int64_t task =
        packs ? (kRowsPerTask + row_block_ - 1) / row_block_ * row_block_ : row_block_;
    const bool exact = rows > 0 && rows % task == 0;
    if (n.outs.size() == 2 && n.rows == n.outs[0] &&
        (rows < 0 || rows > 2 * kRowsPerTask || (exact && !packs && rows > task))) {
      std::string row_name = n.rows->var->name;
      TF_ASSIGN(auto s, schedule_.split(row_name, task, exact ? Tail::Exact : Tail::Cut));
      TF_TRY(nest(s.outer, s.inner, row_block_));
      if (!s.tail.empty() && find(s.tail))
        TF_TRY(nest(s.tail, s.tail, rows < 0 && !packs ? smaller(row_block_) : row_block_));
      return ok_status();
    }
    return nest(top, n.rows ? n.rows->var->name : "", row_block_);
  }

  // Rows that are few, or of unknown number, become one loop with those around them: [step, batch]
  // are the rows of one product. Not where they slide along the data (windows): consecutive rows
  // are then the cheaper ones.
  Status widen_rows(Nest& n) {
    while (n.rows && constant_extent(*n.rows) < kEnoughRows) {
      auto at = std::find(n.outs.begin(), n.outs.end(), n.rows);
      if (at == n.outs.begin()) break;
      const Stmt* outer = *std::prev(at);
      if (outer == n.columns || mentions(n.b, outer->var) || slides(n)) break;
      auto fused = schedule_.fuse(outer->var->name, n.rows->var->name);
      if (!fused.ok()) break;
      merge_dims(kernel_, constant_);
      n = {};
      if (!analyse(kernel_.body[0].get(), n)) return refused("the nest changed its form");
    }
    return ok_status();
  }

  static bool slides(const Nest& n) {
    Expr a = stripped(n.a);
    if (a->kind != ExprNode::Kind::Load) return true;
    return std::any_of(a->args.begin(), a->args.end(), [&](const Expr& e) {
      return mentions(e, n.rows->var) && std::any_of(n.reds.begin(), n.reds.end(),
                                                     [&](Stmt* r) { return mentions(e, r->var); });
    });
  }

  // The order in which each task copies its columns of b: columns last, what the reduction runs
  // along before them.
  bool pack_layout(const Nest& n) {
    Expr b = stripped(n.b);
    if (b->kind != ExprNode::Kind::Load || b->buffer->scope != loop::Scope::Param) return false;
    int column = -1;
    for (size_t d = 0; d < b->args.size(); ++d)
      if (mentions(b->args[d], n.columns->var)) {
        if (column >= 0) return false;
        column = static_cast<int>(d);
      }
    pack_buffer_ = b->buffer->name;
    for (size_t d = 0; d < b->args.size(); ++d)
      if (static_cast<int>(d) != column) pack_order_.push_back(std::to_string(d));
    pack_order_.push_back(std::to_string(column));
    return true;
  }

  // Steps of the reduction that read b along the columns.
  static int64_t overlap(const Nest& n) {
    int64_t steps = 1;
    for (const Expr& e : stripped(n.b)->args)
      if (mentions(e, n.columns->var))
        for (const Stmt* r : n.reds)
          if (mentions(e, r->var)) steps *= std::max<int64_t>(constant_extent(*r), 1);
    return steps;
  }

  static bool contiguous_columns(const Nest& n) { return stride_is_one(n, n.columns); }
  static bool stride_is_one(const Nest& n, const Stmt* along) {
    Expr b = stripped(n.b);
    if (b->kind != ExprNode::Kind::Load) return false;
    Expr s = stride_of(flat_offset(b->buffer, b->args), along->var);
    int64_t one = 0;
    return s && loop::is_const(s, &one) && one == 1;
  }

  Stmt* find(const std::string& name) { return find_loop(kernel_.body, name); }

  // One top-level nest. `rows`: its row loop ("" for none), run in blocks of `block`.
  Status nest(const std::string& top, const std::string& rows, int64_t block) {
    Nest n;
    Stmt* t = find(top);
    if (!t || !analyse(t, n)) return refused("the nest changed its form");
    std::string columns = n.columns->var->name;
    std::vector<std::string> shared, others;  // outer loops b depends on, and the rest
    for (Stmt* l : n.outs) {
      if (l == n.columns || l->var->name == rows) continue;
      (mentions(n.b, l->var) ? shared : others).push_back(l->var->name);
    }
    std::vector<std::string> reds;
    for (Stmt* l : n.reds) reds.push_back(l->var->name);
    std::string acc = n.acc->name;

    const bool cached = bytes_of(n) <= machine_.l2_bytes / 2, contiguous = contiguous_columns(n);
    int64_t width = int64_t{vectors_} * lanes_;
    int64_t extent = constant_extent(*n.columns);
    TF_ASSIGN(auto j,
              schedule_.split(columns, width,
                              extent > 0 && extent % width == 0 ? Tail::Exact : Tail::Guard));
    std::string lane = j.inner, vec;
    if (vectors_ > 1) {
      TF_ASSIGN(auto l, schedule_.split(j.inner, lanes_, Tail::Exact));
      vec = l.outer;
      lane = l.inner;
    }
    std::vector<std::string> order = shared;
    order.push_back(j.outer);
    order.insert(order.end(), others.begin(), others.end());
    // The loops become one, and taking it apart divides by the inner extents: the known one last,
    // as long as all of b stays in the second-level cache meanwhile.
    const bool open = std::any_of(others.begin(), others.end(), [&](const std::string& l) {
      return constant_extent(*find(l)) < 0;
    });
    if (open && extent > 0 && cached) {
      order.erase(order.begin() + static_cast<long>(shared.size()));
      order.push_back(j.outer);
    }
    size_t outer_count = order.size();
    if (!rows.empty()) order.push_back(rows);
    if (!vec.empty()) order.push_back(vec);
    order.push_back(lane);
    TF_TRY(schedule_.reorder(order));
    // The outer loops become one. Before that they say more about what lies in bounds.
    auto share_out = [&]() -> Status {
      std::string outer = order[0];
      for (size_t i = 1; i < outer_count; ++i) {
        TF_ASSIGN(outer, schedule_.fuse(outer, order[i]));
      }
      Stmt* o = find(outer);
      if (o && o->loop_kind != loop::LoopKind::Parallel) TF_TRY(schedule_.parallel(outer));
      if (pack_buffer_.empty()) return ok_status();
      TF_ASSIGN(std::string packed, schedule_.cache_read(pack_buffer_, outer, pack_order_));
      // Contiguous columns are copied on vector lanes.
      const std::string last = packed + std::to_string(pack_order_.size() - 1);
      if (const Stmt* l = find(last); l && contiguous && constant_extent(*l) == width)
        TF_TRY(schedule_.vectorize(last));
      return ok_status();
    };
    if (!pack_buffer_.empty()) TF_TRY(share_out());
    TF_TRY(rows.empty() ? registers("", vec, lane, acc, reds)
                        : row_blocks(rows, vec, lane, acc, reds, block));
    return pack_buffer_.empty() ? share_out() : ok_status();
  }

  // What the columns and the reductions run over of b; INT64_MAX: not known.
  static int64_t bytes_of(const Nest& n) {
    int64_t bytes = byte_size(stripped(n.b)->dtype);
    std::vector<Stmt*> loops = n.reds;
    loops.push_back(n.columns);
    for (const Stmt* l : loops)
      if (int64_t e = constant_extent(*l); e < 0 || __builtin_mul_overflow(bytes, e, &bytes))
        return INT64_MAX;
    return bytes;
  }

  // Rows in blocks of `block`; what remains in one block when its number is known, else in smaller
  // and smaller ones.
  Status row_blocks(const std::string& rows, const std::string& vec, const std::string& lane,
                    const std::string& acc, const std::vector<std::string>& reds, int64_t block) {
    int64_t extent = constant_extent(*find(rows));
    if (extent > 0 && extent <= block) return registers(rows, vec, lane, acc, reds);
    if (block <= 1) return registers("", vec, lane, acc, reds);
    bool exact = extent > 0 && extent % block == 0;
    TF_ASSIGN(auto i, schedule_.split(rows, block, exact ? Tail::Exact : Tail::Cut));
    // The remainder is a copy with names of its own: look them up by position.
    const std::string& tail = i.tail;
    if (!tail.empty() && find(tail)) {
      std::vector<Stmt*> chain;
      for (Stmt* s = find(tail); s && s->kind == Stmt::Kind::For;
           s = s->body.size() == 1 ? inner_loop(s) : nullptr)
        chain.push_back(s);
      size_t inner_loops = 1 + (vec.empty() ? 0 : 1);
      if (chain.size() != 1 + inner_loops) return refused("the remainder's form");
      std::string tvec = vec.empty() ? "" : chain[1]->var->name;
      std::string tlane = chain.back()->var->name;
      const loop::Body& innermost = innermost_body(chain.back());
      std::string tacc = innermost[0]->buffer->name;
      std::vector<std::string> treds;
      for (Stmt* r : perfect_nest(innermost[2].get())) treds.push_back(r->var->name);
      TF_TRY(row_blocks(tail, tvec, tlane, tacc, treds, smaller(block)));
    }
    return registers(i.inner, vec, lane, acc, reds);
  }
  static int64_t smaller(int64_t block) { return block > 4 ? 4 : block - 1; }

  // Through a guard.
  static Stmt* inner_loop(Stmt* s) {
    Stmt* c = s->body[0].get();
    if (c->kind == Stmt::Kind::If && c->body.size() == 1) c = c->body[0].get();
    return c->kind == Stmt::Kind::For ? c : nullptr;
  }
  static const loop::Body& innermost_body(Stmt* s) {
    const loop::Body* b = &s->body;
    if (b->size() == 1 && (*b)[0]->kind == Stmt::Kind::If) b = &(*b)[0]->body;
    return *b;
  }

  // rows x vectors of accumulators in registers, the reduction around them.
  Status registers(const std::string& rows, const std::string& vec, const std::string& lane,
                   const std::string& acc, std::vector<std::string> reds) {
    TF_TRY(schedule_.expand(acc, lane));
    if (!vec.empty()) TF_TRY(schedule_.expand(acc, vec));
    if (!rows.empty()) TF_TRY(schedule_.expand(acc, rows));
    std::vector<std::string> block;
    if (!rows.empty()) block.push_back(rows);
    if (!vec.empty()) block.push_back(vec);
    block.push_back(lane);
    TF_ASSIGN(auto names, schedule_.fission(lane, block[0]));
    size_t depth = block.size();
    if (names.size() != 3 * depth) return refused("the block has not three parts");
    std::string four;
    if (!byte_dot_.empty()) {
      TF_ASSIGN(auto k, schedule_.split(reds.back(), 4, Tail::Exact));
      reds.back() = k.outer;
      four = k.inner;
    }
    std::vector<std::string> order = reds;
    order.insert(order.end(), names.begin() + static_cast<long>(depth),
                 names.begin() + static_cast<long>(2 * depth));
    if (!four.empty()) order.push_back(four);
    TF_TRY(schedule_.reorder(order));
    // Where a runs along the columns as well, neighbouring taps read the same elements: side by
    // side they read them once.
    if (both_)
      if (const Stmt* tap = find(reds.back());
          tap && constant_extent(*tap) > 0 && constant_extent(*tap) * row_block_ <= kTapsInBlock)
        TF_TRY(schedule_.unroll(reds.back()));
    // Columns past the end are computed and never stored, where reading them is safe.
    if (guarded_)
      for (const std::string& part : {names[0], order[0]}) (void)schedule_.unguard(part);
    if (!four.empty()) TF_TRY(schedule_.tensorize(four, byte_dot_));
    for (size_t part = 0; part < 3; ++part) {
      for (size_t d = 0; d + 1 < depth; ++d) TF_TRY(schedule_.unroll(names[part * depth + d]));
      TF_TRY(schedule_.vectorize(names[part * depth + depth - 1]));
    }
    return ok_status();
  }

  EmittedKernel& ek_;
  const loop::Machine& machine_;
  const std::function<bool(int)>& constant_;
  std::vector<Repack>& repacks_;
  bool bytes_;  // multiply bytes four at a time where that can be
  std::vector<Repack> own_repacks_;
  Kernel kernel_;
  Schedule schedule_;
  int lanes_ = 1, vectors_ = 1, row_block_ = 1;
  bool packed_ = false, guarded_ = false, both_ = false;
  std::string byte_dot_;     // the intrinsic of the innermost four steps; empty: none
  std::string pack_buffer_;  // packed by each task at run time; empty: none
  std::vector<std::string> pack_order_;
};

}  // namespace

RegisterBlock choose_register_block(int64_t rows, int64_t columns, int lanes,
                                    const loop::Machine& machine) {
  // Cycles of one reduction step of an m x v block: two multiply-adds and two loads a cycle, and at
  // least the four cycles that a multiply-add takes to give its result.
  auto step = [](int64_t m, int64_t v) {
    return std::max({static_cast<double>(m * v) / 2, static_cast<double>(m + v) / 2, 4.0});
  };
  int max_vectors = machine.vector_registers >= 32 ? 4 : 2;
  RegisterBlock best;
  double best_cost = 1e300;
  for (int v = 1; v <= max_vectors; ++v) {
    int64_t width = int64_t{v} * lanes;
    if (columns > 0 && v > 1 && (v - 1) * int64_t{lanes} >= columns) break;
    // All accumulators, one row of b, one value of a.
    int most = (machine.vector_registers - 1 - v) / v;
    most = std::min(most, 12);  // rows are streams of their own: more are no gain
    // The remainders of an open number of rows are code of their own, for every number below m.
    if (rows < 0) most = std::min(most, v > 1 ? 4 : 8);
    for (int m = 1; m <= std::max(most, 1); ++m) {
      if (rows > 0 && m > rows) break;
      double blocks = columns > 0 ? static_cast<double>((columns + width - 1) / width)
                                  : 64.0 / static_cast<double>(width);
      double r = rows > 0 ? static_cast<double>(rows) : 1000.0;
      double whole = std::floor(r / m);
      double rest = r - whole * m;
      double cost =
          blocks * (whole * step(m, v) + (rest > 0 ? step(static_cast<int64_t>(rest), v) : 0));
      cost *= 1 + 0.02 * static_cast<double>(v + m) / static_cast<double>(v * m);
      if (rows > 0 && rest > 0) cost *= 1.03;  // code of its own
      if (cost < best_cost * 0.999) {
        best_cost = cost;
        best = {m, v};
      }
    }
  }
  return best;
}

bool schedule_contraction(EmittedKernel& k, const loop::Machine& machine,
                          const std::function<bool(int)>& constant, std::vector<Repack>& repacks) {
  return Blocker(k, machine, constant, repacks, true).run() ||
         Blocker(k, machine, constant, repacks, false).run();
}

}  // namespace tenfold
