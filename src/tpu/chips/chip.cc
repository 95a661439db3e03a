// The table of a chip's fields, and what follows from it: reading, printing, messages.
#include "tpu/chips/chip.h"

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "fmt/format.h"

namespace tenfold::tpu {

namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;
using F = ChipField;

// clang-format off
constexpr ChipField kFields[] = {
    {"clock_mhz", &Chip::clock_mhz, "MHz", 1, 1e5, F::Both, "Clock of the core; every cycle in a report is one of these"},
    {"cores", &Chip::cores, "", 1, 16, F::Both, "Cores that work as one device, with the memory shared between them"},

    {"mxu_count", &Chip::mxu_count, "", 1, 64, F::Both, "Matrix units a core"},
    {"mxu_dim", &Chip::mxu_dim, "", 8, 4096, F::Both, "Rows and columns of the array of multipliers"},
    {"mxu_rows_per_cycle", &Chip::mxu_rows_per_cycle, "rows/cycle", 0.001, 64, F::Both, "Left-hand rows a unit takes in a cycle (bf16; int8 in the matrix family)"},
    {"mxu_int8_rate", &Chip::mxu_int8_rate, "x", 0, 16, F::Both, "int8 rows for each of the above; 0: no int8"},
    {"mxu_fp8_rate", &Chip::mxu_fp8_rate, "x", 0, 16, F::BundleOnly, "8-bit float rows for each bf16 row; 0: none"},
    {"mxu_weight_rows_per_cycle", &Chip::mxu_weight_rows_per_cycle, "rows/cycle", 0.001, 256, F::Both, "Rows of weights a unit shifts in in a cycle"},
    {"mxu_weight_sets", &Chip::mxu_weight_sets, "", 1, 2, F::BundleOnly, "Sets of weights an array holds; with 2 the next one shifts in while rows go through"},
    {"mxu_shared_input", &Chip::mxu_shared_input, "bool", 0, 1, F::BundleOnly, "Weights enter by the path of the rows, so that an array takes either in a cycle"},
    {"mxu_latency", &Chip::mxu_latency, "cycles", 0, 4096, F::Both, "From the push of a row to its result"},
    {"mxu_input_queue", &Chip::mxu_input_queue, "", 1, 1024, F::BundleOnly, "Pushes a unit takes before it works on them"},
    {"mxu_weight_latency", &Chip::mxu_weight_latency, "cycles", 0, 4096, F::BundleOnly, "From the last row of weights to the first product with them"},
    {"mxu_result_rows", &Chip::mxu_result_rows, "rows", 1, 65536, F::BundleOnly, "Rows of results a unit holds until they are popped"},
    {"mxu_pop_latency", &Chip::mxu_pop_latency, "cycles", 1, 256, F::BundleOnly, "From the result queue to a vector register"},
    {"mxu_accumulates", &Chip::mxu_accumulates, "bool", 0, 1, F::BundleOnly, "Results can be added to in the unit before they are popped"},

    {"lanes", &Chip::lanes, "", 1, 1024, F::BundleOnly, "Lanes of a vector register"},
    {"sublanes", &Chip::sublanes, "", 1, 64, F::BundleOnly, "Rows of lanes in a vector register"},
    {"scalar_registers", &Chip::scalar_registers, "", 8, 1024, F::BundleOnly, "Scalar registers of 32 bit"},
    {"vector_registers", &Chip::vector_registers, "", 8, 1024, F::BundleOnly, "Vector registers of sublanes x lanes x 32 bit"},
    {"mask_registers", &Chip::mask_registers, "", 2, 64, F::BundleOnly, "Vector mask registers"},
    {"scalar_slots", &Chip::scalar_slots, "/bundle", 1, 8, F::BundleOnly, "Scalar instructions a bundle"},
    {"valu_slots", &Chip::valu_slots, "/bundle", 1, 16, F::BundleOnly, "Vector arithmetic instructions a bundle"},
    {"vload_slots", &Chip::vload_slots, "/bundle", 1, 8, F::BundleOnly, "Vector loads a bundle"},
    {"vstore_slots", &Chip::vstore_slots, "/bundle", 1, 8, F::BundleOnly, "Vector stores a bundle"},
    {"eup_slots", &Chip::eup_slots, "/bundle", 1, 8, F::BundleOnly, "Transcendental instructions a bundle"},
    {"xlu_slots", &Chip::xlu_slots, "/bundle", 1, 8, F::BundleOnly, "Cross-lane instructions a bundle, one a cross-lane unit"},
    {"mxu_push_slots", &Chip::mxu_push_slots, "/bundle", 1, 16, F::BundleOnly, "Pushes of rows or weights a bundle, for all units"},
    {"mxu_pop_slots", &Chip::mxu_pop_slots, "/bundle", 1, 16, F::BundleOnly, "Pops of results a bundle, for all units"},
    {"misc_slots", &Chip::misc_slots, "/bundle", 1, 8, F::BundleOnly, "Copies, semaphores and the rest a bundle"},
    {"bf16_valu", &Chip::bf16_valu, "bool", 0, 1, F::BundleOnly, "Vector arithmetic on packed bf16"},
    {"bf16_eup", &Chip::bf16_eup, "bool", 0, 1, F::BundleOnly, "Transcendentals on packed bf16"},
    {"scalar_latency", &Chip::scalar_latency, "cycles", 1, 64, F::BundleOnly, "Scalar arithmetic"},
    {"scalar_long_latency", &Chip::scalar_long_latency, "cycles", 1, 256, F::BundleOnly, "Scalar multiplication and division"},
    {"scalar_load_latency", &Chip::scalar_load_latency, "cycles", 1, 256, F::BundleOnly, "Scalar load from scalar memory"},
    {"branch_latency", &Chip::branch_latency, "cycles", 1, 64, F::BundleOnly, "Bundles from a taken branch to its target"},
    {"valu_latency", &Chip::valu_latency, "cycles", 1, 64, F::BundleOnly, "Vector arithmetic"},
    {"valu_long_latency", &Chip::valu_long_latency, "cycles", 1, 64, F::BundleOnly, "Vector multiplication of 32-bit integers"},
    {"vload_latency", &Chip::vload_latency, "cycles", 1, 256, F::BundleOnly, "Vector load"},
    {"vmem_ports", &Chip::vmem_ports, "/cycle", 0.25, 16, F::BundleOnly, "Vector registers that vector memory moves in a cycle, loads, stores and copies together"},
    {"eup_latency", &Chip::eup_latency, "cycles", 1, 256, F::BundleOnly, "From a transcendental's push to its result"},
    {"eup_interval", &Chip::eup_interval, "cycles", 1, 64, F::BundleOnly, "Cycles between two registers into the transcendental unit"},
    {"eup_long_intervals", &Chip::eup_long_intervals, "", 1, 256, F::BundleOnly, "Passes of a long function (division, square root, sine, power ...) through that unit"},
    {"xlu_latency", &Chip::xlu_latency, "cycles", 1, 1024, F::BundleOnly, "From a cross-lane push to its result"},
    {"xlu_transpose_latency", &Chip::xlu_transpose_latency, "cycles", 1, 1024, F::BundleOnly, "From the end of a transposition's pushes to its first rows"},
    {"xlu_transpose_interval", &Chip::xlu_transpose_interval, "cycles", 1, 128, F::BundleOnly, "Cycles that one register pushed holds the transposer"},
    {"xlu_scalar_latency", &Chip::xlu_scalar_latency, "cycles", 1, 1024, F::BundleOnly, "From a word of a vector register to a scalar register"},

    {"vmem_bytes", &Chip::vmem_bytes, "B", 1024, kGiB * 64, F::BundleOnly, "Vector memory of a core"},
    {"smem_bytes", &Chip::smem_bytes, "B", 1024, kGiB, F::BundleOnly, "Scalar memory of a core"},
    {"cmem_bytes", &Chip::cmem_bytes, "B", 0, kGiB * 64, F::BundleOnly, "Common memory of the device; 0: none"},
    {"cmem_gbps", &Chip::cmem_gbps, "GB/s", 0, 1e6, F::BundleOnly, "Bandwidth of common memory"},
    {"hbm_bytes", &Chip::hbm_bytes, "B", 1024, kGiB * 1e6, F::BundleOnly, "Main memory of the device"},
    {"hbm_gbps", &Chip::hbm_gbps, "GB/s", 0.001, 1e6, F::BundleOnly, "Peak bandwidth of main memory"},
    {"hbm_efficiency", &Chip::hbm_efficiency, "x", 0.05, 1, F::BundleOnly, "Share of the peak that long copies reach (refresh, turnarounds, page misses)"},
    {"dma_latency_ns", &Chip::dma_latency_ns, "ns", 0, 1e6, F::BundleOnly, "From the start of a copy to its first byte"},
    {"dma_granule_bytes", &Chip::dma_granule_bytes, "B", 1, 65536, F::BundleOnly, "A run of fewer bytes in main memory costs as much as one of these"},
    {"dma_engines", &Chip::dma_engines, "", 1, 256, F::BundleOnly, "Copies in flight at once"},
    {"semaphores", &Chip::semaphores, "", 1, 4096, F::BundleOnly, "Counters that copies and cores wait on"},

    {"unified_buffer_bytes", &Chip::unified_buffer_bytes, "B", 1024, kGiB, F::MatrixOnly, "On-chip memory of activations, and of weights that stay"},
    {"accumulator_rows", &Chip::accumulator_rows, "rows", 1, 1 << 20, F::MatrixOnly, "Rows of mxu_dim 32-bit accumulators"},
    {"weight_fifo_tiles", &Chip::weight_fifo_tiles, "tiles", 1, 1 << 20, F::MatrixOnly, "Weight tiles that wait on the chip for the array"},
    {"weight_cache_bytes", &Chip::weight_cache_bytes, "B", 0, kGiB, F::MatrixOnly, "Part of the unified buffer in which weights may stay from one inference to the next; 0: none"},
    {"weight_bytes", &Chip::weight_bytes, "B", 0, kGiB * 1024, F::MatrixOnly, "Memory of weights beside the chip; 0: weights come from the host"},
    {"weight_gbps", &Chip::weight_gbps, "GB/s", 0, 1e6, F::MatrixOnly, "Bandwidth of the memory of weights; the host's where there is none"},
    {"activation_bytes_per_cycle", &Chip::activation_bytes_per_cycle, "B/cycle", 0.001, 65536, F::MatrixOnly, "int8 values the activation unit writes in a cycle"},
    {"activation_latency", &Chip::activation_latency, "cycles", 0, 1e6, F::MatrixOnly, "From the activation unit's last value to an instruction that reads it: the way through the unified buffer, and the wait of in-order units for each other"},
    {"instruction_cycles", &Chip::instruction_cycles, "cycles", 0, 1e6, F::MatrixOnly, "From an instruction's issue to its first work, when the one before does not hide it"},

    {"launch_us", &Chip::launch_us, "us", 0, 1e6, F::BundleOnly, "Start and end of a program on the chip, before its first and after its last bundle"},
    {"host_gbps", &Chip::host_gbps, "GB/s", 0.001, 1e6, F::Both, "Bandwidth between the host and the chip"},
    {"host_latency_us", &Chip::host_latency_us, "us", 0, 1e6, F::Both, "One crossing between the host and the chip"},
};
// clang-format on

std::string show(double v) {
  return v == std::floor(v) && std::abs(v) < 1e15 ? fmt::format("{}", static_cast<int64_t>(v))
                                                  : fmt::format("{}", v);
}

bool belongs(const ChipField& f, Family family) {
  return f.of == F::Both || (f.of == F::MatrixOnly) == (family == Family::Matrix);
}

double get(const Chip& c, const ChipField& f) {
  return std::visit([&](auto m) { return static_cast<double>(c.*m); }, f.member);
}
void set(Chip& c, const ChipField& f, double v) {
  std::visit([&](auto m) { c.*m = static_cast<std::decay_t<decltype(c.*m)>>(v); }, f.member);
}

// Reads one chip file and collects every problem.
class ChipReader {
 public:
  ChipReader(const Json& root, std::string_view file) : root_(root), file_(file) {}

