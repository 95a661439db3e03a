// See _dot.h. The evaluator packs both operands into panels and multiplies blocks of 4 x 8; every
// element is summed in ascending order of the contracting index, in f64 for floats.
#include "ops/_dot.h"

#include <algorithm>
#include <array>

namespace tenfold::ops {

using loop::Expr;
using Index = std::vector<Expr>;

namespace {

std::vector<int64_t> others(int rank, const std::vector<int64_t>& a,
                            const std::vector<int64_t>& b) {
  std::vector<int64_t> r;
  for (int64_t i = 0; i < rank; ++i) {
    if (std::find(a.begin(), a.end(), i) == a.end() && std::find(b.begin(), b.end(), i) == b.end())
      r.push_back(i);
  }
  return r;
}

std::vector<int64_t> joined(std::vector<int64_t> a, const std::vector<int64_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

std::vector<int64_t> DotDims::lhs_free(int rank) const {
  return others(rank, lhs_batch, lhs_contract);
}
std::vector<int64_t> DotDims::rhs_free(int rank) const {
  return others(rank, rhs_batch, rhs_contract);
}

DType accumulator(DType operand, DType result) {
  if (is_complex(result)) return result;
  if (!is_float(result)) return result;
  if (operand == DType::F64 || result == DType::F64) return DType::F64;
  return DType::F32;
}

std::vector<TensorType> infer_dot(const Op& op, Diag& diag, const DotDims& d) {
  const TensorType &a = type(op, 0), &b = type(op, 1);
  const auto size = [](const auto& v) { return static_cast<int64_t>(v.size()); };
  const TensorType guess = op.num_results() ? op.result()->type : a;
  check_size(diag, "C1", "rhs_batching_dimensions", size(d.rhs_batch), size(d.lhs_batch));
  check_size(diag, "C2", "rhs_contracting_dimensions", size(d.rhs_contract), size(d.lhs_contract));
  check_unique(diag, "C3", "lhs_batching_dimensions + lhs_contracting_dimensions",
               joined(d.lhs_batch, d.lhs_contract));
  check_unique(diag, "C4", "rhs_batching_dimensions + rhs_contracting_dimensions",
               joined(d.rhs_batch, d.rhs_contract));
  check_range(diag, "C5", "lhs_batching_dimensions", d.lhs_batch, a.rank());
  check_range(diag, "C6", "lhs_contracting_dimensions", d.lhs_contract, a.rank());
  check_range(diag, "C7", "rhs_batching_dimensions", d.rhs_batch, b.rank());
  check_range(diag, "C8", "rhs_contracting_dimensions", d.rhs_contract, b.rank());
  check_dtypes(diag, "C13", "lhs and rhs", a.dtype, b.dtype);
  if (!diag.ok()) return {guess};
  const auto match = [&](std::string_view label, std::string_view what, auto& l, auto& r) {
    for (size_t i = 0; i < l.size(); ++i) {
      const Dim &x = a.shape[l[i]], &y = b.shape[r[i]];
      if (diag.equal(x, y)) continue;
      diag.fail(label, fmt::format("{} dimensions {} of lhs and {} of rhs differ: {} and {}", what,
                                   l[i], r[i], x.str(), y.str()));
    }
  };
  match("C9", "batching", d.lhs_batch, d.rhs_batch);
  match("C10", "contracting", d.lhs_contract, d.rhs_contract);

  TensorType t{op.num_results() ? op.result()->type.dtype : a.dtype, {}};
  for (size_t i = 0; i < d.lhs_batch.size(); ++i) {
    const Dim &x = a.shape[d.lhs_batch[i]], &y = b.shape[d.rhs_batch[i]];
    t.shape.push_back(x.is_const() ? x : y.is_const() ? y : x);
  }
  for (int64_t i : d.lhs_free(a.rank())) t.shape.push_back(a.shape[i]);
  for (int64_t i : d.rhs_free(b.rank())) t.shape.push_back(b.shape[i]);
  const auto kind = [](DType x) { return is_complex(x) ? 2 : is_float(x) ? 1 : 0; };
  if (kind(t.dtype) != kind(a.dtype) || (a.dtype == DType::Bool) != (t.dtype == DType::Bool)) {
    diag.fail("O1", fmt::format("result of {} operands has element type {}", name(a.dtype),
                                name(t.dtype)));
  }
  return check_result(op, diag, "C12", t);
}

Status emit_dot(EmitContext& ctx, const DotDims& d) {
  loop::Builder& b = *ctx.b;
  const TensorType &x = type(*ctx.op, 0), &y = type(*ctx.op, 1);
  const DType result = ctx.op->result()->type.dtype, acc_type = accumulator(x.dtype, result);
  const std::vector<int64_t> lhs_free = d.lhs_free(x.rank()), rhs_free = d.rhs_free(y.rank());
  const size_t batch = d.lhs_batch.size();
  const bool boolean = result == DType::Bool;
  b.nest("i", dims_of(ctx, ctx.op->result()->type.shape), [&](const Index& i) {
    Index l(x.rank()), r(y.rank());
    for (size_t n = 0; n < batch; ++n) l[d.lhs_batch[n]] = r[d.rhs_batch[n]] = i[n];
    for (size_t n = 0; n < lhs_free.size(); ++n) l[lhs_free[n]] = i[batch + n];
    for (size_t n = 0; n < rhs_free.size(); ++n) r[rhs_free[n]] = i[batch + lhs_free.size() + n];
    const loop::Buffer acc = b.cell("acc", loop::zero(acc_type));
    const std::function<void(size_t)> contract = [&](size_t n) {
      if (n < d.lhs_contract.size()) {
        const Dim &p = x.shape[d.lhs_contract[n]], &q = y.shape[d.rhs_contract[n]];
        b.for_("k", ctx.dim(p.is_const() ? p : q), [&](Expr k) {
          l[d.lhs_contract[n]] = r[d.rhs_contract[n]] = k;
          contract(n + 1);
        });
        return;
      }
      const Expr product = loop::op(
          boolean ? Prim::And : Prim::Mul,
          {loop::cast(ctx.operand(0, l), acc_type), loop::cast(ctx.operand(1, r), acc_type)});
      b.set(acc, loop::op(boolean ? Prim::Or : Prim::Add, {b.get(acc), product}));
    };
    contract(0);
    ctx.store(0, i, loop::cast(b.get(acc), result));
  });
  return ok_status();
}

namespace {

constexpr int64_t kRows = 4, kCols = 8;

// Storage elements as the accumulator's numbers.
template <class A, class T>
A widen(T v) {
  if constexpr (is_small_float<T>::value) {
    return static_cast<A>(static_cast<float>(v));
  } else if constexpr (is_small_int<T>::value) {
    return static_cast<A>(static_cast<int64_t>(v));
  } else {
    return static_cast<A>(v);
  }
}

// Flat offsets of all index tuples over `axes`, row-major.
std::vector<int64_t> offsets(const Literal& x, const std::vector<int64_t>& axes) {
  const std::vector<int64_t> strides = row_major_strides(x.dims());
  std::vector<int64_t> r = {0};
  for (int64_t a : axes) {
    std::vector<int64_t> next;
    next.reserve(r.size() * x.dims()[a]);
    for (int64_t o : r) {
      for (int64_t i = 0; i < x.dims()[a]; ++i) next.push_back(o + i * strides[a]);
    }
    r = std::move(next);
  }
  return r;
}

// Panels of `width` rows: out[panel][k][lane], missing rows zero.
template <class A>
std::vector<A> pack(const Literal& x, int64_t base, const std::vector<int64_t>& rows,
                    const std::vector<int64_t>& ks, int64_t width) {
  const auto n = static_cast<int64_t>(rows.size()), depth = static_cast<int64_t>(ks.size());
  std::vector<A> out((n + width - 1) / width * width * depth, A{});
  dispatch(x.dtype(), [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_constructible_v<A, T> || is_small_float<T>::value ||
                  is_small_int<T>::value) {
      const T* in = reinterpret_cast<const T*>(x.bytes()) + base;
      for (int64_t r = 0; r < n; ++r) {
        A* to = out.data() + r / width * width * depth + r % width;
        for (int64_t k = 0; k < depth; ++k) to[k * width] = widen<A>(in[rows[r] + ks[k]]);
      }
    }
  });
  return out;
}

template <class A>
void block(const A* a, const A* b, int64_t depth, std::array<A, kRows * kCols>& acc) {
  std::array<A, kRows * kCols> s{};
  for (int64_t k = 0; k < depth; ++k, a += kRows, b += kCols) {
    for (int64_t i = 0; i < kRows; ++i) {
      for (int64_t j = 0; j < kCols; ++j) s[i * kCols + j] += a[i] * b[j];
    }
  }
  acc = s;
}

void put(Literal& out, int64_t i, double v) { out.set_f64(i, v); }
void put(Literal& out, int64_t i, std::complex<double> v) { out.set_c128(i, v); }
void put(Literal& out, int64_t i, uint64_t v) {
  const bool boolean = out.dtype() == DType::Bool;
  out.set_i64(i, boolean ? v != 0 : static_cast<int64_t>(v));
}

template <class A>
void multiply(const Literal& x, const Literal& y, const DotDims& d, Literal& out) {
  const auto xb = offsets(x, d.lhs_batch), yb = offsets(y, d.rhs_batch);
  const auto xk = offsets(x, d.lhs_contract), yk = offsets(y, d.rhs_contract);
  const auto xr = offsets(x, d.lhs_free(x.rank())), yr = offsets(y, d.rhs_free(y.rank()));
  const auto m = static_cast<int64_t>(xr.size()), n = static_cast<int64_t>(yr.size());
  const auto depth = static_cast<int64_t>(xk.size());
  float* f32 = out.dtype() == DType::F32 ? out.mutable_data<float>().data() : nullptr;
  std::array<A, kRows * kCols> acc;
  for (size_t batch = 0; batch < xb.size(); ++batch) {
    const std::vector<A> a = pack<A>(x, xb[batch], xr, xk, kRows);
    const std::vector<A> b = pack<A>(y, yb[batch], yr, yk, kCols);
    const int64_t base = static_cast<int64_t>(batch) * m * n;
    for (int64_t j0 = 0; j0 < n; j0 += kCols) {
      for (int64_t i0 = 0; i0 < m; i0 += kRows) {
        block(a.data() + i0 * depth, b.data() + j0 * depth, depth, acc);
        for (int64_t i = i0; i < std::min(i0 + kRows, m); ++i) {
          for (int64_t j = j0; j < std::min(j0 + kCols, n); ++j) {
            const A v = acc[(i - i0) * kCols + j - j0];
            if constexpr (std::is_same_v<A, double>) {
              if (f32) {
                f32[base + i * n + j] = static_cast<float>(v);
                continue;
              }
            }
            put(out, base + i * n + j, v);
          }
        }
      }
    }
  }
}

}  // namespace

Result<std::vector<Literal>> eval_dot(EvalContext& ctx, const DotDims& d) {
  const Literal &x = ctx.args[0], &y = ctx.args[1];
  std::vector<int64_t> dims;
  const auto agree = [&](const std::vector<int64_t>& l, const std::vector<int64_t>& r) {
    std::vector<int64_t> p, q;
    for (int64_t i : l) p.push_back(x.dims()[i]);
    for (int64_t i : r) q.push_back(y.dims()[i]);
    return same_dims(ctx, "contracting or batching dimensions", p, q);
  };
  TF_TRY(agree(d.lhs_batch, d.rhs_batch));
  TF_TRY(agree(d.lhs_contract, d.rhs_contract));
  for (int64_t i : d.lhs_batch) dims.push_back(x.dims()[i]);
  for (int64_t i : d.lhs_free(x.rank())) dims.push_back(x.dims()[i]);
  for (int64_t i : d.rhs_free(y.rank())) dims.push_back(y.dims()[i]);
  Literal out(ctx.op->result()->type.dtype, dims);
  if (out.size() == 0) return one(std::move(out));
  if (is_complex(x.dtype())) {
    multiply<std::complex<double>>(x, y, d, out);
  } else if (is_float(x.dtype())) {
    multiply<double>(x, y, d, out);
  } else {
    multiply<uint64_t>(x, y, d, out);
  }
  return one(std::move(out));
}

}  // namespace tenfold::ops
