/* Functions of the port for the TCP socket's test, in addition to those that the socket uses. */
#ifndef TCP_PORT_TEST_H
#define TCP_PORT_TEST_H

#include <stdbool.h>

/** Takes one message from the queue and runs it in the calling thread, which represents the script's task. */
bool port_test_deliver(void);

/** Fills the queue with foreign messages. */
void port_test_fill_queue(void);

#endif
