// Constructors: what folds, and what must not.
#include "loop/ir.h"

#include <gtest/gtest.h>

#include "loop/builder.h"
#include "loop/interp.h"

namespace tenfold::loop {
namespace {

Var v(const char* n, DType t = DType::I64) { return std::make_shared<VarDef>(VarDef{n, t}); }

TEST(LoopIr, IndexArithmeticFolds) {
  const Expr x = var_ref(v("x")), n = var_ref(v("n"));
  EXPECT_TRUE(same(x + int_const(0), x));
  EXPECT_TRUE(same(x * int_const(1), x));
  EXPECT_TRUE(same((x + 3) + 4, x + 7));
  EXPECT_TRUE(same((x + 3) - 3, x));
  EXPECT_TRUE(same(int_const(3) * x, x * 3));
  EXPECT_TRUE(same(idiv(x * 12, int_const(4)), x * 3));
  EXPECT_TRUE(same(imod(x * 12, int_const(4)), int_const(0)));
  EXPECT_TRUE(same(idiv(x * n, n), x));
  EXPECT_TRUE(same(idiv(idiv(x, int_const(3)), int_const(5)), idiv(x, int_const(15))));
  int64_t c = 0;
  EXPECT_TRUE(is_const(idiv(int_const(-7), int_const(2)), &c));
  EXPECT_EQ(c, -4);
  EXPECT_TRUE(is_const(imod(int_const(-7), int_const(2)), &c));
  EXPECT_EQ(c, 1);
  EXPECT_TRUE(is_const(lt(int_const(1), int_const(2)), &c));
  EXPECT_EQ(c, 1);
  EXPECT_TRUE(is_const(lt(x, x), &c));
  EXPECT_EQ(c, 0);
}

TEST(LoopIr, ConstantsOfEveryTypeFoldByThePrimitive) {
  const Expr e = op(Prim::Add, {int_const(200, DType::U8), int_const(100, DType::U8)});
  ASSERT_EQ(e->kind, ExprNode::Kind::Const);
  EXPECT_EQ(e->i, 44);
  const Expr f = op(Prim::Div, {float_const(1, DType::F32), float_const(3, DType::F32)});
  ASSERT_EQ(f->kind, ExprNode::Kind::Const);
  EXPECT_EQ(f->f, static_cast<double>(1.0f / 3.0f));
  const Expr b = float_const(1.0 / 3, DType::BF16);
  EXPECT_EQ(b->f, 0.333984375);
  const Expr s = cast(float_const(300.7, DType::F32), DType::I8);
  EXPECT_EQ(s->i, 127);
  EXPECT_EQ(bitcast(float_const(1, DType::F32), DType::I32)->i, 0x3f800000);
}

TEST(LoopIr, FloatArithmeticIsNotRewritten) {
  const Expr x = var_ref(v("x", DType::F32)), z = float_const(0, DType::F32);
  EXPECT_EQ((x + z)->kind, ExprNode::Kind::Op);  // -0 + 0 is 0
  EXPECT_EQ(op(Prim::Mul, {x, z})->kind, ExprNode::Kind::Op);
  EXPECT_EQ((x - x)->kind, ExprNode::Kind::Op);
  EXPECT_EQ(eq(x, x)->kind, ExprNode::Kind::Op);  // NaN
}

TEST(LoopIr, FromDimFollowsTheDim) {
  const Var n = v("n");
  const Dim d = floordiv(Dim::symbol("n") * 3 + 1, 2) + 5;
  const Expr e = from_dim(d, {n});
  int64_t c = 0;
  ASSERT_TRUE(is_const(substitute(e, {{n, int_const(4)}}), &c));
  EXPECT_EQ(c, 11);
}

TEST(LoopIr, SubstitutionKeepsSharing) {
  const Var x = v("x");
  Expr e = var_ref(x);
  for (int i = 0; i < 60; ++i) e = e + e;  // 2^60 nodes as a tree
  int64_t c = 0;
  ASSERT_TRUE(is_const(substitute(e, {{x, int_const(3)}}), &c));
  EXPECT_EQ(c, int64_t{3} << 60);
}

Kernel sum_kernel(int64_t n) {
  Kernel k;
  k.name = "sum";
  auto x = std::make_shared<BufferDef>(
      BufferDef{"x", DType::F32, {int_const(n)}, Scope::Param, 64, nullptr});
  auto y = std::make_shared<BufferDef>(BufferDef{"y", DType::F32, {}, Scope::Param, 64, nullptr});
  k.params = {x, y};
  k.param_written = {false, true};
  Builder b(&k);
  Buffer acc = b.cell("acc", float_const(0, DType::F32));
  b.for_("i", int_const(n), [&](Expr i) { b.set(acc, b.get(acc) + load(x, {i})); });
  b.store(y, {}, b.get(acc));
  return k;
}

TEST(LoopInterp, RunsAReduction) {
  const Kernel k = sum_kernel(4);
  const float in[] = {1, 2, 3, 4.5f};
  Literal x = Literal::from<float>(DType::F32, {4}, in), y(DType::F32, {});
  ASSERT_TRUE(interpret(k, {&x, &y}, {}).ok());
  EXPECT_EQ(y.data<float>()[0], 10.5f);
}

std::string interpret_error(const Kernel& k, std::vector<Literal*> b, std::vector<int64_t> s = {}) {
  Status r = interpret(k, std::move(b), s);
  return r.ok() ? "" : to_string(r.errors());
}

TEST(LoopInterp, RefusesIndicesOutsideAndMemoryNotWritten) {
  auto r = parse_kernel(
      "kernel k { param x: i32[4] written\n for i = 0 +: 5 { x[i] = cast<i32>(i) } }", "t");
  ASSERT_TRUE(r.ok()) << to_string(r.errors());
  Literal x(DType::I32, {4});
  EXPECT_NE(interpret_error(*r, {&x}).find("store to x[4] is outside its shape [4]"),
            std::string::npos);
  EXPECT_EQ(x.as_i64(3), 3);
  auto u = parse_kernel(
      "kernel k { param x: i32[4] written\n for i = 0 +: 4 { alloc t: i32[2] stack\n"
      " if i == 0 { t[1] = 7:i32 }\n x[i] = t[1] } }",
      "t");
  ASSERT_TRUE(u.ok()) << to_string(u.errors());
  EXPECT_NE(interpret_error(*u, {&x}).find("load of t[1] reads memory that nothing wrote"),
            std::string::npos);
  EXPECT_EQ(x.as_i64(0), 7);
  Literal wrong(DType::I32, {5});
  EXPECT_NE(interpret_error(*u, {&wrong}), "");
}

TEST(LoopInterp, GuardsAreLazyAliasesShareBytesWhileCounts) {
  auto r = parse_kernel(R"(kernel k {
    symbol n in [0, 100]
    param x: f32[n]
    param y: i32[4] written
    alias xi: i32[n] param of x
    for i = 0 +: 4 { y[i] = guard(i < n, xi[i], -1:i32) }
    alloc c: i64[] stack
    c[] = 0
    while c[] < 3 { c[] = c[] + 1 }
    y[3] = cast<i32>(c[])
  })",
                        "t");
  ASSERT_TRUE(r.ok()) << to_string(r.errors());
  const float in[] = {1, 2};
  Literal x = Literal::from<float>(DType::F32, {2}, in), y(DType::I32, {4});
  ASSERT_EQ(interpret_error(*r, {&x, &y}, {2}), "");
  EXPECT_EQ(y.as_i64(0), 0x3f800000);
  EXPECT_EQ(y.as_i64(1), 0x40000000);
  EXPECT_EQ(y.as_i64(2), -1);
  EXPECT_EQ(y.as_i64(3), 3);
  EXPECT_NE(interpret_error(*r, {&x, &y}, {101}), "");
}

TEST(LoopInterp, IsQuick) {
  auto r = parse_kernel(R"(kernel k {
    param A: f32[128, 128]
    param B: f32[128, 128]
    param C: f32[128, 128] written
    for i = 0 +: 128 { for j = 0 +: 128 {
      alloc acc: f32[] stack
      acc[] = 0.0
      for k = 0 +: 128 { acc[] = acc[] + A[i, k] * B[k, j] }
      C[i, j] = acc[]
    } } })",
                        "t");
  ASSERT_TRUE(r.ok()) << to_string(r.errors());
  Literal a(DType::F32, {128, 128}), b(DType::F32, {128, 128}), c(DType::F32, {128, 128});
  const auto t0 = std::chrono::steady_clock::now();
  ASSERT_TRUE(interpret(*r, {&a, &b, &c}, {}).ok());
  const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count();
  RecordProperty("mops", std::to_string(4.0 * 128 * 128 * 128 / s / 1e6));  // 2 loads, mul, add
  EXPECT_LT(s, 2.0);
}

}  // namespace
}  // namespace tenfold::loop
