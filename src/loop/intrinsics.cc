#include "loop/intrinsics.h"

namespace tenfold::loop {

namespace {

using Kind = ExprNode::Kind;

// The element `q` after a Load-shaped address, along the innermost dimension.
Expr element_after(const Expr& address, const Expr& q) {
  std::vector<Expr> index = address->args;
  index.back() = index.back() + q;
  return load(address->buffer, std::move(index));
}

Var loop_var(const char* name) { return std::make_shared<VarDef>(VarDef{name, DType::I64}); }

StmtPtr for_loop(Var v, int64_t extent) {
  auto s = std::make_unique<Stmt>();
  s->kind = Stmt::Kind::For;
  s->var = std::move(v);
  s->begin = int_const(0);
  s->extent = int_const(extent);
  return s;
}

StmtPtr store_to(const Expr& address, Expr value) {
  auto s = std::make_unique<Stmt>();
  s->kind = Stmt::Kind::Store;
  s->buffer = address->buffer;
  s->index = address->args;
  s->value = std::move(value);
  return s;
}

// for q in 0..4: acc = acc + i32(a[q]) * i32(b[q])
template <DType A, DType B>
Body dot4(const std::vector<Expr>& args) {
  if (args.size() != 3) return {};
  for (const Expr& a : args)
    if (a->kind != Kind::Load) return {};
  if (args[0]->dtype != DType::I32 || args[1]->dtype != A || args[2]->dtype != B ||
      args[1]->args.empty() || args[2]->args.empty())
    return {};
  const Var q = loop_var("dot4_q");
  StmtPtr l = for_loop(q, 4);
  const Expr x = cast(element_after(args[1], var_ref(q)), DType::I32);
  const Expr y = cast(element_after(args[2], var_ref(q)), DType::I32);
  l->body.push_back(store_to(args[0], args[0] + x * y));
  Body r;
  r.push_back(std::move(l));
  return r;
}

template <DType A, DType B>
Intrinsic::Pattern dot4_pattern() {
  auto buffer = [](const char* n, DType t, bool vector) {
    auto b = std::make_shared<BufferDef>();
    b->name = n;
    b->dtype = t;
    if (vector) b->shape = {int_const(4)};
    return b;
  };
  std::vector<Expr> args = {load(buffer("acc", DType::I32, false), {}),
                            load(buffer("a", A, true), {int_const(0)}),
                            load(buffer("b", B, true), {int_const(0)})};
  Body nest = dot4<A, B>(args);
  return {std::move(nest[0]), std::move(args)};
}

Body nothing(const std::vector<Expr>& args) {
  // An address only; reading nothing, it may even be out of bounds.
  if (args.size() != 1 || args[0]->kind != Kind::Load) return {};
  Body r;
  r.push_back(for_loop(loop_var("prefetch_q"), 0));
  return r;
}

constexpr Intrinsic kTable[] = {
    {"dot4_u8s8", "acc += sum of four products u8 * i8 in i32 (AVX-512 VNNI vpdpbusd)",
     dot4<DType::U8, DType::I8>, dot4_pattern<DType::U8, DType::I8>},
    {"dot4_s8s8", "acc += sum of four products i8 * i8 in i32 (Arm sdot)",
     dot4<DType::I8, DType::I8>, dot4_pattern<DType::I8, DType::I8>},
    {"dot4_u8u8", "acc += sum of four products u8 * u8 in i32 (Arm udot)",
     dot4<DType::U8, DType::U8>, dot4_pattern<DType::U8, DType::U8>},
    {"prefetch", "asks for the cache line of an address; no effect on values", nothing, nullptr},
};

}  // namespace

std::span<const Intrinsic> all_intrinsics() { return kTable; }

const Intrinsic* find_intrinsic(std::string_view name) {
  for (const Intrinsic& i : kTable)
    if (i.name == name) return &i;
  return nullptr;
}

}  // namespace tenfold::loop
