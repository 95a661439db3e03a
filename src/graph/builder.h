// Builds graph ops with inferred types: what frontends and passes call.
#pragma once

#include "graph/op_def.h"

namespace tenfold {

class GraphBuilder {
 public:
  GraphBuilder(Module* m, Block* block) : module_(m), block_(block) {}
  Module* module() const { return module_; }
  Block* block() const { return block_; }
  // New ops go before `op` (null: at the end).
  void set_insertion(Block* b, Op* before = nullptr) { block_ = b, before_ = before; }
  // Stamped on each op built.
  Location loc;
  std::vector<std::string> origins;
  // Problems found by infer() while building: builders return a value of a best-guess type and
  // go on, so that all problems of a model are found at once. Check before using the module.
  Errors errors;

  // The general form. `results`: explicit result types (required when OpDef::explicit_results).
  Op* create(std::string_view op, std::vector<Value*> operands, AttrDict attrs = {},
             std::vector<TensorType> results = {});
  // Two-step form for ops with regions: create_open, fill the regions, then finish() infers.
  Op* create_open(std::string_view op, std::vector<Value*> operands, AttrDict attrs = {});
  Op* finish(Op* op, std::vector<TensorType> results = {});

  // Shorthands; all take and return values of this block.
  Value* constant(Literal l);
  Value* constant(DType t, double v);           // scalar
  Value* constant_i(DType t, int64_t v);        // scalar
  Value* splat(const TensorType& t, double v);  // constant scalar + broadcast_in_dim
  Value* full(Value* scalar, const Shape& shape);
  Value* dims_value(const std::vector<Dim>& dims, DType t = DType::I64);  // tenfold.dims, rank 1
  Value* dim_scalar(const Dim& d, DType t = DType::I64);                  // rank 0
  Dim bind_symbol(Value* i64_scalar, std::string_view stem, int64_t min, int64_t max);
  // A demand on sizes; nothing where it is sure to hold, an error where it is sure not to.
  void require(const SizeRule& rule, std::string_view what);
  Value* unary(Prim p, Value* x);             // elementwise op by its primitive
  Value* binary(Prim p, Value* a, Value* b);  // same shapes
  Value* compare(std::string_view direction, Value* a, Value* b);  // "LT" ..., by dtype
  Value* select(Value* pred, Value* on_true, Value* on_false);
  Value* convert(Value* x, DType t);             // no op when already t
  Value* reshape(Value* x, const Shape& shape);  // no op when equal
  Value* transpose(Value* x, const std::vector<int64_t>& perm);
  Value* broadcast_in_dim(Value* x, const Shape& shape, const std::vector<int64_t>& dims);
  // NumPy-style multidirectional broadcasting of both to one shape; symbolic dims that may be 1 or
  // equal are decided by bounds, else recorded as an error.
  std::pair<Value*, Value*> broadcast_pair(Value* a, Value* b);
  Shape broadcast_shapes(const Shape& a, const Shape& b);
  Value* broadcast_to(Value* x, const Shape& shape);  // right-aligned
  Value* slice(Value* x, const std::vector<Dim>& start, const std::vector<Dim>& limit,
               const std::vector<int64_t>& stride);
  Value* pad(Value* x, Value* scalar, const std::vector<Dim>& low, const std::vector<Dim>& high,
             const std::vector<int64_t>& interior);
  Value* concatenate(const std::vector<Value*>& xs, int64_t dim);
  Value* iota(const TensorType& t, int64_t dim);
  // Reduction by a primitive (Add, Mul, Max, Min, And, Or) with that primitive's identity.
  Value* reduce(Prim p, Value* x, const std::vector<int64_t>& dims, bool keep_dims = false);
  Value* dot_general(Value* lhs, Value* rhs, const std::vector<int64_t>& lhs_batch,
                     const std::vector<int64_t>& rhs_batch,
                     const std::vector<int64_t>& lhs_contract,
                     const std::vector<int64_t>& rhs_contract, std::optional<DType> result = {});
  Value* matmul(Value* a, Value* b);  // numpy.matmul rules
  // Calls `body` with the region's arguments; it must return the region's results.
  using RegionBody = std::function<std::vector<Value*>(GraphBuilder&, const std::vector<Value*>&)>;
  std::vector<Value*> if_(Value* pred, const RegionBody& then_body, const RegionBody& else_body);
  std::vector<Value*> while_(const std::vector<Value*>& init, const RegionBody& cond,
                             const RegionBody& body);
  // `name` e.g. "tenfold.softmax"; `decompose` builds the private decomposition function.
  std::vector<Value*> composite(std::string_view name, const std::vector<Value*>& args,
                                AttrDict attributes, const RegionBody& decompose);
  void return_(const std::vector<Value*>& values);  // terminator of the current block

 private:
  Op* open(std::string_view op, std::vector<Value*> operands, AttrDict attrs);
  std::vector<Value*> fill_region(Block* region, const std::vector<Value*>& like,
                                  const RegionBody& body);
  void fail(std::string id, std::string message);

  Module* module_;
  Block* block_;
  Op* before_ = nullptr;
};

}  // namespace tenfold
