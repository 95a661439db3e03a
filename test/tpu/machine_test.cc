// The machine on programs small enough to count by hand: every cycle count is written out.
#include "tpu/sim/machine.h"

#include <bit>
#include <cmath>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.h"

namespace tenfold::tpu {
namespace {

using testing::HasSubstr;

// A chip of round numbers, so that the counts below do not move when a chip file is corrected.
Chip test_chip() {
  Chip c = *find_chip("v5e");
  c.name = "test";
  c.clock_mhz = 1000;
  c.mxu_count = 2;
  c.mxu_dim = 128;
  c.mxu_rows_per_cycle = 1;
  c.mxu_weight_rows_per_cycle = 1;
  c.mxu_latency = 100;
  c.mxu_weight_latency = 8;
  c.mxu_weight_sets = 2;
  c.mxu_shared_input = false;
  c.mxu_result_rows = 256;  // 32 registers
  c.mxu_input_queue = 4;
  c.mxu_pop_latency = 4;
  c.mxu_accumulates = true;
  c.vload_slots = 2;
  c.vmem_ports = 4;
  c.vload_latency = 4;
  c.valu_latency = 2;
  c.scalar_latency = 1;
  c.branch_latency = 1;
  c.eup_latency = 8;
  c.eup_interval = 2;
  c.hbm_gbps = 512;  // one row a cycle
  c.hbm_efficiency = 1;
  c.dma_latency_ns = 100;
  c.dma_granule_bytes = 512;
  c.launch_us = 0;
  return c;
}

Program program(std::string_view text) {
  auto p = assemble(text);
  EXPECT_TRUE(p.ok()) << (p.ok() ? "" : to_string(p.errors()));
  return p.ok() ? *p : Program{};
}

Report timed(const Chip& chip, const Program& p, Clock clock = Clock::Bundle) {
  Machine m(chip);
  auto loaded = m.load(p);
  EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : to_string(loaded.errors()));
  RunOptions o;
  o.values = false;
  o.clock = clock;
  auto r = m.run(o);
  EXPECT_TRUE(r.ok()) << (r.ok() ? "" : to_string(r.errors()));
  if (!r.ok()) return {};
  for (int u = 0; u < kNumUnits; ++u) {
    uint64_t sum = 0;
    for (uint64_t n : r->total.units[static_cast<size_t>(u)]) sum += n;
    EXPECT_EQ(sum, r->total.cycles) << "unit " << name(static_cast<Unit>(u));
  }
  return *r;
}

TEST(Machine, one_8x128_tile_is_added_in_8_cycles) {
  // cycle 0  two loads
  //       4  their values are there (vload_latency 4): add
  //       6  the sum is there (valu_latency 2): store
  //       7  halt; the program ends after it
  const Program p = program(
      "vld v1, 0, 0 ; vld v2, 0, 8\n"
      "vadd.f32 v3, v1, v2\n"
      "vst 0, 16, v3\n"
      "halt\n");
  const Report r = timed(test_chip(), p);
  EXPECT_EQ(r.total.cycles, 8u);
  EXPECT_EQ(r.total.at(Unit::Valu, Cause::Compute), 1u);
  EXPECT_EQ(r.total.at(Unit::Valu, Cause::Dependency), 3u + 1u);
  EXPECT_EQ(r.total.at(Unit::Valu, Cause::Issue), 3u);
  EXPECT_EQ(r.total.at(Unit::VLoad, Cause::Compute), 1u);
  EXPECT_EQ(r.total.at(Unit::VStore, Cause::Compute), 1u);
  EXPECT_EQ(r.total.bundles, 4u);
  EXPECT_EQ(r.total.instructions, 5u);
}

TEST(Machine, one_128x128_weight_load_and_16_rows_take_256_cycles) {
  // Weight register k moves in during 16k .. 16k + 16 (16 rows, one a cycle), so the set is there
  // at 128, and usable at 128 + 8. A push may run 4 x 16 cycles ahead:
  //   pushes 0-4 at cycles 0-4, 5 at 80 - 64 = 16, 6 at 32, 7 at 48; swap at 49.
  // The rows' turn comes at 136, so their push is taken at 136 - 64 = 72; they take 16 cycles.
  // Results: rows 0-7 at 136 + 8 + 100 = 244, rows 8-15 at 252; pops at 244 and 252; the second
  // pop's value can be stored at 252 + 4 = 256; halt at 257.
  const Program p = program(
      "mxw.bf16 0, 0, v0\nmxw.bf16 0, 1, v1\nmxw.bf16 0, 2, v2\nmxw.bf16 0, 3, v3\n"
      "mxw.bf16 0, 4, v4\nmxw.bf16 0, 5, v5\nmxw.bf16 0, 6, v6\nmxw.bf16 0, 7, v7\n"
      "mxswap 0\n"
      "mxm.bf16 0, 0, 16, v8\n"
      "mxpop v9, 0\n"
      "mxpop v10, 0\n"
      "vst 0, 0, v10\n"
      "halt\n");
  Chip chip = test_chip();
  chip.mxu_count = 1;
  const Report r = timed(chip, p);
  EXPECT_EQ(r.total.cycles, 258u);
  EXPECT_EQ(r.total.at(Unit::Mxu, Cause::Compute), 16u);
  EXPECT_EQ(r.total.at(Unit::Mxu, Cause::WeightShift), 128u);
  EXPECT_EQ(r.total.array_macs, 16u * 128 * 128);
  // The core: 11 + 15 + 15 cycles held by the port, 22 by the weights.
  EXPECT_EQ(r.total.at(Unit::Valu, Cause::WeightShift), 11u + 15u + 15u + 22u);
  // 73 .. 244, 245 .. 252 for results, 253 .. 256 for the register.
  EXPECT_EQ(r.total.at(Unit::Valu, Cause::Dependency), 171u + 7u + 3u);
}

TEST(Machine, a_second_set_of_weights_shifts_in_behind_the_rows) {
  // Weights, 16 times 16 rows, the next weights, their rows. The first rows go through at
  // 136 .. 392; the last of their pushes is taken at 376 - 64 = 312. Two sets: the next weights
  // shift in at 313 .. 441, are usable at 449, and their rows end at 465. One set: they shift in at
  // 392 .. 520, are usable at 528, and their rows end at 544.
  std::string s;
  const auto weights = [&] {
    for (int k = 0; k < 8; ++k) s += "mxw.bf16 0, " + std::to_string(k) + ", v0\n";
  };
  const auto rows = [&](int n) {
    for (int i = 0; i < n; ++i) s += "mxm.bf16 0, 0, 16, v1\n";
  };
  weights();
  s += "mxswap 0\n";
  rows(16);
  weights();
  s += "mxswap 0\n";
  rows(1);
  s += "halt\n";
  Chip chip = test_chip();
  chip.mxu_count = 1;
  chip.mxu_result_rows = 1024;
  EXPECT_EQ(timed(chip, program(s)).total.cycles, 465u);
  chip.mxu_weight_sets = 1;
  EXPECT_EQ(timed(chip, program(s)).total.cycles, 544u);
  // By one path for both the next weights wait for the rows as well.
  chip.mxu_weight_sets = 2;
  chip.mxu_shared_input = true;
  EXPECT_EQ(timed(chip, program(s)).total.cycles, 544u);
}

TEST(Machine, one_copy_takes_its_latency_and_a_cycle_a_row) {
  // Started at 0, first byte at 100, eight rows at one a cycle: there at 108. Halt at 109.
  const Program p = program(
      ".shape hbm vmem 8\n"
      "dma 0, 0, 3, 0\n"
      "wait 3, 1\n"
      "halt\n");
  const Report r = timed(test_chip(), p);
  EXPECT_EQ(r.total.cycles, 110u);
  EXPECT_EQ(r.total.at(Unit::Dma, Cause::Compute), 8u);
  EXPECT_EQ(r.total.at(Unit::Dma, Cause::Memory), 100u);
  EXPECT_EQ(r.total.at(Unit::Valu, Cause::Memory), 107u);  // 1 .. 108
  EXPECT_EQ(r.total.hbm_read_bytes, 4096u);
  EXPECT_EQ(r.total.hbm_write_bytes, 0u);
}

TEST(Machine, runs_shorter_than_a_granule_pay_for_one) {
  // Four rows, each apart: 4 x 2048 bytes on the bus, 16 cycles.
  Chip chip = test_chip();
  chip.dma_granule_bytes = 2048;
  const Report r =
      timed(chip, program(".shape hbm vmem 1 x 4 8 1\ndma 0, 0, 3, 0\nwait 3, 1\nhalt\n"));
  EXPECT_EQ(r.total.cycles, 100u + 16u + 2u);
  EXPECT_EQ(r.total.hbm_read_bytes, 2048u);
  EXPECT_EQ(r.total.hbm_bus_bytes, 8192u);
  // The same rows side by side are one run: 2048 bytes, 4 cycles.
  EXPECT_EQ(timed(chip, program(".shape hbm vmem 1 x 4 1 1\ndma 0, 0, 3, 0\nwait 3, 1\nhalt\n"))
                .total.cycles,
            100u + 4u + 2u);
}

// Two kernels, each a copy of 64 rows and then a loop of 200 cycles.
constexpr std::string_view kTwoKernels = R"(
.shape hbm vmem 64 weights
.kernel first
%1
  wait 0, 1 ; smov s1, 200
%2
a: loop s1, a
.end
.kernel second
%3
  wait 1, 1 ; smov s1, 200
b: loop s1, b
.end
  halt
)";
std::string two_kernels(std::string_view one, std::string_view two, std::string_view three) {
  std::string s(kTwoKernels);
  for (const auto& [mark, text] : {std::pair{"%1", one}, {"%2", two}, {"%3", three}})
    s.replace(s.find(mark), 2, text);
  return s;
}

