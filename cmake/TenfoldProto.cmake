# onnx_proto: the C++ of onnx-ml.proto, taken out of the onnx package of the Python environment.
include_guard()

find_package(Protobuf REQUIRED)
execute_process(
  COMMAND ${TENFOLD_PYTHON} -c
          "import importlib.util as u; print(u.find_spec('onnx').submodule_search_locations[0])"
  OUTPUT_VARIABLE _onnx_dir OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
set(_out ${CMAKE_BINARY_DIR}/generated/onnx_proto)
file(MAKE_DIRECTORY ${_out})
add_custom_command(
  OUTPUT ${_out}/onnx-ml.pb.cc ${_out}/onnx-ml.pb.h
  COMMAND protobuf::protoc --proto_path=${_onnx_dir} --cpp_out=${_out} onnx-ml.proto
  DEPENDS ${_onnx_dir}/onnx-ml.proto
  COMMENT "protoc onnx-ml.proto"
  VERBATIM)
add_library(onnx_proto_objects OBJECT ${_out}/onnx-ml.pb.cc ${_out}/onnx-ml.pb.h)
target_include_directories(onnx_proto_objects SYSTEM PUBLIC ${_out} ${Protobuf_INCLUDE_DIRS})
target_compile_options(onnx_proto_objects PRIVATE -w)

# An archive of the objects: whoever links the frontend gets them, through any number of libraries.
add_library(onnx_proto STATIC $<TARGET_OBJECTS:onnx_proto_objects>)
set_target_properties(onnx_proto PROPERTIES LINKER_LANGUAGE CXX)
target_include_directories(onnx_proto SYSTEM PUBLIC ${_out} ${Protobuf_INCLUDE_DIRS})
target_link_libraries(onnx_proto PUBLIC protobuf::libprotobuf)
add_dependencies(onnx_proto onnx_proto_objects)
