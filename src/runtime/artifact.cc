#include "runtime/artifact.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <unordered_map>

#include "base/file.h"
#include "base/reader.h"
#include "runtime/cpu_features.h"
#include "runtime/program_bytes.h"

namespace tenfold::rt {
namespace {

constexpr std::string_view kPackageMagic("TENFOLD\x1a", 8);
constexpr std::string_view kTrailerMagic = "TFLDSO\x1a\x01";
constexpr std::string_view kElfMagic =
    "\x7f"
    "ELF";
constexpr size_t kHeaderBytes = 64, kEntryBytes = 32, kAlign = 64;
constexpr uint32_t kMaxSections = 64;

enum class Section : uint32_t { Program = 1, Constants = 2, Code = 3 };

std::span<const std::byte> as_bytes(std::string_view s) {
  return {reinterpret_cast<const std::byte*>(s.data()), s.size()};
}

void put(std::string& out, uint64_t v, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(v >> (8 * i)));
}

uint64_t aligned(uint64_t n) { return (n + kAlign - 1) / kAlign * kAlign; }

Error damaged(const std::string& what, const std::string& message) {
  return {
      "bad-artifact", message + "; write the artifact again with `tenfold compile`", {what}, {}};
}

struct Package {
  Program program;
  std::span<const std::byte> constants, code;
};

// `check_constants`: reads them all; left out where the whole file was checked already.
Result<Package> read_package(std::span<const std::byte> bytes, const std::string& what,
                             bool check_constants) {
  Reader r(bytes, what);
  if (bytes.size() < kHeaderBytes) return damaged(what, "found the beginning of a package only");
  TF_TRY(r.expect(kPackageMagic));
  TF_ASSIGN(uint32_t version, r.read_u32());
  if (version == 0 || version > kPackageVersion) {
    return Error{"artifact-version",
                 "found a package of format " + std::to_string(version) +
                     ", this runtime reads formats 1 to " + std::to_string(kPackageVersion) +
                     "; use the Tenfold that wrote it, or compile the model again",
                 {what},
                 {}};
  }
  TF_ASSIGN(uint32_t count, r.read_u32());
  TF_ASSIGN(uint64_t total, r.read_u64());
  TF_ASSIGN(uint64_t table_sum, r.read_u64());
  if (total != bytes.size()) {
    return damaged(what, "found " + std::to_string(bytes.size()) + " bytes, the header says " +
                             std::to_string(total));
  }
  if (count > kMaxSections) return damaged(what, "found " + std::to_string(count) + " sections");
  TF_TRY(r.seek(kHeaderBytes));
  TF_ASSIGN(auto table, r.bytes(uint64_t{count} * kEntryBytes));
  if (check_sum(table) != table_sum) return damaged(what, "the table of sections is damaged");

  Package p;
  std::span<const std::byte> program;
  Reader t(table, what);
  for (uint32_t i = 0; i < count; ++i) {
    TF_ASSIGN(uint32_t kind, t.read_u32());
    TF_TRY(t.skip(4));
    TF_ASSIGN(uint64_t offset, t.read_u64());
    TF_ASSIGN(uint64_t size, t.read_u64());
    TF_ASSIGN(uint64_t sum, t.read_u64());
    if (offset % kAlign != 0) return damaged(what, "a section is not aligned");
    TF_TRY(r.seek(offset));
    TF_ASSIGN(auto content, r.bytes(size));
    bool constants = static_cast<Section>(kind) == Section::Constants;
    if ((!constants || check_constants) && check_sum(content) != sum)
      return damaged(what, "section " + std::to_string(kind) + " is damaged");
    switch (static_cast<Section>(kind)) {
      case Section::Program:
        program = content;
        break;
      case Section::Constants:
        p.constants = content;
        break;
      case Section::Code:
        p.code = content;
        break;
      default:
        break;  // of a later writer, which says by the version when one is needed
    }
  }
  TF_ASSIGN(p.program, read_program(program, what));
  if (p.program.const_bytes > p.constants.size())
    return damaged(what, "found fewer constants than the program has");
  return std::move(p);
}

std::string machine_name(uint16_t e_machine) {
  switch (e_machine) {
    case 62:
      return "x86-64";
    case 183:
      return "AArch64";
    case 243:
      return "RISC-V";
    default:
      return "machine " + std::to_string(e_machine);
  }
}

// That the code is for this machine, before the system's loader is asked.
Status check_elf(std::span<const std::byte> elf, const std::string& what) {
#if defined(__x86_64__)
  constexpr uint16_t kHere = 62;
#elif defined(__aarch64__)
  constexpr uint16_t kHere = 183;
#else
  constexpr uint16_t kHere = 243;
#endif
  Reader r(elf, what);
  TF_TRY(r.expect(kElfMagic));
  TF_TRY(r.seek(18));
  TF_ASSIGN(uint16_t machine, r.read_u16());
  if (machine == kHere) return ok_status();
  return Error{"artifact-machine",
               "found code for " + machine_name(machine) + ", this machine is " +
                   machine_name(kHere) + "; compile the model for this machine",
               {what},
               {}};
}

Status check_features(const Program& p, const std::string& what) {
  std::string missing = missing_cpu_features(p.features);
  if (missing.empty()) return ok_status();
  return Error{"artifact-features",
               "found code that needs " + missing +
                   ", which this processor lacks; compile the model on this machine or with a "
                   "--target that names an older processor",
               {what},
               {}};
}

Result<std::shared_ptr<const Executable>> make(Package p, std::shared_ptr<const void> owner,
                                               std::shared_ptr<Code> code,
                                               const std::string& what) {
  TF_TRY(check_features(p.program, what));
  if (p.program.model_name.empty()) p.program.model_name = file_stem(what);
  const std::byte* constants = p.constants.data();
  if (reinterpret_cast<uintptr_t>(constants) % kAlign != 0) {
    // A caller's memory that lies badly.
    void* copy = std::aligned_alloc(kAlign, aligned(p.constants.size()));
    if (!copy) return Error{"out-of-memory", "no memory for the model's constants", {what}, {}};
    std::memcpy(copy, constants, p.constants.size());
    constants = static_cast<const std::byte*>(copy);
    owner =
        std::shared_ptr<const void>(copy, [](const void* q) { std::free(const_cast<void*>(q)); });
  }
  return Executable::create(std::move(p.program), constants, std::move(owner), std::move(code));
}

Result<std::shared_ptr<const Executable>> load_shared_object(const FileBytes& file,
                                                             const std::string& path) {
  auto bytes = file.bytes;
  Error changed = damaged(path,
                          "found a shared object that is no artifact, or one that was cut off or "
                          "changed (stripped?) after it was written");
  if (bytes.size() < kTrailerBytes) return changed;
  auto body = bytes.first(bytes.size() - kTrailerBytes);
  Reader r(bytes.last(kTrailerBytes), path);
  if (!r.expect(kTrailerMagic).ok()) return changed;
  TF_ASSIGN(uint64_t size, r.read_u64());
  TF_ASSIGN(uint64_t sum, r.read_u64());
  if (size != body.size() || sum != check_sum(body)) return changed;
  TF_TRY(check_elf(bytes, path));
  // dlopen looks a name without a slash up in the system's folders.
  TF_ASSIGN(auto code, Code::from_file(path.find('/') == std::string::npos ? "./" + path : path));
  const auto* linked = static_cast<const Linked*>(code->find(kLinkedSymbol));
  if (!linked) return changed;
  TF_ASSIGN(auto exe, load_linked(*linked));
  // The library stays as long as the model.
  struct Both {
    std::shared_ptr<Code> code;
    std::shared_ptr<const Executable> exe;  // dropped first
  };
  auto both = std::make_shared<Both>(Both{code, exe});
  return std::shared_ptr<const Executable>(both, exe.get());
}

}  // namespace

