#include "backends/tpu/code/tree.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

namespace tenfold::tpu::code {

AddressOperands address_operands(const Instr& in) {
  Slot slot = info(in.op).slot;
  if (slot == Slot::VLoad || in.op == Op::SLd) return {1, 2};
  if (slot == Slot::VStore || in.op == Op::SSt) return {0, 1};
  if (in.op == Op::SAdd && in.reads(1) && in.is_imm(2)) return {1, 2};
  return {};
}

bool is_pure(const Instr& in) {
  if (in.dest() == kNoReg) return false;
  switch (info(in.op).slot) {
    case Slot::Scalar:
      return in.op != Op::SLd;
    case Slot::Valu:
    case Slot::Eup:
      return true;
    case Slot::Xlu:
      return in.op != Op::XTransPop;
    default:
      return false;
  }
}

bool is_copy(const Instr& in) {
  return in.op == Op::VMov || (in.op == Op::SMov && in.reads(1)) ||
         (in.op == Op::MOr && in.a[1] == in.a[2]);
}

Instr instr(Op op, std::initializer_list<Arg> operands) {
  Instr in;
  in.op = op;
  int i = 0;
  for (const Arg& a : operands) {
    in.a[i] = a.value;
    if (a.kind == 'i' && in.letter(i) == 'x') in.imm |= static_cast<uint8_t>(1u << i);
    ++i;
  }
  return in;
}

namespace {

Nodes copy_block(const Block& b) {
  Nodes nodes;
  nodes.reserve(b.stmts.size());
  for (const auto& s : b.stmts) {
    if (const auto* in = std::get_if<Instr>(&s)) {
      nodes.emplace_back(*in);
    } else if (const auto* l = std::get_if<std::unique_ptr<Loop>>(&s)) {
      const Loop& loop = **l;
      Node n;
      n.loop = std::make_unique<LoopNode>();
      n.loop->name = loop.name;
      n.loop->trips = loop.trips;
      n.loop->trip_reg = loop.trip_reg;
      n.loop->index = loop.index;
      n.loop->pipeline = loop.pipeline;
      n.loop->body = copy_block(loop.body);
      nodes.push_back(std::move(n));
    } else {
      const If& i = *std::get<std::unique_ptr<If>>(s);
      Node n;
      n.branch = std::make_unique<IfNode>();
      n.branch->cond = i.cond;
      n.branch->then_body = copy_block(i.then_body);
      n.branch->else_body = copy_block(i.else_body);
      nodes.push_back(std::move(n));
    }
  }
  return nodes;
}

void count(const Nodes& nodes, Uses* u) {
  for (const Node& n : nodes) {
    if (n.loop) {
      if (n.loop->trip_reg != kNoReg) ++u->reads[n.loop->trip_reg];
      if (n.loop->index != kNoReg) ++u->defs[n.loop->index];
      for (const Pointer& p : n.loop->pointers) ++u->reads[p.reg], ++u->defs[p.reg];
      count(n.loop->before, u);
      count(n.loop->body, u);
    } else if (n.branch) {
      ++u->reads[n.branch->cond];
      count(n.branch->then_body, u);
      count(n.branch->else_body, u);
    } else {
      const Instr& in = n.line.in;
      for (int i = 0; i < in.size(); ++i) {
        if (in.reads(i)) ++u->reads[in.a[i]];
      }
      if (in.dest() != kNoReg) ++u->defs[in.dest()];
    }
  }
}

}  // namespace

Tree make_tree(const Kernel& k) {
  Tree t;
  t.name = k.name;
  t.regs = k.regs;
  for (size_t r = 0; r < k.regs.size(); ++r) t.origin.push_back(static_cast<int32_t>(r));
  t.regions = k.regions;
  t.waits = k.waits;
  t.body = copy_block(k.body);
  return t;
}

Uses count_uses(const Tree& t) {
  Uses u;
  u.defs.assign(t.regs.size(), 0);
  u.reads.assign(t.regs.size(), 0);
  count(t.body, &u);
  return u;
}

// ---- unrolling ---------------------------------------------------------------------------------
namespace {

class Unroller {
 public:
  explicit Unroller(Tree* t) : t_(t) {}
  void run() { block(&t_->body); }

 private:
  static constexpr size_t kMostLines = 96;

