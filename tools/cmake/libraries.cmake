# The libraries from outside, each as one target: minivm::gmp, minivm::zlib, minivm::pcre2,
# minivm::edit, minivm::asmjit, minivm::unwind, minivm::log, minivm::cli, minivm::catch.
# What is missing is named with the Debian package that has it, all of it at once.
set(minivm_missing "")

# minivm_library(NAME HEADER LIBRARY PACKAGE): a library without a CMake package of its own.
macro(minivm_library name header library package)
  find_path(MINIVM_${name}_INCLUDE ${header})
  find_library(MINIVM_${name}_${minivm_kind} NAMES ${library})
  mark_as_advanced(MINIVM_${name}_INCLUDE MINIVM_${name}_${minivm_kind})
  if(MINIVM_${name}_INCLUDE AND MINIVM_${name}_${minivm_kind})
    add_library(minivm_lib_${name} INTERFACE)
    target_include_directories(minivm_lib_${name} SYSTEM INTERFACE ${MINIVM_${name}_INCLUDE})
    target_link_libraries(minivm_lib_${name} INTERFACE ${MINIVM_${name}_${minivm_kind}})
    add_library(minivm::${name} ALIAS minivm_lib_${name})
  else()
    list(APPEND minivm_missing "${header}: ${package}")
  endif()
endmacro()

# For another machine there are static libraries only, beside its libc (tools/aarch64_sysroot.sh).
set(minivm_archives ${MINIVM_ARCHIVES})
if(MINIVM_STATIC OR CMAKE_CROSSCOMPILING)
  set(minivm_archives TRUE)
endif()
set(minivm_kind LIBRARY)  # in the cache apart: a build directory may change from one to the other
if(minivm_archives)
  set(minivm_kind ARCHIVE)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
endif()

find_package(Threads REQUIRED)

minivm_library(gmp gmp.h gmp libgmp-dev)
minivm_library(zlib zlib.h z zlib1g-dev)
minivm_library(pcre2 pcre2.h pcre2-8 libpcre2-dev)
minivm_library(edit histedit.h edit libedit-dev)
minivm_library(unwind libunwind.h unwind libunwind-dev)
if(TARGET minivm_lib_pcre2)
  target_compile_definitions(minivm_lib_pcre2 INTERFACE PCRE2_CODE_UNIT_WIDTH=8)
endif()
if(TARGET minivm_lib_unwind)
  # libunwind exports _Unwind_RaiseException and its family too. The compiler's own must come first,
  # or C++ exceptions would be raised by one unwinder and resumed by the other.
  if(minivm_archives)
    find_library(MINIVM_LZMA_LIBRARY NAMES lzma)
    mark_as_advanced(MINIVM_LZMA_LIBRARY)
    target_link_libraries(minivm_lib_unwind INTERFACE ${MINIVM_LZMA_LIBRARY} minivm::zlib)
    set_property(TARGET minivm_lib_unwind PROPERTY INTERFACE_LINK_LIBRARIES
      gcc_eh ${MINIVM_unwind_ARCHIVE} ${MINIVM_LZMA_LIBRARY} minivm::zlib)
  else()
    set_property(TARGET minivm_lib_unwind PROPERTY INTERFACE_LINK_LIBRARIES
      gcc_s ${MINIVM_unwind_LIBRARY})
  endif()
endif()
# What libedit's archive needs, and terminfo itself, which the natives of prim_tty call.
if(TARGET minivm_lib_edit)
  if(minivm_archives)
    set(minivm_edit_parts tinfo bsd md)
  else()
    set(minivm_edit_parts tinfo)
  endif()
  foreach(part ${minivm_edit_parts})
    find_library(MINIVM_edit_${part} NAMES ${part})
    mark_as_advanced(MINIVM_edit_${part})
    target_link_libraries(minivm_lib_edit INTERFACE ${MINIVM_edit_${part}})
  endforeach()
endif()

find_package(asmjit CONFIG QUIET)
if(asmjit_FOUND OR TARGET asmjit::asmjit)
  add_library(minivm::asmjit ALIAS asmjit::asmjit)
else()
  list(APPEND minivm_missing "asmjit: libasmjit-dev")
endif()

# Header only, with fmt header only: few files use it, and two shared libraries less are loaded at
# each start. spdlog's CMake package would add the shared fmt, hence by hand.
find_path(MINIVM_spdlog_INCLUDE spdlog/spdlog.h)
find_path(MINIVM_fmt_INCLUDE fmt/core.h)
mark_as_advanced(MINIVM_spdlog_INCLUDE MINIVM_fmt_INCLUDE)
if(MINIVM_spdlog_INCLUDE AND MINIVM_fmt_INCLUDE)
  add_library(minivm_lib_log INTERFACE)
  target_include_directories(minivm_lib_log SYSTEM INTERFACE
    ${MINIVM_spdlog_INCLUDE} ${MINIVM_fmt_INCLUDE})
  target_compile_definitions(minivm_lib_log INTERFACE SPDLOG_FMT_EXTERNAL FMT_HEADER_ONLY)
  target_link_libraries(minivm_lib_log INTERFACE Threads::Threads)
  add_library(minivm::log ALIAS minivm_lib_log)
else()
  list(APPEND minivm_missing "spdlog/spdlog.h, fmt/core.h: libspdlog-dev libfmt-dev")
endif()

find_package(CLI11 CONFIG QUIET)
if(TARGET CLI11::CLI11)
  add_library(minivm::cli ALIAS CLI11::CLI11)
else()
  list(APPEND minivm_missing "CLI11: libcli11-dev")
endif()

if(MINIVM_TESTS)
  find_path(MINIVM_catch_INCLUDE catch2/catch.hpp)
  mark_as_advanced(MINIVM_catch_INCLUDE)
  if(MINIVM_catch_INCLUDE)
    add_library(minivm_lib_catch INTERFACE)
    target_include_directories(minivm_lib_catch SYSTEM INTERFACE ${MINIVM_catch_INCLUDE})
    target_compile_definitions(minivm_lib_catch INTERFACE CATCH_CONFIG_FAST_COMPILE)
    add_library(minivm::catch ALIAS minivm_lib_catch)
  else()
    list(APPEND minivm_missing "catch2/catch.hpp: catch2 (2.13)")
  endif()
  # Benchmarks are made by hand, so the library may be missing.
  find_package(benchmark CONFIG QUIET)
endif()

if(minivm_missing)
  list(JOIN minivm_missing "\n  " minivm_missing_text)
  message(FATAL_ERROR "Libraries are missing; tools/demo and tools/check install them, or by hand "
    "with `apt-get install` (what: Debian package):\n  ${minivm_missing_text}")
endif()
