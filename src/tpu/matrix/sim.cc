// See sim.h. Two independent halves: Values runs instructions, Timing prices them.
#include "tpu/matrix/sim.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>

#include "fmt/format.h"

namespace tenfold::tpu::matrix {

namespace {

size_t z(int64_t i) { return static_cast<size_t>(i); }

// ---- values -------------------------------------------------------------------------------------

class Values {
 public:
  Values(const Program& p, const Chip& chip, std::span<std::byte> host)
      : p_(p),
        dim_(chip.mxu_dim),
        host_(host),
        buffer_(z(p.buffer_bytes)),
        accumulators_(z(chip.accumulator_rows * chip.mxu_dim)) {}

  Status step(const Inst& i, const RunOptions& options) {
    switch (i.op) {
      case Opcode::ReadHost:
        std::memcpy(&buffer_[z(i.a[1])], &host_[z(i.a[0])], z(i.a[2]));
        break;
      case Opcode::WriteHost:
        std::memcpy(&host_[z(i.a[1])], &buffer_[z(i.a[0])], z(i.a[2]));
        break;
      case Opcode::ReadWeights:
        queue_.push_back(i.a[0]);
        break;
      case Opcode::Multiply:
        if ((i.a[4] & kLoad) != 0) {
          tile_ = queue_.front();
          queue_.pop_front();
        }
        multiply(p_.windows[z(i.a[0])], p_.tiles[z(tile_)], i.a[1], i.a[2], i.a[3],
                 (i.a[4] & kAdd) != 0);
        break;
      case Opcode::Activate:
        activate(i);
        break;
      case Opcode::Map:
        map(p_.views[z(i.a[0])]);
        break;
      case Opcode::Pool:
        pool(p_.pools[z(i.a[0])]);
        break;
      case Opcode::HostStep:
        if (options.on_host) return options.on_host(p_.steps[z(i.a[0])].id, host_);
        break;
      default:
        break;
    }
    return ok_status();
  }

 private:
  int value(uint8_t byte, bool is_signed) const {
    return is_signed ? static_cast<int8_t>(byte) : byte;
  }

  // Calls f(first value of the run, pixel or null outside the image, first channel, count) for the
  // runs of values first_k .. first_k + k of output position `row`.
  template <class Fn>
  void runs(const Window& w, int64_t row, int64_t first_k, int64_t k, int64_t channels, Fn&& f) {
    const int64_t x = row % w.out_width, y = row / w.out_width % w.out_height;
    const int64_t image = row / w.out_width / w.out_height;
    for (int64_t at = first_k; at < first_k + k;) {
      const int64_t tap = at / channels, channel = at % channels;
      const int64_t count = std::min(channels - channel, first_k + k - at);
      const int64_t iy = y * w.stride_y + tap / w.kernel_width * w.dilation_y - w.pad_y;
      const int64_t ix = x * w.stride_x + tap % w.kernel_width * w.dilation_x - w.pad_x;
      const bool inside = iy >= 0 && iy < w.height && ix >= 0 && ix < w.width;
      const int64_t pixel = ((image * w.height + iy) * w.width + ix) * w.pixel_stride;
      f(at - first_k, inside ? &buffer_[z(w.buffer + pixel)] : nullptr, channel, count);
      at += count;
    }
  }

