#include "kernels.h"

#include <cmath>
#include <functional>
#include <random>

#include "loop/builder.h"

namespace tenfold {
namespace {

using loop::Buffer;
using loop::Builder;
using loop::Expr;
using loop::int_const;
using loop::Kernel;
using loop::load;
using loop::LoopKind;
using loop::op;

Literal ramp(DType t, std::vector<int64_t> dims, int64_t seed) {
  Literal l(t, std::move(dims));
  uint64_t x = static_cast<uint64_t>(seed) * 7919 + 17;
  for (int64_t i = 0; i < l.size(); ++i) {
    x = x * 6364136223846793005ull + 1442695040888963407ull;
    const int64_t v = static_cast<int64_t>((x >> 33) % 17) - (is_unsigned(t) ? 0 : 8);
    if (is_complex(t))
      l.set_c128(i, {static_cast<double>(v), static_cast<double>((x >> 40) % 5)});
    else if (is_float(t))
      l.set_f64(i, static_cast<double>(v) / 2);
    else
      l.set_i64(i, t == DType::Bool ? (x >> 35) & 1 : v);
  }
  return l;
}

// Collects parameters while a kernel is written.
struct Maker {
  KernelCase c;
  std::vector<std::function<void(KernelCase&)>> late;
  explicit Maker(std::string name) { c.kernel.name = std::move(name); }
  Buffer add(const std::string& n, DType t, std::vector<Expr> shape, std::vector<int64_t> dims,
             bool written) {
    auto b = std::make_shared<loop::BufferDef>();
    b->name = n;
    b->dtype = t;
    b->shape = std::move(shape);
    c.kernel.params.push_back(b);
    c.kernel.param_written.push_back(written);
    c.buffers.push_back(ramp(t, std::move(dims), static_cast<int64_t>(c.buffers.size())));
    return b;
  }
  Buffer in(const std::string& n, DType t, std::vector<int64_t> dims) {
    std::vector<Expr> s;
    for (int64_t d : dims) s.push_back(int_const(d));
    return add(n, t, s, dims, false);
  }
  Buffer out(const std::string& n, DType t, std::vector<int64_t> dims) {
    std::vector<Expr> s;
    for (int64_t d : dims) s.push_back(int_const(d));
    return add(n, t, s, dims, true);
  }
  Expr symbol(const std::string& n, int64_t value) {
    auto v = std::make_shared<loop::VarDef>();
    v->name = n;
    v->min = 0;
    v->max = 1 << 20;
    c.kernel.symbols.push_back(v);
    c.symbols.push_back(value);
    return loop::var_ref(v);
  }
};

Expr c_(int64_t v) { return int_const(v); }
Expr f_(double v, DType t = DType::F32) { return loop::float_const(v, t); }
Expr add(Expr a, Expr b) { return op(Prim::Add, {a, b}); }
Expr mul(Expr a, Expr b) { return op(Prim::Mul, {a, b}); }

}  // namespace

std::vector<KernelCase> kernel_cases() {
  std::vector<KernelCase> all;
  auto with = [&](const std::string& name, const std::function<void(Maker&, Builder&)>& f) {
    Maker m(name);
    Builder b(&m.c.kernel);
    f(m, b);
    all.push_back(std::move(m.c));
  };
  // Lane counts around every register size, masked tail or not.
  for (int lanes : {2, 3, 5, 7, 8, 15, 16, 17, 31, 48, 64, 100}) {
    for (DType t : {DType::F32, DType::I8, DType::F64, DType::BF16}) {
      with("lanes_" + std::to_string(lanes) + "_" + std::string(name(t)),
           [&](Maker& m, Builder& b) {
             Buffer x = m.in("x", t, {3, lanes}), y = m.out("y", t, {3, lanes});
             b.for_(
                 "i", c_(3),
                 [&](Expr i) {
                   b.for_(
                       "j", c_(lanes),
                       [&](Expr j) { b.store(y, {i, j}, add(load(x, {i, j}), load(x, {i, j}))); },
                       LoopKind::Vectorized);
                 },
                 LoopKind::Parallel);
           });
    }
  }
  // Strides of loads and stores.
  for (int s : {1, 2, 3, 4, 5, 9}) {
    for (DType t : {DType::F32, DType::I16, DType::C64, DType::F64}) {
      with("stride_" + std::to_string(s) + "_" + std::string(name(t)), [&](Maker& m, Builder& b) {
        Buffer x = m.in("x", t, {40 * s}), y = m.out("y", t, {40}), z = m.out("z", t, {40 * s});
        b.for_(
            "j", c_(40),
            [&](Expr j) {
              b.store(y, {j}, load(x, {j * c_(s)}));
              b.store(z, {j * c_(s)}, load(x, {j * c_(s)}));
            },
            LoopKind::Vectorized);
      });
    }
  }
  with("reversed", [](Maker& m, Builder& b) {
    Buffer x = m.in("x", DType::F32, {50}), y = m.out("y", DType::F32, {50}),
           z = m.out("z", DType::F32, {50});
    b.for_(
        "j", c_(50),
        [&](Expr j) {
          b.store(y, {j}, load(x, {c_(49) - j}));
          b.store(z, {c_(49) - j}, load(x, {j}));
        },
        LoopKind::Vectorized);
  });
  with("transpose", [](Maker& m, Builder& b) {
    Buffer x = m.in("x", DType::F32, {37, 19}), y = m.out("y", DType::F32, {19, 37});
    b.for_(
        "i", c_(19),
        [&](Expr i) {
          b.for_(
              "j", c_(37), [&](Expr j) { b.store(y, {i, j}, load(x, {j, i})); },
              LoopKind::Vectorized);
        },
        LoopKind::Parallel);
  });
  with("gather_scatter", [](Maker& m, Builder& b) {
    Buffer x = m.in("x", DType::F32, {17, 3}), ids = m.in("ids", DType::I64, {40});
    Buffer ids32 = m.in("ids32", DType::I32, {40});
    Buffer y = m.out("y", DType::F32, {40}), z = m.out("z", DType::I8, {40, 2});
    b.for_(
        "j", c_(40),
        [&](Expr j) {
          Expr row = loop::imax(loop::imin(load(ids, {j}) + 8, c_(16)), c_(0));
          b.store(y, {j}, load(x, {row, c_(1)}));
          Expr other = loop::imod(loop::cast(load(ids32, {j}), DType::I64) + 100, c_(2));
          b.store(z, {j, other}, loop::cast(load(x, {row, c_(2)}), DType::I8));
        },
        LoopKind::Vectorized);
  });
  with("broadcast_and_dtypes", [](Maker& m, Builder& b) {
    Buffer x = m.in("x", DType::I8, {6, 33}), s = m.in("s", DType::F32, {6}),
           h = m.in("h", DType::F16, {33}), y = m.out("y", DType::F32, {6, 33}),
           q = m.out("q", DType::U8, {6, 33}), e = m.out("e", DType::F8E4M3FN, {6, 33});
    b.for_(
        "i", c_(6),
        [&](Expr i) {
          b.for_(
              "j", c_(33),
              [&](Expr j) {
                Expr v = mul(loop::cast(load(x, {i, j}), DType::F32), load(s, {i}));
                v = b.let("v", add(v, loop::cast(load(h, {j}), DType::F32)));
                b.store(y, {i, j}, v);
                b.store(q, {i, j}, loop::cast(v, DType::U8));
                b.store(e, {i, j}, loop::cast(v, DType::F8E4M3FN));
              },
              LoopKind::Vectorized);
        },
        LoopKind::Parallel);
  });
  with("padding_guard", [](Maker& m, Builder& b) {
    Buffer x = m.in("x", DType::F32, {30}), y = m.out("y", DType::F32, {36});
    b.for_(
        "j", c_(36),
        [&](Expr j) {
          Expr inside = loop::logical_and(loop::ge(j, c_(3)), loop::lt(j, c_(33)));
          b.store(y, {j}, loop::guard(inside, load(x, {j - 3}), f_(-1)));
        },
        LoopKind::Vectorized);
  });
  with("guard_uniform", [](Maker& m, Builder& b) {
    Buffer x = m.in("x", DType::F32, {5, 20}), y = m.out("y", DType::F32, {7, 20});
    b.for_("i", c_(7), [&](Expr i) {
      b.for_(
          "j", c_(20),
          [&](Expr j) {
            b.store(y, {i, j}, loop::guard(loop::lt(i, c_(5)), load(x, {i, j}), f_(0)));
          },
          LoopKind::Vectorized);
    });
  });
  with("masked_uniform_load", [](Maker& m, Builder& b) {
    Expr n = m.symbol("n", 10);
    Buffer x = m.in("x", DType::F32, {3}), y = m.out("y", DType::F32, {64});
    b.for_("io", c_(4), [&](Expr io) {
      b.for_(
          "j", c_(16),
          [&](Expr j) {
            Expr at = io * c_(16) + j;
            b.if_(loop::lt(at, n), [&] { b.store(y, {at}, load(x, {io * c_(2)})); });
          },
          LoopKind::Vectorized);
    });
  });
  with("if_else_lanes", [](Maker& m, Builder& b) {
    Buffer x = m.in("x", DType::F32, {50}), y = m.out("y", DType::F32, {50}),
           z = m.out("z", DType::F32, {50});
    b.for_(
        "j", c_(50),
        [&](Expr j) {
          b.if_(
              op(Prim::Gt, {load(x, {j}), f_(0)}), [&] { b.store(y, {j}, load(x, {j})); },
              [&] {
                b.store(y, {j}, f_(0));
                b.if_(op(Prim::Lt, {load(x, {j}), f_(-2)}), [&] { b.store(z, {j}, f_(9)); });
              });
        },
        LoopKind::Vectorized);
  });
  with("private_accumulators", [](Maker& m, Builder& b) {  // serial loop inside the lanes
    Buffer x = m.in("x", DType::F32, {9, 40}), y = m.out("y", DType::F32, {40}),
           z = m.out("z", DType::F32, {40});
    b.for_(
        "j", c_(40),
        [&](Expr j) {
          Buffer s = b.cell("s", f_(0));
          Buffer t = b.alloc("t", DType::F32, {c_(3)});
          b.for_("u", c_(3), [&](Expr u) { b.store(t, {u}, f_(1)); }, LoopKind::Unrolled);
          b.for_("k", c_(9), [&](Expr k) {
            b.set(s, add(b.get(s), load(x, {k, j})));
            b.store(t, {loop::imod(k, c_(3))}, load(x, {k, j}));
          });
          b.store(y, {j}, b.get(s));
          b.store(z, {j}, add(load(t, {c_(0)}), load(t, {c_(2)})));
        },
        LoopKind::Vectorized);
  });
  for (DType t : {DType::F32, DType::I32, DType::U8, DType::F16, DType::F64, DType::C64}) {
    with("reduce_lanes_" + std::string(name(t)), [&](Maker& m, Builder& b) {
      Buffer x = m.in("x", t, {4, 53}), y = m.out("y", t, {4}), z = m.out("z", t, {4});
      b.for_(
          "i", c_(4),
          [&](Expr i) {
            b.store(y, {i}, loop::zero(t));
            if (!is_complex(t)) b.store(z, {i}, load(x, {i, c_(0)}));
            b.for_(
                "j", c_(53),
                [&](Expr j) {
                  b.store(y, {i}, add(load(y, {i}), load(x, {i, j})));
                  if (!is_complex(t))
                    b.store(z, {i}, op(Prim::Max, {load(z, {i}), load(x, {i, j})}));
                },
                LoopKind::Vectorized);
          },
          LoopKind::Parallel);
    });
  }
  with("masked_reduction", [](Maker& m, Builder& b) {
    Expr n = m.symbol("n", 45);
    Buffer x = m.in("x", DType::F32, {64}), y = m.out("y", DType::F32, {});
    b.set(y, f_(0));
    b.for_("jo", c_(4), [&](Expr jo) {
      b.for_(
          "j", c_(16),
          [&](Expr j) {
            Expr at = jo * c_(16) + j;
            b.if_(loop::lt(at, n),
                  [&] { b.set(y, add(b.get(y), mul(load(x, {at}), load(x, {at})))); });
          },
          LoopKind::Vectorized);
    });
  });
  with("argmax_is_serial", [](Maker& m, Builder& b) {
    Buffer x = m.in("x", DType::F32, {40}), y = m.out("y", DType::I64, {});
    Buffer best = b.cell("best", f_(-1e30)), where = b.cell("where", c_(0));
    b.for_(
        "j", c_(40),
        [&](Expr j) {
          b.if_(op(Prim::Gt, {load(x, {j}), b.get(best)}), [&] {
            b.set(best, load(x, {j}));
            b.set(where, j);
          });
        },
        LoopKind::Vectorized);
    b.set(y, b.get(where));
  });
  with("matmul_blocked", [](Maker& m, Builder& b) {
    Buffer a = m.in("a", DType::F32, {12, 20}), w = m.in("w", DType::F32, {20, 48}),
           y = m.out("y", DType::F32, {12, 48});
    b.for_(
        "ib", c_(3),
        [&](Expr ib) {
          Buffer acc = b.alloc("acc", DType::F32, {c_(4), c_(48)});
          auto tile = [&](const std::function<void(Expr, Expr)>& f) {
            b.for_(
                "i", c_(4),
                [&](Expr i) {
                  b.for_("j", c_(48), [&](Expr j) { f(i, j); }, LoopKind::Vectorized);
                },
                LoopKind::Unrolled);
          };
          tile([&](Expr i, Expr j) { b.store(acc, {i, j}, f_(0)); });
          b.for_("k", c_(20), [&](Expr k) {
            tile([&](Expr i, Expr j) {
              b.store(acc, {i, j},
                      add(load(acc, {i, j}), mul(load(a, {ib * c_(4) + i, k}), load(w, {k, j}))));
            });
          });
          tile([&](Expr i, Expr j) { b.store(y, {ib * c_(4) + i, j}, load(acc, {i, j})); });
        },
        LoopKind::Parallel);
  });
  with("symbolic_matmul", [](Maker& m, Builder& b) {
    Expr n = m.symbol("n", 7), k = m.symbol("k", 13);
    Buffer a = m.add("a", DType::F32, {n, k}, {7, 13}, false);
    Buffer w = m.add("w", DType::F32, {k, c_(24)}, {13, 24}, false);
    Buffer y = m.add("y", DType::F32, {n, c_(24)}, {7, 24}, true);
    b.for_(
        "i", n,
        [&](Expr i) {
          b.for_("jo", c_(3), [&](Expr jo) {
            Buffer acc = b.alloc("acc", DType::F32, {c_(8)});
            b.for_("j", c_(8), [&](Expr j) { b.store(acc, {j}, f_(0)); }, LoopKind::Vectorized);
            b.for_("q", k, [&](Expr q) {
              b.for_(
                  "j", c_(8),
                  [&](Expr j) {
                    b.store(
                        acc, {j},
                        add(load(acc, {j}), mul(load(a, {i, q}), load(w, {q, jo * c_(8) + j}))));
                  },
                  LoopKind::Vectorized);
            });
            b.for_(
                "j", c_(8), [&](Expr j) { b.store(y, {i, jo * c_(8) + j}, load(acc, {j})); },
                LoopKind::Vectorized);
          });
        },
        LoopKind::Parallel);
  });
  with("symbolic_stride", [](Maker& m, Builder& b) {  // lanes walk down a column
    Expr n = m.symbol("n", 21), k = m.symbol("k", 5);
    Buffer a = m.add("a", DType::F32, {n, k}, {21, 5}, false);
    Buffer y = m.add("y", DType::F32, {k, n}, {5, 21}, true);
    b.for_(
        "i", k,
        [&](Expr i) {
          b.for_("jo", loop::idiv(n + 7, c_(8)), [&](Expr jo) {
            b.for_(
                "j", c_(8),
                [&](Expr j) {
                  Expr at = jo * c_(8) + j;
                  b.if_(loop::lt(at, n), [&] { b.store(y, {i, at}, load(a, {at, i})); });
                },
                LoopKind::Vectorized);
          });
        },
        LoopKind::Parallel);
  });
  with("workspace_and_phases", [](Maker& m, Builder& b) {
    Expr n = m.symbol("n", 30);
    Buffer x = m.add("x", DType::F32, {n}, {30}, false),
           y = m.add("y", DType::F32, {n}, {30}, true);
    Buffer t = m.add("t", DType::F32, {}, {}, true);
    b.set(t, f_(0));
    b.for_("i", n, [&](Expr i) { b.set(t, add(b.get(t), load(x, {i}))); });
    b.for_(
        "i", n,
        [&](Expr i) {
          Buffer w = b.alloc("w", DType::F32, {n}, loop::Scope::Workspace);
          Buffer v = b.alloc("v", DType::I8, {c_(70)}, loop::Scope::Workspace);
          b.for_("j", n, [&](Expr j) { b.store(w, {j}, add(load(x, {j}), b.get(t))); });
          b.store(v, {c_(69)}, loop::int_const(3, DType::I8));
          b.store(y, {i}, add(load(w, {i}), loop::cast(load(v, {c_(69)}), DType::F32)));
        },
        LoopKind::Parallel);
  });
  with("fused_dims", [](Maker& m, Builder& b) {  // idiv and imod of a fused loop
    Buffer x = m.in("x", DType::F32, {6, 32}), y = m.out("y", DType::F32, {32, 6}),
           z = m.out("z", DType::F32, {192});
    b.for_("o", c_(12), [&](Expr o) {
      b.for_(
          "l", c_(16),
          [&](Expr l) {
            Expr f = o * c_(16) + l;
            b.store(z, {f}, load(x, {loop::idiv(f, c_(32)), loop::imod(f, c_(32))}));
            b.store(y, {loop::idiv(f, c_(6)), loop::imod(f, c_(6))}, loop::cast(f, DType::F32));
          },
          LoopKind::Vectorized);
    });
  });
  with("while_loop", [](Maker& m, Builder& b) {
    Buffer y = m.out("y", DType::I32, {8});
    b.for_("i", c_(8), [&](Expr i) {
      Buffer n = b.cell("n", loop::cast(i, DType::I32));
      Buffer steps = b.cell("steps", loop::int_const(0, DType::I32));
      b.while_(op(Prim::Gt, {b.get(n), loop::int_const(0, DType::I32)}), [&] {
        b.set(n, op(Prim::Sub, {b.get(n), loop::int_const(2, DType::I32)}));
        b.set(steps, add(b.get(steps), loop::int_const(1, DType::I32)));
      });
      b.store(y, {i}, b.get(steps));
    });
  });
  with("nested_lanes", [](Maker& m, Builder& b) {
    Buffer x = m.in("x", DType::F32, {20, 6}), y = m.out("y", DType::F32, {20});
    b.for_(
        "i", c_(20),
        [&](Expr i) {
          Buffer s = b.cell("s", f_(0));
          b.for_(
              "j", c_(6), [&](Expr j) { b.set(s, add(b.get(s), load(x, {i, j}))); },
              LoopKind::Vectorized);
          b.store(y, {i}, b.get(s));
        },
        LoopKind::Vectorized);
  });
  with("bool_masks", [](Maker& m, Builder& b) {
    Buffer p = m.in("p", DType::Bool, {70}), x = m.in("x", DType::I64, {70}),
           y = m.out("y", DType::I64, {70}), q = m.out("q", DType::Bool, {70});
    b.for_(
        "j", c_(70),
        [&](Expr j) {
          Expr big = op(Prim::Gt, {load(x, {j}), c_(2)});
          b.store(y, {j}, loop::select(load(p, {j}), load(x, {j}), c_(-1)));
          b.store(q, {j}, op(Prim::Xor, {load(p, {j}), big}));
        },
        LoopKind::Vectorized);
  });
  with("lane_number_as_value", [](Maker& m, Builder& b) {
    Buffer y = m.out("y", DType::I32, {40}), z = m.out("z", DType::F32, {40}),
           w = m.out("w", DType::I64, {40});
    b.for_range(
        "j", c_(0), c_(40),
        [&](Expr j) {
          b.store(y, {j}, loop::cast(j * c_(3) + 1, DType::I32));
          b.store(z, {j}, loop::cast(j, DType::F32));
          b.store(w, {j}, loop::imod(j * c_(7), c_(5)));
        },
        LoopKind::Vectorized);
  });
  with("bitcast_view", [](Maker& m, Builder& b) {
    Buffer x = m.in("x", DType::F32, {20}), y = m.out("y", DType::I32, {20});
    b.for_(
        "j", c_(20), [&](Expr j) { b.store(y, {j}, loop::bitcast(load(x, {j}), DType::I32)); },
        LoopKind::Vectorized);
  });
  with("prefetch", [](Maker& m, Builder& b) {
    Buffer x = m.in("x", DType::F32, {64}), y = m.out("y", DType::F32, {64});
    b.for_("i", c_(4), [&](Expr i) {
      b.for_(
          "j", c_(16), [&](Expr j) { b.store(y, {i * c_(16) + j}, load(x, {i * c_(16) + j})); },
          LoopKind::Vectorized);
    });
    auto s = std::make_unique<loop::Stmt>();
    s->kind = loop::Stmt::Kind::Intrinsic;
    s->name = "prefetch";
    s->args = {load(x, {c_(0)})};
    m.c.kernel.body[0]->body.push_back(std::move(s));
  });
  struct Dot {
    const char* name;
    DType a, b;
  };
  for (Dot d : {Dot{"dot4_u8s8", DType::U8, DType::I8}, Dot{"dot4_s8s8", DType::I8, DType::I8},
                Dot{"dot4_u8u8", DType::U8, DType::U8}}) {
    for (int lanes : {1, 4, 16, 21}) {
      with(std::string(d.name) + "_" + std::to_string(lanes), [&](Maker& m, Builder& b) {
        Buffer x = m.in("x", d.a, {3, 20}), w = m.in("w", d.b, {5, lanes, 4}),
               y = m.out("y", DType::I32, {3, lanes});
        for (int i : {0, 1}) {  // the whole range of a byte
          for (int64_t e = 0; e < m.c.buffers[i].size(); ++e) m.c.buffers[i].set_i64(e, e * 37 + i);
        }
        b.for_("i", c_(3), [&](Expr i) {
          b.for_("k", c_(5), [&](Expr k) {
            b.for_("j", c_(lanes), [&](Expr) {}, LoopKind::Vectorized);
            (void)k;
          });
          (void)i;
        });
        auto* k_loop = m.c.kernel.body[0]->body[0].get();
        auto* j_loop = k_loop->body[0].get();
        Expr i = loop::var_ref(m.c.kernel.body[0]->var), k = loop::var_ref(k_loop->var),
             j = loop::var_ref(j_loop->var);
        auto s = std::make_unique<loop::Stmt>();
        s->kind = loop::Stmt::Kind::Intrinsic;
        s->name = d.name;
        s->args = {load(y, {i, j}), load(x, {i, k * c_(4)}), load(w, {k, j, c_(0)})};
        j_loop->body.push_back(std::move(s));
      });
    }
  }
  with("nothing", [](Maker& m, Builder&) { m.out("y", DType::F32, {4}); });
  with("empty_extent", [](Maker& m, Builder& b) {
    Expr n = m.symbol("n", 0);
    Buffer y = m.add("y", DType::F32, {n}, {0}, true);
    b.for_("i", n, [&](Expr i) { b.store(y, {i}, f_(1)); }, LoopKind::Parallel);
  });
  return all;
}

KernelCase random_kernel(uint64_t seed) {
  std::mt19937_64 r(seed);
  auto pick = [&](int n) { return static_cast<int>(r() % static_cast<uint64_t>(n)); };
  Maker m("random_" + std::to_string(seed));
  Builder b(&m.c.kernel);
  const DType types[] = {DType::F32, DType::I32, DType::F64, DType::I8, DType::F16};
  const DType t = types[pick(5)];
  const int rows = 1 + pick(9), cols = 1 + pick(70);
  const int lanes = 1 + pick(40);
  Buffer x = m.in("x", t, {rows, cols}), w = m.in("w", t, {cols}), v = m.in("v", t, {cols, rows});
  Buffer y = m.out("y", t, {rows, cols}), z = m.out("z", t, {rows}),
         u = m.out("u", t, {cols, rows});
  std::function<Expr(int, Expr, Expr)> expr = [&](int depth, Expr i, Expr j) -> Expr {
    if (depth == 0) {
      switch (pick(6)) {
        case 0:
          return load(x, {i, j});
        case 1:
          return load(w, {j});
        case 2:
          return load(v, {j, i});
        case 3:
          return load(x, {i, c_(cols - 1) - j});
        case 4:
          return loop::cast(j, t);
        default:
          return is_float(t) ? f_(pick(5) - 2, t) : int_const(pick(5) - 2, t);
      }
    }
    auto sub = [&] { return expr(depth - 1, i, j); };
    switch (pick(7)) {
      case 0:
        return op(Prim::Add, {sub(), sub()});
      case 1:
        return op(Prim::Sub, {sub(), sub()});
      case 2:
        return op(Prim::Max, {sub(), sub()});
      case 3:
        return op(Prim::Min, {sub(), sub()});
      case 4:
        return loop::select(op(Prim::Lt, {sub(), sub()}), sub(), sub());
      case 5: {
        const int shift = pick(5);
        return loop::guard(loop::ge(j, c_(shift)), load(x, {i, loop::imax(j - shift, c_(0))}),
                           sub());
      }
      default:
        return loop::guard(op(Prim::Gt, {load(w, {j}), loop::zero(t)}), sub(), sub());
    }
  };
  b.for_(
      "i", c_(rows),
      [&](Expr i) {
        Buffer s = b.cell("s", loop::zero(t));
        const bool guarded = pick(2);
        const int whole = cols / lanes;
        auto piece = [&](Expr jo, int n, bool tail) {
          b.for_(
              "j", c_(n),
              [&](Expr j) {
                Expr at = jo * c_(lanes) + j;
                auto work = [&] {
                  Expr e = b.let("e", expr(3, i, at));
                  b.store(y, {i, at}, e);
                  b.store(u, {at, i}, op(Prim::Add, {e, load(w, {at})}));
                  b.set(s, op(Prim::Add, {b.get(s), load(x, {i, at})}));
                };
                if (tail)
                  b.if_(loop::lt(at, c_(cols)), work);
                else
                  work();
              },
              LoopKind::Vectorized);
        };
        if (guarded) {
          b.for_("jo", c_((cols + lanes - 1) / lanes), [&](Expr jo) { piece(jo, lanes, true); });
        } else {
          b.for_("jo", c_(whole), [&](Expr jo) { piece(jo, lanes, false); });
          if (cols % lanes) piece(c_(whole), cols % lanes, false);
        }
        b.store(z, {i}, b.get(s));
      },
      LoopKind::Parallel);
  return std::move(m.c);
}

std::vector<KernelCase> primitive_cases() {
  constexpr Prim kPrims[] = {
#define X(n, a, s) Prim::n,
      TENFOLD_PRIMS(X)
#undef X
  };
  const double special[] = {
      0.0,  -0.0, 1,   -1,  0.5,  -0.5, INFINITY, -INFINITY,         NAN,  1e-40,   -1e-310,
      1e38, -3.5, 2.5, 710, -745, 88.5, -104,     3.141592653589793, 1e10, 0.99999, 1e300,
      -2.5, 1e-5};
  std::vector<KernelCase> all;
  const int64_t n = 301;
  for (DType t : {DType::F32, DType::F64, DType::F16, DType::BF16, DType::I8, DType::I32,
                  DType::I64, DType::U16, DType::F8E5M2, DType::C64}) {
    for (Prim p : kPrims) {
      if (!supports(p, t)) continue;
      Maker m(std::string(name(p)) + "_" + std::string(name(t)));
      Builder b(&m.c.kernel);
      std::vector<Buffer> in;
      for (int a = 0; a < arity(p); ++a) {
        in.push_back(
            m.in("x" + std::to_string(a), p == Prim::Select && a == 0 ? DType::Bool : t, {n}));
        Literal& l = m.c.buffers.back();
        std::mt19937_64 r(static_cast<uint64_t>(a) + 5);
        for (int64_t i = 0; i < n; ++i) {
          const double u = static_cast<double>(static_cast<int64_t>(r())) * 0x1p-63;
          const double v = r() % 3 == 0 ? special[r() % 24] : r() % 2 ? u * 30 : u;
          if (is_complex(l.dtype()))
            l.set_c128(i, {v, u});
          else if (is_float(l.dtype()))
            l.set_f64(i, v);
          else if (l.dtype() == DType::Bool)
            l.set_i64(i, static_cast<int64_t>(r() & 1));
          else
            l.set_i64(i, r() % 3 ? static_cast<int64_t>(r() % 19) - 9 : static_cast<int64_t>(r()));
        }
      }
      Buffer out = m.out("out", result_dtype(p, t), {n});
      b.for_("io", c_((n + 15) / 16), [&](Expr io) {
        b.for_(
            "ii", c_(16),
            [&](Expr ii) {
              Expr i = io * c_(16) + ii;
              b.if_(loop::lt(i, c_(n)), [&] {
                std::vector<Expr> args;
                for (const Buffer& x : in) args.push_back(load(x, {i}));
                b.store(out, {i}, op(p, args));
              });
            },
            LoopKind::Vectorized);
      });
      all.push_back(std::move(m.c));
    }
  }
  return all;
}

}  // namespace tenfold
