# The folders of src/ and what each may use, lowest first. test/meta/layers.py holds the same table
# for #include lines and compares itself with this file.
include_guard()

tenfold_library(base)
find_package(ZLIB REQUIRED)
tenfold_library(array MAY_USE base LINK ZLIB::ZLIB)
tenfold_embed(${CMAKE_SOURCE_DIR}/src/tpu/chips json tpu/chips/chip.h tenfold::tpu::ChipFile
              tenfold::tpu::chip_files ${CMAKE_BINARY_DIR}/generated/chip_files.cc)
tenfold_library(tpu MAY_USE array SOURCES ${CMAKE_BINARY_DIR}/generated/chip_files.cc)
tenfold_library(loop MAY_USE array)
tenfold_library(graph MAY_USE array loop)

tenfold_table(${CMAKE_SOURCE_DIR}/src/ops op_ tenfold::OpDef graph/op_def.h
              ${CMAKE_BINARY_DIR}/generated/op_table.cc ACCESSOR tenfold::all_ops)
tenfold_library(ops MAY_USE graph loop SOURCES ${TENFOLD_TABLE_SOURCE})

tenfold_table(${CMAKE_SOURCE_DIR}/src/passes/graph pass_ tenfold::GraphPass graph/pass.h
              ${CMAKE_BINARY_DIR}/generated/pass_table.cc ACCESSOR tenfold::all_graph_passes)
tenfold_library(passes MAY_USE ops graph loop SOURCES ${TENFOLD_TABLE_SOURCE})

tenfold_library(runtime MAY_USE array tpu LINK ${CMAKE_DL_LIBS})
target_compile_definitions(tenfold_runtime PRIVATE TENFOLD_VERSION="${PROJECT_VERSION}")

# backends/*.cc is the common part; each folder below it is a backend.
tenfold_library(backends TOP_ONLY MAY_USE loop runtime)
set(TENFOLD_LLVM_BACKENDS cpu ptx)
set(_backends "")
file(GLOB _dirs RELATIVE ${CMAKE_SOURCE_DIR}/src/backends CONFIGURE_DEPENDS
     ${CMAKE_SOURCE_DIR}/src/backends/*)
foreach(_dir IN LISTS _dirs)
  if(IS_DIRECTORY ${CMAKE_SOURCE_DIR}/src/backends/${_dir})
    set(_llvm "")
    if(_dir IN_LIST TENFOLD_LLVM_BACKENDS)
      set(_llvm LLVM)
    endif()
    # The chip's backend starts from the graph: layouts and placement are chosen for all of it.
    set(_graph "")
    if(_dir STREQUAL tpu)
      set(_graph passes ops graph)
    endif()
    tenfold_library(backends/${_dir} MAY_USE ${_graph} loop runtime tpu backends ${_llvm})
    list(APPEND _backends backends/${_dir})
  endif()
endforeach()

# The table of backends refers to all of them, so it is a library of its own above them.
tenfold_table(${CMAKE_SOURCE_DIR}/src/backends backend_ tenfold::Backend backends/backend.h
              ${CMAKE_BINARY_DIR}/generated/backend_table.cc
              ACCESSOR tenfold::all_backends GLOB */backend.cc)
tenfold_library(backend_table MAY_USE backends ${_backends} SOURCES ${TENFOLD_TABLE_SOURCE})

find_package(SQLite3)
tenfold_library(tune MAY_USE loop backends runtime LINK $<TARGET_NAME_IF_EXISTS:SQLite::SQLite3>)

set(_frontends "")
file(GLOB _dirs RELATIVE ${CMAKE_SOURCE_DIR}/src/frontends CONFIGURE_DEPENDS
     ${CMAKE_SOURCE_DIR}/src/frontends/*)
foreach(_dir IN LISTS _dirs)
  if(IS_DIRECTORY ${CMAKE_SOURCE_DIR}/src/frontends/${_dir})
    set(_extra "")
    if(_dir STREQUAL onnx)
      tenfold_table(${CMAKE_SOURCE_DIR}/src/frontends/onnx/ops onnx_ tenfold::onnx::OnnxOp
                    frontends/onnx/onnx_op.h ${CMAKE_BINARY_DIR}/generated/onnx_op_table.cc
                    ACCESSOR tenfold::onnx::all_onnx_ops)
      set(_extra SOURCES ${TENFOLD_TABLE_SOURCE} LINK onnx_proto)
    endif()
    tenfold_library(frontends/${_dir} MAY_USE ops graph ${_extra})
    list(APPEND _frontends frontends/${_dir})
  endif()
endforeach()

tenfold_library(driver MAY_USE base array tpu loop graph ops passes runtime backends backend_table
                               ${_backends} tune ${_frontends})

# Everything, for programs and tests. graph calls all_ops(), which ops defines: the linker (mold, or
# lld) resolves that across archives in any order.
add_library(tenfold_all INTERFACE)
get_property(_libs GLOBAL PROPERTY TENFOLD_LIBRARIES)
target_link_libraries(tenfold_all INTERFACE ${_libs})
