// Contractions of 8-bit operands that were widened before (dequantized to f32, or centred in i32)
// become i32 contractions of the bytes themselves, which the machine multiplies four at a time.
//
//   sum (x - zx) (w - zw)  =  sum x w  -  zx sum w  -  zw sum x  +  n zx zw
//
// `w` is constant, so sum w is; the scales of dequantized operands multiply the result. In i32 the
// identity is exact in wrapping arithmetic. In f32 the sum of products was the only inexact part
// and is now exact, so the error shrinks.
//
// The bytes end up as the machine's instruction wants them: weights signed, activations unsigned
// (x86 vpdpbusd) or signed (Arm sdot). A byte of the other signedness is moved by 128 where it is
// made, all other users read it back, and the zero point moves along.
#include <algorithm>

#include "passes/rewrite.h"

namespace tenfold {
namespace {

bool is_byte(DType t) { return t == DType::I8 || t == DType::U8; }

// A byte tensor together with what turned it into the wide one.
struct Widened {
  Value* bytes = nullptr;
  Value* zero = nullptr;   // subtracted, of the wide tensor's shape in i32; null: none
  Value* scale = nullptr;  // multiplied, of the wide tensor's shape in f32; null: none
};

Value* other_operand(const Op* op, const Value* v) {
  return op->operand(op->operand(0) == v ? 1 : 0);
}

std::optional<Widened> widened_integer(Value* v) {
  Widened w;
  if (Op* sub = prim_of(v, Prim::Sub)) {
    w.zero = sub->operand(1);
    v = sub->operand(0);
  }
  Op* convert = def_of(v, "stablehlo.convert");
  if (!convert || v->type.dtype != DType::I32 || !is_byte(convert->operand()->type.dtype))
    return std::nullopt;
  w.bytes = convert->operand();
  return w;
}

std::optional<Widened> widened(Value* v) {
  if (v->type.dtype == DType::I32) return widened_integer(v);
  if (v->type.dtype != DType::F32) return std::nullopt;
  const auto from = [](Value* x) -> std::optional<Widened> {
    Op* convert = def_of(x, "stablehlo.convert");
    if (!convert || x->type.dtype != DType::F32) return std::nullopt;
    Value* in = convert->operand();
    if (is_byte(in->type.dtype)) return Widened{in};
    return in->type.dtype == DType::I32 ? widened_integer(in) : std::nullopt;
  };
  if (Op* mul = prim_of(v, Prim::Mul)) {
    for (Value* x : mul->operands())
      if (auto w = from(x)) {
        w->scale = other_operand(mul, x);
        return w;
      }
    return std::nullopt;
  }
  return from(v);
}

// The one number that `v` holds everywhere, as a scalar value; null when it may vary.
Value* one_value(GraphBuilder& b, Value* v) {
  if (auto s = splat_of(v)) {
    const DType t = v->type.dtype;
    return is_float(t) ? b.constant(t, *s) : b.constant_i(t, static_cast<int64_t>(*s));
  }
  Op* d = v->def();
  if (d && (d->is("stablehlo.broadcast_in_dim") || d->is("stablehlo.reshape")))
    return one_value(b, d->operand());
  if (!d || !d->is("stablehlo.convert")) {
    const bool one = v->type.is_static() && v->type.num_elements() == Dim(1);
    return one ? b.reshape(v, {}) : nullptr;
  }
  Value* s = one_value(b, d->operand());
  if (!s) return nullptr;
  const auto number = splat_of(s);
  if (number && is_byte(s->type.dtype) && is_integer(v->type.dtype))
    return b.constant_i(v->type.dtype, static_cast<int64_t>(*number));
  return b.convert(s, v->type.dtype);
}

// What the pass needs to know of a contraction's dimensions.
struct Contraction {
  Op* op = nullptr;
  int x_axis = -1;                // a contracted dimension of x that padding may lengthen
  int w_axis = -1;                // the dimension of w it goes with
  int w_feature = -1;             // the dimension of w that becomes the result's `feature`
  int feature = -1;               // -1: w has no free dimension
  std::vector<int64_t> w_summed;  // dimensions of w that are summed over
  bool grouped = false;
};

std::optional<Contraction> contraction(Op* op) {
  Contraction c;
  c.op = op;
  if (op->is("stablehlo.convolution")) {
    const auto one = [&](std::string_view name) {
      const Attr* a = op->attr(name);
      return !a || a->as<int64_t>() == 1;
    };
    if (!one("batch_group_count")) return std::nullopt;
    c.grouped = !one("feature_group_count");
    c.x_axis = static_cast<int>(op->i64("input_feature_dimension"));
    c.w_axis = static_cast<int>(op->i64("kernel_input_feature_dimension"));
    c.w_feature = static_cast<int>(op->i64("kernel_output_feature_dimension"));
    c.feature = static_cast<int>(op->i64("output_feature_dimension"));
    for (int i = 0; i < op->operand(1)->type.rank(); ++i)
      if (i != c.w_feature) c.w_summed.push_back(i);
    return c;
  }
  if (!op->is("stablehlo.dot_general")) return std::nullopt;
  const auto& contract = op->i64s("rhs_contracting_dimensions");
  if (!op->i64s("rhs_batching_dimensions").empty() || contract.size() != 1) return std::nullopt;
  c.x_axis = static_cast<int>(op->i64s("lhs_contracting_dimensions")[0]);
  c.w_axis = static_cast<int>(contract[0]);
  const int rank = op->operand(1)->type.rank();
  if (rank > 2) return std::nullopt;
  if (rank == 2) {
    c.w_feature = 1 - c.w_axis;
    c.feature = op->result()->type.rank() - 1;
  }
  c.w_summed = {c.w_axis};
  return c;
}

bool has_padding(const Op& op) {
  const Attr* a = op.attr("padding");
  if (!a) return false;
  const auto& pads = a->as<std::vector<Dim>>();
  return std::any_of(pads.begin(), pads.end(), [](const Dim& d) { return d != Dim(0); });
}

bool dilates_input(const Op& op) {
  const Attr* a = op.attr("lhs_dilation");
  if (!a) return false;
  const auto& d = a->as<std::vector<int64_t>>();
  return std::any_of(d.begin(), d.end(), [](int64_t x) { return x != 1; });
}

// Constant weights as signed bytes with their zero points (one, or one a feature).
struct Weights {
  Literal bytes;
  std::vector<int64_t> zero;
  std::vector<int64_t> sum;  // over w_summed, by feature
};

std::optional<Weights> weights_of(const Contraction& c, const Widened& w) {
  const Literal* l = constant_of(w.bytes);
  if (!l || l->size() == 0) return std::nullopt;
  const int64_t n = c.w_feature < 0 ? 1 : l->dims()[c.w_feature];
  Weights out{Literal(DType::I8, l->dims()), std::vector<int64_t>(static_cast<size_t>(n), 0),
              std::vector<int64_t>(static_cast<size_t>(n), 0)};
  if (w.zero) {
    auto z = per_index(w.zero, c.w_feature, n);
    if (!z) return std::nullopt;
    for (size_t i = 0; i < z->size(); ++i) out.zero[i] = static_cast<int64_t>((*z)[i]);
  }
  const int64_t move = l->dtype() == DType::U8 ? 128 : 0;
  for (int64_t& z : out.zero) z -= move;
  const int64_t inner = c.w_feature < 0 ? l->size() : row_major_strides(l->dims())[c.w_feature];
  for (int64_t i = 0; i < l->size(); ++i) {
    const int64_t v = l->as_i64(i) - move;
    out.bytes.set_i64(i, v);
    out.sum[static_cast<size_t>(i / inner % n)] += v;
  }
  return out;
}

class Narrower {
 public:
  Narrower(Module& m, PassContext& context) : module_(m), context_(context) {}

