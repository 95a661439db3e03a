// Chip files: those of the build read and print back; everything wrong in one is said at once.
#include "tpu/chips/chip.h"

#include "base/text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tenfold::tpu {
namespace {

using ::testing::HasSubstr;

TEST(Chip, files_of_the_build_read_and_print_to_themselves) {
  EXPECT_EQ(chip_files().size(), 9u);
  for (const ChipFile& f : chip_files()) {
    const Result<Chip> chip = parse_chip(f.json, f.name);
    ASSERT_TRUE(chip.ok()) << to_string(chip.errors());
    EXPECT_EQ(chip->name, f.name);
    EXPECT_EQ(print_chip(*chip), f.json);
  }
}

TEST(Chip, peaks_follow_from_the_arrays) {
  const auto tera = [](std::string_view name) {
    const Chip c = *find_chip(name);
    return 2 * static_cast<double>(c.cores * c.mxu_count * c.mxu_dim * c.mxu_dim) *
           c.mxu_rows_per_cycle * c.clock_mhz / 1e6;
  };
  EXPECT_NEAR(tera("v1"), 92, 1);            // int8
  EXPECT_NEAR(tera("edge"), 4.0 / 2, 0.05);  // int8, half the clock
  EXPECT_NEAR(tera("v2"), 46 / 2, 0.5);      // half a chip
  EXPECT_NEAR(tera("v3"), 123 / 2, 1);
  EXPECT_NEAR(tera("v4"), 275, 1);
  EXPECT_NEAR(tera("v5e"), 197, 1);
  EXPECT_NEAR(tera("v5p"), 459, 1);
  EXPECT_NEAR(tera("v6e"), 918, 1);
  EXPECT_NEAR(tera("7x"), 2307 / 2, 1);
}

std::string v5e_with(std::string_view from, std::string_view to) {
  std::string s = print_chip(*find_chip("v5e"));
  const size_t at = s.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return s.replace(at, from.size(), to);
}

TEST(Chip, problems_are_named_with_their_line_and_what_to_do) {
  const auto first = [](const std::string& json) {
    const Result<Chip> r = parse_chip(json, "my.json");
    return r.ok() ? std::string() : to_string(r.errors()[0]);
  };
  EXPECT_EQ(
      first(v5e_with("\"name\"", "\"valu_slot\": 3,\n  \"name\"")),
      "my.json:2: a chip has no `valu_slot`; did you mean `valu_slots`? [chip-unknown-field]");
  EXPECT_EQ(first(v5e_with("\"unit\": \"MHz\"", "\"unit\": \"GHz\"")),
            "my.json:5: `clock_mhz` is given in \"GHz\", wanted \"MHz\"; convert the value "
            "[chip-unit]");
  EXPECT_EQ(first(v5e_with("\"mxu_dim\": {\"value\": 128", "\"mxu_dim\": {\"value\": 128.5")),
            "my.json:8: `mxu_dim` is 128.5, wanted a whole number from 8 to 4096 [chip-range]");
  EXPECT_THAT(first(v5e_with("\"hbm_gbps\"", "\"hbm_gigabytes\"")),
              HasSubstr("`hbm_gbps` is missing; add"));
  EXPECT_THAT(first(v5e_with("\"hbm_bytes\"", "\"unified_buffer_bytes\": 0,\n  \"hbm_bytes\"")),
              HasSubstr("`unified_buffer_bytes` is not a field of the bundle family"));
  EXPECT_THAT(first("[]"), HasSubstr("[chip-form]"));
  EXPECT_THAT(first("{\"name\": 1"), HasSubstr("[json-syntax]"));
  // All at once: two wrong values are two problems.
  std::string two = v5e_with("\"mxu_dim\": {\"value\": 128", "\"mxu_dim\": {\"value\": 1");
  two.replace(two.find("\"lanes\": {\"value\": 128"), 22, "\"lanes\": {\"value\": 0  ");
  EXPECT_EQ(parse_chip(two, "my.json").errors().size(), 2u);
}

TEST(Chip, an_unknown_name_lists_those_that_there_are) {
  const Result<Chip> r = find_chip("v9");
  ASSERT_FALSE(r.ok());
  EXPECT_THAT(r.errors()[0].message, HasSubstr("7x, edge, v1, v2, v3, v4, v5e, v5p, v6e"));
}

}  // namespace
}  // namespace tenfold::tpu