TEST(Machine, a_kernel_that_prefetches_for_the_next_hides_its_copy) {
  // In turn: dma at 0, there at 100 + 64 = 164; wait issues at 164, the loop at 165 .. 364.
  //          dma at 365, there at 365 + 164 = 529; wait at 529, the loop 530 .. 729; halt 730.
  const Report plain =
      timed(test_chip(), program(two_kernels("  dma 0, 0, 0, 0", "", "  dma 64, 64, 1, 0")));
  EXPECT_EQ(plain.total.cycles, 731u);
  ASSERT_EQ(plain.kernels.size(), 2u);
  EXPECT_EQ(plain.kernels[0].cycles, 365u);
  EXPECT_EQ(plain.kernels[1].cycles, 365u);
  EXPECT_EQ(plain.outside.cycles, 1u);
  EXPECT_EQ(plain.total.at(Unit::Valu, Cause::WeightLoad), 163u + 163u);
  // With the second copy started before the first loop: dma at 165, there at 329, long before the
  // loop 166 .. 365 ends; wait at 366, the loop 367 .. 566; halt at 567.
  const Report ahead =
      timed(test_chip(), program(two_kernels("  dma 0, 0, 0, 0", "  dma 64, 64, 1, 0", "")));
  EXPECT_EQ(ahead.total.cycles, 568u);
  EXPECT_EQ(ahead.kernels[1].cycles, 201u);
  EXPECT_EQ(ahead.kernels[1].at(Unit::Valu, Cause::WeightLoad), 0u);
  EXPECT_EQ(ahead.total.hbm_read_bytes, 2u * 64 * 512);
}