  bool rewrite(Op* op) {
    auto c = contraction(op);
    if (!c) return false;
    const DType result = op->result()->type.dtype;
    if (result != DType::I32 && result != DType::F32) return false;
    auto x = widened(op->operand(0)), w = widened(op->operand(1));
    if (!x || !w) return false;
    auto weights = weights_of(*c, *w);
    if (!weights) return refuse(op, "the weights or their zero points are not constant");
    const bool centred =
        std::all_of(weights->zero.begin(), weights->zero.end(), [](int64_t z) { return z == 0; });
    if (!centred && op->is("stablehlo.convolution"))
      return refuse(op, "weights of a convolution with a zero point");
    GraphBuilder b = builder_at(module_, op);
    Value* zx = x->zero ? one_value(b, x->zero) : nullptr;
    Value* sx = x->scale ? one_value(b, x->scale) : nullptr;
    if ((x->zero && !zx) || (x->scale && !sx))
      return refuse(op, "the activations have more than one scale or zero point");
    std::optional<std::vector<double>> sw;
    if (w->scale) {
      sw = per_index(w->scale, c->w_feature, static_cast<int64_t>(weights->zero.size()));
      if (!sw) return refuse(op, "the scale of the weights varies along a summed dimension");
    }
    if (zx && splat_of(zx) == 0.0) zx = nullptr;
    if (zx && has_padding(*op) && dilates_input(*op)) return refuse(op, "dilated and padded input");

    Value* bytes = with_sign(x->bytes, context_.signed_bytes);
    if (bytes != x->bytes) {
      const int64_t move = context_.signed_bytes ? -128 : 128;
      const auto number = zx ? splat_of(zx) : 0.0;
      zx = number ? b.constant_i(DType::I32, static_cast<int64_t>(*number) + move)
                  : b.binary(Prim::Add, zx, b.constant_i(DType::I32, move));
    }
    AttrDict attrs = op->attrs;
    Value* wide_w = pad_weights(b, *c, weights->bytes);
    Value* padded = pad_input(b, *c, bytes, zx, attrs);
    TensorType type{DType::I32, op->result()->type.shape};
    Value* y =
        b.create(op->def->name, {b.convert(padded, DType::I32), b.convert(wide_w, DType::I32)},
                 attrs, {type})
            ->result();
    const int64_t n = static_cast<int64_t>(weights->zero.size());
    const auto spread = [&](Literal l) {
      Value* v = b.constant(std::move(l));
      if (c->feature < 0) return b.full(b.reshape(v, {}), type.shape);
      return b.broadcast_in_dim(v, type.shape, {c->feature});
    };
    if (zx) {
      Literal sum(DType::I32, {n});
      const auto k = op->operand(0)->type.shape[static_cast<size_t>(c->x_axis)].constant();
      if (!centred && !k) return refuse(op, "a zero point of the weights and an open sum");
      const auto number = splat_of(zx);
      for (int64_t i = 0; i < n; ++i) {
        const int64_t s = weights->sum[i] - (centred ? 0 : *k * weights->zero[i]);
        sum.set_i64(i, number ? s * static_cast<int64_t>(*number) : s);
      }
      Value* zeros = spread(std::move(sum));
      if (!number) zeros = b.binary(Prim::Mul, zeros, b.full(zx, type.shape));
      y = b.binary(Prim::Sub, y, zeros);
    }
    if (!centred) {
      Literal zero(DType::I32, {n});
      for (int64_t i = 0; i < n; ++i) zero.set_i64(i, weights->zero[i]);
      Value* sum = b.reduce(Prim::Add, b.convert(bytes, DType::I32), {c->x_axis});
      std::vector<int64_t> dims;
      for (int i = 0; i < sum->type.rank(); ++i) dims.push_back(i);
      y = b.binary(Prim::Sub, y,
                   b.binary(Prim::Mul, b.broadcast_in_dim(sum, type.shape, dims), spread(zero)));
    }
    if (result == DType::F32) {
      y = b.convert(y, DType::F32);
      const auto number = sx ? splat_of(sx) : 1.0;
      Value* scale = number ? nullptr : b.full(sx, type.shape);
      if (sw || (number && *number != 1)) {
        Literal l(DType::F32, {n});
        for (int64_t i = 0; i < n; ++i)
          l.set_f64(i, static_cast<float>(number.value_or(1)) *
                           static_cast<float>(sw ? (*sw)[static_cast<size_t>(i)] : 1));
        Value* s = spread(std::move(l));
        scale = scale ? b.binary(Prim::Mul, scale, s) : s;
      }
      if (scale) y = b.binary(Prim::Mul, y, scale);
    }
    TF_CHECK(b.errors.empty(), "narrow_contractions built a wrong op");
    y->name = op->result()->name;
    op->result()->replace_all_uses_with(y);
    erase_dead(op);
    return true;
  }

