// Literals: storage shared until written, exact element access, text, comparison.
#include "array/literal.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tenfold {
namespace {

Literal floats(std::vector<int64_t> dims, std::vector<float> v) {
  return Literal::from<float>(DType::F32, std::move(dims), v);
}

TEST(Literal, DefaultIsAScalarZero) {
  Literal l;
  EXPECT_EQ(l.dtype(), DType::F32);
  EXPECT_EQ(l.rank(), 0);
  EXPECT_EQ(l.size(), 1);
  EXPECT_EQ(l.as_f64(0), 0);
  l.set_f64(0, 2);
  EXPECT_EQ(l.as_f64(0), 2);
  EXPECT_EQ(Literal().as_f64(0), 0);
}

TEST(Literal, CopiesOnWrite) {
  Literal a = floats({2}, {1, 2});
  Literal b = a;
  EXPECT_EQ(a.bytes(), b.bytes());
  b.set_f64(0, 9);
  EXPECT_EQ(a.as_f64(0), 1);
  EXPECT_EQ(b.as_f64(0), 9);
  const std::byte* own = b.bytes();
  b.set_f64(1, 8);
  EXPECT_EQ(b.bytes(), own);  // sole owner: in place
  EXPECT_EQ(reinterpret_cast<uintptr_t>(own) % 64, 0u);
}

TEST(Literal, BorrowsUntilWritten) {
  auto owner = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3});
  const auto* bytes = reinterpret_cast<const std::byte*>(owner->data());
  Literal l = Literal::borrow(DType::F32, {3}, bytes, owner);
  EXPECT_EQ(l.bytes(), bytes);
  EXPECT_EQ(l.data<float>()[2], 3);
  l.set_f64(0, 7);
  EXPECT_EQ((*owner)[0], 1);
  EXPECT_EQ(l.as_f64(0), 7);
  EXPECT_EQ(l.as_f64(2), 3);
}

TEST(Literal, KeepsSixtyFourBits) {
  EXPECT_EQ(Literal::scalar_i(DType::I64, INT64_MAX).as_i64(0), INT64_MAX);
  EXPECT_EQ(Literal::scalar_i(DType::U64, -1).str(), "dense<18446744073709551615> : tensor<ui64>");
  EXPECT_EQ(Literal::i64s({1, -2}).to_i64s(), (std::vector<int64_t>{1, -2}));
  EXPECT_EQ(Literal::scalar(DType::I32, 3.9).as_i64(0), 3);
}

