/*
 * A TCP connection for the script's task: events in, bytes in and out, close at any time. Plain C over POSIX sockets. No function
 * calls an event.
 */
#ifndef TCP_CONNECTION_H
#define TCP_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <netinet/in.h>
#include <sys/socket.h>

/** Accepted in one write; what does not fit into the system's send buffer is kept in memory. */
#define TCP_WRITABLE_BYTES 4096
/** Received ahead, so that reading single bytes is not a call of lwIP's task each. */
#define TCP_STAGED_BYTES 64

struct tcp_connection;

/** Called in later turns; the connection may be closed in each of them. */
struct tcp_events {
	/** Connected, or everything is sent. */
	void (*on_writable)(struct tcp_connection *connection, uint32_t byte_count);
	/** `byte_count` more bytes can be read. */
	void (*on_readable)(struct tcp_connection *connection, uint32_t byte_count);
	/** Rejected, reset, or closed by the peer with all its bytes read. Called once. */
	void (*on_error)(struct tcp_connection *connection);
	/** Once, after tcp_connection_close() or within it: the memory may be freed. */
	void (*on_released)(struct tcp_connection *connection);
};

/** Private to tcp-connection.c. */
struct tcp_connection {
	const struct tcp_events *events;
	struct sockaddr_in peer;
	uint8_t *unsent;
	/** Announced to the owner and unread. */
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
	/** Failed, but received bytes are still unread. */
	bool is_broken;
};

/**
 * The first event is on_writable or on_error.
 *
 * @param address IPv4, in network order
 * @returns false if no socket can be made; `connection` is unused then
 */
bool tcp_connection_open(struct tcp_connection *connection, const struct tcp_events *events, uint32_t address,
	uint16_t port, bool is_without_delay);

/** Reads at most what on_readable announced. Returns how many bytes it read. */
uint32_t tcp_connection_read(struct tcp_connection *connection, void *bytes, uint32_t count);

/** Bytes that tcp_connection_read() would return. */
uint32_t tcp_connection_readable(const struct tcp_connection *connection);

/**
 * Data for a failed connection is dropped; on_error follows.
 *
 * @returns false if `count` is more than tcp_connection_writable(); nothing is sent then
 */
bool tcp_connection_write(struct tcp_connection *connection, const void *bytes, uint32_t count);

/** 0 until on_writable and after a failure. */
uint32_t tcp_connection_writable(const struct tcp_connection *connection);

/** No event follows but on_released. May be called again until then. */
void tcp_connection_close(struct tcp_connection *connection);

/** Called by the watcher with the conditions that were met. */
void tcp_connection_ready(struct tcp_connection *connection, uint8_t conditions);

#endif
