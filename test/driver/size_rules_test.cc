// Sizes that are open in the model and that an op needs equal: a run whose inputs do not fit ends
// with the evaluator's error at every level, from memory, from an artifact and through the C
// interface.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>

#include "driver/session.h"
#include "graph/check.h"
#include "graph/evaluator.h"
#include "graph/text.h"
#include "tenfold/tenfold.h"

namespace tenfold {
namespace {

struct Case {
  const char* name;
  const char* text;
  std::vector<std::vector<int64_t>> good, bad;
  const char* id;
  const char* says;
};

const Case kCases[] = {
    {"add",
     R"(
      func.func @main(%a: tensor<?xf32, #tenfold.dims<n>>, %b: tensor<?xf32, #tenfold.dims<m>>)
          -> tensor<?xf32, #tenfold.dims<n>> {
        %0 = "stablehlo.add"(%a, %b) : (tensor<?xf32, #tenfold.dims<n>>,
            tensor<?xf32, #tenfold.dims<m>>) -> tensor<?xf32, #tenfold.dims<n>>
        return %0 : tensor<?xf32, #tenfold.dims<n>>
      })",
     {{5}, {5}},
     {{5}, {3}},
     "shape-mismatch",
     "size n must be m, found 5 and 3"},
    {"dot",
     R"(
      func.func @main(%a: tensor<?x?xf32, #tenfold.dims<n, k>>,
                      %b: tensor<?x4xf32, #tenfold.dims<j, 4>>)
          -> tensor<?x4xf32, #tenfold.dims<n, 4>> {
        %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] :
            (tensor<?x?xf32, #tenfold.dims<n, k>>, tensor<?x4xf32, #tenfold.dims<j, 4>>)
            -> tensor<?x4xf32, #tenfold.dims<n, 4>>
        return %0 : tensor<?x4xf32, #tenfold.dims<n, 4>>
      })",
     {{3, 8}, {8, 4}},
     {{3, 8}, {2, 4}},
     "shape-mismatch",
     "size k must be j, found 8 and 2"},
    // The sum is dead: what it needs is demanded all the same.
    {"dead",
     R"(
      func.func @main(%a: tensor<?xf32, #tenfold.dims<n>>, %b: tensor<?xf32, #tenfold.dims<m>>)
          -> tensor<?xf32, #tenfold.dims<n>> {
        %0 = "stablehlo.add"(%a, %b) : (tensor<?xf32, #tenfold.dims<n>>,
            tensor<?xf32, #tenfold.dims<m>>) -> tensor<?xf32, #tenfold.dims<n>>
        %1 = stablehlo.abs %a : tensor<?xf32, #tenfold.dims<n>>
        return %1 : tensor<?xf32, #tenfold.dims<n>>
      })",
     {{5}, {5}},
     {{5}, {6}},
     "shape-mismatch",
     "stablehlo.add"},
    {"reshape",
     R"(
      func.func @main(%a: tensor<?xf32, #tenfold.dims<n>>) -> tensor<2x6xf32> {
        %0 = stablehlo.reshape %a : (tensor<?xf32, #tenfold.dims<n>>) -> tensor<2x6xf32>
        return %0 : tensor<2x6xf32>
      })",
     {{12}},
     {{11}},
     "shape-mismatch",
     "size n must be 12, found 11"},
    {"slice",
     R"(
      func.func @main(%a: tensor<?xf32, #tenfold.dims<n>>) -> tensor<4xf32> {
        %0 = "stablehlo.slice"(%a) <{start_indices = array<i64: 2>, limit_indices = array<i64: 6>,
            strides = array<i64: 1>}> : (tensor<?xf32, #tenfold.dims<n>>) -> tensor<4xf32>
        return %0 : tensor<4xf32>
      })",
     {{6}},
     {{5}},
     "size-range",
     "size 6 must be at most n, found 6 and 5"},
    {"negative",
     R"(
      func.func @main(%a: tensor<?xf32, #tenfold.dims<n>>)
          -> tensor<?xf32, #tenfold.dims<n - 3>> {
        %z = stablehlo.constant dense<0.0> : tensor<f32>
        %0 = "stablehlo.pad"(%a, %z) <{edge_padding_low = array<i64: -3>,
            edge_padding_high = array<i64: 0>, interior_padding = array<i64: 0>}> :
            (tensor<?xf32, #tenfold.dims<n>>, tensor<f32>) -> tensor<?xf32, #tenfold.dims<n - 3>>
        return %0 : tensor<?xf32, #tenfold.dims<n - 3>>
      })",
     {{3}},
     {{2}},
     "size-range",
     "size n - 3 must not be negative"},
    {"broadcast",
     R"(
      func.func @main(%a: tensor<?xf32, #tenfold.dims<n>>, %b: tensor<?xf32, #tenfold.dims<m>>)
          -> tensor<?xf32, #tenfold.dims<m>> {
        %0 = "stablehlo.broadcast_in_dim"(%a) <{broadcast_dimensions = array<i64: 0>}> :
            (tensor<?xf32, #tenfold.dims<n>>) -> tensor<?xf32, #tenfold.dims<m>>
        %1 = stablehlo.add %0, %b : tensor<?xf32, #tenfold.dims<m>>
        return %1 : tensor<?xf32, #tenfold.dims<m>>
      })",
     {{1}, {4}},
     {{3}, {4}},
     "shape-mismatch",
     "size n must be 1 or m, found 3 and 4"},
    {"call",
     R"(
      func.func private @f(%a: tensor<?xf32, #tenfold.dims<k>>, %b: tensor<?xf32, #tenfold.dims<k>>)
          -> tensor<?xf32, #tenfold.dims<k>> {
        %0 = stablehlo.add %a, %b : tensor<?xf32, #tenfold.dims<k>>
        return %0 : tensor<?xf32, #tenfold.dims<k>>
      }
      func.func @main(%a: tensor<?xf32, #tenfold.dims<n>>, %b: tensor<?xf32, #tenfold.dims<m>>)
          -> tensor<?xf32, #tenfold.dims<n>> {
        %0 = func.call @f(%a, %b) : (tensor<?xf32, #tenfold.dims<n>>,
            tensor<?xf32, #tenfold.dims<m>>) -> tensor<?xf32, #tenfold.dims<n>>
        return %0 : tensor<?xf32, #tenfold.dims<n>>
      })",
     {{5}, {5}},
     {{5}, {4}},
     "shape-mismatch",
     "found 5 and 4"},
};

std::unique_ptr<Module> parsed(const Case& c) {
  auto m = parse_stablehlo(c.text, std::string(c.name) + ".mlir");
  TF_CHECK(m.ok(), m.ok() ? "" : to_string(m.errors()));
  Status s = verify(**m);
  TF_CHECK(s.ok(), s.ok() ? "" : to_string(s.errors()));
  return std::move(*m);
}

std::vector<Literal> values(const std::vector<std::vector<int64_t>>& shapes) {
  std::vector<Literal> out;
  for (const auto& dims : shapes) {
    Literal l(DType::F32, dims);
    for (int64_t i = 0; i < l.size(); ++i) l.set_f64(i, 0.5 * static_cast<double>(i) - 3);
    out.push_back(std::move(l));
  }
  return out;
}

void expect_refused(const Case& c, const Errors& errors) {
  ASSERT_FALSE(errors.empty());
  EXPECT_EQ(errors[0].id, c.id) << to_string(errors);
  EXPECT_NE(errors[0].message.find(c.says), std::string::npos) << to_string(errors);
  EXPECT_NE(errors[0].loc.text.find(c.name), std::string::npos) << to_string(errors);
}

class SizeRules : public ::testing::TestWithParam<Case> {};

TEST_P(SizeRules, TheEvaluatorRefuses) {
  const Case& c = GetParam();
  auto m = parsed(c);
  auto good = evaluate(*m, *m->main(), values(c.good));
  EXPECT_TRUE(good.ok()) << to_string(good.errors());
  auto bad = evaluate(*m, *m->main(), values(c.bad));
  ASSERT_FALSE(bad.ok());
  expect_refused(c, bad.errors());
}

TEST_P(SizeRules, CompiledCodeRefusesLikewise) {
  const Case& c = GetParam();
  auto oracle = parsed(c);
  auto want = evaluate(*oracle, *oracle->main(), values(c.good));
  ASSERT_TRUE(want.ok());
  const std::string path = ::testing::TempDir() + "size_rules_" + c.name + ".tenfold";
  for (int level = 0; level <= 3; ++level)
    for (int threads : {1, 2}) {
      SCOPED_TRACE("-O" + std::to_string(level) + ", threads " + std::to_string(threads));
      auto m = parsed(c);
      SessionOptions options;
      options.threads = threads;
      options.compile.pipeline.opt_level = level;
      options.compile.pipeline.verify_each = true;
      auto compiled = Session::from_module(*m, options);
      ASSERT_TRUE(compiled.ok()) << to_string(compiled.errors());
      ASSERT_TRUE((*compiled)->save(path).ok());
      auto loaded = Session::open(ModelSource::file(path), options);
      ASSERT_TRUE(loaded.ok()) << to_string(loaded.errors());
      for (Session* s : {compiled->get(), loaded->get()}) {
        auto bad = s->run(values(c.bad));
        ASSERT_FALSE(bad.ok());
        expect_refused(c, bad.errors());
        auto good = s->run(values(c.good));  // the context survives
        ASSERT_TRUE(good.ok()) << to_string(good.errors());
        EXPECT_LT(compare((*good)[0], (*want)[0], 0, 0).max_rel_to_peak, 1e-6);
      }
    }
  std::filesystem::remove(path);
}

TEST_P(SizeRules, TheCInterfaceRefusesLikewise) {
  const Case& c = GetParam();
  auto m = parsed(c);
  const std::string path = ::testing::TempDir() + "size_rules_c_" + c.name + ".tenfold";
  auto compiled = Session::from_module(*m, {});
  ASSERT_TRUE(compiled.ok()) << to_string(compiled.errors());
  ASSERT_TRUE((*compiled)->save(path).ok());
  tenfold_model* model = nullptr;
  tenfold_context* context = nullptr;
  ASSERT_EQ(tenfold_model_load(path.c_str(), &model), TENFOLD_OK) << tenfold_last_error();
  ASSERT_EQ(tenfold_context_create(model, 2, &context), TENFOLD_OK);
  for (bool fits : {false, true}) {
    std::vector<Literal> args = values(fits ? c.good : c.bad);
    std::vector<DLTensor> tensors;
    for (Literal& l : args) {
      DLTensor t{};
      t.data = l.mutable_bytes();
      t.device = {kDLCPU, 0};
      t.ndim = l.rank();
      t.dtype = {kDLFloat, 32, 1};
      t.shape = const_cast<int64_t*>(l.dims().data());
      tensors.push_back(t);
    }
    tenfold_status s = tenfold_context_run(context, tensors.data(), tensors.size(), nullptr, 0);
    EXPECT_EQ(s, fits ? TENFOLD_OK : TENFOLD_ERROR) << tenfold_last_error();
    if (!fits) {
      EXPECT_STREQ(tenfold_last_error_id(), c.id);
      EXPECT_NE(std::string(tenfold_last_error()).find(c.says), std::string::npos);
    }
  }
  tenfold_context_release(context);
  tenfold_model_release(model);
  std::filesystem::remove(path);
}

INSTANTIATE_TEST_SUITE_P(All, SizeRules, ::testing::ValuesIn(kCases),
                         [](const auto& i) { return std::string(i.param.name); });

TEST(SizeRules, ProvenOnesAreNotStated) {
  auto m = parse_stablehlo(R"(
    func.func @main(%a: tensor<?x3xf32, #tenfold.dims<n, 3>>)
        -> tensor<?xf32, #tenfold.dims<3 * n>> {
      %0 = stablehlo.add %a, %a : tensor<?x3xf32, #tenfold.dims<n, 3>>
      %1 = stablehlo.reshape %0 : (tensor<?x3xf32, #tenfold.dims<n, 3>>)
          -> tensor<?xf32, #tenfold.dims<3 * n>>
      return %1 : tensor<?xf32, #tenfold.dims<3 * n>>
    })",
                           "proven");
  ASSERT_TRUE(m.ok()) << to_string(m.errors());
  PipelineOptions options;
  options.opt_level = 0;
  ASSERT_TRUE(run_pipeline(**m, options).ok());
  EXPECT_EQ(print(**m).find("tenfold.require"), std::string::npos) << print(**m);
}

}  // namespace
}  // namespace tenfold
