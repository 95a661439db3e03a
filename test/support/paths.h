// Where tests find their data and the built programs. Taken at run time, not compiled in: a path in
// a compile command would keep the compiler cache from serving other checkouts.
#pragma once

#include <filesystem>

namespace tenfold::testing {

std::filesystem::path source_dir();  // the checkout: holds src/, test/
std::filesystem::path test_dir();    // source_dir()/test
std::filesystem::path bin_dir();     // holds the built `tenfold`

}  // namespace tenfold::testing
