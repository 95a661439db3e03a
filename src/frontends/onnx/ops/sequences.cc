// Sequences and optionals: lists whose lengths are known at import, and values that may be absent.
#include <fmt/format.h>

#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

namespace {

const Val& sequence(NodeContext& n, int i) {
  const Val& v = n.val(i);
  if (v.kind() == Val::Kind::Unsupported) n.fail("onnx-unsupported-type", "input is " + v.text());
  if (!v.is_sequence()) n.invalid(fmt::format("input {} must be a sequence", i));
  return v;
}

// A place in a list of `size` (negative: from the end), known at import.
int64_t position(NodeContext& n, int i, int64_t size, bool end_too) {
  const auto p = n.need_ints(n.input(i), "the position in a sequence");
  if (p.size() != 1) n.invalid("the position must be one number");
  int64_t k = p[0];
  const int64_t last = end_too ? size : size - 1;
  if (k < 0) k += size;
  if (k < 0 || k > last) {
    n.invalid(fmt::format("position {} in a sequence of {}", p[0], size));
  }
  return k;
}

Outputs sequence_at(NodeContext& n) {
  const auto items = sequence(n, 0).items();
  const auto size = static_cast<int64_t>(items.size());
  Value* at = n.input(1);
  if (n.const_ints(at)) return {items[static_cast<size_t>(position(n, 1, size, false))]};
  // A place known at run time: possible where all items have one type.
  GraphBuilder& b = n.b;
  std::vector<Value*> rows;
  for (const Val& v : items) {
    if (!v.is_tensor() || !(v.tensor()->type == items[0].tensor()->type)) {
      n.fail("items of different shapes need a position known at import");
    }
    Shape s = v.tensor()->type.shape;
    s.insert(s.begin(), Dim(1));
    rows.push_back(b.reshape(v.tensor(), s));
  }
  if (rows.empty()) n.invalid("the sequence is empty");
  Value* all = b.concatenate(rows, 0);
  return {take(b, all, wrap_indices(b, b.reshape(at, {}), Dim(size)), 0)};
}

Outputs concat(NodeContext& n) {
  GraphBuilder& b = n.b;
  const auto items = sequence(n, 0).items();
  if (items.empty()) n.invalid("the sequence is empty");
  const bool fresh = n.attr_flag("new_axis");
  std::vector<Value*> parts;
  for (const Val& v : items) {
    if (!v.is_tensor()) n.fail("items must be tensors");
    parts.push_back(v.tensor());
  }
  const int64_t rank = parts[0]->type.rank() + (fresh ? 1 : 0);
  const int64_t axis = n.axis(n.attr_i("axis"), rank);
  for (Value*& v : parts) {
    if (v->type.rank() != parts[0]->type.rank() || v->type.dtype != parts[0]->type.dtype) {
      n.invalid("items differ in rank or element type");
    }
  }
  if (fresh) {
    for (Value*& v : parts) {
      Shape s = v->type.shape;
      s.insert(s.begin() + axis, Dim(1));
      v = b.reshape(v, s);
    }
  }
  return {b.concatenate(parts, axis)};
}

Outputs split(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value *x = n.input(0), *sizes = n.opt(1);
  n.need_rank(x, 1, INT64_MAX, "input");
  const int64_t axis = n.axis(n.attr_i("axis", 0), x->type.rank());
  const bool keep = n.attr_flag("keepdims", true) || sizes;
  const auto a = static_cast<size_t>(axis);
  std::vector<Dim> parts;
  if (sizes && sizes->type.rank() == 1) {
    parts = n.dims(sizes, "split", 0);
  } else {
    const int64_t total = n.static_dim(x, axis, "the length to split");
    int64_t chunk = 1;
    if (sizes) {
      const auto c = n.need_ints(sizes, "the length of the pieces");
      if (c.size() != 1) n.invalid("the length of the pieces must be one number");
      chunk = c[0];
      if (chunk < 1) n.invalid(fmt::format("pieces of {}", chunk));
    }
    if (total / chunk > 4096) n.fail(fmt::format("a sequence of {} pieces", total / chunk));
    for (int64_t at = 0; at < total; at += chunk) {
      parts.push_back(Dim(std::min(chunk, total - at)));
    }
  }
  Dim at(0);
  std::vector<Val> items;
  for (const Dim& p : parts) {
    Shape start(x->type.shape.size(), Dim(0)), limit = x->type.shape;
    start[a] = at;
    at = at + p;
    limit[a] = at;
    Value* v = b.slice(x, start, limit, std::vector<int64_t>(start.size(), 1));
    if (!keep) {
      Shape s = v->type.shape;
      s.erase(s.begin() + axis);
      v = b.reshape(v, s);
    }
    items.push_back(v);
  }
  n.require_equal(at, x->type.shape[a], "the sum of the pieces and the dimension");
  return {Val::sequence(std::move(items), x->type.dtype)};
}

Outputs map(NodeContext& n) {
  const auto& g = n.attr_graph("body");
  std::vector<Val> inputs;
  for (int i = 0; i < n.num_inputs(); ++i) inputs.push_back(n.val(i));
  if (inputs.empty() || !inputs[0].is_sequence()) n.invalid("input 0 must be a sequence");
  const size_t size = inputs[0].items().size();
  const auto results = static_cast<size_t>(NodeContext::subgraph_outputs(g));
  std::vector<std::vector<Val>> out(results);
  for (const Val& v : inputs) {
    if (v.is_sequence() && v.items().size() != size) n.invalid("sequences differ in length");
  }
  for (size_t k = 0; k < size; ++k) {
    std::vector<Val> args;
    for (const Val& v : inputs) args.push_back(v.is_sequence() ? v.items()[k] : v);
    const Outputs r = n.subgraph(g, n.b, args);
    for (size_t j = 0; j < results; ++j) out[j].push_back(r[j]);
  }
  Outputs vals;
  for (auto& items : out) vals.push_back(Val::sequence(std::move(items)));
  return vals;
}

Outputs convert(NodeContext& n) {
  const std::string& op = n.op_type();
  if (op == "SequenceConstruct") {
    std::vector<Val> items;
    for (Value* v : n.inputs()) items.push_back(v);
    if (items.empty()) n.invalid("needs at least one input");
    return {Val::sequence(items, items[0].tensor()->type.dtype)};
  }
  if (op == "SequenceEmpty") {
    return {Val::sequence({}, n.attr_dtype("dtype", DType::F32))};
  }
  if (op == "SequenceAt") return sequence_at(n);
  if (op == "SequenceLength") {
    return {n.b.constant_i(DType::I64, static_cast<int64_t>(sequence(n, 0).items().size()))};
  }
  if (op == "SequenceInsert" || op == "SequenceErase") {
    const Val& from = sequence(n, 0);
    auto items = from.items();
    const auto size = static_cast<int64_t>(items.size());
    if (op == "SequenceInsert") {
      const int64_t at = n.has(2) ? position(n, 2, size, true) : size;
      items.insert(items.begin() + at, Val(n.input(1)));
    } else {
      if (size == 0) n.invalid("the sequence is empty");
      items.erase(items.begin() + (n.has(1) ? position(n, 1, size, false) : size - 1));
    }
    return {Val::sequence(std::move(items), from.element())};
  }
  if (op == "SplitToSequence") return split(n);
  if (op == "ConcatFromSequence") return concat(n);
  if (op == "SequenceMap") return map(n);
  n.ignore_attr("type");  // of an optional that holds nothing
  if (op == "Optional") return {n.num_inputs() && n.val(0).present() ? n.val(0) : Val::none()};
  const Val& v = n.val(0);
  if (v.kind() == Val::Kind::Unsupported) n.fail("onnx-unsupported-type", "input is " + v.text());
  if (op == "OptionalHasElement") {
    return {n.b.constant(DType::Bool, v.present() && v.kind() != Val::Kind::None)};
  }
  if (!v.present() || v.kind() == Val::Kind::None) n.invalid("the optional holds nothing");
  return {v};
}

}  // namespace

extern const OnnxOp onnx_sequences;
const OnnxOp onnx_sequences = {.names = {{"SequenceConstruct", {11}},
                                         {"SequenceEmpty", {11}},
                                         {"SequenceAt", {11}},
                                         {"SequenceInsert", {11}},
                                         {"SequenceErase", {11}},
                                         {"SequenceLength", {11}},
                                         {"SequenceMap", {17}},
                                         {"SplitToSequence", {11, 24}},
                                         {"ConcatFromSequence", {11}},
                                         {"Optional", {15, 28}},
                                         {"OptionalGetElement", {15, 18, 28}},
                                         {"OptionalHasElement", {15, 18, 28}}},
                               .summary = "Lists and optionals, taken apart at import.",
                               .convert = convert,
                               .limits = "lengths and positions known only at run time; strings"};

}  // namespace tenfold::onnx
