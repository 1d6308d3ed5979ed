// What operating system errors and file names are to Erlang.
#pragma once

#include <string>
#include <vector>

#include "vm/process/process.hpp"

namespace minivm {

// enoent for ENOENT and so on, as erl_posix_msg knows them; `unknown` for what it does not.
const char* posix_error_name(int error_number);
Term posix_error_atom(int error_number);
// {error, enoent}
Term posix_error(Process& p, int error_number);

// Whether the program may be given this descriptor: one that it was started with, or that a native library
// opened to be passed on. Those that the VM opened for itself, all of them close-on-exec, are its own: whoever
// could read, write or close them could end it. False for what is no open descriptor.
bool is_descriptor_of_program(int64_t descriptor);

// Sockets that the VM opened for the program, and how many of its ports and sockets have each: the program is told
// their descriptors (inet:getfd/1, {otp, fd}), so it may give them back though the VM opened them. Any thread.
void hold_socket(int descriptor);
// owned: the one who had it was to close it. True: nobody has it any more, one of those who had it owned it, and the
// caller closes it.
bool let_go_of_socket(int descriptor, bool owned = true);
bool is_held_socket(int64_t descriptor);
// socket(2) in the network namespace that this file is of; -1: errno. Any thread; it is back in its own when this returns.
int socket_in_namespace(const std::string& file, int family, int type, int protocol);

// The bytes of a file name: a binary as it is, a character list, which may be deep, in UTF-8. False: no
// file name, or it holds a zero.
bool get_file_name(Term name, std::string* out);
// NAME=VALUE of each variable of our environment.
std::vector<std::string> environment_copy();
// A character list; a binary if the bytes are no UTF-8.
Term file_name_term(Heap& h, const std::string& bytes);

}  // namespace minivm
