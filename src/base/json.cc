// JSON (RFC 8259), recursive descent with a limit on depth.
#include "base/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "fmt/format.h"

namespace tenfold {

std::string_view name(Json::Kind kind) {
  constexpr std::string_view kNames[] = {"null", "boolean", "number", "string", "array", "object"};
  return kNames[static_cast<int>(kind)];
}

const Json* Json::find(std::string_view key) const {
  for (const auto& [k, v] : members) {
    if (k == key) return &v;
  }
  return nullptr;
}

namespace {

constexpr int kMaxDepth = 100;

class Parser {
 public:
  Parser(std::string_view text, std::string_view what) : text_(text), what_(what) {}

  Result<Json> whole() {
    TF_ASSIGN(Json v, value(0));
    blanks();
    if (pos_ != text_.size()) return syntax("the end of the file");
    return v;
  }

 private:
  void blanks() {
    for (; pos_ < text_.size(); ++pos_) {
      const char c = text_[pos_];
      if (c == '\n') ++line_;
      if (c != ' ' && c != '\t' && c != '\n' && c != '\r') break;
    }
  }
  bool take(char c) {
    blanks();
    if (pos_ >= text_.size() || text_[pos_] != c) return false;
    ++pos_;
    return true;
  }
  bool word(std::string_view w) {
    if (text_.substr(pos_, w.size()) != w) return false;
    pos_ += w.size();
    return true;
  }
  Location here() const { return {fmt::format("{}:{}", what_, line_)}; }
  Error syntax(std::string_view wanted) const {
    const std::string found =
        pos_ >= text_.size() ? "the file ends" : "found " + json_quote(text_.substr(pos_, 1));
    return {
        "json-syntax", fmt::format("{}, wanted {}; correct the JSON", found, wanted), here(), {}};
  }

  Result<Json> value(int depth) {
    blanks();
    if (depth > kMaxDepth) {
      return Error{
          "json-depth", fmt::format("nested deeper than {} levels", kMaxDepth), here(), {}};
    }
    Json v;
    v.line = line_;
    if (pos_ >= text_.size()) return syntax("a value");
    const char c = text_[pos_];
    if (c == '{') {
      TF_TRY(object(v, depth));
    } else if (c == '[') {
      TF_TRY(array(v, depth));
    } else if (c == '"') {
      v.kind = Json::Kind::String;
      TF_ASSIGN(v.string, string());
    } else if (word("true") || word("false")) {
      v.kind = Json::Kind::Bool;
      v.boolean = c == 't';
    } else if (!word("null")) {
      v.kind = Json::Kind::Number;
      TF_ASSIGN(v.number, number());
    }
    return v;
  }

  Status object(Json& v, int depth) {
    v.kind = Json::Kind::Object;
    ++pos_;
    if (take('}')) return ok_status();
    do {
      blanks();
      if (pos_ >= text_.size() || text_[pos_] != '"') return syntax("a key in quotes");
      const Location at = here();
      TF_ASSIGN(std::string key, string());
      if (v.find(key)) {
        return Error{"json-repeated-key",
                     fmt::format("{} comes twice; keep one of them", json_quote(key)),
                     at,
                     {}};
      }
      if (!take(':')) return syntax("':'");
      TF_ASSIGN(Json item, value(depth + 1));
      v.members.push_back({std::move(key), std::move(item)});
    } while (take(','));
    if (!take('}')) return syntax("',' or '}'");
    return ok_status();
  }

  Status array(Json& v, int depth) {
    v.kind = Json::Kind::Array;
    ++pos_;
    if (take(']')) return ok_status();
    do {
      TF_ASSIGN(Json item, value(depth + 1));
      v.items.push_back(std::move(item));
    } while (take(','));
    if (!take(']')) return syntax("',' or ']'");
    return ok_status();
  }

  Result<double> number() {
    const size_t end = std::min(text_.find_first_not_of("+-.0123456789eE", pos_), text_.size());
    double d = 0;
    const char *a = text_.data() + pos_, *b = text_.data() + end;
    const auto [stop, bad] = std::from_chars(a, b, d);
    const size_t digit = *a == '-' ? 1 : 0;  // JSON has no ".5", "01", "+1", "inf"
    const bool form =
        a != b && a + digit < b && a[digit] >= '0' && a[digit] <= '9' &&
        !(a[digit] == '0' && a + digit + 1 < b && a[digit + 1] >= '0' && a[digit + 1] <= '9') &&
        b[-1] != '.';
    if (bad != std::errc() || stop != b || !form || !std::isfinite(d)) return syntax("a value");
    pos_ = end;
    return d;
  }

  Result<std::string> string() {
    std::string s;
    for (++pos_; pos_ < text_.size(); ++pos_) {
      const char c = text_[pos_];
      if (c == '"') {
        ++pos_;
        return s;
      }
      if (static_cast<unsigned char>(c) < 0x20) return syntax("no control character in a string");
      if (c != '\\') {
        s += c;
        continue;
      }
      if (++pos_ >= text_.size()) break;
      constexpr std::string_view kFrom = "\"\\/bfnrt", kTo = "\"\\/\b\f\n\r\t";
      if (const size_t i = kFrom.find(text_[pos_]); i != std::string_view::npos) {
        s += kTo[i];
      } else if (text_[pos_] == 'u') {
        TF_ASSIGN(uint32_t code, hex4());
        if (code >= 0xd800 && code < 0xdc00 && text_.substr(pos_ + 1, 2) == "\\u") {
          pos_ += 2;
          TF_ASSIGN(const uint32_t low, hex4());
          code = 0x10000 + ((code - 0xd800) << 10) + ((low - 0xdc00) & 0x3ff);
        }
        append_utf8(s, code);
      } else {
        return syntax("an escape");
      }
    }
    return syntax("the end of a string");
  }

  Result<uint32_t> hex4() {  // at 'u'; leaves pos_ on the last digit
    uint32_t code = 0;
    for (int i = 0; i < 4; ++i) {
      ++pos_;
      const size_t d =
          pos_ < text_.size()
              ? std::string_view("0123456789abcdef").find(to_lower(text_.substr(pos_, 1)))
              : std::string_view::npos;
      if (d == std::string_view::npos) return syntax("four hexadecimal digits");
      code = code * 16 + static_cast<uint32_t>(d);
    }
    return code;
  }

  static void append_utf8(std::string& s, uint32_t c) {
    if (c < 0x80) {
      s += static_cast<char>(c);
    } else if (c < 0x800) {
      s += static_cast<char>(0xc0 | (c >> 6));
      s += static_cast<char>(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
      s += static_cast<char>(0xe0 | (c >> 12));
      s += static_cast<char>(0x80 | ((c >> 6) & 0x3f));
      s += static_cast<char>(0x80 | (c & 0x3f));
    } else {
      s += static_cast<char>(0xf0 | ((c >> 18) & 7));
      s += static_cast<char>(0x80 | ((c >> 12) & 0x3f));
      s += static_cast<char>(0x80 | ((c >> 6) & 0x3f));
      s += static_cast<char>(0x80 | (c & 0x3f));
    }
  }

  std::string_view text_, what_;
  size_t pos_ = 0;
  int line_ = 1;
};

}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view what) {
  return Parser(text, what).whole();
}

}  // namespace tenfold
