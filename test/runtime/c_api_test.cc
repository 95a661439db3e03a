// The C functions, on a model linked in.
#include <gtest/gtest.h>

#include <cstring>

#include "runtime/programs.h"
#include "tenfold/tenfold.hpp"

namespace {

using tenfold::rt::Linked;

class CApiTest : public testing::Test {
 protected:
  void SetUp() override {
    std::vector<float> constants = tenfold::rt::scale_constants();
    auto written = tenfold::rt::write_package(
        tenfold::rt::scale_program(), std::as_bytes(std::span(constants)), {},
        [&](std::span<const std::byte> b) {
          package_.append(reinterpret_cast<const char*>(b.data()), b.size());
          return tenfold::ok_status();
        });
    ASSERT_TRUE(written.ok());
    auto f = tenfold::rt::scale_functions();
    linked_ = {{tenfold::rt::kLinkedMagic, reinterpret_cast<const std::byte*>(package_.data()),
                package_.size(), 2},
               {f.at("multiply_rows"), f.at("add_one")}};
    ASSERT_EQ(tenfold_model_load_linked(linked(), &model_), TENFOLD_OK) << tenfold_last_error();
    ASSERT_EQ(tenfold_context_create(model_, 2, &context_), TENFOLD_OK);
  }
  void TearDown() override {
    tenfold_context_release(context_);
    tenfold_model_release(model_);
  }
  const tenfold_linked* linked() const { return reinterpret_cast<const tenfold_linked*>(&linked_); }
  DLTensor tensor(void* data) {
    return {data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape_, nullptr, 0};
  }