  // Lines of a loop that may be written out, or too many.
  void block(Nodes* nodes) {
    Nodes out;
    for (Node& n : *nodes) {
      if (n.branch) {
        block(&n.branch->then_body);
        block(&n.branch->else_body);
      }
      if (!n.loop) {
        out.push_back(std::move(n));
        continue;
      }
      LoopNode& l = *n.loop;
      block(&l.body);
      bool flat = l.trip_reg == kNoReg && std::all_of(l.body.begin(), l.body.end(),
                                                      [](const Node& x) { return x.is_line(); });
      if (l.trip_reg == kNoReg && l.trips <= 0) continue;
      // A long loop is worth its own pipeline; a short one is not worth its start and end.
      if (!flat || (l.trips > 1 && l.trips * l.body.size() > kMostLines)) {
        out.push_back(std::move(n));
        continue;
      }
      for (int64_t i = 0; i < l.trips; ++i) {
        out.emplace_back(instr(Op::SMov, {Scalar{l.index}, Arg(i)}));
        for (const Node& x : l.body) out.emplace_back(x.line);
        if (i + 1 == l.trips) break;
      }
      // Each copy has registers of its own, apart from those that go from one copy to the next.
      rename(&out, out.size() - l.trips * (l.body.size() + 1), l.body.size() + 1, l.trips);
    }
    *nodes = std::move(out);
  }

  // A register written before it is read within the copy is new in all copies but the last.
  void rename(Nodes* out, size_t first, size_t length, int64_t copies) {
    std::set<int32_t> read_first, written;
    for (size_t i = 0; i < length; ++i) {
      const Instr& in = (*out)[first + i].line.in;
      for (int j = 0; j < in.size(); ++j) {
        if (in.reads(j) && !written.count(in.a[j])) read_first.insert(in.a[j]);
      }
      if (in.dest() != kNoReg) written.insert(in.dest());
    }
    for (int64_t c = 0; c + 1 < copies; ++c) {
      std::vector<std::pair<int32_t, int32_t>> names;
      for (int32_t r : written) {
        if (!read_first.count(r)) names.emplace_back(r, t_->new_reg(t_->regs[r], r));
      }
      auto renamed = [&](int32_t r) {
        auto it = std::lower_bound(names.begin(), names.end(), std::pair(r, INT32_MIN));
        return it != names.end() && it->first == r ? it->second : r;
      };
      for (size_t i = 0; i < length; ++i) {
        Instr& in = (*out)[first + c * length + i].line.in;
        for (int j = 0; j < in.size(); ++j) {
          if (in.reads(j) || in.writes(j)) in.a[j] = renamed(in.a[j]);
        }
      }
    }
  }
  Tree* t_;
};

// ---- spilling ----------------------------------------------------------------------------------
class Spiller {
 public:
  Spiller(Tree* t, const std::set<int32_t>& spilled, const SpillArea& area) : t_(t), area_(area) {
    for (size_t r = 0; r < t->regs.size(); ++r) {
      if (spilled.count(t->origin[r])) spilled_.insert(static_cast<int32_t>(r));
    }
  }

  Status run() {
    Uses uses = count_uses(*t_);
    t_->regions.push_back({"spilled vectors", Space::Vmem, area_.row, area_.rows});
    rows_ = static_cast<int16_t>(t_->regions.size() - 1);
    t_->regions.push_back({"spilled scalars", Space::Smem, area_.word, area_.words});
    words_ = static_cast<int16_t>(t_->regions.size() - 1);
    find_remakes(t_->body, uses);
    for (int32_t r : spilled_) {
      if (remake_.count(r)) continue;
      uint32_t& next = t_->regs[r] == RegKind::Scalar ? next_word_ : next_row_;
      slot_[r] = next;
      next += t_->regs[r] == RegKind::Scalar ? 1 : kSublanes;
    }
    if (next_row_ > area_.rows || next_word_ > area_.words) {
      return Error{"tpu-spill",
                   "kernel `" + t_->name + "` needs " + std::to_string(next_row_) + " rows and " +
                       std::to_string(next_word_) +
                       " words for registers that do not fit; its area has " +
                       std::to_string(area_.rows) + " and " + std::to_string(area_.words),
                   {},
                   {}};
    }
    block(&t_->body);
    return ok_status();
  }

