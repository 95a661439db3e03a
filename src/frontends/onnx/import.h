// Reads ONNX models. Everything that is wrong or unsupported in a model is reported at once.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "graph/ir.h"

namespace tenfold::onnx {

struct ImportOptions {
  // Fixed shapes by input name (--shape); -1 keeps that dimension as the model has it.
  std::map<std::string, std::vector<int64_t>> shapes;
  // Lengths of sequence inputs by name; their items become arguments NAME.0, NAME.1, ...
  std::map<std::string, int64_t> sequence_lengths;
  // Inputs whose values are fixed, by name: for what a model steers by values that a compiler must
  // know (axes, ranks). They stay arguments; a call with another value is refused at run time.
  std::map<std::string, Literal> values;
  // Optional inputs that are left empty.
  std::set<std::string> empty_optionals;
  // Inputs that have a default in the model and are to be arguments all the same.
  std::vector<std::string> override_defaults;
  int64_t max_constant_bytes = int64_t{1} << 30;  // one materialised (sparse, unpacked) constant
  int64_t fold_budget_bytes = int64_t{64} << 20;  // values computed during import
};

// One finding, with the fields that `check --json` prints.
struct Problem {
  std::string node, op;
  int opset = 0;
  std::string id, message;
};

// Nodes of one op and opset on the same element types, wherever they stand.
struct OpUse {
  std::string op;                  // "domain.Op", ai.onnx without its domain
  int opset = 0, since = 0;        // `since`: the opset that gave the op its meaning; 0: a function
  std::vector<std::string> types;  // of the tensors that go in, each once; of the results without
  int nodes = 0, refused = 0;
};

// Inputs whose fixed value or shape might let a refused model import. Callers that have the inputs
// at hand (`run`) put them into the options and try again.
struct ImportNeeds {
  std::set<std::string> values, shapes;
  bool empty() const { return values.empty() && shapes.empty(); }
};

// The module's main function has the graph's inputs (without initializers) as arguments and its
// outputs as results. Constants borrow the file's bytes and keep them alive.
Result<std::unique_ptr<Module>> import_onnx(const std::string& path,
                                            const ImportOptions& options = {},
                                            ImportNeeds* needs = nullptr);
// `folder` resolves external data (empty: external data is refused).
Result<std::unique_ptr<Module>> import_onnx_bytes(std::span<const std::byte> bytes,
                                                  const std::string& file_name,
                                                  const std::string& folder,
                                                  const ImportOptions& options = {},
                                                  ImportNeeds* needs = nullptr);
// The findings alone; empty when the model imports. `uses`: what the model's nodes are.
std::vector<Problem> check_onnx(const std::string& path, const ImportOptions& options = {},
                                std::vector<OpUse>* uses = nullptr);

}  // namespace tenfold::onnx
