/*
 * The TCP socket's port for its test: a thread for the task, a short message queue that may be full, and lwIP's rule for
 * select() made strict.
 */
#include "tcp-port-test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "tcp-port.h"

#define QUEUE_LENGTH 3
#define POST_TIMEOUT_MS 2

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_has_room = PTHREAD_COND_INITIALIZER;
static void (*queue[QUEUE_LENGTH])(void);
static int queued;

static pthread_mutex_t watched_lock = PTHREAD_MUTEX_INITIALIZER;
static fd_set watched;
static int watched_count;

static void (*task)(void);

static void *run_task(void *unused)
{
	task();
	return unused;
}

bool tcp_port_has_network(void)
{
	return true;
}

bool tcp_port_start(void (*run)(void))
{
	pthread_t thread;
	task = run;
	return pthread_create(&thread, NULL, run_task, NULL) == 0 && pthread_detach(thread) == 0;
}

void tcp_port_lock(void)
{
	pthread_mutex_lock(&lock);
}

void tcp_port_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

/** Waits a little and then gives up, like modMessagePostToMachine() of a debug build. The binding has its own. */
__attribute__((weak)) bool tcp_port_post(void (*deliver)(void))
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += POST_TIMEOUT_MS * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_mutex_lock(&queue_lock);
	int error = 0;
	while (queued == QUEUE_LENGTH && error == 0)
		error = pthread_cond_timedwait(&queue_has_room, &queue_lock, &until);
	bool has_room = queued < QUEUE_LENGTH;
	if (has_room)
		queue[queued++] = deliver;
	pthread_mutex_unlock(&queue_lock);
	return has_room;
}

static void ignore(void)
{
}

void port_test_fill_queue(void)
{
	pthread_mutex_lock(&queue_lock);
	while (queued < QUEUE_LENGTH)
		queue[queued++] = ignore;
	pthread_mutex_unlock(&queue_lock);
}

bool port_test_deliver(void)
{
	void (*deliver)(void) = NULL;
	pthread_mutex_lock(&queue_lock);
	if (queued > 0) {
		deliver = queue[0];
		queued--;
		for (int i = 0; i < queued; i++)
			queue[i] = queue[i + 1];
		pthread_cond_signal(&queue_has_room);
	}
	pthread_mutex_unlock(&queue_lock);
	if (deliver)
		deliver();
	return deliver != NULL;
}

int tcp_port_select(int count, fd_set *readable, fd_set *writable, struct timeval *timeout)
{
	pthread_mutex_lock(&watched_lock);
	watched_count = count;
	FD_ZERO(&watched);
	for (int i = 0; i < count; i++)
		if (FD_ISSET(i, readable) || FD_ISSET(i, writable))
			FD_SET(i, &watched);
	pthread_mutex_unlock(&watched_lock);
	int found = select(count, readable, writable, NULL, timeout);
	if (found < 0 && errno != EINTR) {
		perror("FAILED: select");
		abort();
	}
	pthread_mutex_lock(&watched_lock);
	watched_count = 0;
	pthread_mutex_unlock(&watched_lock);
	return found;
}

void tcp_port_close(int descriptor)
{
	pthread_mutex_lock(&watched_lock);
	if (descriptor < watched_count && FD_ISSET(descriptor, &watched)) {
		fprintf(stderr, "FAILED: a descriptor is closed that select() waits for\n");
		abort();
	}
	pthread_mutex_unlock(&watched_lock);
	close(descriptor);
}

bool tcp_port_set_nonblocking(int descriptor)
{
	return fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0;
}

uint32_t tcp_port_unread(int descriptor)
{
	int count = 0;
	return ioctl(descriptor, FIONREAD, &count) == 0 && count > 0 ? (uint32_t)count : 0;
}

uint32_t tcp_port_milliseconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint32_t)(now.tv_sec * 1000 + now.tv_nsec / 1000000);
}

void tcp_port_sleep(uint32_t milliseconds)
{
	struct timespec time = { milliseconds / 1000, (long)(milliseconds % 1000) * 1000000 };
	nanosleep(&time, NULL);
}
