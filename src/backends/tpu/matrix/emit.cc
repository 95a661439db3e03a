// See emit.h.
#include "backends/tpu/matrix/emit.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "fmt/format.h"
#include "runtime/arena.h"

namespace tenfold::tpu::matrix {

namespace {

constexpr int kNumberShift = 40;
constexpr int64_t kLine = 1024;  // tensors start on lines that the machine follows by themselves

size_t z(int64_t i) { return static_cast<size_t>(i); }

}  // namespace

std::vector<int64_t> Tensor::strides() const {
  std::vector<int64_t> s(dims.size());
  int64_t step = 1;
  for (size_t i = order.size(); i-- > 0;) {
    s[z(order[i])] = step;
    step *= dims[z(order[i])];
  }
  return s;
}
int64_t Tensor::bytes() const {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

Tensor Emitter::make(std::vector<int64_t> dims, std::vector<int64_t> order) {
  Tensor t{static_cast<int64_t>(lives_.size()) << kNumberShift, std::move(dims), std::move(order)};
  const auto now = static_cast<int32_t>(program.insts.size());
  lives_.push_back({(t.bytes() + kLine - 1) / kLine * kLine, now, now});
  return t;
}

void Emitter::touch(int64_t address) {
  lives_[z(address >> kNumberShift)].last = static_cast<int32_t>(program.insts.size());
}

void Emitter::inst(Opcode op, std::initializer_list<int64_t> a) {
  Inst i{op, {}};
  std::copy(a.begin(), a.end(), i.a.begin());
  program.insts.push_back(i);
}

int64_t Emitter::add_data(const void* bytes, size_t n) {
  const auto at = static_cast<int64_t>(program.data.size());
  program.data.append(static_cast<const char*>(bytes), n);
  return at;
}

Result<Tensor> Emitter::on_chip(const Value* v) {
  if (!tensors.contains(v)) TF_TRY(fetch(v));
  return tensors.at(v);
}

Result<Tensor> Emitter::on_chip(const Value* v, const std::vector<int64_t>& order) {
  TF_ASSIGN(const Tensor t, on_chip(v));
  const auto same = [&] {  // dimensions of one element may stand anywhere
    std::vector<int64_t> a, b;
    for (const int64_t d : t.order) {
      if (t.dims[z(d)] != 1) a.push_back(d);
    }
    for (const int64_t d : order) {
      if (t.dims[z(d)] != 1) b.push_back(d);
    }
    return a == b;
  };
  if (same()) return t;
  const Tensor out = make(t.dims, order);
  const Piece whole{std::vector<int64_t>(t.dims.size(), 0), t.dims, {{v, 0, t.strides()}}, {}};
  TF_TRY(write_piece(whole, out, -1, 256));
  return out;
}

StridesOf Emitter::strides_of() {
  return [this](const Value* leaf) {
    if (!tensors.contains(leaf)) TF_CHECK(fetch(leaf).ok());
    return tensors.at(leaf).strides();
  };
}

// The copy stands for the leaf until restore(): functions still know it by the leaf.
Densify Emitter::densify() {
  return [this](const Value*, const Piece& piece) {
    std::vector<int64_t> order(piece.dims.size());
    std::iota(order.begin(), order.end(), 0);
    const Value* leaf = piece.in[0].leaf;
    const Tensor t = make(piece.dims, order);
    TF_CHECK(write_piece(piece, t, -1, 256).ok());
    moved_.try_emplace(leaf, tensors.at(leaf));
    tensors[leaf] = t;
    return Access{leaf, 0, t.strides()};
  };
}

void Emitter::restore() {
  for (const auto& [leaf, tensor] : moved_) tensors[leaf] = tensor;
  moved_.clear();
}

// ---- elementwise and copies ---------------------------------------------------------------------

Status Emitter::write_piece(const Piece& piece, const Tensor& out, int64_t table, int64_t fill) {
  View v;
  v.table = table;
  v.fill = fill;
  const auto to = out.strides();
  v.to = out.base;
  for (size_t d = 0; d < out.dims.size(); ++d) v.to += piece.start[d] * to[d];
  touch(v.to);
  if (fill == 256) {
    TF_ASSIGN(const Tensor a, on_chip(piece.in[0].leaf));
    v.from = a.base + piece.in[0].offset;
    touch(v.from);
    if (piece.in.size() > 1) {
      TF_ASSIGN(const Tensor b, on_chip(piece.in[1].leaf));
      v.from2 = b.base + piece.in[1].offset;
      touch(v.from2);
    }
  }
  // Loops in the result's order; neighbours that one stride describes become one.
  struct Loop {
    int64_t count, a, b, to;
  };
  std::vector<Loop> loops;
  for (const int64_t d : out.order) {
    const int64_t n = piece.dims[z(d)];
    if (n == 1) continue;
    const Loop l{n, fill == 256 ? piece.in[0].strides[z(d)] : 0,
                 piece.in.size() > 1 ? piece.in[1].strides[z(d)] : 0, to[z(d)]};
    if (!loops.empty() && loops.back().a == l.a * n && loops.back().b == l.b * n &&
        loops.back().to == l.to * n) {
      loops.back() = {loops.back().count * n, l.a, l.b, l.to};
    } else {
      loops.push_back(l);
    }
  }
  TF_CHECK(loops.size() <= 6);
  for (size_t i = 0; i < loops.size(); ++i) {
    const size_t k = 6 - loops.size() + i;
    v.count[k] = loops[i].count;
    v.stride[k] = loops[i].a;
    v.stride2[k] = loops[i].b;
    v.to_stride[k] = loops[i].to;
  }
  inst(Opcode::Map, {add(program.views, v)});
  return ok_status();
}

Status Emitter::write_pieces(const Value* v, const Value* root, const std::vector<Piece>& pieces,
                             const Tensor& out, bool plain, int64_t fill) {
  for (const Piece& piece : pieces) {
    if (plain || (!values_ && !piece.in.empty())) {  // bytes as they are
      TF_TRY(write_piece(piece, out, -1, piece.in.empty() ? fill : 256));
      continue;
    }
    // Every value of each leaf, the second innermost.
    const int64_t n = piece.in.size() > 1 ? 65536 : 256;
    std::vector<Literal> leaves;
    for (size_t i = 0; i < piece.in.size(); ++i) {
      Literal l(piece.in[i].leaf->type.dtype, {n});
      auto* bytes = reinterpret_cast<uint8_t*>(l.mutable_bytes());
      for (int64_t k = 0; k < n; ++k) {
        bytes[k] = static_cast<uint8_t>(piece.in.size() > 1 && i == 0 ? k >> 8 : k);
      }
      leaves.push_back(std::move(l));
    }
    const auto f = planner_.function(v, root, piece, leaves);
    TF_CHECK(f, "a function that was planned: " + planner_.why());
    const auto* table = reinterpret_cast<const uint8_t*>(f->bytes());
    if (piece.in.empty()) {
      TF_TRY(write_piece(piece, out, -1, static_cast<int8_t>(table[0])));
      continue;
    }
    bool identity = piece.in.size() == 1;
    for (int64_t k = 0; identity && k < 256; ++k) identity = table[k] == k;
    const int64_t at = identity ? -1 : add_data(table, z(n));
    TF_TRY(write_piece(piece, out, at, 256));
  }
  return ok_status();
}

Status Emitter::map(const Value* v) {
  std::vector<Piece> pieces;
  TF_CHECK(planner_.pieces(v, v, strides_of(), densify(), pieces), planner_.why());
  const std::vector<int64_t> dims = dims_of(v);

  // A copy that moves nothing is another name for the same bytes.
  const auto order = usual_order(static_cast<int64_t>(dims.size()));
  if (pieces.size() == 1 && pieces[0].in.size() == 1 && v->def() &&
      (v->def()->is("stablehlo.reshape") || v->def()->is("stablehlo.transpose"))) {
    Tensor t = tensors.at(pieces[0].in[0].leaf);
    Tensor named{t.base + pieces[0].in[0].offset, dims, order};
    std::vector<int64_t> wanted = named.strides(), found = pieces[0].in[0].strides;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (dims[d] == 1) wanted[d] = found[d] = 0;
    }
    const bool direct = is_int8(v->def()->operand()->type.dtype);
    if (direct && wanted == found && named.bytes() == t.bytes()) {
      restore();
      tensors[v] = named;
      return ok_status();
    }
  }
  const Tensor out = make(dims, order);
  TF_TRY(write_pieces(v, v, pieces, out, false, 0));
  restore();
  tensors[v] = out;
  return ok_status();
}

// ---- products -----------------------------------------------------------------------------------

Result<Tensor> Emitter::left_operand(const Product& p, const std::vector<int64_t>& order) {
  const Value* x = p.x;
  if (dims_of(x) == dims_of(p.left.q) && match_centred(x, c_)) return on_chip(p.left.q, order);
  // Through views (pads included): a copy of the bytes, the padding being the zero point.
  std::vector<Piece> pieces;
  TF_CHECK(planner_.pieces(x, x, strides_of(), densify(), pieces), planner_.why());
  const Tensor out = make(dims_of(x), order);
  Status s = write_pieces(x, x, pieces, out, true, static_cast<int64_t>(p.left.zero));
  restore();
  TF_TRY(s);
  return out;
}

Status Emitter::product(const Value* v, const Product& p) {
  const Op& op = *p.op;
  Window w;
  w.zero = static_cast<int64_t>(p.left.zero);
  w.is_signed = p.left.q->type.dtype == DType::I8 ? 1 : 0;
  const std::vector<int64_t> dims = dims_of(op.operand(0)), out_dims = dims_of(op.result());
  std::vector<int64_t> order, out_order;
  int64_t features = 0;
  if (op.is("stablehlo.convolution")) {
    const auto& in = op.i64s("input_spatial_dimensions");
    const auto& out = op.i64s("output_spatial_dimensions");
    const auto& kernel = op.i64s("kernel_spatial_dimensions");
    const size_t n = in.size();
    order = {op.i64("input_batch_dimension")};
    order.insert(order.end(), in.begin(), in.end());
    order.push_back(op.i64("input_feature_dimension"));
    out_order = {op.i64("output_batch_dimension")};
    out_order.insert(out_order.end(), out.begin(), out.end());
    out_order.push_back(op.i64("output_feature_dimension"));
    features = out_dims[z(out_order.back())];
    w.batch = dims[z(order[0])];
    w.pixel_stride = dims[z(order.back())];
    const auto strides = numbers_or(op, "window_strides", n, 1);
    const auto dilation = numbers_or(op, "rhs_dilation", n, 1);
    const auto padding = numbers_or(op, "padding", 2 * n, 0);
    if (n >= 1) {  // the last spatial dimension is x
      w.width = dims[z(in[n - 1])];
      w.out_width = out_dims[z(out[n - 1])];
      w.kernel_width = p.weight_dims[z(kernel[n - 1])];
      w.stride_x = strides[n - 1];
      w.dilation_x = dilation[n - 1];
      w.pad_x = padding[2 * (n - 1)];
    }
    if (n == 2) {
      w.height = dims[z(in[0])];
      w.out_height = out_dims[z(out[0])];
      w.kernel_height = p.weight_dims[z(kernel[0])];
      w.stride_y = strides[0];
      w.dilation_y = dilation[0];
      w.pad_y = padding[0];
    }
  } else {
    order.resize(dims.size());
    std::iota(order.begin(), order.end(), 0);
    out_order.resize(out_dims.size());
    std::iota(out_order.begin(), out_order.end(), 0);
    w.pixel_stride = dims.back();
    w.batch = std::accumulate(dims.begin(), dims.end() - 1, int64_t{1}, std::multiplies<>());
    features = out_dims.back();
  }
  TF_ASSIGN(const Tensor x, left_operand(p, order));
  w.buffer = x.base;
  // What follows the product (rescaling) keeps its shape, so its dimensions are the result's.
  const Tensor out = make(out_dims, out_order);
  if (w.rows() > 0 && features > 0) multiply(w, p, out, features);
  touch(x.base);
  tensors[v] = out;
  return ok_status();
}

void Emitter::multiply(const Window& w, const Product& p, const Tensor& out, int64_t features) {
  const Op& op = *p.op;
  const int64_t dim = chip_.mxu_dim, taps = w.kernel_height * w.kernel_width;
  const Attr* g = op.attr("feature_group_count");
  const int64_t groups = g && g->present() ? g->as<int64_t>() : 1;
  const int64_t in = w.pixel_stride / groups, n_group = features / groups;

  // The weights as [tap][input feature of the group][output feature], whatever their order is.
  std::vector<int64_t> perm;  // of the weights' dimensions
  if (op.is("stablehlo.convolution")) {
    perm = op.i64s("kernel_spatial_dimensions");
    perm.push_back(op.i64("kernel_input_feature_dimension"));
    perm.push_back(op.i64("kernel_output_feature_dimension"));
  } else {
    const int64_t k = op.i64s("rhs_contracting_dimensions")[0];
    perm = {k, 1 - k};
  }
  std::vector<int64_t> steps(perm.size());
  const std::vector<int64_t> dense = row_major_strides(p.weight_dims);
  for (size_t i = 0; i < perm.size(); ++i) steps[i] = dense[z(perm[i])];
  const int8_t* source = values_ ? reinterpret_cast<const int8_t*>(p.weights.bytes()) : nullptr;
  const auto weight = [&](int64_t tap, int64_t c, int64_t feature) {
    int64_t at = c * steps[steps.size() - 2] + feature * steps.back();
    if (steps.size() == 4) {
      at += tap / w.kernel_width * steps[0] + tap % w.kernel_width * steps[1];
    } else if (steps.size() == 3) {
      at += tap * steps[0];
    }
    return source[at];
  };

  // Groups side by side while their block-diagonal weights fit one tile.
  const int64_t side =
      groups == 1 ? 1 : std::clamp<int64_t>(std::min(dim / (taps * in), dim / n_group), 1, groups);
  // Numbers by column: the bias less the zero point's share, and the scale.
  std::vector<int32_t> bias(z(features), 0);
  std::vector<float> scale(z(features), 1);
  for (int64_t f = 0; f < features; ++f) {
    uint32_t b = 0;
    if (!p.bias.empty()) {
      b = static_cast<uint32_t>(static_cast<int64_t>(p.bias[p.bias.size() == 1 ? 0 : z(f)]));
    }
    if (values_ && w.zero != 0) {
      int64_t sum = 0;
      for (int64_t t = 0; t < taps; ++t) {
        for (int64_t c = 0; c < in; ++c) sum += weight(t, c, f);
      }
      b -= static_cast<uint32_t>(sum * w.zero);
    }
    bias[z(f)] = static_cast<int32_t>(b);
    scale[z(f)] = static_cast<float>(p.scale[p.scale.size() == 1 ? 0 : z(f)]);
  }
  Activation a;
  a.bias = add_data(bias.data(), bias.size() * 4);
  a.scale = add_data(scale.data(), scale.size() * 4);
  a.zero = p.zero;
  a.low = p.low;
  a.high = p.high;
  const int64_t function = add(program.activations, a);
  const int64_t window = add(program.windows, w);

  const int64_t half = chip_.accumulator_rows / 2, rows = w.rows();
  const int64_t blocks = (rows + half - 1) / half;
  const int64_t block = (rows + blocks - 1) / blocks;
  for (int64_t group = 0; group < groups; group += side) {
    const int64_t beside = std::min(side, groups - group);
    const int64_t channels = beside * in, columns = beside * n_group, depth = taps * channels;
    int64_t data = -1;
    if (values_) {  // [depth][columns], zeros between groups
      std::string bytes(z(depth * columns), '\0');
      for (int64_t k = 0; k < depth; ++k) {
        for (int64_t f = 0; f < columns; ++f) {
          const int64_t c = k % channels;
          if (c / in != f / n_group) continue;
          bytes[z(k * columns + f)] =
              static_cast<char>(weight(k / channels, c % in, group * n_group + f));
        }
      }
      data = add_data(bytes.data(), bytes.size());
    }
    std::vector<int64_t> tiles;  // by column block, then depth block
    for (int64_t n = 0; n < columns; n += dim) {
      for (int64_t k = 0; k < depth; k += dim) {
        Tile t;
        t.data = data < 0 ? -1 : data + k * columns + n;
        t.row_stride = columns;
        t.k = std::min(dim, depth - k);
        t.n = std::min(dim, columns - n);
        t.first_k = k;
        t.channel = group * in;
        t.channels = channels;
        t.useful = beside == 1 ? t.k * t.n : taps * in * columns;
        tiles.push_back(add(program.tiles, t));
      }
    }
    const int64_t deep = (depth + dim - 1) / dim;
    for (int64_t first = 0; first < rows; first += block) {
      const int64_t count = std::min(block, rows - first);
      for (int64_t n = 0; n < columns; n += dim) {
        const int64_t sums = flip_ * half;
        flip_ = 1 - flip_;
        for (int64_t k = 0; k < deep; ++k) {
          inst(Opcode::ReadWeights, {tiles[z(n / dim * deep + k)]});
          inst(Opcode::Multiply, {window, first, count, sums, kLoad | (k > 0 ? kAdd : 0)});
        }
        touch(out.base);
        const int64_t column = group * n_group + n;
        inst(Opcode::Activate, {sums, count, std::min(dim, columns - n), function, column,
                                out.base + first * features + column, features});
      }
    }
  }
}

Status Emitter::pool(const Value* v, const PoolPlan& p) {
  const Op& op = *p.op;
  const std::vector<int64_t> dims = dims_of(p.x);
  TF_ASSIGN(const Tensor x, on_chip(p.x, usual_order(static_cast<int64_t>(dims.size()))));
  Window w;
  w.buffer = x.base;
  w.is_signed = p.x->type.dtype == DType::I8 ? 1 : 0;
  Pool q;
  q.mean = p.mean ? 1 : 0;
  q.scale = static_cast<float>(p.in.scale ? c_.splat(p.in.scale).value_or(1) : 1);
  q.divisor = static_cast<float>(p.divisor);
  q.out_scale = static_cast<float>(p.out_scale);
  q.zero = static_cast<int64_t>(p.in.zero);
  q.out_zero = p.zero;
  q.low = p.low;
  q.high = p.high;
  const int64_t channel = x.order.back();
  q.channels = w.pixel_stride = dims[z(channel)];
  std::vector<int64_t> out_dims;
  std::vector<int64_t> out_order = x.order;
  if (op.is("stablehlo.reduce_window")) {
    const auto at = [&](std::string_view name, int64_t d, int64_t fallback) {
      return numbers_or(op, name, dims.size(), fallback)[z(d)];
    };
    const int64_t y = x.order[1], xx = x.order[2];
    const auto padding = numbers_or(op, "padding", 2 * dims.size(), 0);
    out_dims = dims_of(op.result());
    w.batch = dims[z(x.order[0])];
    w.height = dims[z(y)];
    w.width = dims[z(xx)];
    w.out_height = out_dims[z(y)];
    w.out_width = out_dims[z(xx)];
    w.kernel_height = at("window_dimensions", y, 1);
    w.kernel_width = at("window_dimensions", xx, 1);
    w.stride_y = at("window_strides", y, 1);
    w.stride_x = at("window_strides", xx, 1);
    w.dilation_y = at("window_dilations", y, 1);
    w.dilation_x = at("window_dilations", xx, 1);
    w.pad_y = padding[z(2 * y)];
    w.pad_x = padding[z(2 * xx)];
  } else {  // the reduced dimensions are one window
    const auto& reduced = op.i64s("dimensions");
    out_dims = dims;
    for (const int64_t d : reduced) {
      w.kernel_width *= dims[z(d)];
      out_dims[z(d)] = 1;
    }
    w.width = w.kernel_width;
    w.batch = x.bytes() / q.channels / w.width;
  }
  q.to_stride = q.channels;
  q.window = add(program.windows, w);
  Tensor out = make(out_dims, out_order);
  q.to = out.base;
  touch(x.base);
  touch(out.base);
  inst(Opcode::Pool, {add(program.pools, q)});
  // The value itself may have dropped or kept the dimensions of one element; its bytes do not move.
  if (dims_of(v) != out_dims) {
    out.dims = dims_of(v);
    out.order.resize(out.dims.size());
    std::iota(out.order.begin(), out.order.end(), 0);
  }
  if (p.table && values_) {  // the rest of the function, which rises with its operand
    Piece piece{std::vector<int64_t>(out.dims.size(), 0), out.dims, {{p.x, 0, out.strides()}}, {}};
    Literal all(p.x->type.dtype, {256});
    auto* bytes = reinterpret_cast<uint8_t*>(all.mutable_bytes());
    for (int k = 0; k < 256; ++k) bytes[k] = static_cast<uint8_t>(k);
    const auto f = planner_.function(v, v, piece, {all});
    TF_CHECK(f, planner_.why());
    const auto* table = reinterpret_cast<const uint8_t*>(f->bytes());
    bool identity = true;
    for (int k = 0; identity && k < 256; ++k) identity = table[k] == k;
    if (!identity) {
      const Tensor mapped = make(out.dims, out.order);
      const Tensor saved = tensors.at(p.x);
      tensors[p.x] = out;
      Status s = write_piece(piece, mapped, add_data(table, 256), 256);
      tensors[p.x] = saved;
      TF_TRY(s);
      out = mapped;
    }
  }
  tensors[v] = out;
  return ok_status();
}

Status Emitter::emit(const Value* v, const Plan& plan) {
  Range range;
  range.first = static_cast<uint32_t>(program.insts.size());
  if (auto* p = std::get_if<Product>(&plan.what)) {
    range.kind = p->op->is("stablehlo.convolution") ? "convolution" : "dot_general";
    TF_TRY(product(v, *p));
  } else if (auto* q = std::get_if<PoolPlan>(&plan.what)) {
    range.kind = q->mean ? "mean" : "max_pool";
    TF_TRY(pool(v, *q));
  } else {
    range.kind = "elementwise";
    TF_TRY(map(v));
  }
  range.end = static_cast<uint32_t>(program.insts.size());
  const Op& op = *v->def();
  range.name = !op.origins.empty() ? op.origins.back() : !v->name.empty() ? v->name : op.loc.text;
  std::replace_if(range.name.begin(), range.name.end(), [](char c) { return c == ' '; }, '_');
  if (range.name.empty()) range.name = fmt::format("{}_{}", range.kind, program.ranges.size());
  if (range.end > range.first) program.ranges.push_back(std::move(range));
  return ok_status();
}

Status Emitter::finish() {
  std::vector<rt::ArenaItem> items;
  for (const Life& l : lives_) items.push_back({l.bytes, l.first, l.last, 0});
  std::vector<rt::ArenaItem*> refs;
  for (rt::ArenaItem& i : items) refs.push_back(&i);
  program.buffer_bytes = rt::place(refs);
  if (program.buffer_bytes > chip_.unified_buffer_bytes) {
    return Error{"matrix-memory",
                 fmt::format("the activations need {} bytes on the chip at their peak, {} has {}; "
                             "use a smaller batch or image",
                             program.buffer_bytes, chip_.name, chip_.unified_buffer_bytes),
                 {},
                 {}};
  }
  const auto fix = [&](int64_t& address) {
    if (address < 0) return;
    const int64_t number = address >> kNumberShift;
    address = items[z(number)].offset + (address & ((int64_t{1} << kNumberShift) - 1));
  };
  for (Window& w : program.windows) fix(w.buffer);
  for (View& v : program.views) {
    if (v.fill == 256) fix(v.from);
    fix(v.from2);
    fix(v.to);
  }
  for (Pool& p : program.pools) fix(p.to);
  for (Inst& i : program.insts) {
    if (i.op == Opcode::ReadHost) fix(i.a[1]);
    if (i.op == Opcode::WriteHost) fix(i.a[0]);
    if (i.op == Opcode::Activate) fix(i.a[5]);
  }
  // Weights stay on the chip, first ones first, while there is room beside the activations.
  int64_t room =
      std::min(chip_.weight_cache_bytes, chip_.unified_buffer_bytes - program.buffer_bytes);
  for (Tile& t : program.tiles) {
    if (t.k * t.n > room) continue;
    room -= t.k * t.n;
    t.cached = 1;
    program.cached_bytes += t.k * t.n;
  }
  inst(Opcode::Halt, {});
  return ok_status();
}

}  // namespace tenfold::tpu::matrix
