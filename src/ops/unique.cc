// tenfold.unique: the different rows of a matrix.
#include <map>

#include "ops/attr_util.h"
#include "ops/row_util.h"

namespace tenfold {

namespace {

bool sorted(const Op& op) {
  const Attr* a = op.attr("sorted");
  return !a || !a->present() || a->as<bool>();
}

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  const TensorType& x = op.operand()->type;
  if (x.rank() != 2) diag.fail("C1", "wanted a matrix, found " + x.str());
  if (is_complex(x.dtype)) diag.fail("C2", "complex numbers have no order: " + x.str());
  const TensorType rows{DType::I64, {x.rank() ? x.shape[0] : Dim(0)}};
  return {rows, rows, rows, {DType::I64, {}}};
}

// With an ordered map from row to its group.
Result<std::vector<Literal>> eval(EvalContext& c) {
  const Literal& x = c.args[0];
  const int64_t n = x.dims()[0], m = x.dims()[1];
  Literal first(DType::I64, {n}), inverse(DType::I64, {n}), counts(DType::I64, {n});
  const auto compare = [&](int64_t i, int64_t j) {  // -1, 0, 1; NaN is the largest
    if (is_float(x.dtype())) {
      const double a = x.as_f64(i), b = x.as_f64(j);
      if (std::isnan(a) || std::isnan(b)) return int{std::isnan(a)} - int{std::isnan(b)};
      return a < b ? -1 : a > b ? 1 : 0;
    }
    const int64_t a = x.as_i64(i), b = x.as_i64(j);
    if (x.dtype() == DType::U64) {
      const auto u = static_cast<uint64_t>(a), v = static_cast<uint64_t>(b);
      return u < v ? -1 : u > v ? 1 : 0;
    }
    return a < b ? -1 : a > b ? 1 : 0;
  };
  const auto less = [&](int64_t i, int64_t j) {
    for (int64_t k = 0; k < m; ++k)
      if (const int r = compare(i * m + k, j * m + k); r != 0) return r < 0;
    return false;
  };
  std::map<int64_t, std::vector<int64_t>, decltype(less)> groups(less);
  for (int64_t i = 0; i < n; ++i) groups[i].push_back(i);
  std::vector<std::vector<int64_t>> ordered;
  for (auto& [key, rows] : groups) ordered.push_back(rows);
  if (!sorted(*c.op))
    std::sort(ordered.begin(), ordered.end(), [](auto& a, auto& b) { return a[0] < b[0]; });
  for (size_t g = 0; g < ordered.size(); ++g) {
    first.set_i64(static_cast<int64_t>(g), ordered[g][0]);
    counts.set_i64(static_cast<int64_t>(g), static_cast<int64_t>(ordered[g].size()));
    for (int64_t i : ordered[g]) inverse.set_i64(i, static_cast<int64_t>(g));
  }
  return std::vector<Literal>{first, inverse, counts,
                              Literal::scalar_i(DType::I64, static_cast<int64_t>(ordered.size()))};
}

// A stable sort of row numbers brings equal rows together, their first occurrence first.
Status emit(EmitContext& c) {
  using namespace loop;
  Builder& b = *c.b;
  const TensorType& x = c.op->operand()->type;
  const Expr n = c.dim(x.shape[0]), m = c.dim(x.shape[1]);
  const bool single = equal(x.shape[1], 1) == Truth::Yes;
  const auto precedes = [&](const Expr& i, const Expr& j) -> Expr {
    if (single)
      return ordered_before(c.operand(0, {i, int_const(0)}), c.operand(0, {j, int_const(0)}),
                            false);
    const Buffer k = b.cell("k", int_const(0));
    const Buffer verdict = b.cell("verdict", int_const(0));
    b.while_(logical_and(lt(b.get(k), m), eq(b.get(verdict), int_const(0))), [&] {
      const Expr p = b.let("p", c.operand(0, {i, b.get(k)}));
      const Expr q = b.let("q", c.operand(0, {j, b.get(k)}));
      b.set(verdict, select(ordered_before(p, q, false), int_const(1),
                            select(ordered_before(q, p, false), int_const(2), int_const(0))));
      b.set(k, b.get(k) + 1);
    });
    return eq(b.get(verdict), int_const(1));
  };
  for_rows(b, {}, [&](const std::vector<Expr>&) {
    const auto array = [&](const char* name) {
      return b.alloc(name, DType::I64, {n}, Scope::Workspace);
    };
    const Buffer order = b.alloc("order", DType::I64, {int_const(2), n}, Scope::Workspace);
    const Buffer leader = array("leader"), group = array("group"), counts = array("counts");
    b.for_("i", n, [&](Expr i) { b.store(order, {int_const(0), i}, i); });
    const Expr side =
        emit_merge_sort(b, n, {order}, [&](const Expr& s, const Expr& i, const Expr& j) {
          return precedes(b.let("ri", load(order, {s, i})), b.let("rj", load(order, {s, j})));
        });
    const Buffer head = b.cell("head", int_const(0));
    b.for_("p", n, [&](Expr p) {
      const Expr row = b.let("row", load(order, {side, p}));
      b.if_(
          eq(p, int_const(0)), [&] { b.set(head, row); },
          [&] {
            const Expr before = b.let("before", load(order, {side, p - 1}));
            b.if_(precedes(before, row), [&] { b.set(head, row); });
          });
      b.store(leader, {row}, b.get(head));
    });
    // Leaders get the next group number, the others their leader's.
    const Buffer groups = b.cell("groups", int_const(0));
    b.for_("p", n, [&](Expr p) {
      const Expr row = b.let("row", sorted(*c.op) ? load(order, {side, p}) : p);
      const Expr mine = b.let("mine", load(leader, {row}));
      b.if_(
          eq(mine, row),
          [&] {
            b.store(group, {row}, b.get(groups));
            b.store(counts, {b.get(groups)}, int_const(1));
            c.store(0, {b.get(groups)}, row);
            b.set(groups, b.get(groups) + 1);
          },
          [&] {
            const Expr g = b.let("g", load(group, {mine}));
            b.store(group, {row}, g);
            b.store(counts, {g}, load(counts, {g}) + 1);
          });
    });
    b.for_("i", n, [&](Expr i) {
      c.store(1, {i}, load(group, {i}));
      b.if_(
          lt(i, b.get(groups)), [&] { c.store(2, {i}, load(counts, {i})); },
          [&] {
            c.store(0, {i}, int_const(0));
            c.store(2, {i}, int_const(0));
          });
    });
    c.store(3, {}, b.get(groups));
  });
  return ok_status();
}

}  // namespace

extern const OpDef op_unique;
const OpDef op_unique = {
    .name = "tenfold.unique",
    .summary = "The different rows of a matrix",
    .doc =
        "Of an [n, m] matrix: the first row number of every group of equal rows, the group of "
        "every "
        "row, the groups' sizes (three i64 vectors of length n, zero past the number of groups), "
        "and the number of groups (an i64 scalar, for tenfold.bind_symbol). Groups are in "
        "lexicographic order of their rows, or of first occurrence when not `sorted`. NaN equals "
        "NaN and is the largest number.",
    .kind = OpKind::Opaque,
    .min_operands = 1,
    .max_operands = 1,
    .num_results = 4,
    .attrs = {{"sorted", AttrKind::Bool, false, "default true"}},
    .infer = infer,
    .eval = eval,
    .emit = emit,
    .needs_buffer = 1,
    .constraints = {"C1", "C2"},
};

}  // namespace tenfold
