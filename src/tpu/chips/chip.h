// A chip as numbers. Everything the simulator knows about a generation stands in one file,
// src/tpu/chips/NAME.json, each number with its unit and its source; the table of fields below
// gives the reader, the printer, the messages and the page of documentation. A number here has a
// physical meaning and is the same for all work on the chip; nothing is fitted to one workload.
//
// "One device" is what JAX counts: v2, v3 and 7x are one core, the others one chip. Bandwidths and
// capacities are the device's.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace tenfold::tpu {

enum class Family {
  Matrix,  // a handful of long-running instructions on int8 (v1, Edge)
  Bundle,  // bundles with scalar, vector and matrix slots (v2 and later)
};

struct Chip {
  std::string name;   // "v5e"
  std::string title;  // "TPU v5e, one chip"
  Family family = Family::Bundle;

  double clock_mhz = 0;
  int64_t cores = 1;

  // Matrix units.
  int64_t mxu_count = 0;
  int64_t mxu_dim = 0;
  double mxu_rows_per_cycle = 0;
  double mxu_int8_rate = 0;
  double mxu_fp8_rate = 0;
  double mxu_weight_rows_per_cycle = 0;
  int64_t mxu_weight_sets = 0;
  bool mxu_shared_input = false;
  int64_t mxu_latency = 0;
  int64_t mxu_input_queue = 0;
  int64_t mxu_weight_latency = 0;
  int64_t mxu_result_rows = 0;
  int64_t mxu_pop_latency = 0;
  bool mxu_accumulates = false;

  // Bundle family: the vector core.
  int64_t lanes = 0;
  int64_t sublanes = 0;
  int64_t scalar_registers = 0;
  int64_t vector_registers = 0;
  int64_t mask_registers = 0;
  int64_t scalar_slots = 0;
  int64_t valu_slots = 0;
  int64_t vload_slots = 0;
  int64_t vstore_slots = 0;
  int64_t eup_slots = 0;
  int64_t xlu_slots = 0;
  int64_t mxu_push_slots = 0;
  int64_t mxu_pop_slots = 0;
  int64_t misc_slots = 0;
  bool bf16_valu = false;
  bool bf16_eup = false;
  int64_t scalar_latency = 0;
  int64_t scalar_long_latency = 0;
  int64_t scalar_load_latency = 0;
  int64_t branch_latency = 0;
  int64_t valu_latency = 0;
  int64_t valu_long_latency = 0;
  int64_t vload_latency = 0;
  double vmem_ports = 0;
  int64_t eup_latency = 0;
  double eup_interval = 0;
  int64_t eup_long_intervals = 0;
  int64_t xlu_latency = 0;
  int64_t xlu_transpose_latency = 0;
  int64_t xlu_transpose_interval = 0;
  int64_t xlu_scalar_latency = 0;

  // Memories and copies.
  int64_t vmem_bytes = 0;
  int64_t smem_bytes = 0;
  int64_t cmem_bytes = 0;
  double cmem_gbps = 0;
  int64_t hbm_bytes = 0;
  double hbm_gbps = 0;
  double hbm_efficiency = 0;
  double dma_latency_ns = 0;
  int64_t dma_granule_bytes = 0;
  int64_t dma_engines = 0;
  int64_t semaphores = 0;

  // Matrix family.
  int64_t unified_buffer_bytes = 0;
  int64_t accumulator_rows = 0;
  int64_t weight_fifo_tiles = 0;
  int64_t weight_cache_bytes = 0;
  int64_t weight_bytes = 0;
  double weight_gbps = 0;
  double activation_bytes_per_cycle = 0;
  int64_t activation_latency = 0;
  double instruction_cycles = 0;

  // The host.
  double launch_us = 0;
  double host_gbps = 0;
  double host_latency_us = 0;

  // Where each number comes from, by key.
  std::map<std::string, std::string, std::less<>> sources;

  double cycles_per_second() const { return clock_mhz * 1e6; }
  double microseconds(double cycles) const { return cycles / clock_mhz; }
  // 10^9 bytes a second as bytes a clock cycle.
  double bytes_per_cycle(double gbps) const { return gbps * 1e3 / clock_mhz; }
};

struct ChipField {
  std::string_view key;
  std::variant<int64_t Chip::*, double Chip::*, bool Chip::*> member;
  std::string_view unit;  // "" for a plain count; "bool" for yes or no
  double min, max;
  enum Of { Both, MatrixOnly, BundleOnly } of;  // chips of the other family leave it out
  std::string_view doc;
};
std::span<const ChipField> chip_fields();

// Errors: json-*, chip-form, chip-unknown-field, chip-missing-field, chip-unit, chip-range, all of
// them at once.
Result<Chip> parse_chip(std::string_view json, std::string_view file_name);
// As a file that parse_chip() reads to the same chip.
std::string print_chip(const Chip& chip);

struct ChipFile {
  std::string_view name, json;
};
std::span<const ChipFile> chip_files();  // those of this build, by name
// The chip of this build called `name`. Error: chip-unknown, with those that there are.
Result<Chip> find_chip(std::string_view name);
// `name` or the path of a file: what stands after "tpu:" in a target.
Result<Chip> load_chip(const std::string& name_or_path);

}  // namespace tenfold::tpu
