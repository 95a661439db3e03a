# Three precompiled headers, each made once and shared: std + fmt for all folders, LLVM's for the few
# folders that may see it, GoogleTest's for the tests. Named <…> so that no path is written into the
# generated wrapper. Sources must compile without them too (-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON).
include_guard()

file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/pch_empty.cc CONTENT "")

function(tenfold_pch name header)
  add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/generated/pch_empty.cc)
  target_link_libraries(${name} PRIVATE tenfold_flags tenfold_fmt ${ARGN})
  target_precompile_headers(${name} PRIVATE <${header}>)
endfunction()

tenfold_pch(tenfold_pch_std pch.h)