 private:
  // Made by one instruction that reads no register: cheaper made again than kept.
  void find_remakes(const Nodes& nodes, const Uses& uses) {
    for (const Node& n : nodes) {
      if (n.loop) {
        find_remakes(n.loop->body, uses);
      } else if (n.branch) {
        find_remakes(n.branch->then_body, uses);
        find_remakes(n.branch->else_body, uses);
      } else {
        const Instr& in = n.line.in;
        int32_t d = in.dest();
        if (d == kNoReg || !spilled_.count(d) || uses.defs[d] != 1 || !is_pure(in)) continue;
        bool reads = false;
        for (int i = 0; i < in.size(); ++i) reads |= in.reads(i);
        if (!reads) remake_[d] = in;
      }
    }
  }
  void block(Nodes* nodes) {
    Nodes out;
    out.reserve(nodes->size());
    for (Node& n : *nodes) {
      if (n.loop) {
        if (n.loop->trip_reg != kNoReg) n.loop->trip_reg = reload(n.loop->trip_reg, &out);
        block(&n.loop->body);
        int32_t index = n.loop->index;
        if (slot_.count(index)) {  // the loop keeps counting; readers use memory
          int32_t fresh = t_->new_reg(RegKind::Scalar);
          n.loop->index = fresh;
          Nodes store;
          save(index, fresh, &store);
          n.loop->body.insert(n.loop->body.begin(), std::make_move_iterator(store.begin()),
                              std::make_move_iterator(store.end()));
        }
        out.push_back(std::move(n));
      } else if (n.branch) {
        n.branch->cond = reload(n.branch->cond, &out);
        block(&n.branch->then_body);
        block(&n.branch->else_body);
        out.push_back(std::move(n));
      } else {
        Instr& in = n.line.in;
        int32_t d = in.dest();
        if (d != kNoReg && remake_.count(d)) continue;
        std::vector<std::pair<int32_t, int32_t>> loaded;
        for (int i = 0; i < in.size(); ++i) {
          if (!in.reads(i)) continue;
          int32_t r = in.a[i];
          auto it =
              std::find_if(loaded.begin(), loaded.end(), [&](auto& p) { return p.first == r; });
          if (it == loaded.end()) {
            loaded.emplace_back(r, reload(r, &out));
            it = loaded.end() - 1;
          }
          in.a[i] = it->second;
        }
        if (d != kNoReg && slot_.count(d)) {
          int32_t fresh = t_->new_reg(t_->regs[d]);
          in.a[0] = fresh;
          out.push_back(std::move(n));
          save(d, fresh, &out);
        } else {
          out.push_back(std::move(n));
        }
      }
    }
    *nodes = std::move(out);
  }
  int32_t reload(int32_t r, Nodes* out) {
    if (auto it = remake_.find(r); it != remake_.end()) {
      Instr in = it->second;
      in.a[0] = t_->new_reg(t_->regs[r]);
      out->emplace_back(in);
      return in.a[0];
    }
    auto it = slot_.find(r);
    if (it == slot_.end()) return r;
    RegKind kind = t_->regs[r];
    int32_t fresh = t_->new_reg(kind == RegKind::Mask ? RegKind::Vector : kind);
    Instr load = kind == RegKind::Scalar
                     ? instr(Op::SLd, {Scalar{fresh}, Arg(0), Arg(area_.word + it->second)})
                     : instr(Op::VLd, {Vector{fresh}, Arg(0), Arg(area_.row + it->second)});
    load.region[0] = kind == RegKind::Scalar ? words_ : rows_;
    out->emplace_back(load);
    if (kind != RegKind::Mask) return fresh;
    int32_t zero = t_->new_reg(RegKind::Vector), m = t_->new_reg(RegKind::Mask);
    out->emplace_back(instr(Op::VSplat, {Vector{zero}, Arg(0)}));
    out->emplace_back(instr(Op::VNeI, {Mask{m}, Vector{fresh}, Vector{zero}}));
    return m;
  }
  void save(int32_t r, int32_t value, Nodes* out) {
    RegKind kind = t_->regs[r];
    if (kind == RegKind::Mask) {
      int32_t one = t_->new_reg(RegKind::Vector), zero = t_->new_reg(RegKind::Vector);
      int32_t v = t_->new_reg(RegKind::Vector);
      out->emplace_back(instr(Op::VSplat, {Vector{one}, Arg(1)}));
      out->emplace_back(instr(Op::VSplat, {Vector{zero}, Arg(0)}));
      out->emplace_back(instr(Op::VSel, {Vector{v}, Mask{value}, Vector{one}, Vector{zero}}));
      value = v;
    }
    Instr store = kind == RegKind::Scalar
                      ? instr(Op::SSt, {Arg(0), Arg(area_.word + slot_[r]), Scalar{value}})
                      : instr(Op::VSt, {Arg(0), Arg(area_.row + slot_[r]), Vector{value}});
    store.region[0] = kind == RegKind::Scalar ? words_ : rows_;
    out->emplace_back(store);
  }

