// Runs ONNX cases (folders made by dump_onnx_cases.py) through the importer and the evaluator:
//
//   onnx_eval [--verbose] [--print] CASE_FOLDER...
//
// One line a case: PASS, REFUSED (a clear message), WRONG (other numbers), FAILED (evaluation
// failed), CRASH. Each case runs in a process of its own.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "frontends/onnx/import.h"
#include "graph/evaluator.h"
#include "graph/text.h"

using namespace tenfold;

namespace {

bool print_module = false;

std::optional<Literal> read_bin(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string header, dtype;
  if (!std::getline(in, header)) return {};
  std::istringstream words(header);
  words >> dtype;
  std::vector<int64_t> dims;
  for (int64_t d; words >> d;) dims.push_back(d);
  auto t = dtype_from_name(dtype);
  if (!t) return {};
  Literal l(*t, dims);
  if (l.size() > 0) {
    in.read(reinterpret_cast<char*>(l.mutable_bytes()),
            static_cast<std::streamsize>(l.byte_count()));
  }
  return l;
}

struct DataSet {
  double rtol = 1e-3, atol = 1e-7;
  bool peak = false;  // rtol is relative to the largest value
  std::map<std::string, Literal> inputs, outputs;
  std::map<std::string, int64_t> sequences;
  std::set<std::string> other;  // text and empty optionals
};

std::vector<DataSet> read_sets(const std::string& folder) {
  std::vector<DataSet> sets;
  std::ifstream in(folder + "/cases.txt");
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string kind, rest;
    words >> kind;
    if (kind == "set") {
      sets.emplace_back();
      words >> sets.back().rtol >> sets.back().atol >> rest;
      sets.back().peak = rest == "peak";
      continue;
    }
    DataSet& s = sets.back();
    words >> std::ws;
    std::getline(words, rest);
    const size_t space = rest.rfind(' ');
    const std::string name = rest.substr(0, space), value = rest.substr(space + 1);
    if (kind == "input" || kind == "output") {
      auto l = read_bin(folder + "/" + value);
      if (l) (kind == "input" ? s.inputs : s.outputs)[name] = *l;
    } else if (kind == "seq") {
      s.sequences[name] = std::stoll(value);
    } else {
      s.other.insert(rest);
    }
  }
  return sets;
}

std::string shape_text(const Literal& l) {
  return fmt::format("{}{}", name(l.dtype()), fmt::format("[{}]", fmt::join(l.dims(), ",")));
}

