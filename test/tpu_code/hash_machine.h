// What kernel code and bundles compute, without arithmetic: a vector's value is a number that
// stands for how it was made (the instruction and the values that it read), so two executions that
// agree made every stored value in the same way. Scalars are computed, as they steer.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "backends/tpu/code/kernel_code.h"
#include "tpu/isa/timing.h"

namespace tenfold::tpu::code {

class HashMachine {
 public:
  explicit HashMachine(const Chip& chip) : chip_(chip), arrays_(chip.mxu_count) {}

  // Copies move their rows when started, or not before somebody waits for them.
  bool late_copies = false;
  std::string error;
  int64_t steps = 0;

  void run(const Kernel& k) {
    scalars_.assign(k.regs.size(), 0);
    vectors_.assign(k.regs.size(), 0);
    masks_.assign(k.regs.size(), 0);
    shapes_ = &k.shapes;
    block(k.body);
  }
  void run(const Program& p) {
    scalars_.assign(kScalarRegs, 0x5eed);
    vectors_.assign(kVectorRegs, 0x5eed);
    masks_.assign(kMaskRegs, 0x5eed);
    shapes_ = &p.shapes;
    size_t pc = 0;
    while (pc < p.num_bundles() && error.empty()) {
      if (++steps > 20'000'000) error = "does not end";
      pc = bundle(p, pc);
    }
  }
  // Every row and word that was ever written, and what is left in the units.
  std::map<std::string, uint64_t> state(uint32_t below_row, uint32_t below_word) const {
    std::map<std::string, uint64_t> s;
    for (const auto& [key, v] : rows_) {
      if (key.first == Space::Vmem && key.second >= below_row) continue;
      s[std::string(name(key.first)) + " " + std::to_string(key.second)] = v;
    }
    for (const auto& [w, v] : words_) {
      if (w < below_word) s["word " + std::to_string(w)] = static_cast<uint32_t>(v);
    }
    for (size_t k = 0; k < arrays_.size(); ++k) {
      s["queue " + std::to_string(k)] = arrays_[k].queue.size();
      for (const auto& [a, v] : arrays_[k].acc) {
        if (v) s["acc " + std::to_string(k) + "." + std::to_string(a)] = v;
      }
    }
    return s;
  }

 private:
  struct Array {
    std::map<int, uint64_t> next, staged, acc;
    uint64_t weights = 0;
    std::vector<uint64_t> queue;
  };
  struct Copy {
    uint32_t from, to;
    int32_t semaphore;
    DmaShape shape;
  };

  static uint64_t mix(uint64_t a, uint64_t b) {
    uint64_t x = (a ^ (b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2))) * 0xff51afd7ed558ccdu;
    return x ^ (x >> 32);
  }

  template <class I>  // Inst, Instr
  uint64_t operand(const I& in, char letter, int i) const {
    switch (letter) {
      case 'v':
        return vectors_[in.a[i]];
      case 'm':
        return masks_[in.a[i]];
      case 's':
      case 'B':
        return static_cast<uint32_t>(scalars_[in.a[i]]);
      case 'x':
        return static_cast<uint32_t>(in.is_imm(i) ? in.a[i] : scalars_[in.a[i]]);
      default:
        return static_cast<uint32_t>(in.a[i]);
    }
  }
  template <class I>
  int32_t number(const I& in, int i) const {
    char l = info(in.op).operands[i];
    return static_cast<int32_t>(operand(in, l, i));
  }

