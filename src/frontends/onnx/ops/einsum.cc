// Einsum: any equation, by pairs of operands from left to right. Labels are letters; dimensions
// under an ellipsis get labels of their own, counted from the right.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

namespace {

using Labels = std::vector<int>;  // a letter, or kDots + k for the k-th last ellipsis dimension
constexpr int kDots = 1000;

bool holds(const Labels& l, int x) { return std::find(l.begin(), l.end(), x) != l.end(); }
int64_t position(const Labels& l, int x) { return std::find(l.begin(), l.end(), x) - l.begin(); }

struct Term {
  std::string text;
  bool dots = false;
  size_t before = 0;  // letters before the ellipsis
  std::string letters;
};

Term parse_term(NodeContext& n, const std::string& text) {
  Term t{text, false, 0, {}};
  for (size_t i = 0; i < text.size(); ++i) {
    if (std::isalpha(static_cast<unsigned char>(text[i]))) {
      t.letters += text[i];
    } else if (text.compare(i, 3, "...") == 0 && !t.dots) {
      t.dots = true;
      t.before = t.letters.size();
      i += 2;
    } else {
      n.invalid(
          fmt::format("term '{}' of the equation is not understood at '{}'", text, text.substr(i)));
    }
  }
  return t;
}

Labels expand(const Term& t, int64_t dots) {
  Labels l;
  for (size_t i = 0; i <= t.letters.size(); ++i) {
    if (t.dots && i == t.before) {
      for (int64_t k = dots; k > 0; --k) l.push_back(kDots + static_cast<int>(k));
    }
    if (i < t.letters.size()) l.push_back(t.letters[i]);
  }
  return l;
}

struct Piece {
  Value* v;
  Labels labels;
};

// Keeps the diagonal of labels that stand twice.
void take_diagonals(NodeContext& n, Piece& p) {
  GraphBuilder& b = n.b;
  for (size_t i = 0; i < p.labels.size(); ++i) {
    for (size_t j = i + 1; j < p.labels.size();) {
      if (p.labels[j] != p.labels[i]) {
        ++j;
        continue;
      }
      const Dim d = p.v->type.shape[i];
      n.require_equal(
          d, p.v->type.shape[j],
          fmt::format("dimensions of the repeated label '{}'", static_cast<char>(p.labels[i])));
      const int64_t rank = p.v->type.rank();
      const auto x = static_cast<int64_t>(i), y = static_cast<int64_t>(j);
      Value* at = b.iota({DType::I64, {d, Dim(2)}}, 0);
      std::vector<Dim> sizes = p.v->type.shape;
      sizes[i] = sizes[j] = Dim(1);
      // The diagonal comes first, then the other dimensions in order.
      Value* v = b.create("stablehlo.gather", {p.v, at},
                          {{"offset_dims", Attr{iota_list(rank - 2, 1)}},
                           {"collapsed_slice_dims", Attr{std::vector<int64_t>{x, y}}},
                           {"operand_batching_dims", Attr{std::vector<int64_t>{}}},
                           {"start_indices_batching_dims", Attr{std::vector<int64_t>{}}},
                           {"start_index_map", Attr{std::vector<int64_t>{x, y}}},
                           {"index_vector_dim", Attr{int64_t{1}}},
                           {"slice_sizes", Attr{sizes}},
                           {"indices_are_sorted", Attr{true}}})
                     ->result();
      std::vector<int64_t> perm;  // puts the diagonal back at i
      for (int64_t k = 0; k < rank - 1; ++k) perm.push_back(k < x ? k + 1 : k == x ? 0 : k);
      p.v = b.transpose(v, perm);
      p.labels.erase(p.labels.begin() + y);
    }
  }
}

void sum_out(GraphBuilder& b, Piece& p, const Labels& needed) {
  std::vector<int64_t> gone;
  Labels left;
  for (size_t i = 0; i < p.labels.size(); ++i) {
    if (holds(needed, p.labels[i])) {
      left.push_back(p.labels[i]);
    } else {
      gone.push_back(static_cast<int64_t>(i));
    }
  }
  if (gone.empty()) return;
  p.v = b.reduce(Prim::Add, p.v, gone);
  p.labels = left;
}

Piece product(GraphBuilder& b, const Piece& x, const Piece& y, const Labels& needed) {
  Labels batch, contracted, rest_x, rest_y;
  for (int l : x.labels) {
    if (!holds(y.labels, l)) {
      rest_x.push_back(l);
    } else {
      (holds(needed, l) ? batch : contracted).push_back(l);
    }
  }
  for (int l : y.labels) {
    if (!holds(x.labels, l)) rest_y.push_back(l);
  }
  Piece r;
  r.labels = batch;
  r.labels.insert(r.labels.end(), rest_x.begin(), rest_x.end());
  r.labels.insert(r.labels.end(), rest_y.begin(), rest_y.end());
  const auto where = [](const Labels& of, const Labels& in) {
    std::vector<int64_t> at;
    for (int l : of) at.push_back(position(in, l));
    return at;
  };
  if (contracted.empty()) {
    Shape shape;
    for (int l : r.labels) {
      shape.push_back(holds(x.labels, l)
                          ? x.v->type.shape[static_cast<size_t>(position(x.labels, l))]
                          : y.v->type.shape[static_cast<size_t>(position(y.labels, l))]);
    }
    // broadcast_in_dim wants rising dimensions: transpose first.
    const auto lift = [&](const Piece& p) {
      Labels order;
      for (int l : r.labels) {
        if (holds(p.labels, l)) order.push_back(l);
      }
      return b.broadcast_in_dim(b.transpose(p.v, where(order, p.labels)), shape,
                                where(order, r.labels));
    };
    r.v = mul(b, lift(x), lift(y));
    return r;
  }
  r.v = b.dot_general(x.v, y.v, where(batch, x.labels), where(batch, y.labels),
                      where(contracted, x.labels), where(contracted, y.labels));
  return r;
}

Outputs convert(NodeContext& n) {
  GraphBuilder& b = n.b;
  std::string equation = n.attr_s("equation");
  std::erase_if(equation, [](char c) { return std::isspace(static_cast<unsigned char>(c)); });
  const size_t arrow = equation.find("->");
  const std::string left = equation.substr(0, arrow);
  std::vector<Term> terms;
  for (size_t at = 0; at <= left.size();) {
    const size_t comma = std::min(left.find(',', at), left.size());
    terms.push_back(parse_term(n, left.substr(at, comma - at)));
    at = comma + 1;
  }
  const auto inputs = n.inputs();
  if (inputs.size() != terms.size()) {
    n.invalid(
        fmt::format("'{}' has {} terms for {} inputs", equation, terms.size(), inputs.size()));
  }
  const DType t = inputs[0]->type.dtype;
  int64_t dots = 0;
  bool any_dots = false;
  for (size_t i = 0; i < terms.size(); ++i) {
    if (inputs[i]->type.dtype != t) n.invalid("inputs differ in element type");
    const int64_t rest = inputs[i]->type.rank() - static_cast<int64_t>(terms[i].letters.size());
    if (rest < 0 || (rest > 0 && !terms[i].dots)) {
      n.invalid(fmt::format("term '{}' does not fit {}", terms[i].text, inputs[i]->type.str()));
    }
    if (terms[i].dots) dots = std::max(dots, rest);
    any_dots |= terms[i].dots;
  }
  Term out;
  if (arrow != std::string::npos) {
    out = parse_term(n, equation.substr(arrow + 2));
    if (dots > 0 && !out.dots) {
      n.invalid(fmt::format("'{}' drops the dimensions under the ellipsis", equation));
    }
    if (out.dots && !any_dots) n.invalid("the output has an ellipsis, no input has one");
  } else {
    std::map<char, int> count;
    for (const Term& term : terms) {
      for (char c : term.letters) ++count[c];
    }
    out.dots = any_dots;
    for (const auto& [c, k] : count) {
      if (k == 1) out.letters += c;
    }
  }
  const Labels result = expand(out, dots);
  std::vector<Piece> pieces;
  std::map<int, Dim> size;
  for (size_t i = 0; i < terms.size(); ++i) {
    const int64_t own = inputs[i]->type.rank() - static_cast<int64_t>(terms[i].letters.size());
    Piece p{b.convert(inputs[i], wide(t)), expand(terms[i], own)};
    take_diagonals(n, p);
    for (size_t k = 0; k < p.labels.size(); ++k) {
      const Dim d = p.v->type.shape[k];
      auto [it, fresh] = size.emplace(p.labels[k], d);
      if (fresh || it->second == d || d == Dim(1)) continue;
      if (it->second == Dim(1)) {
        it->second = d;
      } else {
        n.require_equal(it->second, d, fmt::format("sizes of one label in '{}'", equation));
        if (d.is_const()) it->second = d;
      }
    }
    pieces.push_back(std::move(p));
  }
  for (size_t i = 0; i < result.size(); ++i) {
    if (!size.contains(result[i])) n.invalid("an output label stands in no input");
    for (size_t j = 0; j < i; ++j) {
      if (result[i] == result[j]) n.invalid("an output label stands twice");
    }
  }
  // A dimension of 1 where another operand has more repeats: leave it out.
  for (Piece& p : pieces) {
    Labels kept;
    Shape shape;
    for (size_t k = 0; k < p.labels.size(); ++k) {
      const Dim& d = p.v->type.shape[k];
      if (d == Dim(1) && !(size.at(p.labels[k]) == Dim(1))) continue;
      kept.push_back(p.labels[k]);
      shape.push_back(d);
    }
    p.v = b.reshape(p.v, shape);
    p.labels = kept;
  }
  Piece acc = pieces[0];
  for (size_t i = 0; i < pieces.size(); ++i) {
    Labels later = result;
    for (size_t k = i + 1; k < pieces.size(); ++k) {
      later.insert(later.end(), pieces[k].labels.begin(), pieces[k].labels.end());
    }
    if (i == 0) {
      sum_out(b, acc, later);
      continue;
    }
    Piece p = pieces[i];
    Labels for_acc = later, for_p = later;
    for_acc.insert(for_acc.end(), p.labels.begin(), p.labels.end());
    for_p.insert(for_p.end(), acc.labels.begin(), acc.labels.end());
    sum_out(b, acc, for_acc);
    sum_out(b, p, for_p);
    acc = product(b, acc, p, later);
  }
  std::vector<int64_t> perm;
  for (int l : result) perm.push_back(position(acc.labels, l));
  return {b.convert(b.transpose(acc.v, perm), t)};
}

}  // namespace

extern const OnnxOp onnx_einsum;
const OnnxOp onnx_einsum = {.names = {{"Einsum", {12, 28}}},
                            .summary = "Sums of products by an equation over labelled dimensions.",
                            .convert = convert};

}  // namespace tenfold::onnx
