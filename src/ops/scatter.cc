// stablehlo.scatter: updates slices at positions read from an index tensor.
#include <cstring>

#include "ops/attr_util.h"
#include "ops/region_util.h"

namespace tenfold {

namespace {

struct ScatterDims {
  std::vector<int64_t> window, inserted, input_batching, indices_batching, index_map;
  int64_t index_vector;
  std::vector<int64_t> scatter;   // update dims not in window
  std::vector<int64_t> windowed;  // operand dims that appear as window dims, in order
};

int count(const Op& op) { return (op.num_operands() - 1) / 2; }

ScatterDims read(const Op& op) {
  ScatterDims s;
  s.window = op.i64s("update_window_dims");
  s.inserted = op.i64s("inserted_window_dims");
  s.input_batching = i64s_or(op, "input_batching_dims", 0, 0);
  s.indices_batching = i64s_or(op, "scatter_indices_batching_dims", 0, 0);
  s.index_map = op.i64s("scatter_dims_to_operand_dims");
  s.index_vector = op.i64("index_vector_dim");
  const int n = count(op);
  for (int64_t d = 0; d < op.operand(n + 1)->type.rank(); ++d)
    if (!contains(s.window, d)) s.scatter.push_back(d);
  for (int64_t d = 0; d < op.operand(0)->type.rank(); ++d)
    if (!contains(s.inserted, d) && !contains(s.input_batching, d)) s.windowed.push_back(d);
  return s;
}

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  if (op.num_operands() < 3 || op.num_operands() % 2 != 1) {
    diag.fail("C5", "wanted N inputs, indices and N updates, found " +
                        std::to_string(op.num_operands()) + " operands");
    return {op.num_operands() ? op.operand(0)->type : TensorType{}};
  }
  const int n = count(op);
  std::vector<TensorType> out;
  for (int i = 0; i < n; ++i) out.push_back(op.operand(i)->type);
  const TensorType& x = op.operand(0)->type;
  const TensorType& indices = op.operand(n)->type;
  const TensorType& updates = op.operand(n + 1)->type;
  const int64_t rank = x.rank(), indices_rank = indices.rank();
  const ScatterDims s = read(op);
  if (!is_integer(indices.dtype))
    diag.fail("I2", "scatter_indices must be integers, found " + indices.str());
  for (int i = 0; i < n; ++i) {
    const TensorType& in = op.operand(i)->type;
    const TensorType& up = op.operand(n + 1 + i)->type;
    if (shapes_differ(diag, in.shape, x.shape))
      diag.fail("C1", "inputs must have one shape, found " + x.str() + " and " + in.str());
    if (shapes_differ(diag, up.shape, updates.shape))
      diag.fail("C3", "updates must have one shape, found " + updates.str() + " and " + up.str());
    if (in.dtype != up.dtype)
      diag.fail("C6",
                "input " + std::to_string(i) + " is " + in.str() + ", its update " + up.str());
  }
  if (rank != static_cast<int64_t>(s.window.size() + s.inserted.size() + s.input_batching.size()))
    diag.fail("C2",
              "update_window_dims, inserted_window_dims and input_batching_dims together must "
              "be as many as the input's " +
                  std::to_string(rank) + " dimensions");
  if (!is_unique(s.window) || !std::is_sorted(s.window.begin(), s.window.end()))
    diag.fail("C7", "update_window_dims must be sorted and unique, found " + list_str(s.window));
  if (!all_in_range(s.window, 0, updates.rank()))
    diag.fail("C8", "update_window_dims must be in [0, " + std::to_string(updates.rank()) +
                        "), found " + list_str(s.window));
  if (!is_unique(concat(s.inserted, s.input_batching)))
    diag.fail("C9", "inserted_window_dims and input_batching_dims must not overlap");
  if (!std::is_sorted(s.inserted.begin(), s.inserted.end()))
    diag.fail("C10", "inserted_window_dims must be sorted, found " + list_str(s.inserted));
  if (!all_in_range(s.inserted, 0, rank))
    diag.fail("C11", "inserted_window_dims must be in [0, " + std::to_string(rank) + "), found " +
                         list_str(s.inserted));
  if (!std::is_sorted(s.input_batching.begin(), s.input_batching.end()))
    diag.fail("C12", "input_batching_dims must be sorted, found " + list_str(s.input_batching));
  if (!all_in_range(s.input_batching, 0, rank))
    diag.fail("C13", "input_batching_dims must be in [0, " + std::to_string(rank) + "), found " +
                         list_str(s.input_batching));
  if (!is_unique(s.indices_batching))
    diag.fail("C14", "scatter_indices_batching_dims must be unique, found " +
                         list_str(s.indices_batching));
  if (!all_in_range(s.indices_batching, 0, indices_rank))
    diag.fail("C15", "scatter_indices_batching_dims must be in [0, " +
                         std::to_string(indices_rank) + "), found " + list_str(s.indices_batching));
  if (contains(s.indices_batching, s.index_vector))
    diag.fail("C16", "index_vector_dim must not be a batching dimension");
  if (s.input_batching.size() != s.indices_batching.size())
    diag.fail("C17", "input_batching_dims and scatter_indices_batching_dims differ in size");
  if (s.index_vector < 0 || s.index_vector > indices_rank) {
    diag.fail("C22", "index_vector_dim is " + std::to_string(s.index_vector) + ", wanted 0 to " +
                         std::to_string(indices_rank));
  } else {
    const Dim depth = s.index_vector < indices_rank ? indices.shape[s.index_vector] : Dim(1);
    if (!diag.equal(depth, static_cast<int64_t>(s.index_map.size())))
      diag.fail("C19", "scatter_dims_to_operand_dims has " + std::to_string(s.index_map.size()) +
                           " entries, the index vectors " + depth.str());
  }
  if (!is_unique(concat(s.index_map, s.input_batching)))
    diag.fail("C20", "scatter_dims_to_operand_dims and input_batching_dims must not overlap");
  if (!all_in_range(s.index_map, 0, rank))
    diag.fail("C21", "scatter_dims_to_operand_dims must be in [0, " + std::to_string(rank) +
                         "), found " + list_str(s.index_map));
  if (!diag.ok()) return out;
  for (size_t i = 0; i < s.input_batching.size(); ++i)
    if (!diag.equal(x.shape[s.input_batching[i]], indices.shape[s.indices_batching[i]]))
      diag.fail("C18", "batching dimensions differ: " + x.shape[s.input_batching[i]].str() +
                           " in the input, " + indices.shape[s.indices_batching[i]].str() +
                           " in scatter_indices");
  const int64_t batch_rank = indices_rank - (s.index_vector < indices_rank ? 1 : 0);
  if (static_cast<int64_t>(s.scatter.size()) != batch_rank) {
    diag.fail("C4", "updates " + updates.str() + " must have " + std::to_string(batch_rank) +
                        " dimensions beside update_window_dims");
    return out;
  }
  size_t k = 0;
  for (int64_t d = 0; d < indices_rank; ++d) {
    if (d == s.index_vector) continue;
    const int64_t u = s.scatter[k++];
    if (!diag.equal(updates.shape[u], indices.shape[d]))
      diag.fail("C4", "dimension " + std::to_string(u) + " of the updates is " +
                          updates.shape[u].str() + ", of scatter_indices " +
                          indices.shape[d].str());
  }
  for (size_t i = 0; i < s.window.size(); ++i)
    if (!diag.at_most(updates.shape[s.window[i]], x.shape[s.windowed[i]]))
      diag.fail("C4", "window dimension " + std::to_string(s.window[i]) + " of the updates is " +
                          updates.shape[s.window[i]].str() + ", more than the input's " +
                          x.shape[s.windowed[i]].str());
  if (op.num_regions() != 1) {
    diag.fail("C23", "wanted one update computation");
    return out;
  }
  std::vector<std::optional<DType>> args, results;
  for (int i = 0; i < 2 * n; ++i) args.push_back(op.operand(i % n)->type.dtype);
  for (int i = 0; i < n; ++i) results.push_back(op.operand(i)->type.dtype);
  check_scalar_region(*op.region(), args, results, "C23", "update_computation", diag);
  return out;
}

Result<std::vector<Literal>> eval(EvalContext& c) {
  const Op& op = *c.op;
  const int n = count(op);
  const ScatterDims s = read(op);
  std::vector<Literal> out(c.args.begin(), c.args.begin() + n);
  const Literal& indices = c.args[n];
  const std::vector<int64_t> update_dims = c.args[n + 1].dims();
  if (c.args[n + 1].size() == 0) return out;
  const std::vector<int64_t> dims = out[0].dims();
  const auto strides = row_major_strides(dims);
  const auto index_strides = row_major_strides(indices.dims());
  std::vector<std::byte*> bytes;
  for (Literal& l : out) bytes.push_back(l.mutable_bytes());
  const bool assigns = n == 1 && region_returns_arg(*op.region(), 1);
  ScalarRegion region(c, *op.region());
  std::vector<const std::byte*> args(2 * n);
  std::vector<std::byte*> results(n);
  std::vector<int64_t> u(update_dims.size(), 0);
  int64_t flat = 0;
  do {
    std::vector<int64_t> at(dims.size(), 0);
    for (size_t i = 0; i < s.window.size(); ++i) at[s.windowed[i]] = u[s.window[i]];
    int64_t vector = 0;
    size_t k = 0;
    for (int64_t d = 0; d < indices.rank(); ++d) {
      if (d == s.index_vector) continue;
      const int64_t i = u[s.scatter[k++]];
      vector += i * index_strides[d];
      for (size_t b = 0; b < s.indices_batching.size(); ++b)
        if (s.indices_batching[b] == d) at[s.input_batching[b]] += i;
    }
    const int64_t step = s.index_vector < indices.rank() ? index_strides[s.index_vector] : 0;
    bool inside = true;
    for (size_t i = 0; i < s.index_map.size(); ++i) {
      const int64_t start = indices.as_i64(vector + static_cast<int64_t>(i) * step);
      int64_t& x = at[s.index_map[i]];
      inside = inside && start > -(int64_t{1} << 62) && start < (int64_t{1} << 62);
      if (inside) x += start;
    }
    int64_t offset = 0;
    for (size_t d = 0; d < dims.size(); ++d) {
      inside = inside && at[d] >= 0 && at[d] < dims[d];
      if (inside) offset += at[d] * strides[d];
    }
    if (inside) {
      for (int i = 0; i < n; ++i) {
        const int64_t size = byte_size(out[i].dtype());
        results[i] = bytes[i] + offset * size;
        args[i] = results[i];
        args[n + i] = c.args[n + 1 + i].bytes() + flat * size;
      }
      if (assigns)
        std::memcpy(results[0], args[1], static_cast<size_t>(byte_size(out[0].dtype())));
      else
        TF_TRY(region.call(args, results));
    }
    ++flat;
  } while (next_index(u, update_dims));
  return out;
}

// --- lowering ------------------------------------------------------------------------------------

// Two updates can meet only when all their operand indices agree, so loops over update dimensions
// that fix an operand index one to one (batching, and windows over unindexed dimensions) may run in
// parallel; the rest runs in order, unless the indices are promised to be unique.
Status emit(EmitContext& c) {
  using namespace loop;
  const Op& op = *c.op;
  Builder& b = *c.b;
  const int n = count(op);
  const ScatterDims s = read(op);
  const Shape& dims = op.operand(0)->type.shape;
  const Shape& update_dims = op.operand(n + 1)->type.shape;
  const int64_t indices_rank = op.operand(n)->type.rank();
  std::vector<Buffer> out;
  for (int i = 0; i < n; ++i) out.push_back(c.result_buffer(i));

  std::vector<Expr> shape;
  for (const Dim& d : dims) shape.push_back(c.dim(d));
  for (int i = 0; i < n; ++i) {
    if (i == 0 && c.in_place()) continue;
    b.nest("i", shape, [&](const std::vector<Expr>& at) { b.store(out[i], at, c.operand(i, at)); });
  }

  const int update_rank = static_cast<int>(update_dims.size());
  std::vector<bool> independent(update_rank, op.flag("unique_indices"));
  for (size_t i = 0; i < s.window.size(); ++i)
    if (!contains(s.index_map, s.windowed[i])) independent[s.window[i]] = true;
  size_t k = 0;
  for (int64_t d = 0; d < indices_rank; ++d) {
    if (d == s.index_vector) continue;
    if (contains(s.indices_batching, d)) independent[s.scatter[k]] = true;
    ++k;
  }

  std::vector<Expr> u(update_rank);
  const auto update = [&] {
    std::vector<Expr> at(dims.size()), vector(indices_rank);
    std::vector<bool> known(dims.size(), true);  // inside by construction
    for (size_t i = 0; i < s.window.size(); ++i) at[s.windowed[i]] = u[s.window[i]];
    size_t j = 0;
    for (int64_t d = 0; d < indices_rank; ++d) {
      if (d == s.index_vector) continue;
      vector[d] = u[s.scatter[j++]];
      for (size_t i = 0; i < s.indices_batching.size(); ++i)
        if (s.indices_batching[i] == d) at[s.input_batching[i]] = vector[d];
    }
    Expr inside;
    std::vector<std::pair<size_t, Expr>> starts;
    for (size_t i = 0; i < s.index_map.size(); ++i) {
      if (s.index_vector < indices_rank)
        vector[s.index_vector] = int_const(static_cast<int64_t>(i));
      const size_t d = static_cast<size_t>(s.index_map[i]);
      const Expr start = b.let("start", cast(c.operand(n, vector), DType::I64));
      at[d] = at[d] ? start + at[d] : start;
      known[d] = false;
    }
    for (size_t d = 0; d < dims.size(); ++d) {
      if (!at[d]) at[d] = int_const(0);
      if (known[d]) continue;
      const Expr ok = logical_and(ge(at[d], int_const(0)), lt(at[d], c.dim(dims[d])));
      inside = inside ? logical_and(inside, ok) : ok;
    }
    const auto apply = [&] {
      std::vector<Expr> args;
      for (int i = 0; i < n; ++i) args.push_back(load(out[i], at));
      for (int i = 0; i < n; ++i) args.push_back(c.operand(n + 1 + i, u));
      std::vector<Expr> next = c.inline_region(*op.region(), args);
      if (n > 1)
        for (Expr& e : next) e = b.let("next", e);
      for (int i = 0; i < n; ++i) b.store(out[i], at, next[i]);
    };
    if (inside)
      b.if_(inside, apply);
    else
      apply();
  };

  // The outermost independent loop goes first and in parallel; a long one in pieces of a few cache
  // lines, so that the serial loops inside still touch memory in runs.
  int first = -1;
  for (int d = 0; d < update_rank && first < 0; ++d)
    if (independent[d] && equal(update_dims[d], 1) != Truth::Yes) first = d;
  const bool innermost = first == update_rank - 1 && first > 0;
  constexpr int64_t kPiece = 64;
  Expr piece;
  const std::function<void(int)> loops = [&](int d) {
    if (d == update_rank) return update();
    if (d == first) {
      if (!innermost) return loops(d + 1);
      const Expr begin = piece * kPiece;
      b.for_("j", imin(int_const(kPiece), c.dim(update_dims[d]) - begin), [&](Expr j) {
        u[d] = begin + j;
        loops(d + 1);
      });
      return;
    }
    b.for_("u", c.dim(update_dims[d]), [&](Expr i) {
      u[d] = i;
      loops(d + 1);
    });
  };
  if (first < 0 || !b.at_top()) {
    first = -1;
    loops(0);
    return ok_status();
  }
  const Expr extent =
      innermost ? c.dim(ceildiv(update_dims[first], kPiece)) : c.dim(update_dims[first]);
  b.for_(
      "p", extent,
      [&](Expr p) {
        if (innermost)
          piece = p;
        else
          u[first] = p;
        loops(0);
      },
      LoopKind::Parallel);
  return ok_status();
}

}  // namespace

