// From device ops to instructions, tensors placed afterwards. Addresses carry the number of their
// tensor in the high bits until finish() knows where each one lies.
#pragma once

#include "backends/tpu/matrix/compile.h"
#include "backends/tpu/matrix/plan.h"

namespace tenfold::tpu::matrix {

struct Tensor {
  int64_t base = 0;            // byte address, see above
  std::vector<int64_t> dims;   // logical
  std::vector<int64_t> order;  // of the dimensions in memory, slowest first; dense
  std::vector<int64_t> strides() const;
  int64_t bytes() const;
};

class Emitter {
 public:
  Emitter(const Chip& chip, Constants& c, Planner& planner, bool values)
      : chip_(chip), c_(c), planner_(planner), values_(values) {}

  // The order of dimensions that tensors of this rank have unless an op wants another.
  std::function<std::vector<int64_t>(int64_t rank)> usual_order;
  // Brings a value that is not on the chip there (reads it from the host).
  std::function<Status(const Value*)> fetch;

  Tensor make(std::vector<int64_t> dims, std::vector<int64_t> order);
  std::map<const Value*, Tensor> tensors;  // on the chip
  Program program;

  Status emit(const Value* v, const Plan& plan);
  void read(const Tensor& t) { touch(t.base); }  // by the next instruction
  // Places tensors and weights. Error: matrix-memory.
  Status finish();

 private:
  Status product(const Value* v, const Product& p);
  Status pool(const Value* v, const PoolPlan& p);
  Status map(const Value* v);
  Result<Tensor> on_chip(const Value* v);
  Result<Tensor> on_chip(const Value* v, const std::vector<int64_t>& order);  // a copy if need be
  Result<Tensor> left_operand(const Product& p, const std::vector<int64_t>& order);
  Status write_pieces(const Value* v, const Value* root, const std::vector<Piece>& pieces,
                      const Tensor& out, bool plain, int64_t fill);
  Status write_piece(const Piece& piece, const Tensor& out, int64_t table, int64_t fill);
  void multiply(const Window& w, const Product& p, const Tensor& out, int64_t features);
  StridesOf strides_of();
  Densify densify();
  void restore();
  int64_t add_data(const void* bytes, size_t n);
  template <class List>
  int64_t add(List& list, const typename List::value_type& r) {
    list.push_back(r);
    return static_cast<int64_t>(list.size()) - 1;
  }
  void inst(Opcode op, std::initializer_list<int64_t> a);
  void touch(int64_t address);

  const Chip& chip_;
  Constants& c_;
  Planner& planner_;
  bool values_;
  struct Life {
    int64_t bytes;
    int32_t first, last;
  };
  std::vector<Life> lives_;  // by number of tensor
  // Leaves whose bytes a copy stands for while one op is emitted.
  std::map<const Value*, Tensor> moved_;
  int64_t flip_ = 0;  // which half of the accumulators comes next
};

}  // namespace tenfold::tpu::matrix
