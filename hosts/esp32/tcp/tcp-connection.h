/*
 * A TCP connection as its owner in the script's task sees it: events in, bytes in and out, close at any time. Plain C over
 * POSIX sockets. All functions are for the script's task, and none of them calls an event.
 */
#ifndef TCP_CONNECTION_H
#define TCP_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <netinet/in.h>
#include <sys/socket.h>

/** What a connection takes over at once: what does not fit into the system's send buffer is kept in memory until it does. */
#define TCP_WRITABLE_BYTES 4096
/** What is received ahead of the script, so that reading single bytes is not a call of lwIP's task for each. */
#define TCP_STAGED_BYTES 64

struct tcp_connection;

/** Called in later turns of the script's task. The connection may be closed in each of them. */
struct tcp_events {
	/** Connected; later: all is sent that did not fit at once. */
	void (*on_writable)(struct tcp_connection *connection, uint32_t byte_count);
	/** `byte_count` bytes can be read: more than at the last event, less what was read since. */
	void (*on_readable)(struct tcp_connection *connection, uint32_t byte_count);
	/** Refused, reset, or closed by the peer and all its bytes read. The last event of a connection that is not closed yet. */
	void (*on_error)(struct tcp_connection *connection);
	/** Once, after tcp_connection_close(), perhaps within it: the connection's memory may be freed. */
	void (*on_released)(struct tcp_connection *connection);
};

/** The members are tcp-connection.c's own. */
struct tcp_connection {
	const struct tcp_events *events;
	struct sockaddr_in peer;
	/** NULL where `unsent_count` is 0. */
	uint8_t *unsent;
	/** Bytes that the owner knows it can read. */
	uint32_t offered;
	int descriptor;
	uint16_t unsent_count;
	uint8_t staged_start;
	uint8_t staged_end;
	uint8_t staged[TCP_STAGED_BYTES];
	int8_t slot;
	uint8_t state;
	uint8_t use_count;
	bool is_in_event;
	/** It failed; the owner hears of it when what had arrived is read. */
	bool is_broken;
};

/**
 * Starts to connect. The first event is on_writable or on_error.
 *
 * @param address IPv4, in network order
 * @param port 1 to 65535
 * @returns false where no socket can be made; `connection` is unused then
 */
bool tcp_connection_open(struct tcp_connection *connection, const struct tcp_events *events, uint32_t address,
	uint16_t port, bool is_without_delay);

/** Reads at most `count` bytes, and at most what on_readable announced. Returns how many it read. */
uint32_t tcp_connection_read(struct tcp_connection *connection, void *bytes, uint32_t count);

/** Bytes that tcp_connection_read() would return. */
uint32_t tcp_connection_readable(const struct tcp_connection *connection);

/**
 * Sends. What is written to a connection that failed is dropped; on_error follows.
 *
 * @returns false where `count` is more than a working connection takes now; nothing is sent then
 */
bool tcp_connection_write(struct tcp_connection *connection, const void *bytes, uint32_t count);

/** Bytes that tcp_connection_write() takes now; 0 until on_writable and after a failure. */
uint32_t tcp_connection_writable(const struct tcp_connection *connection);

/** Ends the connection; no event follows but on_released. A second call does nothing, as long as the memory is there. */
void tcp_connection_close(struct tcp_connection *connection);

/** For the watcher: conditions that were met. */
void tcp_connection_ready(struct tcp_connection *connection, uint8_t conditions);

#endif
