// Small helpers on strings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tenfold {

std::string join(const std::vector<std::string>& parts, std::string_view between);
std::vector<std::string_view> split(std::string_view s, char at);  // n separators: n + 1 parts
std::string_view trim(std::string_view s);                         // blanks at both ends
std::string to_lower(std::string_view s);                          // ASCII

// Characters outside A-Z a-z 0-9 . _ - become '_'; never "", "." or "..".
std::string safe_file_name(std::string_view name);

// The candidate most like `name`, for "did you mean"; "" when none is near.
std::string nearest(std::string_view name, const std::vector<std::string>& candidates);

// In double quotes, with control characters, quotes and backslashes as JSON writes them. Bytes
// above 127 stay.
std::string json_quote(std::string_view s);

}  // namespace tenfold
