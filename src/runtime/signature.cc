#include "runtime/signature.h"

#include <algorithm>

namespace tenfold::rt {
namespace {

using Op = SizeExpr::Op;

int64_t apply(Op op, int64_t a, int64_t b) {
  auto u = [](int64_t v) { return static_cast<uint64_t>(v); };
  switch (op) {
    case Op::Add:
      return static_cast<int64_t>(u(a) + u(b));
    case Op::Sub:
      return static_cast<int64_t>(u(a) - u(b));
    case Op::Mul:
      return static_cast<int64_t>(u(a) * u(b));
    case Op::FloorDiv:
      return b ? a / b - (a % b != 0 && (a < 0) != (b < 0)) : 0;
    case Op::Mod:
      return b ? (a % b + b) % b : 0;
    case Op::Min:
      return std::min(a, b);
    default:
      return std::max(a, b);
  }
}

std::vector<TensorInfo> describe(const Program& p, const std::vector<int32_t>& buffers) {
  std::vector<TensorInfo> all;
  for (int32_t i : buffers) {
    const BufferInfo& b = p.buffers[static_cast<size_t>(i)];
    TensorInfo t{b.name, b.dtype, {}, {}};
    for (const auto& d : b.dims) {
      int64_t v = -1;
      if (!constant_size(d, &v)) v = -1;
      t.dims.push_back(v);
      t.dim_names.push_back(size_text(d, p));
    }
    all.push_back(std::move(t));
  }
  return all;
}

}  // namespace

std::vector<TensorInfo> inputs_of(const Program& p) { return describe(p, p.inputs); }
std::vector<TensorInfo> outputs_of(const Program& p) { return describe(p, p.outputs); }

bool constant_size(const SizeExpr& e, int64_t* v) {
  for (const auto& s : e.steps)
    if (s.op == Op::Sym) return false;
  *v = size_value(e, {});
  return true;
}

int64_t size_value(const SizeExpr& e, const std::vector<int64_t>& symbols) {
  std::vector<int64_t> stack;
  for (const auto& s : e.steps) {
    if (s.op == Op::Const) {
      stack.push_back(s.v);
    } else if (s.op == Op::Sym) {
      stack.push_back(symbols[static_cast<size_t>(s.v)]);
    } else {
      int64_t b = stack.back();
      stack.pop_back();
      stack.back() = apply(s.op, stack.back(), b);
    }
  }
  return stack.empty() ? 0 : stack.back();
}

std::string size_text(const SizeExpr& e, const Program& p) {
  struct Part {
    std::string text;
    int level = 2;  // 0: sum, 1: product, 2: atom
    bool number = false;
    int64_t value = 0;
  };
  auto number = [](int64_t v) { return Part{std::to_string(v), 2, true, v}; };
  auto in = [](const Part& part, int level) {
    return part.level < level ? "(" + part.text + ")" : part.text;
  };
  std::vector<Part> stack;
  for (const auto& s : e.steps) {
    if (s.op == Op::Const) {
      stack.push_back(number(s.v));
      continue;
    }
    if (s.op == Op::Sym) {
      stack.push_back({p.symbols[static_cast<size_t>(s.v)].name});
      continue;
    }
    Part b = stack.back();
    stack.pop_back();
    Part& a = stack.back();
    if (a.number && b.number) {
      a = number(apply(s.op, a.value, b.value));
      continue;
    }
    switch (s.op) {
      case Op::Add:
        if (a.number && a.value == 0)
          a = b;
        else if (b.number && b.value == 0)
          break;
        else if (b.number && b.value < 0 && b.value != INT64_MIN)
          a = {a.text + " - " + std::to_string(-b.value), 0};
        else
          a = {a.text + " + " + b.text, 0};
        break;
      case Op::Sub:
        a = {a.text + " - " + in(b, 1), 0};
        break;
      case Op::Mul:
        if (a.number && a.value == 1)
          a = b;
        else if (b.number && b.value == 1)
          break;
        else
          a = {in(a, 1) + "*" + in(b, 2), 1};
        break;
      case Op::FloorDiv:
        a = {"floordiv(" + a.text + ", " + b.text + ")"};
        break;
      case Op::Mod:
        a = {"mod(" + a.text + ", " + b.text + ")"};
        break;
      case Op::Min:
        a = {"min(" + a.text + ", " + b.text + ")"};
        break;
      default:
        a = {"max(" + a.text + ", " + b.text + ")"};
        break;
    }
  }
  return stack.empty() ? "" : stack.back().text;
}

}  // namespace tenfold::rt
