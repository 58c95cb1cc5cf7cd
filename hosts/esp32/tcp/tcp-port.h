/*
 * Platform functions of the TCP socket besides POSIX sockets. Implemented in tcp-port-esp32.c and tcp-binding.c, and for tests in
 * test/hosts/esp32/tcp.
 */
#ifndef TCP_PORT_H
#define TCP_PORT_H

#include <stdbool.h>
#include <stdint.h>
#include <netinet/in.h>
#include <sys/select.h>
#include <sys/socket.h>

/** Returns whether there is a network interface. Without one, ESP-IDF aborts at the first socket. */
bool tcp_port_has_network(void);

/** Creates the lock and starts a task that never ends. Returns false if out of memory. */
bool tcp_port_start(void (*run)(void));

void tcp_port_lock(void);
void tcp_port_unlock(void);

/**
 * Calls `deliver` in the script's task. May block while the message queue is full, so the lock must not be held. Returns false if the
 * queue stayed full.
 */
bool tcp_port_post(void (*deliver)(void));

/** POSIX select(). A descriptor must not be closed while another task waits for it: lwIP asserts. */
int tcp_port_select(int count, fd_set *readable, fd_set *writable, struct timeval *timeout);

void tcp_port_close(int descriptor);

bool tcp_port_set_nonblocking(int descriptor);

/** Returns the number of bytes that recv() could return now. */
uint32_t tcp_port_unread(int descriptor);

/** Monotonic time; wraps around. */
uint32_t tcp_port_milliseconds(void);

void tcp_port_sleep(uint32_t milliseconds);

#endif
