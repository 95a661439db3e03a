#include "backends/tpu/code/pipeline.h"

#include <algorithm>
#include <map>
#include <set>

namespace tenfold::tpu::code {

std::vector<Line> single_writes(const Nodes& body, Tree* tree, const std::vector<char>& live_out) {
  std::vector<Line> lines;
  lines.reserve(body.size());
  std::map<int32_t, int> left;  // writes of a register still to come
  for (const Node& n : body) {
    lines.push_back(n.line);
    if (int32_t d = n.line.in.dest(); d != kNoReg) ++left[d];
  }
  std::map<int32_t, int32_t> now;  // current name, where it is not the register's own
  for (Line& l : lines) {
    for (int i = 0; i < l.in.size(); ++i) {
      if (!l.in.reads(i)) continue;
      if (auto it = now.find(l.in.a[i]); it != now.end()) l.in.a[i] = it->second;
    }
    int32_t d = l.in.dest();
    if (d == kNoReg) continue;
    if (--left[d] > 0) {
      l.in.a[0] = now[d] = tree->new_reg(tree->regs[d], d);
    } else {
      now.erase(d);
    }
  }

  // v = t at the end of an update: t's line writes v at once, and who reads v in between wants the
  // value of the iteration before.
  std::map<int32_t, int> def;
  for (int i = 0; i < static_cast<int>(lines.size()); ++i) {
    if (int32_t d = lines[i].in.dest(); d != kNoReg) def[d] = i;
  }
  std::vector<char> gone(lines.size(), 0);
  std::set<int32_t> taken;  // registers that stand for two already
  for (int i = 0; i < static_cast<int>(lines.size()); ++i) {
    const Instr in = lines[i].in;
    if (!is_copy(in)) continue;
    int32_t v = in.a[0], t = in.a[1];
    auto it = def.find(t);
    if (it == def.end() || it->second >= i || taken.count(t) || v == t) continue;
    if (static_cast<size_t>(t) < live_out.size() && live_out[t]) continue;
    int at = it->second;
    bool fine = true;
    for (int j = 0; fine && j <= at; ++j) {
      for (int k = 0; k < lines[j].in.size(); ++k) {
        if (lines[j].in.reads(k) && lines[j].in.a[k] == t) fine = false;
      }
    }
    if (!fine) continue;
    for (int j = at + 1; j < static_cast<int>(lines.size()); ++j) {
      Instr& other = lines[j].in;
      if (gone[j] || j == i) continue;
      for (int k = 0; k < other.size(); ++k) {
        if (!other.reads(k)) continue;
        if (other.a[k] == v && j < i) lines[j].old |= static_cast<uint8_t>(1u << k);
        if (other.a[k] == t) other.a[k] = v;
      }
    }
    lines[at].in.a[0] = v;
    def.erase(it);
    def[v] = at;
    taken.insert(v);
    gone[i] = 1;
  }
  size_t n = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!gone[i]) lines[n++] = lines[i];
  }
  lines.resize(n);
  return lines;
}

