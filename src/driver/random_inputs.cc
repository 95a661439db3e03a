// Values for a model when the user gives none.
#include "driver/random_inputs.h"

#include "base/rng.h"
#include "driver/session.h"

namespace tenfold {
namespace {

// The first dimension is mostly a batch; the others lengths and sides, which convolutions and
// pools want to be no smaller than this.
constexpr int64_t kBatch = 1, kLength = 64;

void fill(Literal& l, Rng& rng) {
  DType t = l.dtype();
  int64_t n = l.size();
  // Many are tokens or indices; few are sizes, axes, switches.
  uint64_t integers = n > 8 ? 100 : 2;
  if (t == DType::F32) {
    for (float& v : l.mutable_data<float>()) v = static_cast<float>(rng.normal());
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    if (is_complex(t)) {
      double re = rng.normal();
      l.set_c128(i, {re, rng.normal()});
    } else if (is_float(t)) {
      // The exponent-only type has no sign.
      double v = rng.normal();
      l.set_f64(i, t == DType::F8E8M0FNU ? std::abs(v) : v);
    } else if (t == DType::Bool) {
      l.set_i64(i, rng.chance(0.5));
    } else if (bit_width(t) <= 8) {
      l.set_i64(i, static_cast<int64_t>(rng.below(uint64_t{1} << bit_width(t))) -
                       (is_signed(t) ? int64_t{1} << (bit_width(t) - 1) : 0));
    } else {
      l.set_i64(i, static_cast<int64_t>(rng.below(integers)));
    }
  }
}

}  // namespace

std::map<std::string, std::vector<int64_t>> small_sizes(const Function& f) {
  std::map<std::string, int64_t> sizes;
  for (const auto& a : f.body.args) {
    const Shape& shape = a->type.shape;
    for (size_t d = 0; d < shape.size(); ++d) {
      std::vector<SymbolRef> symbols;
      shape[d].collect_symbols(symbols);
      for (const SymbolRef& s : symbols)
        sizes.try_emplace(s->name, std::min(s->max, std::max(s->min, d == 0 ? kBatch : kLength)));
    }
  }
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const auto& a : f.body.args) {
    if (a->type.is_static()) continue;
    std::vector<int64_t>& dims = shapes[a->name];
    for (const Dim& d : a->type.shape)
      dims.push_back(std::max<int64_t>(0, d.eval([&](const Symbol& s) -> std::optional<int64_t> {
                                             return sizes.at(s.name);
                                           }).value_or(1)));
  }
  return shapes;
}

std::vector<Literal> random_inputs(const Function& f, uint64_t seed) {
  Rng rng(seed);
  std::vector<Literal> inputs;
  for (const auto& a : f.body.args) {
    Literal l(a->type.dtype, a->type.static_shape());
    fill(l, rng);
    inputs.push_back(std::move(l));
  }
  return inputs;
}

std::vector<Literal> random_inputs(const rt::Program& p, uint64_t seed) {
  std::vector<int64_t> symbols(p.symbols.size(), -1);
  for (int32_t b : p.inputs) {
    const auto& dims = p.buffers[static_cast<size_t>(b)].dims;
    for (size_t d = 0; d < dims.size(); ++d) {
      for (const auto& s : dims[d].steps) {
        if (s.op != rt::SizeExpr::Op::Sym || symbols[static_cast<size_t>(s.v)] >= 0) continue;
        const rt::SymbolInfo& info = p.symbols[static_cast<size_t>(s.v)];
        symbols[static_cast<size_t>(s.v)] =
            std::min(info.max, std::max(info.min, d == 0 ? kBatch : kLength));
      }
    }
  }
  for (int64_t& s : symbols) s = std::max<int64_t>(s, 0);
  Rng rng(seed);
  std::vector<Literal> inputs;
  for (int32_t b : p.inputs) {
    const rt::BufferInfo& info = p.buffers[static_cast<size_t>(b)];
    std::vector<int64_t> dims;
    for (const auto& d : info.dims) dims.push_back(std::max<int64_t>(0, size_value(d, symbols)));
    Literal l(info.dtype, dims);
    fill(l, rng);
    inputs.push_back(std::move(l));
  }
  return inputs;
}

}  // namespace tenfold
