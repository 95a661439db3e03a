// Stands in for libFuzzer in ordinary builds: feeds the target every file of the given folders, the
// seeds it makes itself, and mutations of both (the same ones each time; TENFOLD_FUZZ_RUNS of them,
// 0 for none). A crash leaves its input in crash-input of the working folder.
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "base/rng.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" __attribute__((weak)) void tenfold_fuzz_seeds(std::vector<std::string>* seeds);

namespace {

std::string current;

void keep_input(int signal) {
  const int fd = open("crash-input", O_CREAT | O_TRUNC | O_WRONLY, 0644);
  [[maybe_unused]] ssize_t n = write(fd, current.data(), current.size());
  std::signal(signal, SIG_DFL);
  raise(signal);
}

void feed(std::string bytes) {
  current = std::move(bytes);
  // A copy of its own, so that a sanitizer sees every read past the end.
  const std::vector<uint8_t> copy(current.begin(), current.end());
  LLVMFuzzerTestOneInput(copy.data(), copy.size());
}

std::string mutated(tenfold::Rng& rng, const std::vector<std::string>& seeds) {
  std::string s = seeds[rng.below(seeds.size())];
  for (int64_t i = rng.range(1, 6); i > 0; --i) {
    const size_t n = s.size(), at = n ? rng.below(n) : 0;
    switch (rng.below(7)) {
      case 0:
        if (n) s[at] = static_cast<char>(rng.next());
        break;
      case 1:
        if (n) s[at] = static_cast<char>(s[at] ^ (1 << rng.below(8)));
        break;
      case 2:
        s.insert(at, 1 + rng.below(4), static_cast<char>(rng.next()));
        break;
      case 3:
        s.erase(at, 1 + rng.below(8));
        break;
      case 4: {  // an interesting number
        static constexpr int64_t kNumbers[] = {-1, 0, 1, 127, 128, 255, INT32_MAX, INT64_MIN};
        const int64_t v = kNumbers[rng.below(std::size(kNumbers))];
        const size_t bytes = rng.chance(0.5) ? 8 : 4;
        if (at + bytes <= n) s.replace(at, bytes, reinterpret_cast<const char*>(&v), bytes);
        break;
      }
      case 5: {  // a piece of another seed, or of this one
        const std::string& o = seeds[rng.below(seeds.size())];
        if (!o.empty()) s.insert(at, o, rng.below(o.size()), 1 + rng.below(32));
        break;
      }
      default:
        if (rng.chance(0.2)) s.resize(at);
    }
  }
  return s;
}

}  // namespace

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  for (int s : {SIGABRT, SIGSEGV, SIGFPE, SIGBUS, SIGILL}) std::signal(s, keep_input);
  std::vector<std::string> seeds;
  if (tenfold_fuzz_seeds) tenfold_fuzz_seeds(&seeds);
  for (int i = 1; i < argc; ++i) {
    if (!fs::exists(argv[i])) continue;
    if (fs::is_regular_file(argv[i])) {  // one input again
      std::ifstream in(argv[i], std::ios::binary);
      seeds.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
      continue;
    }
    std::vector<fs::path> files;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(argv[i])) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    for (const fs::path& file : files) {
      std::ifstream in(file, std::ios::binary);
      seeds.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    }
  }
  for (const std::string& s : seeds) feed(s);
  feed("");
  const char* runs_text = std::getenv("TENFOLD_FUZZ_RUNS");
  const int64_t runs = runs_text ? std::atoll(runs_text) : 1000;
  tenfold::Rng rng(1);
  if (!seeds.empty()) {
    for (int64_t i = 0; i < runs; ++i) feed(mutated(rng, seeds));
  }
  std::printf("%zu inputs and %lld mutations: no crash\n", seeds.size() + 1,
              static_cast<long long>(seeds.empty() ? 0 : runs));
  return 0;
}
