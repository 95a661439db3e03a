// If: a branch known at import is taken in place; otherwise sizes that differ between the branches
// become symbols that the op binds.
#include <map>

#include <fmt/format.h>

#include "frontends/onnx/ops/loop_util.h"
#include "onnx-ml.pb.h"

namespace tenfold::onnx {

namespace {

// The tensors of values, sequences item by item; `form` describes the structure.
void flatten(NodeContext& n, const Val& v, std::vector<Value*>& out, std::string& form) {
  if (v.is_tensor()) {
    out.push_back(v.tensor());
    form += "t";
  } else if (v.is_sequence()) {
    form += "[";
    for (const Val& item : v.items()) flatten(n, item, out, form);
    form += "]";
  } else if (v.kind() == Val::Kind::None) {
    form += "n";
  } else {
    n.fail("onnx-unsupported-type", "a branch gives " + v.text());
  }
}

Val rebuild(const Val& like, const std::vector<Value*>& values, size_t& at) {
  if (like.is_tensor()) return values[at++];
  if (!like.is_sequence()) return like;
  std::vector<Val> items;
  for (const Val& item : like.items()) items.push_back(rebuild(item, values, at));
  return Val::sequence(std::move(items), like.element());
}

const ::onnx::NodeProto* maker_of(const ::onnx::GraphProto& g, const std::string& value) {
  for (const auto& node : g.node()) {
    for (const auto& o : node.output()) {
      if (o == value) return &node;
    }
  }
  return nullptr;
}

// torch.squeeze(x, dim) of an open size is exported as `if size == 1 then Squeeze(x) else x`, whose
// ranks differ: what follows fits the squeezed form alone.
bool squeezes_or_keeps(const ::onnx::GraphProto& then_graph, const ::onnx::GraphProto& else_graph) {
  if (then_graph.output_size() != 1 || else_graph.output_size() != 1) return false;
  const auto* squeeze = maker_of(then_graph, then_graph.output(0).name());
  if (!squeeze || squeeze->op_type() != "Squeeze" || squeeze->input_size() < 1) return false;
  const auto* keep = maker_of(else_graph, else_graph.output(0).name());
  if (!keep) return else_graph.output(0).name() == squeeze->input(0);
  return keep->op_type() == "Identity" && keep->input(0) == squeeze->input(0);
}

// The rest of the import goes on as if `condition` held; a call where it does not is an error.
void require(NodeContext& n, Value* condition) {
  Value* holds = n.b.convert(n.b.reshape(condition, {}), DType::I64);
  n.b.create("tenfold.bind_symbol", {holds},
             {{"symbol", Attr{n.fresh_symbol("squeezed_size_is_one")}},
              {"min", Attr{int64_t{1}}},
              {"max", Attr{int64_t{1}}}});
}

Outputs convert(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value* condition = n.input(0);
  if (condition->type.dtype != DType::Bool || !condition->type.is_static() ||
      condition->type.num_elements().value() != 1) {
    n.invalid("the condition must be one bool, found " + condition->type.str());
  }
  const auto& then_graph = n.attr_graph("then_branch");
  const auto& else_graph = n.attr_graph("else_branch");
  if (n.subgraph_outputs(then_graph) != n.subgraph_outputs(else_graph)) {
    n.invalid("the branches differ in their number of outputs");
  }
  if (auto c = n.constant(condition)) {
    return n.subgraph(c->as_i64(0) ? then_graph : else_graph, b, {});
  }
  if (squeezes_or_keeps(then_graph, else_graph)) {
    require(n, condition);
    return n.subgraph(then_graph, b, {});
  }
  Op* op = b.create_open("stablehlo.if", {b.reshape(condition, {})});
  Outputs vals[2];
  std::vector<Value*> values[2];
  std::string forms[2];
  std::vector<std::string> inner;
  for (int k = 0; k < 2; ++k) {
    GraphBuilder branch(b.module(), op->add_region());
    branch.loc = b.loc;
    branch.origins = b.origins;
    vals[k] = n.subgraph(k ? else_graph : then_graph, branch, {});
    for (const Val& v : vals[k]) flatten(n, v, values[k], forms[k]);
    branch.return_(values[k]);
    b.errors.insert(b.errors.end(), branch.errors.begin(), branch.errors.end());
    const auto names = symbols_bound_in(*op->region(k));
    inner.insert(inner.end(), names.begin(), names.end());
  }
  if (forms[0] != forms[1]) {
    n.need_value(
        condition,
        "the branches give sequences of different lengths, and which one runs is not known at "
        "import");
  }
  std::vector<TensorType> types;
  std::vector<std::string> bound;
  std::map<std::pair<std::string, std::string>, Dim> merged;
  for (size_t i = 0; i < values[0].size(); ++i) {
    const TensorType &p = values[0][i]->type, &q = values[1][i]->type;
    if (p.dtype != q.dtype) {
      n.invalid(fmt::format("output {} is {} in one branch, {} in the other", i, p.str(), q.str()));
    }
    if (p.rank() != q.rank()) {
      n.need_value(
          condition,
          fmt::format("output {} is {} in one branch, {} in the other: the rank must not depend "
                      "on a condition that is only known at run time",
                      i, p.str(), q.str()));
    }
    TensorType t = p;
    for (size_t k = 0; k < t.shape.size(); ++k) {
      const Dim &x = p.shape[k], &y = q.shape[k];
      if (equal(x, y) == Truth::Yes && !mentions(x, inner)) {
        if (y.is_const()) t.shape[k] = y;
        continue;
      }
      auto [it, fresh] = merged.try_emplace({x.str(), y.str()});
      if (fresh) {
        bound.push_back(n.fresh_symbol("either"));
        it->second = Dim::symbol(bound.back(), std::max<int64_t>(0, std::min(x.min(), y.min())),
                                 std::max(x.max(), y.max()));
      }
      t.shape[k] = it->second;
    }
    types.push_back(t);
  }
  if (!bound.empty()) op->set_attr("bound_symbols", Attr{bound});
  b.finish(op, types);
  std::vector<Value*> results;
  for (int i = 0; i < op->num_results(); ++i) results.push_back(op->result(i));
  Outputs out;
  size_t at = 0;
  for (const Val& v : vals[0]) out.push_back(rebuild(v, results, at));
  return out;
}

}  // namespace

extern const OnnxOp onnx_if;
const OnnxOp onnx_if = {
    .names = {{"If", {1, 11, 13, 16, 19, 21, 23, 24, 25}}},
    .summary = "Runs one of two graphs.",
    .convert = convert,
    .limits =
        "branches whose ranks or sequence lengths differ under a run-time condition; of 'squeeze "
        "it "
        "or keep it' the squeezed form is compiled and another size is an error at run time"};

}  // namespace tenfold::onnx
