// Runs one op through its evaluator and through its loops on the interpreter, and compares both
// with expected numbers.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "graph/builder.h"
#include "loop/interp.h"
#include "passes/lower/emit_kernel.h"

namespace tenfold::test {

// Small, varied numbers that a script elsewhere computes just as well: multiples of 1/4 in
// [-1.25, 1.25].
inline Literal pattern(DType t, std::vector<int64_t> dims, int64_t step = 7) {
  Literal l(t, std::move(dims));
  for (int64_t i = 0; i < l.size(); ++i)
    l.set_f64(i, static_cast<double>(i * step % 11 - 5) * 0.25);
  return l;
}
inline Literal numbers(DType t, std::vector<int64_t> dims, const std::vector<double>& v) {
  Literal l(t, std::move(dims));
  EXPECT_EQ(l.size(), static_cast<int64_t>(v.size()));
  for (int64_t i = 0; i < l.size() && i < static_cast<int64_t>(v.size()); ++i) {
    if (is_integer(t) || t == DType::Bool)
      l.set_i64(i, static_cast<int64_t>(v[i]));
    else
      l.set_f64(i, v[i]);
  }
  return l;
}
inline Literal complexes(DType t, std::vector<int64_t> dims,
                         const std::vector<std::complex<double>>& v) {
  Literal l(t, std::move(dims));
  EXPECT_EQ(l.size(), static_cast<int64_t>(v.size()));
  for (int64_t i = 0; i < l.size(); ++i) l.set_c128(i, v[i]);
  return l;
}

// Evaluates ops one by one; regions too.
class PlainContext final : public EvalContext {
 public:
  std::map<std::string, int64_t> symbols;
  int64_t dim(const Dim& d) const override {
    const auto v = d.eval([&](const Symbol& s) -> std::optional<int64_t> {
      const auto it = symbols.find(s.name);
      if (it == symbols.end()) return std::nullopt;
      return it->second;
    });
    EXPECT_TRUE(v) << d.str();
    return v.value_or(0);
  }
  Result<std::vector<Literal>> run_region(const Block& b, std::vector<Literal> in) override {
    std::map<const Value*, Literal> values;
    for (size_t i = 0; i < in.size(); ++i) values[b.args[i].get()] = in[i];
    for (auto& o : b.ops) {
      if (o.get() == b.terminator()) break;
      PlainContext inner;
      inner.symbols = symbols;
      inner.op = o.get();
      for (const Value* v : o->operands()) inner.args.push_back(values.at(v));
      TF_ASSIGN(std::vector<Literal> out, o->def->eval(inner));
      for (size_t i = 0; i < out.size(); ++i) values[o->result(static_cast<int>(i))] = out[i];
    }
    std::vector<Literal> results;
    for (const Value* v : b.results()) results.push_back(values.at(v));
    return results;
  }
  Result<std::vector<Literal>> run_function(std::string_view, std::vector<Literal>) override {
    return Error{"test", "no functions here", {}, {}};
  }
  void bind_symbol(const Symbol& s, int64_t value) override { symbols[s.name] = value; }
};

class OpCase {
 public:
  OpCase() : function_(module_.add_function("main", true)), b(&module_, &function_->body) {}

  Value* arg(const Literal& l) { return arg(l, to_shape(l.dims())); }
  // An argument whose type has symbols; they are bound by the literal's shape.
  Value* arg(const Literal& l, const Shape& shape) {
    inputs_.push_back(l);
    Value* v = function_->body.add_arg({l.dtype(), shape});
    args_.push_back(v);
    for (size_t d = 0; d < shape.size(); ++d)
      if (const SymbolRef s = shape[d].as_symbol()) symbols_[s->name] = l.dims()[d];
    return v;
  }
  void bind(const std::string& symbol, int64_t value) { symbols_[symbol] = value; }

