#include "backends/tpu/code/dependences.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <unordered_map>

namespace tenfold::tpu::code {
namespace {

// What memory an instruction touches.
struct Access {
  int line = 0;
  bool write = false;
  bool copy = false;  // reads its source, or writes its target, until somebody waits
  int region = kNoRegion;
  // Rows low .. high - 1 beside the base; a base is a register, -1 for none, -2 for any row.
  int32_t base = -2;
  int64_t low = 0, high = 0;
  int32_t step = 0;     // of the base from one iteration to the next
  bool varies = false;  // by an amount that is not known
};

class Finder {
 public:
  Finder(const std::vector<Line>& lines, const std::vector<Pointer>* pointers, const Tree& tree,
         Machine* machine, const std::vector<int>& queued)
      : lines_(lines), pointers_(pointers), tree_(tree), machine_(*machine), queued_(queued) {
    p_.capacity = machine->capacity();
    for (const Line& l : lines) p_.nodes.push_back(machine->uses(l.in));
    queued_.resize(machine->chip().mxu_count, 0);
    units_.resize(machine->chip().mxu_count);
  }

  Problem straight(std::vector<int>* queued) {
    straight_registers();
    memory();
    units(false);
    for (size_t k = 0; k < units_.size(); ++k) capacity(static_cast<int>(k), 0);
    queued->resize(queued_.size(), 0);
    for (size_t k = 0; k < units_.size(); ++k) {
      (*queued)[k] += units_[k].results - static_cast<int>(units_[k].pops.size());
    }
    return std::move(p_);
  }

  Problem loop(std::vector<Distances>* distances) {
    loop_registers(distances);
    memory();
    units(true);
    for (size_t k = 0; k < units_.size(); ++k) {
      // Queues that fill up over the iterations are the writer's own business.
      int pops = static_cast<int>(units_[k].pops.size());
      if (pops && pops == units_[k].results) capacity(static_cast<int>(k), pops);
    }
    return std::move(p_);
  }

 private:
  void edge(int from, int to, int latency, int distance = 0, bool value = false) {
    if (from == to && !distance) return;
    p_.edges.push_back({from, to, latency, distance, value});
  }

  // ---- registers -------------------------------------------------------------------------------
  void straight_registers() {
    std::unordered_map<int32_t, int> def;
    std::unordered_map<int32_t, std::vector<int>> reads;
    for (int i = 0; i < static_cast<int>(lines_.size()); ++i) {
      const Instr& in = lines_[i].in;
      for (int j = 0; j < in.size(); ++j) {
        if (!in.reads(j)) continue;
        if (auto it = def.find(in.a[j]); it != def.end()) {
          edge(it->second, i, machine_.latency(lines_[it->second].in.op), 0, true);
        }
        reads[in.a[j]].push_back(i);
      }
      int32_t d = in.dest();
      if (d == kNoReg) continue;
      if (auto it = reads.find(d); it != reads.end()) {
        for (int r : it->second) {
          if (r != i) edge(r, i, 0);
        }
        it->second.clear();
      }
      if (auto it = def.find(d); it != def.end()) edge(it->second, i, 1);
      def[d] = i;
    }
  }

  void loop_registers(std::vector<Distances>* distances) {
    std::unordered_map<int32_t, int> def;
    for (int i = 0; i < static_cast<int>(lines_.size()); ++i) {
      int32_t d = lines_[i].in.dest();
      if (d == kNoReg) continue;
      TF_CHECK(!def.count(d), "a register written twice in a pipelined loop");
      def[d] = i;
    }
    distances->assign(lines_.size(), {});
    for (int i = 0; i < static_cast<int>(lines_.size()); ++i) {
      const Instr& in = lines_[i].in;
      for (int j = 0; j < in.size(); ++j) {
        if (!in.reads(j)) continue;
        auto it = def.find(in.a[j]);
        if (it == def.end()) continue;
        int distance = it->second >= i || (lines_[i].old >> j & 1) ? 1 : 0;
        (*distances)[i][j] = static_cast<uint8_t>(distance);
        edge(it->second, i, machine_.latency(lines_[it->second].in.op), distance, true);
      }
    }
  }

