// The thread that waits for the ports' files and for the programs they have started.
//
// It holds nothing but numbers: what has happened is told to the port of that number, if there
// still is one. So closing a port never waits for this thread. Threads: any, unless noted.
#pragma once

#include <sys/types.h>

#include <cstdint>

struct epoll_event;

namespace minivm::port {

enum class Ready : uint8_t { input = 0, output = 1, child = 2, socket = 3 };

namespace poller {

// Waits until the file can be read (or written), then calls port::ready(port, what) again and again
// until forget(). Files that one cannot wait for are always ready. False: out of resources (errno).
bool watch(int fd, uint32_t port, Ready what);
void forget(int fd, Ready what);
// Calls port::ready_socket(port, events) with the EPOLL events once each time that they change to ready: what is
// there already counts as a change, and whoever is told has to read until there is no more. EPOLLOUT comes only
// while it is wanted. A file that somebody else waits for is taken over. False: out of resources (errno).
bool watch_socket(int fd, uint32_t port, bool output);
bool want_output(int fd, uint32_t port, bool wanted);
void forget_socket(int fd);
// Calls port::timeout(port) at that time (in the clock of monotonic_ms()) or later.
void wake_at(uint32_t port, uint64_t due_ms);
// Calls port::child_ended(port, status) when the program ends, and lets go of it.
void watch_child(pid_t pid, uint32_t port);
// Calls look() whenever something is ready in another set of files (an epoll file), until stop(): on who has the seat, or
// on the thread, as for sockets. There is one such set. False: out of resources (errno).
bool watch_set(int epoll_fd, void (*look)());
// A scheduler that has nothing to do waits for the sockets itself, so that what comes for a process reaches it on the
// thread that will run it; one at a time, and the thread of the ports looks after them again as soon as it gets up.
// False: there are no sockets, or somebody has the seat.
bool take_seat();
void leave_seat();
// What has happened to sockets within that time (-1: however long), for tell_seated(); ends early by wake_seated().
// Nothing of the VM is touched.
int wait_seated(epoll_event* events, int most, int timeout_ms);
void tell_seated(const epoll_event* events, int n);
// Any thread: who has the seat gets up.
void wake_seated();
// Ends the thread. Once nobody calls the others.
void stop();

}  // namespace poller
}  // namespace minivm::port
