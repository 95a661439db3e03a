// stablehlo.fft: discrete Fourier transforms over the last one to three dimensions.
#include <cmath>
#include <complex>
#include <numbers>

#include "ops/attr_util.h"
#include "ops/fft_util.h"
#include "ops/row_util.h"

namespace tenfold {

namespace {

enum class Kind : uint8_t { Fft, Ifft, Rfft, Irfft };
std::optional<Kind> kind_of(const Op& op) {
  const std::string& s = op.str("fft_type");
  if (s == "FFT") return Kind::Fft;
  if (s == "IFFT") return Kind::Ifft;
  if (s == "RFFT") return Kind::Rfft;
  if (s == "IRFFT") return Kind::Irfft;
  return std::nullopt;
}

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  const TensorType& x = op.operand()->type;
  const std::optional<Kind> kind = kind_of(op);
  const auto& length = op.i64s("fft_length");
  const int64_t count = static_cast<int64_t>(length.size()), rank = x.rank();
  if (!kind) {
    diag.fail("I2", "fft_type is " + op.str("fft_type") + ", wanted FFT, IFFT, RFFT or IRFFT");
    return {x};
  }
  if (count < 1 || count > 3)
    diag.fail("C3", "fft_length has " + std::to_string(count) + " entries, wanted 1 to 3");
  if (count > rank) diag.fail("C1", "fft_length is longer than the operand's rank: " + x.str());
  const bool real_in = *kind == Kind::Rfft;
  const DType real = real_of(x.dtype);
  if (is_complex(x.dtype) == real_in || (real != DType::F32 && real != DType::F64))
    diag.fail("C2", op.str("fft_type") + " wants " +
                        (real_in ? "f32 or f64" : "complex<f32> or complex<f64>") + ", found " +
                        x.str());
  for (int64_t n : length)
    if (n < 0) diag.fail("C4", "fft_length must not be negative: " + list_str(length));
  if (!diag.ok()) return {x};
  TensorType out = x;
  out.dtype = *kind == Kind::Irfft ? real : real == DType::F64 ? DType::C128 : DType::C64;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t d = rank - count + i;
    const bool last = i == count - 1;
    const int64_t half = length[i] == 0 ? 0 : length[i] / 2 + 1;
    const int64_t want = last && *kind == Kind::Irfft ? half : length[i];
    if (!diag.equal(x.shape[d], want))
      diag.fail(last && *kind == Kind::Irfft ? "C5" : "C4",
                "dimension " + std::to_string(d) + " of " + x.str() + " should be " +
                    std::to_string(want) + " for fft_length " + list_str(length));
    if (last && *kind == Kind::Rfft) out.shape[d] = half;
    if (last && *kind == Kind::Irfft) out.shape[d] = length[i];
  }
  return {out};
}

// --- evaluator: decimation in time, straight sums at prime lengths
// --------------------------------

using Complex = std::complex<double>;
std::vector<Complex> dft(const std::vector<Complex>& x, double sign) {
  const int64_t n = static_cast<int64_t>(x.size());
  if (n <= 1) return x;
  int64_t p = 2;
  while (p * p <= n && n % p != 0) ++p;
  if (n % p != 0) p = n;
  const int64_t m = n / p;
  const auto root = [&](int64_t k) {
    return std::polar(
        1.0, sign * 2 * std::numbers::pi * static_cast<double>(k % n) / static_cast<double>(n));
  };
  std::vector<std::vector<Complex>> parts;
  for (int64_t t = 0; t < p; ++t) {
    std::vector<Complex> part;
    for (int64_t i = 0; i < m; ++i) part.push_back(x[i * p + t]);
    parts.push_back(dft(part, sign));
  }
  std::vector<Complex> y(x.size());
  for (int64_t k = 0; k < n; ++k)
    for (int64_t t = 0; t < p; ++t) y[k] += parts[t][k % m] * root(t * k);
  return y;
}

// Transforms `x` (row-major `dims`) along dimension d.
void along(std::vector<Complex>& x, const std::vector<int64_t>& dims, size_t d, double sign) {
  const int64_t n = dims[d], stride = row_major_strides(dims)[d];
  if (n == 0) return;
  std::vector<Complex> line(static_cast<size_t>(n));
  for (int64_t row = 0; row < static_cast<int64_t>(x.size()) / n; ++row) {
    const int64_t base = row / stride * stride * n + row % stride;
    for (int64_t i = 0; i < n; ++i) line[i] = x[base + i * stride];
    const auto y = dft(line, sign);
    for (int64_t i = 0; i < n; ++i)
      x[base + i * stride] = sign > 0 ? y[i] / static_cast<double>(n) : y[i];
  }
}