  Result<Chip> read() {
    if (root_.kind != Json::Kind::Object) {
      return fail("chip-form", root_,
                  fmt::format("found {}, wanted an object of fields", tenfold::name(root_.kind)));
    }
    chip_.name = text("name");
    chip_.title = text("title");
    const std::string family = text("family");
    if (family == "matrix") {
      chip_.family = Family::Matrix;
    } else if (family == "bundle") {
      chip_.family = Family::Bundle;
    } else if (const Json* v = root_.find("family")) {
      problem("chip-form", *v,
              fmt::format("`family` is \"{}\", wanted \"matrix\" or \"bundle\"", family));
    }
    for (const ChipField& f : kFields) {
      if (belongs(f, chip_.family)) field(f);
    }
    unknown();
    if (!errors_.empty()) return errors_;
    return chip_;
  }

 private:
  Error fail(std::string_view id, const Json& at, std::string message) const {
    return {std::string(id), std::move(message), {fmt::format("{}:{}", file_, at.line)}, {}};
  }
  void problem(std::string_view id, const Json& at, std::string message) {
    errors_.push_back(fail(id, at, std::move(message)));
  }

  std::string text(std::string_view key) {
    const Json* v = root_.find(key);
    if (!v) {
      problem("chip-missing-field", root_, fmt::format("`{}` is missing; add it, a string", key));
    } else if (v->kind != Json::Kind::String) {
      problem("chip-form", *v,
              fmt::format("`{}` is {} {}, wanted a string", key,
                          v->kind == Json::Kind::Array ? "an" : "a", tenfold::name(v->kind)));
    } else {
      return v->string;
    }
    return {};
  }