TEST(Machine, the_transcendental_unit_takes_a_register_every_second_cycle) {
  // Three in a row: issued at 0, 2, 4; the last result at 4 + 8 = 12: store at 12; halt at 13.
  const Report r = timed(test_chip(), program("vexp.f32 v1, v0\nvexp.f32 v2, v0\nvexp.f32 v3, v0\n"
                                              "vst 0, 0, v3\nhalt\n"));
  EXPECT_EQ(r.total.cycles, 14u);
  EXPECT_EQ(r.total.at(Unit::Eup, Cause::Compute), 6u);
}

TEST(Machine, the_transcendental_unit_may_take_parts_of_a_cycle) {
  // Each takes 1.25 cycles: taken at 0, 1 (until 1.25 + 1.25), 2 (.. 3.75), 3 (.. 5), 5; halt at 6.
  Chip chip = test_chip();
  chip.eup_interval = 1.25;
  const Report r = timed(chip, program("vexp.f32 v1, v0\nvexp.f32 v2, v0\nvexp.f32 v3, v0\n"
                                       "vexp.f32 v4, v0\nvexp.f32 v5, v0\nhalt\n"));
  EXPECT_EQ(r.total.cycles, 7u);
  EXPECT_EQ(r.total.at(Unit::Eup, Cause::Compute), 7u);  // 6.25
}

TEST(Machine, loads_and_stores_beyond_the_ports_take_more_cycles) {
  // Two registers a cycle for bundles that move three; one may lag behind. Issued at 0 (one lags),
  // 1 (two lag), 3 after a cycle for the ports, 4; halt at 5.
  Chip chip = test_chip();
  chip.vmem_ports = 2;
  const std::string bundle = "vld v1, 0, 0 ; vld v2, 0, 8 ; vst 0, 16, v3\n";
  const Report r = timed(chip, program(bundle + bundle + bundle + bundle + "halt\n"));
  EXPECT_EQ(r.total.cycles, 6u);
  EXPECT_EQ(r.total.at(Unit::Valu, Cause::OnchipPort), 1u);
}

// ---- values ------------------------------------------------------------------------------------

struct Hbm {
  explicit Hbm(size_t rows) : words(rows * kRowWords) {}
  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(words)); }
  float& f(size_t row, size_t lane) {
    return reinterpret_cast<float&>(words[row * kRowWords + lane]);
  }
  std::vector<uint32_t> words;
};

Errors errors_of(const Chip& chip, const Program& p, RunOptions o = {}, size_t rows = 256) {
  Hbm hbm(rows);
  Machine m(chip);
  auto loaded = m.load(p);
  if (!loaded.ok()) return loaded.errors();
  EXPECT_TRUE(m.bind(0, hbm.bytes()).ok());
  auto r = m.run(o);
  return r.ok() ? Errors{} : r.errors();
}