  Tree* t_;
  SpillArea area_;
  std::set<int32_t> spilled_;
  std::map<int32_t, uint32_t> slot_;
  std::map<int32_t, Instr> remake_;
  int16_t rows_ = 0, words_ = 0;
  uint32_t next_row_ = 0, next_word_ = 0;
};

// ---- copies ------------------------------------------------------------------------------------
void coalesce(Nodes* nodes, const Uses& uses) {
  std::unordered_map<int32_t, int> defined_at;
  for (int i = 0; i < static_cast<int>(nodes->size()); ++i) {
    Node& n = (*nodes)[i];
    if (n.loop) {
      coalesce(&n.loop->body, uses);
      continue;
    }
    if (n.branch) {
      coalesce(&n.branch->then_body, uses);
      coalesce(&n.branch->else_body, uses);
      continue;
    }
    Instr& in = n.line.in;
    int32_t d = in.dest();
    if (is_copy(in) && d != in.a[1]) {
      int32_t s = in.a[1];
      auto it = defined_at.find(s);
      constexpr int kFar = 256;  // how far back it looks, to stay linear
      bool fine = it != defined_at.end() && i - it->second < kFar && uses.defs[s] == 1 &&
                  uses.reads[s] == (in.op == Op::MOr ? 2 : 1);
      for (int j = fine ? it->second + 1 : i; fine && j < i; ++j) {
        const Node& m = (*nodes)[j];
        if (!m.is_line()) fine = false;
        const Instr& other = m.line.in;
        for (int k = 0; fine && k < other.size(); ++k) {
          if ((other.reads(k) || other.writes(k)) && other.a[k] == d) fine = false;
        }
      }
      if (fine) {
        (*nodes)[it->second].line.in.a[0] = d;
        defined_at[d] = it->second;
        defined_at.erase(s);
        in = instr(Op::SMov, {Scalar{kNoReg}, Arg(0)});  // removed below
        continue;
      }
    }
    if (d != kNoReg) defined_at[d] = i;
  }
  std::erase_if(*nodes, [](const Node& n) {
    return n.is_line() && n.line.in.op == Op::SMov && n.line.in.a[0] == kNoReg;
  });
}

// ---- invariants --------------------------------------------------------------------------------
void collect_defs(const Nodes& nodes, std::vector<char>* in_loop, char value) {
  for (const Node& n : nodes) {
    if (n.loop) {
      if (n.loop->index != kNoReg) (*in_loop)[n.loop->index] = value;
      collect_defs(n.loop->before, in_loop, value);
      collect_defs(n.loop->body, in_loop, value);
    } else if (n.branch) {
      collect_defs(n.branch->then_body, in_loop, value);
      collect_defs(n.branch->else_body, in_loop, value);
    } else if (int32_t d = n.line.in.dest(); d != kNoReg) {
      (*in_loop)[d] = value;
    }
  }
}

void hoist(Nodes* nodes, const Tree& tree, const Uses& uses, bool scalars,
           std::vector<char>* in_loop) {
  for (size_t at = 0; at < nodes->size(); ++at) {
    if (IfNode* b = (*nodes)[at].branch.get()) {
      hoist(&b->then_body, tree, uses, scalars, in_loop);
      hoist(&b->else_body, tree, uses, scalars, in_loop);
    }
    LoopNode* l = (*nodes)[at].loop.get();
    if (!l) continue;
    hoist(&l->body, tree, uses, scalars, in_loop);
    (*in_loop)[l->index] = 1;
    collect_defs(l->body, in_loop, 1);
    Nodes out, stay;
    for (Node& n : l->body) {
      bool free = n.is_line() && is_pure(n.line.in) && !is_copy(n.line.in) &&
                  uses.defs[n.line.in.dest()] == 1 &&
                  tree.origin[n.line.in.dest()] != kNoReg &&  // else made again on purpose
                  (scalars || tree.regs[n.line.in.dest()] != RegKind::Scalar);
      for (int i = 0; free && i < n.line.in.size(); ++i) {
        if (n.line.in.reads(i) && (*in_loop)[n.line.in.a[i]]) free = false;
      }
      if (free) {
        (*in_loop)[n.line.in.dest()] = 0;
        out.push_back(std::move(n));
      } else {
        stay.push_back(std::move(n));
      }
    }
    l->body = std::move(stay);
    collect_defs(l->body, in_loop, 0);
    (*in_loop)[l->index] = 0;
    size_t moved = out.size();
    nodes->insert(nodes->begin() + at, std::make_move_iterator(out.begin()),
                  std::make_move_iterator(out.end()));
    at += moved;
  }
}

// ---- common values -----------------------------------------------------------------------------
class Sharer {
 public:
  Sharer(Tree* t, bool across) : t_(t), uses_(count_uses(*t)), across_(across) {}
  void run() { block(&t_->body); }

