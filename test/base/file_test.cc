// Files: mapping, writing aside, and staying inside a folder.
#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

namespace tenfold {
namespace {

namespace fs = std::filesystem;

class File : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "tenfold_file_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    dir_ = pattern;
  }
  void TearDown() override { fs::remove_all(dir_); }
  std::string path(const std::string& name) const { return dir_ + "/" + name; }
  size_t entries() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(dir_), {}));
  }
  std::string dir_;
};

TEST_F(File, WritesAndMaps) {
  ASSERT_TRUE(write_file(path("a"), std::string_view("hello")).ok());
  auto f = map_file(path("a"));
  ASSERT_TRUE(f.ok());
  EXPECT_EQ(f->text(), "hello");
  ASSERT_TRUE(write_file(path("a"), std::string_view("other")).ok());
  EXPECT_EQ(f->text(), "hello");  // the mapped file is the old one
  EXPECT_EQ(*read_text_file(path("a")), "other");
  EXPECT_EQ(read_text_file(path("a"), 4).errors()[0].id, "file-too-large");
  EXPECT_EQ(entries(), 1u);
  ASSERT_TRUE(write_file(path("empty"), std::string_view()).ok());
  EXPECT_TRUE(map_file(path("empty"))->bytes.empty());
}

TEST_F(File, SaysWhatIsWrong) {
  EXPECT_EQ(map_file(path("no")).errors()[0].id, "file-not-found");
  EXPECT_EQ(map_file(dir_).errors()[0].id, "file-not-regular");
  EXPECT_EQ(read_text_file(dir_).errors()[0].id, "file-not-regular");
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(map_file(path("pipe")).errors()[0].id, "file-not-regular");  // and does not wait
  EXPECT_EQ(write_file(path("no/a"), std::string_view("x")).errors()[0].id, "file-write");
  EXPECT_EQ(map_file(path("no")).errors()[0].loc.text, path("no"));
}

TEST_F(File, LeavesNothingHalfWritten) {
  ASSERT_TRUE(write_file(path("a"), std::string_view("old")).ok());
  {
    auto f = AtomicFile::create(path("a"));
    ASSERT_TRUE(f.ok());
    ASSERT_TRUE(f->write(std::string_view("new")).ok());
    EXPECT_EQ(*read_text_file(path("a")), "old");
  }
  EXPECT_EQ(*read_text_file(path("a")), "old");
  EXPECT_EQ(entries(), 1u);
  // Renaming over a folder cannot work.
  fs::create_directory(path("folder"));
  EXPECT_EQ(write_file(path("folder"), std::string_view("x")).errors()[0].id, "file-write");
  EXPECT_EQ(entries(), 2u);
}

TEST_F(File, ExternalDataStaysInsideItsFolder) {
  fs::create_directories(path("model/data"));
  fs::create_directories(path("model_other"));
  ASSERT_TRUE(write_file(path("secret"), std::string_view("s")).ok());
  ASSERT_TRUE(write_file(path("model_other/w"), std::string_view("s")).ok());
  ASSERT_TRUE(write_file(path("model/w.bin"), std::string_view("w")).ok());
  ASSERT_TRUE(write_file(path("model/data/v.bin"), std::string_view("v")).ok());
  fs::create_symlink("../secret", path("model/out"));
  fs::create_symlink("w.bin", path("model/in"));
  fs::create_directory_symlink("..", path("model/up"));
  const std::string model = path("model");
  EXPECT_TRUE(resolve_inside(model, "w.bin").ok());
  EXPECT_TRUE(resolve_inside(model, "./data/v.bin").ok());
  EXPECT_TRUE(resolve_inside(model, "data/../w.bin").ok());
  EXPECT_EQ(*resolve_inside(model, "in"), fs::canonical(path("model/w.bin")).string());
  for (const std::string& bad :
       {std::string("out"), std::string("../secret"), std::string("up/secret"), path("secret"),
        path("model/w.bin"), std::string(""), std::string("data/../../secret"),
        std::string("../model_other/w"), std::string("../model/w.bin"), std::string("w.bin\0x", 7),
        std::string("up/model_other/w"), std::string("../nothing-there")}) {
    auto r = resolve_inside(model, bad);
    ASSERT_FALSE(r.ok()) << bad;
    EXPECT_EQ(r.errors()[0].id, "file-outside-folder") << bad;
  }
  EXPECT_EQ(resolve_inside(model, "none").errors()[0].id, "file-not-found");
  EXPECT_EQ(resolve_inside(model, ".").errors()[0].id, "file-outside-folder");
}

TEST(Path, Parts) {
  EXPECT_EQ(parent_folder("a/b.onnx"), "a");
  EXPECT_EQ(parent_folder("b.onnx"), ".");
  EXPECT_EQ(file_name("a/b.onnx"), "b.onnx");
  EXPECT_EQ(file_stem("a/b.onnx"), "b");
  EXPECT_EQ(file_suffix("a/b.ONNX"), ".onnx");
  EXPECT_EQ(file_suffix("a.b/c"), "");
  EXPECT_EQ(join_path("a", "b"), "a/b");
}

}  // namespace
}  // namespace tenfold
