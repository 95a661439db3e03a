#include "backends/tpu/code/emit.h"

#include <algorithm>
#include <map>

#include "backends/tpu/code/dependences.h"
#include "backends/tpu/code/pipeline.h"

namespace tenfold::tpu::code {
namespace {

// Where registers are alive, roughly: from the first mention to the last in the order of the text,
// a loop counting as one mention of what comes into it. For budgets only.
struct Extents {
  std::vector<int> first, last;
  std::map<const LoopNode*, std::pair<int, int>> loops;
};

class Emitter {
 public:
  Emitter(Tree* tree, Machine* machine, const EmitOptions& options)
      : tree_(tree), machine_(machine), options_(options) {
    queued_.assign(std::max<int64_t>(machine->chip().mxu_count, 0), 0);
  }

  Emitted run() {
    measure();
    nodes(tree_->body);
    flush();
    out_.in_pipeline.resize(tree_->regs.size(), 0);
    out_.weight.resize(tree_->regs.size(), 0);
    return std::move(out_);
  }

 private:
  Assembly& code() { return out_.code; }
  int32_t scalar() { return tree_->new_reg(RegKind::Scalar); }

  // ---- budgets ---------------------------------------------------------------------------------
  void mention(int32_t r, int at, int depth) {
    extents_.first[r] = std::min(extents_.first[r], at);
    extents_.last[r] = std::max(extents_.last[r], at);
    float w = 1;
    for (int d = 0; d < std::min(depth, 6); ++d) w *= 8;
    out_.weight[r] += w;
  }
  void measure() {
    size_t n = tree_->regs.size();
    extents_.first.assign(n, INT32_MAX);
    extents_.last.assign(n, -1);
    out_.weight.assign(n, 0);
    int at = 0;
    measure(tree_->body, &at, 0);
    // What is read in a loop and written before it is alive in all of it.
    for (const auto& [l, range] : extents_.loops) widen(l->body, range);
  }
  void measure(const Nodes& nodes, int* at, int depth) {
    for (const Node& n : nodes) {
      ++*at;
      if (n.loop) {
        int begin = *at;
        if (n.loop->trip_reg != kNoReg) mention(n.loop->trip_reg, begin, depth);
        for (const Pointer& p : n.loop->pointers) mention(p.reg, begin, depth + 1);
        measure(n.loop->body, at, depth + 1);
        extents_.loops[n.loop.get()] = {begin, ++*at};
      } else if (n.branch) {
        mention(n.branch->cond, *at, depth);
        measure(n.branch->then_body, at, depth);
        measure(n.branch->else_body, at, depth);
      } else {
        const Instr& in = n.line.in;
        for (int i = 0; i < in.size(); ++i) {
          if (in.reads(i) || in.writes(i)) mention(in.a[i], *at, depth);
        }
      }
    }
  }
  void widen(const Nodes& nodes, std::pair<int, int> range) {
    auto reads = [&](int32_t r) {
      if (extents_.first[r] < range.first) {
        extents_.last[r] = std::max(extents_.last[r], range.second);
      }
    };
    for (const Node& n : nodes) {
      if (n.loop) {
        widen(n.loop->body, range);
      } else if (n.branch) {
        widen(n.branch->then_body, range);
        widen(n.branch->else_body, range);
      } else {
        for (int i = 0; i < n.line.in.size(); ++i) {
          if (n.line.in.reads(i)) reads(n.line.in.a[i]);
        }
      }
    }
  }
  // Registers alive across a loop that it never mentions.
  std::array<int, 3> alive_across(const LoopNode& l) {
    std::array<int, 3> n{};
    auto range = extents_.loops.at(&l);
    std::vector<char> used(tree_->regs.size(), 0);
    for (const Node& x : l.body) {
      for (int i = 0; i < x.line.in.size(); ++i) {
        if (x.line.in.reads(i) || x.line.in.writes(i)) used[x.line.in.a[i]] = 1;
      }
    }
    for (size_t r = 0; r < extents_.first.size(); ++r) {
      if (extents_.first[r] < range.first && extents_.last[r] > range.first && !used[r]) {
        ++n[static_cast<int>(tree_->regs[r])];
      }
    }
    for (const LoopNode* outer : stack_) {
      n[0] += 1 + static_cast<int>(outer->pointers.size());
    }
    return n;
  }

  // ---- straight code ---------------------------------------------------------------------------
  // Longer code is cut: what looks at pairs of lines stays linear.
  static constexpr size_t kPiece = 1024;