Result<std::vector<Literal>> eval(EvalContext& c) {
  const Literal& x = c.args[0];
  const Kind kind = *kind_of(*c.op);
  const auto& length = c.op->i64s("fft_length");
  Literal out(c.op->result()->type.dtype, c.shape(c.op->result()->type));
  if (out.size() == 0) return std::vector<Literal>{out};
  const size_t rank = x.dims().size(), first = rank - length.size();
  const double sign = kind == Kind::Ifft || kind == Kind::Irfft ? 1 : -1;
  std::vector<int64_t> dims = x.dims();
  std::vector<Complex> v(static_cast<size_t>(x.size()));
  for (int64_t i = 0; i < x.size(); ++i) v[i] = x.as_c128(i);
  if (kind == Kind::Irfft) {
    for (size_t d = first; d + 1 < rank; ++d) along(v, dims, d, sign);
    // The other half is the mirrored conjugate.
    const int64_t n = length.back(), half = dims.back();
    std::vector<Complex> full;
    for (size_t row = 0; row < v.size() / static_cast<size_t>(half); ++row)
      for (int64_t k = 0; k < n; ++k)
        full.push_back(k < half ? v[row * half + k] : std::conj(v[row * half + (n - k)]));
    v = std::move(full);
    dims.back() = n;
    along(v, dims, rank - 1, sign);
    for (int64_t i = 0; i < out.size(); ++i) out.set_f64(i, v[i].real());
    return std::vector<Literal>{out};
  }
  for (size_t d = rank; d-- > first;) along(v, dims, d, sign);
  const int64_t n = dims.back(), kept = out.dims().back();
  for (int64_t i = 0; i < out.size(); ++i) out.set_c128(i, v[i / kept * n + i % kept]);
  return std::vector<Literal>{out};
}

// --- lowering ------------------------------------------------------------------------------------

using namespace loop;
using Pair = LineTransform::Pair;

// Calls f for every index of `dims`, in parallel, after `prepare` has run in the same task. Several
// rows share one preparation when there are many.
void rows_with_tables(Builder& b, const std::vector<Expr>& dims, int64_t n,
                      const std::function<std::unique_ptr<LineTransform>()>& prepare,
                      const std::function<void(LineTransform&, const std::vector<Expr>&)>& f) {
  Expr rows = int_const(1);
  for (const Expr& d : dims) rows = rows * d;
  int64_t known = 0;
  const int64_t chunk = is_const(rows, &known) && known < 64 ? 1 : n > 65536 ? 1 : 8;
  b.for_(
      "chunk", idiv(rows + (chunk - 1), int_const(chunk)),
      [&](Expr at) {
        const auto line = prepare();
        const Expr begin = at * chunk;
        b.for_("row", imin(int_const(chunk), rows - begin), [&](Expr r) {
          std::vector<Expr> index(dims.size());
          Expr rest = begin + r;
          for (size_t d = dims.size(); d-- > 0;) {
            index[d] = d == 0 ? rest : imod(rest, dims[d]);
            if (d > 0) rest = idiv(rest, dims[d]);
          }
          f(*line, index);
        });
      },
      b.at_top() ? LoopKind::Parallel : LoopKind::Serial);
}

