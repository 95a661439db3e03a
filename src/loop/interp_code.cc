// Execution of the interpreter's instructions. Each ends by calling the next one in tail position
// where the compiler guarantees it (threaded code), else returns to a small driver loop.
#include "loop/interp_code.h"

#include <cmath>
#include <cstring>

#if defined(__clang__)
#define TF_NEXT(p)         \
  const Insn* next_ = (p); \
  [[clang::musttail]] return next_->fn(next_, f)
#else
#define TF_NEXT(p) return (p)
#endif

namespace tenfold::loop::interp {

namespace {

constexpr int64_t kMaxAllocBytes = int64_t{1} << 34;

template <class T>
T get(const Frame* f, uint32_t r) {
  T v;
  std::memcpy(&v, f->r[r].raw, sizeof v);
  return v;
}
template <class T>
void set(Frame* f, uint32_t r, T v) {
  std::memcpy(f->r[r].raw, &v, sizeof v);
}

std::string dims_text(const std::vector<int64_t>& d) {
  std::string s = "[";
  for (size_t i = 0; i < d.size(); ++i) s += (i ? ", " : "") + std::to_string(d[i]);
  return s + "]";
}

[[gnu::cold, gnu::noinline]] const Insn* fail(Frame* f, std::string message) {
  std::string vars;
  for (const auto& [n, r] : f->program->var_names)
    vars += (vars.empty() ? "" : ", ") + n + " = " + std::to_string(f->r[r].i);
  f->error = std::move(message) + (vars.empty() ? "" : " (variables: " + vars + ")");
  return nullptr;
}

[[gnu::cold, gnu::noinline]] const Insn* bad_index(Frame* f, const Access* a, bool store) {
  std::vector<int64_t> index;
  for (uint32_t r : a->index) index.push_back(f->r[r].i);
  return fail(f, std::string(store ? "store to " : "load of ") + a->buffer->def->name +
                     dims_text(index) + " is outside its shape " + dims_text(a->buffer->dims));
}

[[gnu::cold, gnu::noinline]] const Insn* uninitialised(Frame* f, const Access* a) {
  std::vector<int64_t> index;
  for (uint32_t r : a->index) index.push_back(f->r[r].i);
  return fail(
      f, "load of " + a->buffer->def->name + dims_text(index) + " reads memory that nothing wrote");
}

[[gnu::cold, gnu::noinline]] const Insn* any_order(Frame* f, const Access* a, bool store) {
  std::vector<int64_t> index;
  for (uint32_t r : a->index) index.push_back(f->r[r].i);
  return fail(f, std::string(store ? "store to " : "load of ") + a->buffer->def->name +
                     dims_text(index) +
                     " meets another iteration's access in a loop that is marked independent");
}

inline bool locate(const Frame* f, const Access* a, size_t* flat) {
  const BufferState& b = *a->buffer;
  const uint32_t* regs = a->index.data();
  const int64_t* dims = b.dims.data();
  uint64_t o = 0;
  for (size_t k = 0, n = a->index.size(); k < n; ++k) {
    const uint64_t i = static_cast<uint64_t>(f->r[regs[k]].i);
    const uint64_t d = static_cast<uint64_t>(dims[k]);
    if (i >= d) return false;
    o = o * d + i;
  }
  *flat = o;
  return true;
}

template <int N, bool Param>
const Insn* exec_load(const Insn* pc, Frame* f) {
  const Access* a = static_cast<const Access*>(pc->ptr);
  size_t o = 0;
  if (!a->buffer->data || !locate(f, a, &o)) [[unlikely]]
    return bad_index(f, a, false);
  if constexpr (!Param) {
    uint8_t ones[N];
    std::memset(ones, 1, N);
    if (a->buffer->written && std::memcmp(a->buffer->written + o * N, ones, N) != 0) [[unlikely]]
      return uninitialised(f, a);
  }
  std::memcpy(f->r[pc->dst].raw, a->buffer->data + o * N, N);
  TF_NEXT(pc + 1);
}

template <int N, bool Param>
const Insn* exec_store(const Insn* pc, Frame* f) {
  const Access* a = static_cast<const Access*>(pc->ptr);
  size_t o = 0;
  if (!a->buffer->data || !locate(f, a, &o)) [[unlikely]]
    return bad_index(f, a, true);
  if constexpr (!Param)
    if (a->buffer->written) std::memset(a->buffer->written + o * N, 1, N);
  std::memcpy(a->buffer->data + o * N, f->r[pc->a].raw, N);
  TF_NEXT(pc + 1);
}

// --- arithmetic with fast paths -----------------------------------------------------------------

template <class T>
using Wide = std::conditional_t<std::is_floating_point_v<T>, std::type_identity<T>,
                                std::make_unsigned<T>>::type;
struct Add {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Wide<T>>(a) + static_cast<Wide<T>>(b));
  }
};
struct Sub {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Wide<T>>(a) - static_cast<Wide<T>>(b));
  }
};
struct Mul {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>)
      return a * b;
    else
      return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  }
};
struct Quot {
  template <class T>
  T operator()(T a, T b) const {
    return a / b;
  }
};
struct Max {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (a != a) return a;
      if (b != b) return b;
      if (a == b) return std::signbit(a) ? b : a;
    }
    return a > b ? a : b;
  }
};
struct Min {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (a != a) return a;
      if (b != b) return b;
      if (a == b) return std::signbit(a) ? a : b;
    }
    return a < b ? a : b;
  }
};
struct Lt {
  template <class T>
  bool operator()(T a, T b) const {
    return a < b;
  }
};
struct Le {
  template <class T>
  bool operator()(T a, T b) const {
    return a <= b;
  }
};
struct Gt {
  template <class T>
  bool operator()(T a, T b) const {
    return a > b;
  }
};
struct Ge {
  template <class T>
  bool operator()(T a, T b) const {
    return a >= b;
  }
};
struct Eq {
  template <class T>
  bool operator()(T a, T b) const {
    return a == b;
  }
};
struct Ne {
  template <class T>
  bool operator()(T a, T b) const {
    return a != b;
  }
};
struct And {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};

