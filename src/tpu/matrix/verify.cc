// What the simulator may rely on: every number of a program within its memory.
#include "fmt/format.h"
#include "tpu/matrix/isa.h"

namespace tenfold::tpu::matrix {

namespace {

constexpr int64_t kHuge = int64_t{1} << 40;  // no product of a few of these overflows in double

class Checker {
 public:
  Checker(const Program& p, int64_t buffer, int64_t rows, int64_t dim)
      : p_(p), buffer_(buffer), rows_(rows), dim_(dim) {}

  Status run() {
    if (p_.buffer_bytes < 0 || p_.buffer_bytes > buffer_ || p_.host_bytes < 0) {
      return Error{"matrix-memory",
                   fmt::format("the program uses {} bytes of the unified buffer, the chip has {}; "
                               "use a smaller batch or image",
                               p_.buffer_bytes, buffer_),
                   {},
                   {}};
    }
    each("window", p_.windows, [&](const Window& w) { return window(w); });
    each("tile", p_.tiles, [&](const Tile& t) { return tile(t); });
    each("activation", p_.activations, [&](const Activation& a) {
      return a.bias >= -1 && a.scale >= -1 && small(a.zero) && small(a.low) && small(a.high);
    });
    each("view", p_.views, [&](const View& v) { return view(v); });
    each("pool", p_.pools, [&](const Pool& q) { return pool(q); });
    each("instruction", p_.insts, [&](const Inst& i) { return inst(i); });
    for (const Range& r : p_.ranges) {
      if (r.first > r.end || r.end > p_.insts.size()) bad_ = "a .range ends outside the program";
    }
    if (!bad_.empty()) return Error{"matrix-illegal", bad_ + "; correct the program", {}, {}};
    return ok_status();
  }

 private:
  template <class List, class Fn>
  void each(std::string_view what, const List& list, Fn&& fine) {
    for (size_t i = 0; i < list.size() && bad_.empty(); ++i) {
      if (!fine(list[i])) bad_ = fmt::format("{} {}{} is out of bounds", what, i, detail_);
      detail_.clear();
    }
  }
  static bool small(int64_t v) { return v >= -255 && v <= 255; }
  static bool counts(std::initializer_list<int64_t> v) {
    double product = 1;
    for (const int64_t x : v) {
      if (x < 1 || x > kHuge) return false;
      product *= static_cast<double>(x);
    }
    return product < 1e15;
  }
  // [first, first + bytes) of the buffer.
  bool inside(double first, double bytes) const {
    return first >= 0 && bytes >= 0 && first + bytes <= static_cast<double>(p_.buffer_bytes);
  }
  bool in_data(int64_t at, int64_t bytes) const {
    return at >= 0 && bytes >= 0 && at <= static_cast<int64_t>(p_.data.size()) - bytes;
  }
  template <class List>
  static bool index(const List& l, int64_t i) {
    return i >= 0 && i < static_cast<int64_t>(l.size());
  }
  static int64_t pixels(const Window& w) { return w.batch * w.height * w.width; }