  void multiply(const Window& w, const Tile& t, int64_t first, int64_t rows, int64_t accumulator,
                bool add) {
    std::vector<int32_t> weights(z(t.k * t.n));
    if (t.data >= 0) {
      for (int64_t k = 0; k < t.k; ++k) {
        for (int64_t n = 0; n < t.n; ++n) {
          weights[z(k * t.n + n)] = static_cast<int8_t>(p_.data[z(t.data + k * t.row_stride + n)]);
        }
      }
    }
    std::vector<int32_t> x(z(t.k));
    for (int64_t r = 0; r < rows; ++r) {
      runs(w, first + r, t.first_k, t.k, t.channels,
           [&](int64_t at, const uint8_t* pixel, int64_t channel, int64_t count) {
             for (int64_t c = 0; c < count; ++c) {
               x[z(at + c)] = pixel ? value(pixel[t.channel + channel + c], w.is_signed != 0)
                                    : static_cast<int32_t>(w.zero);
             }
           });
      int32_t* sum = &accumulators_[z((accumulator + r) * dim_)];
      if (!add) std::fill(sum, sum + t.n, 0);
      for (int64_t k = 0; k < t.k; ++k) {
        const int32_t v = x[z(k)];
        if (v == 0) continue;
        const int32_t* weight = &weights[z(k * t.n)];
        for (int64_t n = 0; n < t.n; ++n) sum[n] += v * weight[n];
      }
    }
  }

  void activate(const Inst& i) {
    const Activation& f = p_.activations[z(i.a[3])];
    for (int64_t r = 0; r < i.a[1]; ++r) {
      const int32_t* sum = &accumulators_[z((i.a[0] + r) * dim_)];
      uint8_t* out = &buffer_[z(i.a[5] + r * i.a[6])];
      for (int64_t c = 0; c < i.a[2]; ++c) {
        int32_t bias = 0;
        float scale = 1;
        if (f.bias >= 0) std::memcpy(&bias, &p_.data[z(f.bias + (i.a[4] + c) * 4)], 4);
        if (f.scale >= 0) std::memcpy(&scale, &p_.data[z(f.scale + (i.a[4] + c) * 4)], 4);
        const auto total =
            static_cast<int32_t>(static_cast<uint32_t>(sum[c]) + static_cast<uint32_t>(bias));
        out[c] = quantized(static_cast<float>(total) * scale, f.zero, f.low, f.high);
      }
    }
  }

  static uint8_t quantized(float v, int64_t zero, int64_t low, int64_t high) {
    const float r = std::nearbyint(v) + static_cast<float>(zero);
    const float c = std::max(std::min(r, static_cast<float>(high)), static_cast<float>(low));
    return static_cast<uint8_t>(static_cast<int>(c));
  }

  void map(const View& v) {
    std::array<int64_t, 6> i{};
    const int64_t inner = v.count[5];
    const auto* table =
        v.table < 0 ? nullptr : reinterpret_cast<const uint8_t*>(p_.data.data()) + v.table;
    do {
      int64_t from = v.from, from2 = v.from2, to = v.to;
      for (size_t d = 0; d < 5; ++d) {
        from += i[d] * v.stride[d];
        from2 += i[d] * v.stride2[d];
        to += i[d] * v.to_stride[d];
      }
      for (int64_t k = 0; k < inner; ++k) {
        uint8_t& out = buffer_[z(to + k * v.to_stride[5])];
        if (v.fill != 256) {
          out = static_cast<uint8_t>(v.fill);
          continue;
        }
        const uint8_t a = buffer_[z(from + k * v.stride[5])];
        if (v.from2 >= 0) {
          const uint8_t b = buffer_[z(from2 + k * v.stride2[5])];
          out = table ? table[a * 256 + b] : a;
        } else {
          out = table ? table[a] : a;
        }
      }
    } while (next(i, v.count));
  }
  static bool next(std::array<int64_t, 6>& i, const std::array<int64_t, 6>& count) {
    for (size_t d = 5; d-- > 0;) {
      if (++i[d] < count[d]) return true;
      i[d] = 0;
    }
    return false;
  }

