// See _view.h.
#include "ops/_view.h"

#include <algorithm>
#include <cstring>

namespace tenfold::ops {
namespace {

template <int kSize>
void copy_row(int64_t n, std::byte* out, int64_t os, const std::byte* in, int64_t is) {
  for (int64_t i = 0; i < n; ++i) std::memcpy(out + i * os * kSize, in + i * is * kSize, kSize);
}

struct Copy {
  int size;
  const std::vector<int64_t>&dims, &os, &is;

  void run(size_t d, std::byte* out, const std::byte* in) const {
    if (d == dims.size()) {
      std::memcpy(out, in, size);
      return;
    }
    const int64_t n = dims[d];
    if (d + 1 < dims.size()) {
      for (int64_t i = 0; i < n; ++i) run(d + 1, out + i * os[d] * size, in + i * is[d] * size);
      return;
    }
    if (os[d] == 1 && is[d] == 1) {
      std::memcpy(out, in, n * size);
      return;
    }
    switch (size) {
      case 1:
        copy_row<1>(n, out, os[d], in, is[d]);
        break;
      case 2:
        copy_row<2>(n, out, os[d], in, is[d]);
        break;
      case 4:
        copy_row<4>(n, out, os[d], in, is[d]);
        break;
      case 8:
        copy_row<8>(n, out, os[d], in, is[d]);
        break;
      default:
        copy_row<16>(n, out, os[d], in, is[d]);
        break;
    }
  }
};

}  // namespace

void copy_strided(int size, const std::vector<int64_t>& dims, std::byte* out,
                  const std::vector<int64_t>& out_strides, const std::byte* in,
                  const std::vector<int64_t>& in_strides) {
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return;
  // Dimensions that run together are one.
  std::vector<int64_t> d, os, is;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1) continue;
    if (!d.empty() && os.back() == out_strides[i] * dims[i] &&
        is.back() == in_strides[i] * dims[i]) {
      d.back() *= dims[i], os.back() = out_strides[i], is.back() = in_strides[i];
    } else {
      d.push_back(dims[i]), os.push_back(out_strides[i]), is.push_back(in_strides[i]);
    }
  }
  Copy{size, d, os, is}.run(0, out, in);
}

Literal gather_strided(const Literal& x, std::vector<int64_t> dims, int64_t offset,
                       const std::vector<int64_t>& strides) {
  Literal out(x.dtype(), std::move(dims));
  if (out.size() == 0) return out;
  const int size = byte_size(x.dtype());
  copy_strided(size, out.dims(), out.mutable_bytes(), row_major_strides(out.dims()),
               x.bytes() + offset * size, strides);
  return out;
}

Literal filled(const Literal& x, std::vector<int64_t> dims) {
  const std::vector<int64_t> strides(dims.size(), 0);
  return gather_strided(x, std::move(dims), 0, strides);
}

}  // namespace tenfold::ops
