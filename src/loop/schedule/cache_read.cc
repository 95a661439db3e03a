// cache_read: copies what a loop's body reads of a buffer into a local one, packed as asked.
// Elements outside the source are zero in the copy, so that the copy may be larger than the source
// (a padded tile) and reads of it need no mask.
#include <charconv>

#include "loop/schedule/touched.h"

namespace tenfold::loop {

using namespace sched;

namespace {

// One dimension of the packed copy: a source dimension, its block number, or its place in a block.
struct Packed {
  enum Part { Whole, Block, Within } part = Whole;
  size_t dim = 0;
  int64_t factor = 1;
};

bool parse_packed(const std::string& s, Packed* out) {
  const size_t cut = s.find_first_of("/%");
  auto number = [](std::string_view t, auto* v) {
    auto r = std::from_chars(t.data(), t.data() + t.size(), *v);
    return r.ec == std::errc{} && r.ptr == t.data() + t.size();
  };
  if (!number(std::string_view(s).substr(0, cut), &out->dim)) return false;
  if (cut == std::string::npos) return true;
  out->part = s[cut] == '/' ? Packed::Block : Packed::Within;
  return number(std::string_view(s).substr(cut + 1), &out->factor) && out->factor > 0;
}

// Every dimension once: whole, or as block and within of one factor.
bool complete(const std::vector<Packed>& layout, size_t rank) {
  std::vector<int> whole(rank), block(rank), within(rank);
  std::vector<int64_t> factor(rank, 0);
  for (const Packed& p : layout) {
    if (p.dim >= rank) return false;
    (p.part == Packed::Whole ? whole : p.part == Packed::Block ? block : within)[p.dim]++;
    if (p.part != Packed::Whole) {
      if (factor[p.dim] && factor[p.dim] != p.factor) return false;
      factor[p.dim] = p.factor;
    }
  }
  for (size_t d = 0; d < rank; ++d)
    if (!(whole[d] == 1 && block[d] == 0 && within[d] == 0) &&
        !(whole[d] == 0 && block[d] == 1 && within[d] == 1))
      return false;
  return true;
}

void conjuncts(const Expr& c, std::vector<Expr>* out) {
  if (c->kind == ExprNode::Kind::Op && c->prim == Prim::And) {
    for (const Expr& a : c->args) conjuncts(a, out);
  } else {
    out->push_back(c);
  }
}

// guard(c, src[i], 0) where c is false only outside of src: the copy holds that 0 itself.
bool copy_has_padding(Algebra& g, const Expr& e, const BufferDef& src, const Box& box) {
  const Expr &load = e->args[1], &other = e->args[2];
  if (load->kind != ExprNode::Kind::Load || load->buffer.get() != &src ||
      !same(other, zero(src.dtype)) || e->args[0]->has_load)
    return false;
  for (const Box::Side& s : box.sides)
    if (s.whole) return false;  // the index may be outside of the copy
  std::vector<Expr> parts;
  conjuncts(e->args[0], &parts);
  for (const Expr& c : parts) {
    const size_t mark = g.push_fact(c, false);
    bool outside = false;
    for (size_t d = 0; d < src.shape.size() && !outside; ++d) {
      const Poly i = g.poly(load->args[d]);
      outside = g.less(i, Algebra::constant(0)) || g.less_equal(g.poly(src.shape[d]), i);
    }
    g.pop_facts(mark);
    if (!outside) return false;
  }
  return true;
}

}  // namespace

Result<std::string> Schedule::cache_read(const std::string& buffer, const std::string& at,
                                         const std::vector<std::string>& layout, Scope scope) {
  TF_ASSIGN(Place p, find_loop(*k_, "cache_read", at));
  Stmt* s = p.stmt();
  const Buffer src = find_buffer(*k_, buffer);
  if (!src) return refuse("cache_read", buffer, "the kernel has no such buffer");
  const size_t rank = src->shape.size();
  if (rank == 0) return refuse("cache_read", buffer, "it is a scalar");
  std::vector<Packed> packed;
  for (const std::string& l : layout) {
    packed.emplace_back();
    if (!parse_packed(l, &packed.back()))
      return refuse("cache_read", buffer, "layout entry '" + l + "' is not D, D/F or D%F");
  }
  if (layout.empty())
    for (size_t d = 0; d < rank; ++d) packed.push_back({Packed::Whole, d, 1});
  if (!complete(packed, rank))
    return refuse("cache_read", buffer, "the layout does not name every dimension once");
  for (const StmtPtr& c : s->body)
    if (writes(*c, storage_of(src.get())))
      return refuse("cache_read", buffer, "loop " + at + " writes it");
  if (has_intrinsic_on(*s, src.get())) return refuse("cache_read", buffer, "an intrinsic uses it");
  for (const Place::Step& step : p.path)
    if (step.stmt()->kind == Stmt::Kind::For && step.stmt()->loop_kind == LoopKind::Vectorized)
      return refuse("cache_read", buffer, "loop " + step.stmt()->var->name + " is vectorized");
  Place alloc;
  if (find_stmt(
          s->body,
          [&](const Stmt& c) {
            return c.kind == Stmt::Kind::Alloc && c.buffer.get() == storage_of(src.get());
          },
          &alloc))
    return refuse("cache_read", buffer, "it is allocated inside loop " + at);

  Algebra g;
  bind_scope(g, *k_, p);
  bind_stmt(g, *s);
  TF_ASSIGN(Box box, touched(g, *k_, "cache_read", p, src, scope == Scope::Stack));
  if (box.loads == 0) return refuse("cache_read", buffer, "loop " + at + " does not read it");

  Names names(*k_);
  auto copy = std::make_shared<BufferDef>();
  copy->name = names.unique(buffer + "_c");
  copy->dtype = src->dtype;
  copy->scope = scope;
  std::vector<Var> vars;
  for (const Packed& d : packed) {
    const Expr& n = box.sides[d.dim].extent;
    copy->shape.push_back(d.part == Packed::Whole ? n
                          : d.part == Packed::Block
                              ? g.simplify(idiv(n + (d.factor - 1), int_const(d.factor)))
                              : int_const(d.factor));
    vars.push_back(make_var(names.unique(copy->name + std::to_string(vars.size()))));
    g.bind_loop(vars.back(), int_const(0), copy->shape.back());
  }
  // The source element of a place in the copy.
  std::vector<Expr> within(rank), from;
  for (size_t j = 0; j < packed.size(); ++j) {
    const Packed& d = packed[j];
    const Expr part = d.part == Packed::Block ? var_ref(vars[j]) * d.factor : var_ref(vars[j]);
    within[d.dim] = within[d.dim] ? within[d.dim] + part : part;
  }
  Expr inside = bool_const(true);
  for (size_t d = 0; d < rank; ++d) {
    const Box::Side& side = box.sides[d];
    from.push_back(g.simplify(side.lo + within[d]));
    inside = logical_and(inside, g.simplify(lt(within[d], side.extent)));
    inside = logical_and(inside, g.simplify(ge(from[d], int_const(0))));
    inside = logical_and(inside, g.simplify(lt(from[d], src->shape[d])));
  }
  std::vector<Expr> to;
  for (const Var& v : vars) to.push_back(var_ref(v));
  StmtPtr nest = make_store(copy, to, guard(inside, load(src, from), zero(src->dtype)));
  for (size_t j = vars.size(); j-- > 0;) {
    StmtPtr f = make_for(vars[j], int_const(0), copy->shape[j]);
    f->body.push_back(std::move(nest));
    nest = std::move(f);
  }
  rewrite_exprs(s->body, [&](const Expr& e) {
    if (!e->has_load) return e;
    return transform(e, [&](const Expr& x) {
      return x->kind == ExprNode::Kind::Guard && copy_has_padding(g, x, *src, box) ? x->args[1] : x;
    });
  });
  rewrite_accesses(
      s->body, src.get(),
      [&](const std::vector<Expr>& index) {
        std::vector<Expr> r;
        for (const Packed& d : packed) {
          const Expr e = g.simplify(index[d.dim] - box.sides[d.dim].lo);
          const Expr f = int_const(d.factor);
          r.push_back(d.part == Packed::Whole   ? e
                      : d.part == Packed::Block ? g.simplify(idiv(e, f))
                                                : g.simplify(imod(e, f)));
        }
        return load(copy, std::move(r));
      },
      [](Stmt&) {});
  s->body.insert(s->body.begin(), std::move(nest));
  s->body.insert(s->body.begin(), make_alloc(copy));
  std::string line = "cache_read " + word(buffer) + " " + word(at);
  line += scope == Scope::Stack ? " stack" : " workspace";
  for (const std::string& l : layout) line += " " + l;
  k_->trace.push_back(std::move(line));
  return copy->name;
}

}  // namespace tenfold::loop