  void pool(const Pool& q) {
    const Window& w = p_.windows[z(q.window)];
    const bool is_signed = w.is_signed != 0;
    std::vector<float> sum(z(q.channels));
    std::vector<int> best(z(q.channels));
    for (int64_t row = 0; row < w.rows(); ++row) {
      std::fill(sum.begin(), sum.end(), 0.0F);
      std::fill(best.begin(), best.end(), is_signed ? -128 : 0);
      int64_t inside = 0;
      runs(w, row, 0, w.kernel_height * w.kernel_width * q.channels, q.channels,
           [&](int64_t, const uint8_t* pixel, int64_t, int64_t) {
             if (!pixel) return;
             ++inside;
             for (int64_t c = 0; c < q.channels; ++c) {
               const int v = value(pixel[c], is_signed);
               best[z(c)] = std::max(best[z(c)], v);
               sum[z(c)] += static_cast<float>(v - q.zero) * q.scale;
             }
           });
      for (int64_t c = 0; c < q.channels; ++c) {
        uint8_t& out = buffer_[z(q.to + row * q.to_stride + c)];
        if (q.mean == 0) {
          out = static_cast<uint8_t>(best[z(c)]);
          continue;
        }
        const float divisor = q.divisor == 0 ? static_cast<float>(inside) : q.divisor;
        out = quantized(sum[z(c)] / divisor / q.out_scale, q.out_zero, q.low, q.high);
      }
    }
  }

  const Program& p_;
  int64_t dim_;
  std::span<std::byte> host_;
  std::vector<uint8_t> buffer_;
  std::vector<int32_t> accumulators_;
  std::deque<int64_t> queue_;
  int64_t tile_ = 0;
};

// ---- cycles -------------------------------------------------------------------------------------

constexpr int64_t kLine = 1024;  // bytes of the unified buffer that are followed together

class Timing {
 public:
  Timing(const Program& p, const Chip& chip) : p_(p), chip_(chip) {
    const size_t lines = z(p.buffer_bytes / kLine + 2);
    written_.resize(lines);
    read_.resize(lines);
    from_host_.resize(lines);
    sums_ready_.resize(z(chip.accumulator_rows));
    sums_free_.resize(z(chip.accumulator_rows));
    host_latency_ = cycles(chip.host_latency_us * chip.clock_mhz);
  }

  void step(const Inst& i, Stretch& s) {
    s_ = &s;
    const int64_t before = end_;
    ++issue_;
    earliest_ = issue_ + cycles(chip_.instruction_cycles);
    switch (i.op) {
      case Opcode::ReadHost:
        host_copy(i.a[1], i.a[2], true);
        break;
      case Opcode::WriteHost:
        host_copy(i.a[0], i.a[2], false);
        break;
      case Opcode::ReadWeights:
        read_weights(p_.tiles[z(i.a[0])]);
        break;
      case Opcode::Multiply:
        multiply(i);
        break;
      case Opcode::Activate: {
        int64_t ready = 0;
        for (int64_t r = i.a[0]; r < i.a[0] + i.a[1]; ++r)
          ready = std::max(ready, sums_ready_[z(r)]);
        const Span to{i.a[5], (i.a[1] - 1) * i.a[6] + i.a[2]};
        const int64_t finish =
            activation(std::max(ready, free_of(to)), i.a[1] * i.a[2], chip_.mxu_dim, i.a[1]);
        for (int64_t r = i.a[0]; r < i.a[0] + i.a[1]; ++r) sums_free_[z(r)] = finish;
        write(to, finish + chip_.activation_latency, false);
        break;
      }
      case Opcode::Map: {
        const View& v = p_.views[z(i.a[0])];
        const Span to{v.to, reach(v.count, v.to_stride)};
        const Span a{v.from, v.fill == 256 ? reach(v.count, v.stride) : 0};
        const Span b{v.from2, v.from2 >= 0 ? reach(v.count, v.stride2) : 0};
        const int64_t ready = std::max({free_of(to), ready_of(a), ready_of(b)});
        const int64_t finish = activation(ready, v.elements(), 0, 0);
        read(a, finish);
        read(b, finish);
        write(to, finish + chip_.activation_latency, false);
        break;
      }
      case Opcode::Pool: {
        const matrix::Pool& q = p_.pools[z(i.a[0])];
        const Window& w = p_.windows[z(q.window)];
        const Span from{w.buffer, (w.batch * w.height * w.width - 1) * w.pixel_stride + q.channels};
        const Span to{q.to, (w.rows() - 1) * q.to_stride + q.channels};
        // Every value that a window covers passes through the unit.
        const int64_t work = w.rows() * q.channels * w.kernel_height * w.kernel_width;
        const int64_t finish = activation(std::max(free_of(to), ready_of(from)), work, 0, 0);
        read(from, finish);
        write(to, finish + chip_.activation_latency, false);
        break;
      }
      case Opcode::HostStep:
        issue_ = std::max(issue_, end_);
        wait_all(issue_, Cause::Sync);
        issue_ += host_latency_;
        wait_all(issue_, Cause::Sync);
        end_ = std::max(end_, issue_);
        break;
      case Opcode::Sync:
        issue_ = std::max(issue_, end_);
        wait_all(issue_, Cause::Sync);
        break;
      default:
        break;
    }
    s.cycles += end_ - before;
  }

