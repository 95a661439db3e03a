// Tree ensembles as a loop: all rows walk all trees one level at a time, by lookups in the nodes'
// tables, until every walk stands on a leaf; leaves are rows of votes.
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

#include "frontends/onnx/ops/ml_util.h"

namespace tenfold::onnx {

namespace {

using B = GraphBuilder;

enum Mode : int64_t { Leq, Lt, Gte, Gt, Eq, Neq, Member, Leaf };

// Nodes of all trees in one list; children are places in it, a leaf is its own child.
struct Forest {
  std::vector<int64_t> feature, mode, yes, no, missing;
  std::vector<double> value;
  std::vector<int64_t> roots;
  std::vector<std::vector<double>> members;  // by place in `member_of`
  std::vector<int64_t> member_of;            // of a node, or -1
  std::vector<int64_t> row;                  // the row of votes of a leaf, else 0
  std::vector<double> votes;                 // [rows, targets]
  std::vector<uint8_t> voted;                // whether the leaf votes on the target
  int64_t targets = 0, rows = 0;
};

// Levels below the roots; refuses children out of range and circles.
int64_t check(NodeContext& n, const Forest& f) {
  const auto count = static_cast<int64_t>(f.mode.size());
  std::vector<int> state(f.mode.size(), 0);
  std::vector<int64_t> height(f.mode.size(), 0);
  int64_t most = 0;
  for (int64_t root : f.roots) {
    std::vector<int64_t> stack = {root};
    while (!stack.empty()) {
      const int64_t k = stack.back();
      if (k < 0 || k >= count) n.invalid(fmt::format("node {} does not exist", k));
      const auto i = static_cast<size_t>(k);
      if (state[i] == 2 || f.mode[i] == Leaf) {
        state[i] = 2;
        stack.pop_back();
        continue;
      }
      if (state[i] == 0) {
        state[i] = 1;
        for (int64_t c : {f.yes[i], f.no[i]}) {
          if (c < 0 || c >= count) n.invalid(fmt::format("node {} does not exist", c));
          if (state[static_cast<size_t>(c)] == 1) n.invalid("the nodes of a tree form a circle");
          if (state[static_cast<size_t>(c)] == 0) stack.push_back(c);
        }
        continue;
      }
      state[i] = 2;
      height[i] =
          1 + std::max(height[static_cast<size_t>(f.yes[i])], height[static_cast<size_t>(f.no[i])]);
      stack.pop_back();
    }
    most = std::max(most, height[static_cast<size_t>(root)]);
  }
  return most;
}

Value* ints(B& b, const std::vector<int64_t>& v) { return b.constant(Literal::i64s(v)); }

// The leaf each row of x [rows, features] reaches in each tree, as places in the list [rows,
// trees].
Value* walk(NodeContext& n, Value* x, const Forest& f) {
  B& b = n.b;
  const int64_t depth = check(n, f);
  const DType t = x->type.dtype;
  const auto trees = static_cast<int64_t>(f.roots.size());
  const Dim rows = x->type.shape[0];
  const Shape grid = {rows, Dim(trees)};
  Value* at = b.broadcast_in_dim(ints(b, f.roots), grid, {1});
  if (depth == 0) return at;
  std::set<int64_t> modes;
  int64_t most = 0;
  bool tracks = false;
  for (size_t i = 0; i < f.mode.size(); ++i) {
    if (f.mode[i] == Leaf) continue;
    modes.insert(f.mode[i]);
    most = std::max(most, f.feature[i]);
    if (f.feature[i] < 0) n.invalid("a feature id is negative");
    tracks |= f.missing[i] != 0;
  }
  if (less_equal(x->type.shape[1], Dim(most)) == Truth::Yes) {
    n.invalid(fmt::format("feature {} of {}", most, x->type.str()));
  }
  const auto size = static_cast<int64_t>(f.mode.size());
  Value *feature = ints(b, f.feature), *yes = ints(b, f.yes), *no = ints(b, f.no);
  Value *mode = ints(b, f.mode), *missing = ints(b, f.missing);
  Value* value = floats(b, t, f.value, {size});
  // Sets, padded by their own first member.
  Value *sets = nullptr, *set_of = nullptr;
  int64_t widest = 0;
  if (modes.contains(Member)) {
    for (const auto& m : f.members) widest = std::max<int64_t>(widest, std::ssize(m));
    std::vector<double> table;
    for (const auto& m : f.members) {
      for (int64_t i = 0; i < widest; ++i) {
        table.push_back(i < std::ssize(m) ? m[static_cast<size_t>(i)]
                                          : std::numeric_limits<double>::quiet_NaN());
      }
    }
    if (widest == 0) n.invalid("BRANCH_MEMBER without membership values");
    sets = floats(b, t, table, {std::ssize(f.members), widest});
    std::vector<int64_t> of = f.member_of;
    for (int64_t& v : of) v = std::max<int64_t>(v, 0);
    set_of = ints(b, of);
  }
  Value* last = b.constant_i(DType::I64, depth);
  const auto step = [&](B& c, const std::vector<Value*>& a) -> std::vector<Value*> {
    Value* k = a[1];
    const auto look = [&](Value* table) { return take(c, table, k, 0); };
    // x[row, feature]
    Shape column = grid;
    column.push_back(Dim(1));
    Value* v = c.create("stablehlo.gather", {x, c.reshape(look(feature), column)},
                        {{"offset_dims", Attr{std::vector<int64_t>{}}},
                         {"collapsed_slice_dims", Attr{std::vector<int64_t>{1}}},
                         {"operand_batching_dims", Attr{std::vector<int64_t>{0}}},
                         {"start_indices_batching_dims", Attr{std::vector<int64_t>{0}}},
                         {"start_index_map", Attr{std::vector<int64_t>{1}}},
                         {"index_vector_dim", Attr{int64_t{2}}},
                         {"slice_sizes", Attr{std::vector<Dim>{Dim(1), Dim(1)}}},
                         {"indices_are_sorted", Attr{false}}})
                   ->result();
    Value* limit = look(value);
    Value* m = modes.size() > 1 ? look(mode) : nullptr;
    Value* is = nullptr;
    for (int64_t one : modes) {
      static constexpr const char* kDirection[] = {"LE", "LT", "GE", "GT", "EQ", "NE"};
      Value* r;
      if (one == Member) {
        const Shape cube = {grid[0], grid[1], Dim(widest)};
        Value* set = take(c, sets, look(set_of), 0);
        r = c.reduce(Prim::Or, c.compare("EQ", c.broadcast_in_dim(v, cube, {0, 1}), set), {2});
      } else {
        r = c.compare(kDirection[one], v, limit);
      }
      is = is ? c.select(c.compare("EQ", m, like(c, m, static_cast<double>(one))), r, is) : r;
    }
    if (tracks) {
      Value* nan = c.compare("NE", v, v);
      Value* to_yes = c.compare("NE", look(missing), like(c, k, 0));
      is = c.select(c.binary(Prim::And, nan, to_yes), like(c, is, 1), is);
    }
    return {add(c, a[0], 1), c.select(is, look(yes), look(no))};
  };
  return b.while_(
      {b.constant_i(DType::I64, 0), at},
      [&](B& c, const std::vector<Value*>& a) -> std::vector<Value*> {
        return {c.compare("LT", a[0], last)};
      },
      step)[1];
}

enum class Combine { Average, Sum, Min, Max };

// [rows, targets]; targets nobody votes on are 0. `any`: whether somebody did.
Value* vote(NodeContext& n, Value* x, const Forest& f, Combine how) {
  B& b = n.b;
  const DType t = x->type.dtype;
  Value* leaf = walk(n, x, f);
  Value* row = take(b, ints(b, f.row), leaf, 0);
  const bool extreme = how == Combine::Min || how == Combine::Max;
  const double none = how == Combine::Min ? std::numeric_limits<double>::infinity()
                                          : -std::numeric_limits<double>::infinity();
  std::vector<double> votes = f.votes;
  if (extreme) {
    for (size_t i = 0; i < votes.size(); ++i) {
      if (!f.voted[i]) votes[i] = none;
    }
  }
  Value* v = take(b, floats(b, t, votes, {f.rows, f.targets}), row, 0);  // [rows, trees, targets]
  if (!extreme) {
    Value* sum = b.reduce(Prim::Add, v, {1});
    if (how == Combine::Average) {
      sum = div(b, sum, like(b, sum, static_cast<double>(std::max<size_t>(f.roots.size(), 1))));
    }
    return sum;
  }
  Value* r = b.reduce(how == Combine::Min ? Prim::Min : Prim::Max, v, {1});
  return b.select(b.compare("EQ", r, like(b, r, none)), like(b, r, 0), r);
}

void allocate_votes(NodeContext& n, Forest& f) {
  constexpr int64_t kMost = int64_t{1} << 27;
  if (f.targets < 1 || f.rows > kMost / f.targets) {
    n.fail(fmt::format("{} leaves for {} targets", f.rows, f.targets));
  }
  f.votes.assign(static_cast<size_t>(f.rows * f.targets), 0);
  f.voted.assign(f.votes.size(), 0);
}

std::vector<double> numbers(NodeContext& n, const std::string& name, bool tensors) {
  if (tensors && n.has_attr(name + "_as_tensor")) {
    const Literal l = n.attr_tensor(name + "_as_tensor");
    std::vector<double> v;
    for (int64_t i = 0; i < l.size(); ++i) v.push_back(l.as_f64(i));
    return v;
  }
  return n.attr_floats(name, {});
}

// The form of TreeEnsembleClassifier and -Regressor; votes are named class_* or target_*.
Forest read_old(NodeContext& n, const std::string& prefix, int64_t targets,
                std::set<int64_t>* voted_targets = nullptr, bool* all_positive = nullptr) {
  Forest f;
  f.targets = targets;
  const bool tensors = n.opset() >= 3;
  n.ignore_attr("nodes_hitrates");
  n.ignore_attr("nodes_hitrates_as_tensor");
  const auto trees = n.attr_ints("nodes_treeids", {}), ids = n.attr_ints("nodes_nodeids", {});
  const auto yes = n.attr_ints("nodes_truenodeids", {}), no = n.attr_ints("nodes_falsenodeids", {});
  const auto modes = n.attr_strings("nodes_modes", {});
  f.feature = n.attr_ints("nodes_featureids", {});
  f.value = numbers(n, "nodes_values", tensors);
  f.missing = n.attr_ints("nodes_missing_value_tracks_true", {});
  const size_t count = ids.size();
  if (f.missing.empty()) f.missing.assign(count, 0);
  if (count == 0 || trees.size() != count || yes.size() != count || no.size() != count ||
      modes.size() != count || f.feature.size() != count || f.value.size() != count ||
      f.missing.size() != count) {
    n.invalid("the nodes_* attributes differ in length");
  }
  std::map<std::pair<int64_t, int64_t>, int64_t> place;
  std::set<int64_t> seen;
  for (size_t i = 0; i < count; ++i) {
    if (!place.emplace(std::pair{trees[i], ids[i]}, static_cast<int64_t>(i)).second) {
      n.invalid(fmt::format("node {} of tree {} is given twice", ids[i], trees[i]));
    }
    static const std::map<std::string_view, int64_t> kModes = {
        {"BRANCH_LEQ", Leq}, {"BRANCH_LT", Lt},   {"BRANCH_GTE", Gte}, {"BRANCH_GT", Gt},
        {"BRANCH_EQ", Eq},   {"BRANCH_NEQ", Neq}, {"LEAF", Leaf}};
    auto it = kModes.find(modes[i]);
    if (it == kModes.end()) n.invalid("nodes_modes has '" + modes[i] + "'");
    f.mode.push_back(it->second);
  }
  std::vector<bool> is_child(count, false);
  for (size_t i = 0; i < count; ++i) {
    const auto self = static_cast<int64_t>(i);
    if (f.mode[i] == Leaf) {
      f.yes.push_back(self);
      f.no.push_back(self);
      f.feature[i] = 0;
      continue;
    }
    for (const auto& [child, list] : {std::pair{yes[i], &f.yes}, std::pair{no[i], &f.no}}) {
      auto it = place.find({trees[i], child});
      if (it == place.end()) {
        n.invalid(fmt::format("tree {} has no node {}", trees[i], child));
      }
      list->push_back(it->second);
      is_child[static_cast<size_t>(it->second)] = true;
    }
  }
  // A tree's root is the first of its nodes that is no child.
  for (size_t i = 0; i < count; ++i) {
    if (!is_child[i] && seen.insert(trees[i]).second) f.roots.push_back(static_cast<int64_t>(i));
  }
  for (size_t i = 0; i < count; ++i) {
    if (!seen.contains(trees[i])) n.invalid("the nodes of a tree form a circle");
  }
  const auto vote_trees = n.attr_ints(prefix + "_treeids", {});
  const auto vote_nodes = n.attr_ints(prefix + "_nodeids", {});
  const auto vote_ids = n.attr_ints(prefix + "_ids", {});
  const auto weights = numbers(n, prefix + "_weights", tensors);
  if (vote_trees.size() != weights.size() || vote_nodes.size() != weights.size() ||
      vote_ids.size() != weights.size()) {
    n.invalid("the " + prefix + "_* attributes differ in length");
  }
  f.row.assign(count, 0);
  f.rows = 1;  // row 0: no votes
  for (size_t i = 0; i < count; ++i) {
    if (f.mode[i] == Leaf) f.row[i] = f.rows++;
  }
  allocate_votes(n, f);
  if (all_positive) *all_positive = true;
  for (size_t i = 0; i < weights.size(); ++i) {
    auto it = place.find({vote_trees[i], vote_nodes[i]});
    if (it == place.end() || f.mode[static_cast<size_t>(it->second)] != Leaf) {
      if (it != place.end()) continue;  // votes of inner nodes never count
      n.invalid(fmt::format("tree {} has no node {}", vote_trees[i], vote_nodes[i]));
    }
    if (vote_ids[i] < 0 || vote_ids[i] >= targets) {
      n.invalid(fmt::format("a vote for {} of {} targets", vote_ids[i], targets));
    }
    const auto at =
        static_cast<size_t>(f.row[static_cast<size_t>(it->second)] * targets + vote_ids[i]);
    f.votes[at] += weights[i];
    f.voted[at] = 1;
    if (voted_targets) voted_targets->insert(vote_ids[i]);
    if (all_positive && weights[i] < 0) *all_positive = false;
  }
  return f;
}

Value* add_base(NodeContext& n, Value* y, const std::vector<double>& base) {
  if (base.empty()) return y;
  const auto size = static_cast<int64_t>(base.size());
  if (base.size() == 1) return add(n.b, y, base[0]);
  n.require_equal(y->type.shape[1], Dim(size), "base values and targets");
  Value* v = floats(n.b, y->type.dtype, base, {size});
  return add(n.b, y, n.b.broadcast_in_dim(v, y->type.shape, {1}));
}

Combine read_combine(NodeContext& n) {
  const std::string s = n.attr_s("aggregate_function", "SUM");
  if (s == "AVERAGE") return Combine::Average;
  if (s == "SUM") return Combine::Sum;
  if (s == "MIN") return Combine::Min;
  if (s == "MAX") return Combine::Max;
  n.invalid("aggregate_function '" + s + "'");
}

Outputs regressor(NodeContext& n) {
  B& b = n.b;
  Value* x = feature_rows(n, n.input(0));
  const int64_t targets = n.attr_i("n_targets", 1);
  const Forest f = read_old(n, "target", targets);
  const auto base = numbers(n, "base_values", n.opset() >= 3);
  Value* y = add_base(n, vote(n, x, f, read_combine(n)), base);
  return {b.convert(transform(b, read_transform(n), y), DType::F32)};
}

Outputs classifier(NodeContext& n) {
  B& b = n.b;
  Value* x = feature_rows(n, n.input(0));
  const ClassLabels labels = read_labels(n, "classlabels_int64s");
  const auto classes = static_cast<int64_t>(labels.count);
  if (classes < 1) n.invalid("class labels are missing");
  std::set<int64_t> voted;
  bool positive = true;
  const Forest f = read_old(n, "class", classes, &voted, &positive);
  const auto base = numbers(n, "base_values", n.opset() >= 3);
  const Transform t = read_transform(n);
  Value* s = vote(n, x, f, Combine::Sum);
  if (classes != 2 || voted.size() != 1) {
    s = add_base(n, s, base);
    return {labels_at(b, labels, arg_max(b, s)), b.convert(transform(b, t, s), DType::F32)};
  }
  // One score decides between two classes.
  const int64_t id = *voted.begin();
  if (base.size() > (id == 0 ? 1u : 0u)) {
    n.fail("base values with votes for one of two classes: their meaning is not defined");
  }
  Value* one = b.slice(s, {Dim(0), Dim(id)}, {x->type.shape[0], Dim(id + 1)}, {1, 1});
  if (!base.empty()) one = add(b, one, base[0]);
  Value* flat = b.reshape(one, {x->type.shape[0]});
  Value* index = b.convert(b.compare("GT", flat, like(b, flat, positive ? 0.5 : 0.0)), DType::I64);
  Value* z = id == 0 ? two_classes(b, t, one, positive) : transform(b, t, s);
  return {labels_at(b, labels, index), b.convert(z, DType::F32)};
}

Outputs ensemble(NodeContext& n) {
  B& b = n.b;
  Value* in = n.input(0);
  Value* x = in->type.dtype == DType::F64 ? in : b.convert(in, DType::F32);
  n.need_rank(x, 2, 2, "X");
  Forest f;
  f.targets = n.attr_i("n_targets", 1);
  n.ignore_attr("nodes_hitrates");
  const auto features = n.attr_ints("nodes_featureids"), roots = n.attr_ints("tree_roots");
  const auto yes = n.attr_ints("nodes_truenodeids"), no = n.attr_ints("nodes_falsenodeids");
  const auto yes_leaf = n.attr_ints("nodes_trueleafs"), no_leaf = n.attr_ints("nodes_falseleafs");
  auto missing = n.attr_ints("nodes_missing_value_tracks_true", {});
  const Literal splits = n.attr_tensor("nodes_splits"), modes = n.attr_tensor("nodes_modes");
  const Literal weights = n.attr_tensor("leaf_weights");
  const auto ids = n.attr_ints("leaf_targetids");
  const auto count = static_cast<int64_t>(features.size());
  const auto leaves = static_cast<int64_t>(ids.size());
  if (missing.empty()) missing.assign(features.size(), 0);
  for (int64_t size : {std::ssize(yes), std::ssize(no), std::ssize(yes_leaf), std::ssize(no_leaf),
                       std::ssize(missing)}) {
    if (size != count) n.invalid("the nodes_* attributes differ in length");
  }
  if (splits.size() != count || modes.size() != count || weights.size() != leaves) {
    n.invalid("nodes_* or leaf_* attributes differ in length");
  }
  Literal members;
  bool has_members = n.has_attr("membership_values");
  if (has_members) members = n.attr_tensor("membership_values");
  int64_t at = 0;
  for (int64_t i = 0; i < count; ++i) {
    const auto k = static_cast<size_t>(i);
    const int64_t mode = modes.as_i64(i);
    if (mode < 0 || mode > Member) n.invalid(fmt::format("node mode {}", mode));
    f.mode.push_back(mode);
    f.feature.push_back(features[k]);
    f.missing.push_back(missing[k]);
    f.value.push_back(splits.as_f64(i));
    f.row.push_back(0);
    f.yes.push_back(yes_leaf[k] ? count + yes[k] : yes[k]);
    f.no.push_back(no_leaf[k] ? count + no[k] : no[k]);
    f.member_of.push_back(-1);
    if (mode == Member) {
      if (!has_members) n.invalid("membership_values is missing");
      f.member_of[k] = std::ssize(f.members);
      f.members.emplace_back();
      while (at < members.size() && !std::isnan(members.as_f64(at))) {
        f.members.back().push_back(members.as_f64(at++));
      }
      ++at;
    }
  }
  f.rows = leaves + 1;
  allocate_votes(n, f);
  for (int64_t i = 0; i < leaves; ++i) {
    f.mode.push_back(Leaf);
    f.feature.push_back(0);
    f.missing.push_back(0);
    f.value.push_back(0);
    f.member_of.push_back(-1);
    f.yes.push_back(count + i);
    f.no.push_back(count + i);
    f.row.push_back(i + 1);
    const int64_t id = ids[static_cast<size_t>(i)];
    if (id < 0 || id >= f.targets) n.invalid(fmt::format("a leaf for target {}", id));
    const auto place = static_cast<size_t>((i + 1) * f.targets + id);
    f.votes[place] = weights.as_f64(i);
    f.voted[place] = 1;
  }
  f.roots = roots;
  const int64_t how = n.attr_i("aggregate_function", 1);
  if (how < 0 || how > 3) n.invalid(fmt::format("aggregate_function {}", how));
  Value* y = vote(n, x, f, static_cast<Combine>(how));
  return {b.convert(transform(b, read_transform(n), y), in->type.dtype)};
}

Outputs convert(NodeContext& n) {
  if (n.op_type() == "TreeEnsemble") return ensemble(n);
  return n.op_type() == "TreeEnsembleClassifier" ? classifier(n) : regressor(n);
}

}  // namespace

extern const OnnxOp onnx_ml_trees;
const OnnxOp onnx_ml_trees = {.names = {{"TreeEnsemble", {5}},
                                        {"TreeEnsembleClassifier", {1, 3, 5}},
                                        {"TreeEnsembleRegressor", {1, 3, 5}}},
                              .domain = "ai.onnx.ml",
                              .summary = "Tree ensembles.",
                              .convert = convert,
                              .limits = "string class labels as an output"};

}  // namespace tenfold::onnx