TEST(MachineValues, a_copied_tile_is_scaled_and_copied_back) {
  const Program p = program(R"(
.shape hbm vmem 8
.shape vmem hbm 8
  dma 0, 16, 0, 0 ; vsplat v0, 2.5f
  wait 0, 1
  vld v1, 16, 0
  vmul.f32 v1, v1, v0
  vst 16, 0, v1
  dma 16, 8, 0, 1
  wait 0, 1
  halt
)");
  Hbm hbm(16);
  for (size_t i = 0; i < 1024; ++i) hbm.f(0, i) = static_cast<float>(i);
  Machine m(test_chip());
  ASSERT_TRUE(m.load(p).ok());
  ASSERT_TRUE(m.bind(0, hbm.bytes()).ok());
  ASSERT_TRUE(m.run().ok());
  for (size_t i = 0; i < 1024; ++i) ASSERT_EQ(hbm.f(8, i), 2.5f * static_cast<float>(i));
}

uint32_t bf16(float f) { return std::bit_cast<uint32_t>(f) >> 16; }  // of exact values

TEST(MachineValues, rows_times_weights_are_sums_in_order_of_k) {
  // X: 16 x 128, W: 128 x 128, small integers: exact. Planar packing: row s low, row 8 + s high.
  Rng rng(3);
  std::vector<float> x(16 * 128), w(128 * 128);
  for (float& v : x) v = static_cast<float>(static_cast<int>(rng.below(17)) - 8);
  for (float& v : w) v = static_cast<float>(static_cast<int>(rng.below(17)) - 8);
  for (const char* how : {"queue", "accumulate", "transposed"}) {
    const bool accumulate = std::string_view(how) == "accumulate";
    const bool transposed = std::string_view(how) == "transposed";
    std::string text = ".shape hbm vmem 72\n.shape vmem hbm 16\n  dma 0, 0, 0, 0\n  wait 0, 1\n";
    for (int k = 0; k < 9; ++k)
      text += "  vld v" + std::to_string(k) + ", 0, " + std::to_string(8 * k) + "\n";
    for (int k = 0; k < 8; ++k) {
      text += std::string("  ") + (transposed ? "mxwt" : "mxw") + ".bf16 1, " + std::to_string(k) +
              ", v" + std::to_string(k + 1) + "\n";
    }
    text += "  mxswap 1\n";
    if (accumulate) {
      text += "  mxa.bf16 1, 0, 16, 5, v0\n  mxa.bf16 1, 0, 16, 5, v0\n";
      text += "  mxread v10, 1, 5\n  mxread v11, 1, 6\n";
    } else {
      text += "  mxm.bf16 1, 0, 16, v0\n  mxpop v10, 1\n  mxpop v11, 1\n";
    }
    text += "  vst 80, 0, v10\n  vst 80, 8, v11\n  dma 80, 72, 0, 1\n  wait 0, 1\n  halt\n";
    Hbm hbm(88);
    auto put = [&](size_t row, const float* m) {  // 16 x 128 as one register
      for (size_t s = 0; s < 8; ++s)
        for (size_t l = 0; l < 128; ++l)
          hbm.words[(row + s) * 128 + l] = bf16(m[s * 128 + l]) | bf16(m[(8 + s) * 128 + l]) << 16;
    };
    put(0, x.data());
    for (size_t k = 0; k < 8; ++k) put(8 + 8 * k, &w[k * 16 * 128]);
    Machine m(test_chip());
    const Program p = program(text);
    ASSERT_TRUE(m.load(p).ok());
    ASSERT_TRUE(m.bind(0, hbm.bytes()).ok());
    auto r = m.run();
    ASSERT_TRUE(r.ok()) << to_string(r.errors());
    for (size_t i = 0; i < 16; ++i) {
      for (size_t n = 0; n < 128; ++n) {
        float sum = 0;
        for (size_t k = 0; k < 128; ++k)
          sum += x[i * 128 + k] * (transposed ? w[n * 128 + k] : w[k * 128 + n]);
        ASSERT_EQ(hbm.f(72 + i, n), accumulate ? 2 * sum : sum) << how << " " << i << " " << n;
      }
    }
  }
}

