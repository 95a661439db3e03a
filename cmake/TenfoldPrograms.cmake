# What is linked: tools, the runtime library, the Python module, examples, benchmarks. Each only if
# its folder has sources.
include_guard()

# tools/<name>/*.cc -> bin/<name>. Command-line and JSON headers are for these alone.
find_package(CLI11 CONFIG)
find_package(nlohmann_json CONFIG)
file(GLOB _tools RELATIVE ${CMAKE_SOURCE_DIR}/tools CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tools/*)
foreach(_tool IN LISTS _tools)
  file(GLOB _sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tools/${_tool}/*.cc)
  if(_sources)
    add_executable(${_tool} ${_sources})
    target_link_libraries(${_tool} PRIVATE tenfold_all $<TARGET_NAME_IF_EXISTS:CLI11::CLI11>
                                           $<TARGET_NAME_IF_EXISTS:nlohmann_json::nlohmann_json>)
    target_precompile_headers(${_tool} REUSE_FROM tenfold_pch_std)
    target_compile_definitions(${_tool} PRIVATE TENFOLD_VERSION="${PROJECT_VERSION}")
  endif()
endforeach()
if(TARGET tenfold)
  tenfold_own_llvm(tenfold)
endif()

# libtenfold_runtime.so: loads artifacts with no compiler inside. Built from the sources again, for
# size, and exports nothing but the C functions tenfold_*.
file(GLOB_RECURSE _runtime CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/runtime/*.cc)
if(_runtime)
  file(GLOB_RECURSE _below CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/base/*.cc
       ${CMAKE_SOURCE_DIR}/src/array/*.cc)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/runtime.map
       CONTENT "{ global: tenfold_*; local: *; };\n")
  add_library(tenfold_runtime_shared SHARED ${_runtime} ${_below})
  target_link_libraries(tenfold_runtime_shared PRIVATE tenfold_flags tenfold_fmt ${CMAKE_DL_LIBS})
  target_compile_definitions(tenfold_runtime_shared PRIVATE TENFOLD_VERSION="${PROJECT_VERSION}")
  target_compile_options(tenfold_runtime_shared PRIVATE -Os -ffunction-sections -fdata-sections)
  target_link_options(tenfold_runtime_shared PRIVATE -Wl,--gc-sections -Wl,--exclude-libs,ALL
                      -Wl,--version-script=${CMAKE_BINARY_DIR}/generated/runtime.map)
  if(NOT TENFOLD_SANITIZE)
    target_link_options(tenfold_runtime_shared PRIVATE -Wl,--no-undefined)
  endif()
  set_target_properties(tenfold_runtime_shared PROPERTIES
    OUTPUT_NAME tenfold_runtime
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endif()

# bindings/python: C++ sources -> the extension tenfold/_tenfold, beside the package's .py files.
file(GLOB _sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/bindings/python/*.cc)
if(TENFOLD_PYTHON_MODULE AND _sources AND NOT TENFOLD_SANITIZE)
  find_package(Python 3.9 REQUIRED COMPONENTS Interpreter Development.Module)
  execute_process(COMMAND ${TENFOLD_PYTHON} -m nanobind --cmake_dir OUTPUT_VARIABLE nanobind_ROOT
                  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  find_package(nanobind CONFIG REQUIRED)
  set(CMAKE_CXX_VISIBILITY_PRESET default)
  nanobind_add_module(tenfold_python NB_STATIC NOMINSIZE ${_sources})
  target_link_libraries(tenfold_python PRIVATE tenfold_all)
  target_compile_definitions(tenfold_python PRIVATE TENFOLD_VERSION="${PROJECT_VERSION}")
  target_link_options(tenfold_python PRIVATE -Wl,--exclude-libs,ALL)
  tenfold_own_llvm(tenfold_python)
  set(_package ${CMAKE_BINARY_DIR}/python/tenfold)
  set_target_properties(tenfold_python PROPERTIES OUTPUT_NAME _tenfold
                                                  LIBRARY_OUTPUT_DIRECTORY ${_package})
  file(GLOB_RECURSE _py RELATIVE ${CMAKE_SOURCE_DIR}/bindings/python/tenfold CONFIGURE_DEPENDS
       ${CMAKE_SOURCE_DIR}/bindings/python/tenfold/*.py
       ${CMAKE_SOURCE_DIR}/bindings/python/tenfold/*.pyi
       ${CMAKE_SOURCE_DIR}/bindings/python/tenfold/py.typed)
  # Links, not copies: an edited .py is what the tests see without a build.
  foreach(_file IN LISTS _py)
    get_filename_component(_sub ${_file} DIRECTORY)
    file(MAKE_DIRECTORY ${_package}/${_sub})
    file(CREATE_LINK ${CMAKE_SOURCE_DIR}/bindings/python/tenfold/${_file} ${_package}/${_file}
         SYMBOLIC)
  endforeach()
  if(SKBUILD)
    install(TARGETS tenfold_python DESTINATION tenfold)
  endif()
endif()

# examples/<name>/*.cc and bench/*_bench.cc
file(GLOB _examples RELATIVE ${CMAKE_SOURCE_DIR}/examples CONFIGURE_DEPENDS
     ${CMAKE_SOURCE_DIR}/examples/*)
foreach(_example IN LISTS _examples)
  file(GLOB _sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/examples/${_example}/*.cc)
  if(_sources)
    add_executable(example_${_example} ${_sources})
    target_link_libraries(example_${_example} PRIVATE tenfold_all)
  endif()
endforeach()

file(GLOB _benches CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/bench/*_bench.cc)
if(_benches)
  find_package(benchmark REQUIRED CONFIG)
  foreach(_source IN LISTS _benches)
    get_filename_component(_stem ${_source} NAME_WE)
    add_executable(${_stem} ${_source})
    target_link_libraries(${_stem} PRIVATE tenfold_all benchmark::benchmark_main)
    target_precompile_headers(${_stem} REUSE_FROM tenfold_pch_std)
  endforeach()
endif()