Status emit(EmitContext& c) {
  Builder& b = *c.b;
  const Kind kind = *kind_of(*c.op);
  const auto& length = c.op->i64s("fft_length");
  const Shape& in = c.op->operand()->type.shape;
  const Shape& out = c.op->result()->type.shape;
  const DType t = c.op->result()->type.dtype;
  const DType real = real_of(t);
  const int rank = static_cast<int>(in.size()), first = rank - static_cast<int>(length.size());
  if (std::any_of(length.begin(), length.end(), [](int64_t n) { return n == 0; }))
    return ok_status();
  const Buffer result = c.result_buffer(0);
  const auto split = [](const Expr& v) -> Pair {
    if (!is_complex(v->dtype)) return {v, zero(v->dtype)};
    return {loop::op(Prim::Real, {v}), loop::op(Prim::Imag, {v})};
  };
  const auto join = [&](const Pair& v) {
    return loop::op(Prim::Complex, {cast(v.first, real), cast(v.second, real)});
  };
  const bool inverse = kind == Kind::Ifft || kind == Kind::Irfft;
  const auto transform_of = [&](int d) {
    return [&b, real, inverse, n = length[d - first]] {
      return std::make_unique<LineTransform>(b, real, n, inverse);
    };
  };
  // All dimensions of `shape` but d; and an index with i put back at d.
  const auto others = [&](const Shape& shape, int d) {
    std::vector<Expr> dims;
    for (int k = 0; k < rank; ++k)
      if (k != d) dims.push_back(c.dim(shape[k]));
    return dims;
  };
  const auto with = [](std::vector<Expr> row, int d, const Expr& i) {
    row.insert(row.begin() + d, i);
    return row;
  };

  if (kind != Kind::Irfft) {
    // Last dimension from the operand into the result, then the others in place, one line at a
    // time.
    for (int d = rank; d-- > first;) {
      const bool from_operand = d == rank - 1;
      rows_with_tables(
          b, others(out, d), length[d - first], transform_of(d),
          [&](LineTransform& line, const std::vector<Expr>& row) {
            line.run(
                [&](const Expr& i) -> Pair {
                  const auto at = with(row, d, i);
                  return split(b.let("x", from_operand ? c.operand(0, at) : load(result, at)));
                },
                from_operand ? out[d].value() : length[d - first],
                [&](const Expr& i, const Pair& v) { b.store(result, with(row, d, i), join(v)); });
          });
    }
    return ok_status();
  }

  const int last = rank - 1;
  const int64_t n = length.back(), half = n / 2 + 1;
  // The spectrum of a real line from its first half.
  const auto mirrored = [&](const std::function<Pair(const Expr&)>& read) {
    return [&b, read, n, half](const Expr& i) -> Pair {
      const Expr inside = lt(i, int_const(half));
      const Pair v = read(b.let("k", select(inside, i, int_const(n) - i)));
      return {v.first, select(inside, v.second, loop::op(Prim::Neg, {v.second}))};
    };
  };
  if (length.size() == 1) {
    rows_with_tables(b, others(in, last), n, transform_of(last),
                     [&](LineTransform& line, const std::vector<Expr>& row) {
                       line.run(mirrored([&](const Expr& i) {
                                  return split(b.let("x", c.operand(0, with(row, last, i))));
                                }),
                                n, [&](const Expr& i, const Pair& v) {
                                  b.store(result, with(row, last, i), cast(v.first, real));
                                });
                     });
    return ok_status();
  }
  // The inner dimensions first, in a copy of the half spectrum of one batch element.
  std::vector<Expr> batch;
  for (int d = 0; d < first; ++d) batch.push_back(c.dim(in[d]));
  for_rows(b, batch, [&](const std::vector<Expr>& row) {
    std::vector<Expr> dims;
    std::vector<int64_t> sizes(length.begin(), length.end());
    sizes.back() = half;
    for (int64_t s : sizes) dims.push_back(int_const(s));
    const Buffer re = b.alloc("half_re", real, dims, Scope::Workspace);
    const Buffer im = b.alloc("half_im", real, dims, Scope::Workspace);
    b.nest("i", dims, [&](const std::vector<Expr>& at) {
      std::vector<Expr> index = row;
      index.insert(index.end(), at.begin(), at.end());
      const Pair v = split(b.let("x", c.operand(0, index)));
      b.store(re, at, v.first);
      b.store(im, at, v.second);
    });
    for (int d = 0; d < static_cast<int>(sizes.size()); ++d) {
      LineTransform line(b, real, length[d], true);
      std::vector<Expr> rest = dims;
      rest.erase(rest.begin() + d);
      // The lines share one scratch.
      for_in_order(b, "l", rest, [&](const std::vector<Expr>& at) {
        const auto read = [&](const Expr& i) -> Pair {
          return {load(re, with(at, d, i)), load(im, with(at, d, i))};
        };
        if (d + 1 < static_cast<int>(sizes.size())) {
          line.run(read, length[d], [&](const Expr& i, const Pair& v) {
            b.store(re, with(at, d, i), cast(v.first, real));
            b.store(im, with(at, d, i), cast(v.second, real));
          });
          return;
        }
        line.run(mirrored(read), n, [&](const Expr& i, const Pair& v) {
          std::vector<Expr> index = row;
          index.insert(index.end(), at.begin(), at.end());
          index.push_back(i);
          b.store(result, index, cast(v.first, real));
        });
      });
    }
  });
  return ok_status();
}

}  // namespace

extern const OpDef op_fft;
const OpDef op_fft = {
    .name = "stablehlo.fft",
    .summary = "Discrete Fourier transform over the last dimensions",
    .doc =
        "fft_type FFT and IFFT map complex to complex, RFFT real to the first half of the "
        "spectrum, IRFFT back. Any length in O(n log n): mixed radix, or Bluestein's algorithm "
        "(in f64) where a prime factor exceeds 13. Inverses divide by the length.",
    .kind = OpKind::Opaque,
    .min_operands = 1,
    .max_operands = 1,
    .attrs = {{"fft_type", AttrKind::Enum, true, "FFT, IFFT, RFFT or IRFFT"},
              {"fft_length", AttrKind::I64s, true, "one to three lengths"}},
    .infer = infer,
    .eval = eval,
    .emit = emit,
    .constraints = {"I2", "C1", "C2", "C3", "C4", "C5"},
};

}  // namespace tenfold
