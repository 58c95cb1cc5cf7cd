/* The TCP socket's port for its test, which polls in its own loop. */
#include "tcp-port-test.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "tcp-port.h"

static void (*poll_sockets)(void);

bool tcp_port_has_network(void)
{
	return true;
}

bool tcp_port_start(void (*poll)(void))
{
	poll_sockets = poll;
	return true;
}

void port_test_poll(void)
{
	if (poll_sockets)
		poll_sockets();
}

void tcp_port_close(int descriptor)
{
	close(descriptor);
}

bool tcp_port_set_nonblocking(int descriptor)
{
	return fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0;
}

bool tcp_port_is_writable(int descriptor)
{
	struct pollfd state = { .fd = descriptor, .events = POLLOUT };
	return poll(&state, 1, 0) > 0;
}

uint32_t tcp_port_unread(int descriptor)
{
	int count = 0;
	return ioctl(descriptor, FIONREAD, &count) == 0 && count > 0 ? (uint32_t)count : 0;
}

uint32_t port_test_milliseconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint32_t)(now.tv_sec * 1000 + now.tv_nsec / 1000000);
}