  static int32_t scalar(Op op, int32_t a, int32_t b, int32_t c) {
    uint32_t x = a, y = b;
    switch (op) {
      case Op::SMov:
        return a;
      case Op::SAdd:
        return static_cast<int32_t>(x + y);
      case Op::SSub:
        return static_cast<int32_t>(x - y);
      case Op::SMul:
        return static_cast<int32_t>(x * y);
      case Op::SDiv:
        return b == 0 ? -1 : a / b;
      case Op::SRem:
        return b == 0 ? a : a % b;
      case Op::SAnd:
        return a & b;
      case Op::SOr:
        return a | b;
      case Op::SXor:
        return a ^ b;
      case Op::SShl:
        return static_cast<int32_t>(x << (y & 31));
      case Op::SShr:
        return static_cast<int32_t>(x >> (y & 31));
      case Op::SMin:
        return std::min(a, b);
      case Op::SMax:
        return std::max(a, b);
      case Op::SEq:
        return a == b;
      case Op::SNe:
        return a != b;
      case Op::SLt:
        return a < b;
      case Op::SLe:
        return a <= b;
      case Op::SSel:
        return a != 0 ? b : c;
      default:
        return static_cast<int32_t>(mix(static_cast<uint64_t>(op), x));
    }
  }

  static uint64_t splat(uint32_t x) { return mix(mix(1234, static_cast<uint64_t>(Op::VSplat)), x); }
  uint64_t row(Space s, uint32_t r) const {
    auto it = rows_.find({s, r});
    return it == rows_.end() ? mix(static_cast<uint64_t>(s) + 77, r) : it->second;
  }
  int32_t word(uint32_t w) const {
    auto it = words_.find(w);
    return it == words_.end() ? static_cast<int32_t>(mix(99, w) & 63) : it->second;
  }

  // What an instruction that writes a register makes; memory and queues are read.
  template <class I>
  uint64_t result(const I& in) {
    const OpInfo& o = info(in.op);
    if (in.op == Op::SLd) return static_cast<uint32_t>(word(number(in, 1) + number(in, 2)));
    if (in.op == Op::VMov) return operand(in, 'v', 1);
    if (in.op == Op::MOr && in.a[1] == in.a[2]) return operand(in, 'm', 1);
    if (o.slot == Slot::VLoad) {
      int64_t stride = in.op == Op::VLdStride ? in.a[3] : in.op == Op::VLdBcast ? 0 : 1;
      uint64_t h = 5;
      for (int s = 0; s < kSublanes; ++s) {
        h = mix(h, row(Space::Vmem, static_cast<uint32_t>(number(in, 1) + in.a[2] + s * stride)));
      }
      // What was stored whole and is loaded whole is the value that was stored.
      if (in.op == Op::VLd) {
        auto it = whole_.find(h);
        if (it != whole_.end()) return it->second;
      }
      return in.op == Op::VLdMask ? mix(h, operand(in, 'm', 3)) : h;
    }
    if (in.op == Op::XTransPop) return mix(block_, in.a[1]);
    if (in.op == Op::MxPop) {
      auto& q = arrays_[in.a[1]].queue;
      if (q.empty()) {
        error = "pop of an empty queue";
        return 0;
      }
      uint64_t v = q.front();
      q.erase(q.begin());
      return v;
    }
    if (in.op == Op::MxRead) {
      uint64_t& acc = arrays_[in.a[1]].acc[number(in, 2)];
      uint64_t v = acc;
      acc = 0;
      return v;
    }
    if (o.operands[0] == 'S') {
      bool vector = false;
      for (char c : o.operands) vector |= c == 'v';
      if (!vector) {
        int32_t a[3] = {};
        for (size_t i = 1; i < o.operands.size(); ++i) a[i - 1] = number(in, static_cast<int>(i));
        return static_cast<uint32_t>(scalar(in.op, a[0], a[1], a[2]));
      }
    }
    uint64_t h = mix(1234, static_cast<uint64_t>(in.op));
    for (size_t i = 1; i < o.operands.size(); ++i) {
      h = mix(h, operand(in, o.operands[i], static_cast<int>(i)));
    }
    // A mask kept in memory goes through a vector of ones and zeros.
    if (in.op == Op::VSel && operand(in, 'v', 2) == splat(1) && operand(in, 'v', 3) == splat(0)) {
      from_mask_[h] = operand(in, 'm', 1);
    }
    if (in.op == Op::VNeI && operand(in, 'v', 2) == splat(0)) {
      if (auto it = from_mask_.find(operand(in, 'v', 1)); it != from_mask_.end()) return it->second;
    }
    return o.operands[0] == 'S' ? h & 63 : h;
  }