extern const OpDef op_scatter;
const OpDef op_scatter = {
    .name = "stablehlo.scatter",
    .summary = "Updates slices of the inputs at positions read from scatter_indices",
    .doc =
        "Operands are N inputs, scatter_indices and N updates. The update computation takes N "
        "current elements and N update elements. Update elements outside the input are skipped. "
        "Updates are applied in row-major order of the updates, so results do not depend on "
        "threads.",
    .kind = OpKind::GatherScatter,
    .min_operands = 3,
    .max_operands = -1,
    .num_results = -1,
    .num_regions = 1,
    .attrs = {{"update_window_dims", AttrKind::I64s},
              {"inserted_window_dims", AttrKind::I64s},
              {"input_batching_dims", AttrKind::I64s, false, "default none"},
              {"scatter_indices_batching_dims", AttrKind::I64s, false, "default none"},
              {"scatter_dims_to_operand_dims", AttrKind::I64s},
              {"index_vector_dim", AttrKind::I64},
              {"indices_are_sorted", AttrKind::Bool, false, "a hint"},
              {"unique_indices", AttrKind::Bool, false,
               "no element is updated twice; lets updates run in parallel"}},
    .infer = infer,
    .eval = eval,
    .emit = emit,
    .in_place_operand = 0,
    .constraints = {"I2",  "C1",  "C2",  "C3",  "C4",  "C5",  "C6",  "C7",
                    "C8",  "C9",  "C10", "C11", "C12", "C13", "C14", "C15",
                    "C16", "C17", "C18", "C19", "C20", "C21", "C22", "C23"},
};

}  // namespace tenfold
