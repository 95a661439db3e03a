// JSON as it is read from files: a small tree. Numbers are doubles, keys keep their order and may
// not repeat, and every value knows its place. Programs that write JSON use nlohmann-json; this is
// for the library, which only reads it (docs/decisions/0013).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tenfold {

struct JsonMember;

struct Json {
  enum class Kind { Null, Bool, Number, String, Array, Object };
  Kind kind = Kind::Null;
  bool boolean = false;
  double number = 0;
  std::string string;
  std::vector<Json> items;          // of an array
  std::vector<JsonMember> members;  // of an object
  int line = 1;                     // where it begins

  const Json* find(std::string_view key) const;  // null when absent, or no object
};

struct JsonMember {
  std::string key;
  Json value;
};

std::string_view name(Json::Kind kind);  // "object"

// The whole text is one value. `what` names the file in errors ("chip.json:12: …").
// Errors: json-syntax, json-depth (100 levels), json-repeated-key.
Result<Json> parse_json(std::string_view text, std::string_view what);

}  // namespace tenfold
