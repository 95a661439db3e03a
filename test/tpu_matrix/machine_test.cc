// The matrix family's machine: cycles counted by hand, text and bytes both ways, bad programs.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tpu/matrix/sim.h"

namespace tenfold::tpu::matrix {
namespace {

using ::testing::HasSubstr;

Program program(std::string_view text) {
  auto p = assemble(text);
  EXPECT_TRUE(p.ok()) << to_string(p.errors());
  return p.ok() ? std::move(*p) : Program{};
}

Report timed(std::string_view text, const Chip& chip) {
  const Program p = program(text);
  auto r = run(p, chip, {}, {.values = false, .on_host = {}});
  EXPECT_TRUE(r.ok()) << to_string(r.errors());
  return r.ok() ? std::move(*r) : Report{};
}

int64_t at(const Report& r, Unit u, Cause c) {
  return r.total.units[static_cast<size_t>(u)][static_cast<size_t>(c)];
}

// v1: 700 MHz; 12.5 GB/s and 1 us to the host; 34 GB/s of weights; 10 cycles to start an
// instruction.
constexpr const char* kOneTile = R"(
.memory host=4096 buffer=8192
.window buffer=0 batch=8 pixel_stride=256
.tile k=256 n=256 channels=256 useful=65536
.activation
read_host from=0 to=0 bytes=2048
read_weights tile=0
multiply window=0 first=0 rows=8 accumulator=0 mode=1
activate accumulator=0 rows=8 columns=256 function=0 column=0 to=4096 stride=256
write_host from=4096 to=2048 bytes=2048
halt
)";

TEST(MatrixMachine, one_tile_of_weights_and_eight_rows) {
  const Chip v1 = *find_chip("v1");
  const Report r = timed(kOneTile, v1);
  // The input: issued at 1, starts 10 later, 700 cycles of latency, 2048 / 17.857 = 115 of copy.
  constexpr int64_t kInput = 1 + 10 + 700 + 115;
  // The weights: issued at 2, 65536 / 48.571 = 1349 cycles of copy; then 256 to shift in.
  constexpr int64_t kArrived = 2 + 10 + 1349, kShifted = kArrived + 256;
  // Eight rows, and 512 cycles until the last sum has come out of the array.
  constexpr int64_t kSums = kShifted + 8 + 512;
  // 2048 values at 256 a cycle, 2200 through the buffer; then the copy to the host as above.
  constexpr int64_t kEnd = kSums + 8 + 2200 + 700 + 115;
  EXPECT_EQ(r.total.cycles, kEnd);
  EXPECT_EQ(at(r, Unit::Mxu, Cause::Memory), kInput);
  EXPECT_EQ(at(r, Unit::Mxu, Cause::WeightLoad), kArrived - kInput);
  EXPECT_EQ(at(r, Unit::Mxu, Cause::WeightShift), 256);
  EXPECT_EQ(at(r, Unit::Mxu, Cause::Compute), 8);
  EXPECT_EQ(at(r, Unit::Mxu, Cause::Idle), kEnd - kShifted - 8);
  EXPECT_EQ(at(r, Unit::Activation, Cause::Compute), 8);
  EXPECT_EQ(at(r, Unit::Dma, Cause::Compute), 1349);
  EXPECT_EQ(r.total.useful_macs, 8 * 65536);
}

TEST(MatrixMachine, the_next_weights_shift_in_while_rows_are_multiplied) {
  const Chip v1 = *find_chip("v1");
  // 2000 rows take longer than the next tile's copy (1349) and shift (256): both are hidden.
  const Report r = timed(R"(
.memory buffer=2097152
.window buffer=0 batch=2000 pixel_stride=256
.tile k=256 n=256 channels=256 useful=65536
read_weights tile=0
multiply window=0 first=0 rows=2000 accumulator=0 mode=1
read_weights tile=0
multiply window=0 first=0 rows=2000 accumulator=2048 mode=1
)",
                         v1);
  EXPECT_EQ(r.total.cycles, 1 + 10 + 1349 + 256 + 2000 + 2000 + 512);
  EXPECT_EQ(at(r, Unit::Mxu, Cause::WeightShift), 256);
  EXPECT_EQ(at(r, Unit::Mxu, Cause::WeightLoad), 1 + 10 + 1349);
}

TEST(MatrixMachine, the_weight_queue_runs_ahead_as_far_as_it_has_room) {
  Chip chip = *find_chip("v1");
  std::string text =
      ".memory buffer=1048576\n.window batch=4096 pixel_stride=256\n"
      ".tile k=256 n=256 channels=256 useful=65536\n";
  // One long product, six tiles behind it: four wait in the queue, the fifth is not read before the
  // first of them has left it.
  for (int i = 0; i < 6; ++i) {
    text += "read_weights tile=0\nmultiply window=0 first=0 rows=4000 accumulator=0 mode=1\n";
  }
  const Report r = timed(text, chip);
  // All copies are hidden behind 4000 rows each, so the array never waits for weights again.
  EXPECT_EQ(r.total.cycles, 1 + 10 + 1349 + 256 + 6 * 4000 + 512);
  EXPECT_EQ(at(r, Unit::Dma, Cause::Compute), 8095 + 0);  // 6 x 1349.27, whole cycles
  chip.weight_fifo_tiles = 1;  // and with room for one, it still keeps up
  EXPECT_EQ(timed(text, chip).total.cycles, r.total.cycles);
}