  void field(const ChipField& f) {
    const Json* v = root_.find(f.key);
    if (!v) {
      problem(
          "chip-missing-field", root_,
          fmt::format("`{}` is missing; add {{\"value\": …, \"unit\": \"{}\", \"source\": …}}: {}",
                      f.key, f.unit, f.doc));
      return;
    }
    const Json* value = v->find("value");
    const Json* source = v->find("source");
    const Json* unit = v->find("unit");
    const bool is_bool = f.unit == "bool";
    const Json::Kind wanted = is_bool ? Json::Kind::Bool : Json::Kind::Number;
    if (!value || value->kind != wanted || !source || source->kind != Json::Kind::String ||
        source->string.empty()) {
      problem(
          "chip-form", *v,
          fmt::format("`{}` wants {{\"value\": {}, \"unit\": \"{}\", \"source\": where it comes "
                      "from}}",
                      f.key, tenfold::name(wanted), f.unit));
      return;
    }
    for (const auto& [key, item] : v->members) {
      if (key != "value" && key != "source" && key != "unit") {
        problem("chip-unknown-field", item,
                fmt::format("`{}` has no \"{}\"; wanted value, unit and source", f.key, key));
      }
    }
    const std::string_view stated =
        unit && unit->kind == Json::Kind::String ? std::string_view(unit->string) : "";
    if (!is_bool && stated != f.unit) {
      problem("chip-unit", *v,
              fmt::format("`{}` is given in \"{}\", wanted \"{}\"; convert the value", f.key,
                          stated, f.unit));
      return;
    }
    const double d = is_bool ? value->boolean : value->number;
    const bool whole = !std::holds_alternative<double Chip::*>(f.member);
    if (!(d >= f.min && d <= f.max) || (whole && d != std::floor(d))) {
      problem("chip-range", *value,
              fmt::format("`{}` is {}, wanted a{} number from {} to {}", f.key, show(d),
                          whole ? " whole" : "", show(f.min), show(f.max)));
      return;
    }
    set(chip_, f, d);
    chip_.sources.emplace(f.key, source->string);
  }

