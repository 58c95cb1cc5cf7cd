/*
 * TCP connection in plain C over POSIX sockets, used by the script's task only. It may be closed at any time. No function below calls an
 * event: the port polls all connections.
 */
#ifndef TCP_CONNECTION_H
#define TCP_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <netinet/in.h>
#include <sys/socket.h>

/** Maximum number of open connections. */
#define TCP_CONNECTIONS 6
/** Maximum size of a write. Bytes that exceed the system's send buffer are kept in memory. */
#define TCP_WRITABLE_BYTES 4096

struct tcp_connection;

/** Callbacks, called asynchronously. Each may close the connection. */
struct tcp_events {
	/** The connection is established, or everything is sent. */
	void (*on_writable)(struct tcp_connection *connection, uint32_t byte_count);
	/** `byte_count` bytes can be read. */
	void (*on_readable)(struct tcp_connection *connection, uint32_t byte_count);
	/** Rejected, reset, or closed by the peer with all its bytes read. Called once. */
	void (*on_error)(struct tcp_connection *connection);
	/** Called once, within or after tcp_connection_close(). The memory may be freed. */
	void (*on_released)(struct tcp_connection *connection);
};

/** Private to tcp-connection.c. */
struct tcp_connection {
	const struct tcp_events *events;
	uint8_t *unsent;
	/** Unread bytes announced to the owner. */
	uint32_t offered;
	int descriptor;
	uint16_t unsent_count;
	/** Index in the table of open connections. */
	uint8_t slot;
	uint8_t state;
	uint8_t use_count;
	/** The connection has failed, but received bytes are still unread. */
	bool is_broken;
};

/**
 * Starts to connect. The first event is on_writable or on_error.
 *
 * @param address IPv4 address in network byte order
 * @returns false if six connections are open or no socket can be created; `connection` is then unused
 */
bool tcp_connection_open(struct tcp_connection *connection, const struct tcp_events *events, uint32_t address,
	uint16_t port);

/** Reads at most the announced bytes. Returns the number of bytes read. */
uint32_t tcp_connection_read(struct tcp_connection *connection, void *bytes, uint32_t count);

/**
 * Sends or buffers data. Discards data for a failed connection; on_error follows.
 *
 * @returns false, without sending, if `count` exceeds tcp_connection_writable()
 */
bool tcp_connection_write(struct tcp_connection *connection, const void *bytes, uint32_t count);

/** Returns the number of bytes that can be written: 0 until on_writable and after a failure. */
uint32_t tcp_connection_writable(const struct tcp_connection *connection);

/** Closes the connection. Only on_released follows. May be called again until then. */
void tcp_connection_close(struct tcp_connection *connection);

#endif
