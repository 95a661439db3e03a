// What a bundle does to registers and memories. All its instructions see the registers as they
// were: results go to spare registers, which change places with the old ones at the end.
#include "tpu/sim/core_values.h"

#include <cmath>
#include <cstring>

#include "tpu/sim/array_math.h"

namespace tenfold::tpu {

Core::Values::Values(const Chip& chip)
    : vmem(static_cast<uint64_t>(chip.vmem_bytes)),
      product(static_cast<size_t>(32 * chip.mxu_dim)),
      gathered(size_t{kLanes} * kLanes),
      transposed(size_t{kLanes} * kLanes) {
  for (int i = 0; i < kVectorRegs + kSpares; ++i) {
    vector_store.emplace_back(kVregWords);
    (i < kVectorRegs ? vector[i] : spare_vector[i - kVectorRegs]) = vector_store.back().get();
  }
  for (int i = 0; i < kMaskRegs + kSpares; ++i) {
    mask_store.emplace_back(kVregWords);
    (i < kMaskRegs ? mask[i] : spare_mask[i - kMaskRegs]) = mask_store.back().get();
  }
  const auto dim = static_cast<size_t>(chip.mxu_dim);
  for (int64_t i = 0; i < chip.mxu_count; ++i) {
    Matrix m;
    m.next = Block<float>(dim * dim);
    m.present = Block<float>(dim * dim);
    m.next_rows.resize(dim);
    m.present_rows.resize(dim);
    m.rows = Block<float>(32 * dim);
    if (chip.mxu_accumulates) {
      const auto n = static_cast<size_t>(result_queue_entries(chip));
      m.accumulators = Block<float>(n * kVregWords);
      m.accumulator_int8.resize(n);
    }
    matrices.push_back(std::move(m));
  }
}

namespace {

// The 16 (s8: 32) rows of a packed register as floats, `stride` apart; planar, see ops.inc.
void unpack_rows(const uint32_t* v, bool int8, float* out, int stride) {
  for (int r = 0; r < (int8 ? 32 : 16); ++r) {
    const uint32_t* words = v + (r & 7) * kLanes;
    float* row = out + static_cast<ptrdiff_t>(r) * stride;
    if (int8) {
      const int up = 24 - 8 * (r >> 3);
      for (int l = 0; l < kLanes; ++l)
        row[l] = static_cast<float>(static_cast<int32_t>(words[l] << up) >> 24);
      continue;
    }
    const int up = r < 8 ? 16 : 0;
    for (int l = 0; l < kLanes; ++l) row[l] = std::bit_cast<float>(words[l] << up & 0xffff0000);
  }
}

}  // namespace

// Every row of a load or store is there, and no copy in flight is reading or writing it.
bool Core::may_touch(uint64_t row, int64_t stride, const uint8_t* mask, bool write) {
  Values& v = *values_;
  const auto rows = static_cast<int64_t>(v.vmem.rows());
  const auto one = [&](int64_t low, int64_t high) {
    if (low < 0 || high > rows) {
      return fail("tpu-address", "VMEM row " + std::to_string(low < 0 ? low : high - 1) +
                                     ", wanted 0 to " + std::to_string(rows - 1));
    }
    vmem_peak_ = std::max(vmem_peak_, static_cast<uint64_t>(high));
    if (!v.vmem_copies) return true;
    for (const Values::Copy& c : v.copies) {
      const bool into = c.to_space == Space::Vmem && c.to.touches(low, high);
      const bool from = write && c.from_space == Space::Vmem && c.from.touches(low, high);
      if (into || from) {
        return fail("tpu-race",
                    "VMEM " + rows_text(low, high) + " is " + (write ? "written" : "read") +
                        " while " + c.what + (into ? " brings it" : " takes it") +
                        "; wait for its semaphore " + std::to_string(c.semaphore) + " first");
      }
    }
    return true;
  };
  const auto first = static_cast<int64_t>(row);
  if (mask == nullptr && stride == 1) return one(first, first + kSublanes);
  for (int s = 0; s < kSublanes; ++s) {
    if (mask != nullptr && std::memchr(mask + s * kLanes, 1, kLanes) == nullptr) continue;
    if (!one(first + s * stride, first + s * stride + 1)) return false;
  }
  return true;
}

bool Core::load(const DecodedInst& d, uint32_t* to) {
  Values& v = *values_;
  const Inst& in = d.inst;
  const uint64_t row = static_cast<uint32_t>(value(d, 1)) + static_cast<uint32_t>(in.a[2]);
  const int64_t stride = in.op == Op::VLdBcast ? 0 : in.op == Op::VLdStride ? in.a[3] : 1;
  const uint8_t* mask = in.op == Op::VLdMask ? v.mask[in.a[3]] : nullptr;
  if (!may_touch(row, stride, mask, false)) return false;
  if (mask != nullptr) {
    for (int s = 0; s < kSublanes; ++s) {
      uint32_t* out = to + s * kLanes;
      const uint8_t* m = mask + s * kLanes;
      if (std::memchr(m, 1, kLanes) == nullptr) {
        std::memset(out, 0, kRowBytes);
        continue;
      }
      std::memcpy(out, v.vmem.row(row + static_cast<uint64_t>(s)), kRowBytes);
      for (int l = 0; l < kLanes; ++l) out[l] = m[l] != 0 ? out[l] : 0;
    }
    return true;
  }
  if (stride == 1) {
    std::memcpy(to, v.vmem.row(row), size_t{kRowBytes} * kSublanes);
    return true;
  }
  for (int s = 0; s < kSublanes; ++s) {
    const auto r = static_cast<uint64_t>(static_cast<int64_t>(row) + s * stride);
    std::memcpy(to + s * kLanes, v.vmem.row(r), kRowBytes);
  }
  return true;
}

bool Core::store(const DecodedInst& d) {
  Values& v = *values_;
  const Inst& in = d.inst;
  const uint64_t row = static_cast<uint32_t>(value(d, 0)) + static_cast<uint32_t>(in.a[1]);
  const bool strided = in.op == Op::VStStride;
  const int64_t stride = strided ? in.a[2] : 1;
  const uint32_t* from = v.vector[in.a[strided ? 3 : 2]];
  const uint8_t* mask = in.op == Op::VStMask ? v.mask[in.a[3]] : nullptr;
  if (!may_touch(row, stride, mask, true)) return false;
  for (int s = 0; s < kSublanes; ++s) {
    const auto r = static_cast<uint64_t>(static_cast<int64_t>(row) + s * stride);
    const uint32_t* x = from + s * kLanes;
    if (mask == nullptr) {
      std::memcpy(v.vmem.row(r), x, kRowBytes);
      continue;
    }
    const uint8_t* m = mask + s * kLanes;
    if (std::memchr(m, 1, kLanes) == nullptr) continue;
    auto* out = reinterpret_cast<uint32_t*>(v.vmem.row(r));
    for (int l = 0; l < kLanes; ++l) out[l] = m[l] != 0 ? x[l] : out[l];
  }
  return true;
}

bool Core::copy(const DecodedInst& d) {
  Values& v = *values_;
  const DmaShape& shape = code_.program->shapes[static_cast<size_t>(d.inst.a[3])];
  Values::Copy c{value(d, 2),
                 shape.from,
                 shape.to,
                 Side::from(shape, static_cast<uint32_t>(value(d, 0))),
                 Side::to(shape, static_cast<uint32_t>(value(d, 1))),
                 "the copy of bundle " + std::to_string(pc_)};
  for (const auto& [space, side, write] :
       {std::tuple{c.from_space, &c.from, false}, std::tuple{c.to_space, &c.to, true}}) {
    const auto [low, high] = side->box();
    for (const Values::Copy& other : v.copies) {
      const bool clash = (other.to_space == space && other.to.touches(*side)) ||
                         (write && other.from_space == space && other.from.touches(*side));
      if (clash) {
        return fail("tpu-race", "the copy " + std::string(write ? "writes " : "reads ") +
                                    std::string(name(space)) + " " + rows_text(low, high) +
                                    ", of which " + other.what +
                                    " is still moving some; wait for its semaphore " +
                                    std::to_string(other.semaphore) + " first");
      }
    }
  }
  auto place = [&](Space space, int64_t row, bool write) -> std::byte* {
    const auto r = static_cast<uint64_t>(row);
    switch (space) {
      case Space::Vmem:
        return v.vmem.row(r);
      case Space::Cmem:
        return shared_.cmem->row(r);
      case Space::Smem:
        return reinterpret_cast<std::byte*>(smem_.data() + r * kRowWords);
      case Space::Hbm:
        break;
    }
    return shared_.hbm.find(r, shape.rows, write);
  };
  for (uint32_t i = 0; i < shape.dims[0].count; ++i) {
    for (uint32_t j = 0; j < shape.dims[1].count; ++j) {
      for (uint32_t k = 0; k < shape.dims[2].count; ++k) {
        int64_t from = static_cast<int64_t>(c.from.first), to = static_cast<int64_t>(c.to.first);
        const uint32_t n[3] = {i, j, k};
        for (size_t dim = 0; dim < 3; ++dim) {
          from += int64_t{n[dim]} * shape.dims[dim].from_stride;
          to += int64_t{n[dim]} * shape.dims[dim].to_stride;
        }
        std::byte* in = place(c.from_space, from, false);
        std::byte* out = place(c.to_space, to, true);
        if (in == nullptr || out == nullptr) {
          const int64_t at = in == nullptr ? from : to;
          return fail("tpu-address", "the copy " + std::string(in == nullptr ? "reads" : "writes") +
                                         " HBM " + rows_text(at, at + shape.rows) +
                                         ", which no one bound region holds; bind what the "
                                         "program uses");
        }
        std::memmove(out, in, size_t{shape.rows} * kRowBytes);
      }
    }
  }
  v.vmem_copies |= c.from_space == Space::Vmem || c.to_space == Space::Vmem;
  v.copies.push_back(std::move(c));
  return true;
}

void Core::waited(const DecodedInst& d) {
  Values& v = *values_;
  const int32_t semaphore = value(d, 0);
  int32_t n = value(d, 1);
  std::erase_if(v.copies, [&](const Values::Copy& c) {
    if (c.semaphore != semaphore || n == 0) return false;
    --n;
    return true;
  });
  v.vmem_copies = std::any_of(v.copies.begin(), v.copies.end(), [](const Values::Copy& c) {
    return c.from_space == Space::Vmem || c.to_space == Space::Vmem;
  });
}

bool Core::matrix(const DecodedInst& d, uint32_t* to) {
  Values& v = *values_;
  const Inst& in = d.inst;
  const int dim = static_cast<int>(shared_.chip.mxu_dim);
  const int parts = dim / kLanes;
  const bool is_pop = d.act == Act::Pop || d.act == Act::ReadAcc;
  Values::Matrix& m = v.matrices[static_cast<size_t>(in.a[is_pop ? 1 : 0])];
  const int register_rows = d.int8 ? 32 : 16;
  switch (d.act) {
    case Act::Weight: {
      const uint32_t* w = v.vector[in.a[2]];
      const int reg = static_cast<int>(value(d, 1));
      if (reg < 0 || reg >= (dim + register_rows - 1) / register_rows * parts) {
        return fail("tpu-mxu",
                    "weight register " + std::to_string(reg) + " of " +
                        std::to_string((dim + register_rows - 1) / register_rows * parts));
      }
      const int block = reg / parts, half = reg % parts;
      // Rows of K that are new in this set start as zeros: columns not pushed stay so.
      const int k0 = d.transposed ? half * kLanes : block * register_rows;
      const int k1 = d.transposed ? k0 + kLanes : std::min(dim, k0 + register_rows);
      for (int k = k0; k < k1; ++k) {
        if (m.next_rows[static_cast<size_t>(k)]) continue;
        m.next_rows[static_cast<size_t>(k)] = true;
        std::memset(&m.next[static_cast<size_t>(k * dim)], 0, static_cast<size_t>(dim) * 4);
      }
      m.next_int8 = d.int8;
      if (!d.transposed) {
        unpack_rows(w, d.int8, &m.next[static_cast<size_t>(k0 * dim + half * kLanes)], dim);
        return true;
      }
      float rows[32 * kLanes];
      unpack_rows(w, d.int8, rows, kLanes);
      for (int l = 0; l < kLanes; ++l) {
        float* to_row = &m.next[static_cast<size_t>((k0 + l) * dim + block * register_rows)];
        for (int r = 0; r < register_rows; ++r) to_row[r] = rows[r * kLanes + l];
      }
      return true;
    }
    case Act::Swap:
      std::swap(m.next, m.present);
      std::swap(m.next_rows, m.present_rows);
      m.present_int8 = m.next_int8;
      m.next_rows.assign(static_cast<size_t>(dim), false);
      return true;
    case Act::Stage:
    case Act::Rows:
    case Act::RowsAcc: {
      const uint32_t* x = v.vector[in.a[d.act == Act::Stage ? 2 : d.act == Act::Rows ? 3 : 4]];
      const int part = in.a[1];
      unpack_rows(x, d.int8, &m.rows[static_cast<size_t>(part * kLanes)], dim);
      m.staged |= 1u << part;
      if (d.act == Act::Stage) return true;
      break;
    }
    case Act::Pop: {
      if (m.head == m.results.size()) return fail("tpu-mxu", "no result to pop");
      std::memcpy(to, m.results[m.head].get(), size_t{kVregWords} * 4);
      m.spare.push_back(std::move(m.results[m.head]));
      if (++m.head == m.results.size()) {
        m.results.clear();
        m.head = 0;
      }
      return true;
    }
    default: {  // ReadAcc
      const auto n = static_cast<size_t>(value(d, 2));
      float* a = &m.accumulators[n * kVregWords];
      if (m.accumulator_int8[n]) {
        for (int i = 0; i < kVregWords; ++i)
          to[i] = static_cast<uint32_t>(std::bit_cast<int32_t>(a[i]));
      } else {
        std::memcpy(to, a, size_t{kVregWords} * 4);
      }
      std::memset(a, 0, size_t{kVregWords} * 4);
      return true;
    }
  }

  // Rows go through the array.
  const uint32_t staged = m.staged;
  m.staged = 0;
  const int rows = in.a[2];
  float* out = v.product.get();
  std::memset(out, 0, static_cast<size_t>((rows + 7) / 8 * 8 * dim) * 4);
  bool any = false;
  for (int k = 0; k < dim;) {
    const auto used = [&](int i) {
      return m.present_rows[static_cast<size_t>(i)] && (staged >> (i / kLanes) & 1) != 0;
    };
    if (!used(k)) {
      ++k;
      continue;
    }
    int end = k + 1;
    while (end < dim && used(end)) ++end;
    multiply(m.rows.get(), rows, m.present.get(), k, end, dim, dim, out);
    any = true;
    k = end;
  }
  if (any && m.present_int8 != d.int8) {
    return fail("tpu-mxu", std::string(d.int8 ? "s8" : "bf16") + " rows for weights of " +
                               (m.present_int8 ? "s8" : "bf16") + "; push weights of one type");
  }
  for (int i = 0; i < d.results; ++i) {
    const int block = i / parts, part = i % parts;
    const float* p = out + static_cast<ptrdiff_t>(block * 8 * dim + part * kLanes);
    if (d.act == Act::Rows) {
      Block<uint32_t> result;
      if (!m.spare.empty()) {
        result = std::move(m.spare.back());
        m.spare.pop_back();
      } else {
        result = Block<uint32_t>(kVregWords);
      }
      for (int s = 0; s < kSublanes; ++s) {
        uint32_t* to_row = result.get() + s * kLanes;
        const float* from_row = p + static_cast<ptrdiff_t>(s * dim);
        if (d.int8) {
          for (int l = 0; l < kLanes; ++l)
            to_row[l] = static_cast<uint32_t>(static_cast<int32_t>(from_row[l]));
        } else {
          std::memcpy(to_row, from_row, kRowBytes);
        }
      }
      m.results.push_back(std::move(result));
      continue;
    }
    const auto n = static_cast<size_t>(value(d, 3) + i);
    float* a = &m.accumulators[n * kVregWords];
    m.accumulator_int8[n] = d.int8;
    for (int s = 0; s < kSublanes; ++s) {
      float* to_row = a + s * kLanes;
      const float* from_row = p + static_cast<ptrdiff_t>(s * dim);
      if (d.int8) {  // sums of many tiles: exact 32-bit integers, wrapping
        for (int l = 0; l < kLanes; ++l) {
          const auto sum = std::bit_cast<uint32_t>(to_row[l]) +
                           static_cast<uint32_t>(static_cast<int32_t>(from_row[l]));
          to_row[l] = std::bit_cast<float>(sum);
        }
      } else {
        for (int l = 0; l < kLanes; ++l) to_row[l] += from_row[l];
      }
    }
  }
  return true;
}

bool Core::run_vectors(const DecodedBundle& b) {
  Values& v = *values_;
  struct Result {
    int reg, spare;
  };
  Result vectors[Values::kSpares], masks[Values::kSpares];
  int num_vectors = 0, num_masks = 0;
  auto new_vector = [&](int reg) {
    vectors[num_vectors] = {reg, num_vectors};
    return v.spare_vector[num_vectors++];
  };
  bool stores = false, copies = false;
  for (uint32_t i = b.insts; i < b.insts_end; ++i) {
    const DecodedInst& d = code_.insts[i];
    const Inst& in = d.inst;
    switch (d.act) {
      case Act::Vector: {
        VectorArgs a;
        int nv = 0, nm = 0, nx = 0;
        const std::string_view kinds = info(in.op).operands;
        for (size_t k = 0; k < kinds.size(); ++k) {
          switch (kinds[k]) {
            case 'V':
              a.vd = new_vector(in.a[k]);
              break;
            case 'M':
              masks[num_masks] = {in.a[k], num_masks};
              a.md = v.spare_mask[num_masks++];
              break;
            case 'v':
              a.v[nv++] = v.vector[in.a[k]];
              break;
            case 'm':
              a.m[nm++] = v.mask[in.a[k]];
              break;
            default:
              a.x[nx++] = kinds[k] == 'x' ? value(d, static_cast<int>(k)) : in.a[k];
          }
        }
        d.fn(in.op, a);
        break;
      }
      case Act::VLoad:
        if (!load(d, new_vector(in.a[0]))) return false;
        break;
      case Act::VStore:
        stores = true;
        break;
      case Act::Dma:
        copies = true;
        break;
      case Act::Wait:
        waited(d);
        break;
      case Act::TransPush:
        std::memcpy(v.gathered.get() + ptrdiff_t{in.a[1]} * kVregWords, v.vector[in.a[0]],
                    size_t{kVregWords} * 4);
        break;
      case Act::TransGo:
        for (int r = 0; r < kLanes; ++r)
          for (int c = 0; c < kLanes; ++c)
            v.transposed[static_cast<size_t>(c * kLanes + r)] =
                v.gathered[static_cast<size_t>(r * kLanes + c)];
        std::memset(v.gathered.get(), 0, size_t{kLanes} * kLanes * 4);
        break;
      case Act::TransPop:
        std::memcpy(new_vector(in.a[0]), v.transposed.get() + ptrdiff_t{in.a[1]} * kVregWords,
                    size_t{kVregWords} * 4);
        break;
      case Act::Pop:
      case Act::ReadAcc:
        if (!matrix(d, new_vector(in.a[0]))) return false;
        break;
      case Act::Weight:
      case Act::Swap:
      case Act::Stage:
      case Act::Rows:
      case Act::RowsAcc:
        if (!matrix(d, nullptr)) return false;
        break;
      default:
        break;
    }
  }
  for (uint32_t i = b.insts; stores && i < b.insts_end; ++i)
    if (code_.insts[i].act == Act::VStore && !store(code_.insts[i])) return false;
  for (uint32_t i = b.insts; copies && i < b.insts_end; ++i)
    if (code_.insts[i].act == Act::Dma && !copy(code_.insts[i])) return false;
  for (int i = 0; i < num_vectors; ++i)
    std::swap(v.vector[vectors[i].reg], v.spare_vector[vectors[i].spare]);
  for (int i = 0; i < num_masks; ++i) std::swap(v.mask[masks[i].reg], v.spare_mask[masks[i].spare]);
  return true;
}

}  // namespace tenfold::tpu
