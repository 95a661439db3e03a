// Attributes in MLIR's spelling.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "graph/text_ops.h"

namespace tenfold::text {
namespace {

constexpr int64_t kHexAbove = 64;  // elements; more are printed as one blob

std::string hex_bits(const std::byte* p, int bytes) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string s = "0x";
  for (int i = bytes - 1; i >= 0; --i) {
    const auto v = std::to_integer<unsigned>(p[i]);
    s += kDigits[v >> 4];
    s += kDigits[v & 15];
  }
  return s;
}

// As MLIR's lexer wants it: digits, a point, digits.
std::string with_point(std::string s) {
  if (s.find('.') != std::string::npos) return s;
  const size_t e = s.find('e');
  return e == std::string::npos ? s + ".0" : s.substr(0, e) + ".0" + s.substr(e);
}

std::string double_text(double v) {
  char buffer[64];
  const auto r = std::to_chars(buffer, buffer + sizeof buffer, v);
  return with_point(std::string(buffer, r.ptr));
}

// The shortest text that reads back to the same bits, through a double as MLIR does.
std::string float_text(DType t, const std::byte* p) {
  const Literal l = Literal::borrow(t, {}, p, nullptr);
  const double v = l.as_f64(0);
  if (!std::isfinite(v) || bit_width(t) < 8) return hex_bits(p, byte_size(t));
  if (t != DType::F64) {
    char buffer[64];
    const auto r = std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(v));
    std::string s = with_point(std::string(buffer, r.ptr));
    double back = 0;
    std::from_chars(s.data(), s.data() + s.size(), back);
    const Literal again = Literal::scalar(t, back);
    if (std::memcmp(again.bytes(), p, static_cast<size_t>(byte_size(t))) == 0) return s;
  }
  std::string s = double_text(v);
  double back = 0;
  std::from_chars(s.data(), s.data() + s.size(), back);
  const Literal again = Literal::scalar(t, back);
  const bool exact = std::memcmp(again.bytes(), p, static_cast<size_t>(byte_size(t))) == 0;
  return exact ? s : hex_bits(p, byte_size(t));
}

std::string element_text(const Literal& l, int64_t i) {
  const DType t = l.dtype();
  const std::byte* p = l.bytes() + i * byte_size(t);
  if (is_complex(t)) {
    const DType part = real_of(t);
    return "(" + float_text(part, p) + "," + float_text(part, p + byte_size(part)) + ")";
  }
  if (is_float(t)) return float_text(t, p);
  if (t == DType::Bool) return std::to_integer<int>(*p) ? "true" : "false";
  if (t == DType::U64) return std::to_string(static_cast<uint64_t>(l.as_i64(i)));
  return std::to_string(l.as_i64(i));
}

void nested(const Literal& l, size_t level, int64_t& at, std::string& s) {
  if (level == l.dims().size()) {
    s += element_text(l, at++);
    return;
  }
  s += "[";
  for (int64_t i = 0; i < l.dims()[level]; ++i) {
    if (i) s += ", ";
    nested(l, level + 1, at, s);
  }
  s += "]";
}

template <class T>
std::string joined(const std::vector<T>& v) {
  std::string s;
  for (size_t i = 0; i < v.size(); ++i) {
    if (i) s += ", ";
    if constexpr (std::is_same_v<T, std::string>) {
      s += v[i];
    } else {
      s += std::to_string(v[i]);
    }
  }
  return s;
}

std::string array_text(std::string_view type, const std::vector<int64_t>& v) {
  std::string s = "array<" + std::string(type);
  if (!v.empty()) s += ": ";
  for (size_t i = 0; i < v.size(); ++i) {
    if (i) s += ", ";
    s += type == "i1" ? std::string(v[i] ? "true" : "false") : std::to_string(v[i]);
  }
  return s + ">";
}

bool all_const(const std::vector<Dim>& dims) {
  return std::all_of(dims.begin(), dims.end(), [](const Dim& d) { return d.is_const(); });
}

std::string key_text(std::string_view key) {
  const bool ok = !key.empty() && !(key[0] >= '0' && key[0] <= '9') &&
                  std::all_of(key.begin(), key.end(), [](char c) {
                    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                           (c >= 'A' && c <= 'Z') || c == '_' || c == '.' || c == '$';
                  });
  return ok && key[0] != '.' && key[0] != '$' ? std::string(key) : quote(key);
}

