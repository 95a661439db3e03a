// The extension module tenfold._tenfold: sessions on raw arrays. What users see is in tenfold/*.py,
// which turns anything array-like into contiguous NumPy arrays of a storage type and back.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "driver/check.h"
#include "driver/evaluate.h"
#include "driver/session.h"
#include "driver/verify.h"

namespace nb = nanobind;
using namespace nb::literals;  // NOLINT: argument names

namespace tenfold {
namespace {

// Text that may quote a broken file: bytes that are no UTF-8 are shown as such.
nb::object text(const std::string& s) {
  return nb::steal(
      PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "backslashreplace"));
}

// Raises tenfold.Error with every problem.
[[noreturn]] void raise(const Errors& errors) {
  nb::list problems;
  for (const Error& e : errors) {
    nb::list notes;
    for (const std::string& n : e.notes) notes.append(text(n));
    problems.append(nb::make_tuple(e.id, text(e.message), text(e.loc.text), notes));
  }
  nb::object type = nb::module_::import_("tenfold._errors").attr("Error");
  nb::object value = type(problems);
  PyErr_SetObject(type.ptr(), value.ptr());
  throw nb::python_error();
}

template <class T>
T take(Result<T> r) {
  if (!r.ok()) raise(r.errors());
  return std::move(*r);
}
void take(Status s) {
  if (!s.ok()) raise(s.errors());
}

DType dtype_named(const std::string& name) {
  auto t = dtype_from_name(name);
  if (!t) raise({{"unknown-dtype", "no element type is called `" + name + "`", {}, {}}});
  return *t;
}

using InArray = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using OutArray = nb::ndarray<nb::c_contig, nb::device::cpu>;
// An array of storage bytes and the name of its element type.
using In = std::pair<InArray, std::string>;
using NamedIn = std::tuple<std::string, InArray, std::string>;

template <class Array>
std::vector<int64_t> dims_of(const Array& a) {
  std::vector<int64_t> dims(a.ndim());
  for (size_t i = 0; i < dims.size(); ++i) dims[i] = static_cast<int64_t>(a.shape(i));
  return dims;
}

alignas(64) std::byte kNothing[64];  // where empty arrays lie

template <class Array>
rt::TensorView view(const Array& a, DType t) {
  if (a.itemsize() != static_cast<size_t>(byte_size(t)))
    raise({{"input-dtype",
            "an array's elements have another size than " + std::string(name(t)),
            {},
            {}}});
  void* data = const_cast<void*>(static_cast<const void*>(a.data()));
  return {data ? data : kNothing, t, dims_of(a)};
}

// Borrowed: valid while Python keeps the array, which is for the length of a call.
Literal literal(const InArray& a, const std::string& dtype) {
  rt::TensorView v = view(a, dtype_named(dtype));
  return Literal::borrow(v.dtype, v.dims, static_cast<const std::byte*>(v.data), nullptr);
}

std::vector<NamedLiteral> literals(const std::vector<NamedIn>& given) {
  std::vector<NamedLiteral> all;
  for (const auto& [name, array, dtype] : given) all.push_back({name, literal(array, dtype)});
  return all;
}

// The NumPy type that holds an element; narrow floats travel as integers of their size.
nb::dlpack::dtype storage(DType t) {
  using Code = nb::dlpack::dtype_code;
  auto code = [](Code c) { return static_cast<uint8_t>(c); };
  uint8_t bits = static_cast<uint8_t>(8 * byte_size(t));
  if (t == DType::Bool) return {code(Code::Bool), 8, 1};
  if (is_complex(t)) return {code(Code::Complex), bits, 1};
  if (t == DType::F16 || t == DType::F32 || t == DType::F64) return {code(Code::Float), bits, 1};
  if (is_signed(t)) return {code(Code::Int), bits, 1};
  return {code(Code::UInt), bits, 1};
}

// A NumPy array on memory that `owner` keeps.
nb::object array(const void* data, DType t, const std::vector<int64_t>& dims,
                 std::shared_ptr<const void> owner) {
  nb::capsule keep(new std::shared_ptr<const void>(std::move(owner)),
                   [](void* p) noexcept { delete static_cast<std::shared_ptr<const void>*>(p); });
  std::vector<size_t> shape(dims.begin(), dims.end());
  return nb::cast(nb::ndarray<nb::numpy>(const_cast<void*>(data), shape.size(), shape.data(), keep,
                                         nullptr, storage(t)));
}

nb::object array(const Literal& l) {
  auto keep = std::make_shared<Literal>(l);
  const std::byte* data = keep->byte_count() ? keep->bytes() : kNothing;
  return array(data, l.dtype(), l.dims(), keep);
}

nb::list signature(const std::vector<rt::TensorInfo>& infos) {
  nb::list all;
  for (const auto& t : infos) {
    nb::list shape;
    for (size_t i = 0; i < t.dims.size(); ++i)
      shape.append(t.dims[i] >= 0 ? nb::cast(t.dims[i]) : nb::cast(t.dim_names[i]));
    all.append(nb::make_tuple(t.name, std::string(name(t.dtype)), nb::tuple(shape)));
  }
  return all;
}

struct Options {
  std::string target = "cpu";
  int threads = 0, opt_level = 3;
  std::map<std::string, std::vector<int64_t>> shapes;
  bool fast_math = false, per_shape = false;
  std::vector<std::string> disabled;
  std::vector<std::string> empty_sequences, empty_optionals;  // inputs that hold nothing

