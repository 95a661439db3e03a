// The tile clock against the bundle clock: the same program, stepped and multiplied out.
#include <cmath>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "tpu/sim/machine.h"

namespace tenfold::tpu {
namespace {

Report run(const Chip& chip, const std::string& text, Clock clock) {
  auto p = assemble(text);
  EXPECT_TRUE(p.ok()) << (p.ok() ? "" : to_string(p.errors()));
  if (!p.ok()) return {};
  Machine m(chip);
  auto loaded = m.load(*p);
  EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : to_string(loaded.errors()));
  RunOptions o;
  o.values = false;
  o.clock = clock;
  auto r = m.run(o);
  EXPECT_TRUE(r.ok()) << (r.ok() ? "" : to_string(r.errors())) << text;
  return r.ok() ? *r : Report{};
}

// How many bundles the tile clock stepped; what it counted is within `tolerance` of the truth.
uint64_t agree(const std::string& text, double tolerance, std::string_view chip_name = "v5e") {
  const Chip chip = *find_chip(chip_name);
  const Report truth = run(chip, text, Clock::Bundle);
  const Report tile = run(chip, text, Clock::Tile);
  const auto near = [&](uint64_t a, uint64_t b, std::string_view what) {
    EXPECT_LE(std::abs(static_cast<double>(a) - static_cast<double>(b)),
              tolerance * static_cast<double>(b))
        << what << " " << a << ", wanted " << b << "\n"
        << text;
  };
  near(tile.total.cycles, truth.total.cycles, "cycles");
  // What is counted, not timed, is exact.
  EXPECT_EQ(tile.total.bundles, truth.total.bundles) << text;
  EXPECT_EQ(tile.total.instructions, truth.total.instructions);
  EXPECT_EQ(tile.total.hbm_read_bytes, truth.total.hbm_read_bytes);
  EXPECT_EQ(tile.total.array_macs, truth.total.array_macs);
  EXPECT_EQ(tile.kernels.size(), truth.kernels.size());
  for (const Counts& c : tile.kernels) {
    for (const auto& row : c.units) {
      uint64_t sum = 0;
      for (uint64_t n : row) sum += n;
      EXPECT_EQ(sum, c.cycles);
    }
  }
  return tile.simulated_bundles;
}

TEST(Tile, a_plain_loop_is_multiplied_out_exactly) {
  const uint64_t stepped = agree("smov s1, 100000\na: vadd.f32 v1, v1, v2 ; loop s1, a\nhalt\n", 0);
  EXPECT_LT(stepped, 50u);
}

TEST(Tile, loops_inside_loops) {
  const uint64_t stepped = agree(
      ".kernel k\n"
      "smov s1, 50\na: smov s2, 60\nb: smov s3, 70 ; vexp.f32 v3, v3\n"
      "c: vld v1, s4, 0 ; sadd s4, s4, 8\nvadd.f32 v2, v1, v2 ; loop s3, c\n"
      "loop s2, b\nsmov s4, 0 ; loop s1, a\n.end\nhalt\n",
      0);
  EXPECT_LT(stepped, 5000u);  // of 430 000
}

TEST(Tile, a_loop_whose_trip_count_grows) {
  agree(
      "smov s1, 100 ; smov s2, 1\na: smov s3, s2\nb: vadd.f32 v1, v1, v2 ; loop s3, b\n"
      "sadd s2, s2, 1 ; loop s1, a\nhalt\n",
      0);
}

TEST(Tile, a_branch_that_turns_at_some_iteration) {
  // From iteration 700 on the other side; every 4th another one; the last without the prefetch.
  const uint64_t stepped = agree(
      "smov s1, 1000 ; smov s2, 0\n"
      "a: slt s3, s2, 700 ; sand s4, s2, 3\n"
      "jz s3, far\nvsqrt.f32 v1, v1\nvsqrt.f32 v1, v1\n"
      "far: jnz s4, skip\nvexp.f32 v2, v2\nvexp.f32 v2, v2\nvexp.f32 v2, v2\n"
      "skip: seq s5, s2, 999\njnz s5, last\nvadd.f32 v4, v4, v4\nvadd.f32 v4, v4, v4\n"
      "last: sadd s2, s2, 1\nloop s1, a\nhalt\n",
      0);
  EXPECT_LT(stepped, 2000u);
}

TEST(Tile, a_counter_kept_in_scalar_memory) {
  const uint64_t stepped = agree(
      "sst 5, 0, 0\n"
      "a: sld s1, 5, 0\nsadd s1, s1, 1\nsst 5, 0, s1 ; slt s2, s1, 5000\njnz s2, a\nhalt\n",
      0);
  EXPECT_LT(stepped, 200u);
}

// A loop over blocks: the next block's copies start, this one's are waited for, each of its tiles
// goes through a chain of instructions, the result is copied back.
std::string stream(int blocks, int tiles, int rows, int chain, bool product) {
  std::string s = ".shape hbm vmem " + std::to_string(rows) + "\n.shape vmem hbm " +
                  std::to_string(rows) + "\n.kernel k\n";
  s += "smov s1, " + std::to_string(blocks) + " ; smov s2, 0\n";
  s += "dma s2, 0, 0, 0 ; smov s4, 0\n";
  s += "b: sxor s6, s4, 1 ; sadd s2, s2, " + std::to_string(rows) + "\n";
  s += "smul s7, s6, " + std::to_string(rows) + "\ndma s2, s7, s6, 0\n";
  s += "wait s4, 1 ; smov s3, " + std::to_string(tiles) + "\n";
  if (product) {
    for (int w = 0; w < 8; ++w) s += "mxw.bf16 0, " + std::to_string(w) + ", v1\n";
    s += "mxswap 0\n";
  }
  s += "e: vld v1, s11, 0\n";
  if (product) s += "mxm.bf16 0, 0, 16, v1\nmxpop v2, 0\nmxpop v1, 0\n";
  for (int i = 0; i < chain; ++i) s += i % 3 == 2 ? "vexp.f32 v1, v1\n" : "vmul.f32 v1, v1, v1\n";
  s += "vst s11, 2048, v1 ; loop s3, e\n";
  s += "sadd s13, s2, 100000\ndma s7, s13, 2, 1\nwait 2, 1 ; smov s4, s6\nloop s1, b\n.end\nhalt\n";
  return s;
}

TEST(Tile, streams_agree_within_one_percent) {
  Rng rng(5);
  for (std::string_view chip : {"v2", "v5e", "v6e", "7x"}) {
    for (int round = 0; round < 12; ++round) {
      const int blocks = 20 + static_cast<int>(rng.below(200));
      const int tiles = 1 + static_cast<int>(rng.below(40));
      const int rows = 8 + static_cast<int>(rng.below(1500));
      agree(stream(blocks, tiles, rows, static_cast<int>(rng.below(8)), chip == "v5e"), 0.01, chip);
    }
  }
}

// Columns of weights, tiles of K added up in the array, then taken from it while it still works.
TEST(Tile, products_that_accumulate_are_multiplied_out_exactly) {
  for (int rows : {3, 20, 100, 250}) {
    for (int k_tiles : {1, 5, 30}) {
      std::string s = ".kernel k\nsmov s1, 40\nn: smov s2, " + std::to_string(k_tiles) + "\n";
      s += "k: nop\n";
      for (int w = 0; w < 32; ++w)
        s += "mxw.bf16 0, " + std::to_string(w) + ", v1 ; mxw.bf16 1, " + std::to_string(w) +
             ", v1\n";
      s += "mxswap 0 ; mxswap 1\nsmov s3, " + std::to_string(rows) + " ; smov s4, 0\n";
      s += "r: vld v2, s6, 0 ; vld v3, s6, 8\n";
      s += "mxl.bf16 0, 0, v2 ; mxl.bf16 1, 0, v2\n";
      s += "mxa.bf16 0, 1, 16, s4, v3 ; mxa.bf16 1, 1, 16, s4, v3 ; sadd s4, s4, 4\n";
      s += "loop s3, r\nloop s2, k\n";
      s += "smov s3, " + std::to_string(4 * rows) + " ; smov s4, 0\n";
      s += "o: mxread v4, 0, s4 ; mxread v5, 1, s4\n";
      s += "vst s5, 0, v4 ; sadd s4, s4, 1\nvst s5, 8, v5 ; loop s3, o\nloop s1, n\n.end\nhalt\n";
      agree(s, 0, "v6e");
    }
  }
}

// Ports of 1.34 registers a cycle, a transcendental every 2.7 cycles: no two iterations are alike.
TEST(Tile, units_that_work_in_parts_of_a_cycle) {
  Chip chip = *find_chip("v6e");
  chip.vmem_ports = 1.34;
  chip.eup_interval = 2.7;
  for (std::string body : {"vld v1, s4, 0 ; vld v2, s4, 512 ; vst s4, 0, v3 ; sadd s4, s4, 8",
                           "vexp.f32 v1, v1", "vld v1, s4, 0 ; vexp.f32 v2, v2",
                           "vld v1, s4, 0\nvexp.f32 v2, v1\nvst s4, 0, v2 ; vld v5, s4, 8"}) {
    for (int turns : {10, 700, 5000}) {
      const std::string text = ".kernel k\nsmov s1, 30\na: smov s4, 0 ; smov s3, " +
                               std::to_string(turns) + "\nb: " + body +
                               "\nloop s3, b\nloop s1, a\n.end\nhalt\n";
      const Report truth = run(chip, text, Clock::Bundle);
      const Report tile = run(chip, text, Clock::Tile);
      EXPECT_NEAR(static_cast<double>(tile.total.cycles), static_cast<double>(truth.total.cycles),
                  0.01 * static_cast<double>(truth.total.cycles))
          << text;
      EXPECT_EQ(tile.total.bundles, truth.total.bundles);
      if (turns == 5000) EXPECT_LT(tile.simulated_bundles * 20, truth.simulated_bundles) << text;
    }
  }
}

TEST(Tile, a_stream_is_skipped_not_stepped) {
  EXPECT_LT(agree(stream(20000, 8, 256, 3, true), 0.01), 5000u);
}

}  // namespace
}  // namespace tenfold::tpu
