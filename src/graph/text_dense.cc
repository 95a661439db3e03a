// dense<...>: nested lists, splats and hex blobs. Sizes are checked before memory is taken: the
// type stands after the data, so a first pass finds it.
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "graph/text_attrs.h"

namespace tenfold::text {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char l = static_cast<char>(c | 32);
  return l >= 'a' && l <= 'f' ? l - 'a' + 10 : -1;
}

void repeat_first(Literal& l) {
  std::byte* b = l.mutable_bytes();
  const auto step = static_cast<size_t>(byte_size(l.dtype()));
  for (size_t have = step; have < l.byte_count();) {
    const size_t n = std::min(have, l.byte_count() - have);
    std::memcpy(b + have, b, n);
    have += n;
  }
}

}  // namespace

bool DenseReader::check_size(const TensorType& t, size_t offset) {
  if (!t.is_static()) {
    r_.problem(offset, "text-dense", "a dense tensor of type " + t.str() + " has no known size");
    return false;
  }
  int64_t bytes = byte_size(t.dtype);
  for (const Dim& d : t.shape) {
    if (__builtin_mul_overflow(bytes, d.value(), &bytes)) bytes = INT64_MAX;
    if (bytes == 0) return true;
  }
  if (bytes <= kMaxDenseBytes) return true;
  r_.problem(offset, "text-dense",
             "a dense tensor of type " + t.str() + " takes more than " +
                 std::to_string(kMaxDenseBytes >> 20) +
                 " MiB; write a scalar constant and broadcast it");
  return false;
}

bool DenseReader::from_hex(std::string_view hex, size_t offset, const TensorType& t, Literal& out) {
  if (!check_size(t, offset)) return false;
  auto bad = [&](std::string message) {
    r_.problem(offset, "text-dense", std::move(message));
    return false;
  };
  const int64_t elements = Literal(t.dtype, t.static_shape()).size();
  const size_t bytes = hex.size() / 2;
  const size_t full = static_cast<size_t>(elements) * byte_size(t.dtype);
  const bool packed =
      t.dtype == DType::Bool && bytes != full && bytes == (static_cast<size_t>(elements) + 7) / 8;
  const bool splat = !packed && bytes != full && bytes == static_cast<size_t>(byte_size(t.dtype));
  if (hex.size() % 2 || (bytes != full && !packed && !splat)) {
    return bad("the blob has " + std::to_string(bytes) + " bytes, wanted " + std::to_string(full) +
               " for " + t.str());
  }
  Literal l(t.dtype, t.static_shape());
  std::byte* to = l.mutable_bytes();
  for (size_t i = 0; i < bytes; ++i) {
    const int h = hex_value(hex[2 * i]), o = hex_value(hex[2 * i + 1]);
    if (h < 0 || o < 0) return bad("the blob has a byte that is no hexadecimal number");
    const int v = h * 16 + o;
    if (packed) {
      for (size_t k = 0; k < 8 && i * 8 + k < static_cast<size_t>(elements); ++k) {
        to[i * 8 + k] = static_cast<std::byte>((v >> k) & 1);
      }
    } else {
      to[i] = static_cast<std::byte>(v);
    }
  }
  if (splat) repeat_first(l);
  if (t.dtype == DType::Bool) {
    for (int64_t i = 0; i < elements; ++i) to[i] = static_cast<std::byte>(to[i] != std::byte{0});
  } else if (bit_width(t.dtype) < 8 && is_integer(t.dtype)) {
    for (int64_t i = 0; i < elements; ++i) {
      l.set_i64(i, static_cast<int8_t>(static_cast<uint8_t>(l.bytes()[i])));
    }
  } else if (bit_width(t.dtype) < 8) {
    const auto mask = static_cast<std::byte>((1 << bit_width(t.dtype)) - 1);
    for (int64_t i = 0; i < elements; ++i) to[i] &= mask;
  }
  out = std::move(l);
  return true;
}

bool DenseReader::skip_body() {
  int depth = 0;
  while (true) {
    const Token& t = r_.lex.peek();
    if (t.kind == Tok::End || t.kind == Tok::Bad) {
      r_.wanted("'>'");
      return false;
    }
    if (depth == 0 && t.is('>')) return true;
    if (t.is('[') || t.is('(')) ++depth;
    if (t.is(']') || t.is(')')) --depth;
    if (depth < 0 || depth > kMaxDepth) {
      r_.wanted("'>'");
      return false;
    }
    r_.lex.next();
  }
}