  // Effects of an instruction that writes no register, its operands' values taken before.
  template <class I>
  void effect(const I& in, const std::array<uint64_t, kMaxOperands>& v) {
    switch (in.op) {
      case Op::SSt:
        words_[static_cast<uint32_t>(v[0] + v[1])] = static_cast<int32_t>(v[2]);
        return;
      case Op::VSt:
      case Op::VStStride:
      case Op::VStMask: {
        int64_t stride = in.op == Op::VStStride ? in.a[2] : 1;
        uint64_t value = in.op == Op::VStStride ? v[3] : v[2], h = 5;
        for (int s = 0; s < kSublanes; ++s) {
          uint32_t r = static_cast<uint32_t>(v[0] + in.a[1] + s * stride);
          uint64_t x = mix(value, s);
          if (in.op == Op::VStMask) x = mix(mix(x, v[3]), row(Space::Vmem, r));
          rows_[{Space::Vmem, r}] = x;
          h = mix(h, x);
        }
        if (in.op == Op::VSt) whole_[h] = value;
        return;
      }
      case Op::XTransPush:
        gathered_[in.a[1]] = v[0];
        return;
      case Op::XTransGo:
        block_ = 3;
        for (const auto& [b, x] : gathered_) block_ = mix(mix(block_, b), x);
        gathered_.clear();
        return;
      case Op::Dma: {
        Copy c{static_cast<uint32_t>(v[0]), static_cast<uint32_t>(v[1]), static_cast<int32_t>(v[2]),
               (*shapes_)[in.a[3]]};
        if (!late_copies) copy(c);
        copies_.push_back(c);
        return;
      }
      case Op::Wait:
        for (uint64_t n = 0; n < v[1]; ++n) {
          size_t i = 0;
          while (i < copies_.size() && copies_[i].semaphore != static_cast<int32_t>(v[0])) ++i;
          if (i == copies_.size()) {
            error = "waits for ever";
            return;
          }
          if (late_copies) copy(copies_[i]);
          copies_.erase(copies_.begin() + static_cast<int64_t>(i));
        }
        return;
      default:
        break;
    }
    std::string_view form = info(in.op).operands;
    Array* a = form.empty() ? nullptr : &arrays_[in.a[0]];
    switch (info(in.op).latency) {
      case Latency::MxuWeight:
        a->next[static_cast<int>(v[1])] = mix(static_cast<uint64_t>(in.op), v[2]);
        return;
      case Latency::MxuSwap:
        a->weights = 9;
        for (const auto& [b, x] : a->next) a->weights = mix(mix(a->weights, b), x);
        a->next.clear();
        return;
      case Latency::MxuRows: {
        if (form == "iiv") {
          a->staged[in.a[1]] = v[2];
          return;
        }
        uint64_t value = form == "iiiv" ? v[3] : v[4];
        uint64_t h = mix(mix(a->weights, value), in.a[1] * 64 + in.a[2]);
        for (const auto& [b, x] : a->staged) h = mix(mix(h, b), x);
        a->staged.clear();
        int n = results_of(chip_, in.a[2]);
        for (int r = 0; r < n; ++r) {
          if (form == "iiiv") {
            a->queue.push_back(mix(h, r));
          } else {
            uint64_t& acc = a->acc[static_cast<int>(v[3]) + r];
            acc = mix(acc, mix(h, r));
          }
        }
        if (static_cast<int>(a->queue.size()) > result_queue_entries(chip_)) {
          error = "the result queue is too full";
        }
        return;
      }
      default:
        error = "cannot execute " + std::string(info(in.op).mnemonic);
    }
  }

