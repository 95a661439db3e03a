// The text form: exact both ways, and safe on text from outside.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "loop/builder.h"
#include "loop/interp.h"
#include "loop/ir.h"

namespace tenfold::loop {
namespace {

const char kMatmul[] = R"(kernel matmul {
  origin "model.onnx:MatMul_3"
  trace "split i 6 guard"
  flops 1024.0:f64
  symbol n in [1, 4096]
  symbol "batch size"
  param A: f32[n, 64]
  param B: f32[64, 32] align 32
  param C: f32[n, 32] written
  alias Bi: i32[2048] param of B
  parallel i = 0 +: n {
    vectorized j = 0 +: 32 {
      alloc acc: f32[] stack
      acc[] = 0.0
      for k = 0 +: 64 {
        acc[] = acc[] + A[i, k] * B[k, j]
      }
      let t: f32 = max(acc[], 0.0)
      if j < 7 & i * 3 + j >= "batch size" {
        C[i, j] = t
      } else {
        C[i, j] = guard(i == 0, t, exp(neg(t)))
      }
    }
  }
  while A[0, 0] < 0.0 {
    alloc w: u8[n * 4, 3] workspace
    alias wf: f32[n * 3] workspace of w
    call prefetch(B[0, 0])
    w[n // 2 + n % 3, 0] = cast<ui8>(n) + 1:ui8
    wf[0] = bitcast<f32>(Bi[3])
  }
}
)";

TEST(LoopText, RoundTripIsExact) {
  std::string text = kMatmul;
  for (size_t p; (p = text.find("u8[")) != std::string::npos;) text.replace(p, 3, "ui8[");
  auto k = parse_kernel(text, "m.loop");
  ASSERT_TRUE(k.ok()) << to_string(k.errors());
  EXPECT_EQ(print(*k), text);
  EXPECT_EQ(k->symbols[0]->max, 4096);
  EXPECT_EQ(k->symbols[1]->name, "batch size");
  EXPECT_EQ(k->params[1]->alignment, 32);
}

TEST(LoopText, ConstantsOfEveryTypeComeBack) {
  Kernel k;
  k.name = "constants";
  std::mt19937_64 rng(7);
  Builder b(&k);
  for (int t = 0; t < kDTypeCount; ++t) {
    const DType d = static_cast<DType>(t);
    std::vector<Expr> values = {zero(d)};
    for (int i = 0; i < 40; ++i) {
      const double x = std::ldexp(static_cast<double>(static_cast<int64_t>(rng())),
                                  -static_cast<int>(rng() % 90));
      if (is_complex(d))
        values.push_back(complex_const(x, -x, d));
      else if (is_float(d))
        values.push_back(float_const(x, d));
      else if (d != DType::Bool)
        values.push_back(int_const(static_cast<int64_t>(rng()), d));
    }
    if (is_float(d))
      for (double x : {-0.0, HUGE_VAL, -HUGE_VAL, std::nan(""), -std::nan(""), 1e-45, 5e-324})
        values.push_back(float_const(x, d));
    if (is_integer(d) && d != DType::Bool) values.push_back(int_const(INT64_MIN, d));
    Buffer cell = b.alloc("c" + std::to_string(t), d, {}, Scope::Stack);
    for (const Expr& e : values) b.set(cell, e);
  }
  const std::string text = print(k);
  auto r = parse_kernel(text, "c");
  ASSERT_TRUE(r.ok()) << to_string(r.errors());
  EXPECT_EQ(print(*r), text);
  ASSERT_EQ(r->body.size(), k.body.size());
  for (size_t i = 0; i < k.body.size(); ++i)
    if (k.body[i]->value)
      EXPECT_TRUE(same(k.body[i]->value, r->body[i]->value))
          << print(k.body[i]->value) << " " << print(r->body[i]->value);
}

TEST(LoopText, SharedPartsKeepTheTextSmall) {
  Kernel k;
  k.name = "deep";
  Builder b(&k);
  Buffer c = b.cell("c", float_const(2, DType::F32));
  Expr e = b.get(c);
  for (int i = 0; i < 60; ++i) e = op(Prim::Exp, {e}) + e;
  b.set(c, e);
  const std::string text = print(k);
  EXPECT_LT(text.size(), 4000u);
  auto r = parse_kernel(text, "d");
  ASSERT_TRUE(r.ok()) << to_string(r.errors());
  EXPECT_EQ(print(*r), text);
  EXPECT_TRUE(interpret(*r, {}, {}).ok());
}

std::string parse_error(std::string_view t) {
  auto r = parse_kernel(t, "f.loop");
  return r.ok() ? "" : to_string(r.errors());
}

TEST(LoopText, ErrorsSayWhere) {
  EXPECT_NE(parse_error("kernel k {\n  x[] = 1\n}").find("f.loop:2:3"), std::string::npos);
  EXPECT_NE(parse_error("kernel k {\n  x[] = 1\n}").find("unknown buffer 'x'"), std::string::npos);
  EXPECT_NE(parse_error("kernel k { param x: f32[] written\n x[] = 1 }").find("got i64"),
            std::string::npos);
  EXPECT_NE(parse_error("kernel k { param x: f32[]\n x[] = 1.0 }").find("not declared written"),
            std::string::npos);
  EXPECT_NE(parse_error("kernel k { param x: i8[] written\n x[] = 200:i8 }").find("does not fit"),
            std::string::npos);
  EXPECT_NE(parse_error("kernel k { for i = 0 +: 3 { parallel j = 0 +: 3 { } } }")
                .find("parallel below top level"),
            std::string::npos);
  EXPECT_NE(parse_error("kernel k { param x: f32[2] written\n x[0, 0] = 1.0 }").find("rank"),
            std::string::npos);
  EXPECT_NE(parse_error("kernel k {").find("the end of the text"), std::string::npos);
}

TEST(LoopText, HostileTextIsRefusedNotCrashed) {
  std::string deep = "kernel k { param x: i64[] written\n x[] = ";
  EXPECT_NE(parse_error(deep + std::string(200000, '(')), "");
  EXPECT_NE(parse_error(deep + std::string(200000, '!')), "");
  std::string sum = deep + "x[]";
  for (int i = 0; i < 100000; ++i) sum += " + x[]";
  EXPECT_NE(parse_error(sum + " }"), "");
  std::string blocks = "kernel k { ";
  for (int i = 0; i < 100000; ++i) blocks += "if true { ";
  EXPECT_NE(parse_error(blocks), "");
  std::mt19937_64 rng(3);
  const std::string base = kMatmul;
  for (int i = 0; i < 20000; ++i) {  // mutations: any answer will do, a crash will not
    std::string t = base;
    for (uint64_t n = rng() % 4 + 1; n > 0; --n) {
      const size_t at = rng() % t.size();
      switch (rng() % 3) {
        case 0:
          t[at] = static_cast<char>(rng() % 96 + 32);
          break;
        case 1:
          t.erase(at, rng() % 8);
          break;
        default:
          t.insert(at, base.substr(rng() % base.size(), rng() % 12));
          break;
      }
    }
    auto r = parse_kernel(t, "m");
    if (r.ok()) EXPECT_TRUE(parse_kernel(print(*r), "m").ok()) << t;
  }
}

}  // namespace
}  // namespace tenfold::loop
