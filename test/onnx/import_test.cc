// The importer's promises: it reads everything or refuses, and lists every problem at once.
#include "frontends/onnx/import.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "graph/evaluator.h"
#include "onnx/onnx_bytes.h"

namespace tenfold {
namespace {

using namespace onnx_test;
namespace fs = std::filesystem;

Result<std::unique_ptr<Module>> import_bytes(const std::string& file,
                                             const onnx::ImportOptions& options = {},
                                             onnx::ImportNeeds* needs = nullptr,
                                             const std::string& folder = {}) {
  return onnx::import_onnx_bytes(std::as_bytes(std::span(file)), "m.onnx", folder, options, needs);
}

std::vector<std::string> ids(const Errors& errors) {
  std::vector<std::string> out;
  for (const Error& e : errors) out.push_back(e.id);
  return out;
}

// Imports and evaluates; one f32 result as a list.
std::vector<double> run(const std::string& file, const std::vector<Literal>& args,
                        const onnx::ImportOptions& options = {}) {
  auto m = import_bytes(file, options);
  EXPECT_TRUE(m.ok()) << (m.ok() ? "" : to_string(m.errors()));
  if (!m.ok()) return {};
  auto r = evaluate(**m, *(*m)->main(), args);
  EXPECT_TRUE(r.ok()) << (r.ok() ? "" : to_string(r.errors()));
  if (!r.ok()) return {};
  std::vector<double> out;
  for (int64_t i = 0; i < (*r)[0].size(); ++i) out.push_back((*r)[0].as_f64(i));
  return out;
}

Literal floats(std::vector<int64_t> dims, const std::vector<float>& v) {
  return Literal::from<float>(DType::F32, std::move(dims), v);
}

const Message kX = value_info("x", kFloat, {2, 2});
const Message kY = value_info("y", kFloat, {2, 2});

TEST(OnnxImport, RefusesAnAttributeItDoesNotRead) {
  auto m = import_bytes(
      model(graph({node("Relu", {"x"}, {"y"}, {attr_int("slope", 1)}, "act")}, {kX}, {kY})));
  ASSERT_FALSE(m.ok());
  ASSERT_EQ(m.errors().size(), 1u);
  EXPECT_EQ(m.errors()[0].id, "onnx-unread-attribute");
  EXPECT_EQ(m.errors()[0].loc.text, "m.onnx:act");
  EXPECT_NE(m.errors()[0].message.find("Relu (opset 18)"), std::string::npos);
  EXPECT_NE(m.errors()[0].message.find("'slope'"), std::string::npos);
}

TEST(OnnxImport, RefusesAnInputItDoesNotRead) {
  auto m = import_bytes(model(graph({node("Relu", {"x", "x"}, {"y"})}, {kX}, {kY})));
  ASSERT_FALSE(m.ok());
  EXPECT_EQ(ids(m.errors()), std::vector<std::string>{"onnx-unread-input"});
}

TEST(OnnxImport, ListsEveryProblem) {
  auto m =
      import_bytes(model(graph({node("Relu", {"x"}, {"a"}, {attr_int("slope", 1)}),
                                node("Wibble", {"x"}, {"b"}), node("Add", {"b", "nothing"}, {"c"}),
                                node("Wobble", {"c"}, {"d"}), node("Add", {"x", "missing"}, {"y"})},
                               {kX}, {kY})));
  ASSERT_FALSE(m.ok());
  auto found = ids(m.errors());
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found,
            (std::vector<std::string>{"onnx-unknown-name", "onnx-unknown-name", "onnx-unknown-op",
                                      "onnx-unknown-op", "onnx-unread-attribute"}));
}

TEST(OnnxImport, RefusesANewerOpset) {
  auto m = import_bytes(model(graph({node("Relu", {"x"}, {"y"})}, {kX}, {kY}), 1000));
  ASSERT_FALSE(m.ok());
  EXPECT_EQ(m.errors()[0].id, "onnx-opset-too-new");
}

TEST(OnnxImport, RefusesWrongAttributeTypes) {
  auto m = import_bytes(
      model(graph({node("Softmax", {"x"}, {"y"}, {attr_float("axis", 1)})}, {kX}, {kY})));
  ASSERT_FALSE(m.ok());
  EXPECT_EQ(m.errors()[0].id, "onnx-invalid");
  EXPECT_NE(m.errors()[0].message.find("'axis' is a float, wanted an int"), std::string::npos);
}

TEST(OnnxImport, RefusesNamesDefinedTwice) {
  auto m = import_bytes(
      model(graph({node("Relu", {"x"}, {"y"}), node("Abs", {"x"}, {"y"})}, {kX}, {kY})));
  ASSERT_FALSE(m.ok());
  EXPECT_EQ(m.errors()[0].id, "onnx-invalid");
}

TEST(OnnxImport, UnpacksFourBitTensors) {
  // 1, -8, 7 in two bytes, the first element in the low half.
  const Message w = tensor<uint8_t>("w", kInt4, {3}, {0x81, 0x07});
  const auto y = run(model(graph({node("Cast", {"w"}, {"y"}, {attr_int("to", kFloat)})}, {},
                                 {value_info("y", kFloat, {3})}, {w}),
                           21),
                     {});
  EXPECT_EQ(y, (std::vector<double>{1, -8, 7}));
}

TEST(OnnxImport, FillsSparseInitializers) {
  const Message s = Message()
                        .message(1, tensor<float>("w", kFloat, {2}, {5, 7}))
                        .message(2, tensor<int64_t>("i", kInt64, {2, 2}, {0, 1, 1, 0}))
                        .varint(3, 2)
                        .varint(3, 2);
  const auto y = run(model(graph({node("Add", {"x", "w"}, {"y"})}, {kX}, {kY}, {}, {s})),
                     {floats({2, 2}, {1, 2, 3, 4})});
  EXPECT_EQ(y, (std::vector<double>{1, 7, 10, 4}));
}

TEST(OnnxImport, InlinesFunctionsWithAttributes) {
  // f(a) = Elu<alpha = @slope>(a), called with slope 2 and with its default 3.
  const Message f = Message()
                        .bytes(1, "F")
                        .bytes(4, "a")
                        .bytes(5, "r")
                        .message(7, node("Elu", {"a"}, {"r"}, {attr_ref("alpha", "slope")}))
                        .message(9, opset("", 18))
                        .bytes(10, "local")
                        .message(11, attr_float("slope", 3));
  const auto file = [&](const std::vector<Message>& attrs) {
    return model(graph({node("F", {"x"}, {"y"}, attrs, "call", "local")}, {kX}, {kY}), 18, {f},
                 {opset("local", 1)});
  };
  const Literal x = floats({2, 2}, {-1000, 1, 0, -1000});
  EXPECT_EQ(run(file({attr_float("slope", 2)}), {x}), (std::vector<double>{-2, 1, 0, -2}));
  EXPECT_EQ(run(file({}), {x}), (std::vector<double>{-3, 1, 0, -3}));
  auto m = import_bytes(file({attr_float("other", 2)}));
  ASSERT_FALSE(m.ok());
  EXPECT_EQ(m.errors()[0].id, "onnx-unread-attribute");
}

TEST(OnnxImport, RefusesFunctionsThatCallThemselves) {
  const Message f = Message()
                        .bytes(1, "F")
                        .bytes(4, "a")
                        .bytes(5, "r")
                        .message(7, node("F", {"a"}, {"r"}, {}, "", "local"))
                        .bytes(10, "local");
  auto m = import_bytes(model(graph({node("F", {"x"}, {"y"}, {}, "", "local")}, {kX}, {kY}), 18,
                              {f}, {opset("local", 1)}));
  ASSERT_FALSE(m.ok());
  EXPECT_NE(to_string(m.errors()).find("calls itself"), std::string::npos);
}

TEST(OnnxImport, NamesTheInputsWhoseValuesItNeeds) {
  const std::string file =
      model(graph({node("ReduceSum", {"x", "axes"}, {"y"}, {attr_int("keepdims", 0)})},
                  {kX, value_info("axes", kInt64, {1})}, {value_info("y", kFloat, {2})}));
  onnx::ImportNeeds needs;
  auto m = import_bytes(file, {}, &needs);
  ASSERT_FALSE(m.ok());
  EXPECT_EQ(m.errors()[0].id, "onnx-needs-value");
  EXPECT_EQ(needs.values, std::set<std::string>{"axes"});

  onnx::ImportOptions options;
  options.values["axes"] = Literal::i64s({1});
  const Literal x = floats({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(run(file, {x, Literal::i64s({1})}, options), (std::vector<double>{3, 7}));
  // Another value than the one compiled for is refused at run time.
  m = import_bytes(file, options);
  ASSERT_TRUE(m.ok());
  EXPECT_FALSE(evaluate(**m, *(*m)->main(), {x, Literal::i64s({0})}).ok());
}

TEST(OnnxImport, KeepsNamedDimensionsAndFixesThem) {
  const std::string file =
      model(graph({node("Add", {"a", "b"}, {"y"})},
                  {value_info("a", kFloat, {"n", 2}), value_info("b", kFloat, {"n", 2})},
                  {value_info("y", kFloat, {"n", 2})}));
  auto m = import_bytes(file);
  ASSERT_TRUE(m.ok());
  const Function& f = *(*m)->main();
  EXPECT_EQ(f.body.args[0]->type.shape[0].str(), "n");
  EXPECT_EQ(f.body.results()[0]->type.shape[0].str(), "n");
  onnx::ImportOptions options;
  options.shapes["a"] = {5, 2};
  m = import_bytes(file, options);
  ASSERT_TRUE(m.ok());
  EXPECT_EQ((*m)->main()->body.args[1]->type.shape[0], Dim(5));
  options.shapes["a"] = {5, 3};
  EXPECT_FALSE(import_bytes(file, options).ok());
  options.shapes = {{"c", {1}}};
  EXPECT_FALSE(import_bytes(file, options).ok());
}

TEST(OnnxImport, BroadcastsSizesThatAreOneAtRunTime) {
  const std::string file =
      model(graph({node("Add", {"a", "b"}, {"y"})},
                  {value_info("a", kFloat, {"n", 2}), value_info("b", kFloat, {"m", 2})},
                  {value_info("y", kFloat, {"k", 2})}));
  const Literal two = floats({2, 2}, {1, 2, 3, 4}), one = floats({1, 2}, {10, 20});
  EXPECT_EQ(run(file, {two, one}), (std::vector<double>{11, 22, 13, 24}));
  EXPECT_EQ(run(file, {one, two}), (std::vector<double>{11, 22, 13, 24}));
  EXPECT_EQ(run(file, {two, two}), (std::vector<double>{2, 4, 6, 8}));
  EXPECT_EQ(run(file, {floats({0, 2}, {}), one}), (std::vector<double>{}));
}

TEST(OnnxImport, BranchesOfDifferentSizes) {
  // y = cond ? x : concat(x, x)
  const Message then_graph =
      graph({node("Identity", {"x"}, {"t"})}, {}, {value_info("t", kFloat, {2, 2})});
  const Message else_graph = graph({node("Concat", {"x", "x"}, {"e"}, {attr_int("axis", 0)})}, {},
                                   {value_info("e", kFloat, {4, 2})});
  const std::string file = model(
      graph({node("If", {"c"}, {"z"},
                  {attr_graph("then_branch", then_graph), attr_graph("else_branch", else_graph)}),
             node("Neg", {"z"}, {"y"})},
            {kX, value_info("c", kBool, {})}, {value_info("y", kFloat, {"k", 2})}));
  const Literal x = floats({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(run(file, {x, Literal::scalar_i(DType::Bool, 1)}),
            (std::vector<double>{-1, -2, -3, -4}));
  EXPECT_EQ(run(file, {x, Literal::scalar_i(DType::Bool, 0)}),
            (std::vector<double>{-1, -2, -3, -4, -1, -2, -3, -4}));
}

TEST(OnnxImport, TruncatedFilesAreRefused) {
  const std::string whole = model(graph({node("Relu", {"x"}, {"y"})}, {kX}, {kY}));
  int refused = 0;
  for (size_t n = 0; n < whole.size(); ++n) refused += !import_bytes(whole.substr(0, n)).ok();
  // A cut between two fields can leave a shorter but sound model; none may crash.
  EXPECT_GE(refused, static_cast<int>(whole.size()) - 3);
}

TEST(OnnxImport, ExternalDataStaysInTheFolder) {
  const fs::path root = fs::path(::testing::TempDir()) / "tenfold_external";
  fs::remove_all(root);
  fs::create_directories(root / "m");
  const float values[] = {1, 2, 3, 4};
  for (const char* name : {"secret.bin", "m/w.bin"}) {
    std::ofstream(root / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(values), sizeof values);
  }
  fs::create_symlink(root / "secret.bin", root / "m/link.bin");
  const auto entry = [](std::string_view k, std::string_view v) {
    return Message().bytes(1, k).bytes(2, v);
  };
  const auto file = [&](std::string_view location, std::string_view offset,
                        std::string_view length) {
    const Message w = Message()
                          .varint(1, 2)
                          .varint(1, 2)
                          .varint(2, kFloat)
                          .bytes(8, "w")
                          .message(13, entry("location", location))
                          .message(13, entry("offset", offset))
                          .message(13, entry("length", length))
                          .varint(14, 1);
    return model(graph({node("Add", {"x", "w"}, {"y"})}, {kX}, {kY}, {w}));
  };
  const std::string folder = (root / "m").string();
  EXPECT_TRUE(import_bytes(file("w.bin", "0", "16"), {}, nullptr, folder).ok());
  const auto id = [&](std::string_view location, std::string_view offset, std::string_view length) {
    auto m = import_bytes(file(location, offset, length), {}, nullptr, folder);
    return m.ok() ? std::string("ok") : m.errors()[0].id;
  };
  EXPECT_EQ(id("../secret.bin", "0", "16"), "onnx-external-data-outside");
  EXPECT_EQ(id("link.bin", "0", "16"), "onnx-external-data-outside");
  EXPECT_EQ(id((root / "secret.bin").string(), "0", "16"), "onnx-external-data-outside");
  EXPECT_EQ(id("w.bin", "8", "16"), "onnx-bad-tensor");
  EXPECT_EQ(id("w.bin", "18446744073709551608", "16"), "onnx-bad-tensor");
  EXPECT_EQ(id("w.bin", "-8", "16"), "onnx-bad-tensor");
  EXPECT_EQ(id("w.bin", "0", "12"), "onnx-bad-tensor");
  EXPECT_EQ(id("none.bin", "0", "16"), "onnx-bad-tensor");
  fs::remove_all(root);
}

}  // namespace
}  // namespace tenfold
