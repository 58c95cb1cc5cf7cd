/* The SDK's include path lacks this folder of ESP-IDF's. */
#include "espcoredump/include/port/xtensa/esp_core_dump_summary_port.h"