Attribute DenseReader::read(size_t offset) {
  Attribute a;
  a.kind = Attribute::Kind::Dense;
  a.offset = offset;
  if (!r_.expect('<')) return a;
  const size_t body = r_.lex.offset();
  const Token first = r_.lex.peek();
  if (!skip_body() || !r_.expect('>') || !r_.expect(':')) return a;
  const TensorType t = r_.tensor_type();
  const size_t end = r_.lex.offset();
  if (r_.failed || !check_size(t, offset)) return a;
  if (first.kind == Tok::String) {
    if (!first.text.starts_with("0x")) {
      r_.problem(offset, "text-dense", "tensors of strings are not taken");
      return a;
    }
    from_hex(first.text.substr(2), offset, t, a.literal);
    return a;
  }
  Literal l(t.dtype, t.static_shape());
  r_.lex.seek(body);
  bool ok = true;
  if (r_.lex.peek().is('>')) {
    ok = l.size() == 0;
    if (!ok) r_.problem(body, "text-dense", "found no data, wanted " + t.str());
  } else if (r_.lex.peek().is('[')) {
    int64_t at = 0;
    ok = list(l, 0, at);
  } else if (l.size() > 0) {
    ok = element(l, 0);
    if (ok) repeat_first(l);
  } else {
    Literal one(t.dtype, {});
    ok = element(one, 0);
  }
  if (r_.failed) return a;
  if (ok && !r_.lex.peek().is('>')) {
    r_.wanted("'>'");
    return a;
  }
  r_.lex.seek(end);
  a.literal = std::move(l);
  return a;
}

bool DenseReader::list(Literal& l, size_t level, int64_t& at) {
  const size_t open = r_.lex.offset();
  if (level >= l.dims().size()) {
    r_.problem(open, "text-dense", "the list is nested deeper than " + l.type().str());
    return false;
  }
  r_.expect('[');
  int64_t n = 0;
  if (!r_.lex.peek().is(']')) {
    do {
      if (n++ >= l.dims()[level]) break;
      if (level + 1 < l.dims().size()) {
        if (!r_.lex.peek().is('[')) {
          r_.problem(r_.lex.offset(), "text-dense",
                     "found " + r_.lex.found() + ", wanted a list: the type is " + l.type().str());
          return false;
        }
        if (!list(l, level + 1, at)) return false;
      } else if (!element(l, at++)) {
        return false;
      }
    } while (r_.eat(','));
  }
  if (n != l.dims()[level] || !r_.lex.peek().is(']')) {
    r_.problem(open, "text-dense",
               "the list has " + std::string(n > l.dims()[level] ? "more" : std::to_string(n)) +
                   " items, wanted " + std::to_string(l.dims()[level]) + ": the type is " +
                   l.type().str());
    return false;
  }
  r_.lex.next();
  return true;
}

bool DenseReader::element(Literal& l, int64_t i) {
  const auto step = static_cast<size_t>(byte_size(l.dtype()));
  std::byte* to = l.mutable_bytes() + static_cast<size_t>(i) * step;
  if (!is_complex(l.dtype())) return number(l.dtype(), to);
  const DType part = real_of(l.dtype());
  if (!r_.expect('(') || !number(part, to) || !r_.expect(',') || !number(part, to + step / 2)) {
    return false;
  }
  return r_.expect(')');
}

bool DenseReader::number(DType t, std::byte* out) {
  const size_t at = r_.lex.offset();
  auto bad = [&](const std::string& found) {
    r_.problem(at, "text-dense",
               "found " + found + ", wanted a value of type " + std::string(name(t)));
    return false;
  };
  const bool negative = r_.eat('-');
  const Token tok = r_.lex.next();
  const std::string found = (negative ? "-" : "") + Lexer::found(tok);
  if (tok.kind == Tok::Ident && (tok.text == "true" || tok.text == "false") && !negative) {
    if (t != DType::Bool) return bad(found);
    *out = static_cast<std::byte>(tok.text == "true");
    return true;
  }
  if (tok.kind == Tok::Integer && tok.text.starts_with("0x")) {
    uint64_t m = 0;
    const char* end = tok.text.data() + tok.text.size();
    const auto r = std::from_chars(tok.text.data() + 2, end, m, 16);
    const int bits = bit_width(t);
    if (r.ec != std::errc() || r.ptr != end || (bits < 64 && m >> bits)) return bad(found);
    if (is_float(t)) {  // the bits themselves
      if (negative) return bad(found);
      std::memcpy(out, &m, static_cast<size_t>(byte_size(t)));
      return true;
    }
    const int64_t v = static_cast<int64_t>(negative ? 0 - m : m);
    Literal one = Literal::scalar_i(t, v);
    std::memcpy(out, one.bytes(), one.byte_count());
    return true;
  }
  if (tok.kind == Tok::Integer && !is_float(t)) {
    uint64_t m = 0;
    const char* end = tok.text.data() + tok.text.size();
    const auto r = std::from_chars(tok.text.data(), end, m, 10);
    const int bits = bit_width(t);
    uint64_t limit = bits == 64 ? UINT64_MAX : (uint64_t{1} << bits) - 1;
    if (is_signed(t)) limit = negative ? uint64_t{1} << (bits - 1) : limit >> 1;
    if (!is_signed(t) && negative && m != 0) return bad(found);
    if (r.ec != std::errc() || r.ptr != end || m > limit) return bad(found);
    const Literal one = Literal::scalar_i(t, static_cast<int64_t>(negative ? 0 - m : m));
    std::memcpy(out, one.bytes(), one.byte_count());
    return true;
  }
  if ((tok.kind == Tok::Float || tok.kind == Tok::Integer) && is_float(t)) {
    const std::string text(tok.text);
    double v = std::strtod(text.c_str(), nullptr);
    if (negative) v = -v;
    const Literal one = Literal::scalar(t, v);
    std::memcpy(out, one.bytes(), one.byte_count());
    return true;
  }
  return bad(found);
}

}  // namespace tenfold::text
