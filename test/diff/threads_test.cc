// The same bits for any number of threads, and for any number of callers at once.
#include <thread>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "graph/builder.h"
#include "graph/text.h"
#include "ops/sample_util.h"
#include "random_graph.h"
#include "run_graph.h"

namespace tenfold::testing {
namespace {

class Net {
 public:
  Net() : main_(module->add_function("main", true)), b(module.get(), &main_->body) {}

  Value* weight(std::vector<int64_t> dims, double scale) {
    Literal l(DType::F32, std::move(dims));
    for (int64_t i = 0; i < l.size(); ++i) l.set_f64(i, rng_.normal() * scale);
    return b.constant(std::move(l));
  }
  Value* input(Shape s, std::vector<int64_t> dims) {
    args.push_back(sample_literal(rng_, DType::F32, std::move(dims), false));
    return main_->body.add_arg({DType::F32, std::move(s)}, "x");
  }
  Value* channels(Value* x, Value* per_channel, int64_t axis) {
    return b.broadcast_in_dim(per_channel, x->type.shape, {axis});
  }
  Value* relu(Value* x) {
    return b.binary(Prim::Max, x, b.full(b.constant(DType::F32, 0), x->type.shape));
  }
  Value* convolution(Value* x, int64_t out, int64_t size, int64_t stride, int64_t groups) {
    using V = std::vector<int64_t>;
    const int64_t in = x->type.shape[1].value(), low = size / 2;
    Value* w = weight({out, in / groups, size, size}, 0.2);
    Op* c = b.create("stablehlo.convolution", {x, w},
                     {{"window_strides", Attr{V{stride, stride}}},
                      {"padding", Attr{std::vector<Dim>{low, low, low, low}}},
                      {"input_batch_dimension", Attr{int64_t{0}}},
                      {"input_feature_dimension", Attr{int64_t{1}}},
                      {"input_spatial_dimensions", Attr{V{2, 3}}},
                      {"kernel_input_feature_dimension", Attr{int64_t{1}}},
                      {"kernel_output_feature_dimension", Attr{int64_t{0}}},
                      {"kernel_spatial_dimensions", Attr{V{2, 3}}},
                      {"output_batch_dimension", Attr{int64_t{0}}},
                      {"output_feature_dimension", Attr{int64_t{1}}},
                      {"output_spatial_dimensions", Attr{V{2, 3}}},
                      {"feature_group_count", Attr{groups}}});
    Value* y = c->result();
    return b.binary(Prim::Add, y, channels(y, weight({out}, 0.5), 1));
  }
  Value* linear(Value* x, int64_t out) {
    const int last = x->type.rank() - 1;
    Value* y =
        b.dot_general(x, weight({x->type.shape[last].value(), out}, 0.1), {}, {}, {last}, {0});
    return b.binary(Prim::Add, y, channels(y, weight({out}, 0.5), last));
  }
  Value* norm(Value* x) {
    const int last = x->type.rank() - 1;
    const int64_t n = x->type.shape[last].value();
    return b
        .create("tenfold.layer_norm", {x, weight({n}, 1), weight({n}, 1)},
                {{"axis", Attr{int64_t{last}}}, {"epsilon", Attr{1e-5}}})
        ->result();
  }
  void finish(Value* y) {
    b.return_({y});
    main_->result_names = {"y"};
    ASSERT_TRUE(b.errors.empty()) << to_string(b.errors);
  }

  std::unique_ptr<Module> module = std::make_unique<Module>();
  std::vector<Literal> args;

 private:
  Function* main_;
  Rng rng_{11};

