// Attributes between MLIR's spelling and the flat, typed ones of the op table: reading side, and
// the tables.
#include <algorithm>
#include <array>

#include "graph/text_ops.h"

namespace tenfold::text {
namespace {

struct Keyword {
  std::string_view op, keyword, attribute;
};
constexpr Keyword kKeywords[] = {
    {"stablehlo.broadcast_in_dim", "dims", "broadcast_dimensions"},
    {"stablehlo.dynamic_broadcast_in_dim", "dims", "broadcast_dimensions"},
    {"stablehlo.transpose", "dims", "permutation"},
    {"stablehlo.reverse", "dims", "dimensions"},
    {"stablehlo.broadcast", "sizes", "broadcast_sizes"},
    {"stablehlo.concatenate", "dim", "dimension"},
    {"stablehlo.iota", "dim", "iota_dimension"},
    {"stablehlo.dynamic_iota", "dim", "iota_dimension"},
    {"stablehlo.get_dimension_size", "dim", "dimension"},
    {"stablehlo.set_dimension_size", "dim", "dimension"},
    {"stablehlo.pad", "low", "edge_padding_low"},
    {"stablehlo.pad", "high", "edge_padding_high"},
    {"stablehlo.pad", "interior", "interior_padding"},
    {"stablehlo.dynamic_slice", "sizes", "slice_sizes"},
    {"stablehlo.fft", "type", "fft_type"},
    {"stablehlo.fft", "length", "fft_length"},
    {"stablehlo.rng", "distribution", "rng_distribution"},
    {"stablehlo.rng_bit_generator", "algorithm", "rng_algorithm"},
    {"stablehlo.dot", "precision", "precision_config"},
    {"stablehlo.dot_general", "precision", "precision_config"},
    {"stablehlo.convolution", "stride", "window_strides"},
    {"stablehlo.convolution", "pad", "padding"},
    {"stablehlo.convolution", "lhs_dilate", "lhs_dilation"},
    {"stablehlo.convolution", "rhs_dilate", "rhs_dilation"},
    {"stablehlo.convolution", "reverse", "window_reversal"},
};

constexpr std::pair<std::string_view, std::string_view> kEnums[] = {
    {"comparison_direction", "comparison_direction"},
    {"compare_type", "comparison_type"},
    {"precision_config", "precision"},
    {"fft_type", "fft_type"},
    {"rng_distribution", "rng_distribution"},
    {"rng_algorithm", "rng_algorithm"},
    {"transpose_a", "transpose"},
};

const std::vector<Group>& groups() {
  static const std::vector<Group> table = {
      {"stablehlo.dot_general",
       "dot_dimension_numbers",
       "stablehlo.dot",
       {"lhs_batching_dimensions", "rhs_batching_dimensions", "lhs_contracting_dimensions",
        "rhs_contracting_dimensions"}},
      {"stablehlo.gather",
       "dimension_numbers",
       "stablehlo.gather",
       {"offset_dims", "collapsed_slice_dims", "operand_batching_dims",
        "start_indices_batching_dims", "start_index_map", "index_vector_dim"}},
      {"stablehlo.dynamic_gather",
       "dimension_numbers",
       "stablehlo.gather",
       {"offset_dims", "collapsed_slice_dims", "operand_batching_dims",
        "start_indices_batching_dims", "start_index_map", "index_vector_dim"}},
      {"stablehlo.scatter",
       "scatter_dimension_numbers",
       "stablehlo.scatter",
       {"update_window_dims", "inserted_window_dims", "input_batching_dims",
        "scatter_indices_batching_dims", "scatter_dims_to_operand_dims", "index_vector_dim"}},
      {"stablehlo.convolution",
       "dimension_numbers",
       "stablehlo.conv",
       {"input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions",
        "kernel_input_feature_dimension", "kernel_output_feature_dimension",
        "kernel_spatial_dimensions", "output_batch_dimension", "output_feature_dimension",
        "output_spatial_dimensions"}},
  };
  return table;
}

const AttrSpec* spec_of(const OpDef& def, std::string_view name) {
  for (const AttrSpec& s : def.attrs) {
    if (s.name == name) return &s;
  }
  return nullptr;
}

// Integers out of a list, an array<>, or a dense tensor (flattened).
bool to_ints(const Attribute& a, std::vector<int64_t>& out) {
  if (a.kind == Attribute::Kind::Array) {
    for (auto& item : a.items) {
      if (item.kind == Attribute::Kind::Int) {
        out.push_back(item.i);
      } else if (item.kind == Attribute::Kind::Bool) {
        out.push_back(item.flag);
      } else if (item.kind != Attribute::Kind::Array || !to_ints(item, out)) {
        return false;
      }
    }
    return true;
  }
  if (a.kind == Attribute::Kind::Dense) {
    const DType t = a.literal.dtype();
    if (!is_integer(t) && t != DType::Bool) return false;
    out = a.literal.to_i64s();
    return true;
  }
  return false;
}

bool to_strings(const Attribute& a, std::vector<std::string>& out) {
  if (a.kind != Attribute::Kind::Array) return false;
  for (auto& item : a.items) {
    if (item.kind != Attribute::Kind::String && item.kind != Attribute::Kind::Symbol &&
        item.kind != Attribute::Kind::Enum) {
      return false;
    }
    out.push_back(item.text);
  }
  return true;
}

// What a value inside a dictionary is, with nothing that says what it should be.
Attr to_free_attr(const Attribute& a) {
  switch (a.kind) {
    case Attribute::Kind::Unit:
      return Attr{true};
    case Attribute::Kind::Bool:
      return Attr{a.flag};
    case Attribute::Kind::Int:
      return Attr{a.i};
    case Attribute::Kind::Float:
      return Attr{a.f};
    case Attribute::Kind::String:
    case Attribute::Kind::Symbol:
    case Attribute::Kind::Enum:
      return Attr{a.text};
    case Attribute::Kind::Type:
      if (a.type.kind == Type::Kind::Scalar) return Attr{a.type.tensor.dtype};
      return Attr{a.type.str()};
    case Attribute::Kind::Array: {
      std::vector<int64_t> ints;
      if (to_ints(a, ints)) return Attr{std::move(ints)};
      std::vector<std::string> strings;
      if (to_strings(a, strings)) return Attr{std::move(strings)};
      return Attr{std::string(a.spelling)};
    }
    case Attribute::Kind::Dict:
    case Attribute::Kind::Group: {
      auto d = std::make_shared<AttrDict>();
      for (auto& [k, v] : *a.dict) d->emplace_back(k, to_free_attr(v));
      return Attr{std::move(d)};
    }
    case Attribute::Kind::Dense:
      return Attr{a.literal};
    case Attribute::Kind::Dims:
      return Attr{a.dims};
    case Attribute::Kind::Other:
      return Attr{a.text};
  }
  __builtin_unreachable();
}

Attr to_attr(const Attribute& a, AttrKind kind, bool keep_text) {
  using K = Attribute::Kind;
  switch (kind) {
    case AttrKind::Bool:
      if (a.kind == K::Bool) return Attr{a.flag};
      if (a.kind == K::Unit) return Attr{true};
      break;
    case AttrKind::I64:
      if (a.kind == K::Int) return Attr{a.i};
      break;
    case AttrKind::F64:
      if (a.kind == K::Float || a.kind == K::Int) return Attr{a.f};
      break;
    case AttrKind::Str:
      if (a.kind == K::String) return Attr{a.text};
      if (keep_text && !a.spelling.empty()) return Attr{std::string(a.spelling)};
      break;
    case AttrKind::Func:
      if (a.kind == K::Symbol || a.kind == K::String) return Attr{a.text};
      break;
    case AttrKind::Enum:
      if (a.kind == K::Enum || a.kind == K::String) return Attr{a.text};
      break;
    case AttrKind::Type:
      if (a.kind == K::Type && a.type.kind == Type::Kind::Scalar) {
        return Attr{a.type.tensor.dtype};
      }
      break;
    case AttrKind::I64s:
    case AttrKind::Bools: {
      std::vector<int64_t> v;
      if (to_ints(a, v)) return Attr{std::move(v)};
      break;
    }
    case AttrKind::Dims: {
      std::vector<int64_t> v;
      if (a.kind == K::Dims) return Attr{a.dims};
      if (a.kind == K::Int) return Attr{std::vector<Dim>{Dim(a.i)}};  // chlo.top_k's k
      if (to_ints(a, v)) return Attr{std::vector<Dim>(v.begin(), v.end())};
      break;
    }
    case AttrKind::Strs: {
      std::vector<std::string> v;
      if (to_strings(a, v)) return Attr{std::move(v)};
      break;
    }
    case AttrKind::Lit:
      if (a.kind == K::Dense) return Attr{a.literal};
      break;
    case AttrKind::Dict:
      if (a.kind == K::Dict) return to_free_attr(a);
      break;
  }
  return {};
}

std::string_view wanted_kind(AttrKind k) {
  switch (k) {
    case AttrKind::Bool:
      return "a bool";
    case AttrKind::I64:
      return "an integer";
    case AttrKind::F64:
      return "a number";
    case AttrKind::Str:
      return "a string";
    case AttrKind::Enum:
      return "an enumeration value";
    case AttrKind::Func:
      return "a function's @name";
    case AttrKind::Type:
      return "an element type";
    case AttrKind::I64s:
      return "a list of integers";
    case AttrKind::Bools:
      return "a list of bools";
    case AttrKind::Dims:
      return "a list of dimensions";
    case AttrKind::Strs:
      return "a list of strings";
    case AttrKind::Lit:
      return "a dense tensor";
    case AttrKind::Dict:
      return "a dictionary";
  }
  __builtin_unreachable();
}

// Says nothing that our arithmetic does not keep anyway.
bool is_default_accuracy(const Attribute& a) {
  if (a.kind != Attribute::Kind::Group) return false;
  const Attribute* mode = find(*a.dict, "mode");
  return !mode || mode->text == "DEFAULT" || mode->text == "HIGHEST";
}

class Converter {
 public:
  Converter(Reader& r, const OpDef& def) : r_(r), def_(def) {}