  // ---- memory ----------------------------------------------------------------------------------
  void accesses(int i, std::vector<Access>* out) const {
    const Line& l = lines_[i];
    const Instr& in = l.in;
    const OpInfo& o = info(in.op);
    if (in.op == Op::Wait) {
      if (in.waits < 0) out->push_back({i, true, false, kNoRegion, -2, 0, 0, 0, false});
      if (in.waits < 0) return;
      for (int16_t r : tree_.waits[in.waits]) {
        out->push_back({i, true, false, r, -2, 0, 0, 0, false});
      }
      return;
    }
    if (in.op == Op::Dma) {
      out->push_back({i, false, true, in.region[0], -2, 0, 0, 0, false});
      out->push_back({i, true, true, in.region[1], -2, 0, 0, 0, false});
      return;
    }
    if (in.op == Op::Barrier || in.op == Op::Host || in.op == Op::Signal) {
      out->push_back({i, true, false, kNoRegion, -2, 0, 0, 0, false});
      return;
    }
    AddressOperands at = address_operands(in);
    if (at.base < 0 || in.op == Op::SAdd) return;
    Access a;
    a.line = i;
    a.write = o.slot == Slot::VStore || in.op == Op::SSt;
    a.region = in.region[0];
    a.base = in.is_imm(at.base) ? -1 : in.a[at.base];
    a.low = in.a[at.offset] + (a.base == -1 ? in.a[at.base] : 0);
    int64_t rows = in.op == Op::SLd || in.op == Op::SSt ? 1 : in.op == Op::VLdBcast ? 1 : kSublanes;
    if (in.op == Op::VLdStride || in.op == Op::VStStride) {
      int64_t far = 7 * static_cast<int64_t>(in.a[at.offset + 1]);
      if (far < 0) a.low += far, far = -far;
      rows = far + 1;
    }
    a.high = a.low + rows;
    if (l.pointer >= 0 && pointers_) {
      a.step = (*pointers_)[l.pointer].step;
    } else if (a.base >= 0) {
      auto it = written_.find(a.base);
      a.varies = it != written_.end();
      // More than one value within this code: nothing is known.
      if (a.varies && !pointers_ && (it->second > 1 || read_first_.count(a.base))) a.base = -2;
    }
    out->push_back(a);
  }

  bool regions_meet(int a, int b) const {
    if (a == b || a == kNoRegion || b == kNoRegion) return true;
    const Region &x = tree_.regions[a], &y = tree_.regions[b];
    return x.space == y.space && uint64_t{x.row} < uint64_t{y.row} + y.rows &&
           uint64_t{y.row} < uint64_t{x.row} + x.rows;
  }

  static int order_latency(const Access& first, const Access& second) {
    // Loads of a bundle come before its stores; copies start after both.
    return !first.write && second.write && !second.copy && !first.copy ? 0 : 1;
  }

  void memory() {
    for (const Line& l : lines_) {
      AddressOperands at = address_operands(l.in);
      if (at.base >= 0 && !l.in.is_imm(at.base) && !written_.count(l.in.a[at.base])) {
        read_first_.insert(l.in.a[at.base]);
      }
      if (l.in.dest() != kNoReg && tree_.regs[l.in.dest()] == RegKind::Scalar) {
        ++written_[l.in.dest()];
      }
    }
    std::vector<Access> all;
    for (int i = 0; i < static_cast<int>(lines_.size()); ++i) accesses(i, &all);
    // By region: only regions that somebody writes matter, and only those that meet.
    std::map<int, std::vector<int>> by_region;
    std::set<int> written;
    for (int i = 0; i < static_cast<int>(all.size()); ++i) {
      by_region[all[i].region].push_back(i);
      if (all[i].write) written.insert(all[i].region);
    }
    std::vector<std::vector<int>> groups;
    std::set<int> grouped;
    for (auto& [r, list] : by_region) {
      if (grouped.count(r)) continue;
      // All regions that reach r by meeting.
      std::vector<int> group = list, todo = {r};
      grouped.insert(r);
      bool any = written.count(r) != 0;
      while (!todo.empty()) {
        int a = todo.back();
        todo.pop_back();
        for (auto& [b, more] : by_region) {
          if (grouped.count(b) || !regions_meet(a, b)) continue;
          grouped.insert(b);
          todo.push_back(b);
          group.insert(group.end(), more.begin(), more.end());
          any |= written.count(b) != 0;
        }
      }
      if (!any) continue;
      std::sort(group.begin(), group.end());
      groups.push_back(std::move(group));
    }
    for (const auto& group : groups) order_group(all, group);
  }

