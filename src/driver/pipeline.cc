#include "driver/pipeline.h"

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <regex>

#include "base/file.h"
#include "graph/text.h"

namespace tenfold {

std::vector<std::string> pipeline(int opt_level) {
  // Needed by lowering at any level.
  // Twice: calls have demands of their own, and a composite may become an op that has.
  std::vector<std::string> p = {"state_size_rules", "inline_functions", "state_size_rules"};
  if (opt_level >= 1) {
    p.insert(p.end(), {
                          "eliminate_dead_code",
                          "fold_constants",
                          "simplify_views",
                          "share_common_subexpressions",
                      });
  }
  if (opt_level >= 2) {
    p.insert(p.end(), {
                          "fuse_normalizations",
                          "eliminate_dead_code",
                          "fuse_attention",
                          "narrow_contractions",
                          "fold_affine",
                          "channels_last",
                          "fold_constants",
                          "simplify_views",
                          "sink_transposes",
                          "simplify_views",
                          "sink_transposes",
                          "simplify_views",
                          "sink_reshapes",
                          "simplify_views",
                          "eliminate_dead_code",
                          "pad_convolutions",
                          "fold_constants",
                          "share_common_subexpressions",
                      });
  }
  p.push_back("eliminate_dead_code");
  return p;
}

bool needed_pass(std::string_view name) {
  return name == "inline_functions" || name == "state_size_rules";
}

int place_of_pass(const std::string& name, int opt_level) {
  const std::vector<std::string> passes = pipeline(opt_level);
  size_t dash = name.find('-'), digits = name.find_first_not_of("0123456789");
  if (dash != std::string::npos && dash > 0 && dash < 4 && digits == dash) {
    auto place = static_cast<size_t>(std::atoi(name.c_str()));
    bool right = place >= 1 && place <= passes.size() && passes[place - 1] == name.substr(dash + 1);
    return right ? static_cast<int>(place) : 0;
  }
  auto at = std::find(passes.begin(), passes.end(), name);
  return at == passes.end() ? 0 : static_cast<int>(at - passes.begin()) + 1;
}

Result<PipelineReport> run_pipeline(Module& m, const PipelineOptions& options) {
  PipelineReport report;
  int first = 1, last = INT_MAX;
  for (auto [name, place] :
       {std::pair(&options.start_from, &first), {&options.stop_after, &last}}) {
    if (name->empty()) continue;
    *place = place_of_pass(*name, options.opt_level);
    TF_CHECK(*place > 0, "the pipeline has no pass " + *name);
  }
  PassContext context;
  context.fast_math = options.fast_math;
  context.signed_bytes = options.signed_bytes;
  std::regex filter(options.dump_filter.empty() ? ".*" : options.dump_filter);
  int number = 0;
  auto dump = [&](const std::string& name) -> Status {
    if (options.dump_dir.empty() || !std::regex_search(name, filter)) return ok_status();
    char prefix[16];
    std::snprintf(prefix, sizeof prefix, "%02d-", number);
    return write_file(options.dump_dir + "/" + prefix + name + ".mlir", print(m));
  };
  TF_TRY(dump("import"));
  int ran = 0;
  for (const std::string& name : pipeline(options.opt_level)) {
    if (options.max_passes >= 0 && ran >= options.max_passes && !needed_pass(name)) break;
    ++number;
    if (number > last) break;
    if (number < first) continue;
    if (std::count(options.disabled.begin(), options.disabled.end(), name)) continue;
    const GraphPass* pass = find_graph_pass(name);
    TF_CHECK(pass, "the pipeline names no pass: " + name);
    ++ran;
    auto start = std::chrono::steady_clock::now();
    TF_ASSIGN(bool changed, pass->run(m, context));
    std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    report.passes.push_back({name, took.count(), changed});
    if (changed) {
      TF_TRY(dump(name));
      if (options.verify_each) {
        Status s = verify(m);
        TF_CHECK(s.ok(),
                 "pass " + name + " broke the graph:\n" + (s.ok() ? "" : to_string(s.errors())));
      }
    }
  }
  report.remarks = std::move(context.remarks);
  return report;
}

}  // namespace tenfold