namespace {

std::string bound_name(const IntervalBound& b, const std::vector<Line>& lines, const Machine& m) {
  if (b.recurrence_ii > b.resource_ii) {
    std::string s = "recurrence:";
    for (size_t i = 0; i < b.recurrence.size() && i < 6; ++i) {
      s += " " + std::string(info(lines[b.recurrence[i]].in.op).mnemonic);
    }
    return s + (b.recurrence.size() > 6 ? " ..." : "");
  }
  return b.resource < 0 ? "loop" : m.resource_name(b.resource);
}

// Last read of each line's result, as a time in the iteration of the line; at least one cycle later
// than the write.
std::vector<int> last_reads(const PipelinedLoop& p) {
  std::map<int32_t, int> def;
  std::vector<int> last(p.lines.size());
  for (size_t i = 0; i < p.lines.size(); ++i) {
    if (int32_t d = p.lines[i].in.dest(); d != kNoReg) def[d] = static_cast<int>(i);
    last[i] = p.time[i] + 1;
  }
  for (size_t i = 0; i < p.lines.size(); ++i) {
    const Instr& in = p.lines[i].in;
    for (int j = 0; j < in.size(); ++j) {
      if (!in.reads(j)) continue;
      auto it = def.find(in.a[j]);
      if (it == def.end()) continue;
      int t = p.time[i] + p.interval * p.distances[i][j];
      last[it->second] = std::max(last[it->second], t);
    }
  }
  return last;
}

// Most registers of each kind that are alive in one cycle of the steady state.
std::array<int, 3> pressure(const PipelinedLoop& p, const Tree& tree) {
  std::array<int, 3> fixed{};
  std::set<int32_t> written, seen;
  for (const Line& l : p.lines) {
    if (int32_t d = l.in.dest(); d != kNoReg) written.insert(d);
  }
  for (const Line& l : p.lines) {
    for (int j = 0; j < l.in.size(); ++j) {
      int32_t r = l.in.a[j];
      if (l.in.reads(j) && !written.count(r) && seen.insert(r).second) {
        ++fixed[static_cast<int>(tree.regs[r])];
      }
    }
  }
  ++fixed[0];  // the counter
  std::vector<int> last = last_reads(p);
  std::array<std::vector<int>, 3> alive;
  for (auto& a : alive) a.assign(p.interval, 0);
  for (size_t i = 0; i < p.lines.size(); ++i) {
    int32_t d = p.lines[i].in.dest();
    if (d == kNoReg) continue;
    auto& a = alive[static_cast<int>(tree.regs[d])];
    int length = last[i] - p.time[i];
    int whole = length / p.interval, rest = length % p.interval;
    if (whole) {
      for (int& x : a) x += whole;
    }
    for (int c = 0; c < rest; ++c) ++a[(p.time[i] + c) % p.interval];
  }
  std::array<int, 3> most{};
  for (int k = 0; k < 3; ++k)
    most[k] = fixed[k] + *std::max_element(alive[k].begin(), alive[k].end());
  return most;
}

// Loads again what would otherwise be held in a register for long: the reads of a loaded value that
// come much later than the others get a load of their own. Whether anything was split.
bool reload_late_reads(PipelinedLoop* p, Tree* tree, const Machine& machine) {
  std::map<int32_t, int> def;
  std::set<int16_t> stored;
  bool stores_anywhere = false;
  for (size_t i = 0; i < p->lines.size(); ++i) {
    const Instr& in = p->lines[i].in;
    if (int32_t d = in.dest(); d != kNoReg) def[d] = static_cast<int>(i);
    Slot slot = info(in.op).slot;
    if (slot == Slot::VStore) {
      stored.insert(in.region[0]);
      stores_anywhere |= in.region[0] == kNoRegion;
    }
    stores_anywhere |= slot == Slot::Misc;
  }
  if (stores_anywhere) return false;
  auto meets_store = [&](int16_t r) {
    if (r == kNoRegion) return !stored.empty();
    for (int16_t s : stored) {
      const Region &x = tree->regions[r], &y = tree->regions[s];
      if (s == r || (x.row < y.row + y.rows && y.row < x.row + x.rows)) return true;
    }
    return false;
  };
  std::vector<std::vector<std::pair<int, int>>> reads(p->lines.size());  // time, line
  for (size_t i = 0; i < p->lines.size(); ++i) {
    const Instr& in = p->lines[i].in;
    for (int j = 0; j < in.size(); ++j) {
      if (!in.reads(j)) continue;
      auto it = def.find(in.a[j]);
      if (it == def.end()) continue;
      // A read of the iteration before stays as it is.
      if (p->distances[i][j])
        reads[it->second].clear(), def.erase(it);
      else
        reads[it->second].emplace_back(p->time[i], static_cast<int>(i));
    }
  }
  const int far = 2 * static_cast<int>(machine.latency(Op::VLd)) + p->interval / 2;
  std::vector<std::vector<Line>> before(p->lines.size());
  bool any = false;
  for (size_t i = 0; i < p->lines.size(); ++i) {
    const Line& load = p->lines[i];
    if (load.in.op != Op::VLd && load.in.op != Op::VLdBcast && load.in.op != Op::VLdStride)
      continue;
    if (meets_store(load.in.region[0])) continue;
    if (!load.in.is_imm(1) && def.count(load.in.a[1])) continue;  // an address of this iteration
    auto& r = reads[i];
    std::sort(r.begin(), r.end());
    int32_t name = load.in.a[0];
    for (size_t k = 1; k < r.size(); ++k) {
      if (r[k].first - r[k - 1].first > far) {
        Line again = load;
        name = again.in.a[0] = tree->new_reg(RegKind::Vector);
        int first = r[k].second;
        for (size_t m = k; m < r.size(); ++m) first = std::min(first, r[m].second);
        before[first].push_back(again);
        any = true;
      }
      if (name == load.in.a[0]) continue;
      Instr& reader = p->lines[r[k].second].in;
      for (int j = 0; j < reader.size(); ++j) {
        if (reader.reads(j) && reader.a[j] == load.in.a[0]) reader.a[j] = name;
      }
    }
  }
  if (!any) return false;
  std::vector<Line> lines;
  for (size_t i = 0; i < p->lines.size(); ++i) {
    lines.insert(lines.end(), before[i].begin(), before[i].end());
    lines.push_back(p->lines[i]);
  }
  p->lines = std::move(lines);
  return true;
}

}  // namespace