  SessionOptions session() const {
    SessionOptions o;
    o.threads = threads;
    o.per_shape = per_shape;
    o.compile.target = target;
    o.compile.shapes = shapes;
    o.compile.pipeline.opt_level = opt_level;
    o.compile.pipeline.fast_math = fast_math;
    o.compile.pipeline.disabled = disabled;
    for (const auto& name : empty_sequences) o.compile.sequence_lengths[name] = 0;
    o.compile.empty_optionals = {empty_optionals.begin(), empty_optionals.end()};
    return o;
  }
};

ModelSource source_of(const std::string& name, std::optional<nb::bytes> bytes) {
  if (!bytes) return ModelSource::file(name);
  // Python's bytes object is kept: constants point into it. It may be dropped on any thread.
  auto keep = std::shared_ptr<const void>(new nb::bytes(*bytes), [](const void* p) {
    nb::gil_scoped_acquire gil;
    delete static_cast<const nb::bytes*>(p);
  });
  std::span<const std::byte> view(reinterpret_cast<const std::byte*>(bytes->c_str()),
                                  bytes->size());
  return {name, view, keep, true};
}

class Model {
 public:
  explicit Model(std::shared_ptr<Session> s) : s_(std::move(s)) {}
  Session& session() const { return *s_; }

  // `out`: one entry an output, None for memory of our own.
  nb::list run(const std::vector<In>& inputs, const std::vector<std::optional<OutArray>>& out) {
    std::vector<rt::TensorView> views;
    for (const auto& [a, dtype] : inputs) views.push_back(view(a, dtype_named(dtype)));
    Session::Lease c = context(views);
    std::vector<rt::TensorView> wanted(out.size());
    for (size_t i = 0; i < out.size(); ++i) {
      if (!out[i]) continue;
      wanted[i] = view(*out[i], s_->outputs()[i].dtype);
      c->bind_output(i, wanted[i].data, out[i]->nbytes());
    }
    Status ran = ok_status();
    {
      nb::gil_scoped_release release;
      ran = c->run(views);
    }
    take(std::move(ran));
    nb::list results;
    for (size_t i = 0; i < c->outputs().size(); ++i) {
      const rt::TensorView& o = c->outputs()[i];
      if (i < out.size() && out[i]) {
        if (o.dims != wanted[i].dims)
          raise({{"output-shape",
                  "output `" + s_->outputs()[i].name +
                      "` has another shape than the array given "
                      "for it",
                  {s_->name()},
                  {}}});
        if (o.data != wanted[i].data) std::memcpy(wanted[i].data, o.data, out[i]->nbytes());
        results.append(nb::none());
        continue;
      }
      size_t bytes = static_cast<size_t>(byte_size(o.dtype));
      for (int64_t d : o.dims) bytes *= static_cast<size_t>(d);
      std::shared_ptr<void> memory = c->take_output(i);
      const void* data = o.data;
      if (!memory) {
        Literal copy = Literal::uninit(o.dtype, o.dims);
        if (bytes) std::memcpy(copy.mutable_bytes(), o.data, bytes);
        results.append(array(copy));
        continue;
      }
      results.append(array(data, o.dtype, o.dims, std::move(memory)));
    }
    return results;
  }

  nb::list profile(const std::vector<In>& inputs, int rounds) {
    std::vector<rt::TensorView> views;
    for (const auto& [a, dtype] : inputs) views.push_back(view(a, dtype_named(dtype)));
    Session::Lease c = context(views);
    std::vector<rt::KernelTime> best;
    Status ran = ok_status();
    {
      nb::gil_scoped_release release;
      for (int r = 0; r <= rounds && ran.ok(); ++r) {
        std::vector<rt::KernelTime> now;
        c->profile = &now;
        ran = c->run(views);
        c->profile = nullptr;
        if (r < 2 || now.size() != best.size()) best = now;
        for (size_t i = 0; i < best.size(); ++i)
          best[i].nanoseconds = std::min(best[i].nanoseconds, now[i].nanoseconds);
      }
    }
    take(std::move(ran));
    nb::list all;
    for (const auto& k : best) {
      const rt::KernelInfo& info = c->executable().program().kernels[static_cast<size_t>(k.kernel)];
      all.append(nb::make_tuple(info.name, info.origins, static_cast<double>(k.nanoseconds) / 1e3,
                                k.flops, k.bytes, k.threads));
    }
    return all;
  }