TEST(MachineValues, a_bundle_reads_before_it_writes_and_loads_before_it_stores) {
  const Program p = program(R"(
.shape vmem hbm 24
  vsplat v1, 1 ; vsplat v2, 2 ; smov s1, 7
  vst 0, 0, v1
  vmov v1, v2 ; vmov v2, v1 ; vst 0, 8, v1 ; vld v3, 0, 0 ; smov s2, s1 ; sadd s1, s1, 1
  vst 0, 16, v2
  vsplat v4, s2
  vst 0, 0, v4
  dma 0, 0, 0, 0
  wait 0, 1
  halt
)");
  Hbm hbm(24);
  Machine m(test_chip());
  ASSERT_TRUE(m.load(p).ok());
  ASSERT_TRUE(m.bind(0, hbm.bytes()).ok());
  ASSERT_TRUE(m.run().ok());
  EXPECT_EQ(hbm.words[0], 7u);         // s2 is the old s1
  EXPECT_EQ(hbm.words[8 * 128], 1u);   // the store saw the old v1
  EXPECT_EQ(hbm.words[16 * 128], 1u);  // v2 became the old v1
}

TEST(MachineValues, every_instruction_has_a_function) {
  // Each row alone in a program with harmless operands either runs or says why it may not.
  Chip chip = *find_chip("v6e");
  chip.mxu_result_rows = 64;
  for (const OpInfo& o : all_instructions()) {
    Program p;
    p.shapes.resize(2);
    p.host_steps.resize(2);
    std::string text(o.mnemonic);
    for (size_t i = 0; i < o.operands.size(); ++i) {
      const char k = o.operands[i];
      text += i == 0 ? " " : ", ";
      text += is_vector(k)                              ? "v" + std::to_string(i)
              : is_mask(k)                              ? "m" + std::to_string(i)
              : k == 's' || k == 'S' || k == 'B'        ? "s" + std::to_string(i)
              : k == 'l'                                ? "@1"
              : o.latency == Latency::MxuRows && i == 2 ? "8"
              : o.op == Op::Wait                        ? "0"
                                                        : "1";
    }
    p.add_bundle(std::vector{assemble(text)->insts[0]});
    p.add_bundle(std::vector{make(Op::Halt)});
    const Errors e = errors_of(chip, p);
    const bool refuses = o.op == Op::MxPop;
    EXPECT_EQ(e.empty(), !refuses) << text << "\n" << to_string(e);
  }
}

// A float's bits for readable literals.
std::vector<uint32_t> run_unary(std::string_view body, const std::vector<uint32_t>& a,
                                const std::vector<uint32_t>& b = {}) {
  Hbm hbm(24);
  for (size_t i = 0; i < a.size(); ++i) hbm.words[i] = a[i];
  for (size_t i = 0; i < b.size(); ++i) hbm.words[1024 + i] = b[i];
  const Program p = program(
      ".shape hbm vmem 16\n.shape vmem hbm 8\ndma 0, 0, 0, 0\nwait 0, 1\n"
      "vld v1, 0, 0 ; vld v2, 0, 8\n" +
      std::string(body) + "\nvst 0, 16, v3\ndma 16, 16, 0, 1\nwait 0, 1\nhalt\n");
  Machine m(*find_chip("v6e"));
  auto loaded = m.load(p);
  EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : to_string(loaded.errors()));
  EXPECT_TRUE(m.bind(0, hbm.bytes()).ok());
  auto r = m.run();
  EXPECT_TRUE(r.ok()) << (r.ok() ? "" : to_string(r.errors()));
  return std::vector<uint32_t>(hbm.words.begin() + 16 * 128, hbm.words.end());
}
uint32_t bits(float f) { return std::bit_cast<uint32_t>(f); }

