// The matrix family (v1, Edge): a handful of long-running instructions on int8, as the v1 paper
// (Jouppi et al., ISCA 2017) describes them, in an encoding and with names of our own.
//
// A program moves int8 tensors between host memory and the unified buffer, streams tiles of weights
// through a queue into the array, multiplies rows of activations by them into 32-bit accumulators,
// and turns accumulators into int8 again. Tensors lie in the unified buffer with channels last.
// What an instruction works on is a record of the program (Window, Tile, ...), as real ones have
// configuration registers; records and instructions have one text form, `name field=value ...`.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace tenfold::tpu::matrix {

enum class Opcode : uint8_t {
#define MATRIX_OP(id, ...) id,
#include "tpu/matrix/ops.inc"
#undef MATRIX_OP
  Count_
};
inline constexpr int kNumOps = static_cast<int>(Opcode::Count_);
inline constexpr int kMaxOperands = 7;

enum class Unit : uint8_t { Mxu, Activation, Dma, Host, Control };
inline constexpr int kNumUnits = 4;  // those that do work: Control only waits
std::string_view name(Unit u);

enum Mode : int64_t { kLoad = 1, kAdd = 2 };  // of Multiply

struct OpInfo {
  Opcode op;
  std::string_view mnemonic;
  Unit unit;
  std::vector<std::string_view> operands;
  std::string_view meaning;
};
const OpInfo& info(Opcode op);

struct Inst {
  Opcode op = Opcode::Halt;
  std::array<int64_t, kMaxOperands> a{};
  bool operator==(const Inst&) const = default;
};

// Rows of activations as the array takes them: row r is the window at output position r = (n, y, x)
// of an image [batch, height, width, channels], its values in the order kernel row, kernel column,
// channel. A plain matrix is an image of one pixel.
struct Window {
  int64_t buffer = 0;  // first byte in the unified buffer
  int64_t batch = 1, height = 1, width = 1;
  int64_t pixel_stride = 0;  // bytes from pixel to pixel
  int64_t out_height = 1, out_width = 1;
  int64_t kernel_height = 1, kernel_width = 1;
  int64_t stride_y = 1, stride_x = 1;
  int64_t dilation_y = 1, dilation_x = 1;
  int64_t pad_y = 0, pad_x = 0;
  int64_t zero = 0;       // what lies outside the image
  int64_t is_signed = 1;  // int8, else uint8
  int64_t rows() const { return batch * out_height * out_width; }
  bool operator==(const Window&) const = default;
};

// k x n weights: rows first_k .. first_k + k of the window's values when the window is over
// `channels` channels from `channel` on.
struct Tile {
  int64_t data = -1;       // of weight (0,0) in Program::data; -1: not known (timing only)
  int64_t row_stride = 0;  // bytes from row to row
  int64_t k = 0, n = 0;
  int64_t first_k = 0;
  int64_t channel = 0, channels = 0;
  int64_t useful = 0;  // weights that are not filling (block-diagonal tiles hold zeros)
  int64_t cached = 0;  // stays on the chip from one inference to the next
  bool operator==(const Tile&) const = default;
};

struct Activation {
  int64_t bias = -1;   // int32 a column, in data; -1: none
  int64_t scale = -1;  // float a column, in data; -1: not known (timing only)
  int64_t zero = 0, low = -128, high = 127;
  bool operator==(const Activation&) const = default;
};

struct View {
  int64_t from = 0, from2 = -1;  // from2 -1: one operand
  int64_t to = 0;
  int64_t table =
      -1;  // 256 bytes, or 65536 with two operands, by the bytes' unsigned values; in data
  std::array<int64_t, 6> count{1, 1, 1, 1, 1, 1};  // the last innermost
  std::array<int64_t, 6> stride{}, stride2{}, to_stride{};
  int64_t fill = 256;  // below 256: every element is this, nothing is read
  int64_t elements() const {
    return count[0] * count[1] * count[2] * count[3] * count[4] * count[5];
  }
  bool operator==(const View&) const = default;
};

// Of the window's image, each channel by itself. A mean is that of (x - zero) * scale in float32,
// summed in the window's order from 0, divided by `divisor` (0: by the number of values inside the
// image), then divided by out_scale, rounded to even, plus out_zero, clamped.
struct Pool {
  int64_t window = 0, channels = 0;
  int64_t to = 0, to_stride = 0;
  int64_t mean = 0;
  float scale = 1, divisor = 1, out_scale = 1;
  int64_t zero = 0, out_zero = 0, low = -128, high = 127;
  bool operator==(const Pool&) const = default;
};

struct HostStep {
  int64_t id = 0;  // of whoever runs it
  bool operator==(const HostStep&) const = default;
};

// A stretch of instructions that belongs to one node of the model.
struct Range {
  std::string name, kind;
  uint32_t first = 0, end = 0;
  bool operator==(const Range&) const = default;
};

struct Program {
  std::vector<Inst> insts;
  std::vector<Window> windows;
  std::vector<Tile> tiles;
  std::vector<Activation> activations;
  std::vector<View> views;
  std::vector<Pool> pools;
  std::vector<HostStep> steps;
  std::vector<Range> ranges;
  std::string data;          // weights, biases, scales, tables
  int64_t host_bytes = 0;    // of host memory that is read or written
  int64_t buffer_bytes = 0;  // of the unified buffer that is used
  int64_t cached_bytes = 0;  // of weights that stay on the chip
  bool operator==(const Program&) const = default;
};

// One line a record or instruction: `.window buffer=0 batch=1 ...`, `multiply window=0 first=0
// ...`; what is left out has its default; '#' starts a comment; `.data` takes hexadecimal digits.
// Errors: matrix-asm, with the line.
Result<Program> assemble(std::string_view text, std::string_view file = "program.m");
std::string disassemble(const Program& p, bool with_data = true);

// Bytes, with a magic and a version. decode(encode(p)) == p. Errors: matrix-code, read-*.
std::string encode(const Program& p);
Result<Program> decode(std::string_view bytes);

// Every number of every instruction against the tables, the buffer, the data and the chip's
// accumulators. Error: matrix-illegal.
Status verify(const Program& p, int64_t buffer_bytes, int64_t accumulator_rows, int64_t dim);

std::string reference_page();  // Markdown

}  // namespace tenfold::tpu::matrix