 private:
  bool refuse(const Op* op, std::string why) {
    context_.remarks.push_back(op->loc.text + ": not multiplied as bytes: " + why);
    return false;
  }

  // `v` moved by 128 where it is made; everything else that read it reads it moved back, so that
  // only the new form need stand in memory.
  Value* with_sign(Value* v, bool is_signed) {
    const DType want = is_signed ? DType::I8 : DType::U8, have = v->type.dtype;
    if (have == want) return v;
    if (auto it = moved_.find(v); it != moved_.end()) return it->second;
    Op* d = v->def();
    Block* block = d ? d->parent() : v->block();
    GraphBuilder b(&module_, block);
    Op* first = block->ops.front().get();
    if (d) {
      auto next = std::next(block->iterator_of(d));
      first = next->get();
      b.loc = d->loc;
      b.origins = d->origins;
    }
    b.set_insertion(block, first);
    const auto move = [&](Value* from, DType to) {
      Value* i = b.convert(from, DType::I32);
      Value* by = b.full(b.constant_i(DType::I32, to == DType::U8 ? 128 : -128), i->type.shape);
      return b.convert(b.binary(Prim::Add, i, by), to);
    };
    std::vector<Op*> users = v->users();
    Value* to = move(v, want);
    Value* back = move(to, have);
    for (Op* u : users)
      for (int i = 0; i < u->num_operands(); ++i)
        if (u->operand(i) == v) u->set_operand(i, back);
    moved_[v] = to;
    moved_[back] = to;
    return to;
  }