  // Schedules and writes the lines gathered, `jump` in the last bundle.
  void flush(const Instr* jump = nullptr) {
    if (lines_.empty()) {
      if (jump) code().add({*jump});
      return;
    }
    Problem p = straight_problem(lines_, *tree_, machine_, &queued_);
    std::vector<int> time;
    if (options_.schedule) {
      Schedule s = list_schedule(p, options_.thrifty ? Priority::Source : Priority::Height);
      time = s.time;
      int room = machine_->registers(RegKind::Vector) * 3 / 4;
      if (most_vectors(time) > room) {
        Schedule thrifty = list_schedule(p, Priority::Source);
        if (most_vectors(thrifty.time) < most_vectors(time)) time = thrifty.time;
      }
    } else {
      for (size_t i = 0; i < lines_.size(); ++i) time.push_back(static_cast<int>(i));
    }
    std::vector<int> order(lines_.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return time[a] < time[b]; });
    std::vector<Instr> bundle;
    const size_t scalar_slots = machine_->capacity()[static_cast<int>(Slot::Scalar)];
    for (size_t i = 0; i < order.size(); ++i) {
      bundle.push_back(lines_[order[i]].in);
      if (i + 1 < order.size() && time[order[i + 1]] == time[order[i]]) continue;
      if (jump && i + 1 == order.size()) {
        size_t scalars = std::count_if(bundle.begin(), bundle.end(), [](const Instr& in) {
          return info(in.op).slot == Slot::Scalar;
        });
        // A jump reads its register with the bundle: not what the bundle itself writes.
        bool reads = false;
        for (const Instr& in : bundle) {
          for (int k = 0; k < jump->size(); ++k) {
            reads |= jump->reads(k) && in.dest() != kNoReg && in.dest() == jump->a[k];
          }
        }
        if (scalars < scalar_slots && !reads && options_.schedule) {
          bundle.push_back(*jump);
          jump = nullptr;
        }
      }
      code().add(bundle);
      bundle.clear();
    }
    if (jump) code().add({*jump});
    lines_.clear();
  }

  // Most vectors written in these lines that are alive at a time.
  int most_vectors(const std::vector<int>& time) const {
    std::map<int32_t, std::pair<int, int>> range;
    for (size_t i = 0; i < lines_.size(); ++i) {
      const Instr& in = lines_[i].in;
      for (int j = 0; j < in.size(); ++j) {
        if (!in.reads(j) && !in.writes(j)) continue;
        if (tree_->regs[in.a[j]] != RegKind::Vector) continue;
        auto [it, fresh] = range.try_emplace(in.a[j], time[i], time[i]);
        it->second.first = std::min(it->second.first, time[i]);
        it->second.second = std::max(it->second.second, time[i]);
      }
    }
    std::vector<std::pair<int, int>> events;
    for (const auto& [r, x] : range) {
      events.emplace_back(x.first, 1);
      events.emplace_back(x.second, -1);
    }
    std::sort(events.begin(), events.end());
    int now = 0, most = 0;
    for (const auto& e : events) most = std::max(most, now += e.second);
    return most;
  }

  void line(const Line& l) {
    lines_.push_back(l);
    if (lines_.size() >= kPiece) flush();
  }
  void line(const Instr& in) { line(Line{in, -1, 0}); }

  // ---- structure -------------------------------------------------------------------------------
  void nodes(const Nodes& list) {
    for (const Node& n : list) {
      if (n.loop) {
        loop(*n.loop);
      } else if (n.branch) {
        branch(*n.branch);
      } else {
        line(n.line);
      }
    }
  }

  void branch(const IfNode& i) {
    int otherwise = code().new_label(), end = code().new_label();
    Instr jump = instr(Op::JumpZ, {Scalar{i.cond}, Arg(otherwise)});
    flush(&jump);
    nodes(i.then_body);
    if (i.else_body.empty()) {
      flush();
    } else {
      Instr over = instr(Op::Jump, {Arg(end)});
      flush(&over);
    }
    code().place(otherwise);
    nodes(i.else_body);
    flush();
    code().place(end);
  }

  void loop(const LoopNode& l) {
    if (l.trip_reg == kNoReg && l.trips <= 0) return;
    LoopReport report;
    report.name = l.name.empty() ? tree_->name + "." + std::to_string(out_.loops.size()) : l.name;
    report.trips = l.trip_reg == kNoReg ? l.trips : -1;
    report.ops = static_cast<int>(l.body.size());
    size_t number = out_.loops.size();
    out_.loops.push_back(report);
    bool flat =
        std::all_of(l.body.begin(), l.body.end(), [](const Node& n) { return n.is_line(); });
    if (options_.schedule && options_.pipeline && l.pipeline && flat && l.body.size() <= kPiece &&
        !l.body.empty() && l.trips != 1) {
      if (pipelined(l, &report)) {
        out_.loops[number] = report;
        return;
      }
    } else if (!flat) {
      report.bound = "loops inside";
    }
    out_.loops[number] = report;
    int32_t counter = scalar();
    int end = code().new_label();
    if (l.trip_reg == kNoReg) {
      line(instr(Op::SMov, {Scalar{counter}, Arg(l.trips)}));
      plain(l, counter);
    } else {
      guard(l.trip_reg, end);
      line(instr(Op::SMov, {Scalar{counter}, Scalar{l.trip_reg}}));
      plain(l, counter);
    }
    code().place(end);
  }

