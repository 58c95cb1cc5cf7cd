/*
 * Drives TCP connections (hosts/esp32/tcp) with random steps over 127.0.0.1, and checks invariants after each.
 *
 * Usage: tcp-random STEPS [SEED]
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tcp-connection.h"
#include "tcp-port.h"
#include "tcp-port-test.h"

#define PAIRS TCP_CONNECTIONS
#define LONGEST 6000
#define BUFFER_BYTES 4096
#define SETTLE_EVERY 5000
#define STALL_MS 30000
#define DESCRIPTORS 256

struct script {
	struct tcp_connection connection; /* first: events get a pointer to it */
	struct pair *pair;
};

/** Both ends of a connection: the script's, and the peer's with its own socket. */
struct pair {
	struct script *script; /* NULL: released, or never opened */
	int peer; /* -1: not accepted yet, or closed */
	uint16_t port; /* the script's, by which the peer is found */
	uint32_t id;
	bool is_rejected;
	bool is_connected;
	bool has_failed;
	bool is_closed;
	bool is_peer_shut;
	bool may_lose; /* what the peer sent: it reset the connection, or closed it with bytes unread */
	uint32_t peer_sent;
	uint32_t received;
	uint32_t written;
	uint32_t peer_received;
};

static struct pair pairs[PAIRS];
static int server = -1;
static struct sockaddr_in server_address;
static uint16_t rejecting_port;
static uint32_t seed;
static uint32_t random_state;
static uint32_t step;
static uint32_t last_id;
static enum { RANDOM, READS_NOTHING, READS_ALL } mode;
static struct pair *in_event_of;
static uint32_t events_seen;

