// The IR's bookkeeping and the builder.
#include <gtest/gtest.h>

#include "graph/builder.h"
#include "graph/evaluator.h"
#include "graph/text.h"

namespace tenfold {
namespace {

struct Fixture {
  Module m;
  Function* f = m.add_function("main", true);
  GraphBuilder b{&m, &f->body};
  Value* arg(DType t, Shape s, std::string name = "x") {
    return f->body.add_arg({t, std::move(s)}, std::move(name));
  }
  std::vector<Literal> run(const std::vector<Literal>& args) {
    EXPECT_TRUE(b.errors.empty()) << to_string(b.errors);
    auto v = verify(m);
    EXPECT_TRUE(v.ok()) << (v.ok() ? "" : to_string(v.errors()));
    auto r = evaluate(m, *f, args);
    EXPECT_TRUE(r.ok()) << (r.ok() ? "" : to_string(r.errors()));
    return r.ok() ? *r : std::vector<Literal>{};
  }
};

Literal f32s(std::vector<int64_t> dims, std::vector<float> v) {
  return Literal::from<float>(DType::F32, std::move(dims), v);
}

TEST(Ir, UsersFollowOperands) {
  Fixture t;
  Value* x = t.arg(DType::F32, {2});
  Value* y = t.b.binary(Prim::Add, x, x);
  Value* z = t.b.unary(Prim::Neg, y);
  t.b.return_({z});
  ASSERT_EQ(x->users().size(), 2u);
  EXPECT_EQ(x->users()[0], y->def());
  y->replace_all_uses_with(x);
  EXPECT_FALSE(y->has_users());
  EXPECT_EQ(x->users().size(), 3u);
  t.f->body.erase(y->def());
  EXPECT_EQ(x->users().size(), 1u);
  EXPECT_EQ(t.f->body.ops.size(), 2u);
}

TEST(Ir, CloneIsEqualAndApart) {
  Fixture t;
  Value* x = t.arg(DType::F32, {2});
  auto r = t.b.while_(
      {t.b.constant_i(DType::I32, 0), x},
      [](GraphBuilder& b, const std::vector<Value*>& a) {
        return std::vector<Value*>{b.compare("LT", a[0], b.constant_i(DType::I32, 3))};
      },
      [&](GraphBuilder& b, const std::vector<Value*>& a) {
        return std::vector<Value*>{b.binary(Prim::Add, a[0], b.constant_i(DType::I32, 1)),
                                   b.binary(Prim::Add, a[1], x)};
      });
  t.b.return_({r[1]});
  auto copy = t.m.clone();
  EXPECT_EQ(print(t.m), print(*copy));
  ASSERT_TRUE(verify(*copy).ok());
  auto got = evaluate(*copy, *copy->main(), {f32s({2}, {1, -2})});
  ASSERT_TRUE(got.ok());
  EXPECT_TRUE((*got)[0].same(f32s({2}, {4, -8})));
}

TEST(Builder, ReportsProblemsAndGoesOn) {
  Fixture t;
  Value* x = t.arg(DType::F32, {2, 3});
  Value* y = t.b.create("stablehlo.no_such_op", {x})->result();
  t.b.loc = {"model:here"};
  Value* z = t.b.transpose(y, {0, 5});
  t.b.create("stablehlo.concatenate", {z, x});  // no dimension
  ASSERT_GE(t.b.errors.size(), 3u);
  EXPECT_NE(t.b.errors[0].message.find("stablehlo.no_such_op"), std::string::npos);
  EXPECT_EQ(t.b.errors[1].loc.text, "model:here");
  EXPECT_NE(to_string(t.b.errors).find("dimension"), std::string::npos);
}

TEST(Builder, BroadcastsAsNumpy) {
  Fixture t;
  Value* a = t.arg(DType::F32, {2, 1});
  Value* b = t.arg(DType::F32, {3});
  auto [x, y] = t.b.broadcast_pair(a, b);
  t.b.return_({t.b.binary(Prim::Mul, x, y)});
  auto r = t.run({f32s({2, 1}, {2, 3}), f32s({3}, {1, 10, 100})});
  EXPECT_TRUE(r[0].same(f32s({2, 3}, {2, 20, 200, 3, 30, 300})));
}

TEST(Builder, RefusesToGuessABroadcast) {
  Fixture t;
  Value* a = t.arg(DType::F32, {Dim::symbol("n")});
  Value* b = t.arg(DType::F32, {Dim::symbol("m")});
  t.b.broadcast_pair(a, b);
  ASSERT_EQ(t.b.errors.size(), 1u);
  EXPECT_EQ(t.b.errors[0].id, "shape-broadcast");
}

TEST(Builder, MatmulFollowsNumpy) {
  struct Case {
    Shape a, b;
    std::vector<int64_t> want;
  };
  for (const Case& c :
       {Case{{2, 3}, {3, 4}, {2, 4}}, Case{{3}, {3, 4}, {4}}, Case{{2, 3}, {3}, {2}},
        Case{{3}, {3}, {}}, Case{{5, 1, 2, 3}, {7, 3, 4}, {5, 7, 2, 4}},
        Case{{3}, {7, 3, 4}, {7, 4}}, Case{{5, 2, 3}, {3, 4}, {5, 2, 4}}}) {
    Fixture t;
    Value* r = t.b.matmul(t.arg(DType::F32, c.a), t.arg(DType::F32, c.b, "y"));
    EXPECT_TRUE(t.b.errors.empty());
    EXPECT_EQ(r->type.static_shape(), c.want);
  }
}

TEST(Builder, ReducesWithTheIdentity) {
  Fixture t;
  Value* x = t.arg(DType::F32, {2, 0});
  t.b.return_({t.b.reduce(Prim::Max, x, {1}), t.b.reduce(Prim::Mul, x, {1}, true)});
  auto r = t.run({f32s({2, 0}, {})});
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(r[0].same(f32s({2}, {-inf, -inf})));
  EXPECT_TRUE(r[1].same(f32s({2, 1}, {1, 1})));
}

TEST(Builder, CompositeCarriesItsDecomposition) {
  Fixture t;
  const Dim n = Dim::symbol("n");
  Value* x = t.arg(DType::F32, {n * 2});
  Value* s = t.arg(DType::F32, {n}, "s");
  auto r = t.b.composite("tenfold.double", {x}, {{"k", Attr{int64_t{2}}}},
                         [](GraphBuilder& b, const std::vector<Value*>& a) {
                           return std::vector<Value*>{b.binary(Prim::Add, a[0], a[0])};
                         });
  t.b.return_({r[0], s});
  EXPECT_EQ(r[0]->type, x->type);
  auto out = t.run({f32s({4}, {1, 2, 3, 4}), f32s({2}, {0, 0})});
  EXPECT_TRUE(out[0].same(f32s({4}, {2, 4, 6, 8})));
}

}  // namespace
}  // namespace tenfold
