#include "tcp-watcher.h"

#include <stddef.h>
#include <string.h>

#include "tcp-connection.h"
#include "tcp-port.h"

#define NONE (-1)
#define LATER_MS 20
/* Retry interval after a post that found the queue full. */
#define RETRY_MS 10
/* Limit, since lwIP may drop the datagram that wakes select() when memory is short. */
#define LONGEST_WAIT_MS 1000

struct slot {
	/** NONE if the slot is free. */
	int descriptor;
	uint8_t wanted;
	/** Conditions met and not yet reported to the script's task. */
	uint8_t ready;
	/** The watcher's task closes the descriptor, since only it knows that no select() uses it. */
	bool is_closing;
	uint32_t later_ms;
	/** Used only by the script's task; NULL after closing. */
	struct tcp_connection *owner;
};

/** Parameters of one select(). Only this task frees slots, so a slot still has the same descriptor afterwards. */
struct round {
	fd_set readable;
	fd_set writable;
	int count;
	struct timeval timeout;
};

/* Guarded by the port's lock. */
static struct slot slots[TCP_SLOTS];
static bool is_waiting;
static bool is_woken;
static bool is_posted;

/* UDP socket connected to itself; a datagram wakes select(). Set before the task starts. */
static int wake_descriptor = NONE;

static bool open_wake_socket(void)
{
	struct sockaddr_in self = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof self;
	int descriptor = socket(AF_INET, SOCK_DGRAM, 0);
	if (descriptor < 0)
		return false;
	if (bind(descriptor, (struct sockaddr *)&self, length) != 0 ||
		getsockname(descriptor, (struct sockaddr *)&self, &length) != 0 ||
		connect(descriptor, (struct sockaddr *)&self, length) != 0 || !tcp_port_set_nonblocking(descriptor)) {
		tcp_port_close(descriptor);
		return false;
	}
	wake_descriptor = descriptor;
	return true;
}

/** Returns whether to call wake() after unlocking. The lock must be held. */
static bool needs_wake(void)
{
	if (!is_waiting || is_woken)
		return false;
	is_woken = true;
	return true;
}

static void wake(void)
{
	(void)send(wake_descriptor, "", 1, 0);
}

/** Reports ready slots, in the script's task. */
static void deliver(void)
{
	tcp_port_lock();
	is_posted = false;
	tcp_port_unlock();
	for (int i = 0; i < TCP_SLOTS; i++) {
		tcp_port_lock();
		uint8_t ready = slots[i].ready;
		struct tcp_connection *owner = slots[i].owner;
		slots[i].ready = 0;
		tcp_port_unlock();
		if (ready)
			tcp_connection_ready(owner, ready);
	}
}

