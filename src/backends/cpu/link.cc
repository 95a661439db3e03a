// See link.h. lld keeps global state, so one link runs at a time; files pass through a private
// directory that is removed afterwards.
#include "backends/cpu/link.h"

#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>

LLD_HAS_DRIVER(elf)

namespace tenfold::cpu {
namespace {

namespace fs = std::filesystem;

Error problem(std::string what) { return {"link-failed", std::move(what), {}, {}}; }

class TempDir {
 public:
  TempDir() {
    std::error_code ec;
    // Memory-backed where there is such a place: linking is a matter of milliseconds.
    fs::path root = fs::is_directory("/dev/shm", ec) && ::access("/dev/shm", W_OK) == 0
                        ? fs::path("/dev/shm")
                        : fs::temp_directory_path(ec);
    std::string pattern = (root / "tenfold-link-XXXXXX").string();
    if (::mkdtemp(pattern.data())) path_ = pattern;
  }
  ~TempDir() {
    std::error_code ec;
    if (!path_.empty()) fs::remove_all(path_, ec);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  bool ok() const { return !path_.empty(); }
  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

bool write(const std::string& path, const std::string& bytes) {
  std::ofstream f(path, std::ios::binary);
  f.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return f.good();
}
bool read(const std::string& path, std::string* bytes) {
  std::ifstream f(path, std::ios::binary | std::ios::ate);
  if (!f) return false;
  bytes->resize(static_cast<size_t>(f.tellg()));
  f.seekg(0);
  f.read(bytes->data(), static_cast<std::streamsize>(bytes->size()));
  return f.good() || bytes->empty();
}

const char* emulation(const Target& t) {
  if (t.triple.rfind("aarch64", 0) == 0) return "aarch64linux";
  if (t.triple.rfind("riscv64", 0) == 0) return "elf64lriscv";
  return "elf_x86_64";
}

Result<std::string> run(const Target& target, std::vector<std::string> args, const TempDir& dir) {
  static std::mutex mutex;
  static bool broken = false;
  const std::string out = dir.file("out");
  std::vector<std::string> all = {"ld.lld", "-m", emulation(target), "-o", out, "--threads=1"};
  all.insert(all.end(), args.begin(), args.end());
  std::vector<const char*> argv;
  for (const std::string& a : all) argv.push_back(a.c_str());
  std::string text;
  {
    std::lock_guard lock(mutex);
    if (broken) return problem("the linker failed earlier and cannot run again in this process");
    llvm::raw_string_ostream os(text);
    const lld::DriverDef drivers[] = {{lld::Gnu, &lld::elf::link}};
    const lld::Result r = lld::lldMain(argv, os, os, drivers);
    broken = !r.canRunAgain;
    if (r.retCode != 0) return problem("linking failed: " + os.str());
  }
  std::string bytes;
  if (!read(out, &bytes)) return problem("the linked file cannot be read back");
  return bytes;
}

}  // namespace

Result<std::string> link_shared(const std::string& object, const Target& target,
                                const std::vector<std::string>& exports) {
  TempDir dir;
  if (!dir.ok()) return problem("no temporary directory can be made (set TMPDIR)");
  std::string script = "{\n";
  if (!exports.empty()) {
    script += "global:\n";
    for (const std::string& e : exports) script += "\"" + e + "\";\n";
  }
  script += "local: *;\n};\n";
  const std::string in = dir.file("in.o"), versions = dir.file("exports");
  if (!write(in, object) || !write(versions, script)) {
    return problem("the temporary directory is not writable or full");
  }
  return run(target,
             {"-shared", "-z", "defs", "--build-id=none", "--hash-style=gnu", "--gc-sections",
              "--version-script=" + versions, in},
             dir);
}

Result<std::string> merge_objects(const std::vector<std::string>& objects, const Target& target) {
  if (objects.size() == 1) return objects[0];
  TempDir dir;
  if (!dir.ok()) return problem("no temporary directory can be made (set TMPDIR)");
  std::vector<std::string> args = {"-r"};
  for (size_t i = 0; i < objects.size(); ++i) {
    args.push_back(dir.file(("in" + std::to_string(i) + ".o").c_str()));
    if (!write(args.back(), objects[i])) {
      return problem("the temporary directory is not writable or full");
    }
  }
  return run(target, args, dir);
}

}  // namespace tenfold::cpu
