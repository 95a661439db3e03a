// replay: applies the lines of a trace to a kernel. Names of new loops and buffers are a function
// of the kernel, so the same lines mean the same on a fresh one.
#include <charconv>

#include "loop/schedule/util.h"

namespace tenfold::loop {

using namespace sched;

namespace {

bool words_of(const std::string& line, std::vector<std::string>* out) {
  size_t i = 0;
  while (i < line.size()) {
    if (line[i] == ' ') {
      ++i;
      continue;
    }
    std::string w;
    if (line[i] != '"') {
      while (i < line.size() && line[i] != ' ') w += line[i++];
    } else {
      for (++i;; ++i) {
        if (i >= line.size()) return false;
        char c = line[i];
        if (c == '"') break;
        if (c == '\\') {
          if (++i >= line.size()) return false;
          c = line[i];
          if (c == 'n') {
            c = '\n';
          } else if (c == 'x') {
            unsigned v = 0;
            if (i + 2 >= line.size()) return false;
            auto r = std::from_chars(&line[i + 1], &line[i + 3], v, 16);
            if (r.ptr != &line[i + 3]) return false;
            c = static_cast<char>(v);
            i += 2;
          }
        }
        w += c;
      }
      ++i;
    }
    out->push_back(std::move(w));
  }
  return true;
}

template <class T>
Status status_of(Result<T> r) {
  if (!r.ok()) return r.take_errors();
  return ok_status();
}

Status apply_line(Schedule& s, const std::string& line) {
  const auto bad = [&](const std::string& why) {
    return Error{"schedule-trace", "trace line '" + line + "': " + why, {}, {}};
  };
  std::vector<std::string> w;
  if (!words_of(line, &w) || w.empty()) return bad("cannot be read");
  const std::string op = w[0];
  const std::vector<std::string> a(w.begin() + 1, w.end());
  auto count = [&](size_t lo, size_t hi) { return a.size() >= lo && a.size() <= hi; };
  auto number = [&](const std::string& t, int64_t* v) {
    auto r = std::from_chars(t.data(), t.data() + t.size(), *v);
    return r.ec == std::errc{} && r.ptr == t.data() + t.size();
  };
  auto scope = [&](const std::string& t, Scope* v) {
    *v = t == "stack" ? Scope::Stack : Scope::Workspace;
    return t == "stack" || t == "workspace";
  };
  int64_t n = 0;
  Scope sc = Scope::Stack;
  if (op == "split" && count(3, 3) && number(a[1], &n)) {
    if (a[2] == "guard") return status_of(s.split(a[0], n, Tail::Guard));
    if (a[2] == "cut") return status_of(s.split(a[0], n, Tail::Cut));
    if (a[2] == "exact") return status_of(s.split(a[0], n, Tail::Exact));
  }
  if (op == "reorder") return s.reorder(a);
  if (op == "fuse" && count(2, 2)) return status_of(s.fuse(a[0], a[1]));
  if (op == "vectorize" && count(1, 1)) return s.vectorize(a[0]);
  if (op == "unroll" && count(1, 1)) return s.unroll(a[0]);
  if (op == "parallel" && count(1, 1)) return s.parallel(a[0]);
  if (op == "expand" && count(2, 2)) return s.expand(a[0], a[1]);
  if (op == "fission" && count(1, 2))
    return status_of(s.fission(a[0], a.size() > 1 ? a[1] : std::string()));
  if (op == "cache_read" && a.size() >= 3 && scope(a[2], &sc))
    return status_of(s.cache_read(a[0], a[1], {a.begin() + 3, a.end()}, sc));
  if (op == "cache_write" && count(3, 3) && scope(a[2], &sc))
    return status_of(s.cache_write(a[0], a[1], sc));
  if (op == "compute_at" && count(2, 2)) return s.compute_at(a[0], a[1]);
  if (op == "rfactor" && count(2, 3) && number(a[1], &n))
    return status_of(s.rfactor(a[0], n, a.size() > 2 ? a[2] : ""));
  if (op == "unguard" && count(1, 1)) return s.unguard(a[0]);
  if (op == "forward" && count(1, 1)) return s.forward(a[0]);
  if (op == "tensorize" && count(2, 2)) return s.tensorize(a[0], a[1]);
  if (op == "double_buffer" && count(1, 1)) return s.double_buffer(a[0]);
  return bad("is no primitive with such arguments");
}

}  // namespace

Status replay(const std::vector<std::string>& trace, Kernel& k) {
  Schedule s(&k);
  for (const std::string& line : trace) TF_TRY(apply_line(s, line));
  return ok_status();
}

}  // namespace tenfold::loop
