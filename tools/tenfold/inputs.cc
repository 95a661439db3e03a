// Values from .npy and .npz files, in two looks: names and shapes before the model is compiled, the
// values once its types are known (a file cannot say which narrow type its bytes are).
#include <cstdio>

#include "array/npy.h"
#include "base/file.h"
#include "command.h"

namespace tenfold::cli {
namespace {

struct NamedFile {
  std::string name, path;
};

std::vector<NamedFile> named_files(const InputFlags& flags) {
  std::vector<NamedFile> files;
  for (const auto& f : flags.files) {
    size_t eq = f.find('=');
    if (eq == std::string::npos || eq == 0 || eq + 1 == f.size())
      throw CLI::ValidationError("--input", "found `" + f + "`, wanted NAME=FILE.npy");
    files.push_back({f.substr(0, eq), f.substr(eq + 1)});
  }
  return files;
}

Result<std::vector<NamedLiteral>> read(const InputFlags& flags, const WantedType& want) {
  std::vector<NamedLiteral> all;
  Errors errors;
  auto keep = [&](Errors es) { errors.insert(errors.end(), es.begin(), es.end()); };
  for (const auto& f : named_files(flags)) {
    auto l = read_npy_file(f.path, want(f.name));
    if (l.ok())
      all.push_back({f.name, std::move(*l)});
    else
      keep(l.take_errors());
  }
  if (!flags.npz.empty()) {
    auto entries = read_npz_file(flags.npz, want);
    if (entries.ok()) {
      for (auto& e : *entries) all.push_back(std::move(e));
    } else {
      keep(entries.take_errors());
    }
  }
  if (!errors.empty()) return errors;
  return all;
}

bool needs_want(DType t) {
  return byte_size(t) == 1 && t != DType::Bool && t != DType::I8 && t != DType::U8;
}

}  // namespace

void InputFlags::add_options(CLI::App* app) {
  app->add_option("--input", files, "Value of one input, NAME=FILE.npy; may be repeated")
      ->allow_extra_args(false);
  app->add_option("--inputs", npz, "Values of inputs by name, FILE.npz");
}

Result<std::vector<NamedLiteral>> read_inputs(const InputFlags& flags) {
  return read(flags, [](std::string_view) { return std::optional<DType>(); });
}

Result<Opened> open_with_inputs(const std::string& model, const Common& common,
                                const InputFlags& flags) {
  SessionOptions options = common.session_options();
  std::vector<NamedLiteral> given;
  bool again = false;
  if (!flags.empty()) {
    auto first = read(flags, [](std::string_view) { return std::optional<DType>(); });
    bool type_only = !first.ok();
    for (size_t i = 0; type_only && i < first.errors().size(); ++i)
      type_only = first.errors()[i].id == "npy-dtype";
    if (!first.ok() && !type_only) return first.take_errors();
    again = !first.ok();
    if (first.ok()) given = std::move(*first);
  }
  Opened o;
  {
    Progress progress("compiling " + file_name(model));
    TF_ASSIGN(o.session, Session::open(ModelSource::file(model), std::move(options), given));
  }
  if (common.time_passes) print_pass_times(*o.session);
  if (flags.empty()) {
    o.inputs = random_inputs(o.session->program(), common.seed);
    o.random = true;
    if (!o.inputs.empty()) {
      std::string list;
      for (size_t i = 0; i < o.inputs.size(); ++i) {
        list += (i ? ", " : " ") + o.session->inputs()[i].name + " " +
                std::string(name(o.inputs[i].dtype())) + dims_text(o.inputs[i].dims());
      }
      std::fprintf(stderr, "tenfold: no inputs given, made random ones with seed %llu:%s\n",
                   static_cast<unsigned long long>(common.seed), list.c_str());
    }
    return o;
  }
  for (const auto& i : o.session->inputs()) again = again || needs_want(i.dtype);
  if (again) {
    TF_ASSIGN(given, read(flags, [&](std::string_view n) -> std::optional<DType> {
                for (const auto& i : o.session->inputs())
                  if (i.name == n) return i.dtype;
                return std::nullopt;
              }));
  }
  TF_ASSIGN(o.inputs, o.session->order_inputs(given));
  return o;
}

}  // namespace tenfold::cli
