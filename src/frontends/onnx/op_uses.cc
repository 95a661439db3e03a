// What ops a model is made of, for `tenfold check`.
#include <algorithm>

#include "frontends/onnx/importer.h"

namespace tenfold::onnx {

void Importer::note_use(const NodeContext::State& s, const OnnxName* entry, const Outputs& outs,
                        bool ok) {
  if (!noted_.insert(&s.node).second) return;
  OpUse use;
  use.op = s.domain.empty() ? s.node.op_type() : s.domain + "." + s.node.op_type();
  use.opset = s.opset;
  if (entry)
    for (int v : entry->versions)
      if (v <= s.opset) use.since = std::max(use.since, v);
  const auto note = [&](const Val& v) {
    std::string type = v.is_tensor() ? std::string(tenfold::name(v.tensor()->type.dtype)) : "";
    if (v.is_sequence() && v.element())
      type = "seq(" + std::string(tenfold::name(*v.element())) + ")";
    if (!type.empty() && std::find(use.types.begin(), use.types.end(), type) == use.types.end())
      use.types.push_back(type);
  };
  for (const std::string& in : s.node.input())
    if (const Val* v = s.scope.find(in)) note(*v);
  if (use.types.empty())
    for (const Val& v : outs) note(v);
  OpUse& all = uses_.try_emplace({use.op, use.opset, use.since, use.types}, use).first->second;
  ++all.nodes;
  all.refused += !ok;
}

std::vector<OpUse> Importer::uses() const {
  std::vector<OpUse> all;
  for (const auto& [key, use] : uses_) all.push_back(use);
  return all;
}

}  // namespace tenfold::onnx
