// See run_loops.h.
#include "run_loops.h"

#include <algorithm>

#include "loop/interp.h"
#include "passes/lower/emit_kernel.h"

namespace tenfold::testing {

bool runs_as_loops(const Op& op) {
  const OpDef& d = *op.def;
  if (d.kind == OpKind::Constant && op.attr("value")) {
    return op.lit("value").size() > 0 && op.lit("value").is_splat();
  }
  return d.prim || d.element || d.emit;
}

Result<std::vector<Literal>> run_loops(Op* op, const std::vector<Literal>& args,
                                       const Dim::Env& symbols) {
  Group g;
  g.root = op;
  g.members = {op};
  if (op->def->emit) g.hero = op;
  TF_ASSIGN(EmittedKernel k, emit_kernel(g, "subject"));
  TF_TRY(loop::verify(k.kernel));
  std::vector<Literal> buffers;
  for (const Value* v : k.params) {
    if (v->def() == op) {
      std::vector<int64_t> dims;
      for (const Dim& d : v->type.shape) {
        const auto n = d.eval(symbols);
        if (!n) return Error{"test", "cannot evaluate the dimension " + d.str(), {}, {}};
        dims.push_back(*n);
      }
      buffers.emplace_back(v->type.dtype, dims);
    } else if (v->def()) {
      buffers.push_back(v->def()->lit("value"));
    } else {
      buffers.push_back(args[v->index()]);
    }
  }
  std::vector<Literal*> pointers;
  for (Literal& b : buffers) pointers.push_back(&b);
  std::vector<int64_t> sizes;
  for (const SymbolRef& s : k.symbols) sizes.push_back(symbols(*s).value_or(-1));
  TF_TRY(loop::interpret(k.kernel, pointers, sizes, {.check_independence = true}));
  std::vector<Literal> out;
  for (int i = 0; i < op->num_results(); ++i) {
    const auto at = std::find(k.params.begin(), k.params.end(), op->result(i));
    if (at == k.params.end()) return Error{"test", "a result has no buffer", {}, {}};
    out.push_back(buffers[at - k.params.begin()]);
  }
  return out;
}

}  // namespace tenfold::testing
