/*
 * ESP-IDF port of the TCP socket: lwIP's own functions instead of the VFS, and a timer of XS's task. lwIP answers an idle socket's poll from
 * memory, without its task.
 */

#include "tcp-port.h"

#include "esp_netif.h"
#include "lwip/sockets.h"
#include "modTimer.h"

#define POLL_MS 5

static void (*poll_sockets)(void);

static void on_timer(modTimer timer, void *refcon, int refcon_size)
{
	(void)refcon, (void)refcon_size;
	poll_sockets();
	/* After a long turn the timer would otherwise fire once for each missed interval. */
	modTimerReschedule(timer, POLL_MS, POLL_MS);
}

bool tcp_port_has_network(void)
{
	return esp_netif_get_default_netif() != NULL;
}

bool tcp_port_start(void (*poll)(void))
{
	poll_sockets = poll;
	return modTimerAdd(POLL_MS, POLL_MS, on_timer, NULL, 0) != NULL;
}

void tcp_port_close(int descriptor)
{
	(void)lwip_close(descriptor);
}

bool tcp_port_set_nonblocking(int descriptor)
{
	int one = 1;
	return lwip_ioctl(descriptor, FIONBIO, &one) == 0;
}

bool tcp_port_is_writable(int descriptor)
{
	fd_set writable;
	struct timeval no_time = { 0, 0 };
	FD_ZERO(&writable);
	FD_SET(descriptor, &writable);
	return lwip_select(descriptor + 1, NULL, &writable, NULL, &no_time) > 0;
}

/* Requires CONFIG_LWIP_SO_RCVBUF. */
uint32_t tcp_port_unread(int descriptor)
{
	int count = 0;
	if (lwip_ioctl(descriptor, FIONREAD, &count) != 0 || count < 0)
		return 0;
	return (uint32_t)count;
}
