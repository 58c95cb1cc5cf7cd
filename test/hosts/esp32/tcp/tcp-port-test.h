/* Functions of the port for the TCP socket's test, in addition to those that the socket uses. */
#ifndef TCP_PORT_TEST_H
#define TCP_PORT_TEST_H

#include <stdint.h>

/** Polls all connections once. */
void port_test_poll(void);

/** Monotonic time; wraps around. */
uint32_t port_test_milliseconds(void);

#endif