template <class T, class F>
const Insn* exec_binary(const Insn* pc, Frame* f) {
  set(f, pc->dst, F{}(get<T>(f, pc->a), get<T>(f, pc->b)));
  TF_NEXT(pc + 1);
}

template <class T>
const Insn* exec_select(const Insn* pc, Frame* f) {
  f->r[pc->dst] = f->r[get<uint8_t>(f, pc->a) ? pc->b : pc->c];
  TF_NEXT(pc + 1);
}

template <class T>
const Insn* exec_neg(const Insn* pc, Frame* f) {
  set(f, pc->dst, -get<T>(f, pc->a));
  TF_NEXT(pc + 1);
}

const Insn* exec_not(const Insn* pc, Frame* f) {
  set<uint8_t>(f, pc->dst, get<uint8_t>(f, pc->a) ? 0 : 1);
  TF_NEXT(pc + 1);
}

template <bool Mod>
const Insn* exec_floor_div(const Insn* pc, Frame* f) {
  const int64_t a = f->r[pc->a].i, b = f->r[pc->b].i;
  if (b > 0) [[likely]] {
    int64_t q = a / b, m = a % b;
    if (m < 0) --q, m += b;
    f->r[pc->dst].i = Mod ? m : q;
  } else {
    const void* args[2] = {&a, &b};
    const int64_t strides[2] = {0, 0};
    apply(Mod ? Prim::FloorMod : Prim::FloorDiv, DType::I64, args, strides, f->r[pc->dst].raw, 1);
  }
  TF_NEXT(pc + 1);
}

