# Tests from folders: CTest's label is the folder's name under test/.
#
#   test/<label>/*_test.cc    GoogleTest; one program per folder, one CTest entry per file
#   test/<label>/test_*.py    pytest; one CTest entry per file
#   test/<label>/*.mlir       a `// RUN:` line (needs a built tool), checked by FileCheck
#   test/fuzz/*_fuzz.cc       LLVMFuzzerTestOneInput; replays test/fuzz/corpus/<stem>/ (and what
#                             <stem>_seeds.py writes) with mutations as a test, and is a real
#                             fuzzer with -DTENFOLD_FUZZ=ON
include_guard()

find_package(GTest REQUIRED CONFIG)
tenfold_pch(tenfold_pch_test pch_test.h GTest::gtest GTest::gmock)

# test/support: helpers of the tests, and the main() that knows --file.
file(GLOB _support CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/test/support/*.cc)
list(FILTER _support EXCLUDE REGEX "_main\\.cc$")
add_library(tenfold_test_support STATIC ${CMAKE_SOURCE_DIR}/test/support/gtest_main.cc ${_support})
target_include_directories(tenfold_test_support PUBLIC ${CMAKE_SOURCE_DIR}/test)
target_link_libraries(tenfold_test_support PUBLIC tenfold_all GTest::gtest GTest::gmock)
target_precompile_headers(tenfold_test_support REUSE_FROM tenfold_pch_test)

set(_env
  "TENFOLD_BIN=${CMAKE_BINARY_DIR}/bin/tenfold"
  "TENFOLD_BUILD=${CMAKE_BINARY_DIR}"
  "TENFOLD_SOURCE=${CMAKE_SOURCE_DIR}"
  "TENFOLD_PYTHON=${TENFOLD_PYTHON}"
  "PYTHONPATH=${CMAKE_BINARY_DIR}/python"
  "PYTHONDONTWRITEBYTECODE=1"
  # libLLVM and libprotobuf are not instrumented, so containers that cross into them look broken.
  "ASAN_OPTIONS=detect_container_overflow=0"
  "UBSAN_OPTIONS=print_stacktrace=1")
set(_env_modifications "PATH=path_list_prepend:${CMAKE_BINARY_DIR}/bin")
set(TENFOLD_TEST_TIMEOUT 600 CACHE STRING "Seconds that one CTest entry may take")

function(tenfold_test name label)
  set_tests_properties(${name} PROPERTIES LABELS "${label}" TIMEOUT ${TENFOLD_TEST_TIMEOUT}
                       ENVIRONMENT "${_env}" ENVIRONMENT_MODIFICATION "${_env_modifications}")
endfunction()

file(GLOB _labels RELATIVE ${CMAKE_SOURCE_DIR}/test CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/test/*)
list(REMOVE_ITEM _labels support)
if(NOT TARGET tenfold_python)
  list(REMOVE_ITEM _labels python)  # no module under sanitizers: Python itself is not instrumented
endif()
foreach(_label IN LISTS _labels)
  set(_dir ${CMAKE_SOURCE_DIR}/test/${_label})
  file(GLOB _cc CONFIGURE_DEPENDS ${_dir}/*.cc)
  file(GLOB _py CONFIGURE_DEPENDS ${_dir}/test_*.py)
  file(GLOB _mlir CONFIGURE_DEPENDS ${_dir}/*.mlir)
  list(FILTER _cc EXCLUDE REGEX "_fuzz\\.cc$")

  if(_cc)
    add_executable(${_label}_tests ${_cc})
    target_link_libraries(${_label}_tests PRIVATE tenfold_test_support)
    target_precompile_headers(${_label}_tests REUSE_FROM tenfold_pch_test)
    set_target_properties(${_label}_tests PROPERTIES RUNTIME_OUTPUT_DIRECTORY
                                                     ${CMAKE_BINARY_DIR}/test)
  endif()
  foreach(_file IN LISTS _cc)
    get_filename_component(_stem ${_file} NAME_WE)
    if(_stem MATCHES "_test$")
      add_test(NAME ${_label}.${_stem} COMMAND ${_label}_tests --file=${_stem}.cc)
      tenfold_test(${_label}.${_stem} ${_label})
    endif()
  endforeach()
  foreach(_file IN LISTS _py)
    get_filename_component(_stem ${_file} NAME_WE)
    # Not kept on a shared cache folder: two presets may run at once.
    add_test(NAME ${_label}.${_stem}
             COMMAND ${TENFOLD_PYTHON} -m pytest -q -p no:cacheprovider --rootdir ${_dir} ${_file})
    tenfold_test(${_label}.${_stem} ${_label})
  endforeach()
  foreach(_file IN LISTS _mlir)
    file(STRINGS ${_file} _run REGEX "^// RUN:" LIMIT_COUNT 1)
    if(_run)
      get_filename_component(_stem ${_file} NAME_WE)
      add_test(NAME ${_label}.${_stem}.mlir
               COMMAND ${TENFOLD_PYTHON} ${CMAKE_SOURCE_DIR}/test/support/run_line.py ${_file})
      tenfold_test(${_label}.${_stem}.mlir ${_label})
    endif()
  endforeach()
endforeach()

file(GLOB _fuzzers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/test/fuzz/*_fuzz.cc)
foreach(_file IN LISTS _fuzzers)
  get_filename_component(_stem ${_file} NAME_WE)
  add_executable(${_stem} ${_file})
  target_link_libraries(${_stem} PRIVATE tenfold_all)
  target_precompile_headers(${_stem} REUSE_FROM tenfold_pch_std)
  set_target_properties(${_stem} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
  if(TENFOLD_FUZZ)
    target_link_options(${_stem} PRIVATE -fsanitize=fuzzer)
  else()
    target_sources(${_stem} PRIVATE ${CMAKE_SOURCE_DIR}/test/support/fuzz_replay_main.cc)
    set(_seeds ${CMAKE_BINARY_DIR}/fuzz/seeds/${_stem})
    add_test(NAME fuzz.${_stem}
             COMMAND ${_stem} ${CMAKE_SOURCE_DIR}/test/fuzz/corpus/${_stem} ${_seeds})
    tenfold_test(fuzz.${_stem} fuzz)
    if(EXISTS ${CMAKE_SOURCE_DIR}/test/fuzz/${_stem}_seeds.py)
      add_test(NAME fuzz.${_stem}_seeds
               COMMAND ${TENFOLD_PYTHON} ${CMAKE_SOURCE_DIR}/test/fuzz/${_stem}_seeds.py ${_seeds})
      tenfold_test(fuzz.${_stem}_seeds fuzz)
      set_tests_properties(fuzz.${_stem}_seeds PROPERTIES FIXTURES_SETUP ${_stem}_seeds)
      set_tests_properties(fuzz.${_stem} PROPERTIES FIXTURES_REQUIRED ${_stem}_seeds)
    endif()
  endif()
endforeach()
