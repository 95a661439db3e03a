// The device ops of a graph, each found from the int8 value it gives, before anything is placed.
#pragma once

#include <map>
#include <variant>

#include "backends/tpu/matrix/match.h"

namespace tenfold::tpu::matrix {

// A value as an int8 tensor on the chip, read through views: one address, a stride a dimension.
struct Access {
  const Value* leaf = nullptr;
  int64_t offset = 0;
  std::vector<int64_t> strides;  // bytes, a dimension of the value it stands for
};

// A box of a value, and the int8 values it is computed from, element by element.
struct Piece {
  std::vector<int64_t> start, dims;
  std::vector<Access> in;           // none: constant
  std::map<const Op*, int> choice;  // operand of a concatenate or pad that this box comes from
};

// Where a leaf lies: dense strides by its own dimensions.
using StridesOf = std::function<std::vector<int64_t>(const Value*)>;
// A copy of `piece`, dense in the order of its dimensions, as a fresh access; for views that
// strides cannot express. Null in planning: the dense strides stand for it.
using Densify = std::function<Access(const Value* v, const Piece& piece)>;

struct Product {
  const Op* op = nullptr;    // convolution or dot_general
  const Value* x = nullptr;  // its left operand, up to views int8 on the chip
  Centred left;
  Literal weights;  // int8, of the right operand's shape; empty when values are not wanted
  std::vector<int64_t> weight_dims;
  std::vector<double> scale;  // by output feature, or one
  std::vector<double> bias;   // likewise; empty: none
  int64_t zero = 0, low = 0, high = 0;
};

struct PoolPlan {
  const Op* op = nullptr;    // reduce_window or reduce
  const Value* x = nullptr;  // int8
  Centred in;
  bool mean = false;
  double divisor = 1, out_scale = 1;
  int64_t zero = 0, low = 0, high = 0;
  bool table = false;  // a table of the remaining function follows (maximum)
};

struct MapPlan {};

struct Plan {
  std::variant<std::monostate, Product, PoolPlan, MapPlan> what;
  std::vector<const Value*> leaves;  // int8 values it reads
  std::string reason;                // why there is none
};

class Planner {
 public:
  Planner(Constants& c, bool values) : c_(c), values_(values) {}
  // For an int8 value that an op of the function's body defines.
  Plan plan(const Value* v);

  // The pieces of `v` in terms of int8 values below it, `v` itself excepted. False: why() says.
  bool pieces(const Value* v, const Value* root, const StridesOf& strides, const Densify& densify,
              std::vector<Piece>& out);
  // The function of `v` on one piece at the given values of its leaves, in the order of piece.in.
  std::optional<Literal> function(const Value* v, const Value* root, const Piece& piece,
                                  const std::vector<Literal>& leaves);
  const std::string& why() const { return why_; }

 private:
  bool product(const Value* v, Plan& plan);
  bool pool(const Value* v, Plan& plan);
  bool map(const Value* v, Plan& plan);
  bool weights(const Value* v, int64_t axis, Product& p, std::vector<double>& scale);
  const Value* find_product(const Value* v);
  bool fail(std::string why) {
    why_ = std::move(why);
    return false;
  }

  Constants& c_;
  bool values_;
  std::string why_;
};

bool is_view(const Op& op);  // that pieces() looks through
std::vector<int64_t> dims_of(const Value* v);
// The primitive that a reducer region applies, when it is one op on its two arguments.
std::optional<Prim> reducer_of(const Op& op);

}  // namespace tenfold::tpu::matrix