  // How much the summed channels grow to be a multiple of four.
  static int64_t channels_short(const Contraction& c, const Shape& w) {
    const auto k = w[static_cast<size_t>(c.w_axis)].constant();
    return !k || c.grouped ? 0 : (4 - *k % 4) % 4;
  }

  static Value* pad_weights(GraphBuilder& b, const Contraction& c, const Literal& w) {
    const int64_t more = channels_short(c, to_shape(w.dims()));
    if (more == 0) return b.constant(w);
    std::vector<int64_t> dims = w.dims();
    const int64_t inner = row_major_strides(dims)[c.w_axis] * dims[c.w_axis];
    dims[c.w_axis] += more;
    const int64_t grown = row_major_strides(dims)[c.w_axis] * dims[c.w_axis];
    Literal out(DType::I8, dims);
    for (int64_t i = 0; i < w.size(); ++i) out.set_i64(i / inner * grown + i % inner, w.as_i64(i));
    return b.constant(std::move(out));
  }

  // The padding of the window by the zero point, and channels that meet weights of zero.
  static Value* pad_input(GraphBuilder& b, const Contraction& c, Value* x, Value* zx,
                          AttrDict& attrs) {
    const int64_t more = channels_short(c, c.op->operand(1)->type.shape);
    std::vector<Dim> low(static_cast<size_t>(x->type.rank()), 0), high = low;
    high[static_cast<size_t>(c.x_axis)] = Dim(more);
    bool pads = more > 0;
    if (has_padding(*c.op) && !dilates_input(*c.op)) {
      pads = true;
      const auto& spatial = c.op->i64s("input_spatial_dimensions");
      for (auto& [name, a] : attrs) {
        if (name != "padding") continue;
        const auto pad = a.as<std::vector<Dim>>();
        for (size_t i = 0; i < spatial.size(); ++i) {
          low[static_cast<size_t>(spatial[i])] = pad[2 * i];
          high[static_cast<size_t>(spatial[i])] = pad[2 * i + 1];
        }
        a = Attr{std::vector<Dim>(pad.size(), 0)};
      }
    }
    if (!pads) return x;
    Value* fill = zx ? b.convert(zx, x->type.dtype) : b.constant_i(x->type.dtype, 0);
    return b.pad(x, fill, low, high, std::vector<int64_t>(low.size(), 0));
  }

  Module& module_;
  PassContext& context_;
  std::unordered_map<const Value*, Value*> moved_;
};

Result<bool> run(Module& m, PassContext& context) {
  Narrower narrow(m, context);
  std::vector<Op*> work;
  for_each_op(m, [&](Op* op) {
    if (op->is("stablehlo.convolution") || op->is("stablehlo.dot_general")) work.push_back(op);
  });
  bool changed = false;
  for (Op* op : work) changed |= narrow.rewrite(op);
  return changed;
}

}  // namespace

extern const GraphPass pass_narrow_contractions;
const GraphPass pass_narrow_contractions = {
    .name = "narrow_contractions",
    .summary = "Contractions of dequantized or widened bytes multiply the bytes, exactly, in i32.",
    .why_here =
        "before scales move into weights and layouts change, while the exporter's form stands",
    .run = run,
};

}  // namespace tenfold
