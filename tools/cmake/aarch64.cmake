# Cross build for aarch64 with Debian's cross compiler. libc and libstdc++ come with the compiler;
# the other libraries from the packages that tools/aarch64_sysroot.sh unpacked.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

get_filename_component(sysroot "${CMAKE_CURRENT_LIST_DIR}/../../build/aarch64-sysroot" ABSOLUTE)
set(CMAKE_FIND_ROOT_PATH ${sysroot})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

find_program(MINIVM_QEMU NAMES qemu-aarch64 qemu-aarch64-static)
if(MINIVM_QEMU)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${MINIVM_QEMU})
endif()
