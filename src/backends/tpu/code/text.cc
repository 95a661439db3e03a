// Kernel code as text, and its verifier.
#include <string>

#include "backends/tpu/code/kernel_code.h"

namespace tenfold::tpu::code {
namespace {

std::string reg_name(const Kernel& k, int32_t r) {
  if (r < 0 || r >= static_cast<int32_t>(k.regs.size())) return "?";
  return std::string(1, "svm"[static_cast<int>(k.regs[r])]) + std::to_string(r);
}

class Printer {
 public:
  explicit Printer(const Kernel& k) : k_(k) {}
  std::string run() {
    out_ = "kernel " + k_.name + " {\n";
    for (const Region& r : k_.regions) {
      out_ += "  region " + r.name + ": " + std::string(name(r.space)) + " " +
              std::to_string(r.row) + " +: " + std::to_string(r.rows) + "\n";
    }
    block(k_.body, 1);
    return out_ + "}\n";
  }

 private:
  void indent(int n) { out_.append(n * 2, ' '); }
  void block(const Block& b, int depth) {
    for (const auto& s : b.stmts) {
      indent(depth);
      if (const auto* in = std::get_if<Instr>(&s)) {
        instr(*in);
      } else if (const auto* l = std::get_if<std::unique_ptr<Loop>>(&s)) {
        const Loop& loop = **l;
        out_ +=
            "loop " + reg_name(k_, loop.index) + " < " +
            (loop.trip_reg == kNoReg ? std::to_string(loop.trips) : reg_name(k_, loop.trip_reg)) +
            (loop.name.empty() ? "" : " \"" + loop.name + "\"") + " {\n";
        block(loop.body, depth + 1);
        indent(depth);
        out_ += "}\n";
      } else {
        const If& i = *std::get<std::unique_ptr<If>>(s);
        out_ += "if " + reg_name(k_, i.cond) + " {\n";
        block(i.then_body, depth + 1);
        indent(depth);
        if (!i.else_body.stmts.empty()) {
          out_ += "} else {\n";
          block(i.else_body, depth + 1);
          indent(depth);
        }
        out_ += "}\n";
      }
    }
  }
  void instr(const Instr& in) {
    int from = 0;
    if (in.dest() != kNoReg) out_ += reg_name(k_, in.dest()) + " = ", from = 1;
    out_ += info(in.op).mnemonic;
    for (int i = from; i < in.size(); ++i) {
      out_ += i == from ? " " : ", ";
      out_ += in.is_imm(i) ? std::to_string(in.a[i]) : reg_name(k_, in.a[i]);
    }
    for (int16_t r : in.region) {
      if (r != kNoRegion) out_ += " @" + k_.regions[r].name;
    }
    if (in.waits >= 0) {
      for (int16_t r : k_.waits[in.waits]) out_ += " @" + k_.regions[r].name;
    }
    out_ += "\n";
  }
  const Kernel& k_;
  std::string out_;
};

class Verifier {
 public:
  explicit Verifier(const Kernel& k) : k_(k), has_value_(k.regs.size(), 0) {}
  Status run() {
    block(k_.body);
    if (!errors_.empty()) return std::move(errors_);
    return ok_status();
  }

 private:
  void fail(const std::string& what) {
    if (errors_.size() < 8) {
      errors_.push_back({"tpu-kernel-code", "kernel `" + k_.name + "`: " + what, {}, {}});
    }
  }
  bool known(int32_t r) { return r >= 0 && r < static_cast<int32_t>(k_.regs.size()); }
  void read(int32_t r, const std::string& by) {
    if (!known(r)) return fail(by + " reads register " + std::to_string(r) + ", which is none");
    if (!has_value_[r]) {
      fail(by + " reads " + reg_name(k_, r) + " before it has a value; give it one on every way");
      has_value_[r] = 1;  // once
    }
  }
  void write(int32_t r) {
    if (!has_value_[r]) has_value_[r] = 1, log_.push_back(r);
  }
  void forget(size_t mark) {
    for (; log_.size() > mark; log_.pop_back()) has_value_[log_.back()] = 0;
  }
  void block(const Block& b) {
    for (const auto& s : b.stmts) {
      if (const auto* in = std::get_if<Instr>(&s)) {
        instr(*in);
      } else if (const auto* l = std::get_if<std::unique_ptr<Loop>>(&s)) {
        const Loop& loop = **l;
        if (loop.trip_reg != kNoReg) read(loop.trip_reg, "a loop");
        size_t mark = log_.size();
        write(loop.index);
        block(loop.body);
        if (loop.trip_reg != kNoReg || loop.trips <= 0) forget(mark);
      } else {
        const If& i = *std::get<std::unique_ptr<If>>(s);
        read(i.cond, "an if");
        size_t mark = log_.size();
        block(i.then_body);
        std::vector<int32_t> then_set(log_.begin() + mark, log_.end());
        forget(mark);
        block(i.else_body);
        std::vector<char> both(k_.regs.size(), 0);
        for (size_t j = mark; j < log_.size(); ++j) both[log_[j]] = 1;
        forget(mark);
        for (int32_t r : then_set) {
          if (both[r]) write(r);
        }
      }
    }
  }
  void instr(const Instr& in) {
    std::string by(info(in.op).mnemonic);
    for (int i = 0; i < in.size(); ++i) {
      if (in.reads(i)) read(in.a[i], by);
    }
    if (in.op == Op::Dma && static_cast<size_t>(in.a[3]) >= k_.shapes.size()) {
      fail("dma with shape " + std::to_string(in.a[3]) + " of " + std::to_string(k_.shapes.size()));
    }
    for (int16_t r : in.region) {
      if (r != kNoRegion && (r < 0 || static_cast<size_t>(r) >= k_.regions.size())) {
        fail(by + " in region " + std::to_string(r) + ", which is none");
      }
    }
    if (int32_t d = in.dest(); d != kNoReg) {
      if (!known(d)) return fail(by + " writes register " + std::to_string(d) + ", which is none");
      RegKind want = in.letter(0) == 'V'   ? RegKind::Vector
                     : in.letter(0) == 'M' ? RegKind::Mask
                                           : RegKind::Scalar;
      if (k_.regs[d] != want) fail(by + " writes " + reg_name(k_, d) + ", of another kind");
      write(d);
    }
  }
  const Kernel& k_;
  std::vector<char> has_value_;
  std::vector<int32_t> log_;
  Errors errors_;
};

}  // namespace

std::string to_text(const Kernel& k) { return Printer(k).run(); }
Status verify(const Kernel& k) { return Verifier(k).run(); }

}  // namespace tenfold::tpu::code
