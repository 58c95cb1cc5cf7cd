/* The SDK's include path lacks this folder of ESP-IDF's: without it lwIP's calls have no POSIX names. */
#include "lwip/include/lwip/sockets.h"
