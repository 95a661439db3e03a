// See chain.h.
#include "backends/tpu/chain.h"

#include <algorithm>
#include <unordered_map>

#include "backends/tpu/stage.h"
#include "loop/walk.h"

namespace tenfold::tpu {

using loop::Stmt;
using loop::VarDef;

namespace {

const Stmt* grid_loop(const Nest& n, const VarDef* v) {
  for (const Stmt* l : n.grid)
    if (l->var.get() == v) return l;
  return nullptr;
}

// The dimensions of a parameter that step with v alone; -1 where v comes in otherwise, -2 not at
// all.
int dimension_of(const Nest& n, const Param& p, const VarDef* v) {
  for (size_t d = 0; d < p.steps_with.size(); ++d)
    if (p.steps_with[d] == v) return static_cast<int>(d);
  return uses_variable(n.kernel, p.buffer, v) ? -1 : -2;
}

}  // namespace

std::optional<Nest> make_chain(std::vector<Nest>* taken, const Chip& chip,
                               const std::function<bool(const Value*)>& is_private, bool commit) {
  std::vector<Nest>& links = *taken;
  auto chain = std::make_shared<Chain>();
  Nest all;
  std::unordered_map<const Value*, int> inside, outside;
  // The first link's result gives the axes; each later link keeps those that it shares.
  const Param* first = nullptr;
  for (const Param& p : links[0].params)
    if (p.written) first = &p;
  if (!first || first->layout.dims.size() < 2) return std::nullopt;
  const size_t rank = first->layout.dims.size();
  struct Candidate {
    int64_t extent;
    bool rows;
    std::vector<const VarDef*> vars;
  };
  std::vector<Candidate> axes;
  std::unordered_map<const Value*, std::vector<std::pair<size_t, int>>> steps;  // axis, dimension
  for (size_t d = 0; d + 1 < rank; ++d) {
    const int64_t extent = first->layout.dims[d];
    const VarDef* v = first->steps_with[d];
    if (extent < 2 || !v || !grid_loop(links[0], v)) continue;
    steps[first->value].emplace_back(axes.size(), static_cast<int>(d));
    axes.push_back({extent, d + 2 == rank, {v}});
  }
  std::vector<bool> good(axes.size(), true);
  for (size_t k = 0; k < links.size(); ++k) {
    Nest& n = links[k];
    for (size_t a = 0; a < axes.size(); ++a) {
      if (!good[a]) continue;
      const VarDef* v = k == 0 ? axes[a].vars[0] : nullptr;
      bool fine = true;
      if (k > 0) {
        // By the values that earlier links made.
        for (const Param& p : n.params) {
          if (p.written || !is_private(p.value)) continue;
          for (auto [axis, d] : steps[p.value]) {
            if (axis != a) continue;
            const VarDef* w = p.steps_with[static_cast<size_t>(d)];
            if (!w || (v && w != v)) fine = false;
            v = w;
          }
        }
        axes[a].vars.push_back(v);
      }
      const Stmt* l = v ? grid_loop(n, v) : nullptr;
      if (!fine || !l || extent_of(*l) != axes[a].extent) {
        good[a] = false;
        continue;
      }
      for (const Param& p : n.params) {
        const int d = dimension_of(n, p, v);
        if (d == -1 || (d == -2 && p.written)) good[a] = false;
        if (d >= 0 && (p.written || !is_private(p.value))) steps[p.value].emplace_back(a, d);
      }
      // Outer loops are cut into single iterations, rows into whole tiles of lanes.
      const Role role = n.roles.role(v);
      if (!axes[a].rows && role != Role::Scalar && !make_scalar(n, v, chip)) good[a] = false;
    }
  }
  std::vector<int> number(axes.size(), -1);
  for (size_t a = 0; a < axes.size(); ++a) {
    if (!good[a]) continue;
    Chain::Axis x;
    x.extent = axes[a].extent;
    x.unit = axes[a].rows ? kLanes : 1;
    if (x.extent % x.unit != 0) continue;
    auto var = std::make_shared<VarDef>();
    var->name = axes[a].rows ? "rows" : "outer";
    x.var = var;
    number[a] = static_cast<int>(chain->axes.size());
    chain->axes.push_back(std::move(x));
    all.roles.of[var.get()] = axes[a].rows ? Role::Lane : Role::Scalar;
  }
  if (chain->axes.empty()) return std::nullopt;

  for (size_t k = 0; k < links.size(); ++k) {
    ChainLink link;
    for (size_t a = 0; a < axes.size(); ++a)
      if (number[a] >= 0) link.vars.push_back(axes[a].vars[k]);
    for (const Param& p : links[k].params) {
      std::vector<int> by_dimension(p.layout.dims.size(), -1);
      if (is_private(p.value)) {
        for (auto [a, d] : steps[p.value])
          if (number[a] >= 0) by_dimension[static_cast<size_t>(d)] = number[a];
        for (int a : by_dimension)
          if (a >= 0 && p.layout.flat) return std::nullopt;
        auto [it, fresh] = inside.try_emplace(p.value, static_cast<int>(chain->values.size()));
        if (fresh) chain->values.push_back({p.value, p.layout, by_dimension});
        link.inside.push_back(it->second);
        link.outside.push_back(-1);
        continue;
      }
      for (size_t a = 0; a < axes.size(); ++a) {
        if (number[a] < 0) continue;
        const int d = dimension_of(links[k], p, axes[a].vars[k]);
        if (d >= 0) by_dimension[static_cast<size_t>(d)] = number[a];
      }
      auto [it, fresh] = outside.try_emplace(p.value, static_cast<int>(all.params.size()));
      if (fresh) {
        Param q = p;
        for (size_t d = 0; d < by_dimension.size(); ++d)
          q.steps_with[d] = by_dimension[d] < 0
                                ? nullptr
                                : chain->axes[static_cast<size_t>(by_dimension[d])].var.get();
        // A block of it must be whole tiles.
        const size_t r = by_dimension.size();
        for (size_t d = 0; d < r; ++d) {
          if (by_dimension[d] < 0) continue;
          const int64_t unit = chain->axes[static_cast<size_t>(by_dimension[d])].unit;
          if (q.layout.flat || (d + 2 >= r && unit != kLanes)) return std::nullopt;
        }
        all.params.push_back(std::move(q));
      } else {
        Param& q = all.params[static_cast<size_t>(it->second)];
        if (q.written != p.written || q.buffer->shape.size() != p.buffer->shape.size())
          return std::nullopt;
        // Read by several links, and not by all block by block: whole.
        for (size_t d = 0; d < by_dimension.size(); ++d) {
          const VarDef* v = by_dimension[d] < 0
                                ? nullptr
                                : chain->axes[static_cast<size_t>(by_dimension[d])].var.get();
          if (q.steps_with[d] != v) return std::nullopt;
        }
      }
      link.outside.push_back(it->second);
      link.inside.push_back(-1);
    }
    all.flops += links[k].flops;
    if (k == 0) all.name = links[k].name;
    if (commit) {
      link.nest = std::move(links[k]);
      link.nest.in_chain = true;
    }
    chain->links.push_back(std::move(link));
  }
  all.chain = std::move(chain);
  return all;
}

Layout chain_block(const Chain& c, const ChainValue& v, const std::vector<GridLoop>& grid) {
  std::vector<int64_t> dims = v.layout.dims;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (v.axis_of[d] < 0) continue;
    const auto a = static_cast<size_t>(v.axis_of[d]);
    if (grid[a].blocks() > 1) dims[d] = grid[a].block * c.axes[a].unit;
  }
  return layout_of(v.layout.dtype, dims, v.layout.flat);
}

int64_t chain_rows(const Nest& n, const Chip& chip, const std::vector<GridLoop>& grid) {
  const Chain& c = *n.chain;
  int64_t rows = 0, scratch = kTileRows;
  for (const ChainValue& v : c.values) rows += chain_block(c, v, grid).mem_rows();
  for (const ChainLink& l : c.links) {
    std::vector<GridLoop> own;
    for (size_t a = 0; a < c.axes.size(); ++a) {
      const int64_t unit = unit_of(l.nest, l.vars[a]);
      own.push_back({l.vars[a], c.axes[a].extent / unit, grid[a].block * c.axes[a].unit / unit});
    }
    scratch = std::max(scratch, scratch_of(l.nest, chip, own));
  }
  return rows + scratch;
}

}  // namespace tenfold::tpu
