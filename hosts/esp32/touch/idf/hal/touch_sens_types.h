/* The SDK's include path lacks this folder of ESP-IDF's. */
#include "esp_hal_touch_sens/include/hal/touch_sens_types.h"
