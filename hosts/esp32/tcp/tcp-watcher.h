/*
 * One task waits in select() for all TCP sockets and tells the script's task which of them are ready. The two tasks share
 * nothing but the table in tcp-watcher.c. All functions here are for the script's task.
 */
#ifndef TCP_WATCHER_H
#define TCP_WATCHER_H

#include <stdbool.h>
#include <stdint.h>

struct tcp_connection;

/** Conditions to wait for, as bits. */
enum tcp_condition {
	TCP_READABLE = 1,
	TCP_WRITABLE = 2,
	/** 20 ms have passed. */
	TCP_LATER = 4,
};

/** Connections at a time, those that are being closed included. */
#define TCP_SLOTS 6

/**
 * Takes a non-blocking descriptor into the table; the first starts the task.
 * Returns its slot, or -1 where the table is full or the task cannot be started: the descriptor is still the caller's.
 */
int tcp_watcher_add(int descriptor, struct tcp_connection *owner);

/**
 * Sets the conditions for which tcp_connection_ready(owner) is called. A condition that was met is not waited for again until
 * it is set again. The call comes in a later turn of the script's task, and may come without cause.
 */
void tcp_watcher_want(int slot, uint8_t conditions);

/** Hands the descriptor over to be closed. The owner is not called from now on, and its memory may be freed. */
void tcp_watcher_close(int slot);

#endif
