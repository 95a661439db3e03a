// main() of every test program. A program holds the tests of one folder; --file=add_test.cc runs
// those written in one file, which is how CTest gets an entry per file without listing tests.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <string_view>

namespace {

std::string tests_in_file(std::string_view file) {
  std::string filter;
  const testing::UnitTest& unit = *testing::UnitTest::GetInstance();
  for (int i = 0; i < unit.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *unit.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const testing::TestInfo& test = *suite.GetTestInfo(j);
      const std::string_view path = test.file() ? test.file() : "";
      if (path.substr(path.rfind('/') + 1) != file) continue;
      if (!filter.empty()) filter += ':';
      filter += std::string(suite.name()) + '.' + test.name();
    }
  }
  return filter;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  constexpr std::string_view kFlag = "--file=";
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    if (!arg.starts_with(kFlag)) {
      std::fprintf(stderr, "unknown argument %s; use --file=NAME.cc or GoogleTest's own\n",
                   argv[i]);
      return 2;
    }
    const std::string filter = tests_in_file(arg.substr(kFlag.size()));
    if (filter.empty()) {
      std::fprintf(stderr, "no test in a file named %s\n", argv[i] + kFlag.size());
      return 1;
    }
    testing::GTEST_FLAG(filter) = filter;
  }
  return RUN_ALL_TESTS();
}