  int64_t finish(Stretch& last) {
    s_ = &last;
    wait_all(end_, Cause::Idle);
    return end_;
  }

 private:
  struct Span {
    int64_t at, bytes;
  };
  static int64_t cycles(double c) { return static_cast<int64_t>(std::ceil(c - 1e-9)); }
  static int64_t reach(const std::array<int64_t, 6>& count, const std::array<int64_t, 6>& stride) {
    int64_t bytes = 1;
    for (size_t d = 0; d < 6; ++d) bytes += (count[d] - 1) * stride[d];
    return bytes;
  }

  template <class Fn>
  static void lines(Span s, Fn&& f) {
    if (s.bytes <= 0) return;
    for (int64_t l = s.at / kLine; l <= (s.at + s.bytes - 1) / kLine; ++l) f(z(l));
  }
  int64_t ready_of(Span s) {  // all writes into it are done
    int64_t t = 0;
    host_waited_ = false;
    lines(s, [&](size_t l) {
      if (written_[l] > t) {
        t = written_[l];
        host_waited_ = from_host_[l] != 0;
      }
    });
    return t;
  }
  int64_t free_of(Span s) {  // and all reads of it
    int64_t t = 0;
    lines(s, [&](size_t l) { t = std::max({t, written_[l], read_[l]}); });
    return t;
  }
  void read(Span s, int64_t at) {
    lines(s, [&](size_t l) { read_[l] = std::max(read_[l], at); });
  }
  void write(Span s, int64_t at, bool host) {
    lines(s, [&](size_t l) {
      written_[l] = std::max(written_[l], at);
      from_host_[l] = host ? 1 : 0;
    });
  }

  void add(Unit u, Cause c, int64_t n) { s_->units[z(int64_t(u))][z(int64_t(c))] += n; }
  // The unit waits until `until` and the cycles have this cause.
  void wait(Unit u, int64_t until, Cause c) {
    int64_t& free = free_[z(int64_t(u))];
    if (until <= free) return;
    add(u, c, until - free);
    free = until;
  }
  void work(Unit u, int64_t n) {
    add(u, Cause::Compute, n);
    free_[z(int64_t(u))] += n;
    end_ = std::max(end_, free_[z(int64_t(u))]);
  }
  void wait_all(int64_t until, Cause c) {
    for (int u = 0; u < kNumUnits; ++u) wait(static_cast<Unit>(u), until, c);
  }

  void host_copy(int64_t buffer, int64_t bytes, bool in) {
    const Span s{buffer, bytes};
    const int64_t ready = in ? free_of(s) : ready_of(s);
    wait(Unit::Host, ready, Cause::Dependency);
    wait(Unit::Host, earliest_, Cause::Issue);
    wait(Unit::Host, free_[z(int64_t(Unit::Host))] + host_latency_, Cause::Memory);
    work(Unit::Host, cycles(static_cast<double>(bytes) / chip_.bytes_per_cycle(chip_.host_gbps)));
    s_->host_bytes += bytes;
    const int64_t done = free_[z(int64_t(Unit::Host))];
    in ? write(s, done, true) : read(s, done);
  }

