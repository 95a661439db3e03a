// gather, dynamic_gather, scatter, sort, top_k: the StableHLO specification's examples and cases
// worked out by hand.
#include "ops/structured_util.h"

namespace tenfold::test {
namespace {

constexpr DType F = DType::F32, I64 = DType::I64;

std::string first_error(const GraphBuilder& b) {
  return b.errors.empty() ? "" : b.errors[0].message;
}
std::vector<double> counting(int n, int first = 1) {
  std::vector<double> v;
  for (int i = 0; i < n; ++i) v.push_back(first + i);
  return v;
}

struct GatherAttrs {
  std::vector<int64_t> offset = {}, collapsed = {}, batching = {}, indices_batching = {}, map = {};
  int64_t vector = 0;
  std::vector<Dim> sizes = {};
};
Op* gather(OpCase& t, Value* x, Value* indices, const GatherAttrs& a) {
  return t.b.create("stablehlo.gather", {x, indices},
                    {{"offset_dims", Attr{a.offset}},
                     {"collapsed_slice_dims", Attr{a.collapsed}},
                     {"operand_batching_dims", Attr{a.batching}},
                     {"start_indices_batching_dims", Attr{a.indices_batching}},
                     {"start_index_map", Attr{a.map}},
                     {"index_vector_dim", Attr{a.vector}},
                     {"slice_sizes", Attr{a.sizes}}});
}
const std::vector<double> kStarts = {0, 0, 1, 0, 2, 1, 0, 1, 1, 1, 0, 9,
                                     0, 0, 2, 1, 2, 2, 1, 2, 0, 1, 1, 0};

TEST(Gather, SpecificationExample) {
  const GatherAttrs a{.offset = {3, 4},
                      .collapsed = {1},
                      .batching = {0},
                      .indices_batching = {1},
                      .map = {2, 1},
                      .vector = 3,
                      .sizes = {1, 1, 2, 2}};
  const std::vector<double> want = {1,  2,  3,  4,  3,  4,  5,  6,  13, 14, 15, 16, 33, 34, 35, 36,
                                    35, 36, 37, 38, 41, 42, 43, 44, 1,  2,  3,  4,  13, 14, 15, 16,
                                    21, 22, 23, 24, 43, 44, 45, 46, 33, 34, 35, 36, 27, 28, 29, 30};
  OpCase t;
  Op* op = gather(t, t.arg(numbers(DType::I32, {2, 3, 4, 2}, counting(48))),
                  t.arg(numbers(I64, {2, 2, 3, 2}, kStarts)), a);
  t.expect(op, {numbers(DType::I32, {2, 2, 3, 2, 2}, want)});
}

TEST(Gather, RowsOfATableWithSymbolsAndClamping) {
  OpCase t;
  const Dim n = Dim::symbol("n", 1), d = Dim::symbol("d", 1);
  Op* op = gather(t, t.arg(numbers(F, {3, 2}, counting(6)), {3, d}),
                  t.arg(numbers(DType::I32, {4}, {2, -5, 1, 7}), {n}),
                  {.offset = {1}, .collapsed = {0}, .map = {0}, .vector = 1, .sizes = {1, d}});
  EXPECT_EQ(op->result()->type.shape, (Shape{n, d}));
  t.expect(op, {numbers(F, {4, 2}, {5, 6, 1, 2, 3, 4, 5, 6})});
}

TEST(Gather, IndexVectorFirstAndEmptyIndex) {
  OpCase t;
  Op* op = gather(t, t.arg(numbers(F, {2, 3}, counting(6))),
                  t.arg(numbers(DType::U8, {2, 3}, {0, 1, 1, 2, 0, 1})),
                  {.offset = {}, .collapsed = {0, 1}, .map = {0, 1}, .vector = 0, .sizes = {1, 1}});
  t.expect(op, {numbers(F, {3}, {3, 4, 5})});
  OpCase u;
  Op* empty = gather(u, u.arg(numbers(F, {2, 3}, counting(6))), u.arg(Literal(I64, {0, 1})),
                     {.offset = {1}, .collapsed = {0}, .map = {0}, .vector = 1, .sizes = {1, 3}});
  u.expect(empty, {Literal(F, {0, 3})});
}

TEST(Gather, ConstraintsAreNamed) {
  const GatherAttrs good{.offset = {1},
                         .collapsed = {1},
                         .batching = {0},
                         .indices_batching = {0},
                         .map = {1},
                         .vector = 1,
                         .sizes = {1, 1, 2}};
  const auto message = [](const GatherAttrs& a, DType index = I64,
                          std::vector<int64_t> indices = {2, 1}) {
    OpCase t;
    gather(t, t.arg(Literal(F, {2, 3, 4})), t.arg(Literal(index, indices)), a);
    return first_error(t.b);
  };
  EXPECT_EQ(message(good), "");
  const auto has = [&](const std::string& label, const std::function<void(GatherAttrs&)>& change,
                       DType index = I64, std::vector<int64_t> indices = {2, 1}) {
    GatherAttrs a = good;
    change(a);
    EXPECT_NE(message(a, index, indices).find("(" + label + ")"), std::string::npos)
        << label << ": " << message(a, index, indices);
  };
  has("I2", [](GatherAttrs&) {}, F);
  has("C1", [](GatherAttrs& a) { a.collapsed = {}; });
  has("C2", [](GatherAttrs& a) { a.vector = 3; });
  has("C3", [](GatherAttrs&) {}, I64, {2, 2});
  has("C4", [](GatherAttrs& a) {
    a.offset = {1, 1}, a.collapsed = {};
    a.batching = {0};
  });
  has("C5", [](GatherAttrs& a) { a.offset = {5}; });
  has("C6", [](GatherAttrs& a) { a.collapsed = {0}; });
  has("C7", [](GatherAttrs& a) { a.collapsed = {2, 1}, a.offset = {}; });
  has("C8", [](GatherAttrs& a) { a.collapsed = {3}; });
  has("C9", [](GatherAttrs& a) { a.sizes = {1, 2, 2}; });
  has("C10", [](GatherAttrs& a) { a.batching = {1, 0}, a.collapsed = {}; });
  has("C11", [](GatherAttrs& a) { a.batching = {4}; });
  has("C12", [](GatherAttrs& a) { a.sizes = {2, 1, 2}; });
  has("C13", [](GatherAttrs& a) { a.indices_batching = {0, 0}; });
  has("C14", [](GatherAttrs& a) { a.indices_batching = {2}; });
  has("C15", [](GatherAttrs& a) { a.indices_batching = {1}; });
  has("C16", [](GatherAttrs& a) { a.indices_batching = {}; });
  has("C17", [](GatherAttrs&) {}, I64, {3, 1});
  has("C18", [](GatherAttrs& a) { a.map = {0}; });
  has("C19", [](GatherAttrs& a) { a.map = {3}; });
  has("C20", [](GatherAttrs& a) { a.sizes = {1, 1}; });
  has("C21", [](GatherAttrs& a) { a.sizes = {1, 1, 5}; });
}

TEST(DynamicGather, TakesItsSizesFromTheResultType) {
  OpCase t;
  Op* op = t.b.create("stablehlo.dynamic_gather",
                      {t.arg(numbers(F, {3, 4}, counting(12))), t.arg(numbers(I64, {2, 1}, {1, 3})),
                       t.arg(numbers(I64, {2}, {3, 2}))},
                      {{"offset_dims", Attr{std::vector<int64_t>{1, 2}}},
                       {"collapsed_slice_dims", Attr{std::vector<int64_t>{}}},
                       {"start_index_map", Attr{std::vector<int64_t>{1}}},
                       {"index_vector_dim", Attr{int64_t{1}}}},
                      {{F, {2, 3, 2}}});
  t.expect(op, {numbers(F, {2, 3, 2}, {2, 3, 6, 7, 10, 11, 3, 4, 7, 8, 11, 12})});
  const auto message = [](std::vector<int64_t> sizes, Shape result) {
    OpCase u;
    u.b.create("stablehlo.dynamic_gather",
               {u.arg(Literal(F, {3, 4})), u.arg(Literal(I64, {2, 1})), u.arg(Literal(I64, sizes))},
               {{"offset_dims", Attr{std::vector<int64_t>{1, 2}}},
                {"collapsed_slice_dims", Attr{std::vector<int64_t>{}}},
                {"start_index_map", Attr{std::vector<int64_t>{1}}},
                {"index_vector_dim", Attr{int64_t{1}}}},
               {{F, result}});
    return first_error(u.b);
  };
  EXPECT_NE(message({3}, {2, 3, 2}).find("(I3)"), std::string::npos);
  EXPECT_NE(message({2}, {2, 3}).find("(C13)"), std::string::npos);
}

// --- scatter -------------------------------------------------------------------------------------

struct ScatterAttrs {
  std::vector<int64_t> window = {}, inserted = {}, batching = {}, indices_batching = {}, map = {};
  int64_t vector = 0;
  bool unique = false;
};
AttrDict scatter_attrs(const ScatterAttrs& a) {
  return {{"update_window_dims", Attr{a.window}},
          {"inserted_window_dims", Attr{a.inserted}},
          {"input_batching_dims", Attr{a.batching}},
          {"scatter_indices_batching_dims", Attr{a.indices_batching}},
          {"scatter_dims_to_operand_dims", Attr{a.map}},
          {"index_vector_dim", Attr{a.vector}},
          {"unique_indices", Attr{a.unique}}};
}
Op* scatter(OpCase& t, Prim p, Value* x, Value* indices, Value* updates, const ScatterAttrs& a) {
  Op* op = t.b.create_open("stablehlo.scatter", {x, indices, updates}, scatter_attrs(a));
  t.reducer(op, p, x->type.dtype);
  return t.b.finish(op);
}

TEST(Scatter, SpecificationExample) {
  OpCase t;
  Op* op = scatter(t, Prim::Add, t.arg(numbers(I64, {2, 3, 4, 2}, counting(48))),
                   t.arg(numbers(I64, {2, 2, 3, 2}, kStarts)),
                   t.arg(numbers(I64, {2, 2, 3, 2, 2}, std::vector<double>(48, 1))),
                   {.window = {3, 4},
                    .inserted = {1},
                    .batching = {0},
                    .indices_batching = {1},
                    .map = {2, 1},
                    .vector = 3});
  t.expect(op, {numbers(I64, {2, 3, 4, 2},
                        {3,  4,  6,  7,  6,  7,  7,  8,  9,  10, 11, 12, 15, 16, 17, 18,
                         17, 18, 19, 20, 22, 23, 24, 25, 25, 26, 28, 29, 30, 31, 31, 32,
                         35, 36, 38, 39, 38, 39, 39, 40, 41, 42, 44, 45, 46, 47, 47, 48})});
}

TEST(Scatter, RowsMeetInOrderAndOutsideIsSkipped) {
  for (bool replace : {false, true}) {
    OpCase t;
    const Dim n = Dim::symbol("n", 0);
    Value* x = t.arg(numbers(F, {3, 2}, {0, 0, 10, 20, 0, 0}));
    Value* i = t.arg(numbers(DType::I32, {5, 1}, {1, -1, 1, 3, 0}), {n, 1});
    Value* u = t.arg(numbers(F, {5, 2}, counting(10)), {n, 2});
    Op* op =
        t.b.create_open("stablehlo.scatter", {x, i, u},
                        scatter_attrs({.window = {1}, .inserted = {0}, .map = {0}, .vector = 1}));
    t.region(op, {F, F}, [&](GraphBuilder& r, const std::vector<Value*>& a) {
      return std::vector<Value*>{replace ? a[1] : r.binary(Prim::Add, a[0], a[1])};
    });
    t.b.finish(op);
    t.expect(op, {replace ? numbers(F, {3, 2}, {9, 10, 5, 6, 0, 0})
                          : numbers(F, {3, 2}, {9, 10, 16, 28, 0, 0})});
  }
}

TEST(Scatter, PartOfAWindowOutside) {
  OpCase t;
  Op* op =
      scatter(t, Prim::Max, t.arg(numbers(F, {4}, {1, 1, 1, 1})), t.arg(numbers(I64, {1}, {3})),
              t.arg(numbers(F, {2}, {5, 7})), {.window = {0}, .map = {0}, .vector = 0});
  t.expect(op, {numbers(F, {4}, {1, 1, 1, 5})});
}

TEST(Scatter, SingleElementsInParallelWhenUnique) {
  OpCase t;
  Op* op =
      scatter(t, Prim::Add, t.arg(numbers(F, {2, 3}, counting(6))),
              t.arg(numbers(I64, {3, 2}, {0, 2, 1, 0, 0, 0})), t.arg(numbers(F, {3}, {10, 20, 30})),
              {.inserted = {0, 1}, .map = {0, 1}, .vector = 1, .unique = true});
  t.expect(op, {numbers(F, {2, 3}, {31, 2, 13, 24, 5, 6})});
  EXPECT_NE(t.text.rfind("parallel"), t.text.find("parallel")) << "the copy and the updates\n"
                                                               << t.text;
}

TEST(Scatter, TwoInputs) {
  OpCase t;
  Value* x = t.arg(numbers(F, {3}, {1, 2, 3}));
  Value* y = t.arg(numbers(I64, {3}, {1, 2, 3}));
  Value* i = t.arg(numbers(I64, {2, 1}, {2, 2}));
  Value* u = t.arg(numbers(F, {2}, {5, 4}));
  Value* v = t.arg(numbers(I64, {2}, {50, 40}));
  Op* op = t.b.create_open("stablehlo.scatter", {x, y, i, u, v},
                           scatter_attrs({.inserted = {0}, .map = {0}, .vector = 1}));
  t.region(op, {F, I64, F, I64},
           [](GraphBuilder& r, const std::vector<Value*>& a) -> std::vector<Value*> {
             Value* keep = r.compare("GE", a[0], a[2]);
             return {r.select(keep, a[0], a[2]), r.select(keep, a[1], a[3])};
           });
  t.b.finish(op);
  t.expect(op, {numbers(F, {3}, {1, 2, 5}), numbers(I64, {3}, {1, 2, 50})});
}

TEST(Scatter, ConstraintsAreNamed) {
  const ScatterAttrs good{.window = {1},
                          .inserted = {1},
                          .batching = {0},
                          .indices_batching = {0},
                          .map = {1},
                          .vector = 1};
  const auto message = [](const ScatterAttrs& a, Literal indices = Literal(I64, {2, 1}),
                          Literal updates = Literal(F, {2, 4})) {
    OpCase t;
    scatter(t, Prim::Add, t.arg(Literal(F, {2, 3, 4})), t.arg(indices), t.arg(updates), a);
    return first_error(t.b);
  };
  EXPECT_EQ(message(good), "");
  const auto has = [&](const std::string& label, const std::function<void(ScatterAttrs&)>& change,
                       Literal indices = Literal(I64, {2, 1}),
                       Literal updates = Literal(F, {2, 4})) {
    ScatterAttrs a = good;
    change(a);
    EXPECT_NE(message(a, indices, updates).find("(" + label + ")"), std::string::npos)
        << label << ": " << message(a, indices, updates);
  };
  const auto same = [](ScatterAttrs&) {};
  has("I2", same, Literal(F, {2, 1}));
  has("C2", [](ScatterAttrs& a) { a.inserted = {}; });
  has("C4", same, Literal(I64, {2, 1}), Literal(F, {3, 4}));
  has("C4", same, Literal(I64, {2, 1}), Literal(F, {2, 5}));
  has("C6", same, Literal(I64, {2, 1}), Literal(I64, {2, 4}));
  has("C7", [](ScatterAttrs& a) { a.window = {1, 0}, a.inserted = {}; });
  has("C8", [](ScatterAttrs& a) { a.window = {2}; });
  has("C9", [](ScatterAttrs& a) { a.inserted = {0}; });
  has("C10", [](ScatterAttrs& a) { a.inserted = {2, 1}, a.window = {}; });
  has("C11", [](ScatterAttrs& a) { a.inserted = {3}; });
  has("C12", [](ScatterAttrs& a) { a.batching = {1, 0}, a.inserted = {}; });
  has("C13", [](ScatterAttrs& a) { a.batching = {-1}; });
  has("C14", [](ScatterAttrs& a) { a.indices_batching = {0, 0}; });
  has("C15", [](ScatterAttrs& a) { a.indices_batching = {2}; });
  has("C16", [](ScatterAttrs& a) { a.indices_batching = {1}; });
  has("C17", [](ScatterAttrs& a) { a.indices_batching = {}; });
  has("C18", same, Literal(I64, {3, 1}), Literal(F, {3, 4}));
  has("C19", same, Literal(I64, {2, 2}));
  has("C20", [](ScatterAttrs& a) { a.map = {0}; });
  has("C21", [](ScatterAttrs& a) { a.map = {5}; });
  has("C22", [](ScatterAttrs& a) { a.vector = 4; });
  const auto raw = [&](std::vector<Literal> args, std::vector<DType> region) {
    OpCase t;
    std::vector<Value*> values;
    for (const Literal& l : args) values.push_back(t.arg(l));
    Op* op = t.b.create_open("stablehlo.scatter", values,
                             scatter_attrs({.inserted = {0}, .map = {0}, .vector = 1}));
    t.region(op, region, [&](GraphBuilder&, const std::vector<Value*>& a) {
      return std::vector<Value*>(a.begin(), a.begin() + std::max<size_t>(1, a.size() / 2));
    });
    t.b.finish(op);
    return first_error(t.b);
  };
  const Literal x(F, {3}), y(F, {4}), i(I64, {2, 1}), u(F, {2}), v(F, {5});
  EXPECT_NE(raw({x, i, u, u}, {F, F}).find("(C5)"), std::string::npos);
  EXPECT_NE(raw({x, y, i, u, u}, {F, F, F, F}).find("(C1)"), std::string::npos);
  EXPECT_NE(raw({x, x, i, u, v}, {F, F, F, F}).find("(C3)"), std::string::npos);
  EXPECT_NE(raw({x, i, u}, {F}).find("(C23)"), std::string::npos);
}

// --- sort and top_k ------------------------------------------------------------------------------

Op* sort(OpCase& t, std::vector<Value*> xs, int64_t dim, const std::string& direction) {
  Op* op =
      t.b.create_open("stablehlo.sort", xs, {{"dimension", Attr{dim}}, {"is_stable", Attr{true}}});
  std::vector<DType> args;
  for (const Value* v : xs) args.insert(args.end(), 2, v->type.dtype);
  t.region(op, args, [&](GraphBuilder& r, const std::vector<Value*>& a) {
    return std::vector<Value*>{r.compare(direction, a[0], a[1])};
  });
  return t.b.finish(op);
}

TEST(Sort, SpecificationExample) {
  OpCase t;
  Op* op = sort(t,
                {t.arg(numbers(I64, {2, 3}, {1, 2, 3, 3, 2, 1})),
                 t.arg(numbers(I64, {2, 3}, {3, 2, 1, 1, 2, 3}))},
                0, "GT");
  t.expect(op,
           {numbers(I64, {2, 3}, {3, 2, 3, 1, 2, 1}), numbers(I64, {2, 3}, {1, 2, 1, 3, 2, 3})});
}

TEST(Sort, IsStableOnManyEqualKeys) {
  // 37 keys i * 7 % 5 with their positions.
  std::vector<double> keys, places, sorted, order;
  for (int i = 0; i < 37; ++i) keys.push_back(i * 7 % 5), places.push_back(i);
  for (int k = 0; k < 5; ++k)
    for (int i = 0; i < 37; ++i)
      if (keys[i] == k) sorted.push_back(k), order.push_back(i);
  OpCase t;
  const Dim n = Dim::symbol("n");
  Op* op =
      sort(t, {t.arg(numbers(F, {37}, keys), {n}), t.arg(numbers(DType::I32, {37}, places), {n})},
           -1, "LT");
  t.expect(op, {numbers(F, {37}, sorted), numbers(DType::I32, {37}, order)});
}

TEST(Sort, RowsOfSmallSizes) {
  for (int64_t n : {0, 1, 2}) {
    OpCase t;
    const Literal x = pattern(F, {3, n});
    Op* op = sort(t, {t.arg(x)}, 1, "LT");
    Literal want = x;
    if (n == 2)
      for (int r = 0; r < 3; ++r) {
        want.set_f64(2 * r, std::min(x.as_f64(2 * r), x.as_f64(2 * r + 1)));
        want.set_f64(2 * r + 1, std::max(x.as_f64(2 * r), x.as_f64(2 * r + 1)));
      }
    t.expect(op, {want});
  }
}

TEST(Sort, TotalOrderThroughTheGeneralComparator) {
  OpCase t;
  Op* op =
      t.b.create_open("stablehlo.sort", {t.arg(numbers(F, {5}, {NAN, 0.0, -0.0, -1, INFINITY}))},
                      {{"dimension", Attr{int64_t{0}}}, {"is_stable", Attr{true}}});
  t.region(op, {F, F}, [](GraphBuilder& r, const std::vector<Value*>& a) {
    Op* c = r.create("stablehlo.compare", {a[0], a[1]},
                     {{"comparison_direction", Attr{std::string("LT")}},
                      {"compare_type", Attr{std::string("TOTALORDER")}}});
    return std::vector<Value*>{c->result()};
  });
  t.b.finish(op);
  t.expect(op, {numbers(F, {5}, {-1, -0.0, 0.0, INFINITY, NAN})});
}

TEST(Sort, ConstraintsAreNamed) {
  {
    OpCase t;
    sort(t, {t.arg(Literal(F, {2})), t.arg(Literal(F, {3}))}, 0, "LT");
    EXPECT_NE(first_error(t.b).find("(C3)"), std::string::npos);
  }
  {
    OpCase t;
    sort(t, {t.arg(Literal(F, {2}))}, 1, "LT");
    EXPECT_NE(first_error(t.b).find("(C4)"), std::string::npos);
  }
  {
    OpCase t;
    Op* op = t.b.create_open("stablehlo.sort", {t.arg(Literal(F, {2}))}, {});
    t.reducer(op, Prim::Add, F);
    t.b.finish(op);
    EXPECT_NE(first_error(t.b).find("(C5)"), std::string::npos);
  }
}

Op* top_k(OpCase& t, Value* x, Dim k, bool largest, AttrDict more = {}) {
  AttrDict a{{"k", Attr{std::vector<Dim>{k}}}, {"largest", Attr{largest}}};
  a.insert(a.end(), more.begin(), more.end());
  return t.b.create("tenfold.top_k", {x}, a);
}

TEST(TopK, BothOrdersTiesAndNan) {
  const Literal x = numbers(F, {2, 5}, {3, 1, 3, 2, 0, NAN, 1, -1, 1, NAN});
  {
    OpCase t;
    t.expect(top_k(t, t.arg(x), 3, true), {numbers(F, {2, 3}, {3, 3, 2, NAN, NAN, 1}),
                                           numbers(I64, {2, 3}, {0, 2, 3, 0, 4, 1})});
  }
  {
    OpCase t;
    t.expect(top_k(t, t.arg(x), 4, false, {{"index_type", Attr{DType::I32}}}),
             {numbers(F, {2, 4}, {0, 1, 2, 3, -1, 1, 1, NAN}),
              numbers(DType::I32, {2, 4}, {4, 1, 3, 0, 2, 1, 3, 0})});
  }
  {
    OpCase t;
    t.expect(top_k(t, t.arg(x), 1, true, {{"axis", Attr{int64_t{0}}}}),
             {numbers(F, {1, 5}, {NAN, 1, 3, 2, NAN}), numbers(I64, {1, 5}, {1, 0, 0, 0, 1})});
  }
}

TEST(TopK, SymbolicCountSortsAll) {
  OpCase t;
  const Dim n = Dim::symbol("n"), k = Dim::symbol("k");
  t.bind("k", 4);
  Op* op = top_k(t, t.arg(numbers(DType::U8, {6}, {5, 200, 7, 200, 0, 9}), {n}), min(n, k), true);
  t.expect(op, {numbers(DType::U8, {4}, {200, 200, 9, 7}), numbers(I64, {4}, {1, 3, 5, 2})});
}

TEST(TopK, ConstraintsAreNamed) {
  const auto has = [](const std::string& label, DType d, Dim k, AttrDict more) {
    OpCase t;
    top_k(t, t.arg(Literal(d, {2, 3})), k, true, more);
    EXPECT_NE(first_error(t.b).find("(" + label + ")"), std::string::npos)
        << label << ": " << first_error(t.b);
  };
  has("C1", DType::C64, 1, {});
  has("C2", F, 1, {{"axis", Attr{int64_t{2}}}});
  has("C3", F, 4, {});
  has("C4", F, 1, {{"index_type", Attr{F}}});
}

}  // namespace
}  // namespace tenfold::test
