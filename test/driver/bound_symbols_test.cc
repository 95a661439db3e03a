// Sizes that control flow decides: `bound_symbols` of if and while, in text, in the evaluator and
// compiled at every level.
#include <gtest/gtest.h>

#include "driver/session.h"
#include "graph/evaluator.h"
#include "graph/text.h"

namespace tenfold {
namespace {

std::unique_ptr<Module> parsed(const std::string& text) {
  auto m = parse_stablehlo(text, "t.mlir");
  TF_CHECK(m.ok(), m.ok() ? "" : to_string(m.errors()));
  Status s = verify(**m);
  TF_CHECK(s.ok(), s.ok() ? "" : to_string(s.errors()));
  return std::move(*m);
}

Literal f32s(std::vector<float> v) {
  return Literal::from<float>(DType::F32, {static_cast<int64_t>(v.size())}, v);
}
Literal i64(int64_t v) { return Literal::scalar_i(DType::I64, v); }

// Runs in every way; each must give `want`, or an error when `want` is null.
void expect(const std::string& text, const std::vector<Literal>& args, const Literal* want) {
  auto oracle = parsed(text);
  const std::string printed = print(*oracle);
  EXPECT_EQ(print(*parsed(printed)), printed);
  auto e = evaluate(*oracle, *oracle->main(), args);
  EXPECT_EQ(e.ok(), want != nullptr) << (e.ok() ? "" : to_string(e.errors()));
  if (e.ok() && want) EXPECT_TRUE((*e)[0].same(*want)) << (*e)[0].str(32);
  for (int level = 0; level <= 3; ++level)
    for (int threads : {1, 2}) {
      SCOPED_TRACE("-O" + std::to_string(level) + ", threads " + std::to_string(threads));
      auto m = parsed(printed);
      SessionOptions options;
      options.threads = threads;
      options.compile.pipeline.opt_level = level;
      options.compile.pipeline.verify_each = true;
      auto s = Session::from_module(*m, options);
      ASSERT_TRUE(s.ok()) << to_string(s.errors());
      for (int again = 0; again < 2; ++again) {
        auto got = (*s)->run(args);
        ASSERT_EQ(got.ok(), want != nullptr) << (got.ok() ? "" : to_string(got.errors()));
        if (!want) continue;
        EXPECT_TRUE((*got)[0].same(*want)) << (*got)[0].str(32);
      }
    }
}

// Doubles and appends 7, t times.
std::string append(const std::string& result, const std::string& name, const std::string& start,
                   const std::string& start_type) {
  return "%" + name + R"(:2 = "stablehlo.while"(%zero, )" + start +
         R"() <{bound_symbols = ["k", "j"]}> ({
      ^bb0(%i: tensor<i64>, %a: tensor<?xf32, #tenfold.dims<k>>):
        %c = stablehlo.compare LT, %i, %t : (tensor<i64>, tensor<i64>) -> tensor<i1>
        "stablehlo.return"(%c) : (tensor<i1>) -> ()
      }, {
      ^bb0(%i: tensor<i64>, %a: tensor<?xf32, #tenfold.dims<k>>):
        %next = stablehlo.add %i, %one : tensor<i64>
        %b = stablehlo.add %a, %a : tensor<?xf32, #tenfold.dims<k>>
        %s = "stablehlo.concatenate"(%b, %seven) <{dimension = 0 : i64}> :
          (tensor<?xf32, #tenfold.dims<k>>, tensor<1xf32>) -> tensor<?xf32, #tenfold.dims<k + 1>>
        "stablehlo.return"(%next, %s) : (tensor<i64>, tensor<?xf32, #tenfold.dims<k + 1>>) -> ()
      }) : (tensor<i64>, )" +
         start_type + ") -> (tensor<i64>, " + result + ")\n";
}

std::string module(const std::string& body, const std::string& result) {
  return R"(
    func.func @main(%t: tensor<i64>, %x: tensor<?xf32, #tenfold.dims<n>>) -> )" +
         result + R"( {
      %zero = stablehlo.constant dense<0> : tensor<i64>
      %one = stablehlo.constant dense<1> : tensor<i64>
      %seven = stablehlo.constant dense<7.0> : tensor<1xf32>
      )" +
         body + "    }\n";
}

const std::string kX = "tensor<?xf32, #tenfold.dims<n>>", kJ = "tensor<?xf32, #tenfold.dims<j>>";

TEST(BoundSymbols, AWhileMayGrowItsValue) {
  const std::string text = module(append(kJ, "r", "%x", kX) + "return %r#1 : " + kJ + "\n", kJ);
  const Literal none = f32s({1, 2}), three = f32s({8, 16, 28, 14, 7});
  expect(text, {i64(0), f32s({1, 2})}, &none);
  expect(text, {i64(3), f32s({1, 2})}, &three);
}

TEST(BoundSymbols, AStatedSizeIsCheckedAfterTheLoop) {
  const std::string five = "tensor<5xf32>";
  const std::string text =
      module(append(five, "r", "%x", kX) + "return %r#1 : " + five + "\n", five);
  const Literal fits = f32s({8, 16, 28, 14, 7});
  expect(text, {i64(3), f32s({1, 2})}, &fits);
  expect(text, {i64(2), f32s({1, 2})}, nullptr);
  expect(text, {i64(4), f32s({1, 2})}, nullptr);
}

TEST(BoundSymbols, TwoLoopsMayUseOneNameInside) {
  const std::string first = append("tensor<?xf32, #tenfold.dims<p>>", "r", "%x", kX);
  std::string second = append(kJ, "q", "%r#1", "tensor<?xf32, #tenfold.dims<p>>");
  std::string text = module(first + second + "return %q#1 : " + kJ + "\n", kJ);
  for (size_t at = text.find("\"k\", \"j\""); at != std::string::npos;
       at = text.find("\"k\", \"j\"", at + 1))
    text.replace(at, 8, "\"p\", \"j\"");
  const Literal want = f32s({4, 28, 14, 7});
  expect(text, {i64(1), f32s({1, 7})}, &want);
}

TEST(BoundSymbols, BranchesMayGiveDifferentSizes) {
  const std::string text = module(R"(%p = stablehlo.compare LT, %t, %one :
          (tensor<i64>, tensor<i64>) -> tensor<i1>
      %r = "stablehlo.if"(%p) <{bound_symbols = ["j"]}> ({
        %b = stablehlo.add %x, %x : tensor<?xf32, #tenfold.dims<n>>
        "stablehlo.return"(%b) : (tensor<?xf32, #tenfold.dims<n>>) -> ()
      }, {
        %s = "stablehlo.concatenate"(%x, %seven) <{dimension = 0 : i64}> :
          (tensor<?xf32, #tenfold.dims<n>>, tensor<1xf32>) -> tensor<?xf32, #tenfold.dims<n + 1>>
        "stablehlo.return"(%s) : (tensor<?xf32, #tenfold.dims<n + 1>>) -> ()
      }) : (tensor<i1>) -> tensor<?xf32, #tenfold.dims<j>>
      %y = stablehlo.negate %r : tensor<?xf32, #tenfold.dims<j>>
      return %y : tensor<?xf32, #tenfold.dims<j>>
)",
                                  kJ);
  const Literal yes = f32s({-2, -4}), no = f32s({-1, -2, -7});
  expect(text, {i64(0), f32s({1, 2})}, &yes);
  expect(text, {i64(1), f32s({1, 2})}, &no);
}

TEST(BoundSymbols, ABranchThatDoesNotFitTheStatedSizeIsRefused) {
  const std::string text = module(R"(%p = stablehlo.compare LT, %t, %one :
          (tensor<i64>, tensor<i64>) -> tensor<i1>
      %r = "stablehlo.if"(%p) <{bound_symbols = ["j"]}> ({
        "stablehlo.return"(%x) : (tensor<?xf32, #tenfold.dims<n>>) -> ()
      }, {
        "stablehlo.return"(%seven) : (tensor<1xf32>) -> ()
      }) : (tensor<i1>) -> tensor<3xf32>
      return %r : tensor<3xf32>
)",
                                  "tensor<3xf32>");
  const Literal fits = f32s({1, 2, 3});
  expect(text, {i64(0), f32s({1, 2, 3})}, &fits);
  expect(text, {i64(0), f32s({1, 2, 3, 4})}, nullptr);
  expect(text, {i64(1), f32s({1, 2, 3})}, nullptr);
}

TEST(BoundSymbols, PrettyWhileKeepsTheAttribute) {
  const std::string text = module(
      R"(%r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i64>, tensor<?xf32, #tenfold.dims<n>>
        attributes {bound_symbols = ["j"]}
        cond {
          %c = stablehlo.compare LT, %i, %t : (tensor<i64>, tensor<i64>) -> tensor<i1>
          stablehlo.return %c : tensor<i1>
        } do {
          %next = stablehlo.add %i, %one : tensor<i64>
          stablehlo.return %next, %a : tensor<i64>, tensor<?xf32, #tenfold.dims<n>>
        }
      return %r#1 : tensor<?xf32, #tenfold.dims<n>>
)",
      kX);
  EXPECT_NE(print(*parsed(text)).find("bound_symbols = [\"j\"]"), std::string::npos)
      << print(*parsed(text));
  const Literal same = f32s({1, 2});
  expect(text, {i64(2), f32s({1, 2})}, &same);
}

// Each call binds a size of its own.
TEST(BoundSymbols, AFunctionThatBindsASizeMayBeCalledTwice) {
  const std::string text = R"(
    func.func private @head(%x: tensor<?xf32, #tenfold.dims<n>>, %k: tensor<i64>) -> tensor<f32> {
      %0 = "tenfold.bind_symbol"(%k) <{symbol = "m", min = 0 : i64, max = 100 : i64}> :
          (tensor<i64>) -> tensor<i64>
      %1 = "stablehlo.slice"(%x) <{start_indices = #tenfold.dims<0>,
          limit_indices = #tenfold.dims<m>, strides = array<i64: 1>}> :
          (tensor<?xf32, #tenfold.dims<n>>) -> tensor<?xf32, #tenfold.dims<m>>
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %2 = stablehlo.reduce(%1 init: %z) applies stablehlo.add across dimensions = [0] :
          (tensor<?xf32, #tenfold.dims<m>>, tensor<f32>) -> tensor<f32>
      return %2 : tensor<f32>
    }
    func.func @main(%x: tensor<?xf32, #tenfold.dims<n>>, %a: tensor<i64>, %b: tensor<i64>)
        -> tensor<f32> {
      %0 = func.call @head(%x, %a) : (tensor<?xf32, #tenfold.dims<n>>, tensor<i64>) -> tensor<f32>
      %1 = func.call @head(%x, %b) : (tensor<?xf32, #tenfold.dims<n>>, tensor<i64>) -> tensor<f32>
      %2 = stablehlo.subtract %0, %1 : tensor<f32>
      return %2 : tensor<f32>
    })";
  const Literal want = Literal::scalar(DType::F32, 7);
  expect(text, {f32s({1, 2, 3, 4}), i64(4), i64(2)}, &want);
  expect(text, {f32s({1, 2, 3, 4}), i64(4), i64(5)}, nullptr);  // a slice beyond the operand
}

}  // namespace
}  // namespace tenfold
