// Bytes of programs. A bundle is its number of instructions, then each as opcode (2 bytes), the set
// of immediates (1), and its operands by the table's letters: a register one byte, an immediate or
// a label a zigzag varint.
#include "base/reader.h"
#include "tpu/isa/isa.h"

namespace tenfold::tpu {
namespace {

constexpr std::string_view kMagic{"TFTPU\0\1", 7};

class Writer {
 public:
  void u8(uint64_t v) { out += static_cast<char>(v); }
  void varint(uint64_t v) {
    for (; v >= 128; v >>= 7) u8(v | 128);
    u8(v);
  }
  void zigzag(int64_t v) { varint(static_cast<uint64_t>(v) << 1 ^ static_cast<uint64_t>(v >> 63)); }
  void text(std::string_view s) {
    varint(s.size());
    out += s;
  }
  std::string out;
};

bool as_immediate(char k, const Inst& inst, int i) {
  return k == 'i' || k == 'l' || (k == 'x' && inst.is_imm(i));
}

int register_count(char k) {
  return is_vector(k) ? kVectorRegs : is_mask(k) ? kMaskRegs : kScalarRegs;
}

Result<uint32_t> varint32(Reader& r) {
  TF_ASSIGN(const uint64_t v, r.read_varint());
  if (v > UINT32_MAX) return r.fail("tpu-code", "a number needs more than 32 bits");
  return static_cast<uint32_t>(v);
}

Result<int32_t> zigzag32(Reader& r) {
  TF_ASSIGN(const int64_t v, r.read_zigzag());
  if (v < INT32_MIN || v > INT32_MAX) return r.fail("tpu-code", "a number needs more than 32 bits");
  return static_cast<int32_t>(v);
}

// A count, each item of at least `min_bytes`.
Result<uint64_t> count(Reader& r, uint64_t min_bytes) {
  TF_ASSIGN(const uint64_t n, r.read_varint());
  TF_TRY(r.check_count(n, min_bytes));
  return n;
}

Result<std::string> text(Reader& r) {
  TF_ASSIGN(const uint64_t n, r.read_varint());
  TF_ASSIGN(const std::string_view s, r.text(n));
  return std::string(s);
}

Result<Inst> read_inst(Reader& r) {
  Inst inst;
  TF_ASSIGN(const uint16_t code, r.read_u16());
  if (code >= kNumOps) {
    return r.fail("tpu-code", "opcode " + std::to_string(code) + ", wanted one below " +
                                  std::to_string(kNumOps) +
                                  "; the program was made by a newer version");
  }
  inst.op = static_cast<Op>(code);
  TF_ASSIGN(inst.imm, r.read_u8());
  const std::string_view kinds = info(inst.op).operands;
  for (int i = 0; i < 8; ++i) {
    const bool may = i < static_cast<int>(kinds.size()) && kinds[static_cast<size_t>(i)] == 'x';
    if (inst.is_imm(i) && !may)
      return r.fail("tpu-code", "an operand that takes no number is marked as one");
  }
  for (size_t i = 0; i < kinds.size(); ++i) {
    if (as_immediate(kinds[i], inst, static_cast<int>(i))) {
      TF_ASSIGN(inst.a[i], zigzag32(r));
      continue;
    }
    TF_ASSIGN(const uint8_t reg, r.read_u8());
    if (reg >= register_count(kinds[i]))
      return r.fail("tpu-code", "register " + std::to_string(reg) + " of " +
                                    std::string(info(inst.op).mnemonic) + ", wanted one below " +
                                    std::to_string(register_count(kinds[i])));
    inst.a[i] = reg;
  }
  return inst;
}

Result<DmaShape> read_shape(Reader& r) {
  DmaShape s;
  for (Space* where : {&s.from, &s.to}) {
    TF_ASSIGN(const uint8_t v, r.read_u8());
    if (v > static_cast<uint8_t>(Space::Cmem))
      return r.fail("tpu-code", "memory " + std::to_string(v) + ", wanted 0 to 3");
    *where = static_cast<Space>(v);
  }
  TF_ASSIGN(s.rows, varint32(r));
  for (auto& d : s.dims) {
    TF_ASSIGN(d.count, varint32(r));
    TF_ASSIGN(d.from_stride, zigzag32(r));
    TF_ASSIGN(d.to_stride, zigzag32(r));
  }
  TF_ASSIGN(const uint8_t weights, r.read_u8());
  s.weights = weights != 0;
  return s;
}

}  // namespace

std::string encode(const Program& p) {
  Writer w;
  w.out = kMagic;
  w.varint(p.num_bundles());
  for (size_t b = 0; b < p.num_bundles(); ++b) {
    w.varint(p.bundle(b).size());
    for (const Inst& inst : p.bundle(b)) {
      const auto code = static_cast<uint16_t>(inst.op);
      w.u8(code & 255);
      w.u8(code >> 8);
      w.u8(inst.imm);
      const std::string_view kinds = info(inst.op).operands;
      for (size_t i = 0; i < kinds.size(); ++i) {
        if (as_immediate(kinds[i], inst, static_cast<int>(i))) {
          w.zigzag(inst.a[i]);
        } else {
          w.u8(static_cast<uint8_t>(inst.a[i]));
        }
      }
    }
  }
  w.varint(p.shapes.size());
  for (const DmaShape& s : p.shapes) {
    w.u8(static_cast<uint8_t>(s.from));
    w.u8(static_cast<uint8_t>(s.to));
    w.varint(s.rows);
    for (const auto& d : s.dims) {
      w.varint(d.count);
      w.zigzag(d.from_stride);
      w.zigzag(d.to_stride);
    }
    w.u8(s.weights);
  }
  w.varint(p.kernels.size());
  for (const KernelRange& k : p.kernels) {
    w.text(k.name);
    w.varint(k.first);
    w.varint(k.end);
    w.varint(k.nodes.size());
    for (int32_t n : k.nodes) w.zigzag(n);
  }
  w.varint(p.regions.size());
  for (const HbmRegion& r : p.regions) {
    w.text(r.name);
    w.varint(r.row);
    w.varint(r.rows);
  }
  w.varint(p.host_steps.size());
  for (const HostStep& h : p.host_steps) {
    w.text(h.name);
    w.text(h.reason);
    w.varint(h.bytes_to_host);
    w.varint(h.bytes_from_host);
  }
  return std::move(w.out);
}

Result<Program> decode(std::string_view bytes) {
  Reader r(std::as_bytes(std::span(bytes.data(), bytes.size())), "TPU program");
  TF_TRY(r.expect(kMagic));
  Program p;
  TF_ASSIGN(const uint64_t bundles, count(r, 1));
  for (uint64_t b = 0; b < bundles; ++b) {
    TF_ASSIGN(const uint64_t n, count(r, 3));
    for (uint64_t i = 0; i < n; ++i) {
      TF_ASSIGN(const Inst inst, read_inst(r));
      p.insts.push_back(inst);
    }
    p.first.push_back(static_cast<uint32_t>(p.insts.size()));
  }
  TF_ASSIGN(const uint64_t shapes, count(r, 13));
  for (uint64_t i = 0; i < shapes; ++i) {
    TF_ASSIGN(const DmaShape s, read_shape(r));
    p.shapes.push_back(s);
  }
  TF_ASSIGN(const uint64_t kernels, count(r, 4));
  for (uint64_t i = 0; i < kernels; ++i) {
    KernelRange k;
    TF_ASSIGN(k.name, text(r));
    TF_ASSIGN(k.first, varint32(r));
    TF_ASSIGN(k.end, varint32(r));
    TF_ASSIGN(const uint64_t nodes, count(r, 1));
    for (uint64_t j = 0; j < nodes; ++j) {
      TF_ASSIGN(const int32_t node, zigzag32(r));
      k.nodes.push_back(node);
    }
    p.kernels.push_back(std::move(k));
  }
  TF_ASSIGN(const uint64_t regions, count(r, 3));
  for (uint64_t i = 0; i < regions; ++i) {
    HbmRegion g;
    TF_ASSIGN(g.name, text(r));
    TF_ASSIGN(g.row, varint32(r));
    TF_ASSIGN(g.rows, varint32(r));
    p.regions.push_back(std::move(g));
  }
  TF_ASSIGN(const uint64_t steps, count(r, 4));
  for (uint64_t i = 0; i < steps; ++i) {
    HostStep h;
    TF_ASSIGN(h.name, text(r));
    TF_ASSIGN(h.reason, text(r));
    TF_ASSIGN(h.bytes_to_host, r.read_varint());
    TF_ASSIGN(h.bytes_from_host, r.read_varint());
    p.host_steps.push_back(std::move(h));
  }
  if (!r.at_end()) {
    return r.fail("tpu-code",
                  std::to_string(r.remaining()) + " bytes after the program, wanted none");
  }
  return p;
}

}  // namespace tenfold::tpu
