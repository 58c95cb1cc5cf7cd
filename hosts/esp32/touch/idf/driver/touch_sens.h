/* Forwards to an ESP-IDF folder that is missing from the SDK's include path. */
#include "esp_driver_touch_sens/include/driver/touch_sens.h"
