#include <bit>
#include <limits>

#include "backends/tpu/code/kernel_code.h"

namespace tenfold::tpu::code {

Arg::Arg(int64_t i) : kind('i'), value(static_cast<int32_t>(i)) {
  // HBM rows use all 32 bits without a sign.
  TF_CHECK(i >= std::numeric_limits<int32_t>::min() && i <= std::numeric_limits<uint32_t>::max(),
           "number " + std::to_string(i) + " does not fit 32 bits");
}

int32_t Builder::reg(RegKind kind) {
  kernel_->regs.push_back(kind);
  return static_cast<int32_t>(kernel_->regs.size()) - 1;
}

RegionRef Builder::region(std::string name, Space space, uint32_t row, uint32_t rows) {
  kernel_->regions.push_back({std::move(name), space, row, rows});
  TF_CHECK(kernel_->regions.size() < 32768, "too many regions in one kernel");
  return {static_cast<int16_t>(kernel_->regions.size() - 1)};
}

Instr& Builder::push(Op op, int32_t dest, const std::vector<Arg>& args) {
  const OpInfo& o = info(op);
  Instr in;
  in.op = op;
  size_t next = 0;
  for (int i = 0; i < static_cast<int>(o.operands.size()); ++i) {
    const char k = o.operands[i];
    if (i == 0 && writes_register(k) && dest != kNoReg) {
      in.a[0] = dest;
      continue;
    }
    TF_CHECK(next < args.size(), std::string(o.mnemonic) + " has too few operands");
    const Arg& a = args[next++];
    const bool fits = is_vector(k)           ? a.kind == 'v'
                      : is_mask(k)           ? a.kind == 'm'
                      : k == 's' || k == 'B' ? a.kind == 's'
                      : k == 'x'             ? a.kind == 's' || a.kind == 'i'
                                             : a.kind == 'i';
    TF_CHECK(fits, "operand " + std::to_string(i) + " of " + std::string(o.mnemonic) + " wants " +
                       k + ", got " + a.kind);
    TF_CHECK(a.kind == 'i' || a.value != kNoReg, "operand without a value");
    in.a[i] = a.value;
    if (k == 'x' && a.kind == 'i') in.imm |= static_cast<uint8_t>(1u << i);
  }
  TF_CHECK(next == args.size(), std::string(o.mnemonic) + " has too many operands");
  block_->stmts.emplace_back(in);
  return std::get<Instr>(block_->stmts.back());
}

int32_t Builder::append(Op op, const std::vector<Arg>& args) {
  TF_CHECK(
      op != Op::Loop && op != Op::Jump && op != Op::JumpNz && op != Op::JumpZ && op != Op::Halt,
      "control flow is written as loops and ifs");
  const OpInfo& o = info(op);
  int32_t dest = kNoReg;
  if (!o.operands.empty() && writes_register(o.operands[0])) {
    dest = reg(o.operands[0] == 'V'   ? RegKind::Vector
               : o.operands[0] == 'M' ? RegKind::Mask
                                      : RegKind::Scalar);
  }
  push(op, dest, args);
  return dest;
}

Vector Builder::splat(float f) { return vec(Op::VSplat, std::bit_cast<int32_t>(f)); }

// The operands "row + number" of a load or store at `row` of region r: the region's own row goes
// into the number.
namespace {
struct Address {
  Arg base;
  int32_t offset;
};
Address address(const Region& r, Arg row) {
  if (row.kind == 'i') return {Arg(0), static_cast<int32_t>(r.row + row.value)};
  return {row, static_cast<int32_t>(r.row)};
}
}  // namespace

Vector Builder::load(RegionRef r, Arg row) {
  Address x = address(at(r), row);
  int32_t d = reg(RegKind::Vector);
  push(Op::VLd, d, {x.base, Arg(x.offset)}).region[0] = r.id;
  return {d};
}
Vector Builder::load_stride(RegionRef r, Arg row, int stride) {
  Address x = address(at(r), row);
  int32_t d = reg(RegKind::Vector);
  push(Op::VLdStride, d, {x.base, Arg(x.offset), stride}).region[0] = r.id;
  return {d};
}
Vector Builder::load_bcast(RegionRef r, Arg row) {
  Address x = address(at(r), row);
  int32_t d = reg(RegKind::Vector);
  push(Op::VLdBcast, d, {x.base, Arg(x.offset)}).region[0] = r.id;
  return {d};
}
Vector Builder::load_mask(RegionRef r, Arg row, Mask m) {
  Address x = address(at(r), row);
  int32_t d = reg(RegKind::Vector);
  push(Op::VLdMask, d, {x.base, Arg(x.offset), m}).region[0] = r.id;
  return {d};
}
void Builder::store(RegionRef r, Arg row, Vector v) {
  Address x = address(at(r), row);
  push(Op::VSt, kNoReg, {x.base, Arg(x.offset), v}).region[0] = r.id;
}
void Builder::store_stride(RegionRef r, Arg row, int stride, Vector v) {
  Address x = address(at(r), row);
  push(Op::VStStride, kNoReg, {x.base, Arg(x.offset), stride, v}).region[0] = r.id;
}
void Builder::store_mask(RegionRef r, Arg row, Vector v, Mask m) {
  Address x = address(at(r), row);
  push(Op::VStMask, kNoReg, {x.base, Arg(x.offset), v, m}).region[0] = r.id;
}
Scalar Builder::load_word(RegionRef r, Arg word) {
  Address x = address(at(r), word);
  int32_t d = reg(RegKind::Scalar);
  push(Op::SLd, d, {x.base, Arg(x.offset)}).region[0] = r.id;
  return {d, this};
}
void Builder::store_word(RegionRef r, Arg word, Arg value) {
  Address x = address(at(r), word);
  push(Op::SSt, kNoReg, {x.base, Arg(x.offset), value}).region[0] = r.id;
}

Arg Builder::absolute(RegionRef r, Arg row) {
  uint32_t base = at(r).row;
  if (row.kind == 'i') return Arg(static_cast<int32_t>(base + static_cast<uint32_t>(row.value)));
  if (!base) return row;
  return scl(Op::SAdd, row, Arg(static_cast<int32_t>(base)));
}

void Builder::dma(RegionRef from, Arg from_row, RegionRef to, Arg to_row, Arg semaphore,
                  DmaShape shape) {
  shape.from = at(from).space;
  shape.to = at(to).space;
  auto& shapes = kernel_->shapes;
  size_t s = 0;
  while (s < shapes.size() && !(shapes[s] == shape)) ++s;
  if (s == shapes.size()) shapes.push_back(shape);
  Arg f = absolute(from, from_row), t = absolute(to, to_row);
  push(Op::Dma, kNoReg, {f, t, semaphore, Arg(static_cast<int>(s))}).region = {from.id, to.id};
}

void Builder::wait(Arg semaphore, Arg n, std::vector<RegionRef> ready) {
  std::vector<int16_t> ids;
  for (RegionRef r : ready) ids.push_back(r.id);
  Instr& w = push(Op::Wait, kNoReg, {semaphore, n});
  if (ids.empty()) return;
  w.waits = static_cast<int32_t>(kernel_->waits.size());
  kernel_->waits.push_back(std::move(ids));
}

Loop* Builder::loop(Arg trips, const std::function<void(Scalar)>& f, std::string name) {
  TF_CHECK(trips.kind == 'i' || trips.kind == 's', "a loop's trips are a number or a scalar");
  auto l = std::make_unique<Loop>();
  l->name = std::move(name);
  if (trips.kind == 'i') {
    l->trips = trips.value;
  } else {
    l->trip_reg = trips.value;
  }
  l->index = reg(RegKind::Scalar);
  Loop* loop = l.get();
  Block* outer = block_;
  outer->stmts.emplace_back(std::move(l));
  block_ = &loop->body;
  f(Scalar{loop->index, this});
  block_ = outer;
  return loop;
}

void Builder::if_(Scalar cond, const std::function<void()>& then_body,
                  const std::function<void()>& else_body) {
  auto i = std::make_unique<If>();
  i->cond = cond.id;
  If* p = i.get();
  Block* outer = block_;
  outer->stmts.emplace_back(std::move(i));
  block_ = &p->then_body;
  then_body();
  block_ = &p->else_body;
  if (else_body) else_body();
  block_ = outer;
}

Scalar Builder::var(Scalar init) { return scl(Op::SMov, init); }
Vector Builder::var(Vector init) { return vec(Op::VMov, init); }
Mask Builder::var(Mask init) { return msk(Op::MOr, init, init); }
void Builder::set(Scalar var, Arg value) { push(Op::SMov, var.id, {value}); }
void Builder::set(Vector var, Vector value) { push(Op::VMov, var.id, {value}); }
void Builder::set(Mask var, Mask value) { push(Op::MOr, var.id, {value, value}); }

Scalar operator+(Scalar a, Arg b) {
  if (b.kind == 'i' && b.value == 0) return a;
  return a.b->scl(Op::SAdd, a, b);
}
Scalar operator-(Scalar a, Arg b) {
  if (b.kind == 'i' && b.value == 0) return a;
  return a.b->scl(Op::SSub, a, b);
}
Scalar operator*(Scalar a, Arg b) {
  if (b.kind == 'i' && b.value == 1) return a;
  return a.b->scl(Op::SMul, a, b);
}

}  // namespace tenfold::tpu::code
