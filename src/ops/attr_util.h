// Reading attributes with defaults, and the small predicates that constraints are made of.
#pragma once

#include <algorithm>
#include <span>

#include "graph/op_def.h"

namespace tenfold {

// Attribute values with a fallback where the attribute is absent.
inline int64_t i64_or(const Op& op, std::string_view name, int64_t fallback) {
  const Attr* a = op.attr(name);
  return a && a->present() ? a->as<int64_t>() : fallback;
}
inline double f64_or(const Op& op, std::string_view name, double fallback) {
  const Attr* a = op.attr(name);
  return a && a->present() ? a->as<double>() : fallback;
}
inline std::string str_or(const Op& op, std::string_view name, std::string_view fallback) {
  const Attr* a = op.attr(name);
  return a && a->present() ? a->as<std::string>() : std::string(fallback);
}
inline DType type_or(const Op& op, std::string_view name, DType fallback) {
  const Attr* a = op.attr(name);
  return a && a->present() ? a->as<DType>() : fallback;
}
// A list; `n` copies of `fallback` where absent.
inline std::vector<int64_t> i64s_or(const Op& op, std::string_view name, size_t n,
                                    int64_t fallback) {
  const Attr* a = op.attr(name);
  if (!a || !a->present()) return std::vector<int64_t>(n, fallback);
  return a->as<std::vector<int64_t>>();
}
// A list of dimensions; plain integers are taken too.
inline std::vector<Dim> dims_or(const Op& op, std::string_view name, size_t n, int64_t fallback) {
  const Attr* a = op.attr(name);
  if (!a || !a->present()) return std::vector<Dim>(n, Dim(fallback));
  if (auto* ints = std::get_if<std::vector<int64_t>>(&a->v)) return {ints->begin(), ints->end()};
  return a->as<std::vector<Dim>>();
}

inline bool is_unique(std::vector<int64_t> v) {
  std::sort(v.begin(), v.end());
  return std::adjacent_find(v.begin(), v.end()) == v.end();
}
inline bool all_in_range(std::span<const int64_t> v, int64_t low, int64_t limit) {
  return std::all_of(v.begin(), v.end(), [&](int64_t x) { return low <= x && x < limit; });
}
inline bool contains(std::span<const int64_t> v, int64_t x) {
  return std::find(v.begin(), v.end(), x) != v.end();
}
inline std::vector<int64_t> concat(std::vector<int64_t> a, const std::vector<int64_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
// "[1, 2]"
inline std::string list_str(std::span<const int64_t> v) {
  std::string s = "[";
  for (size_t i = 0; i < v.size(); ++i) s += (i ? ", " : "") + std::to_string(v[i]);
  return s + "]";
}
inline std::string shape_str(const Shape& v) {
  std::string s = "[";
  for (size_t i = 0; i < v.size(); ++i) s += (i ? ", " : "") + v[i].str();
  return s + "]";
}
// Shapes that cannot be equal for any value of the symbols.
inline bool shapes_differ(Diag& diag, const Shape& a, const Shape& b) {
  if (a.size() != b.size()) return true;
  for (size_t i = 0; i < a.size(); ++i)
    if (!diag.equal(a[i], b[i])) return true;
  return false;
}

// Steps `index` through row-major `dims`; false after the last.
inline bool next_index(std::vector<int64_t>& index, const std::vector<int64_t>& dims) {
  for (size_t d = dims.size(); d-- > 0;) {
    if (++index[d] < dims[d]) return true;
    index[d] = 0;
  }
  return false;
}
inline int64_t element_count(const std::vector<int64_t>& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

}  // namespace tenfold
