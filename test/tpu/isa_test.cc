// The instruction table through each of its products: text and bytes of every row and back, errors
// of bad lines, random bytes and random text, and bundles that a chip refuses.
#include "tpu/isa/isa.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.h"
#include "tpu/isa/timing.h"

namespace tenfold::tpu {
namespace {

using testing::HasSubstr;

// Every row with the highest registers and with awkward immediates, one instruction a bundle.
Program every_row() {
  Program p;
  const int32_t numbers[] = {0, 1, -1, 127, -128, INT32_MAX, INT32_MIN};
  for (const OpInfo& o : all_instructions()) {
    for (int variant = 0; variant < 8; ++variant) {
      Inst inst;
      inst.op = o.op;
      for (size_t i = 0; i < o.operands.size(); ++i) {
        const char k = o.operands[i];
        const bool number = k == 'i' || (k == 'x' && (variant & 1) != 0);
        if (k == 'l') {
          inst.a[i] = variant;
        } else if (number) {
          inst.a[i] = numbers[(static_cast<size_t>(variant) + i) % std::size(numbers)];
          if (k == 'x') inst.imm |= static_cast<uint8_t>(1u << i);
        } else {
          const int count = is_vector(k) ? kVectorRegs : is_mask(k) ? kMaskRegs : kScalarRegs;
          inst.a[i] = (count - 1 + variant) % count;
        }
      }
      p.add_bundle(std::span(&inst, 1));
    }
  }
  p.add_bundle({});
  p.add_shape({});
  p.add_shape({Space::Vmem,
               Space::Hbm,
               UINT32_MAX,
               {{{2, 0, -8}, {1, 0, 0}, {3, INT32_MIN, INT32_MAX}}},
               true});
  p.kernels = {{"empty", 3, 3, {}}, {"matmul \"a\" # b\n", 3, 9, {0, 7, INT32_MAX}}};
  p.regions = {{"weights; x", 0, 8}, {"", UINT32_MAX, UINT32_MAX}};
  p.host_steps = {{"TopK", "a reason: \"quoted\"", 1, UINT64_MAX}};
  return p;
}

TEST(Isa, EveryRowSurvivesTextAndBytes) {
  const Program p = every_row();
  auto text = assemble(disassemble(p));
  ASSERT_TRUE(text.ok()) << to_string(text.errors());
  EXPECT_EQ(*text, p);
  auto bytes = decode(encode(p));
  ASSERT_TRUE(bytes.ok()) << to_string(bytes.errors());
  EXPECT_EQ(*bytes, p);
}

TEST(Isa, MnemonicsAndOperandsAreDistinct) {
  for (const OpInfo& o : all_instructions()) {
    EXPECT_EQ(find_op(o.mnemonic), o.op) << o.mnemonic;
    EXPECT_EQ(info(o.op).mnemonic, o.mnemonic);
    EXPECT_FALSE(o.meaning.empty());
  }
  EXPECT_EQ(find_op("nosuch"), Op::Count_);
}

TEST(Isa, TextIsReadAsWritten) {
  auto p = assemble(R"(# adds two rows of tiles
.shape hbm vmem 8 x 4 64 8 weights
.kernel "add" 3 4
start: smov s1, 0x10 ; vsplat v0, 1.5f
loop0: vld v1, s1, -8 ; vadd.f32 v2, v1, v0   # in one bundle
  nop
  loop s4, loop0 ; jnz s2, end
.end
end: halt
)");
  ASSERT_TRUE(p.ok()) << to_string(p.errors());
  ASSERT_EQ(p->num_bundles(), 5u);
  EXPECT_EQ(p->insts[0], make(Op::SMov, SReg{1}, Imm{16}));
  EXPECT_EQ(p->insts[1], make(Op::VSplat, VReg{0}, Imm{0x3fc00000}));
  EXPECT_EQ(p->insts[2], make(Op::VLd, VReg{1}, SReg{1}, Imm{-8}));
  EXPECT_EQ(p->insts[4], make(Op::Loop, SReg{4}, Imm{1}));
  EXPECT_EQ(p->insts[5], make(Op::JumpNz, SReg{2}, Imm{4}));
  EXPECT_EQ(p->shapes[0].dims[2], (DmaShape::Dim{4, 64, 8}));
  EXPECT_EQ(p->shapes[0].total_rows(), 32u);
  EXPECT_EQ(p->kernels[0].end, 4u);
}

TEST(Isa, EveryBadLineIsReportedWithItsPlace) {
  auto p = assemble(
      "vadd.f33 v1, v2, v3\n"
      "vadd.f32 v1, v2\n"
      "vadd.f32 v1, v2, s3\n"
      "vld v64, s1, 0\n"
      "smov s1, 5000000000\n"
      "jump nowhere\n"
      "a: nop\na: nop\n"
      ".shape hbm disk 8\n"
      ".kernel x\n",
      "bad.s");
  ASSERT_FALSE(p.ok());
  const std::string all = to_string(p.errors());
  EXPECT_EQ(p.errors().size(), 9u) << all;
  EXPECT_THAT(all, HasSubstr("bad.s:1:1: no instruction `vadd.f33`; did you mean vadd.f32?"));
  EXPECT_THAT(all, HasSubstr("bad.s:2:1: vadd.f32 has 2 operands, wanted 3"));
  EXPECT_THAT(all, HasSubstr("bad.s:3:18: operand 3 of vadd.f32 is `s3`, wanted a vector"));
  EXPECT_THAT(all, HasSubstr("bad.s:4:5: operand 1 of vld is `v64`, wanted a vector register"));
  EXPECT_THAT(all, HasSubstr("bad.s:5:10: operand 2 of smov is `5000000000`"));
  EXPECT_THAT(all, HasSubstr("bad.s:6:6: no label nowhere"));
  EXPECT_THAT(all, HasSubstr("bad.s:8:1: label a stands twice"));
  EXPECT_THAT(all, HasSubstr("`disk` is no memory"));
  EXPECT_THAT(all, HasSubstr(".kernel is not closed"));
}

TEST(Isa, RandomBytesDecodeToAProgramOrAnError) {
  Rng rng(7);
  const std::string good = encode(every_row());
  for (int round = 0; round < 4000; ++round) {
    std::string s = good.substr(0, 1 + rng.below(good.size()));
    for (uint64_t n = rng.below(8); n-- > 0;)
      s[rng.below(s.size())] = static_cast<char>(rng.below(256));
    auto p = decode(s);
    if (p.ok()) EXPECT_EQ(encode(*p), encode(*decode(encode(*p))));
  }
}

TEST(Isa, RandomTextAssemblesToAProgramOrErrors) {
  Rng rng(8);
  const std::string good = disassemble(every_row());
  for (int round = 0; round < 400; ++round) {
    const size_t begin = rng.below(good.size());
    std::string s = good.substr(begin, 1 + rng.below(2000));
    for (uint64_t n = 1 + rng.below(8); n-- > 0;)
      s[rng.below(s.size())] = " ,;:#\".vsm@0x-9\n\\"[rng.below(17)];
    auto p = assemble(s);
    if (!p.ok()) continue;
    auto again = assemble(disassemble(*p));
    ASSERT_TRUE(again.ok()) << to_string(again.errors());
    EXPECT_EQ(*again, *p);
  }
}

TEST(Isa, ABundleThatTheChipCannotIssueIsRefused) {
  auto v5e = find_chip("v5e");
  ASSERT_TRUE(v5e.ok());
  auto refusal = [&](std::string_view text) {
    auto p = assemble(text);
    if (!p.ok()) return to_string(p.errors());
    auto s = check(*p, *v5e);
    return s.ok() ? std::string() : to_string(s.errors());
  };
  EXPECT_EQ(refusal("vld v1, s0, 0 ; vst s0, 8, v2 ; vadd.f32 v3, v1, v2\nhalt"), "");
  EXPECT_THAT(refusal("nop\nvst s0, 0, v1 ; vst s0, 8, v1"),
              HasSubstr("bundle 1: 2 instructions for the vstore slots; v5e has 1 a bundle"));
  EXPECT_THAT(refusal("smov s1, 1 ; smov s1, 2"), HasSubstr("register s1 is written twice"));
  EXPECT_THAT(refusal("vadd.bf16 v1, v2, v3"), HasSubstr("wants a chip with bf16_valu"));
  EXPECT_THAT(refusal("mxswap 4"), HasSubstr("mxswap: array 4, wanted 0 to 3"));
  EXPECT_THAT(refusal("mxw.bf16 0, 8, v1"), HasSubstr("weight register 8, wanted 0 to 7"));
  EXPECT_THAT(refusal("mxm.bf16 0, 0, 17, v1"), HasSubstr("rows 17, wanted 1 to 16"));
  EXPECT_THAT(refusal("dma s1, s2, 0, 0"), HasSubstr("shape 0, wanted 0 to -1"));
  EXPECT_THAT(refusal("jump @1"), HasSubstr("jumps to bundle 1, wanted one below 1"));
  EXPECT_THAT(refusal("jump @0 ; halt"), HasSubstr("2 jumps"));
}

}  // namespace
}  // namespace tenfold::tpu