  // To `end` when there are no iterations.
  void guard(int32_t trips, int end) {
    int32_t none = scalar();
    line(instr(Op::SLe, {Scalar{none}, Scalar{trips}, Arg(0)}));
    Instr jump = instr(Op::JumpNz, {Scalar{none}, Arg(end)});
    flush(&jump);
  }

  // Iterations one after another, `counter` of them (at least one).
  void plain(const LoopNode& l, int32_t counter) {
    flush();
    int label = code().new_label();
    code().place(label);
    std::vector<int> before = queued_;
    stack_.push_back(&l);
    nodes(l.body);
    stack_.pop_back();
    for (const Pointer& p : l.pointers) {
      line(instr(Op::SAdd, {Scalar{p.reg}, Scalar{p.reg}, Arg(p.step)}));
    }
    Instr jump = instr(Op::Loop, {Scalar{counter}, Arg(label)});
    flush(&jump);
    for (size_t k = 0; k < queued_.size(); ++k) {
      queued_[k] +=
          static_cast<int>((queued_[k] - before[k]) * (std::max<int64_t>(l.trips, 1) - 1));
    }
  }

  bool pipelined(const LoopNode& l, LoopReport* report) {
    // How long an iteration takes by itself.
    std::vector<Line> lines;
    for (const Node& n : l.body) lines.push_back(n.line);
    std::vector<int> queued = queued_;
    Problem straight = straight_problem(lines, *tree_, machine_, &queued);
    int alone = list_schedule(straight).length;
    PipelineLimits limits;
    std::array<int, 3> across = alive_across(l);
    for (int k = 0; k < 3; ++k) {
      limits.registers[k] = machine_->registers(static_cast<RegKind>(k)) - across[k] -
                            (k == 1 ? options_.spare_registers : 0);
    }
    limits.max_interval = std::max(alone, interval_bound(straight).resource_ii);
    std::optional<PipelinedLoop> p =
        pipeline_loop(l, tree_, machine_, read_outside(l), queued_, limits, report);
    // One iteration after another starts as soon as slots and units allow.
    alone = std::max(alone, report->bound_interval);
    // As many iterations as are under way at a time cost more to start than they save.
    if (!p ||
        (l.trip_reg == kNoReg && l.trips * alone <= (l.trips + p->stages - 1) * p->interval)) {
      report->pipelined = false;
      report->interval = alone;
      return false;
    }
    out_.in_pipeline.resize(tree_->regs.size(), 0);
    PipelineWriter writer(*p, l.pointers, tree_, &code(),
                          machine_->capacity()[static_cast<int>(Slot::Scalar)]);
    size_t before = tree_->regs.size();
    if (l.trip_reg == kNoReg) {
      flush();
      writer.constant(l.trips);
      for (size_t k = 0; k < queued_.size(); ++k) {
        queued_[k] += static_cast<int>((queued[k] - queued_[k]) * l.trips);
      }
    } else {
      counted(l, *p, &writer);
    }
    out_.in_pipeline.resize(tree_->regs.size(), 0);
    for (const Line& x : p->lines) {
      if (int32_t d = x.in.dest(); d != kNoReg) out_.in_pipeline[d] = 1;
    }
    for (size_t r = before; r < tree_->regs.size(); ++r) out_.in_pipeline[r] = 1;
    return true;
  }

  void counted(const LoopNode& l, const PipelinedLoop& p, PipelineWriter* writer) {
    int32_t left = scalar(), few = scalar();
    int rest = code().new_label(), end = code().new_label();
    line(instr(Op::SMov, {Scalar{left}, Scalar{l.trip_reg}}));
    line(instr(Op::SLt, {Scalar{few}, Scalar{l.trip_reg}, Arg(p.stages - 1 + p.unroll)}));
    Instr jump = instr(Op::JumpNz, {Scalar{few}, Arg(rest)});
    flush(&jump);
    writer->counted(l.trip_reg, left);
    code().place(rest);
    guard(left, end);
    plain(l, left);
    code().place(end);
  }

  // Registers that something outside of this loop reads, or the loop itself from its last run.
  std::vector<char> read_outside(const LoopNode& l) {
    if (all_reads_.empty()) all_reads_ = count_uses(*tree_).reads;
    std::vector<int32_t> reads = all_reads_;
    reads.resize(tree_->regs.size(), 0);
    for (const Node& n : l.body) {
      for (int i = 0; i < n.line.in.size(); ++i) {
        if (n.line.in.reads(i)) --reads[n.line.in.a[i]];
      }
    }
    std::vector<char> outside(reads.size());
    for (size_t r = 0; r < reads.size(); ++r) outside[r] = reads[r] > 0;
    return outside;
  }

  Tree* tree_;
  Machine* machine_;
  EmitOptions options_;
  Emitted out_;
  Extents extents_;
  std::vector<Line> lines_;
  std::vector<int> queued_;  // results in each array's queue
  std::vector<const LoopNode*> stack_;
  std::vector<int32_t> all_reads_;
};

}  // namespace

Emitted emit(Tree* tree, Machine* machine, const EmitOptions& options) {
  return Emitter(tree, machine, options).run();
}

}  // namespace tenfold::tpu::code