TEST(Literal, Shapes) {
  EXPECT_EQ(row_major_strides({2, 3, 4}), (std::vector<int64_t>{12, 4, 1}));
  EXPECT_EQ(Literal(DType::I8, {0, 5}).size(), 0);
  EXPECT_FALSE(checked_size({int64_t{1} << 40, int64_t{1} << 40}));
  EXPECT_EQ(checked_size({int64_t{1} << 40, int64_t{1} << 40, 0}), 0);
  EXPECT_FALSE(checked_size({-1, 0}));
  const Literal l = floats({2, 3}, {1, 2, 3, 4, 5, 6}).reshaped({3, 2});
  EXPECT_EQ(l.dims(), (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(l.type().str(), "tensor<3x2xf32>");
  const Literal s = Literal::splat(Literal::scalar_i(DType::I16, 7), {3, 5});
  EXPECT_TRUE(s.is_splat());
  EXPECT_EQ(s.as_i64(14), 7);
  EXPECT_FALSE(floats({2}, {1, 2}).is_splat());
}

TEST(Literal, IsSameBitForBitButForNan) {
  EXPECT_FALSE(floats({1}, {0.f}).same(floats({1}, {-0.f})));
  EXPECT_TRUE(floats({1}, {NAN}).same(floats({1}, {-NAN})));
  EXPECT_FALSE(floats({1}, {1}).same(floats({1, 1}, {1})));
  EXPECT_FALSE(floats({1}, {1}).same(convert(floats({1}, {1}), DType::F64)));
  Literal a(DType::BF16, {1}), b(DType::BF16, {1});
  a.mutable_data<bf16>()[0].bits = 0x7fc0;
  b.mutable_data<bf16>()[0].bits = 0xffc1;
  EXPECT_TRUE(a.same(b));
}

TEST(Literal, Text) {
  EXPECT_EQ(floats({2, 2}, {1, 2.5, -3, 0}).str(),
            "dense<[[1.0, 2.5], [-3.0, 0.0]]> : tensor<2x2xf32>");
  EXPECT_EQ(floats({3}, {2, 2, 2}).str(), "dense<2.0> : tensor<3xf32>");
  EXPECT_EQ(floats({4}, {1, 2, 3, 4}).str(2), "dense<[1.0, 2.0, ...]> : tensor<4xf32>");
  EXPECT_EQ(Literal(DType::F32, {0}).str(), "dense<> : tensor<0xf32>");
  EXPECT_EQ(Literal::scalar_i(DType::Bool, 1).str(), "dense<true> : tensor<i1>");
  EXPECT_EQ(Literal::scalar(DType::F32, 1e30).str(), "dense<1.0e+30> : tensor<f32>");
  Literal c(DType::C64, {});
  c.set_c128(0, {1, -2});
  EXPECT_EQ(c.str(), "dense<(1.0, -2.0)> : tensor<complex<f32>>");
}

TEST(Literal, Digest) {
  // sha256sum of "abc" and of nothing.
  const std::vector<uint8_t> abc = {'a', 'b', 'c'};
  EXPECT_EQ(Literal::from<uint8_t>(DType::U8, {3}, abc).sha256(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Literal(DType::U8, {0}).sha256(),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  // A million times 'a' (FIPS 180-4's third example).
  const Literal a = Literal::splat(Literal::scalar_i(DType::U8, 'a'), {1000000});
  EXPECT_EQ(a.sha256(), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Compare, MeasuresDistance) {
  const Literal a = floats({4}, {1, 2, NAN, 4}), b = floats({4}, {1, 2.5, NAN, -4});
  const Difference d = compare(a, b, 0, 0);
  EXPECT_EQ(d.mismatches, 2);
  EXPECT_EQ(d.first, 1);
  EXPECT_EQ(d.max_abs, 8);
  EXPECT_EQ(d.max_rel_to_peak, 2);
  EXPECT_EQ(compare(a, b, 0, 0.5).mismatches, 1);
  EXPECT_EQ(compare(a, b, 10, 0).mismatches, 0);
  EXPECT_EQ(compare(a, a, 0, 0).max_ulp, 0);
}

TEST(Compare, CountsUlps) {
  EXPECT_EQ(compare(floats({1}, {1}), floats({1}, {0x1.000006p0f}), 0, 0).max_ulp, 3);
  EXPECT_EQ(compare(floats({1}, {-0x1p-149f}), floats({1}, {0x1p-149f}), 0, 0).max_ulp, 2);
  EXPECT_EQ(compare(floats({1}, {-0.f}), floats({1}, {0.f}), 0, 0).mismatches, 0);
  const Literal x = Literal::scalar(DType::BF16, 1), y = Literal::scalar(DType::BF16, 1.015625);
  EXPECT_EQ(compare(x, y, 0, 0).max_ulp, 2);
  EXPECT_EQ(
      compare(Literal::scalar_i(DType::I64, INT64_MIN), Literal::scalar_i(DType::I64, 0), 0, 0)
          .max_abs,
      0x1p63);
}

TEST(Compare, InfinityMatchesOnlyItself) {
  const Literal inf = floats({1}, {INFINITY}), one = floats({1}, {1});
  EXPECT_EQ(compare(inf, inf, 0, 0).mismatches, 0);
  EXPECT_EQ(compare(inf, one, 1, 1).mismatches, 1);
  EXPECT_EQ(compare(one, inf, 1, 1).mismatches, 1);
  EXPECT_EQ(compare(floats({1}, {NAN}), one, 1, 1).mismatches, 1);
}

}  // namespace
}  // namespace tenfold