TEST(MachineValues, literal_results_of_vector_instructions) {
  const float inf = INFINITY, nan = NAN;
  EXPECT_EQ(run_unary("vcvt.s32.f32 v3, v1", {bits(-2.9f), bits(3e9f), bits(nan)})[0],
            uint32_t(-2));
  EXPECT_EQ(run_unary("vcvt.s32.f32 v3, v1", {bits(3e9f)})[0], 0x7fffffffu);
  EXPECT_EQ(run_unary("vcvt.s32.f32 v3, v1", {bits(nan)})[0], 0u);
  EXPECT_EQ(run_unary("vmax.f32 v3, v1, v2", {bits(-0.f)}, {bits(0.f)})[0], bits(0.f));
  EXPECT_TRUE(std::isnan(
      std::bit_cast<float>(run_unary("vmin.f32 v3, v1, v2", {bits(1)}, {bits(nan)})[0])));
  EXPECT_EQ(run_unary("vround.f32 v3, v1", {bits(2.5f)})[0], bits(2.f));
  EXPECT_EQ(run_unary("vround.bf16 v3, v1", {0x3f808000})[0], 0x3f800000u);  // tie to even
  EXPECT_EQ(run_unary("vround.bf16 v3, v1", {0x3f818000})[0], 0x3f820000u);
  EXPECT_EQ(run_unary("vrcp.f32 v3, v1", {bits(3.f)})[0], bits(1 / 3.f));
  EXPECT_EQ(run_unary("vdiv.f32 v3, v1, v2", {bits(1.f)}, {bits(0.f)})[0], bits(inf));
  EXPECT_EQ(run_unary("vdiv.s32 v3, v1, v2", {uint32_t(-7)}, {2})[0], uint32_t(-3));
  EXPECT_EQ(run_unary("vshl v3, v1, v2", {1}, {32})[0], 0u);
  EXPECT_EQ(run_unary("vsra v3, v1, v2", {0x80000000}, {40})[0], 0xffffffffu);
  EXPECT_EQ(run_unary("vmulh.u32 v3, v1, v2", {0xd2511f53}, {0xffffffff})[0], 0xd2511f52u);
  EXPECT_EQ(run_unary("vclz v3, v1", {1})[0], 31u);
  EXPECT_EQ(run_unary("vpack.bf16 v3, v1, v2", {bits(1.f)}, {bits(-2.f)})[0], 0xc0003f80u);
  EXPECT_EQ(run_unary("vunpack.hi.bf16 v3, v1", {0xc0003f80})[0], bits(-2.f));
  EXPECT_EQ(run_unary("vunpack.lo.s16 v3, v1", {0x0001ffff})[0], 0xffffffffu);
  EXPECT_EQ(run_unary("vunpack.s8 v3, v1, 3", {0x80000000})[0], 0xffffff80u);
  EXPECT_EQ(run_unary("vunpack.u8 v3, v1, 1", {0x0000ab00})[0], 0xabu);
  EXPECT_EQ(run_unary("vpack.b8 v3, v1, v2", {0x00220011}, {0x00440033})[0], 0x44332211u);
  EXPECT_EQ(run_unary("vpack.b16 v3, v1, v2", {0xabcd1234}, {0xabcd5678})[0], 0x56781234u);
  EXPECT_EQ(run_unary("vadd.bf16 v3, v1, v2", {0x3f804000}, {0x3f804000})[0], 0x40004080u);
  EXPECT_EQ(run_unary("vlt.f32 m1, v1, v2\nvsel v3, m1, v1, v2", {bits(1.f)}, {bits(2.f)})[0],
            bits(1.f));
}

TEST(MachineValues, literal_moves_across_lanes) {
  std::vector<uint32_t> a(1024), idx(1024);
  for (size_t i = 0; i < 1024; ++i) a[i] = static_cast<uint32_t>(i);
  EXPECT_EQ(run_unary("xrot v3, v1, 1", a)[0], 127u);
  EXPECT_EQ(run_unary("xrot v3, v1, 1", a)[129], 128u);
  EXPECT_EQ(run_unary("vrot.sub v3, v1, 3", a)[3 * 128], 0u);
  EXPECT_EQ(run_unary("vrot.sub v3, v1, -1", a)[7 * 128 + 5], 5u);
  EXPECT_EQ(run_unary("xbc v3, v1, 5", a)[128 + 77], 133u);
  EXPECT_EQ(run_unary("vbc.sub v3, v1, 2", a)[7 * 128 + 1], 257u);
  EXPECT_EQ(run_unary("xsum.s32 v3, v1", a)[128 + 9], 128u * 128 + 127 * 64);
  EXPECT_EQ(run_unary("xmax.s32 v3, v1", a)[3], 127u);
  idx[200] = 3;
  EXPECT_EQ(run_unary("xgather v3, v1, v2", a, idx)[200], 131u);
  EXPECT_EQ(run_unary("xgather.sub v3, v1, v2", a, idx)[200], 3u * 128 + 72);
  const auto t = run_unary("xtpush v1, 0\nxtpush v2, 1\nxtgo\nxtpop v3, 1", a, a);
  EXPECT_EQ(t[0], 8u);  // row 8 of the transposed: column 8; lane 0 is row 0
  EXPECT_EQ(t[128 + 7], 7u * 128 + 9);
  EXPECT_EQ(t[128 + 8], 9u);   // row 8 is row 0 of the second register
  EXPECT_EQ(t[128 + 16], 0u);  // not pushed
  EXPECT_EQ(run_unary("xtos s1, v1, 300\nvsplat v3, s1", a)[5], 300u);
  EXPECT_EQ(run_unary("mlane.lt m1, 3\nmsub.lt m2, 1\nmand m3, m1, m2\nvst.m 0, 0, v2, m3\n"
                      "vld v3, 0, 0",
                      a, idx)[1],
            0u);
  EXPECT_EQ(run_unary("vld.str v3, 0, 0, 2", a)[128], 256u);
  EXPECT_EQ(run_unary("vld.bc v3, 0, 3", a)[5 * 128 + 1], 3u * 128 + 1);
}

