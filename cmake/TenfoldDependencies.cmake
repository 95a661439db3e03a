# Outside libraries. All come from the distribution, except the Python packages of the build venv.
include_guard()

find_package(Threads REQUIRED)

# Python: the build's own venv (scripts/install_deps.sh), or the interpreter pip builds us with.
if(NOT TENFOLD_PYTHON)
  if(SKBUILD AND Python_EXECUTABLE)
    set(_python ${Python_EXECUTABLE})
  elseif(DEFINED ENV{TENFOLD_VENV})
    set(_python $ENV{TENFOLD_VENV}/bin/python)
  else()
    set(_python ${CMAKE_SOURCE_DIR}/build/venv/bin/python)
  endif()
  if(NOT EXISTS ${_python})
    message(FATAL_ERROR "No Python environment at ${_python}; run `make deps` first, or set "
                        "TENFOLD_PYTHON to an interpreter that has onnx and nanobind.")
  endif()
  set(TENFOLD_PYTHON ${_python} CACHE FILEPATH "Python that builds and tests use")
endif()
set(Python_EXECUTABLE ${TENFOLD_PYTHON})

# LLVM is an optional part of the tree: it is looked for when a folder that needs it exists.
function(tenfold_find_llvm)
  if(TARGET tenfold_llvm)
    return()
  endif()
  find_package(LLVM 19.1 REQUIRED CONFIG)
  find_package(LLD REQUIRED CONFIG HINTS ${LLVM_INSTALL_PREFIX}/lib/cmake/lld)
  add_library(tenfold_llvm INTERFACE)
  target_include_directories(tenfold_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
  separate_arguments(defs NATIVE_COMMAND "${LLVM_DEFINITIONS}")
  target_compile_options(tenfold_llvm INTERFACE ${defs})
  # A subclass of an LLVM type needs the same RTTI setting as LLVM itself.
  if(NOT LLVM_ENABLE_RTTI)
    target_compile_options(tenfold_llvm INTERFACE -fno-rtti)
  endif()
  target_link_libraries(tenfold_llvm INTERFACE lldELF lldCommon LLVM)
endfunction()
