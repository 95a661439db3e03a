// .npy and .npz: files exchanged with NumPy, and files that are broken on purpose.
#include "array/npy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "base/rng.h"

namespace tenfold {
namespace {

namespace fs = std::filesystem;

class Npy : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "tenfold_npy_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    dir_ = pattern;
  }
  void TearDown() override { fs::remove_all(dir_); }
  std::string path(const std::string& name) const { return dir_ + "/" + name; }

  // Runs Python in the folder, with numpy as np and ml_dtypes as m.
  void python(const std::string& code) {
    const char* python = std::getenv("TENFOLD_PYTHON");
    ASSERT_NE(python, nullptr) << "set TENFOLD_PYTHON to a Python that has numpy and ml_dtypes";
    std::ofstream(path("run.py")) << "import numpy as np, ml_dtypes as m, zipfile\n" << code;
    const std::string command = "cd '" + dir_ + "' && '" + python + "' run.py";
    ASSERT_EQ(std::system(command.c_str()), 0) << code;
  }
  std::string dir_;
};

std::vector<double> values(const Literal& l) {
  std::vector<double> v;
  for (int64_t i = 0; i < l.size(); ++i) v.push_back(l.as_f64(i));
  return v;
}

TEST_F(Npy, ReadsWhatNumpyWrites) {
  ASSERT_NO_FATAL_FAILURE(python(R"(
for t in 'bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128'.split():
    a = np.array([[0, 1, 2], [3, 4, 5]]).astype(t)
    np.save(f'{t}_c.npy', a)
    np.save(f'{t}_f.npy', np.asfortranarray(a))
    np.save(f'{t}_b.npy', a.astype(a.dtype.newbyteorder('>')))
    np.lib.format.write_array(open(f'{t}_2.npy', 'wb'), a, version=(2, 0))
    np.lib.format.write_array(open(f'{t}_3.npy', 'wb'), a, version=(3, 0))
np.save('scalar.npy', np.float32(7))
np.save('empty.npy', np.zeros((0, 3), np.int64))
np.save('cube.npy', np.asfortranarray(np.arange(24).reshape(2, 3, 4)))
)"));
  const std::pair<const char*, DType> types[] = {
      {"bool", DType::Bool},     {"int8", DType::I8},        {"int16", DType::I16},
      {"int32", DType::I32},     {"int64", DType::I64},      {"uint8", DType::U8},
      {"uint16", DType::U16},    {"uint32", DType::U32},     {"uint64", DType::U64},
      {"float16", DType::F16},   {"float32", DType::F32},    {"float64", DType::F64},
      {"complex64", DType::C64}, {"complex128", DType::C128}};
  for (const auto& [t, dtype] : types) {
    for (const char* form : {"_c", "_f", "_b", "_2", "_3"}) {
      auto r = read_npy_file(path(std::string(t) + form + ".npy"));
      ASSERT_TRUE(r.ok()) << t << form << to_string(r.errors());
      EXPECT_EQ(r->dtype(), dtype) << t << form;
      EXPECT_EQ(r->dims(), (std::vector<int64_t>{2, 3}));
      const double top = dtype == DType::Bool ? 1 : 5;
      for (int64_t i = 0; i < 6; ++i) {
        EXPECT_EQ(r->as_c128(i), std::complex<double>(std::min<double>(top, i))) << t << form << i;
      }
    }
  }
  EXPECT_EQ(read_npy_file(path("scalar.npy"))->rank(), 0);
  EXPECT_EQ(read_npy_file(path("scalar.npy"))->as_f64(0), 7);
  EXPECT_EQ(read_npy_file(path("empty.npy"))->dims(), (std::vector<int64_t>{0, 3}));
  const Literal cube = *read_npy_file(path("cube.npy"));
  for (int64_t i = 0; i < 24; ++i) EXPECT_EQ(cube.as_i64(i), i);
}

TEST_F(Npy, ReadsTypesOfMlDtypes) {
  ASSERT_NO_FATAL_FAILURE(python(R"(
for t in 'bfloat16 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float4_e2m1fn float6_e2m3fn'.split():
    np.save(t + '.npy', np.array([0, 1, 1.5, -2]).astype(getattr(m, t)))
for t in 'int4 int2'.split():
    np.save(t + '.npy', np.array([0, 1, -1, -2]).astype(getattr(m, t)))
np.save('uint4.npy', np.array([0, 1, 7, 15]).astype(m.uint4))
np.save('int8.npy', np.array([0, 1, -1, -2]).astype(np.int8))
np.save('big.npy', np.array([100]).astype(np.int8))
)"));
  const std::pair<const char*, DType> floats[] = {
      {"bfloat16", DType::BF16},          {"float8_e4m3fn", DType::F8E4M3FN},
      {"float8_e5m2", DType::F8E5M2},     {"float8_e4m3fnuz", DType::F8E4M3FNUZ},
      {"float4_e2m1fn", DType::F4E2M1FN}, {"float6_e2m3fn", DType::F6E2M3FN}};
  for (const auto& [file, t] : floats) {
    auto r = read_npy_file(path(std::string(file) + ".npy"), t);
    ASSERT_TRUE(r.ok()) << file << to_string(r.errors());
    EXPECT_EQ(values(*r), (std::vector<double>{0, 1, 1.5, -2})) << file;
  }
  for (const auto& [file, t] : {std::pair("int4", DType::I4), std::pair("int2", DType::I2),
                                std::pair("int8", DType::I4), std::pair("int8", DType::I2)}) {
    auto r = read_npy_file(path(std::string(file) + ".npy"), t);
    ASSERT_TRUE(r.ok()) << file << to_string(r.errors());
    EXPECT_EQ(r->dtype(), t);
    EXPECT_EQ(values(*r), (std::vector<double>{0, 1, -1, -2})) << file;
  }
  EXPECT_EQ(values(*read_npy_file(path("uint4.npy"), DType::U4)),
            (std::vector<double>{0, 1, 7, 15}));
  EXPECT_EQ(read_npy_file(path("bfloat16.npy"))->dtype(), DType::BF16);
  EXPECT_EQ(read_npy_file(path("float8_e5m2.npy"))->dtype(), DType::F8E5M2);
  EXPECT_EQ(read_npy_file(path("int8.npy"), DType::F32)->dtype(), DType::I8);
  EXPECT_EQ(read_npy_file(path("float8_e4m3fn.npy")).errors()[0].id, "npy-dtype");
  EXPECT_EQ(read_npy_file(path("float8_e4m3fn.npy"), DType::F32).errors()[0].id, "npy-dtype");
  EXPECT_EQ(read_npy_file(path("float8_e4m3fn.npy"), DType::I4).errors()[0].id, "npy-value");
  EXPECT_EQ(read_npy_file(path("big.npy"), DType::I4).errors()[0].id, "npy-value");
}

TEST_F(Npy, NumpyReadsWhatWeWrite) {
  Rng rng(6);
  std::vector<NamedLiteral> all;
  for (int i = 0; i < kDTypeCount; ++i) {
    const DType t = static_cast<DType>(i);
    Literal l(t, {2, 3});
    for (int64_t j = 0; j < 6; ++j) l.set_i64(j, j % 2);
    ASSERT_TRUE(write_npy_file(path(std::string(name(t)) + ".npy"), l).ok());
    const Literal back = *read_npy_file(path(std::string(name(t)) + ".npy"), t);
    EXPECT_TRUE(back.same(l)) << name(t);
    all.push_back({std::string(name(t)), l});
  }
  ASSERT_TRUE(write_npy_file(path("one.npy"), Literal::i64s({5, 6, 7})).ok());
  ASSERT_TRUE(write_npy_file(path("none.npy"), Literal::scalar(DType::F64, 2.5)).ok());
  Literal i4(DType::I4, {3});
  for (int64_t j = 0; j < 3; ++j) i4.set_i64(j, -j - 1);
  ASSERT_TRUE(write_npy_file(path("minus.npy"), i4).ok());
  ASSERT_TRUE(write_npz_file(path("stored.npz"), all).ok());
  ASSERT_TRUE(write_npz_file(path("packed.npz"), all, true).ok());
  ASSERT_NO_FATAL_FAILURE(python(R"(
names = {'i1':bool,'i4':m.int4,'i8':'i1','i64':'i8','ui4':m.uint4,'ui32':'u4','bf16':m.bfloat16,
  'f16':'f2','f32':'f4','f64':'f8','f8E4M3FN':m.float8_e4m3fn,'f8E5M2':m.float8_e5m2,
  'f4E2M1FN':m.float4_e2m1fn,'complex<f32>':'c8','complex<f64>':'c16'}
def same(a, t):
    a = a.view(t) if a.dtype.kind == 'V' else a
    assert a.dtype == np.dtype(t), (a.dtype, t)
    assert a.shape == (2, 3)
    assert (a.astype('c16') == [[0, 1, 0], [1, 0, 1]]).all()
for n, t in names.items():
    same(np.load(n + '.npy'), t)
    same(np.load('stored.npz')[n], t)
    same(np.load('packed.npz')[n], t)
assert np.load('one.npy').tolist() == [5, 6, 7]
assert np.load('none.npy').shape == () and np.load('none.npy') == 2.5
assert np.load('minus.npy').view(m.int4).astype(int).tolist() == [-1, -2, -3]
assert zipfile.ZipFile('stored.npz').testzip() is None and zipfile.ZipFile('packed.npz').testzip() is None
)"));
  for (const char* file : {"stored.npz", "packed.npz"}) {
    auto r = read_npz_file(path(file), [](std::string_view n) { return dtype_from_name(n); });
    ASSERT_TRUE(r.ok()) << to_string(r.errors());
    ASSERT_EQ(r->size(), all.size());
    for (size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ((*r)[i].name, all[i].name);
      EXPECT_TRUE((*r)[i].value.same(all[i].value)) << all[i].name;
    }
  }
}

TEST_F(Npy, ReadsArchivesOfNumpy) {
  ASSERT_NO_FATAL_FAILURE(python(R"(
a = {'x': np.arange(100000, dtype=np.float32), 'path/y': np.ones((2, 2), np.int64), 'e': np.zeros(0)}
np.savez('stored.npz', **a)
np.savez_compressed('packed.npz', **a)
)"));
  for (const char* file : {"stored.npz", "packed.npz"}) {
    auto r = read_npz_file(path(file));
    ASSERT_TRUE(r.ok()) << to_string(r.errors());
    ASSERT_EQ(r->size(), 3u);
    EXPECT_EQ((*r)[0].name, "x");
    EXPECT_EQ((*r)[0].value.as_f64(99999), 99999);
    EXPECT_EQ((*r)[1].name, "path/y");
    EXPECT_EQ((*r)[1].value.dims(), (std::vector<int64_t>{2, 2}));
    EXPECT_EQ((*r)[2].value.size(), 0);
  }
}

TEST_F(Npy, RefusesObjectsTextAndRecords) {
  ASSERT_NO_FATAL_FAILURE(python(R"(
np.save('object.npy', np.array([{}, 1], dtype=object))
np.save('text.npy', np.array(['a', 'b']))
np.save('record.npy', np.zeros(2, [('a', 'f4'), ('b', 'i4')]))
np.save('long.npy', np.zeros(2, np.longdouble))
np.save('date.npy', np.zeros(2, 'M8[s]'))
)"));
  EXPECT_NE(read_npy_file(path("object.npy")).errors()[0].message.find("Python objects"),
            std::string::npos);
  for (const char* file : {"object.npy", "text.npy", "long.npy", "date.npy"}) {
    EXPECT_EQ(read_npy_file(path(file)).errors()[0].id, "npy-dtype") << file;
  }
  EXPECT_EQ(read_npy_file(path("record.npy")).errors()[0].id, "npy-header");
  EXPECT_EQ(read_npy_file(path("missing.npy")).errors()[0].id, "file-not-found");
  EXPECT_EQ(read_npy_file(dir_).errors()[0].id, "file-not-regular");
}

Result<Literal> read(const std::string& s) {
  return read_npy(std::as_bytes(std::span(s.data(), s.size())), nullptr, "test.npy");
}
std::string with_header(const std::string& header, const std::string& data = "") {
  std::string s("\x93NUMPY\1\0", 8);
  s += static_cast<char>(header.size() & 0xff);
  s += static_cast<char>(header.size() >> 8);
  return s + header + data;
}

TEST(HostileNpy, BadHeadersGiveErrors) {
  const std::string ok = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n";
  EXPECT_TRUE(read(with_header(ok, "12345678")).ok());
  EXPECT_EQ(read(with_header(ok, "1234567")).errors()[0].id, "npy-truncated");
  for (std::string shape :
       {"(9223372036854775807,)", "(4611686018427387904, 4)", "(1000000000000, 1000000000000)"}) {
    EXPECT_EQ(read(with_header("{'descr': '<f8', 'fortran_order': True, 'shape': " + shape + "}"))
                  .errors()[0]
                  .id,
              "npy-truncated")
        << shape;
  }
  for (std::string bad :
       {"", "{", "{}", "[]", "{'descr': '<f4'}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': ()}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}",
        "{'descr': '<f4, 'fortran_order': False, 'shape': (2,)}"}) {
    auto r = read(with_header(bad));
    ASSERT_FALSE(r.ok()) << bad;
    EXPECT_EQ(r.errors()[0].id, "npy-header") << bad;
  }
  EXPECT_EQ(read("").errors()[0].id, "npy-magic");
  EXPECT_EQ(read("PK\3\4").errors()[0].id, "npy-magic");
  EXPECT_EQ(read(std::string("\x93NUMPY\x09\0", 8)).errors()[0].id, "npy-header");
  EXPECT_EQ(read(std::string("\x93NUMPY\x02\0\xff\xff\xff\xff", 12)).errors()[0].id,
            "read-truncated");
  EXPECT_EQ(read(with_header("{'descr': '|b1', 'fortran_order': False, 'shape': (1,)}", "\2"))
                .errors()[0]
                .id,
            "npy-value");
  std::string deep = "{'descr': '<f4', 'fortran_order': False, 'shape': (";
  for (int i = 0; i < 65; ++i) deep += "1, ";
  EXPECT_EQ(read(with_header(deep + ")}", "1234")).errors()[0].id, "npy-header");
}

// Every truncation and many random changes of good files: an error or a literal, never a crash.
void damage(const std::string& good, const std::function<bool(const std::string&)>& reads) {
  ASSERT_TRUE(reads(good));
  for (size_t n = 0; n < good.size(); ++n) EXPECT_FALSE(reads(good.substr(0, n))) << n;
  Rng rng(7);
  for (int i = 0; i < 5000; ++i) {
    std::string s = good;
    for (uint64_t k = 1 + rng.below(4); k > 0; --k) {
      s[rng.below(s.size())] = static_cast<char>(rng.next());
    }
    reads(s);
  }
}

TEST(HostileNpy, DamagedFilesNeverCrash) {
  damage(npy_bytes(Literal::i64s({1, 2, 3})), [](const std::string& s) { return read(s).ok(); });
}

TEST_F(Npy, DamagedArchivesNeverCrash) {
  for (const bool compress : {false, true}) {
    ASSERT_TRUE(write_npz_file(
                    path("a.npz"),
                    {{"x", Literal::i64s({1, 2})}, {"y", Literal::scalar(DType::F32, 1)}}, compress)
                    .ok());
    const std::string good = *read_text_file(path("a.npz"));
    damage(good, [](const std::string& s) {
      return read_npz(std::as_bytes(std::span(s.data(), s.size())), nullptr, "test.npz").ok();
    });
  }
}

TEST_F(Npy, RefusesArchivesThatLie) {
  ASSERT_NO_FATAL_FAILURE(python(R"(
a = np.zeros(4)
np.savez_compressed('good.npz', x=a)
b = bytearray(open('good.npz', 'rb').read())
i = b.rindex(b'PK\1\2')
b[i + 24:i + 28] = (0x7fffffff).to_bytes(4, 'little')
open('claims.npz', 'wb').write(b)
b[i + 24:i + 28] = (20).to_bytes(4, 'little')
open('fewer.npz', 'wb').write(b)
with zipfile.ZipFile('other.npz', 'w') as z: z.writestr('x.txt', 'hello')
with zipfile.ZipFile('lzma.npz', 'w', zipfile.ZIP_LZMA) as z: z.writestr('x.npy', 'hello' * 100)
with zipfile.ZipFile('empty.npz', 'w') as z: pass
c = bytearray(open('good.npz', 'rb').read())
c[c.index(b'x.npy') + 30] ^= 0xff
open('crc.npz', 'wb').write(c)
)"));
  for (const char* file : {"claims.npz", "fewer.npz", "crc.npz"}) {
    auto r = read_npz_file(path(file));
    ASSERT_FALSE(r.ok()) << file;
    EXPECT_EQ(r.errors()[0].id, "npz-format") << file;
  }
  EXPECT_EQ(read_npz_file(path("other.npz")).errors()[0].id, "npz-entry");
  EXPECT_EQ(read_npz_file(path("lzma.npz")).errors()[0].id, "npz-entry");
  EXPECT_EQ(read_npz_file(path("empty.npz"))->size(), 0u);
  ASSERT_TRUE(write_npz_file(path("twice.npz"), {{"x", {}}, {"x", {}}}).ok());
  EXPECT_EQ(read_npz_file(path("twice.npz")).errors()[0].id, "npz-entry");
}

}  // namespace
}  // namespace tenfold
