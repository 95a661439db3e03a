// Loops over subgraphs: carried values whose shapes may change, and results stacked round by round.
#pragma once

#include <functional>

#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

struct LoopSpec {
  std::vector<Value*> carried;    // initial values
  Value* trip = nullptr;          // i64 scalar; null: no limit
  std::optional<Dim> max_rounds;  // a bound on the rounds, when there is one
  Value* condition = nullptr;     // bool scalar to begin with; null: true
  std::vector<bool> reversed;     // one a stacked result: filled from the end
  bool cut = true;                // stacked results have as many rows as rounds ran
  struct Step {
    Value* condition = nullptr;  // null: true
    std::vector<Value*> carried, stacked;
  };
  // Builds one round. May throw NodeError; may be called again when shapes turn out to change.
  std::function<Step(GraphBuilder&, Value* round, Value* condition,
                     const std::vector<Value*>& carried)>
      body;
};

struct LoopResult {
  std::vector<Value*> carried, stacked;
};

LoopResult build_loop(NodeContext& n, const LoopSpec& spec);

// Names of symbols that come to life inside a block (and its regions).
std::vector<std::string> symbols_bound_in(const Block& block);
bool mentions(const Dim& d, const std::vector<std::string>& symbols);
// x's element `at` (i64 scalar) along `axis`, that dimension dropped.
Value* element_at(GraphBuilder& b, Value* x, Value* at, int64_t axis);
// buffer with `item` (one dimension less) written at `at` along dimension 0.
Value* put_row(GraphBuilder& b, Value* buffer, Value* item, Value* at);

}  // namespace tenfold::onnx
