// Strength reduction. Scalars that are linear functions of loop indices and of other scalars are
// found; a load's or store's address then is a pointer of its innermost loop (or something that
// does not change in it) plus a number. The region's row is in the number, so buffers walked with
// the same stride share a pointer.
#include <algorithm>
#include <bit>
#include <map>
#include <optional>

#include "backends/tpu/code/tree.h"

namespace tenfold::tpu::code {
namespace {

// constant + sum of coefficient * register, in wrapping 32-bit arithmetic; terms by register.
struct Linear {
  uint32_t constant = 0;
  std::vector<std::pair<int32_t, uint32_t>> terms;
};
constexpr size_t kMostTerms = 6;

Linear add(const Linear& a, const Linear& b, uint32_t times) {
  Linear r;
  r.constant = a.constant + b.constant * times;
  size_t i = 0, j = 0;
  while (i < a.terms.size() || j < b.terms.size()) {
    if (j == b.terms.size() || (i < a.terms.size() && a.terms[i].first < b.terms[j].first)) {
      r.terms.push_back(a.terms[i++]);
    } else if (i == a.terms.size() || b.terms[j].first < a.terms[i].first) {
      r.terms.emplace_back(b.terms[j].first, b.terms[j].second * times);
      ++j;
    } else {
      r.terms.emplace_back(a.terms[i].first, a.terms[i].second + b.terms[j].second * times);
      ++i, ++j;
    }
  }
  std::erase_if(r.terms, [](const auto& t) { return t.second == 0; });
  return r;
}

// r times a constant; a shift is much faster than a product.
Instr times(int32_t to, int32_t r, uint32_t c) {
  if (std::has_single_bit(c)) {
    return instr(Op::SShl, {Scalar{to}, Scalar{r}, Arg(std::countr_zero(c))});
  }
  return instr(Op::SMul, {Scalar{to}, Scalar{r}, Arg(static_cast<int32_t>(c))});
}

class Lowering {
 public:
  explicit Lowering(Tree* t) : t_(t), uses_(count_uses(*t)), level_(t->regs.size(), 0) {
    forms_.resize(t->regs.size());
    was_index_.assign(t->regs.size(), 0);
  }
  void run(bool pointers) {
    loops_.push_back(nullptr);  // level 0: no loop
    scopes_.emplace_back();
    if (pointers) block(&t_->body);
    splice(&t_->body);
    // Pointers that only served what is dead now, inner ones first: outer ones may have served
    // those.
    for (bool changed = true; changed;) {
      remove_dead(t_);
      uses_ = count_uses(*t_);
      changed = drop_pointers(&t_->body);
    }
    materialise_indices(&t_->body);
  }

 private:
  using Terms = std::vector<std::pair<int32_t, uint32_t>>;
  // What has been made in a loop's preheader or as its pointer, by its terms.
  struct Scope {
    std::map<Terms, int> pointers;    // of this loop
    std::map<Terms, int32_t> before;  // registers computed before this loop
  };

  bool single(int32_t r) const {
    return static_cast<size_t>(r) >= uses_.defs.size() || uses_.defs[r] == 1;
  }
  std::optional<Linear> operand(const Instr& in, int i) const {
    if (in.is_imm(i)) return Linear{static_cast<uint32_t>(in.a[i]), {}};
    int32_t r = in.a[i];
    if (!single(r)) return std::nullopt;
    if (forms_[r]) return forms_[r];
    return Linear{0, {{r, 1}}};
  }
  // The linear form that an instruction computes, if it is one.
  std::optional<Linear> form(const Instr& in) const {
    if (in.op != Op::SMov && in.op != Op::SAdd && in.op != Op::SSub && in.op != Op::SMul &&
        in.op != Op::SShl) {
      return std::nullopt;
    }
    std::optional<Linear> a = operand(in, 1);
    if (!a) return std::nullopt;
    if (in.op == Op::SMov) return a;
    std::optional<Linear> b = operand(in, 2);
    if (!b) return std::nullopt;
    std::optional<Linear> r;
    if (in.op == Op::SAdd) r = add(*a, *b, 1);
    if (in.op == Op::SSub) r = add(*a, *b, ~0u);
    if (in.op == Op::SMul && b->terms.empty()) r = add({}, *a, b->constant);
    if (in.op == Op::SMul && a->terms.empty()) r = add({}, *b, a->constant);
    if (in.op == Op::SShl && b->terms.empty()) r = add({}, *a, 1u << (b->constant & 31));
    if (r && r->terms.size() > kMostTerms) return std::nullopt;
    return r;
  }

