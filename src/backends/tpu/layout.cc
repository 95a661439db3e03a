// See layout.h.
#include "backends/tpu/layout.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace tenfold::tpu {
namespace {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Bytes of an element on the chip.
int64_t chip_bytes(const Layout& l) { return 4 / l.pack; }

// Calls f(byte offset on the chip, flat element index) for the first element of each run of
// neighbouring lanes, with the run's length. Elements of a run are 4 bytes apart on the chip.
template <class F>
void for_each_run(const Layout& l, F&& f) {
  const int64_t rows_a_tile = kSublanes * l.pack, part_bytes = chip_bytes(l);
  const int64_t total = l.dims.empty() ? 1 : checked_size(l.dims).value_or(0);
  for (int64_t o = 0; o < l.outer; ++o) {
    for (int64_t r = 0; r < l.rows; ++r) {
      const int64_t in_tile = r % rows_a_tile;
      const int64_t sublane = in_tile % kSublanes, part = in_tile / kSublanes;
      const int64_t first = (o * l.rows + r) * l.cols;
      for (int64_t ct = 0; ct < l.col_tiles; ++ct) {
        const int64_t element = first + ct * kLanes;
        const int64_t n = std::min(
            {int64_t{kLanes}, l.cols - ct * kLanes, std::max<int64_t>(total - element, 0)});
        if (n <= 0) continue;
        const int64_t tile = (o * l.row_tiles + r / rows_a_tile) * l.col_tiles + ct;
        f(tile * kTileBytes + sublane * kRowBytes + part * part_bytes, element, n);
      }
    }
  }
}

template <class T>
void scatter(const Literal& from, const Layout& l, std::byte* to) {
  const auto* data = reinterpret_cast<const T*>(from.bytes());
  for_each_run(l, [&](int64_t offset, int64_t element, int64_t n) {
    for (int64_t i = 0; i < n; ++i) std::memcpy(to + offset + 4 * i, data + element + i, sizeof(T));
  });
}

template <class T>
void collect(const std::byte* from, const Layout& l, Literal& to) {
  auto* data = reinterpret_cast<T*>(to.mutable_bytes());
  for_each_run(l, [&](int64_t offset, int64_t element, int64_t n) {
    for (int64_t i = 0; i < n; ++i)
      std::memcpy(data + element + i, from + offset + 4 * i, sizeof(T));
  });
}

}  // namespace

int pack_of(DType t) {
  switch (t) {
    case DType::F32:
    case DType::I32:
    case DType::U32:
    case DType::I64:  // as an index, saturated
    case DType::U64:
      return 1;
    case DType::BF16:
    case DType::F16:
    case DType::I16:
    case DType::U16:
      return 2;
    case DType::Bool:
    case DType::I8:
    case DType::U8:
      return 4;
    default:
      return 0;
  }
}

double Layout::padding() const {
  const double real =
      static_cast<double>(dims.empty() ? 1 : checked_size(dims).value_or(0)) * 4 / pack;
  return real > 0 ? static_cast<double>(bytes()) / real : 1;
}

Layout layout_of(DType t, std::vector<int64_t> dims, bool flat) {
  Layout l;
  l.dtype = t;
  l.dims = std::move(dims);
  l.pack = std::max(pack_of(t), 1);
  const size_t rank = l.dims.size();
  if (rank == 1 && flat) {
    l.flat = true;
    l.rows = std::max<int64_t>(ceil_div(l.dims[0], kLanes), 1);
    l.cols = kLanes;
  } else if (rank >= 1) {
    l.cols = l.dims[rank - 1];
    if (rank >= 2) l.rows = l.dims[rank - 2];
    for (size_t i = 0; i + 2 < rank; ++i) l.outer *= l.dims[i];
  }
  l.row_tiles = ceil_div(l.rows, kSublanes * l.pack);
  l.col_tiles = ceil_div(l.cols, kLanes);
  return l;
}

void to_chip(const Literal& from, const Layout& layout, std::byte* to) {
  if (is_integer(from.dtype()) && byte_size(from.dtype()) == 8) {
    const auto* data = from.bytes();
    const bool is_signed_type = is_signed(from.dtype());
    for_each_run(layout, [&](int64_t offset, int64_t element, int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        int64_t v;
        std::memcpy(&v, data + (element + i) * 8, 8);
        if (!is_signed_type && v < 0) v = std::numeric_limits<int64_t>::max();
        const auto word = static_cast<int32_t>(std::clamp<int64_t>(
            v, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()));
        std::memcpy(to + offset + 4 * i, &word, 4);
      }
    });
    return;
  }
  switch (byte_size(from.dtype())) {
    case 1:
      return scatter<uint8_t>(from, layout, to);
    case 2:
      return scatter<uint16_t>(from, layout, to);
    default:
      return scatter<uint32_t>(from, layout, to);
  }
}

Literal from_chip(const std::byte* from, const Layout& layout) {
  Literal out(layout.dtype, layout.dims);
  if (out.size() == 0) return out;
  switch (byte_size(layout.dtype)) {
    case 1:
      collect<uint8_t>(from, layout, out);
      break;
    case 2:
      collect<uint16_t>(from, layout, out);
      break;
    case 8: {
      int64_t* data = reinterpret_cast<int64_t*>(out.mutable_bytes());
      for_each_run(layout, [&](int64_t offset, int64_t element, int64_t n) {
        for (int64_t i = 0; i < n; ++i) {
          int32_t word;
          std::memcpy(&word, from + offset + 4 * i, 4);
          data[element + i] = word;
        }
      });
      break;
    }
    default:
      collect<uint32_t>(from, layout, out);
  }
  return out;
}

}  // namespace tenfold::tpu