template <class T>
Fn number_op(Prim p) {
  switch (p) {
    case Prim::Add:
      return exec_binary<T, Add>;
    case Prim::Sub:
      return exec_binary<T, Sub>;
    case Prim::Mul:
      return exec_binary<T, Mul>;
    case Prim::Max:
      return exec_binary<T, Max>;
    case Prim::Min:
      return exec_binary<T, Min>;
    case Prim::Lt:
      return exec_binary<T, Lt>;
    case Prim::Le:
      return exec_binary<T, Le>;
    case Prim::Gt:
      return exec_binary<T, Gt>;
    case Prim::Ge:
      return exec_binary<T, Ge>;
    case Prim::Eq:
      return exec_binary<T, Eq>;
    case Prim::Ne:
      return exec_binary<T, Ne>;
    default:
      break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (p == Prim::Div) return exec_binary<T, Quot>;
    if (p == Prim::Neg) return exec_neg<T>;
  } else {
    if (p == Prim::And) return exec_binary<T, And>;
    if (p == Prim::Or) return exec_binary<T, Or>;
  }
  return nullptr;
}

template <class From, class To>
const Insn* exec_convert(const Insn* pc, Frame* f) {
  set(f, pc->dst, static_cast<To>(get<From>(f, pc->a)));
  TF_NEXT(pc + 1);
}

template <class From>
Fn convert_from(DType to) {
  constexpr bool from_float = std::is_floating_point_v<From>;
  switch (to) {
    case DType::F32:
      return exec_convert<From, float>;
    case DType::F64:
      return exec_convert<From, double>;
    case DType::I8:
      return from_float ? nullptr : exec_convert<From, int8_t>;
    case DType::I16:
      return from_float ? nullptr : exec_convert<From, int16_t>;
    case DType::I32:
      return from_float ? nullptr : exec_convert<From, int32_t>;
    case DType::I64:
      return from_float ? nullptr : exec_convert<From, int64_t>;
    case DType::U8:
      return from_float ? nullptr : exec_convert<From, uint8_t>;
    case DType::U16:
      return from_float ? nullptr : exec_convert<From, uint16_t>;
    case DType::U32:
      return from_float ? nullptr : exec_convert<From, uint32_t>;
    case DType::U64:
      return from_float ? nullptr : exec_convert<From, uint64_t>;
    default:
      return nullptr;
  }
}

bool shape_of(Frame* f, BufferState* b, size_t* elements) {
  b->dims.clear();
  int64_t n = 1;
  for (uint32_t r : b->dim_regs) {
    const int64_t d = f->r[r].i;
    b->dims.push_back(d);
    if (d < 0 || __builtin_mul_overflow(n, d, &n) || n > kMaxAllocBytes) return false;
  }
  *elements = static_cast<size_t>(n);
  return true;
}

}  // namespace

Fn fast_op(Prim p, DType t) {
  if (p == Prim::Select) return exec_select<Reg>;
  switch (t) {
    case DType::F32:
      return number_op<float>(p);
    case DType::F64:
      return number_op<double>(p);
    case DType::I64:
      if (p == Prim::FloorDiv) return exec_floor_div<false>;
      if (p == Prim::FloorMod) return exec_floor_div<true>;
      return number_op<int64_t>(p);
    case DType::I32:
      return number_op<int32_t>(p);
    case DType::I16:
      return number_op<int16_t>(p);
    case DType::I8:
      return number_op<int8_t>(p);
    case DType::U64:
      return number_op<uint64_t>(p);
    case DType::U32:
      return number_op<uint32_t>(p);
    case DType::U16:
      return number_op<uint16_t>(p);
    case DType::U8:
      return number_op<uint8_t>(p);
    case DType::Bool:
      if (p == Prim::And) return exec_binary<uint8_t, And>;
      if (p == Prim::Or) return exec_binary<uint8_t, Or>;
      if (p == Prim::Not) return exec_not;
      return nullptr;
    default:
      return nullptr;
  }
}