  void block(Nodes* nodes) {
    int level = static_cast<int>(loops_.size()) - 1;
    const std::map<Terms, int32_t> known = sums_;  // sums made here are not known after this block
    Nodes out;
    out.reserve(nodes->size());
    for (Node& n : *nodes) {
      if (n.loop) {
        level_[n.loop->index] = level + 1;
        was_index_[n.loop->index] = 1;
        loops_.push_back(n.loop.get());
        scopes_.emplace_back();
        index_at_.push_back(n.loop->index);
        innermost_.push_back(!has_loops(n.loop->body));
        block(&n.loop->body);
        innermost_.pop_back();
        index_at_.pop_back();
        scopes_.pop_back();
        loops_.pop_back();
      } else if (n.branch) {
        block(&n.branch->then_body);
        block(&n.branch->else_body);
      } else {
        out_ = &out;
        line(&n.line, level);
      }
      out.push_back(std::move(n));
    }
    *nodes = std::move(out);
    sums_ = known;
  }

  // A register with the sum, computed in this block; lines whose addresses differ by a number share
  // it.
  int32_t sum_here(const Terms& terms) {
    int32_t sum = kNoReg;
    Terms so_far;
    for (const auto& [r, c] : terms) {
      so_far.emplace_back(r, c);
      auto [it, fresh] = sums_.try_emplace(so_far, kNoReg);
      if (fresh) {
        int32_t term = r;
        if (c != 1) {
          term = new_scalar();
          out_->emplace_back(times(term, r, c));
        }
        if (sum != kNoReg) {
          int32_t both = new_scalar();
          out_->emplace_back(instr(Op::SAdd, {Scalar{both}, Scalar{sum}, Scalar{term}}));
          term = both;
        }
        it->second = term;
      }
      sum = it->second;
    }
    return sum;
  }

  void line(Line* l, int level) {
    Instr& in = l->in;
    if (int32_t d = in.dest(); d != kNoReg && t_->regs[d] == RegKind::Scalar) {
      level_[d] = level;
      if (single(d)) forms_[d] = form(in);
      if (single(d) && forms_[d]) return number(l, level);
    }
    AddressOperands at = address_operands(in);
    if (at.base < 0 || in.is_imm(at.base)) return;
    int32_t b = in.a[at.base];
    if (!single(b) || !forms_[b]) return;
    const Linear f = *forms_[b];
    // All but this loop's index must be known before the loop.
    bool movable = true;
    int32_t index = level ? loops_[level]->index : kNoReg;
    for (const auto& [r, c] : f.terms) {
      // After its loop an index is no longer what it was in the last iteration.
      if (was_index(r) && !is_index(r)) return;
      if (r != index && level_of(r) >= level && level) movable = false;
    }
    if (f.terms.size() == 1 && f.terms[0].second == 1 && f.terms[0].first != index &&
        level_of(f.terms[0].first) >= level) {
      // One register plus a number, in the same block.
      in.a[at.base] = f.terms[0].first;
      in.a[at.offset] += static_cast<int32_t>(f.constant);
      return;
    }
    const bool here = !movable || !level || !innermost_.back();
    Base base;
    if (!f.terms.empty()) base = here ? Base{sum_here(f.terms), -1} : materialise(f.terms, level);
    in.a[at.offset] += static_cast<int32_t>(f.constant);
    if (base.reg == kNoReg) {
      in.a[at.base] = 0;
      in.imm |= static_cast<uint8_t>(1u << at.base);
    } else {
      in.a[at.base] = base.reg;
      l->pointer = static_cast<int16_t>(base.pointer);
    }
  }

