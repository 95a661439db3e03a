#include "backends/tpu/code/schedule.h"

#include <algorithm>
#include <limits>
#include <map>
#include <queue>

#include "base/result.h"

namespace tenfold::tpu::code {
namespace {

// Edges by their node, both ways.
struct Adjacency {
  std::vector<int> first;
  std::vector<int> edge;
  Adjacency(const Problem& p, bool by_source) : first(p.nodes.size() + 1, 0) {
    auto key = [&](const Edge& e) { return by_source ? e.from : e.to; };
    for (const Edge& e : p.edges) ++first[key(e) + 1];
    for (size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
    edge.resize(p.edges.size());
    std::vector<int> at(first.begin(), first.end() - 1);
    for (size_t i = 0; i < p.edges.size(); ++i) edge[at[key(p.edges[i])]++] = static_cast<int>(i);
  }
  struct Range {
    const int *b, *e;
    const int* begin() const { return b; }
    const int* end() const { return e; }
  };
  Range operator[](int node) const {
    return {edge.data() + first[node], edge.data() + first[node + 1]};
  }
};

// How much of each resource is taken in each cycle; `period` > 0 wraps the time around.
class Table {
 public:
  Table(const Problem& p, int period) : p_(p), period_(period), n_(p.capacity.size()) {
    if (period) used_.assign(n_ * period, 0);
  }
  bool fits(const ResourceUses& uses, int t) const {
    for (const ResourceUse& u : uses) {
      if (period_ && u.cycles > period_ * p_.capacity[u.resource]) return false;
      for (int c = 0; c < u.cycles; ++c) {
        int wanted = period_ ? 1 + (u.cycles - 1 - c) / period_ : 1;
        if (period_ && c >= period_) break;
        if (get(t + c, u.resource) + wanted > p_.capacity[u.resource]) return false;
      }
    }
    return true;
  }
  void add(const ResourceUses& uses, int t, int by) {
    for (const ResourceUse& u : uses) {
      for (int c = 0; c < u.cycles; ++c) at(t + c, u.resource) += static_cast<int16_t>(by);
    }
  }