// Four lanes of multiply and rotate over 8-byte words, mixed at the end: finds damage at memory
// speed. It is no defence against intent; nothing can be, for a file that holds code.
uint64_t check_sum(std::span<const std::byte> bytes) {
  constexpr uint64_t kA = 0x9e3779b97f4a7c15, kB = 0xbf58476d1ce4e5b9;
  uint64_t lane[4] = {kA, kB, kA ^ kB, ~kA};
  auto step = [&](uint64_t& l, uint64_t w) {
    l = (l ^ w) * kA;
    l ^= l >> 29;
  };
  const std::byte* p = bytes.data();
  size_t n = bytes.size();
  for (; n >= 32; p += 32, n -= 32) {
    uint64_t w[4];
    std::memcpy(w, p, 32);
    for (int i = 0; i < 4; ++i) step(lane[i], w[i]);
  }
  for (size_t i = 0; i < n; ++i) step(lane[i % 4], static_cast<uint64_t>(p[i]) + 1);
  uint64_t h = bytes.size();
  for (uint64_t l : lane) {
    step(h, l);
    h *= kB;
  }
  return h ^ (h >> 32);
}

Status write_package(const Program& p, std::span<const std::byte> constants, std::string_view code,
                     const std::function<Status(std::span<const std::byte>)>& sink) {
  std::string program = program_bytes(p);
  struct Part {
    Section kind;
    std::span<const std::byte> bytes;
  };
  std::vector<Part> parts{{Section::Program, as_bytes(program)}, {Section::Constants, constants}};
  if (!code.empty()) parts.push_back({Section::Code, as_bytes(code)});
  std::string table;
  uint64_t at = aligned(kHeaderBytes + parts.size() * kEntryBytes);
  uint64_t total = at;
  for (const Part& part : parts) {
    put(table, static_cast<uint32_t>(part.kind), 4);
    put(table, 0, 4);
    put(table, at, 8);
    put(table, part.bytes.size(), 8);
    put(table, check_sum(part.bytes), 8);
    total = at + part.bytes.size();
    at = aligned(total);
  }
  std::string head(kPackageMagic);
  put(head, kPackageVersion, 4);
  put(head, parts.size(), 4);
  put(head, total, 8);
  put(head, check_sum(as_bytes(table)), 8);
  head.resize(kHeaderBytes);
  head += table;
  head.resize(aligned(head.size()));
  TF_TRY(sink(as_bytes(head)));
  const std::string zeros(kAlign, '\0');
  for (size_t i = 0; i < parts.size(); ++i) {
    TF_TRY(sink(parts[i].bytes));
    uint64_t padding = aligned(parts[i].bytes.size()) - parts[i].bytes.size();
    if (i + 1 < parts.size() && padding)
      TF_TRY(sink(as_bytes(std::string_view(zeros).substr(0, padding))));
  }
  return ok_status();
}