std::string run_set(const std::string& folder, const DataSet& s) {
  std::string model = folder + "/model.onnx";
  if (std::ifstream in(folder + "/path.txt"); in) {
    std::string path;
    std::getline(in, path);
    model = path.starts_with("/") ? path : folder + "/" + path;
  }
  onnx::ImportOptions options;
  options.sequence_lengths = s.sequences;
  options.empty_optionals = s.other;
  onnx::ImportNeeds needs;
  auto module = onnx::import_onnx(model, options, &needs);
  // What the compiler has to know is taken from the inputs, as `run` does.
  for (int round = 0; !module.ok() && round < 8; ++round) {
    bool more = false;
    for (const auto& name : needs.values) {
      if (s.inputs.contains(name)) more |= options.values.emplace(name, s.inputs.at(name)).second;
    }
    for (const auto& name : needs.shapes) {
      if (s.inputs.contains(name)) {
        more |= options.shapes.emplace(name, s.inputs.at(name).dims()).second;
      } else if (s.sequences.contains(name)) {
        auto first = s.inputs.find(name + ".0");
        if (first != s.inputs.end()) {
          // Items may differ in size, not in rank.
          const std::vector<int64_t> any(first->second.dims().size(), -1);
          more |= options.shapes.emplace(name, any).second;
        }
      }
    }
    if (!more) break;
    module = onnx::import_onnx(model, options, &needs);
  }
  if (!module.ok()) {
    std::string text = to_string(module.errors());
    if (text.back() == '\n') text.pop_back();
    return "REFUSED " + text;
  }
  if (print_module) std::cout << print(**module) << "\n";
  if (auto v = verify(**module); !v.ok()) return "FAILED verify: " + to_string(v.errors());
  const Function& f = *(*module)->main();
  std::vector<Literal> args;
  for (const auto& a : f.body.args) {
    auto it = s.inputs.find(a->name);
    if (it == s.inputs.end()) return "REFUSED no value for input " + a->name;
    args.push_back(it->second);
  }
  auto results = evaluate(**module, f, args);
  if (!results.ok()) return "FAILED " + to_string(results.errors());
  for (size_t i = 0; i < f.result_names.size(); ++i) {
    const std::string& name = f.result_names[i];
    auto it = s.outputs.find(name);
    if (it == s.outputs.end()) {
      if (s.other.contains(name)) continue;
      return "WRONG unexpected output " + name;
    }
    const Literal &got = (*results)[i], &want = it->second;
    if (got.dtype() != want.dtype() || got.dims() != want.dims()) {
      return fmt::format("WRONG {}: got {}, wanted {}", name, shape_text(got), shape_text(want));
    }
    // As onnx's own runner: two units in the last place of bf16.
    const double rtol = want.dtype() == DType::BF16 ? std::max(s.rtol, 0x1p-6) : s.rtol;
    const Difference d = compare(got, want, rtol, s.atol);
    if (s.peak ? !(d.max_rel_to_peak <= rtol) : d.mismatches > 0) {
      return fmt::format(
          "WRONG {}: {} of {} differ, first at {}: got {}, wanted {}\n  got  {}\n"
          "  want {}",
          name, d.mismatches, got.size(), d.first,
          is_complex(got.dtype()) ? 0 : got.as_f64(d.first),
          is_complex(got.dtype()) ? 0 : want.as_f64(d.first), got.str(24), want.str(24));
    }
  }
  for (const auto& [name, l] : s.outputs) {
    if (std::find(f.result_names.begin(), f.result_names.end(), name) == f.result_names.end()) {
      return "WRONG missing output " + name;
    }
  }
  return "PASS";
}

std::string run_case(const std::string& folder) {
  const auto sets = read_sets(folder);
  if (sets.empty()) return "REFUSED no data";
  for (const DataSet& s : sets) {
    std::string r = run_set(folder, s);
    if (r != "PASS") return r;
  }
  return "PASS";
}

}  // namespace

int main(int argc, char** argv) {
  bool verbose = false;
  std::map<std::string, int> counts;
  for (int i = 1; i < argc; ++i) {
    const std::string folder = argv[i];
    if (folder == "--verbose") {
      verbose = true;
      continue;
    }
    if (folder == "--print") {
      print_module = true;
      continue;
    }
    int fds[2];
    if (pipe(fds) != 0) return 2;
    std::cout.flush();
    const pid_t child = fork();
    if (child == 0) {
      close(fds[0]);
      alarm(60);
      const std::string r = run_case(folder);
      if (write(fds[1], r.data(), r.size()) < 0) _exit(3);
      std::cout.flush();
      _exit(0);
    }
    close(fds[1]);
    std::string result;
    char buffer[4096];
    for (ssize_t k; (k = read(fds[0], buffer, sizeof buffer)) > 0;) {
      result.append(buffer, static_cast<size_t>(k));
    }
    close(fds[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) {
      result = WTERMSIG(status) == SIGALRM ? "TIMEOUT" : fmt::format("CRASH {}", WTERMSIG(status));
    }
    const std::string word = result.substr(0, result.find(' '));
    ++counts[word];
    if (verbose || word != "PASS") {
      std::cout << std::filesystem::path(folder).filename().string() << ": " << result << "\n";
    }
  }
  for (const auto& [word, n] : counts) std::cout << word << " " << n << "\n";
  return counts.size() == 1 && counts.contains("PASS") ? 0 : 1;
}
