// The thread that waits for the ports' files and for the programs they have started.
//
// It holds only numbers of ports and tells an event to the port of that number, if it still exists. So
// closing a port never waits for this thread. Threads: any, unless noted.
#pragma once

#include <sys/types.h>

#include <cstdint>

struct epoll_event;

namespace minivm::port {

enum class Ready : uint8_t { input = 0, output = 1, child = 2, socket = 3 };

namespace poller {

// Waits until the file can be read (or written), then calls port::ready(port, what) again and again
// until forget(). Files that epoll cannot wait for are always ready. False: out of resources (errno).
bool watch(int fd, uint32_t port, Ready what);
void forget(int fd, Ready what);
// Calls port::ready_socket(port, events) with the EPOLL events once each time that they change to ready: data that is
// there already counts as a change, and the port must read until there is no more. EPOLLOUT comes only while it is
// wanted. A descriptor that another port has watched is taken over. False: out of resources (errno).
bool watch_socket(int fd, uint32_t port, bool output);
bool want_output(int fd, uint32_t port, bool wanted);
void forget_socket(int fd);
// Calls port::timeout(port) at that time (in the clock of monotonic_ms()) or later.
// A port has one such time, the earliest that it asks for: timeout() asks again for a later one.
void wake_at(uint32_t port, uint64_t due_ms);
void forget_due(uint32_t port);
// Calls port::child_ended(port, status) when the program ends, and then forgets the program.
void watch_child(pid_t pid, uint32_t port);
// Calls look() whenever something is ready in another set of files (an epoll file), until stop(): on the thread that
// has the seat, or on the poller's thread, as for sockets. There is one such set. False: out of resources (errno).
bool watch_set(int epoll_fd, void (*look)());
// The seat: a scheduler without work waits for the sockets itself, so that data for a process arrives on the thread
// that will run it. One scheduler at a time; the poller's thread waits for sockets again when the scheduler leaves the
// seat. False: there are no sockets, or another scheduler has the seat.
bool take_seat();
void leave_seat();
// Events of sockets within that time (-1: no limit), for tell_seated(); wake_seated() ends it early. Touches no
// structure of the VM.
int wait_seated(epoll_event* events, int most, int timeout_ms);
void tell_seated(const epoll_event* events, int n);
// Any thread: the scheduler in the seat returns from wait_seated().
void wake_seated();
// Ends the thread. When no thread calls the other functions any more.
void stop();

}  // namespace poller
}  // namespace minivm::port
