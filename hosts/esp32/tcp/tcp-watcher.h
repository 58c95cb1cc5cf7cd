/*
 * Task that waits in select() for all TCP sockets and reports the ready ones to the script's task. The tasks share only the table in
 * tcp-watcher.c. The functions below are for the script's task.
 */
#ifndef TCP_WATCHER_H
#define TCP_WATCHER_H

#include <stdbool.h>
#include <stdint.h>

struct tcp_connection;

/** Bit mask. */
enum tcp_condition {
	TCP_READABLE = 1,
	TCP_WRITABLE = 2,
	/** 20 ms have elapsed. */
	TCP_LATER = 4,
};

/** Maximum number of sockets, including those that are being closed. */
#define TCP_SLOTS 6

/**
 * Adds a non-blocking descriptor. Returns its slot, or -1 if the table is full or the task cannot be started; the caller then still
 * owns the descriptor.
 */
int tcp_watcher_add(int descriptor, struct tcp_connection *owner);

/**
 * Sets the conditions for which tcp_connection_ready(owner) is called asynchronously, once each. Spurious calls are possible.
 */
void tcp_watcher_want(int slot, uint8_t conditions);

/** Closes the descriptor in the background. The owner is no longer called, and its memory may be freed. */
void tcp_watcher_close(int slot);

#endif
