/* Forwards to an ESP-IDF folder that is missing from the SDK's include path. Declares the POSIX names of lwIP's functions. */
#include "lwip/include/lwip/sockets.h"