  void copy(const Copy& c) {
    const DmaShape& s = c.shape;
    for (uint32_t i = 0; i < s.dims[0].count; ++i) {
      for (uint32_t j = 0; j < s.dims[1].count; ++j) {
        for (uint32_t k = 0; k < s.dims[2].count; ++k) {
          for (uint32_t r = 0; r < s.rows; ++r) {
            uint32_t f = c.from + i * s.dims[0].from_stride + j * s.dims[1].from_stride +
                         k * s.dims[2].from_stride + r;
            uint32_t t = c.to + i * s.dims[0].to_stride + j * s.dims[1].to_stride +
                         k * s.dims[2].to_stride + r;
            rows_[{s.to, t}] = row(s.from, f);
          }
        }
      }
    }
  }

  template <class I>
  std::array<uint64_t, kMaxOperands> values(const I& in) const {
    std::array<uint64_t, kMaxOperands> v{};
    std::string_view form = info(in.op).operands;
    for (size_t i = 0; i < form.size(); ++i) v[i] = operand(in, form[i], static_cast<int>(i));
    return v;
  }
  void write(char letter, int32_t reg, uint64_t value) {
    if (letter == 'V') vectors_[reg] = value;
    if (letter == 'M') masks_[reg] = value;
    if (letter == 'S') scalars_[reg] = static_cast<int32_t>(value);
  }

  void block(const Block& b) {
    for (const auto& s : b.stmts) {
      if (const auto* in = std::get_if<Instr>(&s)) {
        ++steps;
        if (in->dest() != kNoReg) {
          write(in->letter(0), in->a[0], result(*in));
        } else {
          effect(*in, values(*in));
        }
      } else if (const auto* l = std::get_if<std::unique_ptr<Loop>>(&s)) {
        const Loop& loop = **l;
        int64_t n = loop.trip_reg == kNoReg ? loop.trips : scalars_[loop.trip_reg];
        for (int64_t i = 0; i < n; ++i) {
          scalars_[loop.index] = static_cast<int32_t>(i);
          block(loop.body);
        }
      } else {
        const If& i = *std::get<std::unique_ptr<If>>(s);
        block(scalars_[i.cond] ? i.then_body : i.else_body);
      }
    }
  }

  size_t bundle(const Program& p, size_t pc) {
    auto insts = p.bundle(pc);
    size_t next = pc + 1;
    struct Write {
      char letter;
      int32_t reg;
      uint64_t value;
    };
    std::vector<Write> writes;
    std::vector<std::array<uint64_t, kMaxOperands>> before;
    for (const Inst& in : insts) before.push_back(values(in));
    for (const Inst& in : insts) {
      std::string_view form = info(in.op).operands;
      if (in.op == Op::Loop) {
        int32_t left = scalars_[in.a[0]] - 1;
        writes.push_back({'S', in.a[0], static_cast<uint32_t>(left)});
        if (left > 0) next = static_cast<size_t>(in.a[1]);
      } else if (in.op == Op::Jump) {
        next = static_cast<size_t>(in.a[0]);
      } else if (in.op == Op::JumpNz || in.op == Op::JumpZ) {
        if ((scalars_[in.a[0]] != 0) == (in.op == Op::JumpNz)) next = static_cast<size_t>(in.a[1]);
      } else if (!form.empty() && writes_register(form[0])) {
        writes.push_back({form[0], in.a[0], result(in)});
      }
    }
    for (size_t i = 0; i < insts.size(); ++i) {
      std::string_view form = info(insts[i].op).operands;
      if (info(insts[i].op).latency == Latency::Branch) continue;
      if (form.empty() || !writes_register(form[0])) effect(insts[i], before[i]);
    }
    for (const Write& w : writes) write(w.letter, w.reg, w.value);
    return next;
  }

  const Chip& chip_;
  std::vector<Array> arrays_;
  std::vector<int32_t> scalars_;
  std::vector<uint64_t> vectors_, masks_;
  std::map<std::pair<Space, uint32_t>, uint64_t> rows_;
  std::map<uint32_t, int32_t> words_;
  std::map<uint64_t, uint64_t> whole_;
  std::map<uint64_t, uint64_t> from_mask_;
  std::map<int, uint64_t> gathered_;
  uint64_t block_ = 0;
  std::vector<Copy> copies_;
  const std::vector<DmaShape>* shapes_ = nullptr;
};

}  // namespace tenfold::tpu::code
