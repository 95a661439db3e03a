// stablehlo.reduce_window: pooling, cumulative sums and every other reduction over sliding windows.
#include <cstring>

#include "ops/attr_util.h"
#include "ops/region_util.h"
#include "ops/window_util.h"

namespace tenfold {

namespace {

std::vector<WindowDim> read_windows(const Op& op) {
  const Shape& in = op.operand(0)->type.shape;
  const size_t rank = in.size();
  const auto window = dims_or(op, "window_dimensions", rank, 1);
  const auto strides = i64s_or(op, "window_strides", rank, 1);
  const auto base = i64s_or(op, "base_dilations", rank, 1);
  const auto dilations = i64s_or(op, "window_dilations", rank, 1);
  const auto padding = dims_or(op, "padding", 2 * rank, 0);
  std::vector<WindowDim> w;
  for (size_t i = 0; i < rank; ++i)
    w.push_back({in[i], window[i], strides[i], base[i], dilations[i], padding[2 * i],
                 padding[2 * i + 1], false});
  return w;
}

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  const int n = op.num_operands() / 2;
  if (op.num_operands() < 2 || op.num_operands() % 2 != 0) {
    diag.fail("C1", "wanted as many initial values as inputs, found " +
                        std::to_string(op.num_operands()) + " operands in all");
    return std::vector<TensorType>(n ? n : 1,
                                   op.num_operands() ? op.operand(0)->type : TensorType{});
  }
  const TensorType& first = op.operand(0)->type;
  const size_t rank = first.shape.size();
  std::vector<TensorType> guess;
  for (int i = 0; i < n; ++i) guess.push_back(op.operand(i)->type);
  std::vector<std::optional<DType>> args(2 * n), results(n);
  for (int i = 0; i < n; ++i) {
    const TensorType& in = op.operand(i)->type;
    const TensorType& init = op.operand(n + i)->type;
    if (shapes_differ(diag, in.shape, first.shape))
      diag.fail("C2", "inputs must have one shape, found " + first.str() + " and " + in.str());
    if (init.rank() != 0 || init.dtype != in.dtype)
      diag.fail("C3", "initial value " + std::to_string(i) + " is " + init.str() +
                          ", wanted tensor<" + std::string(name(in.dtype)) + ">");
  }
  const auto sized = [&](std::string_view attr, size_t found, size_t want, std::string_view label) {
    if (found != want)
      diag.fail(label, std::string(attr) + " has " + std::to_string(found) + " entries, wanted " +
                           std::to_string(want));
  };
  const auto positive = [&](std::string_view attr, std::string_view label) {
    for (int64_t x : i64s_or(op, attr, rank, 1))
      if (x <= 0)
        diag.fail(label, std::string(attr) + " must be positive, found " + std::to_string(x));
  };
  const auto window = dims_or(op, "window_dimensions", rank, 1);
  sized("window_dimensions", window.size(), rank, "C4");
  for (const Dim& d : window)
    if (!diag.at_most(1, d))
      diag.fail("C5", "window_dimensions must be positive, found " + d.str());
  sized("window_strides", i64s_or(op, "window_strides", rank, 1).size(), rank, "C6");
  positive("window_strides", "C7");
  sized("base_dilations", i64s_or(op, "base_dilations", rank, 1).size(), rank, "C8");
  positive("base_dilations", "C9");
  sized("window_dilations", i64s_or(op, "window_dilations", rank, 1).size(), rank, "C10");
  positive("window_dilations", "C11");
  sized("padding", dims_or(op, "padding", 2 * rank, 0).size(), 2 * rank, "C12");
  if (op.num_regions() != 1) {
    diag.fail("C13", "wanted one body region");
    return guess;
  }
  check_scalar_region(*op.region(), args, results, "C13", "body", diag);
  if (!diag.ok()) return guess;
  Shape shape;
  for (const WindowDim& w : read_windows(op)) shape.push_back(num_windows(w));
  std::vector<TensorType> out;
  for (int i = 0; i < n; ++i) {
    const DType t = op.region()->results()[i]->type.dtype;
    for (int k : {i, n + i})
      if (op.region()->args[k]->type.dtype != t)
        diag.fail("C13", "body: argument " + std::to_string(k) + " and result " +
                             std::to_string(i) + " must have one type");
    out.push_back({t, shape});
  }
  return out;
}

// A window that covers everything up to (or from) its position: a running reduction along one
// dimension. Only where the body is a known associative primitive and padding cannot be felt.
struct Scan {
  int dim;
  bool reverse;
};
std::optional<Scan> scan_shape(const Op& op, const Literal* init) {
  if (op.num_operands() != 2 || !init) return std::nullopt;
  const std::optional<Prim> p = region_prim(*op.region());
  if (!p || op.region()->args[0]->type.dtype != op.operand()->type.dtype) return std::nullopt;
  const std::optional<Literal> id = identity_of(*p, init->dtype());
  if (!id || !id->same(*init)) return std::nullopt;
  std::optional<Scan> scan;
  const auto windows = read_windows(op);
  for (size_t d = 0; d < windows.size(); ++d) {
    const WindowDim& w = windows[d];
    if (w.stride != 1 || w.base_dilation != 1 || w.window_dilation != 1) return std::nullopt;
    if (w.window == Dim(1) && w.low == Dim(0) && w.high == Dim(0)) continue;
    if (scan || !(w.window == w.in)) return std::nullopt;
    const Dim reach = w.in - 1;
    if (w.low == reach && w.high == Dim(0))
      scan = Scan{static_cast<int>(d), false};
    else if (w.low == Dim(0) && w.high == reach)
      scan = Scan{static_cast<int>(d), true};
    else
      return std::nullopt;
  }
  return scan;
}

// --- evaluator -----------------------------------------------------------------------------------

Literal evaluate_scan(const Literal& x, Prim p, const Scan& s) {
  Literal out(x.dtype(), x.dims());
  const int64_t size = byte_size(x.dtype());
  const auto strides = row_major_strides(x.dims());
  const int64_t n = x.dims()[s.dim];
  const int64_t inner = strides[s.dim];
  const int64_t block = n * inner;
  std::byte* o = out.mutable_bytes();
  for (int64_t base = 0; base < x.size(); base += block) {
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = base + (s.reverse ? n - 1 - i : i) * inner;
      const int64_t before = at + (s.reverse ? inner : -inner);
      if (i == 0) {
        std::memcpy(o + at * size, x.bytes() + at * size, static_cast<size_t>(inner * size));
        continue;
      }
      const void* args[] = {o + before * size, x.bytes() + at * size};
      const int64_t unit[] = {1, 1};
      apply(p, x.dtype(), args, unit, o + at * size, inner);
    }
  }
  return out;
}

