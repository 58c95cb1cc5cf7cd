/* Subset of the Moddable SDK's header that the TCP socket's natives use. */
#ifndef TCP_TEST_XS_HOST_H
#define TCP_TEST_XS_HOST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define c_malloc malloc
#define c_free free
#define c_memcpy memcpy
#define c_strcmp strcmp

#endif