#define CHECK(condition, ...)                                                        \
	do {                                                                             \
		if (!(condition)) {                                                          \
			fprintf(stderr, "FAILED at step %u of seed %u: ", step, seed);           \
			fprintf(stderr, __VA_ARGS__);                                            \
			fprintf(stderr, " (" #condition ")\n");                                  \
			abort();                                                                 \
		}                                                                            \
	} while (0)

static uint32_t random_below(uint32_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	random_state ^= random_state << 5;
	return random_state % limit;
}

static bool chance(uint32_t percent)
{
	return random_below(100) < percent;
}

enum direction { TO_SCRIPT, TO_PEER };

static uint8_t byte_at(const struct pair *pair, enum direction direction, uint32_t index)
{
	return (uint8_t)((index + pair->id * 7919 + (uint32_t)direction * 104729) * 2654435761u >> 24);
}

static void make_bytes(const struct pair *pair, enum direction direction, uint32_t from, uint8_t *bytes, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		bytes[i] = byte_at(pair, direction, from + i);
}

static void check_bytes(const struct pair *pair, enum direction direction, uint32_t from, const uint8_t *bytes,
	uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		CHECK(bytes[i] == byte_at(pair, direction, from + i), "byte %u of connection %u is wrong", from + i, pair->id);
}

/* The script's side. */

static void script_acts(void);
static void script_closes(struct pair *pair);
static void accept_all(void);

static bool is_alive(const struct pair *pair)
{
	return pair->script && !pair->is_closed;
}

static void script_reads(struct pair *pair, uint32_t most)
{
	uint8_t bytes[LONGEST];
	uint32_t readable = pair->script->connection.offered;
	uint32_t count = tcp_connection_read(&pair->script->connection, bytes, most);
	CHECK(count <= most && count <= readable, "too many bytes");
	CHECK(count == (most < readable ? most : readable) || pair->may_lose, "too few bytes of connection %u", pair->id);
	check_bytes(pair, TO_SCRIPT, pair->received, bytes, count);
	pair->received += count;
	CHECK(pair->received <= pair->peer_sent, "received bytes that were not sent");
}

static void script_writes(struct pair *pair, uint32_t count)
{
	uint8_t bytes[LONGEST];
	uint32_t writable = tcp_connection_writable(&pair->script->connection);
	make_bytes(pair, TO_PEER, pair->written, bytes, count);
	bool is_taken = tcp_connection_write(&pair->script->connection, bytes, count);
	if (count <= writable) {
		CHECK(is_taken, "a write within the limit is rejected");
		pair->written += count;
		if (pair->peer < 0 && pair->is_peer_shut)
			pair->may_lose = true;
	} else if (is_taken)
		CHECK(writable == 0 && (pair->may_lose || pair->has_failed || pair->is_rejected || pair->is_closed ||
			pair->script->connection.is_broken), "a write beyond the limit is accepted");
}

static void check_event(struct pair *pair)
{
	events_seen++;
	CHECK(pair->script, "an event after the release");
	CHECK(!pair->is_closed, "an event after close of connection %u", pair->id);
	CHECK(!pair->has_failed, "an event after the error of connection %u", pair->id);
}

/** Performs a random action of a script within an event, on any connection. */
static void act_in_event(struct tcp_connection *connection)
{
	struct pair *pair = ((struct script *)connection)->pair;
	in_event_of = pair;
	if (mode == RANDOM) {
		while (chance(30))
			script_acts();
		if (chance(4)) {
			script_closes(pair);
			tcp_connection_close(connection);
		}
	}
	in_event_of = NULL;
}

static void on_writable(struct tcp_connection *connection, uint32_t byte_count)
{
	struct pair *pair = ((struct script *)connection)->pair;
	check_event(pair);
	CHECK(!pair->is_rejected, "connected without a listener");
	CHECK(byte_count == tcp_connection_writable(connection), "fewer bytes are writable than announced");
	pair->is_connected = true;
	act_in_event(connection);
}

static void on_readable(struct tcp_connection *connection, uint32_t byte_count)
{
	struct pair *pair = ((struct script *)connection)->pair;
	check_event(pair);
	CHECK(pair->is_connected, "readable before it is connected");
	CHECK(byte_count > 0 && byte_count == connection->offered, "fewer bytes are readable than announced");
	CHECK(byte_count <= pair->peer_sent - pair->received, "%u bytes are announced, %u were sent (shut %d, %u received)",
		byte_count, pair->peer_sent - pair->received, pair->is_peer_shut, pair->received);
	if (mode == READS_ALL || (mode == RANDOM && chance(60)))
		while (connection->offered > 0)
			script_reads(pair, 1 + random_below(LONGEST));
	act_in_event(connection);
}

static void on_error(struct tcp_connection *connection)
{
	struct pair *pair = ((struct script *)connection)->pair;
	check_event(pair);
	CHECK(pair->is_rejected || pair->is_peer_shut || pair->may_lose, "an error of connection %u without a cause", pair->id);
	CHECK(pair->is_rejected || pair->may_lose || pair->received == pair->peer_sent,
		"the error came before %u bytes of connection %u", pair->peer_sent - pair->received, pair->id);
	pair->has_failed = true;
	act_in_event(connection);
}

static void on_released(struct tcp_connection *connection)
{
	struct script *script = (struct script *)connection;
	CHECK(script->pair->is_closed, "released before it is closed");
	script->pair->script = NULL;
	free(script);
}

static const struct tcp_events events = { on_writable, on_readable, on_error, on_released };

static void script_closes(struct pair *pair)
{
	if (pair->is_closed)
		return;
	/* Else the next connection may have its port, and the peer's socket of this one. */
	accept_all();
	pair->is_closed = true;
	tcp_connection_close(&pair->script->connection);
	CHECK(!pair->script || pair == in_event_of, "not released after close outside its events");
}

static struct pair *find_free(void)
{
	for (int i = 0; i < PAIRS; i++)
		if (!pairs[i].script && pairs[i].peer < 0)
			return &pairs[i];
	return NULL;
}

/** Small buffers, so that they are often full. */
static void limit_buffers(int descriptor)
{
	int bytes = BUFFER_BYTES;
	setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
	setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

static struct pair *script_opens(bool is_rejected)
{
	struct pair *pair = find_free();
	if (!pair)
		return NULL;
	struct script *script = malloc(sizeof *script);
	if (!script)
		abort();
	uint16_t port = is_rejected ? rejecting_port : ntohs(server_address.sin_port);
	if (!tcp_connection_open(&script->connection, &events, htonl(INADDR_LOOPBACK), port)) {
		free(script);
		return NULL;
	}
	*pair = (struct pair){ .script = script, .peer = -1, .id = ++last_id, .is_rejected = is_rejected };
	script->pair = pair;
	struct sockaddr_in own;
	socklen_t length = sizeof own;
	getsockname(script->connection.descriptor, (struct sockaddr *)&own, &length);
	pair->port = own.sin_port;
	limit_buffers(script->connection.descriptor);
	return pair;
}

static void script_acts(void)
{
	struct pair *pair = &pairs[random_below(PAIRS)];
	if (!is_alive(pair)) {
		if (chance(50))
			script_opens(chance(10));
		return;
	}
	uint32_t writable = tcp_connection_writable(&pair->script->connection);
	uint32_t dice = random_below(100);
	if (dice < 40)
		script_reads(pair, dice < 20 ? 1 + random_below(80) : random_below(LONGEST));
	else if (dice < 90)
		script_writes(pair, dice < 88 && writable > 0 ? random_below(writable + 1) : 1 + random_below(LONGEST - 1));
	else if (dice < 92)
		script_closes(pair);
}

/* The peer's side. */

static void accept_all(void)
{
	struct sockaddr_in from;
	socklen_t length = sizeof from;
	for (int descriptor; (descriptor = accept(server, (struct sockaddr *)&from, &length)) >= 0;) {
		struct pair *found = NULL;
		for (int i = 0; i < PAIRS && !found; i++) {
			struct pair *pair = &pairs[i];
			bool waits = is_alive(pair) && !pair->is_rejected && !pair->has_failed && pair->peer < 0 && !pair->is_peer_shut;
			if (waits && pair->port == from.sin_port)
				found = pair;
		}
		if (!found) {
			close(descriptor); /* The script closed before it was accepted. */
			continue;
		}
		tcp_port_set_nonblocking(descriptor);
		limit_buffers(descriptor);
		found->peer = descriptor;
	}
}

static void peer_sends(struct pair *pair, uint32_t count)
{
	uint8_t bytes[LONGEST];
	if (pair->is_peer_shut)
		return;
	make_bytes(pair, TO_SCRIPT, pair->peer_sent, bytes, count);
	ssize_t sent = send(pair->peer, bytes, count, MSG_NOSIGNAL);
	if (sent > 0)
		pair->peer_sent += (uint32_t)sent;
	CHECK(sent >= 0 || errno == EAGAIN || !is_alive(pair) || pair->has_failed, "the peer cannot send");
}

static void peer_receives(struct pair *pair, uint32_t most)
{
	uint8_t bytes[LONGEST];
	ssize_t count = recv(pair->peer, bytes, most, 0);
	if (count <= 0)
		return;
	check_bytes(pair, TO_PEER, pair->peer_received, bytes, (uint32_t)count);
	pair->peer_received += (uint32_t)count;
	CHECK(pair->peer_received <= pair->written, "bytes that the script did not write");
}

static void peer_closes(struct pair *pair, bool is_reset)
{
	struct linger at_once = { .l_onoff = 1, .l_linger = 0 };
	if (is_reset)
		setsockopt(pair->peer, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
	if (is_reset || pair->peer_received < pair->written)
		pair->may_lose = true;
	close(pair->peer);
	pair->peer = -1;
	pair->is_peer_shut = true;
}

static void peer_acts(void)
{
	struct pair *pair = &pairs[random_below(PAIRS)];
	uint32_t dice = random_below(100);
	if (dice < 10 || pair->peer < 0)
		return accept_all();
	if (!is_alive(pair) && chance(30))
		return peer_closes(pair, chance(50));
	if (dice < 50)
		peer_sends(pair, 1 + random_below(dice < 30 ? 40 : LONGEST));
	else if (dice < 90)
		peer_receives(pair, 1 + random_below(LONGEST));
	else if (dice < 92) {
		shutdown(pair->peer, SHUT_WR);
		pair->is_peer_shut = true;
	} else if (dice < 94)
		peer_closes(pair, dice == 92);
}

/* Test loop. */

static bool is_settled(const struct pair *pair)
{
	if (!is_alive(pair))
		return true;
	if (pair->has_failed)
		return true;
	if (pair->is_rejected || pair->is_peer_shut || pair->may_lose)
		return false; /* an error is to come */
	return pair->is_connected && pair->peer >= 0 && pair->received == pair->peer_sent &&
		pair->peer_received == pair->written;
}

/** Waits until all data in flight has arrived. */
static void settle(void)
{
	uint32_t start = port_test_milliseconds();
	mode = READS_ALL;
	for (bool is_done = false; !is_done;) {
		is_done = true;
		accept_all();
		port_test_poll();
		for (int i = 0; i < PAIRS; i++) {
			struct pair *pair = &pairs[i];
			if (pair->peer >= 0)
				peer_receives(pair, LONGEST);
			if (is_alive(pair))
				script_reads(pair, LONGEST);
			is_done &= is_settled(pair);
			CHECK(is_settled(pair) || port_test_milliseconds() - start < STALL_MS,
				"connection %u stalls: %u of %u received, %u of %u arrived, connected %d, shut %d, rejected %d",
				pair->id, pair->received, pair->peer_sent, pair->peer_received, pair->written, pair->is_connected,
				pair->is_peer_shut, pair->is_rejected);
		}
		if (!is_done)
			usleep(200);
	}
	mode = RANDOM;
}

static int count_descriptors(void)
{
	int count = 0;
	for (int i = 0; i < DESCRIPTORS; i++)
		count += fcntl(i, F_GETFD) >= 0;
	return count;
}

static void close_all(int descriptors_before)
{
	uint32_t start = port_test_milliseconds();
	for (int i = 0; i < PAIRS; i++) {
		if (is_alive(&pairs[i]))
			script_closes(&pairs[i]);
		if (pairs[i].peer >= 0)
			peer_closes(&pairs[i], false);
		CHECK(!pairs[i].script, "not released");
	}
	accept_all();
	while (count_descriptors() != descriptors_before) {
		CHECK(port_test_milliseconds() - start < STALL_MS, "%d descriptors are left open",
			count_descriptors() - descriptors_before);
		usleep(200);
	}
}

static int listen_anywhere(struct sockaddr_in *address)
{
	socklen_t length = sizeof *address;
	int descriptor = socket(AF_INET, SOCK_STREAM, 0);
	*address = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	bool is_bound = bind(descriptor, (struct sockaddr *)address, length) == 0 &&
		getsockname(descriptor, (struct sockaddr *)address, &length) == 0;
	CHECK(is_bound, "no port");
	return descriptor;
}

static void deliver_for(uint32_t milliseconds)
{
	for (uint32_t start = port_test_milliseconds(); port_test_milliseconds() - start < milliseconds; usleep(1000)) {
		accept_all();
		port_test_poll();
	}
}

/** Checks that a script that does not read stops the sender, gets one event for the same bytes, and loses none. */
static void check_flow_control(void)
{
	mode = READS_NOTHING;
	struct pair *pair = script_opens(false);
	CHECK(pair, "no connection");
	while (!pair->is_connected || pair->peer < 0)
		deliver_for(1);
	for (uint32_t since = port_test_milliseconds(); port_test_milliseconds() - since < 300; usleep(1000)) {
		uint32_t before = pair->peer_sent;
		peer_sends(pair, LONGEST);
		if (pair->peer_sent != before)
			since = port_test_milliseconds();
		CHECK(pair->peer_sent < 50 * BUFFER_BYTES, "no back-pressure from a script that does not read");
	}
	deliver_for(50);
	CHECK(pair->script->connection.offered > 0, "nothing is announced");
	uint32_t seen = events_seen;
	deliver_for(100);
	CHECK(events_seen == seen, "%u events without a new byte", events_seen - seen);
	settle();
}

/** Checks that bytes arriving between an event and the read are announced as well. */
static void check_late_bytes(void)
{
	mode = READS_NOTHING;
	struct pair *pair = script_opens(false);
	CHECK(pair, "no connection");
	while (!pair->is_connected || pair->peer < 0)
		deliver_for(1);
	peer_sends(pair, 10);
	while (pair->script->connection.offered == 0)
		deliver_for(1);
	uint32_t announced = pair->script->connection.offered;
	peer_sends(pair, 10);
	usleep(10000);
	for (uint32_t i = 0; i < announced; i++)
		script_reads(pair, 1);
	settle();
}

int main(int argc, char **argv)
{
	uint32_t steps = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 100000;
	seed = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : (uint32_t)(getpid() * 2654435761u ^ port_test_milliseconds());
	random_state = seed ? seed : 1;
	printf("seed %u\n", seed);
	fflush(stdout);

	struct sockaddr_in rejecting;
	int refuser = listen_anywhere(&rejecting); /* bound only: connections are rejected */
	rejecting_port = ntohs(rejecting.sin_port);
	server = listen_anywhere(&server_address);
	limit_buffers(server);
	for (int i = 0; i < PAIRS; i++)
		pairs[i].peer = -1;
	CHECK(listen(server, PAIRS * 2) == 0 && tcp_port_set_nonblocking(server), "no server");
	int descriptors = count_descriptors();

	check_flow_control();
	check_late_bytes();
	close_all(descriptors);
	random_state = seed ? seed : 1;

	for (step = 1; step <= steps; step++) {
		uint32_t dice = random_below(100);
		if (dice < 40)
			script_acts();
		else if (dice < 70)
			peer_acts();
		else
			port_test_poll();
		if (step % SETTLE_EVERY == 0) {
			settle();
			if (chance(20))
				close_all(descriptors);
		}
	}
	settle();
	close_all(descriptors);
	close(refuser);
	printf("%u steps, %u connections, %u events\n", steps, last_id, events_seen);
	return 0;
}
