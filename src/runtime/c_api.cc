// include/tenfold/tenfold.h on the runtime's classes. No exception leaves a function.
#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <thread>

#include "runtime/artifact.h"
#include "runtime/dlpack_type.h"
#include "runtime/signature.h"
#include "tenfold/tenfold.h"

using namespace tenfold;  // NOLINT: the names of this file are C's

namespace {

struct Described {
  rt::TensorInfo info;
  std::vector<const char*> names;
};

std::vector<Described> described(std::vector<rt::TensorInfo> infos) {
  std::vector<Described> all;
  for (auto& i : infos) all.push_back({std::move(i), {}});
  for (auto& d : all)
    for (auto& n : d.info.dim_names) d.names.push_back(n.c_str());
  return all;
}

struct Shared {
  std::shared_ptr<const rt::Executable> exe;
  std::vector<Described> inputs, outputs;
  std::mutex mutex;
  std::map<int, std::weak_ptr<rt::ThreadPool>> pools;  // by number of threads

  std::shared_ptr<rt::ThreadPool> pool(int threads) {
    std::lock_guard lock(mutex);
    auto& slot = pools[threads];
    auto p = slot.lock();
    if (!p) slot = p = std::make_shared<rt::ThreadPool>(threads);
    return p;
  }
};

struct LastError {
  std::string text, id;
};
LastError& last() {
  thread_local LastError e;
  return e;
}

tenfold_status fail(tenfold_status status, std::string id, std::string text) {
  last() = {std::move(text), std::move(id)};
  return status;
}
tenfold_status fail(const Errors& errors) {
  std::string text = to_string(errors);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return fail(TENFOLD_ERROR, errors.empty() ? "" : errors[0].id, std::move(text));
}
tenfold_status bad_argument(const char* what) {
  return fail(TENFOLD_ERROR_ARGUMENT, "bad-argument", what);
}

template <class F>
tenfold_status guarded(F&& f) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    return fail(TENFOLD_ERROR_MEMORY, "out-of-memory", "there is no memory left");
  } catch (const std::exception& e) {
    return fail(TENFOLD_ERROR_MEMORY, "out-of-threads", e.what());
  }
}

std::string shape_text(const int64_t* dims, int rank) {
  std::string s = "[";
  for (int i = 0; i < rank; ++i) s += (i ? ", " : "") + std::to_string(dims[i]);
  return s + "]";
}

tenfold_status describe(const std::vector<Described>& all, size_t index, tenfold_tensor_info* out) {
  if (!out || index >= all.size()) return bad_argument("no tensor with this index");
  const Described& d = all[index];
  *out = {d.info.name.c_str(), rt::to_dlpack(d.info.dtype),
          static_cast<int32_t>(d.info.dims.size()), d.info.dims.data(), d.names.data()};
  return TENFOLD_OK;
}

int64_t find(const std::vector<Described>& all, const char* name) {
  for (size_t i = 0; name && i < all.size(); ++i)
    if (all[i].info.name == name) return static_cast<int64_t>(i);
  return -1;
}

// Checks what TensorView cannot say: device, strides, gaps.
Status view(const DLTensor& t, const Described& d, const char* role, rt::TensorView& out) {
  auto error = [&](std::string id, std::string what) {
    return Error{std::move(id), std::string(role) + " `" + d.info.name + "`: " + what, {}, {}};
  };
  if (t.device.device_type != kDLCPU)
    return error("tensor-device", "is not in the CPU's memory; copy it there first");
  auto dtype = rt::from_dlpack(t.dtype);
  if (!dtype) {
    return error("tensor-dtype", "has an element type with DLPack code " +
                                     std::to_string(t.dtype.code) + " and " +
                                     std::to_string(t.dtype.bits) + " bits, the model takes " +
                                     std::string(name(d.info.dtype)));
  }
  if (t.ndim < 0 || (t.ndim > 0 && !t.shape)) return error("tensor-shape", "has no shape");
  out.dtype = *dtype;
  out.dims.assign(t.shape, t.shape + t.ndim);
  int64_t stride = 1;
  bool empty = std::any_of(out.dims.begin(), out.dims.end(), [](int64_t n) { return n == 0; });
  for (int i = t.ndim - 1; i >= 0; --i) {
    if (out.dims[i] < 0) return error("tensor-shape", "has a negative dimension");
    if (t.strides && !empty && out.dims[i] != 1 && t.strides[i] != stride)
      return error("tensor-strides", "is not row-major without gaps; make a contiguous copy");
    if (__builtin_mul_overflow(stride, out.dims[i], &stride))
      return error("tensor-shape", "has more elements than can be counted");
  }
  out.data = t.data ? static_cast<std::byte*>(t.data) + t.byte_offset : nullptr;
  if (!out.data && !empty) return error("tensor-data", "has no data");
  static std::byte nothing[64];
  if (!out.data) out.data = nothing;
  return ok_status();
}

}  // namespace

struct tenfold_model {
  std::shared_ptr<Shared> shared;
};