  std::string package_;
  struct {
    Linked head;
    void* functions[2];
  } linked_;
  tenfold_model* model_ = nullptr;
  tenfold_context* context_ = nullptr;
  int64_t shape_[2] = {2, 3};
  float x_[6] = {1, 2, 3, 4, 5, 6}, y_[6] = {};
  const float want_[6] = {2, 21, 301, 5, 51, 601};
};

TEST_F(CApiTest, DescribesTheModel) {
  EXPECT_STREQ(tenfold_model_name(model_), "scale");
  ASSERT_EQ(tenfold_model_input_count(model_), 1u);
  tenfold_tensor_info info;
  ASSERT_EQ(tenfold_model_input(model_, 0, &info), TENFOLD_OK);
  EXPECT_STREQ(info.name, "x");
  EXPECT_EQ(info.dtype.code, kDLFloat);
  EXPECT_EQ(info.dtype.bits, 32);
  ASSERT_EQ(info.ndim, 2);
  EXPECT_EQ(info.shape[0], -1);
  EXPECT_EQ(info.shape[1], 3);
  EXPECT_STREQ(info.dimension[0], "n");
  EXPECT_STREQ(info.dimension[1], "3");
  EXPECT_EQ(tenfold_model_input(model_, 1, &info), TENFOLD_ERROR_ARGUMENT);
  EXPECT_EQ(tenfold_model_find_output(model_, "y"), 0);
  EXPECT_EQ(tenfold_model_find_output(model_, "z"), -1);
  int64_t min = 0, max = 0;
  ASSERT_EQ(tenfold_model_dimension_bounds(model_, "n", &min, &max), TENFOLD_OK);
  EXPECT_EQ(min, 1);
  EXPECT_EQ(max, 1000);
}

TEST_F(CApiTest, RunsIntoTheCallersMemory) {
  DLTensor in = tensor(x_), out = tensor(y_);
  ASSERT_EQ(tenfold_context_run(context_, &in, 1, &out, 1), TENFOLD_OK) << tenfold_last_error();
  EXPECT_EQ(std::memcmp(y_, want_, sizeof want_), 0);
}

TEST_F(CApiTest, GivesItsOwnMemory) {
  DLTensor in = tensor(x_), out{};
  ASSERT_EQ(tenfold_context_run(context_, &in, 1, &out, 1), TENFOLD_OK) << tenfold_last_error();
  ASSERT_EQ(out.ndim, 2);
  EXPECT_EQ(out.shape[0], 2);
  EXPECT_EQ(std::memcmp(out.data, want_, sizeof want_), 0);
  DLTensor again{};
  ASSERT_EQ(tenfold_context_output(context_, 0, &again), TENFOLD_OK);
  EXPECT_EQ(again.data, out.data);
}

TEST_F(CApiTest, ReadsOffsetsAndPlainStrides) {
  float shifted[7] = {99, 1, 2, 3, 4, 5, 6};
  int64_t strides[2] = {3, 1};
  DLTensor in = tensor(shifted), out = tensor(y_);
  in.byte_offset = 4;
  in.strides = strides;
  ASSERT_EQ(tenfold_context_run(context_, &in, 1, &out, 1), TENFOLD_OK) << tenfold_last_error();
  EXPECT_EQ(std::memcmp(y_, want_, sizeof want_), 0);
}

TEST_F(CApiTest, SaysWhatIsWrong) {
  auto id_of = [&](auto&& change) {
    DLTensor in = tensor(x_), out = tensor(y_);
    change(in, out);
    EXPECT_EQ(tenfold_context_run(context_, &in, 1, &out, 1), TENFOLD_ERROR);
    return std::string(tenfold_last_error_id());
  };
  int64_t strides[2] = {1, 2}, wide[2] = {2, 4}, other[2] = {3, 2};
  EXPECT_EQ(id_of([&](DLTensor& in, DLTensor&) { in.strides = strides; }), "tensor-strides");
  EXPECT_EQ(id_of([&](DLTensor& in, DLTensor&) { in.device.device_type = DLDeviceType(2); }),
            "tensor-device");
  EXPECT_EQ(id_of([&](DLTensor& in, DLTensor&) { in.dtype.bits = 64; }), "input-dtype");
  EXPECT_EQ(id_of([&](DLTensor& in, DLTensor&) { in.dtype.lanes = 4; }), "tensor-dtype");
  EXPECT_EQ(id_of([&](DLTensor& in, DLTensor&) { in.shape = wide; }), "input-shape");
  EXPECT_EQ(id_of([&](DLTensor& in, DLTensor&) { in.data = nullptr; }), "tensor-data");
  EXPECT_EQ(id_of([&](DLTensor&, DLTensor& out) { out.shape = other; }), "output-shape");
  EXPECT_EQ(id_of([&](DLTensor&, DLTensor& out) { out.dtype.code = kDLInt; }), "output-dtype");
  EXPECT_NE(std::string(tenfold_last_error()).find("output `y`"), std::string::npos);
  EXPECT_EQ(tenfold_context_run(context_, nullptr, 0, nullptr, 0), TENFOLD_ERROR);
  EXPECT_STREQ(tenfold_last_error_id(), "input-count");
  tenfold_model* none = nullptr;
  EXPECT_EQ(tenfold_model_load(nullptr, &none), TENFOLD_ERROR_ARGUMENT);
  EXPECT_EQ(tenfold_model_load("no such file", &none), TENFOLD_ERROR);
  EXPECT_STREQ(tenfold_last_error_id(), "file-not-found");
  EXPECT_EQ(none, nullptr);
}

TEST_F(CApiTest, ProfilesByKernel) {
  DLTensor in = tensor(x_), out = tensor(y_);
  tenfold_context_set_profiling(context_, 1);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(tenfold_context_run(context_, &in, 1, &out, 1), TENFOLD_OK);
  const tenfold_kernel_time* times = nullptr;
  size_t n = 0;
  ASSERT_EQ(tenfold_context_profile(context_, &times, &n), TENFOLD_OK);
  ASSERT_EQ(n, 2u);
  for (size_t i = 0; i < n; ++i) {
    EXPECT_EQ(times[i].calls, 3);
    if (std::string(times[i].kernel) == "multiply_rows") {
      EXPECT_EQ(times[i].flops, 18);
      EXPECT_STREQ(times[i].origins, "node_multiply_rows");
    }
  }
}

TEST_F(CApiTest, AContextOutlivesItsModel) {
  tenfold_model_release(model_);
  model_ = nullptr;
  DLTensor in = tensor(x_), out = tensor(y_);
  ASSERT_EQ(tenfold_context_run(context_, &in, 1, &out, 1), TENFOLD_OK);
  EXPECT_EQ(y_[5], 601);
}

TEST_F(CApiTest, CppWrapsIt) {
  tenfold::Model model = tenfold::Model::load(*linked());
  ASSERT_EQ(model.inputs().size(), 1u);
  EXPECT_EQ(model.inputs()[0].dimensions, (std::vector<std::string>{"n", "3"}));
  tenfold::Context context(model, 1);
  std::vector<float> x(x_, x_ + 6), y(6);
  context.run({tenfold::view(x, {2, 3})}, {tenfold::view(y, {2, 3})});
  EXPECT_EQ(y, std::vector<float>(want_, want_ + 6));
  context.run({tenfold::view(x, {2, 3})});
  EXPECT_EQ(context.values<float>(0)[2], 301);
  EXPECT_THROW(context.values<int>(0), tenfold::v1::Error);
  EXPECT_THROW(tenfold::view(x, {2, 2}), tenfold::v1::Error);
  try {
    context.run({tenfold::view(x, {6})});
    FAIL() << "a wrong rank was accepted";
  } catch (const tenfold::v1::Error& e) {
    EXPECT_EQ(e.id(), "input-rank");
  }
}

}  // namespace
