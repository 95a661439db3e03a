// Session::save: artifacts, written aside and renamed.
#include <cctype>

#include "base/file.h"
#include "base/text.h"
#include "driver/object_blob.h"
#include "driver/session.h"
#include "runtime/artifact.h"

namespace tenfold {
namespace {

std::span<const std::byte> as_bytes(const std::string& s) {
  return {reinterpret_cast<const std::byte*>(s.data()), s.size()};
}

std::string c_identifier(std::string_view stem) {
  std::string s;
  for (char c : stem) s += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (s.empty() || std::isdigit(static_cast<unsigned char>(s[0]))) s = "model_" + s;
  return s;
}

std::string header_text(const std::string& name, const rt::Program& p) {
  std::string guard = "TENFOLD_MODEL_" + to_lower(name) + "_H_";
  for (char& c : guard) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::string s = "/* Made by Tenfold from " + p.model_name + " for " + p.target +
                  ". Link the object of the same name and libtenfold_runtime.\n *\n";
  auto describe = [&](const char* role, const std::vector<rt::TensorInfo>& all) {
    for (size_t i = 0; i < all.size(); ++i)
      s += std::string(" * ") + role + " " + std::to_string(i) + "  " + all[i].name + ": " +
           std::string(tenfold::name(all[i].dtype)) + " [" + join(all[i].dim_names, ", ") + "]\n";
  };
  describe("input ", rt::inputs_of(p));
  describe("output", rt::outputs_of(p));
  s += " */\n#ifndef " + guard + "\n#define " + guard +
       "\n\n#include <tenfold/tenfold.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n" +
       "extern const tenfold_linked tenfold_model_" + name + ";\n\n" +
       "static inline tenfold_status " + name + "_load(tenfold_model** out) {\n" +
       "  return tenfold_model_load_linked(&tenfold_model_" + name + ", out);\n}\n\n" +
       "#ifdef __cplusplus\n}\n#endif\n#endif\n";
  return s;
}

// A comment cannot be ended by a name from the model.
std::string safe_comment(std::string header) {
  size_t end = header.find(" */\n#ifndef");
  for (size_t i = 0; i + 1 < end; ++i)
    if (header[i] == '*' && header[i + 1] == '/') header[i] = '_';
  return header;
}

}  // namespace

Status Session::save(const std::string& path, const std::string& form) const {
  if (!compiled_) {
    return Error{"already-compiled",
                 "found a compiled model, which cannot be compiled again; give the model it was "
                 "made from",
                 {name()},
                 {}};
  }
  std::string kind = form.empty() ? file_suffix(path) : form;
  if (kind.starts_with(".")) kind.erase(0, 1);
  if (kind == "c") {
    return Error{"emit-not-in-build",
                 "a directory of C is not in this build; write .tenfold, .so or .o",
                 {path},
                 {}};
  }
  if (kind != "tenfold" && kind != "so" && kind != "o") {
    return Error{"unknown-artifact",
                 "cannot tell what to write from the name; wanted the suffix .tenfold, .so or .o "
                 "(or --emit tenfold, so, o)",
                 {path},
                 {}};
  }
  const CompiledModel& m = *compiled_;
  std::span<const std::byte> constants{m.constants.get(),
                                       static_cast<size_t>(m.program.const_bytes)};
  if (kind == "tenfold") {
    TF_ASSIGN(AtomicFile file, AtomicFile::create(path));
    TF_TRY(rt::write_package(m.program, constants, m.shared_object,
                             [&](std::span<const std::byte> b) { return file.write(b); }));
    return file.commit();
  }
  std::string package;
  TF_TRY(rt::write_package(m.program, constants, {}, [&](std::span<const std::byte> b) {
    package.append(reinterpret_cast<const char*>(b.data()), b.size());
    return ok_status();
  }));
  std::vector<std::string> functions;
  for (const auto& k : m.program.kernels)
    for (const auto& phase : k.phases) functions.push_back(phase.symbol);
  if (kind == "so") {
    TF_ASSIGN(std::string object, embed_package(m.object, rt::kLinkedSymbol, functions, package));
    package = {};
    const Backend* backend = find_backend(m.target.backend);
    TF_CHECK(backend, "the target of a compiled model has a backend");
    TF_ASSIGN(std::string linked, backend->link_shared(object, m.target, {rt::kLinkedSymbol}));
    object = {};
    TF_ASSIGN(AtomicFile file, AtomicFile::create(path));
    TF_TRY(file.write(linked));
    TF_TRY(file.write(rt::so_trailer(as_bytes(linked))));
    return file.commit();
  }
  std::string id = c_identifier(file_stem(path));
  TF_ASSIGN(std::string object, embed_package(m.object, "tenfold_model_" + id, functions, package));
  std::string header = path;
  if (file_suffix(path) == ".o") header.resize(header.size() - 2);
  header += ".h";
  TF_ASSIGN(AtomicFile object_file, AtomicFile::create(path));
  TF_ASSIGN(AtomicFile header_file, AtomicFile::create(header));
  TF_TRY(object_file.write(object));
  TF_TRY(header_file.write(safe_comment(header_text(id, m.program))));
  TF_TRY(object_file.commit());
  return header_file.commit();
}

}  // namespace tenfold
