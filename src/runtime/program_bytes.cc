// Varints throughout: an index costs one byte while it is small, and the form does not depend on
// the machine that wrote it.
#include "runtime/program_bytes.h"

#include "base/reader.h"

namespace tenfold::rt {
namespace {

class Writer {
 public:
  std::string out;
  void number(uint64_t v) {
    for (; v >= 0x80; v >>= 7) out.push_back(static_cast<char>(v | 0x80));
    out.push_back(static_cast<char>(v));
  }
  void integer(int64_t v) {
    number((static_cast<uint64_t>(v) << 1) ^ static_cast<uint64_t>(v >> 63));
  }
  void text(const std::string& s) {
    number(s.size());
    out += s;
  }
  template <class T, class F>
  void list(const std::vector<T>& items, F&& each) {
    number(items.size());
    for (const T& i : items) each(i);
  }
  void integers(const std::vector<int32_t>& v) {
    list(v, [&](int32_t i) { integer(i); });
  }
  void size(const SizeExpr& e) {
    list(e.steps, [&](const SizeExpr::Step& s) {
      out.push_back(static_cast<char>(s.op));
      if (s.op <= SizeExpr::Op::Sym) integer(s.v);
    });
  }
};

// Reads in the order that Writer wrote. After the first error every read does nothing, so that the
// reading code stays as plain as the writing code.
class Parser {
 public:
  Parser(std::span<const std::byte> bytes, std::string_view what) : in_(bytes, what) {}
  Errors errors;

  uint64_t number() { return take(in_.read_varint()); }
  int64_t integer() { return take(in_.read_zigzag()); }
  int32_t integer32() {
    int64_t v = integer();
    if (v < INT32_MIN || v > INT32_MAX) fail("found the number " + std::to_string(v));
    return static_cast<int32_t>(v);
  }
  std::string text() { return std::string(take(in_.text(number()))); }
  uint8_t byte(int count, const char* of) {
    uint8_t v = take(in_.read_u8());
    if (v >= count) fail("found no " + std::string(of) + " " + std::to_string(v));
    return errors.empty() ? v : 0;
  }
  // Each item takes a byte at least, so a count beyond the bytes that are left is refused first.
  template <class T, class F>
  void list(std::vector<T>& items, F&& each) {
    uint64_t n = number();
    if (!errors.empty()) return;
    if (Status s = in_.check_count(n, 1); !s.ok()) {
      errors = s.take_errors();
      return;
    }
    items.reserve(std::min<uint64_t>(n, 1 << 16));
    for (uint64_t i = 0; i < n && errors.empty(); ++i) items.push_back(each());
  }
  void integers(std::vector<int32_t>& v) {
    list(v, [&] { return integer32(); });
  }
  SizeExpr size() {
    SizeExpr e;
    list(e.steps, [&] {
      SizeExpr::Step s{static_cast<SizeExpr::Op>(byte(9, "size operation")), 0};
      if (s.op <= SizeExpr::Op::Sym) s.v = integer();
      return s;
    });
    return e;
  }
  bool at_end() const { return in_.at_end(); }
  void fail(const std::string& message) {
    if (errors.empty()) errors.push_back(in_.fail("bad-artifact", message));
  }

 private:
  template <class T>
  T take(Result<T> r) {
    if (!errors.empty()) return T{};
    if (r.ok()) return std::move(*r);
    errors = r.take_errors();
    return T{};
  }
  Reader in_;
};

}  // namespace

std::string program_bytes(const Program& p) {
  Writer w;
  w.text(p.model_name);
  w.text(p.target);
  w.text(p.features);
  w.list(p.symbols, [&](const SymbolInfo& s) {
    w.text(s.name);
    w.integer(s.min);
    w.integer(s.max);
  });
  w.list(p.buffers, [&](const BufferInfo& b) {
    w.out.push_back(static_cast<char>(b.kind));
    w.out.push_back(static_cast<char>(b.dtype));
    w.out.push_back(static_cast<char>(b.dynamic));
    w.text(b.name);
    w.list(b.dims, [&](const SizeExpr& e) { w.size(e); });
    w.number(b.const_offset);
    w.integer(b.alias_of);
    w.integer(b.block);
    w.integer(b.first);
    w.integer(b.last);
  });
  w.list(p.kernels, [&](const KernelInfo& k) {
    w.text(k.name);
    w.list(k.phases, [&](const Phase& ph) {
      w.text(ph.symbol);
      w.size(ph.extent);
      w.size(ph.cost);
      w.size(ph.workspace);
    });
    w.list(k.origins, [&](const std::string& s) { w.text(s); });
    w.integers(k.symbols);
    w.size(k.flops);
    w.size(k.bytes);
  });
  w.list(p.blocks, [&](const BlockInfo& b) {
    w.list(b.instrs, [&](const Instr& i) {
      w.out.push_back(static_cast<char>(i.op));
      w.integer(i.a);
      w.integers(i.args);
      w.integers(i.blocks);
      w.integers(i.ints);
      w.list(i.sizes, [&](const SizeExpr& e) { w.size(e); });
      w.text(i.message);
      w.text(i.where);
    });
    w.integers(b.args);
    w.integers(b.results);
  });
  w.integers(p.inputs);
  w.integers(p.outputs);
  w.number(p.const_bytes);
  return std::move(w.out);
}

Result<Program> read_program(std::span<const std::byte> bytes, std::string_view what) {
  Parser r(bytes, what);
  Program p;
  p.model_name = r.text();
  p.target = r.text();
  p.features = r.text();
  r.list(p.symbols, [&] {
    SymbolInfo s;
    s.name = r.text();
    s.min = r.integer();
    s.max = r.integer();
    return s;
  });
  r.list(p.buffers, [&] {
    BufferInfo b;
    b.kind = static_cast<BufferInfo::Kind>(r.byte(4, "kind of buffer"));
    b.dtype = static_cast<DType>(r.byte(kDTypeCount, "element type"));
    b.dynamic = r.byte(2, "flag") != 0;
    b.name = r.text();
    r.list(b.dims, [&] { return r.size(); });
    b.const_offset = r.number();
    b.alias_of = r.integer32();
    b.block = r.integer32();
    b.first = r.integer32();
    b.last = r.integer32();
    return b;
  });
  r.list(p.kernels, [&] {
    KernelInfo k;
    k.name = r.text();
    r.list(k.phases, [&] {
      Phase ph;
      ph.symbol = r.text();
      ph.extent = r.size();
      ph.cost = r.size();
      ph.workspace = r.size();
      return ph;
    });
    r.list(k.origins, [&] { return r.text(); });
    r.integers(k.symbols);
    k.flops = r.size();
    k.bytes = r.size();
    return k;
  });
  r.list(p.blocks, [&] {
    BlockInfo b;
    r.list(b.instrs, [&] {
      Instr i;
      i.op = static_cast<Instr::Op>(r.byte(8, "instruction"));
      i.a = r.integer32();
      r.integers(i.args);
      r.integers(i.blocks);
      r.integers(i.ints);
      r.list(i.sizes, [&] { return r.size(); });
      i.message = r.text();
      i.where = r.text();
      return i;
    });
    r.integers(b.args);
    r.integers(b.results);
    return b;
  });
  r.integers(p.inputs);
  r.integers(p.outputs);
  p.const_bytes = r.number();
  if (r.errors.empty() && !r.at_end()) r.fail("found bytes after the end of the program");
  if (!r.errors.empty()) return std::move(r.errors);
  return std::move(p);
}

}  // namespace tenfold::rt