Result<std::vector<Literal>> eval(EvalContext& c) {
  const Op& op = *c.op;
  const int n = op.num_operands() / 2;
  const Block& body = *op.region();
  if (const std::optional<Scan> s = scan_shape(op, &c.args[1]); s && c.args[0].size() > 0)
    return std::vector<Literal>{evaluate_scan(c.args[0], *region_prim(body), *s)};

  std::vector<WindowExtent> windows;
  std::vector<int64_t> window_dims;
  for (const WindowDim& w : read_windows(op)) {
    windows.push_back(extent_of(w, c));
    window_dims.push_back(windows.back().window);
  }
  const size_t rank = windows.size();
  std::vector<Literal> acc, in, init;
  for (int i = 0; i < n; ++i) {
    const DType t = op.result(i)->type.dtype;
    init.push_back(convert(c.args[n + i], t));
    in.push_back(convert(c.args[i], t));
    Literal l(t, c.shape(op.result(i)->type));
    const size_t size = static_cast<size_t>(byte_size(t));
    std::byte* p = l.mutable_bytes();
    for (int64_t e = 0; e < l.size(); ++e) std::memcpy(p + e * size, init[i].bytes(), size);
    acc.push_back(std::move(l));
  }
  if (acc[0].size() == 0) return acc;
  const auto strides = row_major_strides(in[0].dims());
  const std::vector<int64_t>& out_dims = acc[0].dims();
  const std::optional<Prim> prim = n == 1 ? region_prim(body) : std::nullopt;
  ScalarRegion region(c, body);
  std::vector<std::byte*> acc_bytes;
  for (Literal& l : acc) acc_bytes.push_back(l.mutable_bytes());

  // One tap of the window at a time, over all windows: the order within each window stays the
  // row-major one.
  std::vector<int64_t> source(static_cast<size_t>(acc[0].size()));
  std::vector<std::byte> gathered;
  std::vector<int64_t> tap(rank, 0);
  do {
    std::vector<int64_t> at(rank, 0);
    size_t e = 0;
    do {
      int64_t offset = 0;
      for (size_t d = 0; d < rank && offset >= 0; ++d) {
        const int64_t i = windows[d].input(at[d], tap[d]);
        offset = i < 0 ? -1 : offset + i * strides[d];
      }
      source[e++] = offset;
    } while (next_index(at, out_dims));
    if (prim) {
      const size_t size = static_cast<size_t>(byte_size(in[0].dtype()));
      gathered.resize(source.size() * size);
      for (size_t k = 0; k < source.size(); ++k)
        std::memcpy(gathered.data() + k * size,
                    source[k] < 0 ? init[0].bytes() : in[0].bytes() + source[k] * size, size);
      const void* args[] = {acc_bytes[0], gathered.data()};
      const int64_t unit[] = {1, 1};
      apply(*prim, in[0].dtype(), args, unit, acc_bytes[0], acc[0].size());
      continue;
    }
    std::vector<const std::byte*> args(2 * n);
    std::vector<std::byte*> outs(n);
    for (size_t k = 0; k < source.size(); ++k) {
      for (int i = 0; i < n; ++i) {
        const size_t size = static_cast<size_t>(byte_size(in[i].dtype()));
        outs[i] = acc_bytes[i] + k * size;
        args[i] = outs[i];
        args[n + i] = source[k] < 0 ? init[i].bytes() : in[i].bytes() + source[k] * size;
      }
      TF_TRY(region.call(args, outs));
    }
  } while (next_index(tap, window_dims));
  return acc;
}