  void read_weights(const Tile& t) {
    // The queue has room once the tile `weight_fifo_tiles` before this one has shifted in.
    if (static_cast<int64_t>(tiles_.size()) >= chip_.weight_fifo_tiles + taken_) {
      // Its multiply stands later in the program: nothing can wait for it, so the room is there
      // only in programs that queue more than the chip holds; they are priced as if it were.
    } else if (const int64_t before = static_cast<int64_t>(tiles_.size()) - chip_.weight_fifo_tiles;
               before >= 0) {
      wait(Unit::Dma, shifted_[z(before)], Cause::Dependency);
    }
    wait(Unit::Dma, earliest_, Cause::Issue);
    const int64_t bytes = t.k * t.n;
    // Cached weights come from memory on the chip, a row a cycle; others from the memory beside it,
    // or over the host's link, which host copies share.
    const bool over_host = t.cached == 0 && chip_.weight_gbps == 0;
    if (t.cached != 0) {
      work(Unit::Dma, cycles(static_cast<double>(t.k) / chip_.mxu_weight_rows_per_cycle));
    } else {
      if (over_host) wait(Unit::Dma, free_[z(int64_t(Unit::Host))], Cause::Memory);
      fraction_ += static_cast<double>(bytes) /
                   chip_.bytes_per_cycle(over_host ? chip_.host_gbps : chip_.weight_gbps);
      const auto whole = static_cast<int64_t>(fraction_);
      fraction_ -= static_cast<double>(whole);
      work(Unit::Dma, whole);
      s_->weight_bytes += bytes;
      if (over_host) s_->host_bytes += bytes;
    }
    tiles_.push_back({free_[z(int64_t(Unit::Dma))], &t});
  }

  void multiply(const Inst& i) {
    const Window& w = p_.windows[z(i.a[0])];
    const int64_t first = i.a[1], rows = i.a[2];
    constexpr Unit kMxu = Unit::Mxu;
    int64_t arrived = 0, shifted = 0;
    if ((i.a[4] & kLoad) != 0) {
      const auto& [at, tile] = tiles_[z(taken_++)];
      tile_ = tile;
      arrived = std::max({at, swapped_, earliest_});
      shifted = arrived + cycles(static_cast<double>(tile->k) / chip_.mxu_weight_rows_per_cycle);
      shifted_.push_back(shifted);
    }
    // Operands: the image rows that the windows cover, and accumulators nobody has still to read.
    const int64_t per_image = w.out_height * w.out_width;
    const int64_t last = first + rows - 1;
    const auto image_row = [&](int64_t row, int64_t tap_row) {
      const int64_t y = row / w.out_width % w.out_height;
      const int64_t iy = y * w.stride_y + tap_row * w.dilation_y - w.pad_y;
      return row / per_image * w.height + std::clamp<int64_t>(iy, 0, w.height - 1);
    };
    const int64_t a = image_row(first, 0) * w.width * w.pixel_stride;
    const int64_t b = (image_row(last, w.kernel_height - 1) + 1) * w.width * w.pixel_stride;
    const Span from{w.buffer, b};
    const Span needed{w.buffer + a, from.bytes - a};
    const int64_t operands = ready_of(needed);
    const bool host = host_waited_;
    int64_t sums = 0;
    for (int64_t r = i.a[3]; r < i.a[3] + rows; ++r) sums = std::max(sums, sums_free_[z(r)]);
    wait(kMxu, operands, host ? Cause::Memory : Cause::Dependency);
    wait(kMxu, sums, Cause::Dependency);
    wait(kMxu, arrived, Cause::WeightLoad);
    wait(kMxu, shifted, Cause::WeightShift);
    wait(kMxu, earliest_, Cause::Issue);
    swapped_ = free_[z(int64_t(kMxu))];
    work(kMxu, cycles(static_cast<double>(rows) / chip_.mxu_rows_per_cycle));
    const int64_t done = free_[z(int64_t(kMxu))];
    read(needed, done);
    for (int64_t r = i.a[3]; r < i.a[3] + rows; ++r) sums_ready_[z(r)] = done + chip_.mxu_latency;
    end_ = std::max(end_, done + chip_.mxu_latency);
    s_->useful_macs += rows * tile_->useful;
    s_->array_macs += rows * chip_.mxu_dim * chip_.mxu_dim;
  }