TEST(MachineErrors, say_what_where_and_what_to_do) {
  const Chip chip = test_chip();
  auto text = [&](std::string_view s, RunOptions o = {}) {
    return to_string(errors_of(chip, program(s), o));
  };
  RunOptions few;
  few.max_cycles = 1000;
  EXPECT_THAT(text("nop\na: jump a\nhalt\n", few), HasSubstr("has not ended after 1001 cycles"));
  EXPECT_THAT(text("vld v1, 300000, 0\nhalt\n"), HasSubstr("VMEM row 300007, wanted 0 to 262143"));
  EXPECT_THAT(text(".shape hbm vmem 8\nnop\ndma 400, 0, 0, 0\nwait 0, 1\nhalt\n"),
              HasSubstr("bundle 1: the copy reads HBM rows 400 to 407, which no one bound region"));
  // Copies are held to the memories in runs without values as well.
  RunOptions quick;
  quick.values = false;
  EXPECT_THAT(text(".shape hbm vmem 8\nsmov s1, 262140\ndma 0, s1, 0, 0\nhalt\n", quick),
              HasSubstr("the copy touches vmem rows 262140 to 262147; test has 262144 there"));
  EXPECT_THAT(text(".shape hbm cmem 8\ndma 0, 0, 0, 0\nhalt\n"), HasSubstr("test has 0 there"));
  EXPECT_THAT(
      text(".shape hbm vmem 8\ndma 0, 0, 0, 0\nvld v1, 0, 0\nwait 0, 1\nhalt\n"),
      HasSubstr("VMEM rows 0 to 7 is read while the copy of bundle 0 brings it; wait for its "
                "semaphore 0 first"));
  EXPECT_THAT(text("wait 5, 1\nhalt\n"), HasSubstr("semaphore 5 is waited for to hold 1"));
  EXPECT_THAT(text("mxpop v1, 0\nhalt\n"), HasSubstr("array 0 has no result to pop"));
  EXPECT_THAT(
      text("smov s1, 9\na: mxm.bf16 0, 0, 16, v0\nmxm.bf16 0, 0, 16, v0\nloop s1, a\nhalt\n"),
      HasSubstr("holds 32 results and has room for 32"));
  EXPECT_THAT(text("nop\n"), HasSubstr("ends without halt"));
  EXPECT_THAT(text("smov s1, -1\nsld s2, s1, 0\nhalt\n"), HasSubstr("SMEM word -1"));
  RunOptions tile;
  tile.clock = Clock::Tile;
  EXPECT_THAT(text("nop\na: jump a\nhalt\n", tile), HasSubstr("repeats for ever"));
}

TEST(Machine, jumps_in_runs_without_values) {
  // The trip count comes from HBM: known when that is bound, else the run says so.
  const Program p = program(
      ".shape hbm smem 1\ndma 3, 2, 0, 0\nwait 0, 1\nsld s1, 0, 257\na: loop s1, a\nhalt\n");
  Hbm hbm(8);
  hbm.words[3 * 128 + 1] = 50;
  for (bool bound : {true, false}) {
    Machine m(test_chip());
    ASSERT_TRUE(m.load(p).ok());
    if (bound) ASSERT_TRUE(m.bind(0, hbm.bytes()).ok());
    for (Clock clock : {Clock::Bundle, Clock::Tile}) {
      RunOptions o;
      o.values = false;
      o.clock = clock;
      auto r = m.run(o);
      ASSERT_EQ(r.ok(), bound);
      // Copy there at 101; sld at 102, its value 4 cycles later; 50 turns; halt.
      if (bound) EXPECT_EQ(r->total.cycles, 106u + 50 + 1);
      if (!bound) EXPECT_EQ(r.errors()[0].id, "tpu-data");
    }
  }
}

TEST(Machine, two_cores_run_one_program_and_share_main_memory) {
  // Each core copies its 64 rows with half the bus: first byte at 100, two cycles a row, there at
  // 228. Core 1 then loops 50 times, core 0 not; they meet at the barrier.
  // Core 1: wait at 228, branch at 229, smov at 230, loops 231 .. 280, barrier at 281, halt at 282.
  const Program p = program(R"(
.shape hbm vmem 64
.shape vmem hbm 64
  coreid s1
  sshl s2, s1, 6
  dma s2, 0, 0, 0
  wait 0, 1
  jz s1, meet
  smov s3, 50
a: loop s3, a
meet: barrier
  halt
)");
  Chip chip = test_chip();
  chip.cores = 2;
  Report r = timed(chip, p);
  // dma is issued at 2, so everything above is two later.
  EXPECT_EQ(r.total.cycles, 285u);
  EXPECT_EQ(r.total.hbm_read_bytes, 2u * 64 * 512);
  // Values: each core writes its number over its half.
  const Program q = program(R"(
.shape vmem hbm 8
  coreid s1
  sshl s2, s1, 3 ; vsplat v1, s1
  vst 0, 0, v1
  dma 0, s2, 0, 0
  wait 0, 1
  barrier
  halt
)");
  Hbm hbm(16);
  hbm.words[0] = 9;
  Machine m(chip);
  ASSERT_TRUE(m.load(q).ok());
  ASSERT_TRUE(m.bind(0, hbm.bytes()).ok());
  ASSERT_TRUE(m.run().ok());
  EXPECT_EQ(hbm.words[0], 0u);
  EXPECT_EQ(hbm.words[8 * 128], 1u);
}

