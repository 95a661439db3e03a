#include "tpu/isa/timing.h"

#include <cmath>

namespace tenfold::tpu {
namespace {

int ceil_div(double a, double b) { return std::max(1, static_cast<int>(std::ceil(a / b - 1e-9))); }

bool is_int8(Op op) {
  const Feature f = info(op).feature;
  return f == Feature::Int8Mxu || f == Feature::Int8MxuAcc;
}

Hold whole(Holds what, int cycles) { return {what, cycles, cycles * 256}; }
Hold eup(double cycles) {
  return {Holds::Eup, std::max(1, static_cast<int>(cycles)), static_cast<int>(cycles * 256)};
}

double row_rate(const Chip& c, Op op) {
  return c.mxu_rows_per_cycle * (is_int8(op) ? c.mxu_int8_rate : 1);
}

}  // namespace

int latency(const Chip& c, Op op) {
  switch (info(op).latency) {
    case Latency::Scalar:
      return static_cast<int>(c.scalar_latency);
    case Latency::ScalarLong:
      return static_cast<int>(c.scalar_long_latency);
    case Latency::ScalarLoad:
      return static_cast<int>(c.scalar_load_latency);
    case Latency::VLoad:
      return static_cast<int>(c.vload_latency);
    case Latency::Valu:
      return static_cast<int>(c.valu_latency);
    case Latency::ValuLong:
      return static_cast<int>(c.valu_long_latency);
    case Latency::Eup:
      return static_cast<int>(c.eup_latency);
    case Latency::EupLong:
      return static_cast<int>(static_cast<double>(c.eup_latency) +
                              static_cast<double>(c.eup_long_intervals - 1) * c.eup_interval);
    case Latency::Xlu:
    case Latency::XluReduce:
      return static_cast<int>(c.xlu_latency);
    case Latency::XluTranspose:
      return static_cast<int>(c.xlu_transpose_latency);
    case Latency::XluScalar:
      return static_cast<int>(c.xlu_scalar_latency);
    case Latency::MxuPop:
      return static_cast<int>(c.mxu_pop_latency);
    case Latency::ScalarStore:
    case Latency::VStore:
    case Latency::Branch:
    case Latency::Dma:
    case Latency::Sync:
    case Latency::MxuWeight:
    case Latency::MxuSwap:
    case Latency::MxuRows:
      return 1;
  }
  return 1;
}

int slots(const Chip& c, Slot s) {
  switch (s) {
    case Slot::Scalar:
      return static_cast<int>(c.scalar_slots);
    case Slot::Misc:
      return static_cast<int>(c.misc_slots);
    case Slot::VLoad:
      return static_cast<int>(c.vload_slots);
    case Slot::VStore:
      return static_cast<int>(c.vstore_slots);
    case Slot::Valu:
      return static_cast<int>(c.valu_slots);
    case Slot::Eup:
      return static_cast<int>(c.eup_slots);
    case Slot::Xlu:
      return static_cast<int>(c.xlu_slots);
    case Slot::MxuPush:
      return static_cast<int>(c.mxu_push_slots);
    case Slot::MxuPop:
      return static_cast<int>(c.mxu_pop_slots);
  }
  return 0;
}

Hold hold(const Chip& c, const Inst& inst) {
  switch (info(inst.op).latency) {
    case Latency::MxuWeight: {
      const double rate = c.mxu_weight_rows_per_cycle * (is_int8(inst.op) ? c.mxu_int8_rate : 1);
      // A register is 16 (32) rows of 128 columns, one of dim / 128 pieces of as many whole rows.
      const double rows = (is_int8(inst.op) ? 32.0 : 16.0) * 128.0 / static_cast<double>(c.mxu_dim);
      return whole(Holds::WeightPort, ceil_div(rows, rate));
    }
    case Latency::MxuRows:
      if (inst.op == Op::MxLB || inst.op == Op::MxLS) return {};
      return whole(Holds::Rows, ceil_div(inst.a[2], row_rate(c, inst.op)));
    case Latency::Eup:
      return eup(c.eup_interval);
    case Latency::EupLong:
      return eup(c.eup_interval * static_cast<double>(c.eup_long_intervals));
    case Latency::XluTranspose:
      return whole(Holds::Transposer, static_cast<int>(c.xlu_transpose_interval));
    default:
      return {};
  }
}

int result_queue_entries(const Chip& c) {
  return static_cast<int>(c.mxu_result_rows * c.mxu_dim / (kSublanes * kLanes));
}

int results_of(const Chip& c, int rows) {
  return (rows + 7) / 8 * static_cast<int>((c.mxu_dim + 127) / 128);
}

int result_delay(const Chip& c, const Inst& mxm, int i) {
  const int block = i / static_cast<int>((c.mxu_dim + 127) / 128);
  const int rows = std::min(mxm.a[2], 8 * (block + 1));
  return ceil_div(rows, row_rate(c, mxm.op)) + static_cast<int>(c.mxu_latency);
}

bool has(const Chip& c, Feature f) {
  switch (f) {
    case Feature::Base:
      return true;
    case Feature::Bf16Valu:
      return c.bf16_valu;
    case Feature::Bf16Eup:
      return c.bf16_eup;
    case Feature::Int8Mxu:
      return c.mxu_int8_rate > 0;
    case Feature::MxuAcc:
      return c.mxu_accumulates;
    case Feature::Int8MxuAcc:
      return c.mxu_accumulates && c.mxu_int8_rate > 0;
  }
  return false;
}

}  // namespace tenfold::tpu