std::string so_trailer(std::span<const std::byte> shared_object) {
  std::string t(kTrailerMagic);
  put(t, shared_object.size(), 8);
  put(t, check_sum(shared_object), 8);
  return t;
}

bool looks_like_artifact(std::span<const std::byte> bytes) {
  std::string_view s(reinterpret_cast<const char*>(bytes.data()),
                     std::min<size_t>(bytes.size(), 8));
  return s.starts_with(kElfMagic) || s.starts_with(kPackageMagic.substr(0, 7));
}

Result<std::shared_ptr<const Executable>> load_artifact(const std::string& path) {
  TF_ASSIGN(FileBytes file, map_file(path));
  if (!looks_like_artifact(file.bytes)) {
    return Error{"not-an-artifact",
                 "found no compiled model, wanted a .tenfold or .so file; make one with `tenfold "
                 "compile`",
                 {path},
                 {}};
  }
  if (file.text().starts_with(kElfMagic)) return load_shared_object(file, path);
  return load_package(file.bytes, file.owner, path);
}

Result<std::shared_ptr<const Executable>> load_package(std::span<const std::byte> bytes,
                                                       std::shared_ptr<const void> owner,
                                                       const std::string& what) {
  TF_ASSIGN(Package p, read_package(bytes, what, true));
  TF_TRY(check_elf(p.code, what));
  TF_ASSIGN(auto code,
            Code::from_bytes({reinterpret_cast<const char*>(p.code.data()), p.code.size()}));
  return make(std::move(p), std::move(owner), std::move(code), what);
}

Result<std::shared_ptr<const Executable>> load_linked(const Linked& linked) {
  const std::string what = "linked model";
  if (linked.magic != kLinkedMagic || !linked.package)
    return damaged(what, "found no model at this address");
  TF_ASSIGN(Package p,
            read_package({linked.package, static_cast<size_t>(linked.package_bytes)}, what, false));
  std::unordered_map<std::string, void*> functions;
  uint64_t n = 0;
  for (const auto& k : p.program.kernels) {
    for (const auto& phase : k.phases) {
      if (n == linked.function_count) return damaged(what, "found fewer functions than kernels");
      functions[phase.symbol] = linked.functions()[n++];
    }
  }
  return make(std::move(p), nullptr, Code::from_table(std::move(functions)), what);
}

}  // namespace tenfold::rt