std::optional<PipelinedLoop> pipeline_loop(const LoopNode& loop, Tree* tree, Machine* machine,
                                           const std::vector<char>& live_out,
                                           const std::vector<int>& queued,
                                           const PipelineLimits& limits, LoopReport* report) {
  PipelinedLoop p;
  p.lines = single_writes(loop.body, tree, live_out);
  Problem problem = loop_problem(p.lines, loop.pointers, *tree, machine, queued, &p.distances);
  IntervalBound bound = interval_bound(problem);
  report->bound = bound_name(bound, p.lines, *machine);
  report->bound_interval = bound.ii();
  const int scalar_slot = static_cast<int>(Slot::Scalar);
  int scalar_slots = problem.capacity[scalar_slot], scalars = 0;
  for (const Line& l : p.lines) scalars += info(l.in.op).slot == Slot::Scalar;
  bool reloaded = false;

  for (int ii = bound.ii(); ii <= limits.max_interval; ++ii) {
    ModuloSchedule m = modulo_schedule(problem, ii, limits.max_interval);
    if (!m.ii) return std::nullopt;
    ii = m.ii;
    p.interval = ii;
    p.time = m.time;
    std::array<int, 3> most = pressure(p, *tree);
    bool fits = true;
    for (int k = 0; k < 3; ++k) fits &= most[k] <= limits.registers[k];
    if (!fits && most[1] > limits.registers[1] && !reloaded) {
      reloaded = true;
      if (reload_late_reads(&p, tree, *machine)) {
        problem = loop_problem(p.lines, loop.pointers, *tree, machine, queued, &p.distances);
        bound = interval_bound(problem);
        ii = bound.ii() - 1;
        continue;
      }
    }
    if (!fits) {
      report->bound = "registers";
      ii += ii / 8;
      continue;
    }
    // The jump needs a scalar slot in the last cycle: turn the schedule until that has room.
    std::vector<int> used(ii, 0);
    for (size_t i = 0; i < p.lines.size(); ++i) {
      used[p.time[i] % ii] += info(p.lines[i].in.op).slot == Slot::Scalar;
    }
    int turn = -1;
    for (int f = 0; f < ii && turn < 0; ++f) {
      if (used[(2 * ii - 1 - f) % ii] < scalar_slots) turn = f;
    }
    if (turn < 0) continue;
    int length = 0;
    for (int& t : p.time) t += turn, length = std::max(length, t + 1);
    p.stages = (length + ii - 1) / ii;
    // Copies of the body so that a value is not overwritten while it is needed.
    int copies = 1;
    std::vector<int> last = last_reads(p);
    for (size_t i = 0; i < p.lines.size(); ++i) {
      if (p.lines[i].in.dest() == kNoReg) continue;
      copies = std::max(copies, (last[i] - p.time[i] + ii - 1) / ii);
    }
    // And so that the pointers and the counter find slots.
    while ((scalar_slots * ii - scalars) * copies < static_cast<int>(loop.pointers.size()) + 1) {
      ++copies;
      if (copies > 64) break;
    }
    if (copies > 64) continue;
    p.unroll = copies;
    std::set<int32_t> written;
    std::set<int32_t> carried;
    for (const Line& l : p.lines) {
      if (int32_t d = l.in.dest(); d != kNoReg) written.insert(d);
    }
    for (size_t i = 0; i < p.lines.size(); ++i) {
      for (int j = 0; j < p.lines[i].in.size(); ++j) {
        if (p.lines[i].in.reads(j) && p.distances[i][j]) carried.insert(p.lines[i].in.a[j]);
      }
    }
    p.carried.assign(carried.begin(), carried.end());
    report->pipelined = true;
    report->interval = ii;
    report->stages = p.stages;
    report->unroll = p.unroll;
    return p;
  }
  return std::nullopt;
}

