// stablehlo.convolution: any number of spatial dimensions, any dimension order, groups.
#include <complex>

#include "ops/attr_util.h"
#include "ops/window_util.h"

namespace tenfold {

namespace {

// The op's dimension numbers and windows, read once.
struct Conv {
  int spatial = 0;
  int64_t in_batch, in_feature, kernel_in, kernel_out, out_batch, out_feature;
  std::vector<int64_t> in_spatial, kernel_spatial, out_spatial;
  int64_t feature_groups, batch_groups;
  std::vector<WindowDim> windows;
};

Conv read(const Op& op) {
  Conv v;
  const Shape& lhs = op.operand(0)->type.shape;
  const Shape& rhs = op.operand(1)->type.shape;
  v.in_batch = op.i64("input_batch_dimension");
  v.in_feature = op.i64("input_feature_dimension");
  v.in_spatial = op.i64s("input_spatial_dimensions");
  v.kernel_in = op.i64("kernel_input_feature_dimension");
  v.kernel_out = op.i64("kernel_output_feature_dimension");
  v.kernel_spatial = op.i64s("kernel_spatial_dimensions");
  v.out_batch = op.i64("output_batch_dimension");
  v.out_feature = op.i64("output_feature_dimension");
  v.out_spatial = op.i64s("output_spatial_dimensions");
  v.feature_groups = i64_or(op, "feature_group_count", 1);
  v.batch_groups = i64_or(op, "batch_group_count", 1);
  const size_t n = v.in_spatial.size();
  v.spatial = static_cast<int>(n);
  const auto strides = i64s_or(op, "window_strides", n, 1);
  const auto lhs_dilation = i64s_or(op, "lhs_dilation", n, 1);
  const auto rhs_dilation = i64s_or(op, "rhs_dilation", n, 1);
  const auto reversal = i64s_or(op, "window_reversal", n, 0);
  const auto padding = dims_or(op, "padding", 2 * n, 0);
  for (size_t i = 0; i < n; ++i)
    v.windows.push_back({lhs[v.in_spatial[i]], rhs[v.kernel_spatial[i]], strides[i],
                         lhs_dilation[i], rhs_dilation[i], padding[2 * i], padding[2 * i + 1],
                         reversal[i] != 0});
  return v;
}

// Attribute and rank constraints, after which read() is safe.
bool check_form(const Op& op, Diag& diag) {
  const int rank = op.operand(0)->type.rank();
  if (rank != op.operand(1)->type.rank() || rank < 2) {
    diag.fail("C1", "lhs and rhs must have the same rank of at least 2, found " +
                        op.operand(0)->type.str() + " and " + op.operand(1)->type.str());
    return false;
  }
  const size_t n = static_cast<size_t>(rank) - 2;
  const auto sized = [&](std::string_view name, size_t found, size_t want, std::string_view label) {
    if (found != want)
      diag.fail(label, std::string(name) + " has " + std::to_string(found) + " entries, wanted " +
                           std::to_string(want));
  };
  const auto positive = [&](std::string_view name, std::string_view label) {
    for (int64_t x : i64s_or(op, name, n, 1))
      if (x <= 0)
        diag.fail(label, std::string(name) + " must be positive, found " + std::to_string(x));
  };
  sized("window_strides", i64s_or(op, "window_strides", n, 1).size(), n, "C2");
  positive("window_strides", "C3");
  sized("padding", dims_or(op, "padding", 2 * n, 0).size(), 2 * n, "C4");
  sized("lhs_dilation", i64s_or(op, "lhs_dilation", n, 1).size(), n, "C5");
  positive("lhs_dilation", "C6");
  sized("rhs_dilation", i64s_or(op, "rhs_dilation", n, 1).size(), n, "C7");
  positive("rhs_dilation", "C8");
  sized("window_reversal", i64s_or(op, "window_reversal", n, 0).size(), n, "C9");
  const auto dims = [&](std::string_view batch, std::string_view feature, std::string_view spatial,
                        std::string_view size_label, std::string_view label) {
    const auto& s = op.i64s(spatial);
    sized(spatial, s.size(), n, size_label);
    const auto all = concat({op.i64(batch), op.i64(feature)}, s);
    if (!is_unique(all) || !all_in_range(all, 0, rank))
      diag.fail(label, std::string(batch) + ", " + std::string(feature) + " and " +
                           std::string(spatial) + " must be different and in [0, " +
                           std::to_string(rank) + "), found " + list_str(all));
  };
  dims("input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions", "C12",
       "C13");
  dims("kernel_input_feature_dimension", "kernel_output_feature_dimension",
       "kernel_spatial_dimensions", "C17", "C18");
  dims("output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions", "C19",
       "C20");
  const int64_t fg = i64_or(op, "feature_group_count", 1);
  const int64_t bg = i64_or(op, "batch_group_count", 1);
  if (fg < 1)
    diag.fail("C21", "feature_group_count is " + std::to_string(fg) + ", wanted at least 1");
  if (bg < 1)
    diag.fail("C22", "batch_group_count is " + std::to_string(bg) + ", wanted at least 1");
  if (fg > 1 && bg > 1)
    diag.fail("C23", "only one of feature_group_count and batch_group_count may exceed 1");
  return diag.ok();
}

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  const TensorType& lhs = op.operand(0)->type;
  const TensorType& rhs = op.operand(1)->type;
  if (!check_form(op, diag)) return {lhs};
  const Conv v = read(op);
  const auto divides = [&](const Dim& d, int64_t by, std::string_view label,
                           std::string_view what) {
    if (!diag.equal(mod(d, by), 0))
      diag.fail(label, std::string(what) + " is " + d.str() +
                           ", not a multiple of the group count " + std::to_string(by));
  };
  divides(lhs.shape[v.in_batch], v.batch_groups, "C10", "the batch");
  divides(lhs.shape[v.in_feature], v.feature_groups, "C11", "the number of input features");
  if (!diag.equal(rhs.shape[v.kernel_in] * v.feature_groups, lhs.shape[v.in_feature]))
    diag.fail("C14", "the kernel has " + rhs.shape[v.kernel_in].str() +
                         " input features in each of " + std::to_string(v.feature_groups) +
                         " groups, the input has " + lhs.shape[v.in_feature].str());
  divides(rhs.shape[v.kernel_out], v.batch_groups, "C15", "the number of output features");
  divides(rhs.shape[v.kernel_out], v.feature_groups, "C16", "the number of output features");
  if (lhs.dtype != rhs.dtype || lhs.dtype == DType::Bool)
    diag.fail("C27", "lhs and rhs must have one integer, float or complex element type, found " +
                         lhs.str() + " and " + rhs.str());
  TensorType out{lhs.dtype, Shape(lhs.rank())};
  out.shape[v.out_batch] = floordiv(lhs.shape[v.in_batch], v.batch_groups);
  out.shape[v.out_feature] = rhs.shape[v.kernel_out];
  for (int i = 0; i < v.spatial; ++i) {
    out.shape[v.out_spatial[i]] = num_windows(v.windows[i]);
  }
  return {out};
}

// --- evaluator -----------------------------------------------------------------------------------

// Everything as numbers. Operands are first copied into plain layouts in the accumulator type T
// (double, int64_t, complex<double>): input [batch][group][spatial...][channel], weights in tiles
// of kTile output features [group][tile][tap][channel][kTile]. Then kPos neighbouring output
// positions at a time accumulate one tile in registers.
constexpr int kTile = 4, kPos = 4;

template <class T>
T element(const Literal& l, int64_t i) {
  if constexpr (std::is_same_v<T, double>)
    return l.as_f64(i);
  else if constexpr (std::is_same_v<T, int64_t>)
    return l.as_i64(i);
  else
    return l.as_c128(i);
}
template <class T>
void set_element(Literal& l, int64_t i, T v) {
  if constexpr (std::is_same_v<T, double>)
    l.set_f64(i, v);
  else if constexpr (std::is_same_v<T, int64_t>)
    l.set_i64(i, v);
  else
    l.set_c128(i, v);
}

// dst[i] += a*b on wrapping integers without undefined overflow.
template <class T>
void multiply_add(T& acc, T a, T b) {
  if constexpr (std::is_same_v<T, int64_t>)
    acc = static_cast<int64_t>(static_cast<uint64_t>(acc) +
                               static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  else
    acc += a * b;
}

template <class T>
Literal evaluate_as(const Op& op, const Conv& v, const EvalContext& c) {
  const Literal& lhs = c.args[0];
  const Literal& rhs = c.args[1];
  Literal result(op.result()->type.dtype, c.shape(op.result()->type));
  if (result.size() == 0) return result;
  const int64_t groups = v.feature_groups * v.batch_groups;
  const int64_t batch = lhs.dims()[v.in_batch] / v.batch_groups;  // output batch
  const int64_t channels = rhs.dims()[v.kernel_in];
  const int64_t features = rhs.dims()[v.kernel_out] / groups;  // per group
  const int64_t tiles = (features + kTile - 1) / kTile;
  std::vector<WindowExtent> win;
  for (const WindowDim& w : v.windows) win.push_back(extent_of(w, c));
  std::vector<int64_t> in_dims, out_dims, tap_dims;
  for (const WindowExtent& w : win) {
    in_dims.push_back(w.in);
    tap_dims.push_back(w.window);
  }
  for (int64_t d : v.out_spatial) out_dims.push_back(result.dims()[d]);
  const int64_t in_size = element_count(in_dims);
  const int64_t taps = element_count(tap_dims);
  const int64_t positions = element_count(out_dims);
  const auto lhs_strides = row_major_strides(lhs.dims());
  const auto rhs_strides = row_major_strides(rhs.dims());
  const auto out_strides = row_major_strides(result.dims());

  // Weights.
  std::vector<T> weights(static_cast<size_t>(groups * tiles * taps * channels * kTile));
  {
    std::vector<int64_t> tap(tap_dims.size(), 0);
    for (int64_t t = 0; t < taps; ++t, next_index(tap, tap_dims)) {
      int64_t base = 0;
      for (int s = 0; s < v.spatial; ++s) base += tap[s] * rhs_strides[v.kernel_spatial[s]];
      for (int64_t g = 0; g < groups; ++g)
        for (int64_t f = 0; f < features; ++f)
          for (int64_t ch = 0; ch < channels; ++ch)
            weights[((((g * tiles + f / kTile) * taps + t) * channels) + ch) * kTile + f % kTile] =
                element<T>(rhs, base + (g * features + f) * rhs_strides[v.kernel_out] +
                                    ch * rhs_strides[v.kernel_in]);
    }
  }
  const std::vector<T> zeros(static_cast<size_t>(channels));
  std::vector<T> input(static_cast<size_t>(in_size * channels));
  std::vector<const T*> source(static_cast<size_t>(taps * kPos));
  for (int64_t n = 0; n < batch; ++n) {
    for (int64_t g = 0; g < groups; ++g) {
      // One image of one group, channels last.
      const int64_t image = v.batch_groups > 1 ? g * batch + n : n;
      const int64_t first_channel = v.feature_groups > 1 ? g * channels : 0;
      std::vector<int64_t> at(in_dims.size(), 0);
      for (int64_t i = 0; i < in_size; ++i, next_index(at, in_dims)) {
        int64_t base = image * lhs_strides[v.in_batch];
        for (int s = 0; s < v.spatial; ++s) base += at[s] * lhs_strides[v.in_spatial[s]];
        for (int64_t ch = 0; ch < channels; ++ch)
          input[i * channels + ch] =
              element<T>(lhs, base + (first_channel + ch) * lhs_strides[v.in_feature]);
      }
      std::vector<int64_t> out_at(out_dims.size(), 0);
      for (int64_t p0 = 0; p0 < positions; p0 += kPos) {
        const int64_t count = std::min<int64_t>(kPos, positions - p0);
        int64_t out_base[kPos] = {};
        std::fill(source.begin(), source.end(), zeros.data());
        for (int64_t p = 0; p < count; ++p, next_index(out_at, out_dims)) {
          out_base[p] = n * out_strides[v.out_batch];
          for (int s = 0; s < v.spatial; ++s)
            out_base[p] += out_at[s] * out_strides[v.out_spatial[s]];
          std::vector<int64_t> tap(tap_dims.size(), 0);
          for (int64_t t = 0; t < taps; ++t, next_index(tap, tap_dims)) {
            int64_t offset = 0;
            bool inside = true;
            for (int s = 0; s < v.spatial; ++s) {
              const int64_t i = win[s].input(out_at[s], tap[s]);
              inside = inside && i >= 0;
              offset = offset * in_dims[s] + i;
            }
            if (inside) source[t * kPos + p] = input.data() + offset * channels;
          }
        }
        for (int64_t tile = 0; tile < tiles; ++tile) {
          T acc[kPos][kTile] = {};
          const T* w = weights.data() + (g * tiles + tile) * taps * channels * kTile;
          for (int64_t t = 0; t < taps; ++t) {
            const T* const* in = source.data() + t * kPos;
            const T *in0 = in[0], *in1 = in[1], *in2 = in[2], *in3 = in[3];
            for (int64_t ch = 0; ch < channels; ++ch, w += kTile) {
              for (int f = 0; f < kTile; ++f) {
                multiply_add(acc[0][f], in0[ch], w[f]);
                multiply_add(acc[1][f], in1[ch], w[f]);
                multiply_add(acc[2][f], in2[ch], w[f]);
                multiply_add(acc[3][f], in3[ch], w[f]);
              }
            }
          }
          const int64_t first = g * features + tile * kTile;
          for (int64_t p = 0; p < count; ++p)
            for (int64_t f = 0; f < std::min<int64_t>(kTile, features - tile * kTile); ++f)
              set_element<T>(result, out_base[p] + (first + f) * out_strides[v.out_feature],
                             acc[p][f]);
        }
      }
    }
  }
  return result;
}

Result<std::vector<Literal>> eval(EvalContext& c) {
  const Conv v = read(*c.op);
  const DType t = c.op->operand(0)->type.dtype;
  std::vector<Literal> out;
  if (is_complex(t))
    out.push_back(evaluate_as<std::complex<double>>(*c.op, v, c));
  else if (is_integer(t))
    out.push_back(evaluate_as<int64_t>(*c.op, v, c));
  else
    out.push_back(evaluate_as<double>(*c.op, v, c));
  return out;
}

// --- lowering ------------------------------------------------------------------------------------

// With a base dilation of d only every d-th tap of a window meets an element: the same taps for all
// positions o = d * q + phase. Then position and tap are two loops each, and every round meets one.
bool has_phases(const WindowDim& w, const Dim& out) {
  return w.base_dilation > 1 && w.stride == 1 && w.window_dilation == 1 &&
         equal(mod(out, w.base_dilation), 0) == Truth::Yes;
}

struct Phase {
  loop::Expr q, phase;  // of the position
};

// For round t of the taps. `tap` is inside the window where `inside` holds.
struct PhaseAccess {
  loop::Expr tap, index, inside;
};
PhaseAccess phase_access(const WindowDim& w, EmitContext& c, const Phase& at, const loop::Expr& t) {
  using namespace loop;
  const Expr step = int_const(w.base_dilation), low = c.dim(w.low);
  const Expr first = imod(low - at.phase, step);
  PhaseAccess a;
  a.tap = first + t * step;
  a.index = at.q + t + idiv(at.phase + first - low, step);
  if (less_equal(w.low, w.base_dilation - 1) != Truth::Yes) a.inside = ge(a.index, int_const(0));
  if (less_equal(w.high, w.base_dilation - 1) != Truth::Yes)
    a.inside = both(a.inside, lt(a.index, c.dim(w.in)));
  if (equal(mod(w.window, w.base_dilation), 0) != Truth::Yes) {
    const Expr last = c.dim(w.window - 1);
    a.inside = both(a.inside, le(a.tap, last));
    a.tap = imin(a.tap, last);
  }
  if (w.reversed) a.tap = c.dim(w.window - 1) - a.tap;
  return a;
}

// Loops over the result's dimensions in its own order; with groups of several features the output
// feature loop is two, so that no index needs a division.
Status emit(EmitContext& c) {
  using namespace loop;
  const Op& op = *c.op;
  const Conv v = read(op);
  Builder& b = *c.b;
  const Shape& out = op.result()->type.shape;
  const DType t = op.result()->type.dtype;
  const DType acc_type = is_float(t) && t != DType::F64 ? DType::F32 : t;
  const int64_t groups = v.feature_groups * v.batch_groups;
  const Dim per_group = floordiv(out[v.out_feature], groups);
  const bool depthwise = equal(per_group, 1) == Truth::Yes;
  const Dim& channels = op.operand(1)->type.shape[v.kernel_in];
  const int rank = op.result()->type.rank();
  static constexpr const char* kOut[] = {"ow", "oh", "od"};
  static constexpr const char* kTap[] = {"kw", "kh", "kd"};
  const auto spatial_name = [&](const char* const* names, int s) {
    const int from_last = v.spatial - 1 - s;
    return from_last < 3 ? std::string(names[from_last])
                         : std::string(names[2]) + std::to_string(s);
  };

  std::vector<Expr> index(rank);  // of the result
  std::vector<Phase> phases(static_cast<size_t>(v.spatial));
  Expr group = int_const(0);
  const auto body = [&] {
    const Buffer acc = b.cell("acc", zero(acc_type));
    std::vector<Expr> lhs(rank), rhs(rank);
    rhs[v.kernel_out] = index[v.out_feature];
    lhs[v.in_batch] = index[v.out_batch];
    if (v.batch_groups > 1) lhs[v.in_batch] = group * c.dim(out[v.out_batch]) + lhs[v.in_batch];
    Expr inside;
    const std::function<void(int)> tap_loop = [&](int s) {
      if (s < v.spatial && phases[s].q) {
        const WindowDim& w = v.windows[s];
        b.for_(spatial_name(kTap, s), c.dim(ceildiv(w.window, w.base_dilation)), [&](Expr k) {
          const Expr before = inside;
          const PhaseAccess a = phase_access(w, c, phases[s], k);
          lhs[v.in_spatial[s]] = a.index;
          rhs[v.kernel_spatial[s]] = a.tap;
          inside = both(inside, a.inside);
          tap_loop(s + 1);
          inside = before;
        });
        return;
      }
      if (s < v.spatial) {
        b.for_(spatial_name(kTap, s), c.dim(v.windows[s].window), [&](Expr k) {
          const Expr before = inside;
          const WindowAccess a = window_access(v.windows[s], c, index[v.out_spatial[s]], k);
          lhs[v.in_spatial[s]] = a.index;
          rhs[v.kernel_spatial[s]] = k;
          inside = both(inside, a.inside);
          tap_loop(s + 1);
          inside = before;
        });
        return;
      }
      b.for_("ic", c.dim(channels), [&](Expr ic) {
        lhs[v.in_feature] = v.feature_groups > 1 ? group * c.dim(channels) + ic : ic;
        rhs[v.kernel_in] = ic;
        Expr x = c.operand(0, lhs);
        if (inside) x = guard(inside, x, zero(t));
        x = cast(x, acc_type);
        const Expr w = cast(c.operand(1, rhs), acc_type);
        b.set(acc, loop::op(Prim::Add, {b.get(acc), loop::op(Prim::Mul, {x, w})}));
      });
    };
    tap_loop(0);
    c.store(0, index, cast(b.get(acc), t));
  };
  const std::function<void(int)> out_loop = [&](int d) {
    if (d == rank) return body();
    const LoopKind kind = d == 0 && b.at_top() ? LoopKind::Parallel : LoopKind::Serial;
    if (d == v.out_feature && groups > 1) {
      b.for_(
          "g", int_const(groups),
          [&](Expr g) {
            group = g;
            if (depthwise) {
              index[d] = g;
              return out_loop(d + 1);
            }
            b.for_("oc", c.dim(per_group), [&](Expr oc) {
              index[d] = g * c.dim(per_group) + oc;
              out_loop(d + 1);
            });
            b.current().back()->independent = true;
          },
          kind);
      b.current().back()->independent = true;
      return;
    }
    std::string name = d == v.out_batch ? "n" : "oc";
    for (int s = 0; s < v.spatial; ++s) {
      if (v.out_spatial[s] != d) continue;
      name = spatial_name(kOut, s);
      if (!has_phases(v.windows[s], out[d])) continue;
      const int64_t step = v.windows[s].base_dilation;
      b.for_(
          name, c.dim(floordiv(out[d], step)),
          [&](Expr q) {
            b.for_(name + "p", int_const(step), [&](Expr phase) {
              phases[s] = {q, phase};
              index[d] = q * step + phase;
              out_loop(d + 1);
            });
            b.current().back()->independent = true;
          },
          kind);
      b.current().back()->independent = true;
      return;
    }
    b.for_(
        name, c.dim(out[d]),
        [&](Expr i) {
          index[d] = i;
          out_loop(d + 1);
        },
        kind);
    b.current().back()->independent = true;  // each round writes elements of its own
  };
  out_loop(0);
  return ok_status();
}

}  // namespace

extern const OpDef op_convolution;
const OpDef op_convolution = {
    .name = "stablehlo.convolution",
    .summary = "Dot products between windows of the input and a kernel",
    .doc =
        "Operands are the input and the kernel. The dimension numbers name the batch, feature and "
        "spatial dimensions of input, kernel and result; the kernel may have any number of spatial "
        "dimensions, none included. Padding (pairs low, high; negative crops) and dilation holes "
        "are zeros. Narrow floats accumulate in f32 and are rounded once.",
    .kind = OpKind::Window,
    .min_operands = 2,
    .max_operands = 2,
    .attrs = {{"window_strides", AttrKind::I64s, false, "default 1"},
              {"padding", AttrKind::Dims, false,
               "low and high of each spatial dimension; default 0"},
              {"lhs_dilation", AttrKind::I64s, false, "default 1"},
              {"rhs_dilation", AttrKind::I64s, false, "default 1"},
              {"window_reversal", AttrKind::Bools, false, "default false"},
              {"input_batch_dimension", AttrKind::I64},
              {"input_feature_dimension", AttrKind::I64},
              {"input_spatial_dimensions", AttrKind::I64s},
              {"kernel_input_feature_dimension", AttrKind::I64},
              {"kernel_output_feature_dimension", AttrKind::I64},
              {"kernel_spatial_dimensions", AttrKind::I64s},
              {"output_batch_dimension", AttrKind::I64},
              {"output_feature_dimension", AttrKind::I64},
              {"output_spatial_dimensions", AttrKind::I64s},
              {"feature_group_count", AttrKind::I64, false, "default 1"},
              {"batch_group_count", AttrKind::I64, false, "default 1"},
              {"precision_config", AttrKind::Strs, false,
               "a hint; read and kept, changes nothing"}},
    .infer = infer,
    .eval = eval,
    .emit = emit,
    .constraints = {"C1",  "C2",  "C3",  "C4",  "C5",  "C6",  "C7",  "C8",
                    "C9",  "C10", "C11", "C12", "C13", "C14", "C15", "C16",
                    "C17", "C18", "C19", "C20", "C21", "C22", "C23", "C27"},
};

}  // namespace tenfold