  void add(std::string_view key, const Attribute& a) {
    if (key.find('.') != std::string_view::npos) {
      // Discardable by definition; this one is a custom call's real configuration.
      if (key != "mhlo.backend_config" || !spec_of(def_, "backend_config_dict")) return;
      key = "backend_config_dict";
    }
    if (a.kind == Attribute::Kind::Group) {
      const Group* g = group_of(def_.name);
      if (g && a.text == g->spelling) {
        for (auto& [k, v] : *a.dict) add(k, v);
        return;
      }
    }
    if (key == "backend_config" && a.kind == Attribute::Kind::Dict) key = "backend_config_dict";
    const AttrSpec* spec = spec_of(def_, key);
    if (!spec) {
      if (key == "result_accuracy" && is_default_accuracy(a)) return;
      r_.problem(a.offset, "text-attribute",
                 std::string(def_.name) + ": attribute " + std::string(key) + " is not taken");
      return;
    }
    const bool keep_text = key.ends_with("_layouts") || key == "output_operand_aliases";
    Attr v = to_attr(a, spec->kind, keep_text);
    if (!v.present()) {
      r_.problem(a.offset, "text-attribute",
                 std::string(def_.name) + ": attribute " + std::string(key) + " is " +
                     std::string(kind_name(a.kind)) + ", wanted " +
                     std::string(wanted_kind(spec->kind)));
      return;
    }
    values_.emplace_back(std::string(key), std::move(v));
  }

