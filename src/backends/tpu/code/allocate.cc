// Linear-scan register allocation over live ranges with holes (after Wimmer and Moessenboeck, VEE
// 2005). A bundle reads at position 2b and writes at 2b + 1, so a register may be read for the last
// time and written anew in one bundle.
#include <algorithm>
#include <bit>
#include <limits>

#include "backends/tpu/code/assembly.h"

namespace tenfold::tpu::code {
namespace {

struct Range {
  int32_t from, to;  // positions, both included
};
struct Interval {
  int32_t reg = kNoReg;
  std::vector<Range> ranges;  // ascending; built backwards and turned round
  int32_t hint = kNoReg;      // a register that it copies
  int32_t start() const { return ranges.front().from; }
  int32_t end() const { return ranges.back().to; }
};

bool intersect(const Interval& a, const Interval& b) {
  if (a.end() < b.start() || b.end() < a.start()) return false;
  // Begin near the later start.
  auto from = [](const Interval& x, int32_t pos) {
    return std::lower_bound(x.ranges.begin(), x.ranges.end(), pos,
                            [](const Range& r, int32_t p) { return r.to < p; });
  };
  int32_t s = std::max(a.start(), b.start());
  auto i = from(a, s), j = from(b, s);
  while (i != a.ranges.end() && j != b.ranges.end()) {
    if (i->to < j->from) {
      ++i;
    } else if (j->to < i->from) {
      ++j;
    } else {
      return true;
    }
  }
  return false;
}

class Allocator {
 public:
  explicit Allocator(const AllocationInput& in) : in_(in), code_(*in.code) {}

  Allocation run() {
    find_blocks();
    liveness();
    build();
    scan();
    return std::move(out_);
  }

 private:
  using Bits = std::vector<uint64_t>;
  struct BasicBlock {
    uint32_t begin, end;  // bundles
    std::vector<int> next;
    Bits in, out, def, use;
  };

  template <class F>
  void each_read(const Instr& in, F f) {
    for (int i = 0; i < in.size(); ++i) {
      if (in.reads(i)) f(in.a[i]);
    }
  }

  void find_blocks() {
    uint32_t n = static_cast<uint32_t>(code_.bundles());
    std::vector<char> starts(n + 1, 0);
    starts[0] = 1;
    for (uint32_t b = 0; b < n; ++b) {
      for (const Instr& in : code_.bundle(b)) {
        if (info(in.op).latency != Latency::Branch) continue;
        starts[b + 1] = 1;
        for (int i = 0; i < in.size(); ++i) {
          if (in.letter(i) == 'l') starts[code_.labels[in.a[i]]] = 1;
        }
      }
    }
    std::vector<int> block_of(n + 1, -1);
    for (uint32_t b = 0; b < n; ++b) {
      if (starts[b]) blocks_.push_back({b, b, {}, {}, {}, {}, {}});
      blocks_.back().end = b + 1;
      block_of[b] = static_cast<int>(blocks_.size()) - 1;
    }
    for (size_t i = 0; i < blocks_.size(); ++i) {
      BasicBlock& bb = blocks_[i];
      bool falls = true;
      for (const Instr& in : code_.bundle(bb.end - 1)) {
        if (info(in.op).latency != Latency::Branch) continue;
        if (in.op == Op::Jump || in.op == Op::Halt) falls = false;
        for (int k = 0; k < in.size(); ++k) {
          if (in.letter(k) != 'l') continue;
          uint32_t to = code_.labels[in.a[k]];
          if (to < n) bb.next.push_back(block_of[to]);
        }
      }
      if (falls && bb.end < n) bb.next.push_back(block_of[bb.end]);
    }
  }

  void liveness() {
    size_t words = (in_.kinds->size() + 63) / 64;
    for (BasicBlock& bb : blocks_) {
      bb.in.assign(words, 0), bb.out.assign(words, 0);
      bb.def.assign(words, 0), bb.use.assign(words, 0);
      auto set = [](Bits& b, int32_t r) { b[r >> 6] |= uint64_t{1} << (r & 63); };
      auto has = [](const Bits& b, int32_t r) { return (b[r >> 6] >> (r & 63) & 1) != 0; };
      for (uint32_t b = bb.begin; b < bb.end; ++b) {
        for (const Instr& in : code_.bundle(b)) {
          each_read(in, [&](int32_t r) {
            if (!has(bb.def, r)) set(bb.use, r);
          });
        }
        for (const Instr& in : code_.bundle(b)) {
          if (int32_t d = in.dest(); d != kNoReg) set(bb.def, d);
        }
      }
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = blocks_.size(); i-- > 0;) {
        BasicBlock& bb = blocks_[i];
        for (int s : bb.next) {
          for (size_t w = 0; w < words; ++w) bb.out[w] |= blocks_[s].in[w];
        }
        for (size_t w = 0; w < words; ++w) {
          uint64_t v = bb.use[w] | (bb.out[w] & ~bb.def[w]);
          if (v != bb.in[w]) bb.in[w] = v, changed = true;
        }
      }
    }
  }

