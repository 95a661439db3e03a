// The JSON reader, against RFC 8259.
#include "base/json.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tenfold {
namespace {

TEST(Json, reads_every_kind_of_value) {
  const Result<Json> r = parse_json(
      "{\"a\": [1, -2.5e3, true, false, null],\n \"b\": {\"\\u00e9\\ud83d\\ude00\\n\": \"x\"}}",
      "t");
  ASSERT_TRUE(r.ok()) << to_string(r.errors());
  const Json& a = *r->find("a");
  ASSERT_EQ(a.items.size(), 5u);
  EXPECT_EQ(a.items[1].number, -2500);
  EXPECT_TRUE(a.items[2].boolean);
  EXPECT_EQ(a.items[4].kind, Json::Kind::Null);
  const Json& b = *r->find("b");
  EXPECT_EQ(b.line, 2);
  EXPECT_EQ(b.members[0].key, "é😀\n");
  EXPECT_EQ(b.members[0].value.string, "x");
  EXPECT_EQ(r->find("c"), nullptr);
}

TEST(Json, refuses_what_is_no_json_and_says_where) {
  const auto id = [](std::string_view text) {
    const Result<Json> r = parse_json(text, "t");
    return r.ok() ? "" : r.errors()[0].id;
  };
  for (const char* bad :
       {"", "{", "[1,]", "{\"a\" 1}", "{a: 1}", "01", "+1", ".5", "1.", "nan", "1e999", "\"\\x\"",
        "\"\\u12g4\"", "\"a", "\"a\nb\"", "[1] 2", "tru", "-"}) {
    EXPECT_EQ(id(bad), "json-syntax") << bad;
  }
  EXPECT_EQ(id("{\"a\": 1, \"a\": 2}"), "json-repeated-key");
  EXPECT_EQ(id(std::string(1000, '[')), "json-depth");
  EXPECT_EQ(parse_json("{\n\n  x", "t.json").errors()[0].loc.text, "t.json:3");
}

}  // namespace
}  // namespace tenfold