  // Starts when all is ready; `elements` values, or `rows` rows of accumulators of `width`.
  int64_t activation(int64_t ready, int64_t elements, int64_t width, int64_t rows) {
    wait(Unit::Activation, ready, Cause::Dependency);
    wait(Unit::Activation, earliest_, Cause::Issue);
    double n = static_cast<double>(elements) / chip_.activation_bytes_per_cycle;
    if (width > 0) n = std::max(n, static_cast<double>(rows));  // a row of accumulators a cycle
    work(Unit::Activation, cycles(n));
    return free_[z(int64_t(Unit::Activation))];
  }

  const Program& p_;
  const Chip& chip_;
  Stretch* s_ = nullptr;
  int64_t issue_ = 0, earliest_ = 0, end_ = 0, host_latency_ = 0;
  std::array<int64_t, kNumUnits> free_{};
  std::vector<int64_t> written_, read_;          // by line of the buffer: when the last one ended
  std::vector<uint8_t> from_host_;               // whose write that was
  std::vector<int64_t> sums_ready_, sums_free_;  // by row of accumulators
  std::vector<std::pair<int64_t, const Tile*>> tiles_;  // when each arrived in the queue
  std::vector<int64_t> shifted_;                        // when each had shifted in
  int64_t taken_ = 0, swapped_ = 0;
  const Tile* tile_ = nullptr;
  double fraction_ = 0;  // of a cycle, of copied weights
  bool host_waited_ = false;
};

void accumulate(Stretch& a, const Stretch& b) {
  a.cycles += b.cycles;
  for (size_t u = 0; u < a.units.size(); ++u) {
    for (size_t c = 0; c < a.units[u].size(); ++c) a.units[u][c] += b.units[u][c];
  }
  a.useful_macs += b.useful_macs;
  a.array_macs += b.array_macs;
  a.weight_bytes += b.weight_bytes;
  a.host_bytes += b.host_bytes;
}

}  // namespace

Result<Report> run(const Program& p, const Chip& chip, std::span<std::byte> host,
                   const RunOptions& options) {
  if (chip.family != Family::Matrix) {
    return Error{"tpu-family",
                 fmt::format("{} runs bundles, not matrix programs; choose v1 or edge", chip.name),
                 {},
                 {}};
  }
  TF_TRY(verify(p, chip.unified_buffer_bytes, chip.accumulator_rows, chip.mxu_dim));
  if (options.values && static_cast<int64_t>(host.size()) < p.host_bytes) {
    return Error{"matrix-memory",
                 fmt::format("given {} bytes of host memory, the program uses {}", host.size(),
                             p.host_bytes),
                 {},
                 {}};
  }
  Report report;
  Stretch outside;
  report.ranges.resize(p.ranges.size());
  Timing timing(p, chip);
  std::optional<Values> values;
  if (options.values) values.emplace(p, chip, host);
  size_t range = 0;
  for (size_t i = 0; i < p.insts.size() && p.insts[i].op != Opcode::Halt; ++i) {
    while (range < p.ranges.size() && p.ranges[range].end <= i) ++range;
    const bool in = range < p.ranges.size() && p.ranges[range].first <= i;
    timing.step(p.insts[i], in ? report.ranges[range] : outside);
    if (values) TF_TRY(values->step(p.insts[i], options));
  }
  timing.finish(outside);
  report.total = outside;
  for (const Stretch& s : report.ranges) accumulate(report.total, s);
  report.microseconds = chip.microseconds(static_cast<double>(report.total.cycles));
  return report;
}

}  // namespace tenfold::tpu::matrix