  bool window(const Window& w) const {
    return counts({w.batch, w.height, w.width}) && w.pixel_stride >= 0 && w.pixel_stride < kHuge &&
           counts({w.batch, w.out_height, w.out_width}) &&
           counts({w.kernel_height, w.kernel_width}) &&
           counts({w.stride_y, w.stride_x, w.dilation_y, w.dilation_x}) && w.pad_y >= 0 &&
           w.pad_x >= 0 && w.pad_y < kHuge && w.pad_x < kHuge && small(w.zero) && w.buffer >= 0 &&
           counts({w.out_height, w.stride_y}) && counts({w.kernel_height, w.dilation_y});
  }
  // Channels [channel, channel + channels) of every pixel lie in the buffer.
  bool reach(const Window& w, int64_t channel, int64_t channels) const {
    return channel >= 0 && channels >= 0 &&
           inside(static_cast<double>(w.buffer),
                  static_cast<double>(pixels(w) - 1) * static_cast<double>(w.pixel_stride) +
                      static_cast<double>(channel + channels));
  }
  bool tile(const Tile& t) const {
    if (t.k < 1 || t.k > dim_ || t.n < 1 || t.n > dim_ || t.first_k < 0 || t.channels < 1 ||
        t.channel < 0 || t.row_stride < 0 || t.row_stride > kHuge || t.channels > kHuge ||
        t.channel > kHuge || t.first_k > kHuge) {
      return false;
    }
    return t.data == -1 || in_data(t.data, (t.k - 1) * t.row_stride + t.n);
  }
  bool view(const View& v) const {
    double elements = 1, from = 1, from2 = 1, to = 1;
    for (size_t d = 0; d < 6; ++d) {
      if (v.count[d] < 1 || v.stride[d] < 0 || v.stride2[d] < 0 || v.to_stride[d] < 0) return false;
      const auto last = static_cast<double>(v.count[d] - 1);
      elements *= static_cast<double>(v.count[d]);
      from += last * static_cast<double>(v.stride[d]);
      from2 += last * static_cast<double>(v.stride2[d]);
      to += last * static_cast<double>(v.to_stride[d]);
    }
    if (elements > 1e12 || v.fill < -128 || v.fill > 256) return false;
    if (v.table != -1 && !in_data(v.table, v.from2 >= 0 ? 65536 : 256)) return false;
    if (v.fill == 256 && !inside(static_cast<double>(v.from), from)) return false;
    if (v.from2 >= 0 && !inside(static_cast<double>(v.from2), from2)) return false;
    return inside(static_cast<double>(v.to), to);
  }
  bool pool(const Pool& q) const {
    if (!index(p_.windows, q.window) || q.channels < 1 || q.to_stride < 0) return false;
    const Window& w = p_.windows[static_cast<size_t>(q.window)];
    return reach(w, 0, q.channels) && small(q.zero) && small(q.out_zero) && small(q.low) &&
           small(q.high) &&
           inside(static_cast<double>(q.to),
                  static_cast<double>(w.rows() - 1) * static_cast<double>(q.to_stride) +
                      static_cast<double>(q.channels));
  }
  bool copy(int64_t host, int64_t buffer, int64_t bytes) const {
    return bytes >= 0 && host >= 0 && buffer >= 0 && bytes <= p_.host_bytes &&
           host <= p_.host_bytes - bytes && bytes <= p_.buffer_bytes &&
           buffer <= p_.buffer_bytes - bytes;
  }
  bool inst(const Inst& i) {
    detail_ = fmt::format(" ({})", info(i.op).mnemonic);
    const auto& a = i.a;
    switch (i.op) {
      case Opcode::ReadHost:
        return copy(a[0], a[1], a[2]);
      case Opcode::WriteHost:
        return copy(a[1], a[0], a[2]);
      case Opcode::ReadWeights:
        if (!index(p_.tiles, a[0])) return false;
        queued_.push_back(a[0]);
        return true;
      case Opcode::Multiply: {
        if (!index(p_.windows, a[0]) || a[4] < 0 || a[4] > 3) return false;
        if ((a[4] & kLoad) != 0) {
          if (taken_ == queued_.size()) {
            detail_ += ": it takes weights that no instruction before it reads, so it";
            return false;
          }
          current_ = queued_[taken_++];
        }
        if (current_ < 0) return false;
        const Window& w = p_.windows[static_cast<size_t>(a[0])];
        const Tile& t = p_.tiles[static_cast<size_t>(current_)];
        return a[1] >= 0 && a[2] >= 1 && a[2] <= w.rows() && a[1] <= w.rows() - a[2] && a[3] >= 0 &&
               a[2] <= rows_ && a[3] <= rows_ - a[2] && reach(w, t.channel, t.channels) &&
               t.first_k + t.k <= w.kernel_height * w.kernel_width * t.channels;
      }
      case Opcode::Activate: {
        if (!index(p_.activations, a[3]) || a[2] < 1 || a[2] > dim_ || a[4] < 0 || a[1] < 1 ||
            a[1] > rows_ || a[0] < 0 || a[0] > rows_ - a[1] || a[6] < 0) {
          return false;
        }
        const Activation& f = p_.activations[static_cast<size_t>(a[3])];
        for (const int64_t at : {f.bias, f.scale}) {
          if (at >= 0 && !in_data(at, (a[4] + a[2]) * 4)) return false;
        }
        return inside(
            static_cast<double>(a[5]),
            static_cast<double>(a[1] - 1) * static_cast<double>(a[6]) + static_cast<double>(a[2]));
      }
      case Opcode::Map:
        return index(p_.views, a[0]);
      case Opcode::Pool:
        return index(p_.pools, a[0]);
      case Opcode::HostStep:
        return index(p_.steps, a[0]);
      default:
        return true;
    }
  }

  const Program& p_;
  int64_t buffer_, rows_, dim_;
  std::string bad_, detail_;
  std::vector<int64_t> queued_;  // tiles read so far
  size_t taken_ = 0;
  int64_t current_ = -1;
};

}  // namespace

Status verify(const Program& p, int64_t buffer_bytes, int64_t accumulator_rows, int64_t dim) {
  return Checker(p, buffer_bytes, accumulator_rows, dim).run();
}

}  // namespace tenfold::tpu::matrix
