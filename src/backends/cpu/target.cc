// "cpu" and "cpu:<name>" -> triple, features and the few facts that schedules need. Names are
// LLVM's CPU names, RISC-V ISA strings, and the aliases below.
#include "backends/cpu/target.h"

#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/RISCVISAInfo.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <thread>

namespace tenfold::cpu {

void initialise_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
#define TENFOLD_INIT(t)            \
  LLVMInitialize##t##TargetInfo(); \
  LLVMInitialize##t##Target();     \
  LLVMInitialize##t##TargetMC();   \
  LLVMInitialize##t##AsmPrinter();
    TENFOLD_INIT(X86)
    TENFOLD_INIT(AArch64)
    TENFOLD_INIT(RISCV)
#undef TENFOLD_INIT
  });
}

namespace {

constexpr const char* kX86 = "x86_64-unknown-linux-gnu";
constexpr const char* kArm = "aarch64-unknown-linux-gnu";
constexpr const char* kRiscV = "riscv64-unknown-linux-gnu";

struct Alias {
  const char* name;
  const char* cpu;
};
constexpr Alias kAliases[] = {
    {"avx2", "x86-64-v3"},
    {"avx512", "x86-64-v4"},
    {"zen4", "znver4"},
    {"zen3", "znver3"},
    {"skylake-x", "skylake-avx512"},
    {"aarch64", "generic"},
    {"neon", "generic"},
    {"m1", "apple-m1"},
};
// What `tenfold targets` lists; every other LLVM name works as well.
constexpr const char* kListed[] = {
    "x86-64-v3",   "x86-64-v4",      "haswell",        "skylake",    "skylake-avx512",
    "cascadelake", "icelake-server", "sapphirerapids", "znver2",     "znver3",
    "znver4",      "aarch64",        "cortex-a53",     "cortex-a72", "cortex-a76",
    "neoverse-n1", "neoverse-v1",    "apple-m1",       "apple-m2",   "rv64gc",
    "rv64gcv"};

std::unique_ptr<llvm::MCSubtargetInfo> subtarget(const std::string& triple, const std::string& cpu,
                                                 const std::string& features) {
  std::string error;
  const llvm::Target* t = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!t) return nullptr;
  return std::unique_ptr<llvm::MCSubtargetInfo>(t->createMCSubtargetInfo(triple, cpu, features));
}

bool knows(const char* triple, const std::string& cpu) {
  auto s = subtarget(triple, "", "");
  return s && s->isCPUStringValid(cpu);
}

int distance(std::string_view a, std::string_view b) {  // Levenshtein
  std::vector<int> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int next = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = row[j];
      row[j] = next;
    }
  }
  return row[b.size()];
}

std::vector<std::string> near_names(const std::string& name) {
  std::vector<std::pair<int, std::string>> all;
  auto add = [&](const std::string& n) {
    const bool inside = name.size() >= 3 && n.find(name) != std::string::npos;
    all.push_back({inside ? 1 : distance(name, n), n});
  };
  for (const char* n : kListed) add(n);
  for (const Alias& a : kAliases) add(a.name);
  for (const char* triple : {kX86, kArm, kRiscV}) {
    auto s = subtarget(triple, "", "");
    for (const auto& d : s->getAllProcessorDescriptions()) add(d.Key);
  }
  std::sort(all.begin(), all.end());
  std::vector<std::string> r;
  const int limit = std::max<int>(2, static_cast<int>(name.size()) / 3);
  for (const auto& [d, n] : all) {
    if (d > limit || r.size() == 4) break;
    if (std::find(r.begin(), r.end(), n) == r.end()) r.push_back(n);
  }
  return r;
}

Error unknown(std::string_view text, const std::string& name) {
  std::string hint;
  for (const std::string& n : near_names(name)) hint += (hint.empty() ? "" : ", ") + ("cpu:" + n);
  return {"unknown-target",
          "unknown target \"" + std::string(text) + "\"; " +
              (hint.empty() ? "run `tenfold targets` for the list" : "did you mean " + hint + "?"),
          {},
          {}};
}

int64_t cache_size(int name, int64_t otherwise) {
  const long n = sysconf(name);
  return n > 0 ? n : otherwise;
}

