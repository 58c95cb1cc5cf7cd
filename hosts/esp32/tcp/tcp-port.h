/* Platform functions of the TCP socket besides POSIX sockets. Implemented in tcp-port-esp32.c, and for tests in test/hosts/esp32/tcp. */
#ifndef TCP_PORT_H
#define TCP_PORT_H

#include <stdbool.h>
#include <stdint.h>
#include <netinet/in.h>
#include <sys/socket.h>

/** Returns whether there is a network interface. Without one, ESP-IDF aborts at the first socket. */
bool tcp_port_has_network(void);

/** Starts to call `poll` in the script's task every few milliseconds. Returns false if out of memory. */
bool tcp_port_start(void (*poll)(void));

void tcp_port_close(int descriptor);

bool tcp_port_set_nonblocking(int descriptor);

/** Returns whether a connection attempt has ended, or bytes can be sent. */
bool tcp_port_is_writable(int descriptor);

/** Returns the number of bytes that recv() could return now. */
uint32_t tcp_port_unread(int descriptor);

#endif
