// TfIdfVectorizer over integers: n-grams of a pool are counted in each row.
#include <algorithm>

#include <fmt/format.h>

#include "frontends/onnx/ops/scatter_util.h"

namespace tenfold::onnx {

namespace {

using B = GraphBuilder;

Outputs convert(NodeContext& n) {
  B& b = n.b;
  if (n.has_attr("pool_strings")) {
    n.fail("onnx-unsupported-type", "pools of strings are not supported");
  }
  Value* x = n.input(0);
  n.need_rank(x, 1, 2, "X");
  if (!is_integer(x->type.dtype)) n.invalid("X must be integers");
  const bool flat = x->type.rank() == 1;
  if (flat) x = b.reshape(x, {Dim(1), x->type.shape[0]});
  x = b.convert(x, DType::I64);
  const auto pool = n.attr_ints("pool_int64s"), starts = n.attr_ints("ngram_counts");
  const auto places = n.attr_ints("ngram_indexes");
  const auto weights = n.attr_floats("weights", {});
  const std::string mode = n.attr_s("mode");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") n.invalid("mode '" + mode + "'");
  const int64_t shortest = n.attr_i("min_gram_length"), longest = n.attr_i("max_gram_length");
  const int64_t skips = n.attr_i("max_skip_count");
  if (shortest < 1 || longest < shortest || skips < 0 || skips > 1000) {
    n.invalid(fmt::format("grams of {} to {} with up to {} skips", shortest, longest, skips));
  }
  if (!weights.empty() && weights.size() != places.size()) {
    n.invalid("weights and ngram_indexes differ in length");
  }
  int64_t columns = 0;
  for (int64_t p : places) {
    if (p < 0 || p > (int64_t{1} << 31)) n.invalid(fmt::format("ngram index {}", p));
    columns = std::max(columns, p + 1);
  }
  const Dim rows = x->type.shape[0], length = x->type.shape[1];
  const DType w = DType::F32;
  Value* y = b.splat({w, {rows, Dim(columns)}}, 0);
  size_t gram = 0;  // number of the first n-gram of this length
  for (size_t k = 0; k < starts.size(); ++k) {
    const auto size = static_cast<int64_t>(k) + 1;
    const int64_t from = starts[k];
    const int64_t to = k + 1 < starts.size() ? starts[k + 1] : static_cast<int64_t>(pool.size());
    if (from < 0 || to < from || to > static_cast<int64_t>(pool.size()) ||
        (to - from) % size != 0) {
      n.invalid(fmt::format("ngram_counts gives {} to {} to {}-grams", from, to, size));
    }
    const auto count = static_cast<size_t>((to - from) / size);
    const size_t first = gram;
    gram += count;
    if (gram > places.size()) n.invalid("ngram_indexes is shorter than the pool");
    if (size < shortest || size > longest || count == 0) continue;
    Literal grams(DType::I64, {static_cast<int64_t>(count), size});
    Literal at(DType::I64, {static_cast<int64_t>(count), 1});
    Literal factor(w, {static_cast<int64_t>(count)});
    for (size_t i = 0; i < count; ++i) {
      for (int64_t j = 0; j < size; ++j) {
        grams.set_i64(static_cast<int64_t>(i) * size + j,
                      pool[static_cast<size_t>(from + static_cast<int64_t>(i) * size + j)]);
      }
      at.set_i64(static_cast<int64_t>(i), places[first + i]);
      factor.set_f64(static_cast<int64_t>(i), weights.empty() ? 1 : weights[first + i]);
    }
    Value* wanted = b.constant(grams);
    Value* found = nullptr;  // [rows, grams]
    for (int64_t skip = 0; skip <= (size == 1 ? 0 : skips); ++skip) {
      const Dim windows = max(length - Dim((size - 1) * (skip + 1)), Dim(0));
      const Shape cube = {rows, windows, Dim(static_cast<int64_t>(count))};
      Value* hit = nullptr;
      for (int64_t j = 0; j < size; ++j) {
        const Dim shift(j * (skip + 1));
        Value* part =
            b.slice(x, {Dim(0), min(shift, length)}, {rows, min(shift, length) + windows}, {1, 1});
        Value* want =
            b.reshape(b.slice(wanted, {Dim(0), Dim(j)}, {cube[2], Dim(j + 1)}, {1, 1}), {cube[2]});
        Value* same = b.compare("EQ", b.broadcast_in_dim(part, cube, {0, 1}),
                                b.broadcast_in_dim(want, cube, {2}));
        hit = hit ? b.binary(Prim::And, hit, same) : same;
      }
      Value* times = b.reduce(Prim::Add, b.convert(hit, DType::I64), {1});
      found = found ? add(b, found, times) : times;
    }
    Value* score = b.convert(found, w);
    if (mode == "IDF") score = b.convert(b.compare("GT", found, like(b, found, 0)), w);
    if (mode != "TF") {
      score = mul(b, score, b.broadcast_in_dim(b.constant(factor), score->type.shape, {1}));
    }
    y = scatter(b, y, b.constant(at), score, Prim::Add, {0}, {1}, {1});
  }
  return {flat ? b.reshape(y, {Dim(columns)}) : y};
}

}  // namespace

extern const OnnxOp onnx_tf_idf_vectorizer;
const OnnxOp onnx_tf_idf_vectorizer = {.names = {{"TfIdfVectorizer", {9}}},
                                       .summary = "Counts n-grams of integers.",
                                       .convert = convert,
                                       .limits = "pools of strings"};

}  // namespace tenfold::onnx
