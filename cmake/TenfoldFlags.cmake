# Flags of project code, as the interface target tenfold_flags.
include_guard()

# One position-independence flavour everywhere: a precompiled header made with -fPIC is refused by a
# source compiled with -fPIE.
set(CMAKE_CXX_COMPILE_OPTIONS_PIE "-fPIC")
set(CMAKE_C_COMPILE_OPTIONS_PIE "-fPIC")

add_library(tenfold_flags INTERFACE)
target_include_directories(tenfold_flags INTERFACE ${CMAKE_SOURCE_DIR}/src
                                                   ${CMAKE_SOURCE_DIR}/include
                                                   ${CMAKE_SOURCE_DIR}/cmake/pch)
target_compile_options(tenfold_flags INTERFACE -Wall -Wextra -Werror -pthread)
target_link_options(tenfold_flags INTERFACE -pthread)
# libstdc++ 12 itself trips over this in std::stable_sort and std::stable_partition.
target_compile_options(tenfold_flags INTERFACE -Wno-deprecated-declarations)

# Numbers: no contraction of a*b+c across operations in our own code either, because the evaluator
# is the oracle of what generated code computes.
target_compile_options(tenfold_flags INTERFACE -ffp-contract=off)

if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(tenfold_flags INTERFACE -Xclang -fno-pch-timestamp)
endif()

# __FILE__ reads src/… whatever the checkout's folder is. The launcher passes relative paths.
if(CMAKE_CXX_COMPILER_LAUNCHER)
  target_compile_options(tenfold_flags INTERFACE -ffile-prefix-map=${TENFOLD_UP}=)
else()
  target_compile_options(tenfold_flags INTERFACE -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
endif()

find_program(TENFOLD_MOLD mold)
mark_as_advanced(TENFOLD_MOLD)
if(TENFOLD_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

if(TENFOLD_SANITIZE)
  list(JOIN TENFOLD_SANITIZE "," _san)
  add_compile_options(-fsanitize=${_san} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${_san})
endif()
if(TENFOLD_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