  void build() {
    intervals_.resize(in_.kinds->size());
    auto add = [&](int32_t r, int32_t from, int32_t to) {
      Interval& v = intervals_[r];
      v.reg = r;
      if (!v.ranges.empty() && v.ranges.back().from <= to + 1) {
        v.ranges.back().from = std::min(v.ranges.back().from, from);
        v.ranges.back().to = std::max(v.ranges.back().to, to);
      } else {
        v.ranges.push_back({from, to});
      }
    };
    std::vector<int32_t> live_to(in_.kinds->size(), -1);
    for (size_t i = blocks_.size(); i-- > 0;) {
      const BasicBlock& bb = blocks_[i];
      std::vector<int32_t> live;
      int32_t begin = static_cast<int32_t>(2 * bb.begin),
              end = static_cast<int32_t>(2 * bb.end - 1);
      for (size_t w = 0; w < bb.out.size(); ++w) {
        for (uint64_t bits = bb.out[w]; bits; bits &= bits - 1) {
          int32_t r = static_cast<int32_t>(w * 64 + std::countr_zero(bits));
          live_to[r] = end;
          live.push_back(r);
        }
      }
      for (uint32_t b = bb.end; b-- > bb.begin;) {
        int32_t at = static_cast<int32_t>(2 * b);
        for (const Instr& in : code_.bundle(b)) {
          int32_t d = in.dest();
          if (d == kNoReg) continue;
          add(d, at + 1, live_to[d] >= 0 ? live_to[d] : at + 1);
          live_to[d] = -1;
        }
        for (const Instr& in : code_.bundle(b)) {
          each_read(in, [&](int32_t r) {
            if (live_to[r] < 0) live_to[r] = at, live.push_back(r);
          });
          if (in.op == Op::VMov || in.op == Op::SMov) {
            if (in.reads(1)) intervals_[in.a[0]].hint = in.a[1];
            if (in.reads(1) && intervals_[in.a[1]].hint == kNoReg) {
              intervals_[in.a[1]].hint = in.a[0];
            }
          }
        }
      }
      for (int32_t r : live) {
        if (live_to[r] >= 0) add(r, begin, live_to[r]);
        live_to[r] = -1;
      }
    }
    for (Interval& v : intervals_) {
      std::reverse(v.ranges.begin(), v.ranges.end());
      if (!v.ranges.empty()) order_.push_back(v.reg);
    }
    std::sort(order_.begin(), order_.end(), [&](int32_t a, int32_t b) {
      int32_t x = intervals_[a].start(), y = intervals_[b].start();
      return x != y ? x < y : a < b;
    });
  }

  void scan() {
    out_.reg.assign(in_.kinds->size(), -1);
    std::array<std::vector<int32_t>, 3> active;
    for (int32_t r : order_) {
      int kind = static_cast<int>((*in_.kinds)[r]);
      auto& list = active[kind];
      const Interval& cur = intervals_[r];
      std::erase_if(list, [&](int32_t a) { return intervals_[a].end() < cur.start(); });
      uint64_t taken = 0;
      for (int32_t a : list) {
        if (!(taken >> out_.reg[a] & 1) && intersect(intervals_[a], cur)) {
          taken |= uint64_t{1} << out_.reg[a];
        }
      }
      int n = in_.registers[kind];
      uint64_t all = n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1;
      uint64_t free = all & ~taken;
      if (!free) free = make_room(r, &list, all);
      if (!free) continue;
      int reg = std::countr_zero(free);
      if (cur.hint != kNoReg) {
        int h = out_.reg[cur.hint];
        if (h >= 0 && (*in_.kinds)[cur.hint] == (*in_.kinds)[r] && (free >> h & 1)) reg = h;
      }
      out_.reg[r] = reg;
      list.push_back(r);
      out_.used[kind] = std::max(out_.used[kind], reg + 1);
    }
  }

  // No register for r: the cheapest of those in the way, or r itself, gets none. Which registers
  // are free for r then.
  uint64_t make_room(int32_t r, std::vector<int32_t>* list, uint64_t all) {
    auto cost = [&](int32_t x) {
      float w = in_.weight[x];
      const Interval& v = intervals_[x];
      // Long-lived and seldom used goes first.
      return w == 0 ? std::numeric_limits<float>::max()
                    : w / static_cast<float>(v.end() - v.start() + 1);
    };
    int32_t victim = r;
    for (int32_t a : *list) {
      if (cost(a) < cost(victim) && intersect(intervals_[a], intervals_[r])) victim = a;
    }
    out_.homeless.push_back(victim);
    if (victim == r) return 0;
    out_.reg[victim] = -1;
    list->erase(std::find(list->begin(), list->end(), victim));
    uint64_t taken = 0;
    for (int32_t a : *list) {
      if (intersect(intervals_[a], intervals_[r])) taken |= uint64_t{1} << out_.reg[a];
    }
    return all & ~taken;
  }

  const AllocationInput& in_;
  const Assembly& code_;
  std::vector<BasicBlock> blocks_;
  std::vector<Interval> intervals_;
  std::vector<int32_t> order_;
  Allocation out_;
};

}  // namespace

Allocation allocate(const AllocationInput& input) { return Allocator(input).run(); }

}  // namespace tenfold::tpu::code