// --- lowering ------------------------------------------------------------------------------------

void emit_scan(EmitContext& c, const Scan& s) {
  using namespace loop;
  Builder& b = *c.b;
  const Shape& shape = c.op->result()->type.shape;
  std::vector<Expr> outer;
  for (size_t d = 0; d < shape.size(); ++d)
    if (static_cast<int>(d) != s.dim) outer.push_back(c.dim(shape[d]));
  b.nest("i", outer, [&](const std::vector<Expr>& at) {
    const Buffer acc = b.cell("acc", c.operand(1, {}));
    b.for_("s", c.dim(shape[s.dim]), [&](Expr i) {
      std::vector<Expr> index = at;
      index.insert(index.begin() + s.dim, s.reverse ? c.dim(shape[s.dim] - 1) - i : i);
      b.set(acc, c.inline_region(*c.op->region(), {b.get(acc), c.operand(0, index)})[0]);
      c.store(0, index, b.get(acc));
    });
  });
}

Status emit(EmitContext& c) {
  using namespace loop;
  const Op& op = *c.op;
  Builder& b = *c.b;
  const int n = op.num_operands() / 2;
  if (const std::optional<Scan> s = scan_shape(op, constant_of(*op.operand(n)))) {
    emit_scan(c, *s);
    return ok_status();
  }
  const auto windows = read_windows(op);
  const int rank = static_cast<int>(windows.size());
  std::vector<Expr> shape;
  for (const Dim& d : op.result()->type.shape) shape.push_back(c.dim(d));
  b.nest("o", shape, [&](const std::vector<Expr>& at) {
    std::vector<Buffer> acc;
    for (int i = 0; i < n; ++i)
      acc.push_back(b.cell("acc", cast(c.operand(n + i, {}), op.result(i)->type.dtype)));
    std::vector<Expr> index(rank);
    Expr inside;
    const std::function<void(int)> taps = [&](int d) {
      if (d < rank) {
        const auto visit = [&](Expr k) {
          const Expr before = inside;
          const WindowAccess a = window_access(windows[d], c, at[d], k);
          index[d] = a.index;
          inside = both(inside, a.inside);
          taps(d + 1);
          inside = before;
        };
        if (windows[d].window == Dim(1))
          visit(int_const(0));
        else
          b.for_("k", c.dim(windows[d].window), visit);
        return;
      }
      std::vector<Expr> args;
      for (int i = 0; i < n; ++i) args.push_back(b.get(acc[i]));
      for (int i = 0; i < n; ++i) {
        Expr x = c.operand(i, index);
        if (inside) x = guard(inside, x, c.operand(n + i, {}));
        args.push_back(cast(x, op.result(i)->type.dtype));
      }
      std::vector<Expr> next = c.inline_region(*op.region(), args);
      if (n > 1)
        for (Expr& e : next) e = b.let("next", e);
      for (int i = 0; i < n; ++i) b.set(acc[i], next[i]);
    };
    taps(0);
    for (int i = 0; i < n; ++i) c.store(i, at, b.get(acc[i]));
  });
  return ok_status();
}

}  // namespace

extern const OpDef op_reduce_window;
const OpDef op_reduce_window = {
    .name = "stablehlo.reduce_window",
    .summary = "Reduces every window of a sliding window",
    .doc =
        "Operands are N inputs of one shape and N scalar initial values; the body combines N "
        "accumulators and N elements. Padding and dilation holes hold the initial values. A window "
        "as long as the dimension with padding (n - 1, 0) or (0, n - 1) is a running reduction and "
        "takes linear time when the body is an associative primitive and the initial value its "
        "identity.",
    .kind = OpKind::Window,
    .min_operands = 2,
    .max_operands = -1,
    .num_results = -1,
    .num_regions = 1,
    .attrs = {{"window_dimensions", AttrKind::Dims, true, {}, AttrRole::PerDim},
              {"window_strides", AttrKind::I64s, false, "default 1", AttrRole::PerDim},
              {"base_dilations", AttrKind::I64s, false, "default 1", AttrRole::PerDim},
              {"window_dilations", AttrKind::I64s, false, "default 1", AttrRole::PerDim},
              {"padding", AttrKind::Dims, false, "low and high of each dimension; default 0",
               AttrRole::PerDimPair}},
    .infer = infer,
    .eval = eval,
    .emit = emit,
    .any_layout = true,
    .constraints = {"C1", "C2", "C3", "C4", "C5", "C6", "C7", "C8", "C9", "C10", "C11", "C12",
                    "C13"},
};

}  // namespace tenfold
