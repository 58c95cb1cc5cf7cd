#include "tcp-connection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tcp-port.h"

enum state {
	IS_CONNECTING,
	IS_OPEN,
	/** The descriptor is closed; on_error was called or is being called. */
	HAS_FAILED,
	IS_CLOSED,
};

/** Connections with a descriptor, which are polled. */
static struct tcp_connection *connections[TCP_CONNECTIONS];

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static bool is_would_block(void)
{
	return errno == EAGAIN || errno == EWOULDBLOCK;
}

static void release(struct tcp_connection *connection)
{
	connection->use_count--;
	if (connection->use_count == 0)
		connection->events->on_released(connection);
}

static void drop_unsent(struct tcp_connection *connection)
{
	free(connection->unsent);
	connection->unsent = NULL;
	connection->unsent_count = 0;
}

/** Releases descriptor and buffers. */
static void dispose(struct tcp_connection *connection, enum state state)
{
	tcp_port_close(connection->descriptor);
	connections[connection->slot] = NULL;
	drop_unsent(connection);
	connection->offered = 0;
	connection->state = (uint8_t)state;
}

static void fail(struct tcp_connection *connection)
{
	dispose(connection, HAS_FAILED);
	connection->events->on_error(connection);
}

static void poll_all(void);

bool tcp_connection_open(struct tcp_connection *connection, const struct tcp_events *events, uint32_t address,
	uint16_t port)
{
	static bool is_polling;
	uint8_t slot = 0;
	while (slot < TCP_CONNECTIONS && connections[slot])
		slot++;
	is_polling = is_polling || tcp_port_start(poll_all);
	int descriptor = slot < TCP_CONNECTIONS && is_polling ? socket(AF_INET, SOCK_STREAM, 0) : -1;
	if (descriptor < 0)
		return false;
	if (!tcp_port_set_nonblocking(descriptor)) {
		tcp_port_close(descriptor);
		return false;
	}
	memset(connection, 0, sizeof *connection);
	connection->events = events;
	connection->descriptor = descriptor;
	connection->slot = slot;
	connection->use_count = 1;
	connection->state = IS_CONNECTING;
	connections[slot] = connection;
	const struct sockaddr_in peer = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = address };
	if (connect(descriptor, (const struct sockaddr *)&peer, sizeof peer) != 0 && errno != EINPROGRESS)
		connection->is_broken = true;
	return true;
}

uint32_t tcp_connection_read(struct tcp_connection *connection, void *bytes, uint32_t count)
{
	uint8_t *to = bytes;
	uint32_t left = least(count, connection->offered);
	while (left > 0) {
		ssize_t done = recv(connection->descriptor, to, left, 0);
		if (done <= 0) {
			/* Announced bytes are gone, e.g. after a reset by the peer on POSIX systems. */
			connection->is_broken = true;
			connection->offered = 0;
			break;
		}
		to += done;
		left -= (uint32_t)done;
		connection->offered -= (uint32_t)done;
	}
	return (uint32_t)(to - (uint8_t *)bytes);
}

uint32_t tcp_connection_writable(const struct tcp_connection *connection)
{
	if (connection->state != IS_OPEN || connection->is_broken)
		return 0;
	return TCP_WRITABLE_BYTES - connection->unsent_count;
}

/** Returns the number of bytes accepted by the system. */
static uint32_t send_some(struct tcp_connection *connection, const uint8_t *bytes, uint32_t count)
{
	ssize_t sent = send(connection->descriptor, bytes, count, MSG_NOSIGNAL);
	if (sent >= 0)
		return (uint32_t)sent;
	if (!is_would_block())
		connection->is_broken = true;
	return 0;
}

static void keep_unsent(struct tcp_connection *connection, const uint8_t *bytes, uint32_t count)
{
	uint8_t *unsent = realloc(connection->unsent, connection->unsent_count + count);
	if (!unsent) {
		connection->is_broken = true;
		return;
	}
	memcpy(unsent + connection->unsent_count, bytes, count);
	connection->unsent = unsent;
	connection->unsent_count += (uint16_t)count;
}

bool tcp_connection_write(struct tcp_connection *connection, const void *bytes, uint32_t count)
{
	if (connection->is_broken || connection->state > IS_OPEN || count == 0)
		return true;
	if (count > tcp_connection_writable(connection))
		return false;
	uint32_t sent = connection->unsent_count == 0 ? send_some(connection, bytes, count) : 0;
	if (sent < count && !connection->is_broken)
		keep_unsent(connection, (const uint8_t *)bytes + sent, count - sent);
	return true;
}

void tcp_connection_close(struct tcp_connection *connection)
{
	if (connection->state == IS_CLOSED)
		return;
	if (connection->state == HAS_FAILED)
		connection->state = IS_CLOSED;
	else
		dispose(connection, IS_CLOSED);
	release(connection);
}

static void finish_connecting(struct tcp_connection *connection)
{
	int error = 0;
	socklen_t length = sizeof error;
	if (!connection->is_broken && !tcp_port_is_writable(connection->descriptor))
		return;
	if (connection->is_broken || getsockopt(connection->descriptor, SOL_SOCKET, SO_ERROR, &error, &length) != 0 || error)
		return fail(connection);
	connection->state = IS_OPEN;
	connection->events->on_writable(connection, TCP_WRITABLE_BYTES);
}

static void receive(struct tcp_connection *connection)
{
	uint32_t unread = tcp_port_unread(connection->descriptor);
	if (unread == 0 && !connection->is_broken) {
		/* Distinguishes a connection without bytes from one that has ended. */
		uint8_t byte;
		ssize_t count = recv(connection->descriptor, &byte, sizeof byte, MSG_PEEK);
		if (count < 0 && is_would_block())
			return;
		if (count > 0)
			unread = tcp_port_unread(connection->descriptor);
	}
	if (unread == 0)
		return fail(connection);
	if (unread <= connection->offered)
		return;
	connection->offered = unread;
	connection->events->on_readable(connection, unread);
}

static void send_unsent(struct tcp_connection *connection)
{
	if (connection->unsent_count == 0 || connection->is_broken)
		return;
	uint32_t sent = send_some(connection, connection->unsent, connection->unsent_count);
	connection->unsent_count -= (uint16_t)sent;
	if (connection->unsent_count > 0) {
		memmove(connection->unsent, connection->unsent + sent, connection->unsent_count);
		return;
	}
	drop_unsent(connection);
	connection->events->on_writable(connection, TCP_WRITABLE_BYTES);
}

/** Calls the events of a connection. */
static void run(struct tcp_connection *connection)
{
	/* Events may close the connection; keep its memory until they return. */
	connection->use_count++;
	if (connection->state == IS_CONNECTING)
		finish_connecting(connection);
	else {
		receive(connection);
		if (connection->state == IS_OPEN)
			send_unsent(connection);
	}
	release(connection);
}

static void poll_all(void)
{
	for (int i = 0; i < TCP_CONNECTIONS; i++)
		if (connections[i])
			run(connections[i]);
}
