// Runs a kernel before and after its schedule on random data and compares every written parameter.
#pragma once

#include <gtest/gtest.h>

#include <random>

#include "loop/interp.h"
#include "loop/ir.h"
#include "loop/schedule.h"

namespace tenfold::loop {

inline Kernel kernel_of(std::string_view text) {
  auto k = parse_kernel(text, "test");
  if (!k.ok()) {
    ADD_FAILURE() << to_string(k.errors());
    return {};
  }
  return std::move(*k);
}

inline std::vector<Literal> random_data(const Kernel& k, const std::vector<int64_t>& symbols,
                                        uint64_t seed) {
  std::mt19937_64 rng(seed);
  Substitution s;
  for (size_t i = 0; i < symbols.size(); ++i) s.emplace_back(k.symbols[i], int_const(symbols[i]));
  std::vector<Literal> out;
  for (const Buffer& b : k.params) {
    std::vector<int64_t> dims;
    for (const Expr& e : b->shape) {
      int64_t n = 0;
      if (!is_const(substitute(e, s), &n)) ADD_FAILURE() << "shape of " << b->name;
      dims.push_back(n);
    }
    Literal l(b->dtype, dims);
    for (int64_t i = 0; i < l.size(); ++i) {
      const auto r = static_cast<int64_t>(rng() % 2001) - 1000;
      if (is_float(b->dtype))
        l.set_f64(i, static_cast<double>(r) / 137.0);
      else
        l.set_i64(i, r);
    }
    out.push_back(std::move(l));
  }
  return out;
}

// Empty when both give the same bits (or differ by at most `rtol` where that is positive).
inline std::string difference(const Kernel& a, const Kernel& b, const std::vector<int64_t>& symbols,
                              double rtol = 0) {
  auto run = [&](const Kernel& k, std::vector<Literal>& data) -> std::string {
    std::vector<Literal*> p;
    for (Literal& l : data) p.push_back(&l);
    Status s = interpret(k, p, symbols, {.check_independence = true});
    return s.ok() ? "" : to_string(s.errors());
  };
  auto x = random_data(a, symbols, 11), y = random_data(a, symbols, 11);
  if (std::string e = run(a, x); !e.empty()) return "before: " + e;
  if (std::string e = run(b, y); !e.empty()) return "after: " + e;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!a.param_written[i]) continue;
    if (rtol > 0 ? compare(y[i], x[i], rtol, rtol).mismatches > 0 : !x[i].same(y[i]))
      return a.params[i]->name + " differs";
  }
  return "";
}

// A primitive's answer, as a failure of the test when it refuses.
template <class T>
T must(Result<T> r, const Kernel& k) {
  if (r.ok()) return std::move(*r);
  ADD_FAILURE() << to_string(r.errors()) << "\n" << print(k);
  return T{};
}
inline std::string reason(const Errors& e) { return to_string(e); }
template <class T>
std::string refusal(Result<T> r) {
  return r.ok() ? "accepted" : to_string(r.errors());
}

}  // namespace tenfold::loop
