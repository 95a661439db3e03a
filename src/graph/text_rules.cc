// Ops of the text that are read as something else: tuples, which are only packing, and the ops of
// CHLO that are short for a few others. Open sizes (?) are in text_sizes.cc.
#include <cmath>
#include <limits>

#include "graph/text_parser.h"

namespace tenfold::text {
namespace {

// Giles, "Approximating the erfinv function" (2011), single precision: what XLA uses, too.
Value* erf_inv(GraphBuilder& b, Value* x) {
  const TensorType t{DType::F32, x->type.shape};
  auto number = [&](double v) { return b.splat(t, v); };
  auto horner = [&](Value* w, std::initializer_list<double> coefficients) {
    Value* p = nullptr;
    for (double c : coefficients) {
      p = p ? b.binary(Prim::Add, number(c), b.binary(Prim::Mul, p, w)) : number(c);
    }
    return p;
  };
  const DType wanted = x->type.dtype;
  x = b.convert(x, DType::F32);
  Value* minus_square = b.binary(Prim::Mul, b.unary(Prim::Neg, x), x);
  Value* w = b.unary(Prim::Neg, b.unary(Prim::Log1p, minus_square));
  Value* near = horner(b.binary(Prim::Sub, w, number(2.5)),
                       {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06,
                        0.00021858087, -0.00125372503, -0.00417768164, 0.246640727, 1.50140941});
  Value* far = horner(b.binary(Prim::Sub, b.unary(Prim::Sqrt, w), number(3)),
                      {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844,
                       0.00573950773, -0.0076224613, 0.00943887047, 1.00167406, 2.83297682});
  Value* p = b.select(b.compare("LT", w, number(5)), near, far);
  Value* ends = b.binary(Prim::Mul, x, number(std::numeric_limits<double>::infinity()));
  Value* at_end = b.compare("EQ", b.unary(Prim::Abs, x), number(1));
  return b.convert(b.select(at_end, ends, b.binary(Prim::Mul, p, x)), wanted);
}

// Null: not one of these.
Value* chlo_op(GraphBuilder& b, std::string_view name, const std::vector<Value*>& x) {
  if (x.size() != 1) return nullptr;
  const DType t = x[0]->type.dtype;
  const double inf = std::numeric_limits<double>::infinity();
  if (name == "chlo.square") return b.binary(Prim::Mul, x[0], x[0]);
  if (name == "chlo.is_pos_inf") return b.compare("EQ", x[0], b.splat(x[0]->type, inf));
  if (name == "chlo.is_neg_inf") return b.compare("EQ", x[0], b.splat(x[0]->type, -inf));
  if (name == "chlo.conj") {
    if (!is_complex(t)) return x[0];
    return b.binary(Prim::Complex, b.unary(Prim::Real, x[0]),
                    b.unary(Prim::Neg, b.unary(Prim::Imag, x[0])));
  }
  if (name == "chlo.erf_inv" && (t == DType::F32 || t == DType::F16 || t == DType::BF16)) {
    return erf_inv(b, x[0]);
  }
  return nullptr;
}

}  // namespace

bool Parser::rule(Reading& in, Block& block) {
  if (in.text_name == "stablehlo.tuple") {
    Named t{{}, true};
    for (auto& n : in.operands) {
      if (n.tuple) r_.problem(in.offset, "text-tuple", "tuples of tuples are not taken");
      t.parts.insert(t.parts.end(), n.parts.begin(), n.parts.end());
    }
    bind_results(in, {t});
    return true;
  }
  if (in.text_name == "stablehlo.get_tuple_element") {
    const Attribute* a = find(in.attributes, "index");
    Named one{{stand_in()}};
    if (in.operands.size() != 1 || !in.operands[0].tuple) {
      r_.problem(in.offset, "text-tuple", "get_tuple_element wants one tuple");
    } else if (!a || a->kind != Attribute::Kind::Int || a->i < 0 ||
               a->i >= static_cast<int64_t>(in.operands[0].parts.size())) {
      r_.problem(in.offset, "text-tuple",
                 "the tuple has " + std::to_string(in.operands[0].parts.size()) +
                     " elements; the index is none of them");
    } else {
      one.parts[0] = in.operands[0].parts[static_cast<size_t>(a->i)];
    }
    bind_results(in, {one});
    return true;
  }
  if (in.text_name == "chlo.top_k" && !find(in.attributes, "index_type")) {
    Attribute a;
    a.kind = Attribute::Kind::Type;
    a.type.kind = Type::Kind::Scalar;
    a.type.tensor.dtype = DType::I32;
    in.attributes.emplace_back("index_type", std::move(a));
    return false;
  }
  if (in.def || !in.text_name.starts_with("chlo.")) return false;
  GraphBuilder b(module_.get(), &block);
  b.loc = place(in.offset, in.loc, &b.origins);
  Value* v = chlo_op(b, in.text_name, flat_operands(in));
  if (!v) return false;
  check_operand_types(in);
  for (auto& e : b.errors) r_.problem(in.offset, e.id, e.message);
  const auto stated = tensor_types(in.result_types, in.offset);
  if (stated.size() != 1 || stated[0].dtype != v->type.dtype ||
      stated[0].rank() != v->type.rank()) {
    r_.problem(in.offset, "text-type",
               std::string(in.text_name) + " gives " + v->type.str() + ", other is stated");
  }
  bind_results(in, {Named{{v}}});
  return true;
}

}  // namespace tenfold::text