struct tenfold_context {
  std::shared_ptr<Shared> shared;
  std::unique_ptr<rt::Context> context;
  std::vector<rt::TensorView> views;
  bool ran = false;
  bool profiling = false;
  std::vector<rt::KernelTime> times;
  std::vector<std::string> origins;
  std::vector<tenfold_kernel_time> sums;
};

namespace {

tenfold_status finish_load(Result<std::shared_ptr<const rt::Executable>> exe, tenfold_model** out) {
  if (!exe.ok()) return fail(exe.errors());
  auto shared = std::make_shared<Shared>();
  shared->exe = std::move(*exe);
  shared->inputs = described(rt::inputs_of(shared->exe->program()));
  shared->outputs = described(rt::outputs_of(shared->exe->program()));
  *out = new tenfold_model{std::move(shared)};
  return TENFOLD_OK;
}

void give(const rt::TensorView& v, DLTensor* out) {
  // The context owns the shape; DLPack has no const.
  *out = {v.data,
          {kDLCPU, 0},
          static_cast<int32_t>(v.dims.size()),
          rt::to_dlpack(v.dtype),
          const_cast<int64_t*>(v.dims.data()),
          nullptr,
          0};
}

}  // namespace

extern "C" {

uint32_t tenfold_abi_version(void) { return TENFOLD_ABI_VERSION; }
const char* tenfold_version(void) { return TENFOLD_VERSION; }
const char* tenfold_last_error(void) { return last().text.c_str(); }
const char* tenfold_last_error_id(void) { return last().id.c_str(); }

tenfold_status tenfold_model_load(const char* path, tenfold_model** out) {
  if (!path || !out) return bad_argument("tenfold_model_load: a pointer is null");
  return guarded([&] { return finish_load(rt::load_artifact(path), out); });
}

tenfold_status tenfold_model_load_memory(const void* data, size_t size, tenfold_model** out) {
  if (!data || !out) return bad_argument("tenfold_model_load_memory: a pointer is null");
  return guarded([&] {
    return finish_load(
        rt::load_package({static_cast<const std::byte*>(data), size}, nullptr, "package"), out);
  });
}

tenfold_status tenfold_model_load_linked(const tenfold_linked* linked, tenfold_model** out) {
  if (!linked || !out) return bad_argument("tenfold_model_load_linked: a pointer is null");
  return guarded([&] {
    return finish_load(rt::load_linked(*reinterpret_cast<const rt::Linked*>(linked)), out);
  });
}

void tenfold_model_release(tenfold_model* model) { delete model; }

const char* tenfold_model_name(const tenfold_model* m) {
  return m->shared->exe->program().model_name.c_str();
}
const char* tenfold_model_target(const tenfold_model* m) {
  return m->shared->exe->program().target.c_str();
}
size_t tenfold_model_input_count(const tenfold_model* m) { return m->shared->inputs.size(); }
size_t tenfold_model_output_count(const tenfold_model* m) { return m->shared->outputs.size(); }
tenfold_status tenfold_model_input(const tenfold_model* m, size_t i, tenfold_tensor_info* out) {
  return describe(m->shared->inputs, i, out);
}
tenfold_status tenfold_model_output(const tenfold_model* m, size_t i, tenfold_tensor_info* out) {
  return describe(m->shared->outputs, i, out);
}
int64_t tenfold_model_find_input(const tenfold_model* m, const char* name) {
  return find(m->shared->inputs, name);
}
int64_t tenfold_model_find_output(const tenfold_model* m, const char* name) {
  return find(m->shared->outputs, name);
}

tenfold_status tenfold_model_dimension_bounds(const tenfold_model* m, const char* name,
                                              int64_t* min, int64_t* max) {
  if (!name || !min || !max) return bad_argument("tenfold_model_dimension_bounds: null pointer");
  for (const auto& s : m->shared->exe->program().symbols) {
    if (s.name != name) continue;
    *min = s.min;
    *max = s.max;
    return TENFOLD_OK;
  }
  return fail(TENFOLD_ERROR, "unknown-dimension",
              "the model has no dimension `" + std::string(name) + "`");
}

tenfold_status tenfold_context_create(const tenfold_model* model, int threads,
                                      tenfold_context** out) {
  if (!model || !out) return bad_argument("tenfold_context_create: a pointer is null");
  if (threads < 0 || threads > 1024)
    return bad_argument("tenfold_context_create: threads must be from 0 to 1024");
  return guarded([&] {
    if (threads == 0) threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    auto c = std::make_unique<tenfold_context>();
    c->shared = model->shared;
    c->context = std::make_unique<rt::Context>(c->shared->exe, c->shared->pool(threads));
    *out = c.release();
    return TENFOLD_OK;
  });
}

void tenfold_context_release(tenfold_context* context) { delete context; }

tenfold_status tenfold_context_run(tenfold_context* c, const DLTensor* inputs, size_t input_count,
                                   DLTensor* outputs, size_t output_count) {
  if (!c || (!inputs && input_count)) return bad_argument("tenfold_context_run: null pointer");
  return guarded([&]() -> tenfold_status {
    const Shared& s = *c->shared;
    if (input_count != s.inputs.size()) {
      return fail(TENFOLD_ERROR, "input-count",
                  "the model takes " + std::to_string(s.inputs.size()) + " inputs, got " +
                      std::to_string(input_count));
    }
    if (outputs && output_count != s.outputs.size()) {
      return fail(TENFOLD_ERROR, "output-count",
                  "the model gives " + std::to_string(s.outputs.size()) +
                      " outputs, got room for " + std::to_string(output_count));
    }
    Errors errors;
    c->views.resize(input_count);
    for (size_t i = 0; i < input_count; ++i) {
      Status v = view(inputs[i], s.inputs[i], "input", c->views[i]);
      if (!v.ok()) errors.push_back(v.errors()[0]);
    }
    std::vector<rt::TensorView> wanted(s.outputs.size());
    for (size_t i = 0; i < s.outputs.size(); ++i) {
      c->context->bind_output(i, nullptr, 0);
      if (!outputs || !outputs[i].data) continue;
      Status v = view(outputs[i], s.outputs[i], "output", wanted[i]);
      if (v.ok() && wanted[i].dtype != s.outputs[i].info.dtype) {
        v = Error{"output-dtype",
                  "output `" + s.outputs[i].info.name + "`: is " +
                      std::string(name(wanted[i].dtype)) + ", the model gives " +
                      std::string(name(s.outputs[i].info.dtype)),
                  {},
                  {}};
      }
      if (!v.ok()) {
        errors.push_back(v.errors()[0]);
        continue;
      }
      size_t bytes = static_cast<size_t>(byte_size(wanted[i].dtype));
      for (int64_t d : wanted[i].dims) bytes *= static_cast<size_t>(d);
      c->context->bind_output(i, wanted[i].data, bytes);
    }
    if (!errors.empty()) return fail(errors);
    c->ran = false;
    Status ran = c->context->run(c->views);
    if (!ran.ok()) return fail(ran.errors());
    c->ran = true;
    for (size_t i = 0; outputs && i < output_count; ++i) {
      const rt::TensorView& got = c->context->outputs()[i];
      if (!outputs[i].data) {
        give(got, &outputs[i]);
        continue;
      }
      if (got.dims != wanted[i].dims) {
        return fail(TENFOLD_ERROR, "output-shape",
                    "output `" + s.outputs[i].info.name + "`: has shape " +
                        shape_text(got.dims.data(), static_cast<int>(got.dims.size())) +
                        ", the array given for it has " +
                        shape_text(wanted[i].dims.data(), static_cast<int>(wanted[i].dims.size())));
      }
      size_t bytes = static_cast<size_t>(byte_size(got.dtype));
      for (int64_t d : got.dims) bytes *= static_cast<size_t>(d);
      if (got.data != wanted[i].data && bytes) std::memcpy(wanted[i].data, got.data, bytes);
    }
    return TENFOLD_OK;
  });
}

tenfold_status tenfold_context_output(tenfold_context* c, size_t index, DLTensor* out) {
  if (!c || !out || !c->ran || index >= c->context->outputs().size())
    return bad_argument("tenfold_context_output: no run before, or no output with this index");
  give(c->context->outputs()[index], out);
  return TENFOLD_OK;
}

size_t tenfold_context_memory(const tenfold_context* c) {
  return static_cast<size_t>(c->context->arena_bytes());
}

void tenfold_context_set_profiling(tenfold_context* c, int on) {
  if (on) c->times.clear();
  c->context->profile = on ? &c->times : nullptr;
}

tenfold_status tenfold_context_profile(tenfold_context* c, const tenfold_kernel_time** out,
                                       size_t* count) {
  if (!c || !out || !count) return bad_argument("tenfold_context_profile: a pointer is null");
  return guarded([&] {
    const rt::Program& p = c->shared->exe->program();
    std::vector<tenfold_kernel_time> sums(p.kernels.size());
    c->origins.assign(p.kernels.size(), {});
    for (size_t k = 0; k < sums.size(); ++k) {
      for (const auto& o : p.kernels[k].origins)
        c->origins[k] += (c->origins[k].empty() ? "" : ", ") + o;
      sums[k].kernel = p.kernels[k].name.c_str();
      sums[k].origins = c->origins[k].c_str();
    }
    for (const auto& t : c->times) {
      tenfold_kernel_time& k = sums[static_cast<size_t>(t.kernel)];
      ++k.calls;
      k.nanoseconds += t.nanoseconds;
      k.flops += t.flops;
      k.bytes += t.bytes;
      k.threads = std::max(k.threads, t.threads);
    }
    std::erase_if(sums, [](const auto& k) { return k.calls == 0; });
    std::stable_sort(sums.begin(), sums.end(),
                     [](const auto& a, const auto& b) { return a.nanoseconds > b.nanoseconds; });
    c->sums = std::move(sums);
    *out = c->sums.data();
    *count = c->sums.size();
    return TENFOLD_OK;
  });
}

}  // extern "C"
