// The text form: what is read, what is printed, what is refused and where.
#include <gtest/gtest.h>

#include "graph/builder.h"
#include "graph/evaluator.h"
#include "graph/text.h"

namespace tenfold {
namespace {

std::unique_ptr<Module> parse(std::string_view text) {
  auto m = parse_stablehlo(text, "t.mlir");
  EXPECT_TRUE(m.ok()) << (m.ok() ? "" : to_string(m.errors()));
  return m.ok() ? std::move(m).value() : nullptr;
}

// Reads a constant through the parser.
Literal constant(const std::string& attribute, const std::string& type) {
  auto m = parse("func.func @main() -> " + type + " {\n  %0 = stablehlo.constant " + attribute +
                 " : " + type + "\n  return %0 : " + type + "\n}\n");
  return m ? m->main()->body.ops.front()->lit("value") : Literal();
}

std::string problem(std::string_view text) {
  auto m = parse_stablehlo(text, "t.mlir");
  return m.ok() ? "" : to_string(m.errors());
}

TEST(Text, ReadsDenseInAllForms) {
  EXPECT_TRUE(
      constant("dense<[[1, -2], [3, 4]]>", "tensor<2x2xi32>")
          .same(Literal::from<int32_t>(DType::I32, {2, 2}, std::vector<int32_t>{1, -2, 3, 4})));
  EXPECT_TRUE(constant("dense<7>", "tensor<3xui8>")
                  .same(Literal::from<uint8_t>(DType::U8, {3}, std::vector<uint8_t>{7, 7, 7})));
  const Literal f = constant("dense<[1.5, -0.0, 0x7F800000, 0xFFC00000, 1.0e-3]>", "tensor<5xf32>");
  EXPECT_EQ(f.as_f64(0), 1.5);
  EXPECT_TRUE(std::signbit(f.as_f64(1)));
  EXPECT_TRUE(std::isinf(f.as_f64(2)));
  EXPECT_TRUE(std::isnan(f.as_f64(3)));
  EXPECT_EQ(f.as_f64(4), static_cast<double>(1.0e-3f));
  EXPECT_TRUE(constant("dense<\"0x0000803F00000040\">", "tensor<2xf32>")
                  .same(Literal::from<float>(DType::F32, {2}, std::vector<float>{1, 2})));
  EXPECT_TRUE(constant("dense<(1.0,-2.0)>", "tensor<complex<f32>>")
                  .same(Literal::from<std::complex<float>>(
                      DType::C64, {}, std::vector<std::complex<float>>{{1, -2}})));
  EXPECT_EQ(constant("dense<>", "tensor<0x3xf32>").size(), 0);
  EXPECT_EQ(constant("dense<18446744073709551615>", "tensor<ui64>").as_i64(0), -1);
  EXPECT_EQ(constant("dense<-9223372036854775808>", "tensor<i64>").as_i64(0), INT64_MIN);
  EXPECT_EQ(constant("dense<[true, false]>", "tensor<2xi1>").to_i64s(),
            (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(constant("dense<\"0x0F08\">", "tensor<2xi4>").to_i64s(),
            (std::vector<int64_t>{-1, -8}));
  EXPECT_EQ(constant("dense<\"0xA501\">", "tensor<9xi1>").to_i64s(),
            (std::vector<int64_t>{1, 0, 1, 0, 0, 1, 0, 1, 1}));
  EXPECT_EQ(constant("dense<1.0>", "tensor<bf16>").dtype(), DType::BF16);
}

TEST(Text, ReadsResources) {
  auto m = parse(R"(
module {
  func.func @main() -> tensor<2xf32> {
    %0 = stablehlo.constant dense_resource<w> : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
{-#
  dialect_resources: {
    builtin: {
      w: "0x040000000000803F00000040"
    }
  }
#-}
)");
  ASSERT_TRUE(m);
  EXPECT_TRUE(m->main()->body.ops.front()->lit("value").same(
      Literal::from<float>(DType::F32, {2}, std::vector<float>{1, 2})));
}

TEST(Text, ReadsLocationsAndNames) {
  auto m = parse(R"(
#a = loc("net.py":12:3 to :9)
#b = loc("jit(f)/add"(callsite("f"(#a) at "g"("main.py":1:1))))
module @m {
  func.func public @main(%arg0: tensor<f32> loc("x"), %arg1: tensor<f32> loc(unknown))
      -> (tensor<f32> {jax.result_info = "out"}) {
    %0 = stablehlo.add %arg0, %arg1 : tensor<f32> loc(#b)
    return %0 : tensor<f32> loc(fused["a", "c.py":4:5])
  }
})");
  ASSERT_TRUE(m);
  const Block& body = m->main()->body;
  EXPECT_EQ(m->name, "m");
  EXPECT_EQ(body.args[0]->name, "x");
  EXPECT_EQ(body.args[1]->name, "arg1");
  EXPECT_EQ(m->main()->result_names, std::vector<std::string>{"out"});
  EXPECT_EQ(body.ops.front()->loc.text, "net.py:12:3");
  EXPECT_EQ(body.ops.front()->origins, std::vector<std::string>{"jit(f)/add"});
}

TEST(Text, ReadsTuples) {
  auto m = parse(R"(
func.func @main(%a: tensor<f32>, %b: tensor<i32>) -> tuple<tensor<i32>, tensor<f32>> {
  %t = stablehlo.tuple %a, %b : tuple<tensor<f32>, tensor<i32>>
  %x = stablehlo.get_tuple_element %t[0] : (tuple<tensor<f32>, tensor<i32>>) -> tensor<f32>
  %y = stablehlo.get_tuple_element %t[1] : (tuple<tensor<f32>, tensor<i32>>) -> tensor<i32>
  %r = stablehlo.tuple %y, %x : tuple<tensor<i32>, tensor<f32>>
  return %r : tuple<tensor<i32>, tensor<f32>>
})");
  ASSERT_TRUE(m);
  ASSERT_EQ(m->main()->body.ops.size(), 1u);
  EXPECT_EQ(m->main()->body.results()[0], m->main()->body.args[1].get());
}

// parse(print(m)) prints the same, and keeps what the text cannot say by itself.
TEST(Text, RoundTripsTenfoldsOwn) {
  Module m;
  m.name = "odd name";
  Function* f = m.add_function("main", true);
  f->result_names = {"y:0", "shape"};
  const Dim n = Dim::symbol("batch size", 1, 64);
  Value* x = f->body.add_arg({DType::F32, {n, Dim(3)}}, "input/x:0");
  GraphBuilder b(&m, &f->body);
  b.loc = {"model.onnx:node \"7\""};
  b.origins = {"/conv/Relu", "/conv/Add"};
  Value* y = b.binary(Prim::Add, x, x);
  y->name = "/conv/out_0";
  Value* big = b.dim_scalar(n * 2 + 1);
  Dim k = b.bind_symbol(big, "k", 0, 1000);
  Value* i = b.iota({DType::I32, {k, floordiv(n, 2)}}, 0);
  i->name = "7";
  b.loc = {};
  b.origins = {};
  auto s = b.composite("tenfold.softmax", {y},
                       {{"axis", Attr{int64_t{-1}}},
                        {"eps", Attr{0.1}},
                        {"on", Attr{true}},
                        {"type", Attr{DType::BF16}},
                        {"names", Attr{std::vector<std::string>{"a", "b\n"}}},
                        {"sizes", Attr{std::vector<Dim>{n, Dim(1)}}},
                        {"list", Attr{std::vector<int64_t>{1, 2}}},
                        {"text", Attr{std::string("q\"\\")}},
                        {"data", Attr{Literal::i64s({5, 6})}}},
                       [](GraphBuilder& c, const std::vector<Value*>& a) {
                         return std::vector<Value*>{c.unary(Prim::Exp, a[0])};
                       });
  b.return_({s[0], i});
  ASSERT_TRUE(b.errors.empty()) << to_string(b.errors);
  const std::string text = print(m);
  auto again = parse(text);
  ASSERT_TRUE(again) << text;
  EXPECT_EQ(print(*again), text);
  const Function* g = again->main();
  EXPECT_EQ(again->name, m.name);
  EXPECT_EQ(g->result_names, f->result_names);
  EXPECT_EQ(g->body.args[0]->name, x->name);
  EXPECT_EQ(g->body.args[0]->type, x->type);
  EXPECT_EQ(g->body.args[0]->type.shape[0].max(), 64);
  auto it = g->body.ops.begin();
  for (auto& op : f->body.ops) {
    ASSERT_NE(it, g->body.ops.end());
    EXPECT_EQ((*it)->name(), op->name());
    EXPECT_EQ((*it)->loc, op->loc);
    EXPECT_EQ((*it)->origins, op->origins);
    EXPECT_TRUE((*it)->attrs == op->attrs) << op->name();
    for (int r = 0; r < op->num_results(); ++r) {
      EXPECT_EQ((*it)->result(r)->name, op->result(r)->name);
      EXPECT_EQ((*it)->result(r)->type, op->result(r)->type);
    }
    ++it;
  }
}

TEST(Text, PrintsFloatsThatReadBackExactly) {
  std::vector<float> v = {0.1f, 1e30f, 1e-45f, 3.4028235e38f, 16777217.f, -0.f, 1.f / 3};
  Module m;
  Function* f = m.add_function("main", true);
  GraphBuilder b(&m, &f->body);
  const auto n = static_cast<int64_t>(v.size());
  Value* a = b.constant(Literal::from<float>(DType::F32, {n}, v));
  Value* c = b.convert(a, DType::F64);
  Literal tiny(DType::F8E4M3FN, {256});
  for (int i = 0; i < 256; ++i) tiny.mutable_bytes()[i] = static_cast<std::byte>(i);
  Value* d = b.constant(tiny);
  b.return_({a, c, d});
  auto again = parse(print(m));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->main()->body.ops.front()->lit("value").as_f64(2), static_cast<double>(1e-45f));
  auto x = evaluate(m, *m.main(), {});
  auto y = evaluate(*again, *again->main(), {});
  ASSERT_TRUE(x.ok() && y.ok());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE((*x)[i].same((*y)[i])) << i;
}

// --- refused -------------------------------------------------------------------------------------

struct Bad {
  const char* text;
  const char* want;
};

class Refused : public ::testing::TestWithParam<Bad> {};

TEST_P(Refused, WithAPlaceAndACause) {
  const std::string got = problem(GetParam().text);
  EXPECT_NE(got.find(GetParam().want), std::string::npos) << got;
}

#define F(body) "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n" body "\n}\n"

INSTANTIATE_TEST_SUITE_P(
    Text, Refused,
    ::testing::Values(
        Bad{"", "has no function"}, Bad{"module {}", "has no function"},
        Bad{"module {", "t.mlir:1:9: found the end of the file"},
        Bad{"module @m { stablehlo.add }", "may only hold functions"},
        Bad{"func.func @f(", "found the end of the file"},
        Bad{"func.func private @f(tensor<f32>) -> tensor<f32>", "only declared"},
        Bad{"func.func private @f()", "only declared"},
        Bad{F("  return %b : tensor<4xf32>"), "t.mlir:2:10: %b is not defined here"},
        Bad{F("  return %a : tensor<5xf32>"),
            "the operand is tensor<4xf32>, stated is tensor<5xf32>"},
        Bad{F("  %0 = stablehlo.add %a, %a : tensor<4xf32>"), "ends without a return"},
        Bad{F("  %a = stablehlo.add %a, %a : tensor<4xf32>\n return %a : tensor<4xf32>"),
            "%a is defined twice"},
        Bad{F("  %0 = stablehlo.transpose %a, dims = [1] : (tensor<4xf32>) -> tensor<4xf32>\n"
              "  return %0 : tensor<4xf32>"),
            "t.mlir:2:8: stablehlo.transpose (C"},
        Bad{F("  %0 = stablehlo.reshape %a : (tensor<4xf32>) -> tensor<5xf32>\n"
              "  return %a : tensor<4xf32>"),
            "stablehlo.reshape (C"},
        Bad{F("  %0:3 = stablehlo.add %a, %a : tensor<4xf32>\n  return %a : tensor<4xf32>"),
            "has 1 results, 3 are named"},
        Bad{F("  %0 = stablehlo.add %a : tensor<4xf32>\n  return %a : tensor<4xf32>"),
            "takes 2 operands, has 1"},
        Bad{F("  cf.br ^bb1\n"), "op cf.br is not known"},
        Bad{F("  return %a : tensor<4xf32>\n^bb1:\n  return %a : tensor<4xf32>"), "several blocks"},
        Bad{F("  %0 = call @g(%a) : (tensor<4xf32>) -> tensor<4xf32>\n"
              "  return %0 : tensor<4xf32>"),
            "no function is called @g"},
        Bad{F("  %0 = call @main(%a) : (tensor<4xf32>) -> tensor<4xf32>\n"
              "  return %0 : tensor<4xf32>"),
            "@main calls itself"},
        Bad{"func.func @main(%t: !stablehlo.token) { return }", "tokens"},
        Bad{"func.func @main(%t: tensor<*xf32>) { return }", "unknown rank"},
        Bad{"func.func @main(%t: tensor<2x!quant.uniform<i8:f32, 0.1>>) { return }", "quantized"},
        Bad{"func.func @main(%t: tensor<99999999999999999999xf32>) { return }",
            "does not fit 64 bits"},
        Bad{"func.func @main(%t: tensor<9223372036854775807x9xf32>) { return }", "2^61 bytes"},
        Bad{"func.func @main(%t: tensor<4xf32, #sparse>) { return }", "#sparse is not defined"},
        Bad{"#x = #x\nfunc.func @main(%t: tensor<4xf32, #x>) { return }", "defined by itself"},
        Bad{"#x = loc(#y)\n#y = loc(#x)\nfunc.func @main() { return loc(#x) }",
            "defined by itself"},
        Bad{"func.func @main(%t: tensor<?xf32, #tenfold.dims<n +>>) { return }", "wanted a number"},
        Bad{"func.func @main(%t: tensor<?xf32, #tenfold.dims<n", "does not end"},
        Bad{F("  %0 = stablehlo.constant dense<0.0> : tensor<100000x100000xf32>\n"
              "  return %a : tensor<4xf32>"),
            "more than 1024 MiB"},
        Bad{F("  %0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<3xf32>\n"
              "  return %a : tensor<4xf32>"),
            "the list has 2 items, wanted 3"},
        Bad{F("  %0 = stablehlo.constant dense<[[1.0]]> : tensor<1xf32>\n"
              "  return %a : tensor<4xf32>"),
            "t.mlir:2:34: found '[', wanted a value of type f32"},
        Bad{F("  %0 = stablehlo.constant dense<300> : tensor<ui8>\n  return %a : tensor<4xf32>"),
            "found '300', wanted a value of type ui8"},
        Bad{F("  %0 = stablehlo.constant dense<\"0x00\"> : tensor<f32>\n"
              "  return %a : tensor<4xf32>"),
            "the blob has 1 bytes, wanted 4"},
        Bad{F("  %0 = stablehlo.constant dense_resource<w> : tensor<f32>\n"
              "  return %a : tensor<4xf32>"),
            "no resource called w"},
        Bad{F("  %0 = stablehlo.constant dense<\"0x00 : tensor<f32>\n  return %a : tensor<4xf32>"),
            "a string that does not end"},
        Bad{F("  %0 = \"stablehlo.add\"(%a, %a) <{x = 1}> : (tensor<4xf32>, tensor<4xf32>) -> "
              "tensor<4xf32>\n  return %0 : tensor<4xf32>"),
            "attribute x is not taken"},
        Bad{F("  %0 = stablehlo.custom_call @f(%a) : (tensor<4xf32>) -> !stablehlo.token\n"
              "  return %a : tensor<4xf32>"),
            "tokens"},
        Bad{"module attributes {mhlo.num_partitions = 2 : i32} {func.func @main() { return }}",
            "2 devices"},
        Bad{"ML\xefR\x06", "bytecode"}, Bad{"\xff\xfe\x00", "t.mlir:1:1"},
        Bad{"func.func @main() { return } func.func @main() { return }", "comes twice"}));

TEST(Text, DepthIsLimited) {
  std::string regions = "func.func @main(%p: tensor<i1>) {\n";
  for (int i = 0; i < 100000; ++i) regions += "\"stablehlo.if\"(%p) ({\n";
  EXPECT_NE(problem(regions).find("nested more than"), std::string::npos);
  std::string lists = "module attributes {x = ";
  lists.append(1000000, '[');
  EXPECT_NE(problem(lists).find("nested more than"), std::string::npos);
  std::string dense = "func.func @main() { %0 = stablehlo.constant dense<";
  dense.append(1000000, '[');
  EXPECT_FALSE(problem(dense).empty());
  std::string tuples = "func.func @main(%x: ";
  for (int i = 0; i < 100000; ++i) tuples += "tuple<";
  EXPECT_NE(problem(tuples).find("nested more than"), std::string::npos);
  std::string locs = "func.func @main() { return loc(";
  for (int i = 0; i < 100000; ++i) locs += "callsite(";
  EXPECT_NE(problem(locs).find("nested more than"), std::string::npos);
}

// Every prefix, and the text with each byte changed: an answer or errors, nothing else.
TEST(Text, AnyDamageIsAnErrorOrAModule) {
  const std::string text = R"(#loc1 = loc("f.py":3:4)
module @m attributes {mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3xf32> {mhlo.sharding = "{replicated}"} loc("x")) -> (tensor<2xf32> {jax.result_info = "r"}) {
    %cst = stablehlo.constant dense<[[0.0, 0x7FC00000, 1.5e-3], [-1.0, 2.0, 3.0]]> : tensor<2x3xf32>
    %0 = stablehlo.add %arg0, %cst : tensor<2x3xf32> loc(#loc1)
    %i = stablehlo.constant dense<0.0> : tensor<f32>
    %1 = stablehlo.slice %0 [0:2, 1:3:2] : (tensor<2x3xf32>) -> tensor<2x1xf32>
    %2 = stablehlo.reduce(%1 init: %i) applies stablehlo.add across dimensions = [1] : (tensor<2x1xf32>, tensor<f32>) -> tensor<2xf32>
    %3 = "stablehlo.sort"(%2) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %4 = stablehlo.compare LT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    }) : (tensor<2xf32>) -> tensor<2xf32>
    return %3 : tensor<2xf32>
  }
}
)";
  ASSERT_EQ(problem(text), "");
  for (size_t n = 0; n < text.size(); ++n) problem(std::string_view(text).substr(0, n));
  const std::string_view bytes = "\"<>(){}[]%#@!^,:x0-9";
  for (size_t i = 0; i < text.size(); ++i) {
    std::string damaged = text;
    damaged[i] = bytes[i % bytes.size()];
    problem(damaged);
    damaged.erase(i, 1);
    problem(damaged);
  }
}

TEST(Text, ListsSeveralProblems) {
  auto m = parse_stablehlo(F("  %0 = stablehlo.foo %a : tensor<4xf32>\n"
                             "  %1 = stablehlo.add %a, %zz : tensor<4xf32>\n"
                             "  %2 = stablehlo.bar %0 : tensor<4xf32>\n"
                             "  return %1 : tensor<4xf32>"),
                           "t.mlir");
  ASSERT_FALSE(m.ok());
  EXPECT_EQ(m.errors().size(), 3u);
}

TEST(Verify, FindsWhatPassesCanBreak) {
  auto m =
      parse(F("  %0 = stablehlo.negate %a : tensor<4xf32>\n"
              "  %1 = stablehlo.abs %0 : (tensor<4xf32>) -> tensor<4xf32>\n"
              "  return %1 : tensor<4xf32>"));
  ASSERT_TRUE(m);
  Block& b = m->main()->body;
  Op* neg = b.ops.front().get();
  Op* abs = std::next(b.ops.begin())->get();
  {
    auto broken = m->clone();
    Block& c = broken->main()->body;
    Op* first = c.ops.front().get();
    first->set_operand(0, std::next(c.ops.begin())->get()->result());
    auto r = verify(*broken);
    ASSERT_FALSE(r.ok());
    EXPECT_EQ(r.errors()[0].id, "verify-dominance");
    first->set_operand(0, c.args[0].get());
  }
  abs->result()->type.shape = {Dim(5)};
  auto r = verify(*m);
  ASSERT_FALSE(r.ok());
  EXPECT_NE(to_string(r.errors()).find("stablehlo.abs (results)"), std::string::npos);
  abs->result()->type.shape = {Dim(4)};
  neg->set_attr("nonsense", Attr{true});
  EXPECT_FALSE(verify(*m).ok());
  neg->attrs.clear();
  EXPECT_TRUE(verify(*m).ok());
  b.args[0]->type.shape = {Dim::symbol("n") + 1};
  r = verify(*m);
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.errors()[0].id, "verify-symbol");
}

}  // namespace
}  // namespace tenfold