// Attributes that MLIR wants as i32, f32.
std::string_view int_type(std::string_view name) {
  static constexpr std::array<std::string_view, 5> kI32 = {"exponent_bits", "mantissa_bits",
                                                           "index", "api_version", "version"};
  return std::find(kI32.begin(), kI32.end(), name) != kI32.end() ? "i32" : "i64";
}

std::string spec_text(const OpDef& def, const AttrSpec& spec, const Attr& a) {
  const bool stablehlo = def.name.starts_with("stablehlo.");
  const std::string cls(enum_class(spec.name));
  switch (spec.kind) {
    case AttrKind::I64:
      return std::to_string(a.as<int64_t>()) + " : " + std::string(int_type(spec.name));
    case AttrKind::F64:
      if (spec.name == "epsilon") return double_text(a.as<double>()) + " : f32";
      return value_text(a);
    case AttrKind::Enum:
      if (!stablehlo || cls.empty()) return quote(a.as<std::string>());
      return "#stablehlo<" + cls + " " + a.as<std::string>() + ">";
    case AttrKind::Func:
      return "@" + quote(a.as<std::string>());
    case AttrKind::Str:
      if (spec.name.ends_with("_layouts") || spec.name == "output_operand_aliases") {
        return a.as<std::string>();
      }
      return quote(a.as<std::string>());
    case AttrKind::Bools:
      return array_text("i1", a.as<std::vector<int64_t>>());
    case AttrKind::I64s:
    case AttrKind::Dims: {
      std::vector<int64_t> v;
      if (auto* dims = std::get_if<std::vector<Dim>>(&a.v)) {
        if (!all_const(*dims)) return dims_text(*dims);
        for (const Dim& d : *dims) v.push_back(d.value());
      } else {
        v = a.as<std::vector<int64_t>>();
      }
      if (spec.name == "padding") {  // pairs
        std::string s = "dense<[";
        for (size_t i = 0; i + 1 < v.size(); i += 2) {
          s += (i ? ", " : "") + ("[" + std::to_string(v[i])) + ", " + std::to_string(v[i + 1]) +
               "]";
        }
        if (v.empty()) s.pop_back();
        return s + (v.empty() ? "> : tensor<0x2xi64>"
                              : "]> : tensor<" + std::to_string(v.size() / 2) + "x2xi64>");
      }
      return array_text("i64", v);
    }
    case AttrKind::Strs: {
      std::vector<std::string> items;
      for (auto& s : a.as<std::vector<std::string>>()) {
        if (stablehlo && !cls.empty()) {
          items.push_back("#stablehlo<" + cls + " " + s + ">");
        } else {
          items.push_back(spec.name == "called_computations" ? "@" + quote(s) : quote(s));
        }
      }
      return "[" + joined(items) + "]";
    }
    default:
      return value_text(a);
  }
}

std::string conv_text(const Op& op) {
  auto part = [&](const char* c1, const char* n1, const char* c2, const char* n2,
                  const char* spatial) {
    const auto& where = op.i64s(spatial);
    std::vector<std::string> items(where.size() + 2, "?");
    auto put = [&](int64_t at, std::string s) {
      if (at >= 0 && at < static_cast<int64_t>(items.size())) items[at] = std::move(s);
    };
    put(op.i64(n1), c1);
    put(op.i64(n2), c2);
    for (size_t i = 0; i < where.size(); ++i) put(where[i], std::to_string(i));
    return "[" + joined(items) + "]";
  };
  return part("b", "input_batch_dimension", "f", "input_feature_dimension",
              "input_spatial_dimensions") +
         "x" +
         part("i", "kernel_input_feature_dimension", "o", "kernel_output_feature_dimension",
              "kernel_spatial_dimensions") +
         "->" +
         part("b", "output_batch_dimension", "f", "output_feature_dimension",
              "output_spatial_dimensions");
}