  void unknown() {
    std::vector<std::string> keys = {"name", "title", "family"};
    for (const ChipField& f : kFields) keys.emplace_back(f.key);
    for (const auto& [key, v] : root_.members) {
      const auto* f = std::find_if(std::begin(kFields), std::end(kFields),
                                   [&, k = std::string_view(key)](auto& x) { return x.key == k; });
      if (f == std::end(kFields)) {
        if (key == "name" || key == "title" || key == "family") continue;
        const std::string near = nearest(key, keys);
        problem("chip-unknown-field", v,
                fmt::format("a chip has no `{}`; {}", key,
                            near.empty() ? "`tenfold targets --chip v5e` prints those that it has"
                                         : fmt::format("did you mean `{}`?", near)));
      } else if (!belongs(*f, chip_.family)) {
        problem("chip-unknown-field", v,
                fmt::format("`{}` is not a field of the {} family; leave it out", key,
                            chip_.family == Family::Matrix ? "matrix" : "bundle"));
      }
    }
  }

  const Json& root_;
  std::string_view file_;
  Chip chip_;
  Errors errors_;
};

}  // namespace

std::span<const ChipField> chip_fields() { return kFields; }

Result<Chip> parse_chip(std::string_view json, std::string_view file_name) {
  TF_ASSIGN(const Json root, parse_json(json, file_name));
  return ChipReader(root, file_name).read();
}

