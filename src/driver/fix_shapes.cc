#include "driver/fix_shapes.h"

#include "base/text.h"

namespace tenfold {
namespace {

using Sizes = std::map<std::string, int64_t>;

void substitute(TensorType& t, const Sizes& sizes);

Dim substitute(const Dim& d, const Sizes& sizes) {
  return d.substitute([&](const Symbol& s) -> std::optional<Dim> {
    auto it = sizes.find(s.name);
    if (it == sizes.end()) return std::nullopt;
    return Dim(it->second);
  });
}

void substitute(TensorType& t, const Sizes& sizes) {
  for (Dim& d : t.shape) d = substitute(d, sizes);
}

void substitute(Block& b, const Sizes& sizes) {
  for (auto& a : b.args) substitute(a->type, sizes);
  for (auto& op : b.ops) {
    for (int i = 0; i < op->num_results(); ++i) substitute(op->result(i)->type, sizes);
    for (auto& [name, attr] : op->attrs)
      if (auto* dims = std::get_if<std::vector<Dim>>(&attr.v))
        for (Dim& d : *dims) d = substitute(d, sizes);
    for (int i = 0; i < op->num_regions(); ++i) substitute(*op->region(i), sizes);
  }
}

}  // namespace

Status fix_shapes(Module& m, const std::map<std::string, std::vector<int64_t>>& shapes) {
  if (shapes.empty()) return ok_status();
  Function* f = m.main();
  Errors errors;
  Sizes sizes;
  std::vector<std::string> names;
  for (auto& a : f->body.args) names.push_back(a->name);
  auto fail = [&](std::string message) {
    errors.push_back({"bad-shape-option", std::move(message), {m.source}, {}});
  };
  for (const auto& [name, shape] : shapes) {
    Value* arg = nullptr;
    for (auto& a : f->body.args)
      if (a->name == name) arg = a.get();
    if (!arg) {
      std::string near = nearest(name, names);
      fail("--shape names `" + name + "`, but the model has no such input; it has " +
           join(names, ", ") + (near.empty() ? "" : " (did you mean `" + near + "`?)"));
      continue;
    }
    if (shape.size() != arg->type.shape.size()) {
      fail("input `" + name + "` has " + std::to_string(arg->type.rank()) +
           " dimensions, --shape gives " + std::to_string(shape.size()));
      continue;
    }
    for (size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] < 0) continue;
      const Dim& d = arg->type.shape[i];
      if (SymbolRef s = d.as_symbol()) {
        auto [it, fresh] = sizes.emplace(s->name, shape[i]);
        if (shape[i] < s->min || shape[i] > s->max || (!fresh && it->second != shape[i]))
          fail("dimension " + std::to_string(i) + " of input `" + name + "` (" + s->name +
               ") cannot be " + std::to_string(shape[i]));
      } else if (!d.is_const() || d.value() != shape[i]) {
        fail("dimension " + std::to_string(i) + " of input `" + name + "` is " + d.str() +
             " in the model, --shape gives " + std::to_string(shape[i]));
      }
    }
  }
  if (!errors.empty()) return errors;
  for (auto& fn : m.functions) substitute(fn->body, sizes);
  return ok_status();
}

}  // namespace tenfold