// ---- writing
// -------------------------------------------------------------------------------------

int32_t PipelineWriter::name(int32_t reg, int64_t iteration) const {
  const auto& n = names_[reg];
  if (n.empty()) return reg;
  int64_t u = static_cast<int64_t>(n.size());
  return n[((iteration % u) + u) % u];
}

// The register's own name goes to the iteration `last`, so that it holds the loop's result.
void PipelineWriter::make_names(int64_t last) {
  size_t before = tree_->regs.size();
  names_.assign(before, {});
  std::vector<int> reads = last_reads(loop_);
  for (size_t i = 0; i < loop_.lines.size(); ++i) {
    int32_t d = loop_.lines[i].in.dest();
    if (d == kNoReg) continue;
    int copies = (reads[i] - loop_.time[i] + loop_.interval - 1) / loop_.interval;
    if (copies <= 1) continue;
    auto& n = names_[d];
    n.resize(loop_.unroll);
    int64_t own = ((last % loop_.unroll) + loop_.unroll) % loop_.unroll;
    for (int c = 0; c < loop_.unroll; ++c) {
      if (c == own) {
        n[c] = d;
        continue;
      }
      n[c] = tree_->new_reg(tree_->regs[d], d);
    }
  }
  row_.assign(loop_.interval, {});
  for (size_t i = 0; i < loop_.lines.size(); ++i) {
    row_[loop_.time[i] % loop_.interval].push_back(static_cast<int>(i));
  }
}

namespace {
Instr copy_instr(RegKind kind, int32_t to, int32_t from) {
  if (kind == RegKind::Vector) return instr(Op::VMov, {Vector{to}, Vector{from}});
  if (kind == RegKind::Scalar) return instr(Op::SMov, {Scalar{to}, Scalar{from}});
  return instr(Op::MOr, {Mask{to}, Mask{from}, Mask{from}});
}
}  // namespace

// What the first iteration reads of the one before it.
void PipelineWriter::copies_in() {
  for (int32_t r : loop_.carried) {
    int32_t to = name(r, -1);
    if (to != r) out_->add({copy_instr(tree_->regs[r], to, r)});
  }
}

void PipelineWriter::cycle(int row, int64_t step, int64_t low, int64_t high, int64_t at,
                           std::vector<Instr>* b) {
  for (int i : row_[row]) {
    int64_t iteration = step - loop_.time[i] / loop_.interval;
    if (iteration < low || iteration >= high) continue;
    const Line& l = loop_.lines[i];
    Instr in = l.in;
    for (int j = 0; j < in.size(); ++j) {
      if (in.writes(j)) in.a[j] = name(in.a[j], iteration);
      if (in.reads(j)) in.a[j] = name(in.a[j], iteration - loop_.distances[i][j]);
    }
    if (l.pointer >= 0) {
      int64_t moved = (iteration - at) * pointers_[l.pointer].step;
      int k = address_operands(in).offset;
      in.a[k] = static_cast<int32_t>(static_cast<uint32_t>(in.a[k]) + static_cast<uint32_t>(moved));
    }
    b->push_back(in);
  }
}

