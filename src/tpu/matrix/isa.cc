// The matrix family's tables and what follows from them: text, bytes, checks, the reference page.
#include "tpu/matrix/isa.h"

#include <algorithm>
#include <bit>
#include <charconv>

#include "base/reader.h"
#include "base/text.h"
#include "fmt/format.h"

namespace tenfold::tpu::matrix {

namespace {

std::vector<std::string_view> words(std::string_view s) {
  if (s.empty()) return {};
  return split(s, ' ');
}

const std::array<OpInfo, kNumOps>& table() {
  static const std::array<OpInfo, kNumOps> kTable = {{
#define MATRIX_OP(id, mnemonic, unit, operands, meaning) \
  {Opcode::id, mnemonic, Unit::unit, words(operands), meaning},
#include "tpu/matrix/ops.inc"
#undef MATRIX_OP
  }};
  return kTable;
}

// ---- records: name, list in the program, fields -------------------------------------------------

template <class R>
struct Field {
  std::string_view name;
  std::variant<int64_t R::*, float R::*, std::array<int64_t, 6> R::*> member;
};

template <class R>
struct RecordInfo;

#define RECORD(Type, Text, List, ...)                    \
  template <>                                            \
  struct RecordInfo<Type> {                              \
    using R = Type;                                      \
    static constexpr std::string_view kName = Text;      \
    static constexpr auto kList = &Program::List;        \
    static constexpr Field<R> kFields[] = {__VA_ARGS__}; \
  };
#define F(member) {#member, &R::member}
RECORD(Window, "window", windows, F(buffer), F(batch), F(height), F(width), F(pixel_stride),
       F(out_height), F(out_width), F(kernel_height), F(kernel_width), F(stride_y), F(stride_x),
       F(dilation_y), F(dilation_x), F(pad_y), F(pad_x), F(zero), F(is_signed))
RECORD(Tile, "tile", tiles, F(data), F(row_stride), F(k), F(n), F(first_k), F(channel), F(channels),
       F(useful), F(cached))
RECORD(Activation, "activation", activations, F(bias), F(scale), F(zero), F(low), F(high))
RECORD(View, "view", views, F(from), F(from2), F(to), F(table), F(count), F(stride), F(stride2),
       F(to_stride), F(fill))
RECORD(Pool, "pool", pools, F(window), F(channels), F(to), F(to_stride), F(mean), F(scale),
       F(divisor), F(out_scale), F(zero), F(out_zero), F(low), F(high))
RECORD(HostStep, "step", steps, F(id))
#undef F
#undef RECORD

// Calls f with RecordInfo of each kind of record until it returns true.
template <class Fn>
bool each_record(Fn&& f) {
  return f(RecordInfo<Window>{}) || f(RecordInfo<Tile>{}) || f(RecordInfo<Activation>{}) ||
         f(RecordInfo<View>{}) || f(RecordInfo<Pool>{}) || f(RecordInfo<HostStep>{});
}

// The numbers of a record in the order of its fields; floats as their bits.
template <class R>
std::vector<int64_t> numbers(const R& r) {
  std::vector<int64_t> v;
  for (const auto& f : RecordInfo<R>::kFields) {
    if (auto* i = std::get_if<int64_t R::*>(&f.member)) v.push_back(r.*(*i));
    if (auto* x = std::get_if<float R::*>(&f.member)) v.push_back(std::bit_cast<int32_t>(r.*(*x)));
    if (auto* a = std::get_if<std::array<int64_t, 6> R::*>(&f.member)) {
      v.insert(v.end(), (r.*(*a)).begin(), (r.*(*a)).end());
    }
  }
  return v;
}
template <class R>
void set_numbers(R& r, const int64_t* v) {
  for (const auto& f : RecordInfo<R>::kFields) {
    if (auto* i = std::get_if<int64_t R::*>(&f.member)) r.*(*i) = *v++;
    if (auto* x = std::get_if<float R::*>(&f.member)) {
      r.*(*x) = std::bit_cast<float>(static_cast<int32_t>(*v++));
    }
    if (auto* a = std::get_if<std::array<int64_t, 6> R::*>(&f.member)) {
      for (int64_t& e : r.*(*a)) e = *v++;
    }
  }
}

template <class R>
std::string text_of(const R& r) {
  const R fresh;
  std::string s = fmt::format(".{}", RecordInfo<R>::kName);
  for (const auto& f : RecordInfo<R>::kFields) {
    if (auto* i = std::get_if<int64_t R::*>(&f.member); i && r.*(*i) != fresh.*(*i)) {
      s += fmt::format(" {}={}", f.name, r.*(*i));
    }
    if (auto* x = std::get_if<float R::*>(&f.member); x && r.*(*x) != fresh.*(*x)) {
      s += fmt::format(" {}={}", f.name, r.*(*x));
    }
    if (auto* a = std::get_if<std::array<int64_t, 6> R::*>(&f.member);
        a && r.*(*a) != fresh.*(*a)) {
      s += fmt::format(" {}={}", f.name, fmt::join(r.*(*a), ","));
    }
  }
  return s;
}

// ---- the assembler ------------------------------------------------------------------------------

class Assembler {
 public:
  Assembler(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  Result<Program> run() {
    for (std::string_view line : split(text_, '\n')) {
      ++line_;
      line = trim(line.substr(0, line.find('#')));
      if (line.empty()) continue;
      std::vector<std::string_view> w;
      for (std::string_view part : split(line, ' ')) {
        if (!trim(part).empty()) w.push_back(trim(part));
      }
      Status s = w[0].starts_with('.') ? directive(w) : instruction(w);
      if (!s.ok()) {
        for (Error& e : s.take_errors()) errors_.push_back(std::move(e));
      }
    }
    if (!errors_.empty()) return errors_;
    return std::move(p_);
  }

 private:
  Error fail(std::string message) const {
    return {"matrix-asm", std::move(message), {fmt::format("{}:{}", file_, line_)}, {}};
  }

  template <class T>
  Result<T> number(std::string_view s) const {
    T v{};
    const auto [end, bad] = std::from_chars(s.data(), s.data() + s.size(), v);
    if (bad != std::errc() || end != s.data() + s.size()) {
      return fail(fmt::format("\"{}\" is no number", s));
    }
    return v;
  }

  // The field called by what stands before '=' in `word`, and its value.
  template <class List>
  Result<std::pair<size_t, std::string_view>> assignment(std::string_view word, const List& names,
                                                         std::string_view of) const {
    const size_t at = word.find('=');
    std::vector<std::string> known;
    for (std::string_view n : names) known.emplace_back(n);
    const std::string key(word.substr(0, at));
    const auto found = std::find(known.begin(), known.end(), key);
    if (at == std::string_view::npos || found == known.end()) {
      const std::string near = nearest(key, known);
      return fail(fmt::format("found \"{}\", wanted NAME=NUMBER with a name of `{}`: {}{}", word,
                              of, join(known, ", "),
                              near.empty() ? "" : fmt::format("; did you mean `{}`?", near)));
    }
    return std::pair{static_cast<size_t>(found - known.begin()), word.substr(at + 1)};
  }

  template <class R>
  Status record(const std::vector<std::string_view>& w) {
    using Info = RecordInfo<R>;
    R r;
    std::vector<std::string_view> names;
    for (const auto& f : Info::kFields) names.push_back(f.name);
    for (size_t i = 1; i < w.size(); ++i) {
      TF_ASSIGN(const auto a, assignment(w[i], names, w[0]));
      const auto& member = Info::kFields[a.first].member;
      if (auto* m = std::get_if<int64_t R::*>(&member)) {
        TF_ASSIGN(r.*(*m), number<int64_t>(a.second));
      } else if (auto* x = std::get_if<float R::*>(&member)) {
        TF_ASSIGN(r.*(*x), number<float>(a.second));
      } else {
        const auto parts = split(a.second, ',');
        if (parts.size() != 6) return fail(fmt::format("`{}` wants 6 numbers", names[a.first]));
        for (size_t k = 0; k < 6; ++k) {
          TF_ASSIGN((r.*std::get<std::array<int64_t, 6> R::*>(member))[k],
                    number<int64_t>(parts[k]));
        }
      }
    }
    (p_.*Info::kList).push_back(r);
    return ok_status();
  }

  Status directive(const std::vector<std::string_view>& w) {
    Status s = ok_status();
    const bool known = each_record([&](auto info) {
      using R = typename decltype(info)::R;
      if (w[0].substr(1) != info.kName) return false;
      s = record<R>(w);
      return true;
    });
    if (known) return s;
    if (w[0] == ".memory") {
      constexpr std::string_view kNames[] = {"host", "buffer", "cached"};
      for (size_t i = 1; i < w.size(); ++i) {
        TF_ASSIGN(const auto a, assignment(w[i], kNames, w[0]));
        TF_ASSIGN(const int64_t v, number<int64_t>(a.second));
        (a.first == 0 ? p_.host_bytes : a.first == 1 ? p_.buffer_bytes : p_.cached_bytes) = v;
      }
      return ok_status();
    }
    if (w[0] == ".range" && w.size() == 5) {  // .range NAME KIND FIRST END
      Range r{std::string(w[1]), std::string(w[2]), 0, 0};
      TF_ASSIGN(r.first, number<uint32_t>(w[3]));
      TF_ASSIGN(r.end, number<uint32_t>(w[4]));
      p_.ranges.push_back(r);
      return ok_status();
    }
    if (w[0] == ".data") {
      for (size_t i = 1; i < w.size(); ++i) {
        if (w[i].size() % 2 != 0) return fail("an odd number of hexadecimal digits");
        for (size_t k = 0; k < w[i].size(); k += 2) {
          uint8_t byte = 0;
          const char* at = w[i].data() + k;
          if (std::from_chars(at, at + 2, byte, 16).ptr != at + 2) {
            return fail(fmt::format("\"{}\" is no byte", w[i].substr(k, 2)));
          }
          p_.data += static_cast<char>(byte);
        }
      }
      return ok_status();
    }
    return fail(
        fmt::format("found `{}`, wanted .window, .tile, .activation, .view, .pool, .step, "
                    ".memory, .range or .data",
                    w[0]));
  }

  Status instruction(const std::vector<std::string_view>& w) {
    std::vector<std::string> mnemonics;
    for (const OpInfo& i : table()) mnemonics.emplace_back(i.mnemonic);
    const auto found = std::find(mnemonics.begin(), mnemonics.end(), w[0]);
    if (found == mnemonics.end()) {
      const std::string near = nearest(w[0], mnemonics);
      return fail(fmt::format("there is no instruction `{}`{}", w[0],
                              near.empty()
                                  ? fmt::format("; wanted one of {}", join(mnemonics, ", "))
                                  : fmt::format("; did you mean `{}`?", near)));
    }
    const OpInfo& op = table()[static_cast<size_t>(found - mnemonics.begin())];
    Inst inst{op.op, {}};
    for (size_t i = 1; i < w.size(); ++i) {
      TF_ASSIGN(const auto a, assignment(w[i], op.operands, op.mnemonic));
      TF_ASSIGN(inst.a[a.first], number<int64_t>(a.second));
    }
    p_.insts.push_back(inst);
    return ok_status();
  }

  std::string_view text_, file_;
  int line_ = 0;
  Program p_;
  Errors errors_;
};

// ---- bytes --------------------------------------------------------------------------------------

constexpr std::string_view kMagic = "TFMATRIX";
constexpr uint64_t kVersion = 1;

void put(std::string& s, uint64_t v) {
  for (; v >= 0x80; v >>= 7) s += static_cast<char>(v | 0x80);
  s += static_cast<char>(v);
}
void put_signed(std::string& s, int64_t v) {
  put(s, (static_cast<uint64_t>(v) << 1) ^ static_cast<uint64_t>(v >> 63));
}
void put_text(std::string& s, std::string_view t) {
  put(s, t.size());
  s += t;
}
Result<std::string> get_text(Reader& r) {
  TF_ASSIGN(const uint64_t n, r.read_varint());
  TF_ASSIGN(const std::string_view t, r.text(n));
  return std::string(t);
}

}  // namespace

std::string_view name(Unit u) {
  constexpr std::string_view kNames[] = {"mxu", "activation", "dma", "host", "control"};
  return kNames[static_cast<int>(u)];
}

const OpInfo& info(Opcode op) { return table()[static_cast<size_t>(op)]; }

Result<Program> assemble(std::string_view text, std::string_view file) {
  return Assembler(text, file).run();
}

std::string disassemble(const Program& p, bool with_data) {
  std::string s = fmt::format(".memory host={} buffer={} cached={}\n", p.host_bytes, p.buffer_bytes,
                              p.cached_bytes);
  each_record([&](auto info) {
    for (const auto& r : p.*info.kList) s += text_of(r) + "\n";
    return false;
  });
  for (const Range& r : p.ranges) {
    s += fmt::format(".range {} {} {} {}\n", r.name, r.kind, r.first, r.end);
  }
  for (const Inst& i : p.insts) {
    s += info(i.op).mnemonic;
    for (size_t k = 0; k < info(i.op).operands.size(); ++k) {
      s += fmt::format(" {}={}", info(i.op).operands[k], i.a[k]);
    }
    s += '\n';
  }
  constexpr size_t kLine = 64;
  for (size_t at = 0; with_data && at < p.data.size(); at += kLine) {
    s += ".data ";
    for (const char c : p.data.substr(at, kLine)) {
      s += fmt::format("{:02x}", static_cast<uint8_t>(c));
    }
    s += '\n';
  }
  return s;
}

std::string encode(const Program& p) {
  std::string s(kMagic);
  put(s, kVersion);
  for (const int64_t n : {p.host_bytes, p.buffer_bytes, p.cached_bytes}) put_signed(s, n);
  each_record([&](auto info) {
    put(s, (p.*info.kList).size());
    for (const auto& r : p.*info.kList) {
      for (const int64_t n : numbers(r)) put_signed(s, n);
    }
    return false;
  });
  put(s, p.insts.size());
  for (const Inst& i : p.insts) {
    s += static_cast<char>(i.op);
    for (size_t k = 0; k < info(i.op).operands.size(); ++k) put_signed(s, i.a[k]);
  }
  put(s, p.ranges.size());
  for (const Range& r : p.ranges) {
    put_text(s, r.name);
    put_text(s, r.kind);
    put(s, r.first);
    put(s, r.end);
  }
  put_text(s, p.data);
  return s;
}

Result<Program> decode(std::string_view bytes) {
  Reader r(std::as_bytes(std::span(bytes)), "matrix program");
  TF_TRY(r.expect(kMagic));
  TF_ASSIGN(const uint64_t version, r.read_varint());
  if (version != kVersion) {
    return r.fail("matrix-code", fmt::format("version {}, this build reads {}", version, kVersion));
  }
  Program p;
  for (int64_t* n : {&p.host_bytes, &p.buffer_bytes, &p.cached_bytes}) {
    TF_ASSIGN(*n, r.read_zigzag());
  }
  Status status = ok_status();
  each_record([&](auto info) {
    using R = typename decltype(info)::R;
    auto list = [&]() -> Status {
      TF_ASSIGN(const uint64_t n, r.read_varint());
      TF_TRY(r.check_count(n, 1));
      for (uint64_t i = 0; i < n; ++i) {
        R record;
        std::vector<int64_t> v = numbers(record);
        for (int64_t& x : v) {
          TF_ASSIGN(x, r.read_zigzag());
        }
        set_numbers(record, v.data());
        (p.*info.kList).push_back(record);
      }
      return ok_status();
    };
    status = list();
    return !status.ok();
  });
  TF_TRY(status);
  TF_ASSIGN(const uint64_t insts, r.read_varint());
  TF_TRY(r.check_count(insts, 1));
  for (uint64_t i = 0; i < insts; ++i) {
    TF_ASSIGN(const uint8_t op, r.read_u8());
    if (op >= kNumOps) return r.fail("matrix-code", fmt::format("there is no opcode {}", op));
    Inst inst{static_cast<Opcode>(op), {}};
    for (size_t k = 0; k < info(inst.op).operands.size(); ++k) {
      TF_ASSIGN(inst.a[k], r.read_zigzag());
    }
    p.insts.push_back(inst);
  }
  TF_ASSIGN(const uint64_t ranges, r.read_varint());
  TF_TRY(r.check_count(ranges, 4));
  for (uint64_t i = 0; i < ranges; ++i) {
    Range range;
    TF_ASSIGN(range.name, get_text(r));
    TF_ASSIGN(range.kind, get_text(r));
    TF_ASSIGN(const uint64_t first, r.read_varint());
    TF_ASSIGN(const uint64_t end, r.read_varint());
    range.first = static_cast<uint32_t>(first);
    range.end = static_cast<uint32_t>(end);
    p.ranges.push_back(std::move(range));
  }
  TF_ASSIGN(p.data, get_text(r));
  if (!r.at_end()) return r.fail("matrix-code", "bytes after the end of the program");
  return p;
}

std::string reference_page() {
  std::string s =
      "# Matrix instructions\n\nThe instruction set of the matrix family (v1, Edge): from "
      "`src/tpu/matrix/ops.inc`. Text form: `mnemonic operand=number ...`; records (`.window`, "
      "`.tile` ...) are numbered in their order.\n\n| instruction | unit | operands | does |\n"
      "|---|---|---|---|\n";
  for (const OpInfo& i : table()) {
    s += fmt::format("| `{}` | {} | {} | {} |\n", i.mnemonic, name(i.unit),
                     fmt::join(i.operands, ", "), i.meaning);
  }
  s += "\n## Records\n\n| record | fields |\n|---|---|\n";
  each_record([&](auto info) {
    std::vector<std::string> names;
    for (const auto& f : info.kFields) names.push_back(fmt::format("`{}`", f.name));
    s += fmt::format("| `.{}` | {} |\n", info.kName, join(names, ", "));
    return false;
  });
  return s;
}

}  // namespace tenfold::tpu::matrix
