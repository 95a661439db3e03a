// Every code of every narrow float, and rounding, against tables made here from the formats'
// definitions by double arithmetic and search.
#include "array/floats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/rng.h"

namespace tenfold {
namespace {

enum class Special { Ieee, AllOnes, NegZero, None };
struct Format {
  DType t;
  int exp, man, bias;
  Special special;
};
const Format kFormats[] = {
    {DType::F4E2M1FN, 2, 1, 1, Special::None},
    {DType::F6E2M3FN, 2, 3, 1, Special::None},
    {DType::F6E3M2FN, 3, 2, 3, Special::None},
    {DType::F8E3M4, 3, 4, 3, Special::Ieee},
    {DType::F8E4M3, 4, 3, 7, Special::Ieee},
    {DType::F8E4M3FN, 4, 3, 7, Special::AllOnes},
    {DType::F8E4M3FNUZ, 4, 3, 8, Special::NegZero},
    {DType::F8E4M3B11FNUZ, 4, 3, 11, Special::NegZero},
    {DType::F8E5M2, 5, 2, 15, Special::Ieee},
    {DType::F8E5M2FNUZ, 5, 2, 16, Special::NegZero},
    {DType::BF16, 8, 7, 127, Special::Ieee},
    {DType::F16, 5, 10, 15, Special::Ieee},
};

// The value of a magnitude code as if no code were special.
double plain_value(const Format& f, int code) {
  const int field = code >> f.man, frac = code & ((1 << f.man) - 1);
  const double m = frac / std::pow(2.0, f.man);
  return field == 0 ? m * std::pow(2.0, 1 - f.bias) : (1 + m) * std::pow(2.0, field - f.bias);
}
int magnitudes(const Format& f) { return 1 << (f.exp + f.man); }
int max_code(const Format& f) {
  if (f.special == Special::Ieee) return (((1 << f.exp) - 1) << f.man) - 1;
  return f.special == Special::AllOnes ? magnitudes(f) - 2 : magnitudes(f) - 1;
}

TEST(Floats, EveryCodeDecodesToItsDefinition) {
  for (const Format& f : kFormats) {
    for (int code = 0; code < 2 * magnitudes(f); ++code) {
      const bool negative = code >= magnitudes(f);
      const int mag = code % magnitudes(f);
      const float got = decode_small_float(f.t, static_cast<uint16_t>(code));
      const bool nan_code = f.special == Special::NegZero ? negative && mag == 0
                            : f.special == Special::Ieee  ? mag > max_code(f) + 1
                                                          : mag > max_code(f);
      if (nan_code) {
        EXPECT_TRUE(std::isnan(got)) << name(f.t) << " " << code;
        continue;
      }
      double want = plain_value(f, mag);
      if (f.special == Special::Ieee && mag == max_code(f) + 1) want = INFINITY;
      EXPECT_EQ(got, negative ? -want : want) << name(f.t) << " " << code;
      EXPECT_EQ(std::signbit(got), negative) << name(f.t) << " " << code;
    }
  }
}

// The nearest code by walking the table; a tie goes to the even one. Past the largest number the
// table goes on as if the exponent did, which is where overflow begins.
int nearest_code(const Format& f, double magnitude) {
  const int last = max_code(f);
  double step_over = plain_value(f, last) - plain_value(f, last - 1);
  const double over = plain_value(f, last) + step_over;
  int lo = 0, hi = last + 1;
  auto value = [&](int c) { return c > last ? over : plain_value(f, c); };
  if (magnitude >= over) return last + 1;
  while (hi - lo > 1) {
    const int mid = (lo + hi) / 2;
    (value(mid) <= magnitude ? lo : hi) = mid;
  }
  const double below = magnitude - value(lo), above = value(hi) - magnitude;
  if (below != above) return below < above ? lo : hi;
  return lo % 2 == 0 ? lo : hi;
}

uint16_t wanted_code(const Format& f, double v) {
  const int sign = std::signbit(v) ? magnitudes(f) : 0;
  const int code = nearest_code(f, std::fabs(v));
  if (code > max_code(f)) {
    switch (f.special) {
      case Special::Ieee:
        return static_cast<uint16_t>(sign + max_code(f) + 1);
      case Special::AllOnes:
        return static_cast<uint16_t>(sign + magnitudes(f) - 1);
      case Special::NegZero:
        return static_cast<uint16_t>(magnitudes(f));
      case Special::None:
        return static_cast<uint16_t>(sign + max_code(f));
    }
  }
  if (f.special == Special::NegZero && code == 0) return 0;
  return static_cast<uint16_t>(sign + code);
}

TEST(Floats, RoundsOnceToNearestEven) {
  Rng rng(1);
  for (const Format& f : kFormats) {
    auto check = [&](double v) {
      EXPECT_EQ(encode_small_float_f64(f.t, v), wanted_code(f, v)) << name(f.t) << " f64 " << v;
      const float v32 = static_cast<float>(v);
      if (std::isfinite(v32)) {
        EXPECT_EQ(encode_small_float(f.t, v32), wanted_code(f, v32)) << name(f.t) << " f32 " << v32;
      }
    };
    const int step = magnitudes(f) > 1000 ? 17 : 1;
    for (int c = 0; c <= max_code(f); c += step) {
      const double x = plain_value(f, c), y = plain_value(f, c + 1);
      const double mid = x + (y - x) / 2;
      for (double v : {x, y, mid, std::nextafter(mid, 0.0), std::nextafter(mid, INFINITY)}) {
        check(v);
        check(-v);
      }
    }
    for (int i = 0; i < 2000; ++i) {
      const double v = std::ldexp(rng.uniform(-2, 2), static_cast<int>(rng.range(-30, 20)));
      check(v);
    }
    check(1e30);
    check(-1e300);
  }
}

TEST(Floats, KnownValues) {
  EXPECT_EQ(encode_small_float(DType::F8E4M3FN, 448.f), 0x7e);
  EXPECT_EQ(encode_small_float(DType::F8E4M3FN, 464.f), 0x7e);
  EXPECT_EQ(encode_small_float(DType::F8E4M3FN, 465.f), 0x7f);  // no infinity: NaN
  EXPECT_EQ(encode_small_float(DType::F8E4M3FN, -INFINITY), 0xff);
  EXPECT_EQ(encode_small_float(DType::F8E5M2, 1e9f), 0x7c);
  EXPECT_EQ(encode_small_float(DType::F8E4M3FNUZ, 1e9f), 0x80);
  EXPECT_EQ(encode_small_float(DType::F8E4M3FNUZ, -0.f), 0x00);
  EXPECT_EQ(encode_small_float(DType::F4E2M1FN, 100.f), 0x7);
  EXPECT_EQ(encode_small_float(DType::F4E2M1FN, NAN), 0x8);
  EXPECT_EQ(encode_small_float(DType::F16, 65519.f), 0x7bff);
  EXPECT_EQ(encode_small_float(DType::F16, 65520.f), 0x7c00);
  EXPECT_EQ(encode_small_float(DType::BF16, 1.f), 0x3f80);
  EXPECT_EQ(encode_small_float(DType::F8E8M0FNU, 1.f), 127);
  EXPECT_EQ(encode_small_float(DType::F8E8M0FNU, 0.f), 255);
  EXPECT_EQ(encode_small_float(DType::F8E8M0FNU, -2.f), 255);
  EXPECT_EQ(encode_small_float(DType::F8E8M0FNU, 3.f), 128);  // a tie: to the even code
  EXPECT_EQ(encode_small_float(DType::F8E8M0FNU, 1.5f), 128);
  EXPECT_EQ(decode_small_float(DType::F8E8M0FNU, 0), 0x1p-127f);
  EXPECT_EQ(decode_small_float(DType::F8E8M0FNU, 254), 0x1p127f);
  EXPECT_TRUE(std::isnan(decode_small_float(DType::F8E8M0FNU, 255)));
  // 1 + 2^-11 + 2^-40 is above the middle; by way of f32 it would be on it and go to even.
  EXPECT_EQ(encode_small_float_f64(DType::F16, 1 + 0x1p-11 + 0x1p-40), 0x3c01);
  for (DType t : {DType::F16, DType::BF16, DType::F8E5M2, DType::F8E4M3FN, DType::F8E4M3FNUZ}) {
    EXPECT_TRUE(std::isnan(decode_small_float(t, encode_small_float(t, NAN)))) << name(t);
    EXPECT_TRUE(std::isnan(decode_small_float(t, encode_small_float_f64(t, NAN)))) << name(t);
  }
}

TEST(Floats, ArraysAgreeWithSingles) {
  Rng rng(2);
  std::vector<float> x(1000);
  for (float& v : x) v = static_cast<float>(std::ldexp(rng.normal(), int(rng.range(-20, 20))));
  for (const Format& f : kFormats) {
    std::vector<uint16_t> wide(x.size());
    encode_small_floats(f.t, x.data(), wide.data(), 1000);
    std::vector<float> back(x.size());
    decode_small_floats(f.t, wide.data(), back.data(), 1000);
    for (size_t i = 0; i < x.size(); ++i) {
      const uint16_t code = encode_small_float(f.t, x[i]);
      const float want = decode_small_float(f.t, code);
      EXPECT_TRUE(back[i] == want || (std::isnan(back[i]) && std::isnan(want))) << name(f.t);
    }
  }
}

TEST(DTypes, NamesAreThoseOfMlirAndReadBack) {
  EXPECT_EQ(name(DType::Bool), "i1");
  EXPECT_EQ(name(DType::U8), "ui8");
  EXPECT_EQ(name(DType::F8E4M3FN), "f8E4M3FN");
  EXPECT_EQ(name(DType::C64), "complex<f32>");
  for (int i = 0; i < kDTypeCount; ++i) {
    EXPECT_EQ(dtype_from_name(name(static_cast<DType>(i))), static_cast<DType>(i));
  }
  EXPECT_FALSE(dtype_from_name("f33"));
}

TEST(DTypes, SizesAndClasses) {
  EXPECT_EQ(byte_size(DType::I4), 1);
  EXPECT_EQ(bit_width(DType::I4), 4);
  EXPECT_EQ(byte_size(DType::C128), 16);
  EXPECT_EQ(bit_width(DType::Bool), 1);
  EXPECT_FALSE(is_integer(DType::Bool));
  EXPECT_TRUE(is_signed(DType::I2));
  EXPECT_TRUE(is_unsigned(DType::U64));
  EXPECT_TRUE(is_float(DType::F8E8M0FNU));
  EXPECT_FALSE(is_float(DType::C64));
  EXPECT_EQ(real_of(DType::C128), DType::F64);
  EXPECT_EQ(real_of(DType::BF16), DType::BF16);
  for (int i = 0; i < kDTypeCount; ++i) {
    dispatch(static_cast<DType>(i), [&](auto tag) {
      EXPECT_EQ(static_cast<int>(sizeof(tag)), byte_size(static_cast<DType>(i)));
    });
  }
}

}  // namespace
}  // namespace tenfold
