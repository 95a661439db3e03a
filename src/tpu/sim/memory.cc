#include "tpu/sim/memory.h"

#include <cstdlib>

namespace tenfold::tpu {
namespace {

std::unique_ptr<std::byte, void (*)(void*)> zeros(uint64_t bytes) {
  // calloc takes large blocks from the kernel, which gives zeroed pages as they are touched.
  return {static_cast<std::byte*>(std::calloc(std::max<uint64_t>(bytes, 1), 1)), std::free};
}

}  // namespace

Status Hbm::bind(uint64_t row, std::byte* bytes, uint64_t rows, bool writable) {
  if (rows == 0) return ok_status();
  auto fail = [&](const std::string& why) {
    return Error{
        "tpu-address",
        "HBM rows " + std::to_string(row) + " to " + std::to_string(row + rows) + " " + why,
        {},
        {}};
  };
  if (row + rows > rows_) {
    return fail("are beyond the chip's memory of " + std::to_string(rows_) +
                " rows; use a smaller model or a chip with more");
  }
  auto next = pieces_.lower_bound(row);
  if ((next != pieces_.end() && next->first < row + rows) ||
      (next != pieces_.begin() && std::prev(next)->first + std::prev(next)->second.rows > row)) {
    return fail("are bound already; bind each row once");
  }
  pieces_.emplace(row, Piece{rows, bytes, writable});
  return ok_status();
}

Status Hbm::bind_scratch(uint64_t row, uint64_t rows) {
  auto block = zeros(rows * kRowBytes);
  if (block == nullptr) {
    return Error{"tpu-address", "no memory for " + std::to_string(rows) + " rows of HBM", {}, {}};
  }
  TF_TRY(bind(row, block.get(), rows, true));
  own_.push_back(std::move(block));
  return ok_status();
}

std::byte* Hbm::find(uint64_t row, uint64_t rows, bool write) const {
  auto it = pieces_.upper_bound(row);
  if (it == pieces_.begin()) return nullptr;
  --it;
  const Piece& p = it->second;
  if (row + rows > it->first + p.rows || (write && !p.writable)) return nullptr;
  return p.bytes + (row - it->first) * kRowBytes;
}

OnChip::OnChip(uint64_t bytes) : bytes_(bytes), data_(zeros(bytes)) {}

void OnChip::clear() { data_ = zeros(bytes_); }

Side Side::from(const DmaShape& s, uint64_t row) {
  Side r{row, s.rows, {}};
  for (size_t i = 0; i < 3; ++i) r.dims[i] = {s.dims[i].count, s.dims[i].from_stride};
  return r;
}
Side Side::to(const DmaShape& s, uint64_t row) {
  Side r{row, s.rows, {}};
  for (size_t i = 0; i < 3; ++i) r.dims[i] = {s.dims[i].count, s.dims[i].to_stride};
  return r;
}

std::pair<int64_t, int64_t> Side::box_from(size_t dim, int64_t base) const {
  int64_t low = base, high = base + rows;
  for (; dim < 3; ++dim) {
    if (dims[dim].count == 0) return {base, base};
    const int64_t reach = (int64_t{dims[dim].count} - 1) * dims[dim].stride;
    (reach < 0 ? low : high) += reach;
  }
  return {low, high};
}

bool Side::touches_from(size_t dim, int64_t base, int64_t low, int64_t high) const {
  const auto [l, h] = box_from(dim, base);
  if (h <= low || l >= high) return false;
  if (dim == 3) return true;
  for (uint32_t i = 0; i < dims[dim].count; ++i)
    if (touches_from(dim + 1, base + int64_t{i} * dims[dim].stride, low, high)) return true;
  return false;
}

bool Side::touches(const Side& other) const {
  const auto [low, high] = other.box();
  if (!touches(low, high)) return false;
  for (uint32_t i = 0; i < other.dims[0].count; ++i) {
    for (uint32_t j = 0; j < other.dims[1].count; ++j) {
      for (uint32_t k = 0; k < other.dims[2].count; ++k) {
        const int64_t at = static_cast<int64_t>(other.first) + int64_t{i} * other.dims[0].stride +
                           int64_t{j} * other.dims[1].stride + int64_t{k} * other.dims[2].stride;
        if (touches(at, at + other.rows)) return true;
      }
    }
  }
  return false;
}

std::string rows_text(int64_t first, int64_t end) {
  return "rows " + std::to_string(first) + " to " + std::to_string(end - 1);
}

uint64_t bus_bytes(const Side& side, uint64_t granule) {
  uint64_t run = side.rows, runs = 1;
  for (size_t i = 3; i-- > 0;) {
    const auto& d = side.dims[i];
    if (runs == 1 && d.count > 1 && d.stride == static_cast<int64_t>(run)) {
      run *= d.count;
    } else {
      runs *= d.count;
    }
  }
  const uint64_t bytes = run * kRowBytes;
  return (bytes + granule - 1) / granule * granule * runs;
}

}  // namespace tenfold::tpu