  // MLIR leaves empty lists and zeros of a group away.
  void complete_group() {
    const Group* g = group_of(def_.name);
    if (!g) return;
    for (std::string_view member : g->members) {
      const AttrSpec* spec = spec_of(def_, member);
      const bool have = std::any_of(values_.begin(), values_.end(),
                                    [&](const auto& kv) { return kv.first == member; });
      if (!spec || have || !spec->required) continue;
      if (spec->kind == AttrKind::I64s) values_.emplace_back(member, std::vector<int64_t>{});
      if (member == "index_vector_dim") values_.emplace_back(member, Attr{int64_t{0}});
    }
  }

  AttrDict take() {
    AttrDict sorted;
    for (const AttrSpec& s : def_.attrs) {
      for (auto& [k, v] : values_) {
        if (k == s.name) sorted.emplace_back(k, std::move(v));
      }
    }
    return sorted;
  }

 private:
  Reader& r_;
  const OpDef& def_;
  AttrDict values_;
};

}  // namespace

std::string_view attribute_of_keyword(std::string_view op, std::string_view keyword) {
  for (const Keyword& k : kKeywords) {
    if (k.op == op && k.keyword == keyword) return k.attribute;
  }
  return keyword;
}

std::string_view enum_class(std::string_view attribute) {
  for (auto& [name, cls] : kEnums) {
    if (name == attribute) return cls;
  }
  return {};
}

const Group* group_of(std::string_view op) {
  for (const Group& g : groups()) {
    if (g.op == op) return &g;
  }
  return nullptr;
}

const OpDef* op_of_text_name(std::string_view name) {
  if (name == "call") name = "func.call";
  if (name == "return") name = "func.return";
  if (const OpDef* d = find_op(name)) return d;
  if (!name.starts_with("chlo.")) return nullptr;
  const std::string_view stem = name.substr(5);
  if (stem == "next_after") return find_op("tenfold.nextafter");
  if (const OpDef* d = find_op("tenfold." + std::string(stem))) return d;
  if (stem == "tan" || stem == "constant") return find_op("stablehlo." + std::string(stem));
  return nullptr;
}

AttrDict to_attributes(Reader& r, const OpDef& def, const Dictionary& read, size_t offset) {
  Converter c(r, def);
  for (auto& [key, a] : read) c.add(key, a);
  c.complete_group();
  AttrDict out = c.take();
  for (const AttrSpec& s : def.attrs) {
    const bool have =
        std::any_of(out.begin(), out.end(), [&](const auto& kv) { return kv.first == s.name; });
    const bool was_read = find(read, s.name) != nullptr;  // reported when it was converted
    if (s.required && !have && !was_read) {
      r.problem(offset, "text-attribute",
                std::string(def.name) + ": attribute " + std::string(s.name) + " (" +
                    std::string(wanted_kind(s.kind)) + ") is missing");
    }
  }
  return out;
}

}  // namespace tenfold::text