 private:
  size_t index(int t, int r) const {
    int row = t;
    if (period_) row = t % period_;
    return static_cast<size_t>(row) * n_ + r;
  }
  int get(int t, int r) const {
    size_t i = index(t, r);
    return i < used_.size() ? used_[i] : 0;
  }
  int16_t& at(int t, int r) {
    size_t i = index(t, r);
    if (i >= used_.size()) used_.resize(std::max(used_.size() * 2, i + n_), 0);
    return used_[i];
  }
  const Problem& p_;
  int period_;
  size_t n_;
  std::vector<int16_t> used_;
};

// Longest way from each node to the end of its iteration, in cycles; edges of distance d count
// latency - d * ii. Needs ii >= the recurrences' bound.
std::vector<int> heights(const Problem& p, const Adjacency& out, int ii, bool loop) {
  int n = static_cast<int>(p.nodes.size());
  std::vector<int> h(n, 0);
  // Source order is a topological order of the distance-0 edges, so a backward sweep settles all
  // but the loop-carried ways; those take a few sweeps more.
  for (int sweep = 0; sweep <= n; ++sweep) {
    bool changed = false;
    for (int i = n - 1; i >= 0; --i) {
      for (int x : out[i]) {
        const Edge& e = p.edges[x];
        if (e.distance && !loop) continue;
        int v = h[e.to] + e.latency - e.distance * ii;
        if (v > h[i]) h[i] = v, changed = true;
      }
    }
    if (!changed || !loop) break;
  }
  return h;
}

// Is there a cycle whose latencies exceed ii * its distances? If so its nodes go to `cycle`.
bool positive_cycle(const Problem& p, const std::vector<int>& edges, int n, int ii,
                    std::vector<int>* cycle) {
  std::vector<int> d(n, 0), via(n, -1);
  int last = -1;
  for (int sweep = 0; sweep <= n; ++sweep) {
    last = -1;
    for (int x : edges) {
      const Edge& e = p.edges[x];
      int v = d[e.from] + e.latency - e.distance * ii;
      if (v > d[e.to]) d[e.to] = v, via[e.to] = x, last = e.to;
    }
    if (last < 0) return false;
    // A cycle among the `via` links is a positive one; looking now and then ends it early.
    if ((sweep & 7) != 7 && sweep != n) continue;
    std::vector<int> mark(n, 0);
    for (int s = 0; s < n; ++s) {
      int v = s;
      while (v >= 0 && !mark[v]) {
        mark[v] = s + 1;
        v = via[v] < 0 ? -1 : p.edges[via[v]].from;
      }
      if (v < 0 || mark[v] != s + 1) continue;
      if (cycle) {
        cycle->clear();
        int w = v;
        do {
          cycle->push_back(w);
          w = p.edges[via[w]].from;
        } while (w != v);
        std::reverse(cycle->begin(), cycle->end());
      }
      return true;
    }
  }
  return true;
}

// Edges inside strongly connected components: only those can lie on a cycle.
std::vector<int> edges_on_cycles(const Problem& p, const Adjacency& out) {
  int n = static_cast<int>(p.nodes.size()), clock = 0, component = 0;
  std::vector<int> order(n, -1), low(n, 0), comp(n, -1), stack;
  struct Frame {
    int node;
    const int* at;
  };
  std::vector<Frame> frames;
  for (int s = 0; s < n; ++s) {
    if (order[s] >= 0) continue;
    frames.push_back({s, out[s].begin()});
    order[s] = low[s] = clock++;
    stack.push_back(s);
    while (!frames.empty()) {
      Frame& f = frames.back();
      if (f.at != out[f.node].end()) {
        int to = p.edges[*f.at++].to;
        if (order[to] < 0) {
          order[to] = low[to] = clock++;
          stack.push_back(to);
          frames.push_back({to, out[to].begin()});
        } else if (comp[to] < 0) {
          low[f.node] = std::min(low[f.node], order[to]);
        }
        continue;
      }
      int v = f.node;
      frames.pop_back();
      if (!frames.empty()) low[frames.back().node] = std::min(low[frames.back().node], low[v]);
      if (low[v] == order[v]) {
        int w;
        do {
          w = stack.back();
          stack.pop_back();
          comp[w] = component;
        } while (w != v);
        ++component;
      }
    }
  }
  std::vector<int> edges;
  for (size_t i = 0; i < p.edges.size(); ++i) {
    if (comp[p.edges[i].from] == comp[p.edges[i].to]) edges.push_back(static_cast<int>(i));
  }
  return edges;
}

}  // namespace

Schedule list_schedule(const Problem& p, Priority priority) {
  int n = static_cast<int>(p.nodes.size());
  Schedule s;
  s.time.assign(n, 0);
  if (!n) return s;
  Adjacency out(p, true);
  std::vector<int> h;
  if (priority == Priority::Height) h = heights(p, out, 0, false);
  std::vector<int> missing(n, 0), earliest(n, 0);
  for (const Edge& e : p.edges) {
    if (!e.distance) ++missing[e.to];
  }
  // Ready nodes that hold the same resources compete among themselves only, so that a full
  // resource is not asked again for each of its nodes.
  struct Less {
    const std::vector<int>* h;
    bool operator()(int a, int b) const {
      if (!h->empty() && (*h)[a] != (*h)[b]) return (*h)[a] < (*h)[b];
      return a > b;
    }
  };
  using Ready = std::priority_queue<int, std::vector<int>, Less>;
  std::map<const ResourceUses*, Ready> ready;
  using Pending = std::pair<int, int>;  // cycle, node
  std::priority_queue<Pending, std::vector<Pending>, std::greater<>> pending;
  for (int i = 0; i < n; ++i) {
    if (!missing[i]) pending.push({0, i});
  }
  Table table(p, 0);
  int left = n, cycle = 0;
  // With Priority::Source nothing further than this after the first op not yet issued may start.
  constexpr int kWindow = 24;
  int oldest = 0;
  std::vector<char> issued(n, 0);
  while (left) {
    while (!pending.empty() && pending.top().first <= cycle) {
      int i = pending.top().second;
      pending.pop();
      ready.try_emplace(p.nodes[i], Ready(Less{&h})).first->second.push(i);
    }
    std::vector<const ResourceUses*> full;
    bool any = false;
    for (;;) {
      // The best head of all queues that still fit in this cycle.
      Ready* best = nullptr;
      const ResourceUses* uses = nullptr;
      for (auto& [u, q] : ready) {
        if (q.empty() || std::find(full.begin(), full.end(), u) != full.end()) continue;
        if (best && !Less{&h}(best->top(), q.top())) continue;
        best = &q, uses = u;
      }
      if (!best) break;
      int i = best->top();
      if (!table.fits(*uses, cycle) || (priority == Priority::Source && i > oldest + kWindow)) {
        full.push_back(uses);
        any = true;
        continue;
      }
      best->pop();
      table.add(*uses, cycle, 1);
      s.time[i] = cycle;
      issued[i] = 1;
      while (oldest < n && issued[oldest]) ++oldest;
      --left;
      for (int x : out[i]) {
        const Edge& e = p.edges[x];
        if (e.distance) continue;
        earliest[e.to] = std::max(earliest[e.to], cycle + e.latency);
        if (--missing[e.to]) continue;
        if (earliest[e.to] > cycle) {
          pending.push({earliest[e.to], e.to});
        } else {
          ready.try_emplace(p.nodes[e.to], Ready(Less{&h})).first->second.push(e.to);
        }
      }
    }
    s.length = cycle + 1;
    if (!left) break;
    TF_CHECK(any || !pending.empty(), "dependences form a cycle");
    cycle = any ? cycle + 1 : pending.top().first;
  }
  return s;
}

IntervalBound interval_bound(const Problem& p) {
  IntervalBound b;
  std::vector<int64_t> sum(p.capacity.size(), 0);
  for (const ResourceUses* uses : p.nodes) {
    for (const ResourceUse& u : *uses) sum[u.resource] += u.cycles;
  }
  for (size_t r = 0; r < sum.size(); ++r) {
    if (!sum[r]) continue;
    TF_CHECK(p.capacity[r] > 0, "a node wants a resource that the machine lacks");
    int ii = static_cast<int>((sum[r] + p.capacity[r] - 1) / p.capacity[r]);
    if (ii > b.resource_ii || b.resource < 0) {
      b.resource_ii = std::max(ii, 1), b.resource = static_cast<int>(r);
    }
  }
  Adjacency out(p, true);
  std::vector<int> edges = edges_on_cycles(p, out);
  int n = static_cast<int>(p.nodes.size());
  int low = 1, high = 1;
  while (positive_cycle(p, edges, n, high, &b.recurrence)) {
    low = high + 1;
    high *= 2;
    TF_CHECK(high < (1 << 24), "a cycle of dependences within one iteration");
  }
  while (low < high) {
    int mid = (low + high) / 2;
    if (positive_cycle(p, edges, n, mid, &b.recurrence)) {
      low = mid + 1;
    } else {
      high = mid;
    }
  }
  b.recurrence_ii = low;
  if (low > 1) positive_cycle(p, edges, n, low - 1, &b.recurrence);
  return b;
}

namespace {

// Moves nodes within their slack so that values are held for a shorter time. Whoever ends a chain
// (a store) was placed as early as it can be; what feeds it comes as late as it may.
void shorten_lives(const Problem& p, const Adjacency& in, const Adjacency& out, int ii,
                   Table* table, std::vector<int>* time) {
  int n = static_cast<int>(p.nodes.size());
  std::vector<int> order(n);
  for (int i = 0; i < n; ++i) order[i] = i;
  for (int round = 0; round < 2; ++round) {
    std::sort(order.begin(), order.end(), [&](int a, int b) {
      return (*time)[a] != (*time)[b] ? (*time)[a] > (*time)[b] : a > b;
    });
    for (int i : order) {
      int late = std::numeric_limits<int>::max(), early = 0;
      bool feeds = false;
      for (int x : out[i]) {
        const Edge& e = p.edges[x];
        if (e.to == i) continue;
        late = std::min(late, (*time)[e.to] - e.latency + e.distance * ii);
        feeds |= e.value;
      }
      for (int x : in[i]) {
        const Edge& e = p.edges[x];
        if (e.from != i) early = std::max(early, (*time)[e.from] + e.latency - e.distance * ii);
      }
      if (!feeds) continue;
      int t = (*time)[i];
      table->add(*p.nodes[i], t, -1);
      // Latest slot that is free: a producer near its first consumer.
      for (int c = late; c > t && c > late - ii; --c) {
        if (c >= early && table->fits(*p.nodes[i], c)) {
          t = c;
          break;
        }
      }
      table->add(*p.nodes[i], t, 1);
      (*time)[i] = t;
    }
  }
}

}  // namespace

ModuloSchedule modulo_schedule(const Problem& p, int min_ii, int max_ii) {
  int n = static_cast<int>(p.nodes.size());
  Adjacency out(p, true), in(p, false);
  ModuloSchedule best;
  for (int ii = min_ii; ii <= max_ii; ++ii) {
    std::vector<int> h = heights(p, out, ii, true);
    std::vector<int> time(n, -1), last(n, -1);
    Table table(p, ii);
    auto less = [&](int a, int b) { return h[a] != h[b] ? h[a] < h[b] : a > b; };
    std::priority_queue<int, std::vector<int>, decltype(less)> todo(less);
    for (int i = 0; i < n; ++i) todo.push(i);
    // Nodes of one cycle (slot) by time modulo ii, to find whom to evict.
    std::vector<std::vector<int>> row(ii);
    auto remove = [&](int i) {
      table.add(*p.nodes[i], time[i], -1);
      auto& r = row[time[i] % ii];
      r.erase(std::find(r.begin(), r.end(), i));
      time[i] = -1;
      todo.push(i);
    };
    int64_t budget = 8LL * n + 64;
    bool impossible = false;
    while (!todo.empty() && budget-- > 0) {
      int i = todo.top();
      todo.pop();
      if (time[i] >= 0) continue;
      int early = 0;
      for (int x : in[i]) {
        const Edge& e = p.edges[x];
        if (e.from != i && time[e.from] >= 0) {
          early = std::max(early, time[e.from] + e.latency - e.distance * ii);
        }
      }
      int t = -1;
      for (int c = early; c < early + ii; ++c) {
        if (table.fits(*p.nodes[i], c)) {
          t = c;
          break;
        }
      }
      if (t < 0) {
        t = std::max(early, last[i] + 1);
        // Whoever stands in the way at that time goes back to the list.
        for (int r = 0; r < ii && !table.fits(*p.nodes[i], t); ++r) {
          std::vector<int> there = row[(t + r) % ii];
          for (int j : there) {
            bool shares = false;
            for (const ResourceUse& a : *p.nodes[i]) {
              for (const ResourceUse& b : *p.nodes[j]) shares |= a.resource == b.resource;
            }
            if (shares) remove(j);
            if (table.fits(*p.nodes[i], t)) break;
          }
        }
        if (!table.fits(*p.nodes[i], t)) {
          impossible = true;  // it alone does not fit this interval
          break;
        }
      }
      time[i] = last[i] = t;
      table.add(*p.nodes[i], t, 1);
      row[t % ii].push_back(i);
      for (int x : out[i]) {
        const Edge& e = p.edges[x];
        if (e.to != i && time[e.to] >= 0 && time[e.to] < t + e.latency - e.distance * ii) {
          remove(e.to);
        }
      }
    }
    if (impossible) continue;
    bool done = std::all_of(time.begin(), time.end(), [](int t) { return t >= 0; });
    if (!done) continue;
    shorten_lives(p, in, out, ii, &table, &time);
    int first = n ? *std::min_element(time.begin(), time.end()) : 0;
    for (int& t : time) t -= first;
    best.ii = ii;
    best.length = n ? *std::max_element(time.begin(), time.end()) + 1 : 0;
    best.time = std::move(time);
    return best;
  }
  return best;
}

}  // namespace tenfold::tpu::code
