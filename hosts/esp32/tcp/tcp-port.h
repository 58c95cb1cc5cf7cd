/*
 * What the TCP socket needs of its system besides POSIX sockets: a task, a lock, a message to the script's task, and the
 * calls for which ESP-IDF has no POSIX name that leads straight to lwIP. tcp-port-esp32.c and, for messages,
 * tcp-binding.c are the boards' implementation; the test in test/hosts/esp32/tcp has its own.
 */
#ifndef TCP_PORT_H
#define TCP_PORT_H

#include <stdbool.h>
#include <stdint.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/select.h>
#include <sys/socket.h>

/** Whether there is a network interface: without one ESP-IDF aborts at the first socket. */
bool tcp_port_has_network(void);

/** Prepares the lock and starts the task, which never ends. Returns false where memory is short. */
bool tcp_port_start(void (*run)(void));

void tcp_port_lock(void);
void tcp_port_unlock(void);

/**
 * Has `deliver` called in the script's task. May wait for room in the message queue, so never call it with the lock held.
 * Returns false where the queue stayed full: nothing was posted.
 */
bool tcp_port_post(void (*deliver)(void));

/** As POSIX select(). Nothing may close a descriptor that another task waits for here: lwIP asserts. */
int tcp_port_select(int count, fd_set *readable, fd_set *writable, struct timeval *timeout);

void tcp_port_close(int descriptor);

bool tcp_port_set_nonblocking(int descriptor);

/** Bytes that recv() would return now; 0 where there are none or the connection is gone. */
uint32_t tcp_port_unread(int descriptor);

/** A clock that wraps around. */
uint32_t tcp_port_milliseconds(void);

void tcp_port_sleep(uint32_t milliseconds);

#endif
