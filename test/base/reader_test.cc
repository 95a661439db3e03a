// The bounds-checked reader.
#include "base/reader.h"

#include <gtest/gtest.h>

namespace tenfold {
namespace {

std::vector<std::byte> bytes_of(std::initializer_list<int> v) {
  std::vector<std::byte> b;
  for (int x : v) b.push_back(static_cast<std::byte>(x));
  return b;
}

TEST(Reader, ReadsLittleEndian) {
  const auto b = bytes_of({1, 2, 3, 4, 5, 6, 7, 8, 0xff, 0, 0, 0x80, 0x3f});
  Reader r(b, "x");
  EXPECT_EQ(*r.read_u8(), 1);
  EXPECT_EQ(*r.read_u16(), 0x0302);
  EXPECT_EQ(*r.read_u32(), 0x07060504u);
  EXPECT_EQ(r.pos(), 7u);
  EXPECT_EQ(*r.read_u16(), 0xff08);
  EXPECT_EQ(*r.read_f32(), 1.f);
  EXPECT_TRUE(r.at_end());
  const auto c = bytes_of({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f});
  EXPECT_EQ(*Reader(c, "x").read_i64(), INT64_MAX);
  EXPECT_EQ(*Reader(c, "x").read_i32(), -1);
}

TEST(Reader, NamesThePlaceOfAFailure) {
  const auto b = bytes_of({1, 2, 3});
  Reader r(b, "model.onnx");
  ASSERT_TRUE(r.skip(1).ok());
  auto v = r.read_u32();
  ASSERT_FALSE(v.ok());
  EXPECT_EQ(v.errors()[0].id, "read-truncated");
  EXPECT_EQ(v.errors()[0].message.find("at byte 1 of model.onnx: found 2 bytes, wanted 4"), 0u);
  EXPECT_EQ(r.pos(), 1u);  // a failing read moves nothing
  EXPECT_FALSE(r.bytes(UINT64_MAX).ok());
  EXPECT_FALSE(r.skip(3).ok());
  EXPECT_FALSE(r.seek(4).ok());
  EXPECT_TRUE(r.seek(3).ok());
  EXPECT_FALSE(r.read_u8().ok());
}

TEST(Reader, Varints) {
  const auto b = bytes_of({0x00, 0xac, 0x02, 0x03, 0x04});
  Reader r(b, "x");
  EXPECT_EQ(*r.read_varint(), 0u);
  EXPECT_EQ(*r.read_varint(), 300u);
  EXPECT_EQ(*r.read_zigzag(), -2);
  EXPECT_EQ(*r.read_zigzag(), 2);
  const auto most = bytes_of({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01});
  EXPECT_EQ(*Reader(most, "x").read_varint(), UINT64_MAX);
  const auto over = bytes_of({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02});
  EXPECT_EQ(Reader(over, "x").read_varint().errors()[0].id, "read-varint");
  const auto endless = bytes_of({0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00});
  EXPECT_EQ(Reader(endless, "x").read_varint().errors()[0].id, "read-varint");
  const auto open = bytes_of({0x80});
  EXPECT_EQ(Reader(open, "x").read_varint().errors()[0].id, "read-truncated");
}

TEST(Reader, SubReadersKeepTheOffsetAndCountDepth) {
  const auto b = bytes_of({0, 1, 2, 3, 4, 5});
  Reader r(b, "x", {.depth = 2});
  ASSERT_TRUE(r.skip(2).ok());
  auto s = r.sub(3);
  ASSERT_TRUE(s.ok());
  EXPECT_EQ(r.pos(), 5u);
  EXPECT_EQ(s->size(), 3u);
  EXPECT_EQ(s->offset(), 2u);
  ASSERT_TRUE(s->skip(1).ok());
  auto t = s->sub(1);
  ASSERT_TRUE(t.ok());
  EXPECT_EQ(t->offset(), 3u);
  EXPECT_EQ(*t->read_u8(), 3);
  EXPECT_EQ(t->sub(0).errors()[0].id, "read-depth");
  EXPECT_FALSE(r.sub(2).ok());
  ASSERT_TRUE(r.enter().ok());
  ASSERT_TRUE(r.enter().ok());
  EXPECT_FALSE(r.enter().ok());
  r.leave();
  EXPECT_TRUE(r.enter().ok());
}

TEST(Reader, Limits) {
  const auto b = bytes_of({'P', 'K', 2, 3, 4, 5, 6, 7});
  Reader r(b, "x", {.item_bytes = 4});
  EXPECT_TRUE(r.expect("PK").ok());
  EXPECT_EQ(r.expect("PK").errors()[0].id, "read-magic");
  EXPECT_TRUE(r.align(4).ok());
  EXPECT_EQ(r.pos(), 4u);
  EXPECT_TRUE(r.check_count(2, 2).ok());
  EXPECT_FALSE(r.check_count(UINT64_MAX, 2).ok());
  EXPECT_TRUE(r.seek(0).ok());
  EXPECT_EQ(r.bytes(5).errors()[0].id, "read-limit");
  EXPECT_EQ(*r.text(2), "PK");
}

}  // namespace
}  // namespace tenfold