  // Pairs of one group, nearest first; a write that nothing can pass ends the search. Straight code
  // comes in pieces of bounded length (emit.cc), so this stays linear in the kernel's.
  void order_group(const std::vector<Access>& all, const std::vector<int>& group) {
    for (size_t j = 0; j < group.size(); ++j) {
      const Access& b = all[group[j]];
      for (size_t i = j; i-- > 0;) {
        const Access& a = all[group[i]];
        if (a.line == b.line) continue;
        bool wall = a.write && a.base == -2;
        if ((a.write || b.write) && regions_meet(a.region, b.region)) {
          bool same_base = a.base == b.base && a.base != -2;
          if (!same_base || (a.low < b.high && b.low < a.high)) {
            edge(a.line, b.line, order_latency(a, b));
            if (wall && a.region == b.region) break;
          }
        }
      }
    }
    if (!pointers_) return;
    for (int j : group) {
      for (int i : group) {
        const Access &a = all[i], &b = all[j];  // b of a later iteration than a
        if (!(a.write || b.write) || !regions_meet(a.region, b.region)) continue;
        if (a.line == b.line && !a.write) continue;
        int distance = 1;
        if (a.base == b.base && a.base != -2 && a.step == b.step && !a.varies) {
          if (a.step == 0) {
            if (!(a.low < b.high && b.low < a.high)) continue;
          } else {
            // Smallest d >= 1 with a.low < b.high + d * step and b.low + d * step < a.high.
            int64_t s = a.step, lo = a.low - b.high, hi = a.high - b.low;  // lo < d * s < hi
            if (s < 0) s = -s, std::swap(lo, hi), lo = -lo, hi = -hi;
            int64_t d = lo >= 0 ? lo / s + 1 : 1;
            if (d * s >= hi) continue;
            if (d > 1 << 20) continue;
            distance = static_cast<int>(d);
          }
        }
        edge(a.line, b.line, order_latency(a, b), distance);
      }
    }
  }

  // ---- units that keep something ---------------------------------------------------------------
  struct Unit {
    int swap = -1, last_rows = -1, last_pop = -1;
    std::vector<int> weights, rows;        // since the last swap
    std::vector<int> acc_rows, acc_reads;  // lines
    struct Result {
      int line, index;
    };
    std::deque<Result> queue;                 // results not yet taken; line -1: from before
    int results = 0;                          // of one iteration
    std::vector<std::pair<int, int>> pushes;  // line, results before it
    std::vector<int> pops;
  };

  // With `twice` the lines run a second time, as the next iteration: what they need from the first
  // run has distance 1.
  void units(bool twice) {
    for (size_t k = 0; k < units_.size(); ++k) {
      for (int i = 0; i < queued_[k]; ++i) units_[k].queue.push_back({-1, 0});
    }
    int misc = -1, go = -1;
    std::vector<int> pushes, pops;  // of the transposer since the last go
    int n = static_cast<int>(lines_.size());
    for (int pass = 0; pass < (twice ? 2 : 1); ++pass) {
      // Lines of the first pass are i, of the second n + i; an edge counts only between passes or
      // within the first.
      auto order = [&](int from, int to, int latency, bool value = false) {
        if (from < 0) return;
        int distance = to / n - from / n;
        if (pass == 1 && distance == 0) return;
        edge(from % n, to % n, latency, distance, value);
      };
      for (int i = 0; i < n; ++i) {
        const Instr& in = lines_[i].in;
        int me = pass * n + i;
        if (info(in.op).slot == Slot::Misc) {
          order(misc, me, 1);
          misc = me;
        }
        if (in.op == Op::XTransPush) {
          order(go, me, 1);
          pushes.push_back(me);
        } else if (in.op == Op::XTransGo) {
          for (int x : pushes) order(x, me, 1);
          for (int x : pops) order(x, me, 1);
          order(go, me, 1);
          pushes.clear(), pops.clear();
          go = me;
        } else if (in.op == Op::XTransPop) {
          order(go, me, machine_.latency(Op::XTransGo));
          pops.push_back(me);
        }
        UnitRole role = unit_role(in);
        if (role == UnitRole::None) continue;
        Unit& u = units_[array_of(in)];
        switch (role) {
          case UnitRole::Weight:
            order(u.swap, me, 1);
            u.weights.push_back(me);
            break;
          case UnitRole::Swap:
            for (int x : u.weights) order(x, me, 1);
            order(u.last_rows, me, 1);
            order(u.swap, me, 1);
            u.weights.clear();
            u.swap = me;
            break;
          case UnitRole::Stage:
          case UnitRole::Rows:
          case UnitRole::AccRows:
            order(u.swap, me, 1);
            order(u.last_rows, me, 1);
            u.last_rows = me;
            if (role == UnitRole::Rows) {
              int results = results_of(machine_.chip(), in.a[2]);
              for (int r = 0; r < results; ++r) u.queue.push_back({me, r});
              if (pass == 0) {
                u.pushes.emplace_back(i, u.results);
                u.results += results;
              }
            } else if (role == UnitRole::AccRows) {
              // The sum that an earlier read takes does not have these rows yet.
              for (int x : u.acc_reads) {
                if (accumulators_meet(in, lines_[x % n].in)) order(x, me, 1);
              }
              u.acc_rows.push_back(me);
            }
            break;
          case UnitRole::Pop: {
            int latency = 1;
            if (!u.queue.empty()) {
              Unit::Result r = u.queue.front();
              u.queue.pop_front();
              if (r.line >= 0) {
                latency = delay(lines_[r.line % n].in, r.index);
                order(r.line, me, latency);
              }
            }
            order(u.last_pop, me, 1);
            u.last_pop = me;
            if (pass == 0) u.pops.push_back(i);
            break;
          }
          case UnitRole::AccRead: {
            // The last rows that go into it, later rows included that overlap it.
            for (size_t x = u.acc_rows.size(); x-- > 0;) {
              const Instr& rows = lines_[u.acc_rows[x] % n].in;
              if (!accumulators_meet(rows, in)) continue;
              order(u.acc_rows[x], me, delay(rows, results_of(machine_.chip(), rows.a[2]) - 1));
              break;
            }
            for (size_t x = u.acc_reads.size(); x-- > 0 && u.acc_reads.size() - x < 64;) {
              const Instr& other = lines_[u.acc_reads[x] % n].in;
              if (accumulators_meet(other, in)) {
                order(u.acc_reads[x], me, 1);
                break;
              }
            }
            u.acc_reads.push_back(me);
            break;
          }
          default:
            break;
        }
      }
    }
  }

