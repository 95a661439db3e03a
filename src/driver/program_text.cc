#include "driver/program_text.h"

#include <algorithm>

#include "base/text.h"
#include "runtime/signature.h"

namespace tenfold {
namespace {

using rt::BufferInfo;
using rt::Instr;

class Printer {
 public:
  explicit Printer(const rt::Program& p) : p_(p) {}

  std::string run() {
    s_ = "program " + p_.model_name + " for " + p_.target + ", " + std::to_string(p_.const_bytes) +
         " bytes of constants\n";
    for (const auto& s : p_.symbols) {
      s_ += "  symbol " + s.name + " in [" + std::to_string(s.min) + ", " +
            (s.max == INT64_MAX ? "" : std::to_string(s.max)) + "]\n";
    }
    for (size_t i = 0; i < p_.buffers.size(); ++i) buffer(i);
    for (const auto& k : p_.kernels) kernel(k);
    for (size_t i = 0; i < p_.blocks.size(); ++i) block(i);
    return s_;
  }

 private:
  std::string symbol(int64_t i) const {
    return i >= 0 && static_cast<size_t>(i) < p_.symbols.size()
               ? p_.symbols[static_cast<size_t>(i)].name
               : "s" + std::to_string(i);
  }

  std::string size(const rt::SizeExpr& e) const {
    return e.steps.empty() ? "0" : rt::size_text(e, p_);
  }

  static std::string b(int32_t i) { return "b" + std::to_string(i); }
  static std::string list(const std::vector<int32_t>& v, size_t from = 0, size_t to = SIZE_MAX) {
    std::string s;
    for (size_t i = from; i < std::min(to, v.size()); ++i) s += (i > from ? ", " : "") + b(v[i]);
    return s;
  }

  void buffer(size_t i) {
    const BufferInfo& x = p_.buffers[i];
    static const char* const kinds[] = {"input", "output", "constant", "temp"};
    std::vector<std::string> dims;
    for (const auto& d : x.dims) dims.push_back(size(d));
    s_ += "  " + b(static_cast<int32_t>(i)) + " " + kinds[static_cast<int>(x.kind)] + " " +
          std::string(name(x.dtype)) + "[" + join(dims, ", ") + "]";
    if (!x.name.empty()) s_ += " \"" + x.name + "\"";
    if (x.kind == BufferInfo::Kind::Constant) s_ += " at byte " + std::to_string(x.const_offset);
    if (x.alias_of >= 0) s_ += " in " + b(x.alias_of);
    if (x.dynamic) s_ += " dynamic";
    if (x.kind == BufferInfo::Kind::Temp && x.alias_of < 0 && !x.dynamic) {
      s_ += " live " + std::to_string(x.first) + ".." + std::to_string(x.last) + " of block " +
            std::to_string(x.block);
    }
    s_ += "\n";
  }

  void kernel(const rt::KernelInfo& k) {
    s_ += "  kernel " + k.name + ": " + size(k.flops) + " flops, " + size(k.bytes) + " bytes";
    if (!k.origins.empty()) s_ += ", of " + join(k.origins, ", ");
    s_ += "\n";
    for (const auto& f : k.phases) {
      s_ += "    phase " + f.symbol + ": " + size(f.extent) + " iterations";
      const std::string workspace = size(f.workspace);
      if (workspace != "0") s_ += ", workspace " + workspace;
      s_ += "\n";
    }
  }

  void block(size_t i) {
    const rt::BlockInfo& x = p_.blocks[i];
    s_ += "  block " + std::to_string(i) + " (" + list(x.args) + ")\n";
    for (const Instr& n : x.instrs) s_ += "    " + instruction(n) + "\n";
    s_ += "    give " + list(x.results) + "\n";
  }

  std::string instruction(const Instr& n) const {
    auto block_name = [&](size_t i) {
      return "block " + (i < n.blocks.size() ? std::to_string(n.blocks[i]) : "?");
    };
    switch (n.op) {
      case Instr::Op::Call: {
        const size_t results = n.ints.empty() ? 0 : static_cast<size_t>(n.ints[0]);
        const size_t k = static_cast<size_t>(n.a);
        return list(n.args, 0, results) + " = " +
               (k < p_.kernels.size() ? p_.kernels[k].name : "?") + "(" + list(n.args, results) +
               ")";
      }
      case Instr::Op::BindSymbol:
        return symbol(n.a) + " = " + list(n.args);
      case Instr::Op::BindShape: {
        std::string s;
        for (size_t i = 0; i + 2 < n.ints.size(); i += 3) {
          s += (i ? "; " : "") + symbol(n.ints[i + 2]) + " = dimension " +
               std::to_string(n.ints[i + 1]) + " of " + b(n.ints[i]);
        }
        return s;
      }
      case Instr::Op::Copy:
        return list(n.args, 1) + " = copy " + list(n.args, 0, 1);
      case Instr::Op::If: {
        std::string s = "choose by " + list(n.args) + ":";
        for (size_t i = 0; i < n.blocks.size(); ++i) s += (i ? ", " : " ") + block_name(i);
        return s;
      }
      case Instr::Op::While:
        return "while " + block_name(0) + " do " + block_name(1);
      case Instr::Op::Check:
        return "check " + list(n.args) + ": " + n.message;
      case Instr::Op::CheckSizes: {
        static constexpr const char* kRelations[] = {" == ", " <= ", " == 1 or == "};
        return "check " + size(n.sizes[0]) + kRelations[n.a] + size(n.sizes[1]) + ": " + n.message;
      }
    }
    return "?";
  }

  const rt::Program& p_;
  std::string s_;
};

}  // namespace

std::string print(const rt::Program& p) { return Printer(p).run(); }

}  // namespace tenfold