 private:
  Session::Lease context(const std::vector<rt::TensorView>& views) {
    if (!s_->specialises()) return s_->context();
    Result<Session::Lease> c = Errors{};
    {
      nb::gil_scoped_release release;
      c = s_->context_for(views);
    }
    return take(std::move(c));
  }

  std::shared_ptr<Session> s_;
};

Model open(const std::string& name, std::optional<nb::bytes> bytes, const Options& options,
           const std::vector<NamedIn>& given) {
  ModelSource source = source_of(name, std::move(bytes));
  std::vector<NamedLiteral> examples = literals(given);
  Result<std::shared_ptr<Session>> s = Errors{};
  {
    nb::gil_scoped_release release;
    s = Session::open(std::move(source), options.session(), examples);
  }
  return Model(take(std::move(s)));
}

nb::list evaluate(const std::string& name, std::optional<nb::bytes> bytes, const Options& options,
                  const std::vector<NamedIn>& given) {
  ModelSource source = source_of(name, std::move(bytes));
  std::vector<NamedLiteral> inputs = literals(given);
  Result<std::vector<NamedLiteral>> outputs = Errors{};
  {
    nb::gil_scoped_release release;
    outputs = evaluate_named(source, options.session().compile, inputs);
  }
  nb::list all;
  for (auto& o : take(std::move(outputs))) {
    o.value.mutable_bytes();  // a result may be an input's own bytes, borrowed for this call
    all.append(nb::make_tuple(o.name, std::string(tenfold::name(o.value.dtype())), array(o.value)));
  }
  return all;
}

nb::tuple check(const std::string& name, std::optional<nb::bytes> bytes, const Options& options,
                bool all_targets) {
  ModelSource source = source_of(name, std::move(bytes));
  CheckReport r;
  {
    nb::gil_scoped_release release;
    r = check_model(source, options.session().compile, all_targets);
  }
  nb::list problems, targets;
  for (const auto& p : r.problems)
    problems.append(nb::make_tuple(text(p.node), text(p.op), p.opset, p.id, text(p.message)));
  for (const auto& t : r.targets) targets.append(nb::make_tuple(t.name, t.ok));
  return nb::make_tuple(r.ok, problems, targets);
}

}  // namespace

NB_MODULE(_tenfold, m) {
  nb::class_<Options>(m, "Options")
      .def(nb::init<>())
      .def_rw("target", &Options::target)
      .def_rw("threads", &Options::threads)
      .def_rw("opt_level", &Options::opt_level)
      .def_rw("shapes", &Options::shapes)
      .def_rw("fast_math", &Options::fast_math)
      .def_rw("per_shape", &Options::per_shape)
      .def_rw("disabled", &Options::disabled)
      .def_rw("empty_sequences", &Options::empty_sequences)
      .def_rw("empty_optionals", &Options::empty_optionals);
  nb::class_<Model>(m, "Model")
      .def("run", &Model::run, "inputs"_a, "out"_a)
      .def("profile", &Model::profile, "inputs"_a, "rounds"_a)
      .def("save", [](const Model& x, const std::string& path,
                      const std::string& emit) { take(x.session().save(path, emit)); })
      .def_prop_ro("inputs", [](const Model& x) { return signature(x.session().inputs()); })
      .def_prop_ro("outputs", [](const Model& x) { return signature(x.session().outputs()); })
      .def_prop_ro("name", [](const Model& x) { return x.session().name(); })
      .def_prop_ro("target", [](const Model& x) { return x.session().program().target; })
      .def_prop_ro("threads", [](const Model& x) { return x.session().threads(); })
      .def_prop_ro("kernels", [](const Model& x) { return x.session().program().kernels.size(); })
      .def_prop_ro("compile_seconds", [](const Model& x) { return x.session().compile_seconds(); })
      .def_prop_ro("recompilations", [](const Model& x) { return x.session().recompilations(); });
  m.def("open", &open, "name"_a, "bytes"_a.none(), "options"_a, "examples"_a);
  m.def("evaluate", &evaluate, "name"_a, "bytes"_a.none(), "options"_a, "inputs"_a);
  m.def("check", &check, "name"_a, "bytes"_a.none(), "options"_a, "all_targets"_a);
  m.def("targets", [] {
    std::vector<std::string> names;
    for (const Backend* b : all_backends())
      for (auto& t : b->targets()) names.push_back(std::move(t));
    return names;
  });
  m.attr("version") = TENFOLD_VERSION;
}

}  // namespace tenfold