  int delay(const Instr& rows, int index) const {
    Inst i;
    i.op = rows.op;
    i.imm = rows.imm;
    i.a = rows.a;
    return result_delay(machine_.chip(), i, index);
  }

  // Accumulators d .. d + count - 1 of an accumulating push, or the one of a read.
  bool accumulators_meet(const Instr& a, const Instr& b) const {
    auto range = [&](const Instr& in, int64_t* low, int64_t* high) {
      int operand = in.dest() == kNoReg ? 3 : 2;
      if (!in.is_imm(operand)) return false;
      *low = in.a[operand];
      *high = *low + (in.dest() == kNoReg ? results_of(machine_.chip(), in.a[2]) : 1);
      return true;
    };
    int64_t al, ah, bl, bh;
    if (!range(a, &al, &ah) || !range(b, &bl, &bh)) return true;
    return al < bh && bl < ah;
  }

  // Results wait in a queue of so many entries: a push needs the pops that make room for it to have
  // been issued. `period` pops an iteration; 0 for straight code.
  void capacity(int k, int period) {
    const Unit& u = units_[k];
    int room = machine_.queue_entries();
    for (const auto& [line, before] : u.pushes) {
      int results = results_of(machine_.chip(), lines_[line].in.a[2]);
      int pop = queued_[k] + before + results - room - 1;  // the last that must be
      if (period) {
        int iteration = pop >= 0 ? pop / period : -((-pop + period - 1) / period);
        edge(u.pops[pop - iteration * period], line, 1, -iteration);
      } else if (pop >= 0 && pop < static_cast<int>(u.pops.size())) {
        if (u.pops[pop] < line) edge(u.pops[pop], line, 1);
      }
    }
  }

  const std::vector<Line>& lines_;
  const std::vector<Pointer>* pointers_;  // null for straight code
  const Tree& tree_;
  Machine& machine_;
  std::vector<int> queued_;
  std::vector<Unit> units_;
  std::map<int32_t, int> written_;  // scalars, how often
  std::set<int32_t> read_first_;    // address bases read before they are written
  Problem p_;
};

}  // namespace

Problem straight_problem(const std::vector<Line>& lines, const Tree& tree, Machine* machine,
                         std::vector<int>* queued) {
  return Finder(lines, nullptr, tree, machine, *queued).straight(queued);
}

Problem loop_problem(const std::vector<Line>& lines, const std::vector<Pointer>& pointers,
                     const Tree& tree, Machine* machine, const std::vector<int>& queued,
                     std::vector<Distances>* distances) {
  return Finder(lines, &pointers, tree, machine, queued).loop(distances);
}

}  // namespace tenfold::tpu::code
