// A dimension: a number, or an integer expression over named symbols with bounds.
//
// Kept canonical (sum of products of atoms with integer coefficients; an atom is a symbol or an
// opaque floordiv/mod/min/max/ceildiv of canonical expressions), so that equal expressions are
// usually equal as data and `n*2 - n == n`. Values are immutable and cheap to copy.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tenfold {

// A symbol is identified by its name within one module. Bounds are inclusive.
struct Symbol {
  std::string name;
  int64_t min = 0;
  int64_t max = INT64_MAX;  // INT64_MAX: unbounded
};
using SymbolRef = std::shared_ptr<const Symbol>;

class Dim {
 public:
  enum class AtomKind : uint8_t { Symbol, FloorDiv, Mod, Min, Max };
  struct Atom;  // {kind, SymbolRef or two Dims}
  using AtomRef = std::shared_ptr<const Atom>;
  // product of atoms (sorted, repeated for powers) times a coefficient
  struct Term {
    std::vector<AtomRef> atoms;
    int64_t coeff;
  };

  Dim() = default;
  Dim(int64_t c) : constant_(c) {}  // NOLINT: implicit by design
  static Dim symbol(SymbolRef s);
  static Dim symbol(std::string name, int64_t min = 0, int64_t max = INT64_MAX);

  bool is_const() const { return terms_.empty(); }
  int64_t value() const;  // TF_CHECKs is_const()
  std::optional<int64_t> constant() const;
  // The symbol when the expression is exactly one symbol.
  SymbolRef as_symbol() const;
  const std::vector<Term>& terms() const { return terms_; }  // without the constant
  int64_t constant_term() const { return constant_; }

  // Inclusive bounds derived from the symbols' bounds (saturating).
  int64_t min() const;
  int64_t max() const;

  using Env = std::function<std::optional<int64_t>(const Symbol&)>;
  std::optional<int64_t> eval(const Env& env) const;  // nullopt: unknown symbol or x/0
  Dim substitute(const std::function<std::optional<Dim>(const Symbol&)>& f) const;
  void collect_symbols(std::vector<SymbolRef>& out) const;  // unique by name, appended

  // "n", "2*n + 1", "floordiv(n, 2)", "min(n, 8)". parse() reads the same; unknown symbols are
  // looked up by `sym` (which may create them).
  std::string str() const;
  static Result<Dim> parse(std::string_view text,
                           const std::function<SymbolRef(std::string_view)>& sym);

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  Dim operator-() const { return Dim(0) - *this; }
  friend bool operator==(const Dim& a, const Dim& b);

 private:
  int64_t constant_ = 0;
  std::vector<Term> terms_;
  friend struct DimOps;
};

struct Dim::Atom {
  AtomKind kind;
  SymbolRef symbol;  // Symbol
  Dim a, b;          // the others
};

// Division rounding down; folds when exact (4*n / 2 == 2*n) or constant. b == 0 stays opaque.
Dim floordiv(const Dim& a, const Dim& b);
Dim ceildiv(const Dim& a, const Dim& b);  // floordiv(a + b - 1, b)
Dim mod(const Dim& a, const Dim& b);      // a - floordiv(a, b) * b, sign of b
Dim min(const Dim& a, const Dim& b);      // folded when the bounds decide
Dim max(const Dim& a, const Dim& b);
Dim product(const std::vector<Dim>& dims);

// Three-valued comparisons over all values the symbols' bounds allow.
enum class Truth : uint8_t { No, Yes, Unknown };
Truth equal(const Dim& a, const Dim& b);
Truth less(const Dim& a, const Dim& b);
Truth less_equal(const Dim& a, const Dim& b);

}  // namespace tenfold
