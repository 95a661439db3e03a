#include "ops/row_util.h"

namespace tenfold {

using namespace loop;

void for_rows(Builder& b, const std::vector<Expr>& dims,
              const std::function<void(const std::vector<Expr>&)>& f) {
  Expr rows = int_const(1);
  for (const Expr& d : dims) rows = rows * d;
  const LoopKind kind = b.at_top() ? LoopKind::Parallel : LoopKind::Serial;
  b.for_(
      "row", rows,
      [&](Expr row) {
        std::vector<Expr> index(dims.size());
        Expr rest = row;
        for (size_t d = dims.size(); d-- > 0;) {
          index[d] = d == 0 ? rest : imod(rest, dims[d]);
          if (d > 0) rest = idiv(rest, dims[d]);
        }
        f(index);
      },
      kind);
}

void for_in_order(Builder& b, std::string_view stem, const std::vector<Expr>& dims,
                  const std::function<void(const std::vector<Expr>&)>& f) {
  std::vector<Expr> index;
  const auto level = [&](auto&& self) -> void {
    if (index.size() == dims.size()) return f(index);
    b.for_(std::string(stem) + std::to_string(index.size()), dims[index.size()], [&](Expr i) {
      index.push_back(std::move(i));
      self(self);
      index.pop_back();
    });
  };
  level(level);
}

Expr emit_merge_sort(Builder& b, const Expr& n, const std::vector<Buffer>& fields,
                     const std::function<Expr(const Expr&, const Expr&, const Expr&)>& before) {
  const Buffer side = b.cell("side", int_const(0));
  const Buffer width = b.cell("width", int_const(1));
  b.while_(lt(b.get(width), n), [&] {
    const Expr w = b.let("w", b.get(width));
    const Expr s = b.let("s", b.get(side));
    b.for_("run", idiv(n + w * 2 - 1, w * 2), [&](Expr run) {
      const Expr low = b.let("low", run * w * int_const(2));
      const Expr middle = b.let("middle", imin(low + w, n));
      const Expr high = b.let("high", imin(low + w * 2, n));
      const Buffer i = b.cell("i", low);
      const Buffer j = b.cell("j", middle);
      b.for_range("k", low, high - low, [&](Expr k) {
        // The right record goes first only when it must; ties keep the left one first.
        const Buffer right = b.cell("right", bool_const(false));
        b.if_(lt(b.get(j), high), [&] {
          b.if_(
              lt(b.get(i), middle), [&] { b.set(right, before(s, b.get(j), b.get(i))); },
              [&] { b.set(right, bool_const(true)); });
        });
        const Expr from = b.let("from", select(b.get(right), b.get(j), b.get(i)));
        for (const Buffer& f : fields) b.store(f, {int_const(1) - s, k}, load(f, {s, from}));
        b.if_(b.get(right), [&] { b.set(j, b.get(j) + 1); }, [&] { b.set(i, b.get(i) + 1); });
      });
    });
    b.set(side, int_const(1) - s);
    b.set(width, w * 2);
  });
  return b.let("sorted", b.get(side));
}

Expr ordered_before(const Expr& a, const Expr& b, bool largest) {
  const Expr plain = op(largest ? Prim::Gt : Prim::Lt, {a, b});
  if (!is_float(a->dtype)) return plain;
  const Expr nan_a = op(Prim::IsNan, {a}), nan_b = op(Prim::IsNan, {b});
  return logical_or(plain, largest ? logical_and(nan_a, logical_not(nan_b))
                                   : logical_and(logical_not(nan_a), nan_b));
}

}  // namespace tenfold