Fn fast_cast(DType from, DType to) {
  switch (from) {
    case DType::F32:
      return convert_from<float>(to);
    case DType::F64:
      return convert_from<double>(to);
    case DType::I8:
      return convert_from<int8_t>(to);
    case DType::I16:
      return convert_from<int16_t>(to);
    case DType::I32:
      return convert_from<int32_t>(to);
    case DType::I64:
      return convert_from<int64_t>(to);
    case DType::Bool:
    case DType::U8:
      return convert_from<uint8_t>(to);
    case DType::U16:
      return convert_from<uint16_t>(to);
    case DType::U32:
      return convert_from<uint32_t>(to);
    case DType::U64:
      return convert_from<uint64_t>(to);
    default:
      return nullptr;
  }
}

Fn load_fn(int bytes, bool param) {
  switch (bytes) {
    case 1:
      return param ? exec_load<1, true> : exec_load<1, false>;
    case 2:
      return param ? exec_load<2, true> : exec_load<2, false>;
    case 4:
      return param ? exec_load<4, true> : exec_load<4, false>;
    case 8:
      return param ? exec_load<8, true> : exec_load<8, false>;
    default:
      return param ? exec_load<16, true> : exec_load<16, false>;
  }
}

Fn store_fn(int bytes, bool param) {
  switch (bytes) {
    case 1:
      return param ? exec_store<1, true> : exec_store<1, false>;
    case 2:
      return param ? exec_store<2, true> : exec_store<2, false>;
    case 4:
      return param ? exec_store<4, true> : exec_store<4, false>;
    case 8:
      return param ? exec_store<8, true> : exec_store<8, false>;
    default:
      return param ? exec_store<16, true> : exec_store<16, false>;
  }
}

const Insn* exec_end(const Insn*, Frame*) { return nullptr; }

const Insn* exec_apply(const Insn* pc, Frame* f) {
  const void* args[3] = {f->r[pc->a].raw, f->r[pc->b].raw, f->r[pc->c].raw};
  const int64_t strides[3] = {0, 0, 0};
  apply(static_cast<Prim>(pc->target & 0xff), static_cast<DType>(pc->target >> 8), args, strides,
        f->r[pc->dst].raw, 1);
  TF_NEXT(pc + 1);
}

const Insn* exec_cast(const Insn* pc, Frame* f) {
  tenfold::cast(static_cast<DType>(pc->target & 0xff), static_cast<DType>(pc->target >> 8),
                f->r[pc->a].raw, f->r[pc->dst].raw, 1);
  TF_NEXT(pc + 1);
}

const Insn* exec_move(const Insn* pc, Frame* f) {
  f->r[pc->dst] = f->r[pc->a];
  TF_NEXT(pc + 1);
}

// A sub-byte value's unused bits follow its type: sign for signed, else zero.
const Insn* exec_bitcast_narrow(const Insn* pc, Frame* f) {
  const DType t = static_cast<DType>(pc->target);
  const int bits = bit_width(t);
  uint8_t v = get<uint8_t>(f, pc->a) & static_cast<uint8_t>((1 << bits) - 1);
  if (is_signed(t) && (v >> (bits - 1))) v |= static_cast<uint8_t>(0xff << bits);
  set(f, pc->dst, v);
  TF_NEXT(pc + 1);
}

const Insn* exec_jump(const Insn* pc, Frame* f) { TF_NEXT(pc + pc->target); }

const Insn* exec_jump_if_not(const Insn* pc, Frame* f) {
  TF_NEXT(get<uint8_t>(f, pc->a) ? pc + 1 : pc + pc->target);
}

const Insn* exec_for_begin(const Insn* pc, Frame* f) {
  const int64_t begin = f->r[pc->a].i, extent = f->r[pc->b].i;
  f->r[pc->dst].i = begin;
  f->r[pc->c].i = begin + extent;
  TF_NEXT(extent > 0 ? pc + 1 : pc + pc->target);
}

const Insn* exec_for_next(const Insn* pc, Frame* f) {
  TF_NEXT(++f->r[pc->dst].i < f->r[pc->a].i ? pc + pc->target : pc + 1);
}