std::string group_text(const Op& op, const Group& g) {
  std::string s = std::string(g.attribute) + " = #" + std::string(g.spelling) + "<";
  if (g.spelling == "stablehlo.conv") return s + conv_text(op) + ">";
  bool first = true;
  for (std::string_view member : g.members) {
    const Attr* a = op.attr(member);
    if (!a) continue;
    std::string v;
    if (auto* list = std::get_if<std::vector<int64_t>>(&a->v)) {
      if (list->empty()) continue;
      v = "[" + joined(*list) + "]";
    } else {
      v = std::to_string(a->as<int64_t>());
    }
    s += (first ? "" : ", ") + std::string(member) + " = " + v;
    first = false;
  }
  return s + ">";
}

bool complete(const Op& op, const Group& g) {
  for (std::string_view member : g.members) {
    for (const AttrSpec& s : op.def->attrs) {
      const Attr* a = op.attr(member);
      if (s.name != member) continue;
      if (a ? a->v.index() != (s.kind == AttrKind::I64 ? 2u : 6u) : s.required) return false;
    }
  }
  return true;
}

}  // namespace

std::string type_text(const TensorType& t) { return t.str(); }

std::string dims_text(const std::vector<Dim>& dims) {
  std::string s = "#tenfold.dims<";
  for (size_t i = 0; i < dims.size(); ++i) s += (i ? ", " : "") + dims[i].str();
  return s + ">";
}

std::string literal_text(const Literal& l) {
  std::string s = "dense<";
  if (l.size() > 0 && l.is_splat()) {
    s += element_text(l, 0);
  } else if (l.size() == 0) {
    // nothing
  } else if (l.size() > kHexAbove && l.dtype() != DType::Bool && bit_width(l.dtype()) >= 8) {
    static constexpr char kDigits[] = "0123456789ABCDEF";
    s.reserve(l.byte_count() * 2 + 64);
    s += "\"0x";
    for (size_t i = 0; i < l.byte_count(); ++i) {
      const auto v = std::to_integer<unsigned>(l.bytes()[i]);
      s += kDigits[v >> 4];
      s += kDigits[v & 15];
    }
    s += "\"";
  } else {
    int64_t at = 0;
    nested(l, 0, at, s);
  }
  return s + "> : " + l.type().str();
}

std::string value_text(const Attr& a) {
  struct Visitor {
    std::string operator()(std::monostate) const { return "unit"; }
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(int64_t v) const { return std::to_string(v) + " : i64"; }
    std::string operator()(double v) const {
      if (std::isfinite(v)) return double_text(v) + " : f64";
      return hex_bits(reinterpret_cast<const std::byte*>(&v), 8) + " : f64";
    }
    std::string operator()(const std::string& v) const { return quote(v); }
    std::string operator()(DType v) const { return std::string(name(v)); }
    std::string operator()(const std::vector<int64_t>& v) const { return array_text("i64", v); }
    std::string operator()(const std::vector<Dim>& v) const { return dims_text(v); }
    std::string operator()(const std::vector<std::string>& v) const {
      std::vector<std::string> q;
      for (auto& s : v) q.push_back(quote(s));
      return "[" + joined(q) + "]";
    }
    std::string operator()(const Literal& v) const { return literal_text(v); }
    std::string operator()(const std::shared_ptr<AttrDict>& v) const {
      std::string s = "{";
      for (auto& [k, x] : *v) s += (s.size() > 1 ? ", " : "") + key_text(k) + " = " + value_text(x);
      return s + "}";
    }
  };
  return std::visit(Visitor{}, a.v);
}

std::vector<std::string> attribute_texts(const Op& op) {
  std::vector<std::string> out;
  const Group* g = group_of(op.def->name);
  if (g && !complete(op, *g)) g = nullptr;
  if (g) out.push_back(group_text(op, *g));
  for (const AttrSpec& spec : op.def->attrs) {
    if (g && std::find(g->members.begin(), g->members.end(), spec.name) != g->members.end()) {
      continue;
    }
    const Attr* a = op.attr(spec.name);
    if (a) {
      std::string key(spec.name);
      if (key == "backend_config_dict") key = "mhlo.backend_config";
      out.push_back(key + " = " + spec_text(*op.def, spec, *a));
    } else if (spec.name == "feature_group_count" || spec.name == "batch_group_count") {
      out.push_back(std::string(spec.name) + " = 1 : i64");  // MLIR wants them written
    }
  }
  return out;
}

}  // namespace tenfold::text