std::string print_chip(const Chip& chip) {
  std::string s = fmt::format("{{\n  \"name\": {},\n  \"title\": {},\n  \"family\": \"{}\"",
                              json_quote(chip.name), json_quote(chip.title),
                              chip.family == Family::Matrix ? "matrix" : "bundle");
  for (const ChipField& f : kFields) {
    if (!belongs(f, chip.family)) continue;
    const auto source = chip.sources.find(f.key);
    const double v = get(chip, f);
    const bool is_bool = f.unit == "bool";
    s += fmt::format(",\n  \"{}\": {{\"value\": {},{} \"source\": {}}}", f.key,
                     is_bool ? (v != 0 ? "true" : "false") : show(v),
                     f.unit.empty() || is_bool ? "" : fmt::format(" \"unit\": \"{}\",", f.unit),
                     json_quote(source == chip.sources.end() ? "not stated" : source->second));
  }
  return s + "\n}\n";
}

Result<Chip> find_chip(std::string_view name) {
  std::vector<std::string> names;
  for (const ChipFile& f : chip_files()) {
    if (f.name == name) return parse_chip(f.json, fmt::format("{}.json", f.name));
    names.emplace_back(f.name);
  }
  return Error{"chip-unknown",
               fmt::format("there is no chip \"{}\"; wanted one of {}, or the path of a chip file "
                           "(`tenfold targets --chip v5e` prints one to start from)",
                           name, join(names, ", ")),
               {},
               {}};
}

Result<Chip> load_chip(const std::string& name_or_path) {
  if (name_or_path.find('/') == std::string::npos && file_suffix(name_or_path) != ".json") {
    return find_chip(name_or_path);
  }
  constexpr size_t kLargest = 1 << 20;
  TF_ASSIGN(const std::string text, read_text_file(name_or_path, kLargest));
  return parse_chip(text, name_or_path);
}

}  // namespace tenfold::tpu