  // A linear function of indices that is wanted as a number: one addition to a pointer, instead of
  // what was written.
  void number(Line* l, int level) {
    Instr& in = l->in;
    const Linear f = *forms_[in.a[0]];
    if (in.op == Op::SMov || !level || !innermost_.back()) return;
    bool index_here = false;
    for (const auto& [r, c] : f.terms) {
      bool own = r == loops_[level]->index;
      if ((was_index(r) && !is_index(r)) || (!own && level_of(r) >= level)) return;
      index_here |= own;
    }
    if (!index_here) return;
    Base base = materialise(f.terms, level);
    in = instr(Op::SAdd, {Scalar{in.a[0]}, Scalar{base.reg}, Arg(static_cast<int>(f.constant))});
    l->pointer = static_cast<int16_t>(base.pointer);
  }

  static bool has_loops(const Nodes& nodes) {
    for (const Node& n : nodes) {
      if (n.loop) return true;
      if (n.branch && (has_loops(n.branch->then_body) || has_loops(n.branch->else_body)))
        return true;
    }
    return false;
  }
  int level_of(int32_t r) const { return static_cast<size_t>(r) < level_.size() ? level_[r] : 0; }

  struct Base {
    int32_t reg = kNoReg;  // none: the terms are nothing
    int pointer = -1;      // of the loop at the level asked for; -2: cannot be
  };
  // A register that holds the sum of `terms` in the loop at `level`.
  Base materialise(const Terms& terms, int level) {
    if (terms.empty()) return {};
    if (!level) {
      if (terms.size() == 1 && terms[0].second == 1) return {terms[0].first, -1};
      return {kNoReg, -2};
    }
    LoopNode* l = loops_[level];
    auto own = std::find_if(terms.begin(), terms.end(),
                            [&](const auto& t) { return t.first == l->index; });
    if (own == terms.end()) return {before(terms, level), -1};
    auto& pointers = scopes_[level].pointers;
    if (auto it = pointers.find(terms); it != pointers.end()) {
      return {l->pointers[it->second].reg, it->second};
    }
    Terms rest = terms;
    rest.erase(rest.begin() + (own - terms.begin()));
    int32_t start = rest.empty() ? kNoReg : before(rest, level);
    int32_t p = new_scalar();
    l->before.emplace_back(start == kNoReg ? instr(Op::SMov, {Scalar{p}, Arg(0)})
                                           : instr(Op::SMov, {Scalar{p}, Scalar{start}}));
    int n = static_cast<int>(l->pointers.size());
    l->pointers.push_back({p, static_cast<int32_t>(own->second)});
    pointers.emplace(terms, n);
    return {p, n};
  }
  // A register that holds `terms`, none of which changes in the loop at `level`, from before it on.
  int32_t before(const Terms& terms, int level) {
    if (terms.size() == 1 && terms[0].second == 1 && !is_index(terms[0].first)) {
      return terms[0].first;
    }
    auto& made = scopes_[level].before;
    if (auto it = made.find(terms); it != made.end()) return it->second;
    LoopNode* l = loops_[level];
    // What is known even before the loop around goes there; the rest is computed here, once a turn
    // of that loop: pointers of outer loops would hold registers throughout.
    int outer = level - 1;
    Terms far, near;
    for (const auto& t : terms) {
      (level_of(t.first) >= outer ? near : far).push_back(t);
    }
    int32_t sum = kNoReg;
    if (!far.empty()) sum = materialise(far, outer).reg;
    for (const auto& [r, c] : near) {
      int32_t term = r;
      if (c != 1) {
        term = new_scalar();
        l->before.emplace_back(times(term, r, c));
      }
      if (sum == kNoReg) {
        sum = term;
      } else {
        int32_t s = new_scalar();
        l->before.emplace_back(instr(Op::SAdd, {Scalar{s}, Scalar{sum}, Scalar{term}}));
        sum = s;
      }
    }
    made.emplace(terms, sum);
    return sum;
  }
  bool is_index(int32_t r) const {
    return std::find(index_at_.begin(), index_at_.end(), r) != index_at_.end();
  }
  bool was_index(int32_t r) const {
    return static_cast<size_t>(r) < was_index_.size() && was_index_[r];
  }
  int32_t new_scalar() {
    forms_.emplace_back();
    level_.push_back(0);
    return t_->new_reg(RegKind::Scalar);
  }

