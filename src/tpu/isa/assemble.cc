// Text of programs: assembler and disassembler. Both walk the table's operand letters; no
// instruction is known here by name. Every bad line is reported, each once.
#include <charconv>
#include <map>
#include <unordered_map>

#include "base/text.h"
#include "tpu/isa/isa.h"

namespace tenfold::tpu {
namespace {

constexpr Space kSpaces[] = {Space::Hbm, Space::Vmem, Space::Smem, Space::Cmem};

struct Expected {
  std::string_view what;
  char prefix;
  int count;
};
Expected expected(char k) {
  if (is_vector(k)) return {"a vector register v0-v63", 'v', kVectorRegs};
  if (is_mask(k)) return {"a mask register m0-m15", 'm', kMaskRegs};
  if (k == 'x') return {"a scalar register s0-s31 or a number", 's', kScalarRegs};
  if (k == 'i') return {"a number", 0, 0};
  if (k == 'l') return {"a label", 0, 0};
  return {"a scalar register s0-s31", 's', kScalarRegs};
}

// Decimal or 0x, 32 bits either signed or unsigned; `1.5f` is the float's bits.
bool parse_number(std::string_view t, int32_t* out) {
  if (t.size() > 1 && t.back() == 'f' && !t.starts_with("0x")) {
    float f = 0;
    auto r = std::from_chars(t.data(), t.data() + t.size() - 1, f);
    if (r.ec != std::errc() || r.ptr != t.data() + t.size() - 1) return false;
    *out = std::bit_cast<int32_t>(f);
    return true;
  }
  const bool negative = t.starts_with('-');
  if (negative) t.remove_prefix(1);
  int base = 10;
  if (t.starts_with("0x")) {
    t.remove_prefix(2);
    base = 16;
  }
  uint64_t v = 0;
  auto r = std::from_chars(t.data(), t.data() + t.size(), v, base);
  if (t.empty() || r.ec != std::errc() || r.ptr != t.data() + t.size()) return false;
  if (v > (negative ? uint64_t{1} << 31 : UINT32_MAX)) return false;
  *out = static_cast<int32_t>(negative ? 0 - static_cast<uint32_t>(v) : static_cast<uint32_t>(v));
  return true;
}

class Assembler {
 public:
  Assembler(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  Result<Program> run() {
    for (std::string_view line : split(text_, '\n')) {
      ++line_no_;
      line_ = line;
      this->line(strip_comment(line));
    }
    if (open_kernel_) fail(text_.substr(text_.size()), "a .kernel is not closed; add .end");
    for (const auto& u : uses_) {
      auto it = labels_.find(u.label);
      if (it == labels_.end()) {
        errors_.push_back(Error{"tpu-asm",
                                "no label " + std::string(u.label) + " in the program; write `" +
                                    std::string(u.label) + ":` before the bundle to jump to",
                                {u.place},
                                {}});
      } else {
        p_.insts[u.inst].a[u.operand] = it->second;
      }
    }
    if (!errors_.empty()) return errors_;
    return std::move(p_);
  }

 private:
  struct Use {
    size_t inst;
    int operand;
    std::string_view label;
    std::string place;
  };

  static std::string_view strip_comment(std::string_view s) {
    bool quoted = false;
    for (size_t i = 0; i < s.size(); ++i) {
      if (quoted && s[i] == '\\') {
        ++i;
      } else if (s[i] == '"') {
        quoted = !quoted;
      } else if (s[i] == '#' && !quoted) {
        return s.substr(0, i);
      }
    }
    return s;
  }

  // `at` is a piece of the present line.
  void fail(std::string_view at, std::string message) {
    size_t column = 1;
    if (at.data() >= line_.data() && at.data() <= line_.data() + line_.size())
      column += static_cast<size_t>(at.data() - line_.data());
    errors_.push_back(Error{"tpu-asm", std::move(message), {place(column)}, {}});
  }
  std::string place(size_t column) const {
    return std::string(file_) + ":" + std::to_string(line_no_) + ":" + std::to_string(column);
  }

  void line(std::string_view s) {
    s = trim(s);
    if (s.empty()) return;
    if (s.front() == '.') return directive(s);
    const size_t colon = s.find(':');
    if (colon != std::string_view::npos) {
      const std::string_view label = trim(s.substr(0, colon));
      if (label.empty() || label.find_first_of(" ,;@") != std::string_view::npos) {
        return fail(s, "`" + std::string(label) + "` is no label; a label is one word before `:`");
      }
      if (!labels_.emplace(label, static_cast<int32_t>(p_.num_bundles())).second)
        return fail(s, "label " + std::string(label) + " stands twice; give each its own name");
      s = trim(s.substr(colon + 1));
      if (s.empty()) return;
    }
    std::vector<Inst> bundle;
    if (s != "nop") {
      for (std::string_view part : split(s, ';'))
        if (!instruction(trim(part), bundle)) return;
    }
    p_.add_bundle(bundle);
  }

  bool instruction(std::string_view s, std::vector<Inst>& bundle) {
    const size_t space = s.find_first_of(" \t");
    const std::string_view word = s.substr(0, space);
    const Op op = find_op(word);
    if (op == Op::Count_) {
      std::vector<std::string> known;
      for (const OpInfo& o : all_instructions()) known.emplace_back(o.mnemonic);
      const std::string near = nearest(word, known);
      fail(s, "no instruction `" + std::string(word) + "`" +
                  (near.empty() ? "; isa.md has them all" : "; did you mean " + near + "?"));
      return false;
    }
    const OpInfo& o = info(op);
    std::vector<std::string_view> args;
    if (space != std::string_view::npos && !trim(s.substr(space)).empty())
      args = split(trim(s.substr(space)), ',');
    if (args.size() != o.operands.size()) {
      fail(s, std::string(word) + " has " + std::to_string(args.size()) + " operands, wanted " +
                  std::to_string(o.operands.size()));
      return false;
    }
    Inst inst;
    inst.op = op;
    for (size_t i = 0; i < args.size(); ++i)
      if (!operand(o.operands[i], trim(args[i]), static_cast<int>(i), bundle.size(), inst))
        return false;
    bundle.push_back(inst);
    return true;
  }

  bool operand(char k, std::string_view s, int i, size_t in_bundle, Inst& inst) {
    const Expected want = expected(k);
    if (k == 'l') {
      if (s.starts_with('@') && parse_number(s.substr(1), &inst.a[i])) return true;
      if (!s.empty() && s.find_first_of(" @") == std::string_view::npos) {
        const size_t column = 1 + static_cast<size_t>(s.data() - line_.data());
        uses_.push_back({p_.insts.size() + in_bundle, i, s, place(column)});
        return true;
      }
    } else if (want.prefix != 0 && s.size() > 1 && s.front() == want.prefix) {
      int32_t r = 0;
      if (s[1] >= '0' && s[1] <= '9' && parse_number(s.substr(1), &r) && r >= 0 && r < want.count) {
        inst.a[i] = r;
        return true;
      }
    } else if ((k == 'x' || k == 'i') && parse_number(s, &inst.a[i])) {
      if (k == 'x') inst.imm |= static_cast<uint8_t>(1u << i);
      return true;
    }
    fail(s, "operand " + std::to_string(i + 1) + " of " + std::string(info(inst.op).mnemonic) +
                " is `" + std::string(s) + "`, wanted " + std::string(want.what));
    return false;
  }

  // Words of a directive; "quoted ones" as JSON writes them.
  bool words(std::string_view s, std::vector<std::string>* out) {
    for (size_t i = 0; i < s.size();) {
      if (s[i] == ' ' || s[i] == '\t') {
        ++i;
        continue;
      }
      std::string w;
      if (s[i] == '"') {
        const size_t begin = i++;
        for (; i < s.size() && s[i] != '"'; ++i) {
          if (s[i] != '\\' || i + 1 >= s.size()) {
            w += s[i];
            continue;
          }
          const char c = s[++i];
          if (c == 'u' && i + 4 < s.size()) {
            unsigned v = 0;
            std::from_chars(s.data() + i + 1, s.data() + i + 5, v, 16);
            w += static_cast<char>(v);
            i += 4;
          } else {
            w += c == 'n'   ? '\n'
                 : c == 't' ? '\t'
                 : c == 'r' ? '\r'
                 : c == 'b' ? '\b'
                 : c == 'f' ? '\f'
                            : c;
          }
        }
        if (i == s.size()) {
          fail(s.substr(begin), "text in quotes does not end; close it with \"");
          return false;
        }
        ++i;
      } else {
        while (i < s.size() && s[i] != ' ' && s[i] != '\t') w += s[i++];
      }
      out->push_back(std::move(w));
    }
    return true;
  }

  bool number(std::string_view line, const std::string& word, uint64_t max, uint64_t* out) {
    auto r = std::from_chars(word.data(), word.data() + word.size(), *out);
    if (r.ec == std::errc() && r.ptr == word.data() + word.size() && *out <= max) return true;
    fail(line, "`" + word + "` is no number from 0 to " + std::to_string(max));
    return false;
  }

  void directive(std::string_view s) {
    std::vector<std::string> w;
    if (!words(s, &w)) return;
    if (w[0] == ".shape") return shape(s, w);
    if (w[0] == ".kernel") return kernel(s, w);
    if (w[0] == ".end" && w.size() == 1) {
      if (!open_kernel_) return fail(s, ".end without a .kernel before it");
      p_.kernels.back().end = static_cast<uint32_t>(p_.num_bundles());
      open_kernel_ = false;
      return;
    }
    uint64_t a = 0, b = 0;
    if (w[0] == ".region" && w.size() == 4) {
      if (number(s, w[2], UINT32_MAX, &a) && number(s, w[3], UINT32_MAX, &b))
        p_.regions.push_back({w[1], static_cast<uint32_t>(a), static_cast<uint32_t>(b)});
      return;
    }
    if (w[0] == ".host" && w.size() == 5) {
      if (number(s, w[3], UINT64_MAX, &a) && number(s, w[4], UINT64_MAX, &b))
        p_.host_steps.push_back({w[1], w[2], a, b});
      return;
    }
    fail(s, "`" + w[0] + "` with " + std::to_string(w.size() - 1) +
                " words is no directive; there are .shape FROM TO ROWS [x COUNT FROM_STRIDE "
                "TO_STRIDE]... [weights], .kernel NAME [NODE]..., .end, .region NAME ROW ROWS, "
                ".host NAME REASON BYTES_TO BYTES_FROM");
  }

  void shape(std::string_view s, const std::vector<std::string>& w) {
    DmaShape shape;
    size_t i = 1;
    for (Space* where : {&shape.from, &shape.to}) {
      const std::string word = i < w.size() ? w[i++] : "";
      bool known = false;
      for (Space each : kSpaces) {
        if (name(each) != word) continue;
        *where = each;
        known = true;
      }
      if (!known) return fail(s, "`" + word + "` is no memory; wanted hbm, vmem, smem or cmem");
    }
    uint64_t v = 0;
    if (i >= w.size()) return fail(s, ".shape ends before its number of rows");
    if (!number(s, w[i++], UINT32_MAX, &v)) return;
    shape.rows = static_cast<uint32_t>(v);
    int dim = 0;
    const int dims = static_cast<int>((w.size() - i) / 4);
    if (dims > 3) return fail(s, ".shape has more than 3 counted dimensions");
    while (i + 4 <= w.size() && w[i] == "x") {
      DmaShape::Dim& d = shape.dims[static_cast<size_t>(3 - dims + dim++)];
      if (!number(s, w[i + 1], UINT32_MAX, &v)) return;
      d.count = static_cast<uint32_t>(v);
      if (!parse_number(w[i + 2], &d.from_stride) || !parse_number(w[i + 3], &d.to_stride))
        return fail(s, "a stride of .shape is no number");
      i += 4;
    }
    if (i < w.size() && w[i] == "weights") {
      shape.weights = true;
      ++i;
    }
    if (i != w.size()) return fail(s, "`" + w[i] + "` is not wanted in .shape");
    p_.shapes.push_back(shape);
  }

  void kernel(std::string_view s, const std::vector<std::string>& w) {
    if (open_kernel_) return fail(s, ".kernel inside a kernel; close the one before with .end");
    if (w.size() < 2) return fail(s, ".kernel wants a name");
    KernelRange k;
    k.name = w[1];
    k.first = k.end = static_cast<uint32_t>(p_.num_bundles());
    for (size_t i = 2; i < w.size(); ++i) {
      uint64_t v = 0;
      if (!number(s, w[i], INT32_MAX, &v)) return;
      k.nodes.push_back(static_cast<int32_t>(v));
    }
    p_.kernels.push_back(std::move(k));
    open_kernel_ = true;
  }

  std::string_view text_, file_, line_;
  size_t line_no_ = 0;
  Program p_;
  bool open_kernel_ = false;
  std::unordered_map<std::string_view, int32_t> labels_;
  std::vector<Use> uses_;
  Errors errors_;
};

void append(std::string& s, const Inst& inst, const std::string& label_prefix) {
  const OpInfo& o = info(inst.op);
  s += o.mnemonic;
  for (size_t i = 0; i < o.operands.size(); ++i) {
    s += i == 0 ? " " : ", ";
    const char k = o.operands[i];
    if (k == 'l') {
      s += label_prefix;
    } else if (const char prefix = expected(k).prefix;
               prefix != 0 && !(k == 'x' && inst.is_imm(static_cast<int>(i)))) {
      s += prefix;
    }
    s += std::to_string(inst.a[i]);
  }
}

}  // namespace

Result<Program> assemble(std::string_view text, std::string_view file) {
  return Assembler(text, file).run();
}

std::string to_text(const Inst& inst) {
  std::string s;
  append(s, inst, "@");
  return s;
}

std::string disassemble(const Program& p) {
  std::string s;
  for (const DmaShape& d : p.shapes) {
    s += ".shape " + std::string(name(d.from)) + " " + std::string(name(d.to)) + " " +
         std::to_string(d.rows);
    bool shown = false;
    for (const auto& dim : d.dims) {
      shown |= dim != DmaShape::Dim{};
      if (!shown) continue;
      s += " x " + std::to_string(dim.count) + " " + std::to_string(dim.from_stride) + " " +
           std::to_string(dim.to_stride);
    }
    s += d.weights ? " weights\n" : "\n";
  }
  for (const HbmRegion& r : p.regions) {
    s += ".region " + json_quote(r.name) + " " + std::to_string(r.row) + " " +
         std::to_string(r.rows) + "\n";
  }
  for (const HostStep& h : p.host_steps) {
    s += ".host " + json_quote(h.name) + " " + json_quote(h.reason) + " " +
         std::to_string(h.bytes_to_host) + " " + std::to_string(h.bytes_from_host) + "\n";
  }
  std::vector<bool> target(p.num_bundles() + 1);
  for (const Inst& inst : p.insts) {
    const std::string_view kinds = info(inst.op).operands;
    for (size_t i = 0; i < kinds.size(); ++i)
      if (kinds[i] == 'l' && static_cast<size_t>(inst.a[i]) < target.size())
        target[static_cast<size_t>(inst.a[i])] = true;
  }
  size_t kernel = 0;
  bool open = false;
  for (size_t b = 0; b <= p.num_bundles(); ++b) {
    // A kernel may be empty, so it may open and close at one bundle.
    for (;;) {
      if (open && p.kernels[kernel].end <= b) {
        s += ".end\n";
        open = false;
        ++kernel;
      } else if (!open && kernel < p.kernels.size() && p.kernels[kernel].first <= b) {
        s += ".kernel " + json_quote(p.kernels[kernel].name);
        for (int32_t n : p.kernels[kernel].nodes) s += " " + std::to_string(n);
        s += "\n";
        open = true;
      } else {
        break;
      }
    }
    if (target[b]) s += "L" + std::to_string(b) + ":\n";
    if (b == p.num_bundles()) break;
    s += "  ";
    const auto insts = p.bundle(b);
    if (insts.empty()) s += "nop";
    for (size_t i = 0; i < insts.size(); ++i) {
      if (i > 0) s += " ; ";
      append(s, insts[i], "L");
    }
    s += "\n";
  }
  return s;
}

}  // namespace tenfold::tpu