 private:
  using Key = std::tuple<Op, uint8_t, int16_t, std::array<int32_t, kMaxOperands>>;

  void block(Nodes* nodes) {
    std::vector<Key> here;
    for (Node& n : *nodes) {
      if (n.loop) {
        replace(&n.loop->trip_reg);
        inside(&n.loop->body);
      } else if (n.branch) {
        replace(&n.branch->cond);
        inside(&n.branch->then_body);
        inside(&n.branch->else_body);
      } else {
        Instr& in = n.line.in;
        for (int i = 0; i < in.size(); ++i) {
          if (in.reads(i)) replace(&in.a[i]);
        }
        if (!shared(n.line)) continue;
        Key key{in.op, in.imm, n.line.pointer, in.a};
        std::get<3>(key)[0] = 0;
        auto [it, fresh] = known_.try_emplace(key, in.a[0]);
        if (fresh) {
          here.push_back(key);
        } else {
          same_[in.a[0]] = it->second;  // dead now
        }
      }
    }
    for (const Key& k : here) known_.erase(k);
  }
  void inside(Nodes* nodes) {
    if (across_) return block(nodes);
    std::map<Key, int32_t> outer;
    outer.swap(known_);
    block(nodes);
    outer.swap(known_);
  }
  void replace(int32_t* r) const {
    if (auto it = same_.find(*r); it != same_.end()) *r = it->second;
  }
  // Values of one definition made of such; those that many cycles of registers would be held for
  // are left alone.
  bool shared(const Line& l) const {
    const Instr& in = l.in;
    if (!is_pure(in) || is_copy(in) || uses_.defs[in.dest()] != 1) return false;
    bool reads = false;
    for (int i = 0; i < in.size(); ++i) {
      if (!in.reads(i)) continue;
      reads = true;
      if (uses_.defs[in.a[i]] != 1 && !(l.pointer >= 0 && i == 1)) return false;
    }
    return t_->origin[in.dest()] != kNoReg && (t_->regs[in.dest()] != RegKind::Vector || !reads);
  }

  Tree* t_;
  Uses uses_;
  bool across_;
  std::map<Key, int32_t> known_;
  std::map<int32_t, int32_t> same_;
};

// ---- dead code ---------------------------------------------------------------------------------
bool remove_dead_in(Nodes* nodes, Uses* uses) {
  bool changed = false;
  for (int i = static_cast<int>(nodes->size()) - 1; i >= 0; --i) {
    Node& n = (*nodes)[i];
    if (n.loop) {
      changed |= remove_dead_in(&n.loop->body, uses);
      continue;
    }
    if (n.branch) {
      changed |= remove_dead_in(&n.branch->then_body, uses);
      changed |= remove_dead_in(&n.branch->else_body, uses);
      continue;
    }
    Instr& in = n.line.in;
    int32_t d = in.dest();
    bool may_go = is_pure(in) || in.op == Op::SLd || info(in.op).slot == Slot::VLoad;
    if (d == kNoReg || !may_go || uses->reads[d]) continue;
    for (int j = 0; j < in.size(); ++j) {
      if (in.reads(j)) --uses->reads[in.a[j]];
    }
    --uses->defs[d];
    in = instr(Op::SMov, {Scalar{kNoReg}, Arg(0)});
    changed = true;
  }
  std::erase_if(*nodes, [](const Node& n) {
    return n.is_line() && n.line.in.op == Op::SMov && n.line.in.a[0] == kNoReg;
  });
  return changed;
}

}  // namespace

void unroll_small_loops(Tree* t) { Unroller(t).run(); }

Status spill_registers(Tree* t, const std::set<int32_t>& spilled, const SpillArea& area) {
  if (spilled.empty()) return ok_status();
  return Spiller(t, spilled, area).run();
}

void coalesce_copies(Tree* t) {
  Uses uses = count_uses(*t);
  coalesce(&t->body, uses);
}

void hoist_invariants(Tree* t, bool scalars) {
  Uses uses = count_uses(*t);
  std::vector<char> in_loop(t->regs.size(), 0);
  hoist(&t->body, *t, uses, scalars, &in_loop);
}

void share_values(Tree* t, bool across_blocks) { Sharer(t, across_blocks).run(); }

void remove_dead(Tree* t) {
  Uses uses = count_uses(*t);
  for (int round = 0; round < 4 && remove_dead_in(&t->body, &uses); ++round) {
  }
}

}  // namespace tenfold::tpu::code