TEST(Machine, a_core_that_ends_at_once_leaves_its_share_and_holds_up_nobody) {
  // Core 0 alone: coreid 0, jnz at 1, dma at 2, there at 2 + 100 + 64 = 166, wait, barrier, host,
  // halt at 166 .. 169.
  const Program p = program(R"(
.shape hbm vmem 64
.host "a" "b" 0 0
  coreid s1
  jnz s1, end
  dma s2, 0, 0, 0
  wait 0, 1
  barrier
  host 0
end: halt
)");
  Chip chip = test_chip();
  chip.cores = 2;
  EXPECT_EQ(timed(chip, p).total.cycles, 170u);
}

TEST(Machine, the_host_is_paid_for_its_link) {
  // 1 us there and 1 us back, 8000 bytes each way at 8 GB/s: 1 us each. 4000 cycles.
  Chip chip = test_chip();
  chip.host_latency_us = 1;
  chip.host_gbps = 8;
  const Program p =
      program(".host \"sort\" \"not on the chip\" 8000 8000\n  nop\n  host 0\n  halt\n");
  const Report r = timed(chip, p);
  EXPECT_EQ(r.total.cycles, 4003u);
  EXPECT_EQ(r.total.at(Unit::Host, Cause::Compute), 4000u);
  EXPECT_EQ(r.total.at(Unit::Valu, Cause::Sync), 4000u);
  EXPECT_EQ(r.total.host_bytes, 16000u);
  Machine m(chip);
  ASSERT_TRUE(m.load(p).ok());
  int calls = 0;
  m.on_host([&](int step) -> Status {
    calls += step + 1;
    return ok_status();
  });
  ASSERT_TRUE(m.run().ok());
  EXPECT_EQ(calls, 1);
}

TEST(Machine, the_start_of_a_program_is_paid_once) {
  Chip chip = test_chip();
  chip.launch_us = 1.5;
  const Report r = timed(chip, program("halt\n"));
  EXPECT_EQ(r.total.cycles, 1501u);
  EXPECT_EQ(r.total.at(Unit::Mxu, Cause::Sync), 1500u);
}

TEST(MachineValues, are_the_same_with_the_clock_and_without) {
  // A chain with a copy, a product and a loop, on two chips.
  const std::string text = R"(
.shape hbm vmem 16
.shape vmem hbm 16
  smov s1, 5 ; dma 0, 0, 0, 0
  wait 0, 1
a: vld v1, 0, 0 ; vld v2, 0, 8
  mxw.bf16 0, 0, v1
  mxw.bf16 0, 1, v2
  mxswap 0
  vexp.f32 v3, v2
  mxm.bf16 0, 0, 16, v2
  vrot.sub v4, v3, s1
  xsum.f32 v4, v4
  vmul.f32 v1, v1, v4 ; vst 0, 8, v3
  loop s1, a
  vst 0, 0, v1
  dma 0, 16, 0, 1
  wait 0, 1
  halt
)";
  for (const char* name : {"v6e", "v5e"}) {
    const Program p = program(text);
    std::vector<std::vector<uint32_t>> seen;
    for (bool timing : {true, false}) {
      Hbm hbm(32);
      Rng rng(11);
      for (size_t i = 0; i < 2048; ++i)
        hbm.f(0, i) = static_cast<float>(rng.below(1000)) / 700 - 0.7f;
      Machine m(*find_chip(name));
      ASSERT_TRUE(m.load(p).ok());
      ASSERT_TRUE(m.bind(0, hbm.bytes()).ok());
      RunOptions o;
      o.timing = timing;
      auto r = m.run(o);
      ASSERT_TRUE(r.ok()) << to_string(r.errors());
      EXPECT_EQ(r->total.cycles > 0, timing);
      seen.push_back(hbm.words);
    }
    EXPECT_EQ(seen[0], seen[1]);
    // And the cycles are the same with values and without.
    Machine m(*find_chip(name));
    ASSERT_TRUE(m.load(p).ok());
    ASSERT_TRUE(m.bind_scratch(0, 32).ok());
    const uint64_t with = m.run()->total.cycles;
    EXPECT_EQ(with, timed(*find_chip(name), p).total.cycles);
  }
}

}  // namespace
}  // namespace tenfold::tpu