void PipelineWriter::steps(int64_t from, int64_t to, int64_t low, int64_t high, int64_t at) {
  std::vector<Instr> b;
  for (int64_t s = from; s < to; ++s) {
    for (int r = 0; r < loop_.interval; ++r) {
      b.clear();
      cycle(r, s, low, high, at, &b);
      out_->add(b);
    }
  }
}

// `unroll` steps from first_step on, over and over; pointers_ stand at iteration 0 the first time.
void PipelineWriter::kernel(int64_t first_step, int32_t counter) {
  int label = out_->new_label();
  out_->place(label);
  int cycles = loop_.unroll * loop_.interval;
  std::vector<std::vector<Instr>> body(cycles);
  constexpr int64_t kAll = int64_t{1} << 60;
  for (int c = 0; c < cycles; ++c) {
    cycle(c % loop_.interval, first_step + c / loop_.interval, -kAll, kAll, 0, &body[c]);
  }
  // Pointers advance as late as there is room; who reads them after that knows.
  auto scalars = [&](int c) {
    return std::count_if(body[c].begin(), body[c].end(),
                         [](const Instr& in) { return info(in.op).slot == Slot::Scalar; });
  };
  int c = cycles - 1, free = scalar_slots_ - static_cast<int>(scalars(c)) - 1;  // the jump has one
  TF_CHECK(free >= 0, "no room for the jump of a pipelined loop");
  for (const Pointer& p : pointers_) {
    while (free <= 0) {
      --c;
      TF_CHECK(c >= 0, "no room for the pointers_ of a pipelined loop");
      free = scalar_slots_ - static_cast<int>(scalars(c));
    }
    --free;
    int32_t by = p.step * loop_.unroll;
    for (int later = c + 1; later < cycles; ++later) {
      for (Instr& in : body[later]) {
        AddressOperands at = address_operands(in);
        if (at.base < 0 || in.is_imm(at.base) || in.a[at.base] != p.reg) continue;
        in.a[at.offset] -= by;
      }
    }
    body[c].push_back(instr(Op::SAdd, {Scalar{p.reg}, Scalar{p.reg}, Arg(by)}));
  }
  body.back().push_back(instr(Op::Loop, {Scalar{counter}, Arg(label)}));
  for (const auto& b : body) out_->add(b);
}

void PipelineWriter::constant(int64_t n) {
  int64_t ramp = loop_.stages - 1, u = loop_.unroll;
  int64_t rounds = n > ramp ? (n - ramp) / u : 0;
  make_names(n - 1);
  copies_in();
  if (rounds < 2) {
    steps(0, n + ramp, 0, n, 0);
    return;
  }
  // Steps that do not fill a round come first.
  int64_t first = ramp + (n - ramp - rounds * u);
  int32_t counter = tree_->new_reg(RegKind::Scalar);
  out_->add({instr(Op::SMov, {Scalar{counter}, Arg(rounds)})});
  steps(0, first, 0, n, 0);
  kernel(first, counter);
  steps(n, n + ramp, 0, n, rounds * u);
}

void PipelineWriter::counted(int32_t trips, int32_t left) {
  int64_t ramp = loop_.stages - 1, u = loop_.unroll;
  make_names(ramp - 1);
  copies_in();
  int32_t counter = tree_->new_reg(RegKind::Scalar), done = tree_->new_reg(RegKind::Scalar);
  out_->add({instr(Op::SSub, {Scalar{left}, Scalar{trips}, Arg(ramp)})});
  out_->add({instr(Op::SDiv, {Scalar{counter}, Scalar{left}, Arg(u)})});
  out_->add({instr(Op::SMul, {Scalar{done}, Scalar{counter}, Arg(u)})});
  out_->add({instr(Op::SSub, {Scalar{left}, Scalar{left}, Scalar{done}})});
  constexpr int64_t kAll = int64_t{1} << 60;
  steps(0, ramp, 0, kAll, 0);
  kernel(ramp, counter);
  // Iterations counted from the last round: ramp of them are still under way.
  steps(ramp, 2 * ramp, 0, ramp, 0);
  for (const Pointer& p : pointers_) {
    out_->add({instr(Op::SAdd, {Scalar{p.reg}, Scalar{p.reg}, Arg(p.step * ramp)})});
  }
}

}  // namespace tenfold::tpu::code
