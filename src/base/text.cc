// Small helpers on strings.
#include "base/text.h"

#include <algorithm>
#include <cctype>

namespace tenfold {

std::string join(const std::vector<std::string>& parts, std::string_view between) {
  std::string s;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i) s += between;
    s += parts[i];
  }
  return s;
}

std::vector<std::string_view> split(std::string_view s, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t p = s.find(at);
    parts.push_back(s.substr(0, p));
    if (p == std::string_view::npos) return parts;
    s.remove_prefix(p + 1);
  }
}

std::string_view trim(std::string_view s) {
  constexpr std::string_view kBlank = " \t\r\n\f\v";
  const size_t a = s.find_first_not_of(kBlank);
  if (a == std::string_view::npos) return {};
  return s.substr(a, s.find_last_not_of(kBlank) - a + 1);
}

std::string to_lower(std::string_view s) {
  std::string r(s);
  for (char& c : r) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return r;
}

std::string safe_file_name(std::string_view name) {
  std::string s(name);
  for (char& c : s) {
    const bool keep = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                      c == '.' || c == '_' || c == '-';
    if (!keep) c = '_';
  }
  if (s.empty() || s == "." || s == "..") s = "_" + s;
  return s;
}

namespace {
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t up = row[j];
      row[j] = std::min({up + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = up;
    }
  }
  return row[b.size()];
}
}  // namespace

std::string nearest(std::string_view name, const std::vector<std::string>& candidates) {
  constexpr size_t kLongest = 200;  // names are short; quadratic work is not for text
  if (name.size() > kLongest) return "";
  std::string best;
  size_t least = std::max<size_t>(name.size() / 3, 1) + 1;
  const std::string lower = to_lower(name);
  for (const std::string& c : candidates) {
    if (c.size() > kLongest) continue;
    const size_t d = edit_distance(lower, to_lower(c));
    if (d < least) {
      least = d;
      best = c;
    }
  }
  return best;
}

std::string json_quote(std::string_view s) {
  std::string r = "\"";
  for (char c : s) {
    switch (c) {
      case '"':
        r += "\\\"";
        break;
      case '\\':
        r += "\\\\";
        break;
      case '\n':
        r += "\\n";
        break;
      case '\r':
        r += "\\r";
        break;
      case '\t':
        r += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          r += "\\u00";
          r += "0123456789abcdef"[(c >> 4) & 15];
          r += "0123456789abcdef"[c & 15];
        } else {
          r += c;
        }
    }
  }
  return r + "\"";
}

}  // namespace tenfold