 public:
  GraphBuilder b;
};

void conv_net(Net& net) {
  Value* x = net.input({Dim::symbol("n", 1), 3, 21, 19}, {2, 3, 21, 19});
  x = net.relu(net.convolution(x, 16, 3, 2, 1));
  Value* y = net.relu(net.convolution(x, 16, 3, 1, 16));
  y = net.convolution(y, 16, 1, 1, 1);
  x = net.b.binary(Prim::Add, x, y);
  x = net.relu(net.convolution(x, 24, 3, 1, 1));
  Value* pooled = net.b.reduce(Prim::Add, x, {2, 3});
  net.finish(net.b
                 .create("tenfold.softmax", {net.linear(pooled, 10)},
                         {{"axis", Attr{int64_t{1}}}, {"log", Attr{false}}})
                 ->result());
}

void transformer(Net& net) {
  const Dim n = Dim::symbol("n", 1);
  Value* x = net.input({n, 48}, {13, 48});
  Value* h = net.norm(x);
  const auto heads = [&](Value* v) {
    return net.b.transpose(net.b.reshape(v, {n, 4, 12}), {1, 0, 2});
  };
  Value* q = heads(net.linear(h, 48));
  Value* k = heads(net.linear(h, 48));
  Value* v = heads(net.linear(h, 48));
  Value* s = net.b.dot_general(q, k, {0}, {0}, {2}, {2});
  s = net.b.binary(Prim::Mul, s, net.b.full(net.b.constant(DType::F32, 0.288), s->type.shape));
  s = net.b.create("tenfold.softmax", {s}, {{"axis", Attr{int64_t{2}}}, {"log", Attr{false}}})
          ->result();
  Value* o = net.b.dot_general(s, v, {0}, {0}, {2}, {1});
  o = net.b.reshape(net.b.transpose(o, {1, 0, 2}), {n, 48});
  x = net.b.binary(Prim::Add, x, net.linear(o, 48));
  h = net.linear(net.norm(x), 96);
  h = net.b.binary(Prim::Mul, h, net.b.unary(Prim::Logistic, h));
  net.finish(net.b.binary(Prim::Add, x, net.linear(h, 48)));
}

void same_bits(Net& net) {
  announce("threads_test");
  auto want = reference(*net.module, net.args);
  ASSERT_TRUE(want.ok()) << to_string(want.errors());
  auto c = Compiled::make(*net.module, 3);
  ASSERT_TRUE(c.ok()) << to_string(c.errors());
  auto one = c->run(net.args, 1);
  ASSERT_TRUE(one.ok()) << to_string(one.errors());
  const Difference d = compare((*one)[0], want->results[0], 0, 0);
  EXPECT_LT(d.max_rel_to_peak, 1e-4);
  for (int threads : {2, 3, 2, 3}) {
    auto many = c->run(net.args, threads);
    ASSERT_TRUE(many.ok()) << to_string(many.errors());
    EXPECT_EQ(difference((*many)[0], (*one)[0], 0), "") << threads << " threads";
  }
  // Several callers, each with a context of its own, on one pool.
  auto pool = std::make_shared<rt::ThreadPool>(2);
  std::vector<std::string> wrong(4);
  std::vector<std::thread> callers;
  for (size_t t = 0; t < wrong.size(); ++t) {
    callers.emplace_back([&, t] {
      for (int i = 0; i < 5 && wrong[t].empty(); ++i) {
        auto r = run_once(c->executable(), pool, net.args);
        wrong[t] = r.ok() ? difference((*r)[0], (*one)[0], 0) : to_string(r.errors());
      }
    });
  }
  for (std::thread& t : callers) t.join();
  for (const std::string& w : wrong) EXPECT_EQ(w, "");
}

TEST(Threads, a_conv_net_has_the_same_bits_on_any_number_of_threads_and_callers) {
  Net net;
  conv_net(net);
  same_bits(net);
}

TEST(Threads, a_transformer_block_has_the_same_bits_on_any_number_of_threads_and_callers) {
  Net net;
  transformer(net);
  same_bits(net);
}

TEST(Threads, one_session_serves_many_callers_at_once) {
  Net net;
  transformer(net);
  SessionOptions options;
  options.threads = 2;
  auto session = Session::from_module(*net.module, options);
  ASSERT_TRUE(session.ok()) << to_string(session.errors());
  auto want = (*session)->run(net.args);
  ASSERT_TRUE(want.ok()) << to_string(want.errors());
  std::vector<std::string> wrong(4);
  std::vector<std::thread> callers;
  for (size_t t = 0; t < wrong.size(); ++t) {
    callers.emplace_back([&, t] {
      for (int i = 0; i < 5 && wrong[t].empty(); ++i) {
        auto r = (*session)->run(net.args);
        wrong[t] = r.ok() ? difference((*r)[0], (*want)[0], 0) : to_string(r.errors());
      }
    });
  }
  for (std::thread& t : callers) t.join();
  for (const std::string& w : wrong) EXPECT_EQ(w, "");
}

}  // namespace
}  // namespace tenfold::testing