const Insn* exec_enter_loop(const Insn* pc, Frame* f) {
  f->program->order.enter_loop();
  TF_NEXT(pc + 1);
}
const Insn* exec_next_iteration(const Insn* pc, Frame* f) {
  f->program->order.next_iteration();
  TF_NEXT(pc + 1);
}
const Insn* exec_leave_loop(const Insn* pc, Frame* f) {
  f->program->order.leave_loop();
  TF_NEXT(pc + 1);
}

namespace {
template <bool Store>
const Insn* note(const Insn* pc, Frame* f) {
  const Access* a = static_cast<const Access*>(pc->ptr);
  size_t o = 0;
  // A bad index is the access's own to report.
  if (a->buffer->data && locate(f, a, &o)) {
    const int n = a->buffer->element;
    if (!f->program->order.access(a->buffer->data + o * static_cast<size_t>(n), n, Store)) {
      return any_order(f, a, Store);
    }
  }
  TF_NEXT(pc + 1);
}
}  // namespace
const Insn* exec_note_load(const Insn* pc, Frame* f) { return note<false>(pc, f); }
const Insn* exec_note_store(const Insn* pc, Frame* f) { return note<true>(pc, f); }

const Insn* exec_bind_param(const Insn* pc, Frame* f) {
  BufferState* b = static_cast<BufferState*>(pc->ptr);
  const Program::Param& p = f->program->params[static_cast<size_t>(b->param)];
  size_t n = 0;
  if (!shape_of(f, b, &n)) return fail(f, "parameter " + b->def->name + " has no valid shape");
  if (p.literal->dtype() != b->def->dtype || p.literal->dims() != b->dims)
    return fail(f, "parameter " + b->def->name + " is " + std::string(name(b->def->dtype)) +
                       dims_text(b->dims) + ", the buffer given " +
                       std::string(name(p.literal->dtype())) + dims_text(p.literal->dims()));
  b->data = p.written ? p.literal->mutable_bytes() : const_cast<std::byte*>(p.literal->bytes());
  b->bytes = n * static_cast<size_t>(b->element);
  static std::byte nothing[16];
  if (!b->data) b->data = nothing;  // no elements
  TF_NEXT(pc + 1);
}

const Insn* exec_bind_alias(const Insn* pc, Frame* f) {
  BufferState* b = static_cast<BufferState*>(pc->ptr);
  size_t n = 0;
  if (!shape_of(f, b, &n)) return fail(f, "buffer " + b->def->name + " has no valid shape");
  b->bytes = n * static_cast<size_t>(b->element);
  if (b->bytes > b->base->bytes)
    return fail(f, "alias " + b->def->name + dims_text(b->dims) + " is larger than " +
                       b->base->def->name + dims_text(b->base->dims));
  b->data = b->base->data;
  b->written = b->base->written;
  TF_NEXT(pc + 1);
}

const Insn* exec_alloc(const Insn* pc, Frame* f) {
  BufferState* b = static_cast<BufferState*>(pc->ptr);
  size_t n = 0;
  if (!shape_of(f, b, &n))
    return fail(f, "buffer " + b->def->name + dims_text(b->dims) + " has no valid shape");
  b->bytes = n * static_cast<size_t>(b->element);
  if (b->memory.size() < b->bytes + 1) {
    b->memory.resize(b->bytes + 1);
    b->shadow.resize(b->bytes + 1);
  }
  std::memset(b->shadow.data(), 0, b->bytes);
  f->program->order.forget(b->memory.data(), b->bytes);
  b->data = b->memory.data();
  b->written = b->shadow.data();
  TF_NEXT(pc + 1);
}

std::string execute(Program& p) {
  Frame f{p.regs.data(), &p, {}};
  const Insn* pc = p.code.data();
  while (pc) pc = pc->fn(pc, &f);
  return std::move(f.error);
}

}  // namespace tenfold::loop::interp
