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

include(TenfoldLlvm)