/** Frees a slot that is closing and returns its descriptor, or NONE. */
static int take_closing(void)
{
	int descriptor = NONE;
	tcp_port_lock();
	for (int i = 0; i < TCP_SLOTS && descriptor == NONE; i++) {
		if (!slots[i].is_closing)
			continue;
		descriptor = slots[i].descriptor;
		slots[i].descriptor = NONE;
		slots[i].is_closing = false;
	}
	tcp_port_unlock();
	return descriptor;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/** Sets up a select(). The lock must be held. */
static void prepare(struct round *round)
{
	uint32_t now = tcp_port_milliseconds();
	uint32_t wait = LONGEST_WAIT_MS;
	FD_ZERO(&round->readable);
	FD_ZERO(&round->writable);
	FD_SET(wake_descriptor, &round->readable);
	round->count = wake_descriptor + 1;
	for (int i = 0; i < TCP_SLOTS; i++) {
		const struct slot *slot = &slots[i];
		if (slot->is_closing)
			wait = 0;
		if (slot->ready && !is_posted)
			wait = least(wait, RETRY_MS);
		if (slot->wanted & TCP_LATER)
			wait = least(wait, slot->later_ms - now <= LATER_MS ? slot->later_ms - now : 0);
		if (slot->wanted & TCP_READABLE)
			FD_SET(slot->descriptor, &round->readable);
		if (slot->wanted & TCP_WRITABLE)
			FD_SET(slot->descriptor, &round->writable);
		if ((slot->wanted & (TCP_READABLE | TCP_WRITABLE)) && slot->descriptor >= round->count)
			round->count = slot->descriptor + 1;
	}
	round->timeout.tv_sec = wait / 1000;
	round->timeout.tv_usec = (wait % 1000) * 1000;
}

/** Records the met conditions. Returns whether to post to the script's task. The lock must be held. */
static bool record_conditions(const struct round *round)
{
	uint32_t now = tcp_port_milliseconds();
	bool is_any_ready = false;
	for (int i = 0; i < TCP_SLOTS; i++) {
		struct slot *slot = &slots[i];
		uint8_t met = 0;
		if (slot->wanted && FD_ISSET(slot->descriptor, &round->readable))
			met |= TCP_READABLE;
		if (slot->wanted && FD_ISSET(slot->descriptor, &round->writable))
			met |= TCP_WRITABLE;
		if ((slot->wanted & TCP_LATER) && (int32_t)(now - slot->later_ms) >= 0)
			met |= TCP_LATER;
		slot->ready |= met & slot->wanted;
		slot->wanted &= (uint8_t)~met;
		is_any_ready |= slot->ready != 0;
	}
	if (!is_any_ready || is_posted)
		return false;
	is_posted = true;
	return true;
}

static void watch_once(void)
{
	struct round round;
	for (int descriptor; (descriptor = take_closing()) != NONE;)
		tcp_port_close(descriptor);

	tcp_port_lock();
	prepare(&round);
	is_waiting = true;
	tcp_port_unlock();

	if (tcp_port_select(round.count, &round.readable, &round.writable, &round.timeout) < 0) {
		FD_ZERO(&round.readable);
		FD_ZERO(&round.writable);
		tcp_port_sleep(RETRY_MS);
	}

	tcp_port_lock();
	is_waiting = false;
	is_woken = false;
	bool must_post = record_conditions(&round);
	tcp_port_unlock();

	for (char byte; recv(wake_descriptor, &byte, 1, 0) >= 0;)
		;
	if (must_post && !tcp_port_post(deliver)) {
		tcp_port_lock();
		is_posted = false;
		tcp_port_unlock();
	}
}

static void run(void)
{
	for (;;)
		watch_once();
}

static bool start(void)
{
	static bool is_started;
	if (is_started)
		return true;
	for (int i = 0; i < TCP_SLOTS; i++)
		slots[i].descriptor = NONE;
	if (wake_descriptor == NONE && !open_wake_socket())
		return false;
	is_started = tcp_port_start(run);
	return is_started;
}

int tcp_watcher_add(int descriptor, struct tcp_connection *owner)
{
	if (!start())
		return NONE;
	int found = NONE;
	tcp_port_lock();
	for (int i = 0; i < TCP_SLOTS && found == NONE; i++)
		if (slots[i].descriptor == NONE)
			found = i;
	if (found != NONE)
		slots[found] = (struct slot){ .descriptor = descriptor, .owner = owner };
	tcp_port_unlock();
	return found;
}

void tcp_watcher_want(int slot, uint8_t conditions)
{
	tcp_port_lock();
	uint8_t added = conditions & (uint8_t)~slots[slot].wanted;
	if (added & TCP_LATER)
		slots[slot].later_ms = tcp_port_milliseconds() + LATER_MS;
	slots[slot].wanted = conditions;
	bool must_wake = added && needs_wake();
	tcp_port_unlock();
	if (must_wake)
		wake();
}

void tcp_watcher_close(int slot)
{
	tcp_port_lock();
	slots[slot].owner = NULL;
	slots[slot].wanted = 0;
	slots[slot].ready = 0;
	slots[slot].is_closing = true;
	bool must_wake = needs_wake();
	tcp_port_unlock();
	if (must_wake)
		wake();
}
