// Tenfold's C++ interface: tenfold.h with owners, spans and exceptions. Header-only, C++20.
//
//   tenfold::Model model = tenfold::Model::load("model.tenfold");
//   tenfold::Context context(model);
//   std::vector<float> x(3), y(2);
//   context.run({tenfold::view(x, {1, 3})}, {tenfold::view(y, {1, 2})});
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenfold.h"

namespace tenfold {
inline namespace v1 {

class Error : public std::runtime_error {
 public:
  Error(std::string id, const std::string& message)
      : std::runtime_error(message), id_(std::move(id)) {}
  const std::string& id() const { return id_; }  // "input-shape"

 private:
  std::string id_;
};

inline void check(tenfold_status status) {
  if (status != TENFOLD_OK) throw Error(tenfold_last_error_id(), tenfold_last_error());
}

// The DLPack type of a C++ number; bool is a byte.
template <class T>
constexpr DLDataType dtype_of() {
  using U = std::remove_cv_t<T>;
  static_assert(std::is_arithmetic_v<U>, "an element is a number; give other types their DLTensor");
  constexpr uint8_t code = std::is_same_v<U, bool>       ? uint8_t{kDLBool}
                           : std::is_floating_point_v<U> ? uint8_t{kDLFloat}
                           : std::is_signed_v<U>         ? uint8_t{kDLInt}
                                                         : uint8_t{kDLUInt};
  return {code, sizeof(U) * 8, 1};
}

// Elements of the caller's, row-major, with a shape of its own. Owns no data.
class View {
 public:
  View(void* data, DLDataType dtype, std::vector<int64_t> shape)
      : data_(data), dtype_(dtype), shape_(std::move(shape)) {}
  const std::vector<int64_t>& shape() const { return shape_; }
  DLTensor dlpack() {
    return {data_, {kDLCPU, 0}, static_cast<int32_t>(shape_.size()), dtype_, shape_.data(), nullptr,
            0};
  }

 private:
  void* data_;
  DLDataType dtype_;
  std::vector<int64_t> shape_;
};

// Throws when the shape has another number of elements. Inputs are never written to.
template <class T>
View view(std::span<T> data, std::vector<int64_t> shape) {
  size_t n = 1;
  for (int64_t d : shape) n *= static_cast<size_t>(d);
  if (n != data.size())
    throw Error("view-size", "a view's shape has " + std::to_string(n) + " elements, its data " +
                                 std::to_string(data.size()));
  return {const_cast<std::remove_const_t<T>*>(data.data()), dtype_of<T>(), std::move(shape)};
}
template <class Container>
View view(Container& data, std::vector<int64_t> shape) {
  return view(std::span(data), std::move(shape));
}

struct TensorInfo {
  std::string name;
  DLDataType dtype;
  std::vector<int64_t> shape;           // -1: open
  std::vector<std::string> dimensions;  // "n", "2*n + 1", or the number as text
};

class Model {
 public:
  static Model load(const std::string& path) {
    tenfold_model* m = nullptr;
    check(tenfold_model_load(path.c_str(), &m));
    return Model(m);
  }
  // The bytes must outlive the model.
  static Model load(std::span<const std::byte> package) {
    tenfold_model* m = nullptr;
    check(tenfold_model_load_memory(package.data(), package.size(), &m));
    return Model(m);
  }
  static Model load(const tenfold_linked& linked) {
    tenfold_model* m = nullptr;
    check(tenfold_model_load_linked(&linked, &m));
    return Model(m);
  }

  std::string_view name() const { return tenfold_model_name(get()); }
  std::string_view target() const { return tenfold_model_target(get()); }
  std::vector<TensorInfo> inputs() const {
    return describe(tenfold_model_input_count(get()), tenfold_model_input);
  }
  std::vector<TensorInfo> outputs() const {
    return describe(tenfold_model_output_count(get()), tenfold_model_output);
  }
  const tenfold_model* get() const { return m_.get(); }

 private:
  struct Release {
    void operator()(tenfold_model* m) const { tenfold_model_release(m); }
  };
  explicit Model(tenfold_model* m) : m_(m) {}

  template <class F>
  std::vector<TensorInfo> describe(size_t count, F&& f) const {
    std::vector<TensorInfo> all;
    for (size_t i = 0; i < count; ++i) {
      tenfold_tensor_info t;
      check(f(get(), i, &t));
      all.push_back(
          {t.name, t.dtype, {t.shape, t.shape + t.ndim}, {t.dimension, t.dimension + t.ndim}});
    }
    return all;
  }

  std::unique_ptr<tenfold_model, Release> m_;
};

struct KernelTime {
  std::string kernel, origins;
  int64_t calls = 0, nanoseconds = 0;
  double flops = 0, bytes = 0;
  int threads = 1;
};

// One thread's at a time.
class Context {
 public:
  explicit Context(const Model& model, int threads = 0) {
    tenfold_context* c = nullptr;
    check(tenfold_context_create(model.get(), threads, &c));
    c_.reset(c);
  }

  // Outputs straight into the caller's memory.
  void run(std::span<View> inputs, std::span<View> outputs) {
    auto in = tensors(inputs), out = tensors(outputs);
    check(tenfold_context_run(c_.get(), in.data(), in.size(), out.data(), out.size()));
  }
  void run(std::vector<View> inputs, std::vector<View> outputs) {
    run(std::span(inputs), std::span(outputs));
  }
  // Outputs in the context's memory: see output().
  void run(std::vector<View> inputs) {
    auto in = tensors(inputs);
    check(tenfold_context_run(c_.get(), in.data(), in.size(), nullptr, 0));
  }
  // Of the last run; holds until the next.
  DLTensor output(size_t index) const {
    DLTensor t;
    check(tenfold_context_output(c_.get(), index, &t));
    return t;
  }
  // The same as elements of T, which must be the output's type.
  template <class T>
  std::span<const T> values(size_t index) const {
    DLTensor t = output(index);
    DLDataType want = dtype_of<T>();
    if (t.dtype.code != want.code || t.dtype.bits != want.bits)
      throw Error("output-dtype", "the output has another element type");
    size_t n = 1;
    for (int32_t i = 0; i < t.ndim; ++i) n *= static_cast<size_t>(t.shape[i]);
    return {static_cast<const T*>(t.data), n};
  }

  size_t memory() const { return tenfold_context_memory(c_.get()); }
  void set_profiling(bool on) { tenfold_context_set_profiling(c_.get(), on); }
  std::vector<KernelTime> profile() const {
    const tenfold_kernel_time* t = nullptr;
    size_t n = 0;
    check(tenfold_context_profile(c_.get(), &t, &n));
    std::vector<KernelTime> all;
    for (size_t i = 0; i < n; ++i)
      all.push_back({t[i].kernel, t[i].origins, t[i].calls, t[i].nanoseconds, t[i].flops,
                     t[i].bytes, t[i].threads});
    return all;
  }
  tenfold_context* get() const { return c_.get(); }

 private:
  struct Release {
    void operator()(tenfold_context* c) const { tenfold_context_release(c); }
  };
  static std::vector<DLTensor> tensors(std::span<View> views) {
    std::vector<DLTensor> all;
    for (View& v : views) all.push_back(v.dlpack());
    return all;
  }
  std::unique_ptr<tenfold_context, Release> c_;
};

}  // namespace v1
}  // namespace tenfold