TEST(MatrixMachine, edge_reads_weights_that_stay_from_its_own_memory) {
  const Chip edge = *find_chip("edge");
  const auto run_with = [&](int cached) {
    return timed(
        ".memory buffer=65536\n.window batch=100 pixel_stride=64\n.tile k=64 n=64 channels=64 "
        "useful=4096 cached=" +
            std::to_string(cached) +
            "\nread_weights tile=0\nmultiply window=0 first=0 rows=100 accumulator=0 mode=1\n",
        edge);
  };
  // On the chip: 64 rows, one a cycle. From the host: 4096 B at 0.45 GB/s, 245 MHz: 2230 cycles.
  EXPECT_EQ(run_with(1).total.cycles, 1 + 10 + 64 + 64 + 100 + 128);
  EXPECT_EQ(run_with(0).total.cycles, 1 + 10 + 2230 + 64 + 100 + 128);
}

TEST(MatrixMachine, values_of_a_product_and_a_rescaling) {
  // Rows (1, 2) and (-3, 4) by weights [[5, -6], [7, 8]]: sums (19, 10), (13, 50). No scale: as
  // they are, plus the zero point 1, at most 40.
  const Program p = program(R"(
.memory host=8 buffer=2048
.window batch=2 pixel_stride=2
.tile data=0 row_stride=2 k=2 n=2 channels=2 useful=4
.activation zero=1 high=40
.data 05fa0708
read_host from=0 to=0 bytes=4
read_weights tile=0
multiply window=0 first=0 rows=2 accumulator=0 mode=1
activate accumulator=0 rows=2 columns=2 function=0 column=0 to=1024 stride=2
write_host from=1024 to=4 bytes=4
)");
  std::vector<std::byte> host(8);
  const int8_t x[] = {1, 2, -3, 4};
  std::memcpy(host.data(), x, 4);
  ASSERT_TRUE(run(p, *find_chip("v1"), host).ok());
  int8_t y[4];
  std::memcpy(y, host.data() + 4, 4);
  EXPECT_THAT(y, ::testing::ElementsAre(20, 11, 14, 40));
}

TEST(MatrixProgram, text_and_bytes_read_back) {
  const Program p = program(kOneTile);
  auto again = assemble(disassemble(p));
  ASSERT_TRUE(again.ok()) << to_string(again.errors());
  EXPECT_EQ(*again, p);
  auto decoded = decode(encode(p));
  ASSERT_TRUE(decoded.ok()) << to_string(decoded.errors());
  EXPECT_EQ(*decoded, p);
  const std::string bytes = encode(p);
  for (size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_FALSE(decode(std::string_view(bytes).substr(0, n)).ok()) << n;
  }
}

TEST(MatrixProgram, bad_lines_and_bad_programs_are_named) {
  const auto message = [](std::string_view text) {
    auto p = assemble(text, "x.m");
    return p.ok() ? std::string() : to_string(p.errors()[0]);
  };
  EXPECT_EQ(message("\nmultply window=0\n"),
            "x.m:2: there is no instruction `multply`; did you mean `multiply`? [matrix-asm]");
  EXPECT_THAT(message("multiply windw=0"), HasSubstr("did you mean `window`?"));
  EXPECT_THAT(message("read_weights tile=x"), HasSubstr("\"x\" is no number"));
  EXPECT_THAT(message(".windows a=1"), HasSubstr("found `.windows`, wanted .window"));

  const auto illegal = [](std::string_view text) {
    auto r = run(program(text), *find_chip("v1"), {}, {.values = false, .on_host = {}});
    return r.ok() ? std::string() : to_string(r.errors()[0]);
  };
  EXPECT_EQ(illegal("read_weights tile=3\n"),
            "instruction 0 (read_weights) is out of bounds; correct the program [matrix-illegal]");
  EXPECT_THAT(illegal(".memory buffer=100000000\n"), HasSubstr("[matrix-memory]"));
  EXPECT_THAT(illegal(".memory buffer=256\n.window batch=8 pixel_stride=256\n"
                      ".tile k=256 n=256 channels=256\nread_weights tile=0\n"
                      "multiply window=0 rows=8 mode=1\n"),
              HasSubstr("(multiply) is out of bounds"));
  EXPECT_THAT(
      illegal(".memory buffer=256\n.window pixel_stride=256\nmultiply window=0 rows=1 mode=1\n"),
      HasSubstr("it takes weights that no instruction before it reads"));
}

}  // namespace
}  // namespace tenfold::tpu::matrix
