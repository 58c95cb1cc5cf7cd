/*
 * One task waits in select() for all TCP sockets and reports to the script's task which are ready. The tasks share only the table
 * in tcp-watcher.c. All functions here are for the script's task.
 */
#ifndef TCP_WATCHER_H
#define TCP_WATCHER_H

#include <stdbool.h>
#include <stdint.h>

struct tcp_connection;

/** Bits. */
enum tcp_condition {
	TCP_READABLE = 1,
	TCP_WRITABLE = 2,
	/** 20 ms have passed. */
	TCP_LATER = 4,
};

/** At a time, including those that are being closed. */
#define TCP_SLOTS 6

/**
 * Takes over a non-blocking descriptor. Returns its slot, or -1 if the table is full or the task cannot be started: the descriptor
 * is still the caller's.
 */
int tcp_watcher_add(int descriptor, struct tcp_connection *owner);

/**
 * Sets the conditions for which tcp_connection_ready(owner) is called, once each, in a later turn; it may be called without cause.
 */
void tcp_watcher_want(int slot, uint8_t conditions);

/** The descriptor will be closed. The owner is not called from now on, and its memory may be freed. */
void tcp_watcher_close(int slot);

#endif
