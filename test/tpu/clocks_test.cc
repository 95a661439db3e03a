// The two clocks on what the compiler makes: graphs of the common kinds, every chip of the bundle
// family. The tile clock is within 3 % of the bundle clock and steps no more bundles.
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "driver/simulate.h"

namespace tenfold {
namespace {

struct Graph {
  const char* name;
  const char* text;
};
constexpr Graph kGraphs[] = {
    {"add",
     R"(func.func @main(%x: tensor<512x1024xf32>, %y: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
      %0 = stablehlo.add %x, %y : tensor<512x1024xf32>
      return %0 : tensor<512x1024xf32> })"},
    {"chain in bf16", R"(func.func @main(%x: tensor<1024x512xbf16>) -> tensor<1024x512xbf16> {
      %0 = stablehlo.exponential %x : tensor<1024x512xbf16>
      %1 = stablehlo.multiply %0, %x : tensor<1024x512xbf16>
      %2 = stablehlo.tanh %1 : tensor<1024x512xbf16>
      return %2 : tensor<1024x512xbf16> })"},
    {"product",
     R"(func.func @main(%x: tensor<512x1024xbf16>, %w: tensor<1024x768xbf16>) -> tensor<512x768xbf16> {
      %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<512x1024xbf16>, tensor<1024x768xbf16>) -> tensor<512x768xbf16>
      return %0 : tensor<512x768xbf16> })"},
    {"vector times matrix",
     R"(func.func @main(%x: tensor<8x2048xbf16>, %w: tensor<2048x2048xbf16>) -> tensor<8x2048xbf16> {
      %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<8x2048xbf16>
      return %0 : tensor<8x2048xbf16> })"},
    {"sum of rows", R"(func.func @main(%x: tensor<1024x640xf32>) -> tensor<1024xf32> {
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<1024x640xf32>, tensor<f32>) -> tensor<1024xf32>
      return %0 : tensor<1024xf32> })"},
    {"transposition", R"(func.func @main(%x: tensor<512x384xf32>) -> tensor<384x512xf32> {
      %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<512x384xf32>) -> tensor<384x512xf32>
      return %0 : tensor<384x512xf32> })"},
};

uint64_t cycles(const Graph& g, const std::string& chip, bool tile, uint64_t* bundles) {
  const std::string text = "module @m {\n" + std::string(g.text) + "\n}\n";
  ModelSource source{"m.mlir", std::as_bytes(std::span(text.data(), text.size())), nullptr, true};
  SimulateOptions o;
  o.compile.target = "tpu:" + chip;
  o.timing_only = true;
  o.tile_clock = tile;
  o.advice = false;
  auto s = simulate(source, o, {});
  EXPECT_TRUE(s.ok()) << g.name << " on " << chip << "\n" << (s.ok() ? "" : to_string(s.errors()));
  if (!s.ok()) return 0;
  for (const auto& [unit, causes] : s->units) {
    uint64_t sum = 0;
    for (const auto& [cause, n] : causes) sum += n;
    EXPECT_EQ(sum, s->cycles) << unit << " of " << g.name << " on " << chip;
  }
  *bundles = s->simulated_bundles;
  return s->cycles;
}

TEST(Clocks, agree_within_three_percent) {
  for (const char* chip : {"v2", "v3", "v4", "v5e", "v5p", "v6e", "7x"}) {
    for (const Graph& g : kGraphs) {
      uint64_t stepped = 0, skipped = 0;
      const auto truth = static_cast<double>(cycles(g, chip, false, &stepped));
      const auto tile = static_cast<double>(cycles(g, chip, true, &skipped));
      EXPECT_GT(truth, 0);
      EXPECT_NEAR(tile, truth, 0.03 * truth) << g.name << " on " << chip;
      EXPECT_LE(skipped, stepped) << g.name << " on " << chip;
    }
  }
}

}  // namespace
}  // namespace tenfold
