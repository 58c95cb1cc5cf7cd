/* Forwards to an ESP-IDF folder that is missing from the SDK's include path. */
#include "espcoredump/include/port/xtensa/esp_core_dump_summary_port.h"
