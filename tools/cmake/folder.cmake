# minivm_folder(NAME [LINK lib...]): the static library minivm_NAME (alias minivm::NAME) out of every
# .cpp file of the folder that calls it. A folder without sources is a target all the same, so that
# the drawing of the project is complete from the start.
function(minivm_folder name)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(name STREQUAL "tools")
    # main.cpp belongs to the program, everything else can be linked into tests as well.
    list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  endif()
  if(sources)
    add_library(minivm_${name} STATIC ${sources})
    target_link_libraries(minivm_${name} PUBLIC minivm_options ${arg_LINK})
  else()
    add_library(minivm_${name} INTERFACE)
    target_link_libraries(minivm_${name} INTERFACE minivm_options ${arg_LINK})
  endif()
  add_library(minivm::${name} ALIAS minivm_${name})
endfunction()
