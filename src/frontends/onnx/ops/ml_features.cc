// Preprocessing ops of ai.onnx.ml on numbers.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "frontends/onnx/ops/ml_util.h"

namespace tenfold::onnx {

namespace {

using B = GraphBuilder;

// A list of one or `features` values along the last dimension of x.
Value* per_feature(NodeContext& n, const std::vector<double>& v, Value* x, DType t,
                   std::string_view what) {
  B& b = n.b;
  if (v.size() == 1) return b.splat({t, x->type.shape}, v[0]);
  const int64_t rank = x->type.rank();
  n.need_rank(x, 1, 16, "X");
  const auto size = static_cast<int64_t>(v.size());
  n.require_equal(Dim(size), x->type.shape.back(), fmt::format("values of {} and features", what));
  return b.broadcast_in_dim(floats(b, t, v, {size}), x->type.shape, {rank - 1});
}

Outputs scaler(NodeContext& n) {
  B& b = n.b;
  Value* x = n.input(0);
  const DType w = x->type.dtype == DType::F64 ? DType::F64 : DType::F32;
  Value* v = b.convert(x, w);
  v = sub(b, v, per_feature(n, n.attr_floats("offset", {0}), x, w, "offset"));
  v = mul(b, v, per_feature(n, n.attr_floats("scale", {1}), x, w, "scale"));
  return {b.convert(v, DType::F32)};
}

Outputs normalizer(NodeContext& n) {
  B& b = n.b;
  Value* x = n.input(0);
  n.need_rank(x, 1, 2, "X");
  Value* v = b.convert(x, x->type.dtype == DType::F64 ? DType::F64 : DType::F32);
  const std::string norm = n.attr_s("norm", "MAX");
  const int64_t last = x->type.rank() - 1;
  const auto spread = [&](Value* s) { return n.broadcast_to(s, v->type.shape); };
  Value* by;
  if (norm == "MAX") {
    by = b.reduce(Prim::Max, v, {last}, true);
  } else if (norm == "L1") {
    by = b.reduce(Prim::Add, b.unary(Prim::Abs, v), {last}, true);
  } else if (norm == "L2") {
    by = b.unary(Prim::Sqrt, b.reduce(Prim::Add, square(b, v), {last}, true));
  } else {
    n.invalid("norm '" + norm + "'");
  }
  by = b.select(b.compare("EQ", by, like(b, by, 0)), like(b, by, 1), by);
  return {b.convert(div(b, v, spread(by)), DType::F32)};
}

Outputs imputer(NodeContext& n) {
  B& b = n.b;
  Value* x = n.input(0);
  const DType t = x->type.dtype;
  if (is_float(t)) {
    n.ignore_attr("replaced_value_int64");
    n.ignore_attr("imputed_value_int64s");
    const auto values = n.attr_floats("imputed_value_floats", {});
    if (values.empty()) n.invalid("imputed_value_floats is missing");
    const double from = n.attr_f("replaced_value_float", 0);
    Value* hit = std::isnan(from) ? b.compare("NE", x, x) : b.compare("EQ", x, like(b, x, from));
    return {b.select(hit, per_feature(n, values, x, t, "imputed_value_floats"), x)};
  }
  n.ignore_attr("replaced_value_float");
  n.ignore_attr("imputed_value_floats");
  const auto values = n.attr_ints("imputed_value_int64s", {});
  if (values.empty()) n.invalid("imputed_value_int64s is missing");
  Value* from = b.full(b.constant_i(t, n.attr_i("replaced_value_int64", 0)), x->type.shape);
  Value* to = b.convert(b.constant(Literal::i64s(values)), t);
  if (values.size() == 1) {
    to = b.full(b.reshape(to, {}), x->type.shape);
  } else {
    n.require_equal(to->type.shape[0], x->type.shape.back(), "imputed values and features");
    to = b.broadcast_in_dim(to, x->type.shape, {x->type.rank() - 1});
  }
  return {b.select(b.compare("EQ", x, from), to, x)};
}

Outputs binarizer(NodeContext& n) {
  B& b = n.b;
  Value* x = n.input(0);
  const double t = n.attr_f("threshold", 0);
  // Integers compare as numbers, not cut to integers.
  Value* v = is_float(x->type.dtype) ? x : b.convert(x, DType::F64);
  return {b.convert(b.compare("GT", v, like(b, v, t)), x->type.dtype)};
}

Outputs array_feature_extractor(NodeContext& n) {
  B& b = n.b;
  Value *x = n.input(0), *y = n.input(1);
  n.need_rank(x, 1, 16, "X");
  const Dim count = product_of(y->type.shape, 0, y->type.shape.size());
  const bool flat = x->type.rank() == 1;
  if (flat) x = b.reshape(x, {Dim(1), x->type.shape[0]});
  return {take(b, x, b.reshape(y, {count}), x->type.rank() - 1)};
}

Outputs feature_vectorizer(NodeContext& n) {
  B& b = n.b;
  std::vector<Value*> parts;
  const auto sizes = n.attr_ints("inputdimensions", {});
  for (Value* x : n.inputs()) {
    n.need_rank(x, 1, 16, "X");
    // Everything after the first dimension is one row of features.
    x = x->type.rank() == 1 ? b.reshape(x, {Dim(1), x->type.shape[0]}) : flatten2(b, x, 1);
    if (parts.size() < sizes.size()) {
      n.require_equal(x->type.shape[1], Dim(sizes[parts.size()]), "inputdimensions and features");
    }
    parts.push_back(b.convert(x, DType::F32));
  }
  if (parts.empty()) n.invalid("needs at least one input");
  return {b.concatenate(parts, 1)};
}

// Place of each element of x among keys, the last of equals, or -1.
Value* find(B& b, Value* x, Value* keys, bool nan_matches) {
  Shape wide_shape = x->type.shape;
  wide_shape.push_back(keys->type.shape[0]);
  const int64_t rank = x->type.rank();
  Value* v = b.broadcast_in_dim(x, wide_shape, iota_list(rank));
  Value* k = b.broadcast_in_dim(keys, wide_shape, {rank});
  Value* same = b.compare("EQ", v, k);
  if (nan_matches && is_float(x->type.dtype)) {
    Value* nans = b.binary(Prim::And, b.compare("NE", v, v), b.compare("NE", k, k));
    same = b.binary(Prim::Or, same, nans);
  }
  Value* i = b.iota({DType::I64, wide_shape}, rank);
  return b.reduce(Prim::Max, b.select(same, i, like(b, i, -1)), {rank});
}

Outputs label_encoder(NodeContext& n) {
  B& b = n.b;
  if (n.opset() < 2) {
    n.fail("onnx-unsupported-type",
           "the version of opset 1 maps strings, which tensors cannot "
           "hold");
  }
  Value* x = n.input(0);  // refuses strings
  std::optional<Literal> keys, values;
  for (const char* name : {"keys_strings", "values_strings", "default_string"}) {
    if (!n.has_attr(name)) continue;
    if (std::string_view(name) == "values_strings") {
      for (const char* other :
           {"keys_floats", "keys_int64s", "keys_tensor", "default_string", "default_int64",
            "default_float", "default_tensor", "values_strings"}) {
        n.ignore_attr(other);
      }
      return {Val::unsupported("a tensor of strings (labels)")};
    }
    n.ignore_attr(name);
  }
  const auto list = [&](const char* floats_name, const char* ints_name,
                        const char* tensor_name) -> Literal {
    if (n.has_attr(ints_name)) return Literal::i64s(n.attr_ints(ints_name));
    if (n.has_attr(floats_name)) {
      const auto v = n.attr_floats(floats_name, {});
      Literal l(DType::F32, {static_cast<int64_t>(v.size())});
      for (size_t i = 0; i < v.size(); ++i) l.set_f64(static_cast<int64_t>(i), v[i]);
      return l;
    }
    if (n.opset() >= 4 && n.has_attr(tensor_name)) {
      if (n.attr_is_string_tensor(tensor_name)) {
        n.fail("onnx-unsupported-type", "labels are strings, which tensors cannot hold");
      }
      Literal l = n.attr_tensor(tensor_name);
      return l.reshaped({l.size()});
    }
    n.invalid(
        fmt::format("one of {}, {} and {} must be given", floats_name, ints_name, tensor_name));
  };
  const Literal k = list("keys_floats", "keys_int64s", "keys_tensor");
  const Literal v = list("values_floats", "values_int64s", "values_tensor");
  if (k.size() != v.size()) n.invalid("keys and values differ in number");
  if (k.dtype() != x->type.dtype) {
    n.invalid(fmt::format("keys are {}, X is {}", name(k.dtype()), x->type.str()));
  }
  Literal otherwise = is_float(v.dtype())
                          ? Literal::scalar(v.dtype(), n.attr_f("default_float", -0.0))
                          : Literal::scalar_i(v.dtype(), n.attr_i("default_int64", -1));
  n.ignore_attr("default_float");
  n.ignore_attr("default_int64");
  if (n.opset() >= 4 && n.has_attr("default_tensor")) {
    Literal d = n.attr_tensor("default_tensor");
    if (d.size() != 1 || d.dtype() != v.dtype())
      n.invalid("default_tensor does not fit the values");
    otherwise = d.reshaped({});
  }
  Value* fill = b.full(b.constant(otherwise), x->type.shape);
  if (k.size() == 0) return {fill};
  Value* at = find(b, x, b.constant(k), n.opset() >= 4);
  Value* got = take(b, b.constant(v), max(b, at, 0), 0);
  return {b.select(b.compare("GE", at, like(b, at, 0)), got, fill)};
}

Outputs one_hot_encoder(NodeContext& n) {
  B& b = n.b;
  Value* x = n.input(0);
  if (n.has_attr("cats_strings")) {
    n.fail("onnx-unsupported-type", "categories are strings, which tensors cannot hold");
  }
  n.ignore_attr("zeros");  // an unknown category gives zeros either way
  Value* cats = b.constant(Literal::i64s(n.attr_ints("cats_int64s")));
  Value* v = b.convert(x, DType::I64);
  Shape s = x->type.shape;
  s.push_back(cats->type.shape[0]);
  const int64_t rank = x->type.rank();
  Value* same = b.compare("EQ", b.broadcast_in_dim(v, s, iota_list(rank)),
                          b.broadcast_in_dim(cats, s, {rank}));
  return {b.convert(same, DType::F32)};
}

Outputs zip_map(NodeContext& n) {
  read_labels(n, "classlabels_int64s");
  return {n.input(0)};
}

Outputs convert(NodeContext& n) {
  const std::string& op = n.op_type();
  if (op == "Scaler") return scaler(n);
  if (op == "Normalizer") return normalizer(n);
  if (op == "Imputer") return imputer(n);
  if (op == "Binarizer") return binarizer(n);
  if (op == "ArrayFeatureExtractor") return array_feature_extractor(n);
  if (op == "FeatureVectorizer") return feature_vectorizer(n);
  if (op == "LabelEncoder") return label_encoder(n);
  if (op == "OneHotEncoder") return one_hot_encoder(n);
  if (op == "ZipMap") return zip_map(n);
  if (op == "CategoryMapper") {
    n.fail("onnx-unsupported-type", "it maps strings, which tensors cannot hold");
  }
  n.fail("onnx-unsupported-type", "maps are not supported; pass their values as a tensor");
}

}  // namespace

extern const OnnxOp onnx_ml_features;
const OnnxOp onnx_ml_features = {
    .names = {{"Scaler", {1}},
              {"Normalizer", {1}},
              {"Imputer", {1}},
              {"Binarizer", {1}},
              {"ArrayFeatureExtractor", {1}},
              {"FeatureVectorizer", {1}},
              {"LabelEncoder", {1, 2, 4}},
              {"OneHotEncoder", {1}},
              {"ZipMap", {1}},
              {"CategoryMapper", {1}},
              {"CastMap", {1}},
              {"DictVectorizer", {1}}},
    .domain = "ai.onnx.ml",
    .summary = "Features made ready; ZipMap gives its values as a tensor, a column for each label.",
    .convert = convert,
    .limits = "strings and maps; OneHotEncoder with zeros=0 gives zeros for unknown categories"};

}  // namespace tenfold::onnx