// Facts from the features.
Status complete(Target* t) {
  auto s = subtarget(t->triple, t->cpu, t->features);
  if (!s) return Error{"unknown-target", "no code generator for " + t->triple, {}, {}};
  auto has = [&](const char* f) { return s->checkFeatures(std::string("+") + f); };
  if (t->triple == kX86) {
    if (!has("avx2") || !has("fma") || !has("f16c")) {
      return Error{"target-too-old",
                   "target \"" + t->text +
                       "\" lacks AVX2, FMA or F16C; the least x86-64 machine is "
                       "cpu:x86-64-v3",
                   {},
                   {}};
    }
    const bool wide = has("avx512f") && has("avx512bw") && has("avx512dq") && has("avx512vl");
    t->machine.vector_bytes = wide ? 64 : 32;
    t->machine.vector_registers = wide ? 32 : 16;
    t->machine.fma = true;
    t->machine.masked = wide;
    t->vnni = (wide && has("avx512vnni")) || has("avxvnni");
    t->fp16 = wide && has("avx512fp16");
  } else if (t->triple == kArm) {
    if (!has("neon")) {
      return Error{"target-too-old", "target \"" + t->text + "\" lacks NEON", {}, {}};
    }
    t->machine.vector_bytes = 16;
    t->machine.vector_registers = 32;
    t->machine.fma = true;
    t->fp16 = has("fullfp16");
    t->dotprod = has("dotprod");
    t->machine.signed_bytes = t->dotprod;
  } else {
    if (!has("f") || !has("d")) {
      return Error{
          "target-too-old", "target \"" + t->text + "\" lacks the F and D extensions", {}, {}};
    }
    // Two registers form one of ours: enough parallel work at 128 bits, still 16 of them.
    const bool v = has("v");
    t->machine.vector_bytes = v ? 32 : 8;
    t->machine.vector_registers = v ? 16 : 32;
    t->machine.fma = true;
    t->machine.masked = v;
    t->fp16 = v && has("zvfh");
  }
  return ok_status();
}

}  // namespace

std::vector<std::string> target_names() {
  std::vector<std::string> r = {"cpu"};
  for (const char* n : kListed) r.push_back("cpu:" + std::string(n));
  return r;
}

Result<Target> parse_target(std::string_view text) {
  initialise_llvm();
  Target t;
  t.text = text;
  t.backend = "cpu";
  std::string name(text);
  if (name == "cpu" || name == "cpu:native" || name == "cpu:host") {
    t.triple = llvm::Triple::normalize(llvm::sys::getDefaultTargetTriple());
#if defined(__x86_64__)
    t.triple = kX86;
#elif defined(__aarch64__)
    t.triple = kArm;
#elif defined(__riscv)
    t.triple = kRiscV;
#endif
    t.host = true;
    t.cpu = llvm::sys::getHostCPUName().str();
    std::vector<std::string> features;
    for (const auto& f : llvm::sys::getHostCPUFeatures()) {
      features.push_back((f.second ? "+" : "-") + f.first().str());
    }
    std::sort(features.begin(), features.end());
    for (const std::string& f : features) t.features += (t.features.empty() ? "" : ",") + f;
    t.machine.l1_bytes = cache_size(_SC_LEVEL1_DCACHE_SIZE, t.machine.l1_bytes);
    t.machine.l2_bytes = cache_size(_SC_LEVEL2_CACHE_SIZE, t.machine.l2_bytes);
    t.machine.l3_bytes = cache_size(_SC_LEVEL3_CACHE_SIZE, t.machine.l3_bytes);
    t.machine.cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    TF_TRY(complete(&t));
    return t;
  }
  if (name.rfind("cpu:", 0) != 0) return unknown(text, name);
  name = name.substr(4);
  for (const Alias& a : kAliases) {
    if (name == a.name) name = a.cpu;
  }
  if (name == "generic") {
    t.triple = kArm;
    t.cpu = "generic";
  } else if (name.rfind("rv64", 0) == 0) {
    auto isa = llvm::RISCVISAInfo::parseArchString(name, true);
    if (!isa) {
      llvm::consumeError(isa.takeError());
      return unknown(text, name);
    }
    t.triple = kRiscV;
    t.cpu = "generic-rv64";
    for (const std::string& f : (*isa)->toFeatures()) {
      t.features += (t.features.empty() ? "" : ",") + f;
    }
  } else {
    for (const char* triple : {kX86, kArm, kRiscV}) {
      if (t.triple.empty() && !name.empty() && knows(triple, name)) t.triple = triple;
    }
    if (t.triple.empty()) return unknown(text, name);
    t.cpu = name;
  }
  if (t.triple == kArm) t.machine.l2_bytes = 512 << 10;
  if (t.triple == kRiscV) t.machine.l2_bytes = 512 << 10;
  TF_TRY(complete(&t));
  return t;
}

}  // namespace tenfold::cpu
