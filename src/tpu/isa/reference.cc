// The reference page of the instruction set, from the table.
#include "tpu/isa/isa.h"

namespace tenfold::tpu {
namespace {

struct SlotText {
  Slot slot;
  std::string_view title, text;
};
constexpr SlotText kSlots[] = {
    {Slot::Scalar, "Scalar",
     "Integers of 32 bits, scalar memory and jumps. A bundle may jump once; `loop` costs nothing "
     "when it is taken, the other jumps the chip's `branch_latency`."},
    {Slot::Misc, "Copies, semaphores, cores, the host",
     "A copy is described by a row of the program's shape table; its addresses and its semaphore "
     "come from registers or are given."},
    {Slot::VLoad, "Vector loads", "From vector memory, in rows of 512 bytes."},
    {Slot::VStore, "Vector stores", "To vector memory."},
    {Slot::Valu, "Vector arithmetic", "Lane by lane; compares write mask registers."},
    {Slot::Eup, "Transcendentals",
     "A register every `eup_interval` cycles, the long ones `eup_long_intervals` of those."},
    {Slot::Xlu, "Across lanes", "Reductions, rotations, permutations and transposition."},
    {Slot::MxuPush, "Matrix unit: pushes",
     "Weights and left-hand rows. Result (r, n) starts at +0 and adds row[r][k] x weight[k][n] for "
     "k = 0, 1, 2, ...: products exact, each sum rounded to nearest even in float32; s8 exactly."},
    {Slot::MxuPop, "Matrix unit: results", ""},
};

std::string cell(std::string_view s) {
  std::string r;
  for (char c : s) r += c == '|' ? "\\|" : std::string(1, c);
  return r;
}

// `vadd.f32 v, v, v` as a reader writes it.
std::string form(const OpInfo& o) {
  std::string s(o.mnemonic);
  for (size_t i = 0; i < o.operands.size(); ++i) {
    s += i == 0 ? " " : ", ";
    const char k = o.operands[i];
    s += is_vector(k) ? "v"
         : is_mask(k) ? "m"
         : k == 'x'   ? "s|n"
         : k == 'i'   ? "n"
         : k == 'l'   ? "label"
                      : "s";
  }
  return s;
}

}  // namespace

std::string reference_page() {
  std::string s =
      "# Instructions of the bundle family\n\n"
      "One bundle a cycle, in order, on each core. A bundle reads all its registers before it "
      "writes any, loads from memory before it stores, and jumps last. Reading a register whose "
      "value is on its way waits for it.\n\n"
      "Registers: scalar `s0`-`s31` (32 bit), vector `v0`-`v63` (8 sublanes x 128 lanes x 32 bit), "
      "masks `m0`-`m15` (8 x 128 bits). HBM, CMEM and vector memory are counted in rows of 512 "
      "bytes, scalar memory in words of 4 bytes (in copies in rows as well). Packed values: row s "
      "of 16 bf16 rows is in the low half of sublane s, row 8 + s in the high half; row 8k + s of "
      "32 rows of bytes is byte k of sublane s.\n\n"
      "How many instructions of a kind a bundle takes, and how long each takes, is the chip's: "
      "`tenfold targets --chip v5e`.\n\n"
      "## Text\n\n"
      "One bundle a line, instructions separated by `;`, `nop` for an empty bundle, `name:` before "
      "the bundle that is jumped to, `#` before a comment. The register written stands first. A "
      "number is decimal, `0x` hexadecimal, or `1.5f` for the bits of a float32.\n\n"
      "```\n"
      ".shape hbm vmem 8 x 4 64 8      # copies: from, to, rows together; up to three times\n"
      "                                # x COUNT FROM_STRIDE TO_STRIDE, outermost first;\n"
      "                                # `weights` at the end for the report\n"
      ".kernel \"add\" 3 4               # the bundles until .end are of this kernel and nodes\n"
      "  dma 0, 0, 1, 0 ; smov s4, 32\n"
      "  wait 1, 1\n"
      "loop0:\n"
      "  vld v1, s3, 0 ; vld v2, s3, 512\n"
      "  vadd.f32 v3, v1, v2\n"
      "  vst s3, 0, v3 ; sadd s3, s3, 8 ; loop s4, loop0\n"
      ".end\n"
      ".region \"weights\" 0 64          # rows of HBM with a name\n"
      ".host \"TopK\" \"why\" 4096 64     # a step of the host: bytes to and from it\n"
      "  halt\n"
      "```\n\n"
      "Operands below: `v`, `m`, `s` registers, `n` a number, `s|n` either; in the meanings d is "
      "what is written and a, b, c ... the other operands in order.\n";
  for (const SlotText& slot : kSlots) {
    s += "\n## " + std::string(slot.title) + "\n\n";
    if (!slot.text.empty()) s += std::string(slot.text) + "\n\n";
    s += "Slot `" + std::string(name(slot.slot)) + "`.\n\n";
    s += "| instruction | code | latency | |\n|---|---|---|---|\n";
    for (const OpInfo& o : all_instructions()) {
      if (o.slot != slot.slot) continue;
      s += "| `" + cell(form(o)) + "` | " + std::to_string(static_cast<int>(o.op)) + " | " +
           std::string(name(o.latency)) + " | " + cell(o.meaning) +
           (o.feature == Feature::Base ? ""
                                       : " (chips with `" + std::string(name(o.feature)) + "`)") +
           " |\n";
    }
  }
  return s;
}

}  // namespace tenfold::tpu