  // A region of `args` of scalar types.
  using Body = std::function<std::vector<Value*>(GraphBuilder&, const std::vector<Value*>&)>;
  void region(Op* op, const std::vector<DType>& args, const Body& body) {
    Block* block = op->add_region();
    std::vector<Value*> values;
    for (DType t : args) values.push_back(block->add_arg({t, {}}));
    GraphBuilder inner(&module_, block);
    inner.return_(body(inner, values));
    EXPECT_TRUE(inner.errors.empty()) << to_string(inner.errors);
  }
  void reducer(Op* op, Prim p, DType t) {
    region(op, {t, t}, [p](GraphBuilder& r, const std::vector<Value*>& a) {
      return std::vector<Value*>{r.binary(p, a[0], a[1])};
    });
  }

  Result<std::vector<Literal>> evaluate(Op* op) {
    PlainContext c;
    c.symbols = symbols_;
    c.op = op;
    for (const Value* v : op->operands()) c.args.push_back(value_of(v));
    return op->def->eval(c);
  }

  Result<std::vector<Literal>> run_loops(Op* op) {
    Group g;
    g.root = op;
    if (!op->def->element && !op->def->prim) g.hero = op;
    g.members.insert(op);
    TF_ASSIGN(EmittedKernel k, emit_kernel(g, "kernel"));
    text = loop::print(k.kernel);
    TF_TRY(loop::verify(k.kernel));
    PlainContext c;
    c.symbols = symbols_;
    std::vector<Literal> buffers;
    for (const Value* v : k.params) {
      if (v->def() == op) {
        Literal out(v->type.dtype, c.shape(v->type));
        std::memset(out.mutable_bytes(), 1, out.byte_count());
        buffers.push_back(std::move(out));
      } else {
        buffers.push_back(value_of(v));
      }
    }
    std::vector<Literal*> pointers;
    for (Literal& l : buffers) pointers.push_back(&l);
    std::vector<int64_t> symbols;
    for (const SymbolRef& s : k.symbols) symbols.push_back(symbols_.at(s->name));
    TF_TRY(loop::interpret(k.kernel, pointers, symbols, {.check_independence = true}));
    std::vector<Literal> out;
    for (int i = 0; i < op->num_results(); ++i)
      for (size_t p = 0; p < k.params.size(); ++p)
        if (k.params[p] == op->result(i)) out.push_back(buffers[p]);
    return out;
  }

  // Both ways, against `expected`.
  void expect(Op* op, const std::vector<Literal>& expected, double rtol = 0, double atol = 0) {
    ASSERT_TRUE(b.errors.empty()) << to_string(b.errors);
    const auto compare_all = [&](const char* how, const Result<std::vector<Literal>>& got) {
      ASSERT_TRUE(got.ok()) << how << ": " << to_string(got.errors()) << "\n" << text;
      ASSERT_EQ(got->size(), expected.size()) << how;
      for (size_t i = 0; i < expected.size(); ++i) {
        const Literal& x = (*got)[i];
        ASSERT_EQ(x.dtype(), expected[i].dtype()) << how << ", result " << i;
        ASSERT_EQ(x.dims(), expected[i].dims()) << how << ", result " << i;
        const Difference d = compare(x, expected[i], rtol, atol);
        EXPECT_EQ(d.mismatches, 0) << how << ", result " << i << ", first " << d.first << "\n got "
                                   << x.str(1000) << "\nwant " << expected[i].str(1000) << "\n"
                                   << text;
      }
    };
    text.clear();
    compare_all("evaluator", evaluate(op));
    compare_all("loops", run_loops(op));
  }

 private:
  Literal value_of(const Value* v) {
    for (size_t i = 0; i < args_.size(); ++i)
      if (args_[i] == v) return inputs_[i];
    return v->def()->lit("value");
  }
  Module module_;
  Function* function_;
  std::vector<Literal> inputs_;
  std::vector<const Value*> args_;
  std::map<std::string, int64_t> symbols_;

 public:
  GraphBuilder b;
  std::string text;  // of the last kernel
};

// The labels of the errors that building this op gives.
inline std::vector<std::string> labels(const GraphBuilder& b) {
  std::vector<std::string> out;
  for (const Error& e : b.errors) out.push_back(e.id);
  return out;
}

}  // namespace tenfold::test