  // Lines collected before loops go into the block before them.
  void splice(Nodes* nodes) {
    Nodes out;
    out.reserve(nodes->size());
    for (Node& n : *nodes) {
      if (n.loop) {
        splice(&n.loop->body);
        for (Node& m : n.loop->before) out.push_back(std::move(m));
        n.loop->before.clear();
      } else if (n.branch) {
        splice(&n.branch->then_body);
        splice(&n.branch->else_body);
      }
      out.push_back(std::move(n));
    }
    *nodes = std::move(out);
  }

  static void renumber(Nodes* nodes, const std::vector<int16_t>& place) {
    for (Node& n : *nodes) {
      if (n.branch) {
        renumber(&n.branch->then_body, place);
        renumber(&n.branch->else_body, place);
      } else if (n.is_line() && n.line.pointer >= 0) {
        n.line.pointer = place[n.line.pointer];
      }
    }
  }
  bool drop_pointers(Nodes* nodes) {
    bool changed = false;
    for (Node& n : *nodes) {
      if (n.branch) {
        changed |= drop_pointers(&n.branch->then_body);
        changed |= drop_pointers(&n.branch->else_body);
      }
      if (!n.loop) continue;
      changed |= drop_pointers(&n.loop->body);
      std::vector<int16_t> place(n.loop->pointers.size(), -1);
      std::vector<Pointer> kept;
      for (size_t i = 0; i < place.size(); ++i) {
        const Pointer& p = n.loop->pointers[i];
        if (uses_.reads[p.reg] == 1) continue;  // its own advance
        place[i] = static_cast<int16_t>(kept.size());
        kept.push_back(p);
      }
      if (kept.size() == place.size()) continue;
      n.loop->pointers = std::move(kept);
      renumber(&n.loop->body, place);
      changed = true;
    }
    return changed;
  }

  // An index that something still reads counts up in a register.
  void materialise_indices(Nodes* nodes) {
    Nodes out;
    out.reserve(nodes->size());
    for (Node& n : *nodes) {
      if (n.loop) {
        int32_t i = n.loop->index;
        materialise_indices(&n.loop->body);
        n.loop->index = kNoReg;
        if (uses_.reads[i]) {
          out.emplace_back(instr(Op::SMov, {Scalar{i}, Arg(0)}));
          n.loop->body.emplace_back(instr(Op::SAdd, {Scalar{i}, Scalar{i}, Arg(1)}));
        }
      } else if (n.branch) {
        materialise_indices(&n.branch->then_body);
        materialise_indices(&n.branch->else_body);
      }
      out.push_back(std::move(n));
    }
    *nodes = std::move(out);
  }

  Tree* t_;
  Uses uses_;
  std::vector<std::optional<Linear>> forms_;
  std::vector<int> level_;  // how many loops are around a register's definition
  std::vector<LoopNode*> loops_;
  std::vector<Scope> scopes_;
  std::vector<int32_t> index_at_;
  std::map<Terms, int32_t> sums_;  // registers with sums known where the pass stands
  Nodes* out_ = nullptr;           // the block at hand as rewritten so far
  std::vector<char> innermost_;    // of each loop around: no loop inside
  std::vector<char> was_index_;
};

}  // namespace

void lower_addresses(Tree* t, bool pointers) { Lowering(t).run(pointers); }

}  // namespace tenfold::tpu::code
