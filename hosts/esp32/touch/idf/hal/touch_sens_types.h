/* Forwards to an ESP-IDF folder that is missing from the SDK's include path. */
#include "esp_hal_touch_sens/include/hal/touch_sens_types.h"
