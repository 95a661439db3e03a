// Simulated cycles a CPU second, on two programs of the kind the compiler writes: a product whose
// weights are copied two tiles ahead, and a stream of additions through double buffers.
//
//   bundle: every bundle stepped, timing only      values: the same with values
//   tile:   loops in steady state multiplied out
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tpu/sim/machine.h"

namespace tenfold::tpu {
namespace {

// [1024, 128 k_tiles] x [128 k_tiles, 128 n_tiles], rows in VMEM, weights from HBM, sums in VMEM.
std::string product(int n_tiles, int k_tiles) {
  std::string s =
      ".shape hbm vmem 64 weights\n"
      "  smov s1, " +
      std::to_string(n_tiles) +
      " ; smov s10, 0\n"
      "  smov s11, 0 ; dma s10, 60000, 0, 0\n"
      "  sadd s10, s10, 64\n"
      "n: smov s2, " +
      std::to_string(k_tiles) +
      "\n"
      "  smov s5, 2000\n"
      // The other buffer's copy starts, this one's is waited for.
      "k: sxor s12, s11, 1\n"
      "  sshl s13, s12, 6 ; sshl s14, s11, 6\n"
      "  dma s10, s13, s12, 0 ; sadd s10, s10, 64\n"
      "  wait s11, 1 ; smov s11, s12\n";
  for (int w = 0; w < 8; ++w)
    s += "  vld v" + std::to_string(w) + ", s14, " + std::to_string(8 * w) + "\n";
  for (int w = 0; w < 8; ++w)
    s += "  mxw.bf16 0, " + std::to_string(w) + ", v" + std::to_string(w) + "\n";
  s += "  mxswap 0\n"
       "  smov s3, 62 ; smov s6, 40000\n"
       "  vld v16, s5, 0\n  mxm.bf16 0, 0, 16, v16 ; sadd s5, s5, 8\n"
       "  vld v16, s5, 0\n  mxm.bf16 0, 0, 16, v16 ; sadd s5, s5, 8\n"
       // One turn: rows two ahead go in, results are popped and added to the sums.
       "m: vld v16, s5, 0 ; vld v20, s6, 0 ; mxpop v18, 0 ; sadd s5, s5, 8\n"
       "  vld v21, s6, 8 ; mxpop v19, 0\n"
       "  mxm.bf16 0, 0, 16, v16\n"
       "  vadd.f32 v20, v20, v18\n"
       "  vadd.f32 v21, v21, v19 ; vst s6, 0, v20\n"
       "  vst s6, 8, v21 ; sadd s6, s6, 16\n"
       "  loop s3, m\n"
       "  mxpop v18, 0\n  mxpop v18, 0\n  mxpop v18, 0\n  mxpop v18, 0\n"
       "  loop s2, k\n"
       "  loop s1, n\n"
       "  halt\n";
  return s;
}

// c = a + b over `blocks` blocks of 64 tiles.
std::string stream(int blocks) {
  return ".shape hbm vmem 512\n.shape vmem hbm 512\n"
         "  smov s1, " +
         std::to_string(blocks) +
         " ; smov s2, 0\n"
         "  dma s2, 0, 0, 0 ; smov s4, 0\n"
         "  dma 1000000, 1024, 0, 0 ; smov s5, 0\n"
         "b: sxor s6, s4, 1 ; sadd s2, s2, 512\n"
         "  sshl s7, s6, 9 ; sshl s8, s4, 9\n"
         "  dma s2, s7, s6, 0 ; sadd s9, s7, 1024\n"
         "  sadd s10, s2, 1000000\n"
         "  dma s10, s9, s6, 0\n"
         "  wait s4, 2 ; smov s3, 64\n"
         "  smov s11, s8 ; sadd s12, s8, 1024\n"
         "e: vld v1, s11, 0 ; vld v2, s12, 0\n"
         "  sadd s12, s12, 8\n  nop\n  nop\n"
         "  vadd.f32 v3, v1, v2\n  nop\n"
         "  vst s11, 2048, v3 ; sadd s11, s11, 8 ; loop s3, e\n"
         "  sadd s13, s2, 2000000\n"
         "  dma s8, s13, 2, 1\n"
         "  wait 2, 1 ; smov s4, s6\n"
         "  loop s1, b\n"
         "  halt\n";
}

void run(benchmark::State& state, const std::string& text, RunOptions options) {
  const Chip chip = *find_chip("v5e");
  auto program = assemble(text);
  if (!program.ok()) {
    std::fputs(to_string(program.errors()).c_str(), stderr);
    std::exit(1);
  }
  uint64_t cycles = 0, bundles = 0;
  for (auto _ : state) {
    Machine machine(chip);
    auto loaded = machine.load(*program);
    if (options.values && !machine.bind_scratch(0, 4000000).ok()) std::exit(1);
    auto report = loaded.ok() ? machine.run(options) : Result<Report>(loaded.errors());
    if (!report.ok()) {
      std::fputs(to_string(report.errors()).c_str(), stderr);
      std::exit(1);
    }
    cycles += report->total.cycles;
    bundles += report->simulated_bundles;
  }
  state.counters["cycles"] = static_cast<double>(cycles) / static_cast<double>(state.iterations());
  state.counters["cycles_per_cpu_s"] =
      benchmark::Counter(static_cast<double>(cycles), benchmark::Counter::kIsRate);
  state.counters["bundles_per_cpu_s"] =
      benchmark::Counter(static_cast<double>(bundles), benchmark::Counter::kIsRate);
}

RunOptions bundle() { return {.values = false}; }
RunOptions values() { return {}; }
RunOptions tile() { return {.values = false, .clock = Clock::Tile}; }

// About a million cycles stepped, 30 to 250 times as many multiplied out.
void product_bundle(benchmark::State& s) { run(s, product(8, 16), bundle()); }
void product_values(benchmark::State& s) { run(s, product(2, 4), values()); }
void product_tile(benchmark::State& s) { run(s, product(512, 64), tile()); }
void stream_bundle(benchmark::State& s) { run(s, stream(1000), bundle()); }
void stream_values(benchmark::State& s) { run(s, stream(100), values()); }
void stream_tile(benchmark::State& s) { run(s, stream(30000), tile()); }
BENCHMARK(product_bundle)->Unit(benchmark::kMillisecond);
BENCHMARK(product_values)->Unit(benchmark::kMillisecond);
BENCHMARK(product_tile)->Unit(benchmark::kMillisecond);
BENCHMARK(stream_bundle)->Unit(benchmark::kMillisecond);
BENCHMARK(stream_values)->Unit(benchmark::kMillisecond);
BENCHMARK(stream_tile)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tenfold::tpu
