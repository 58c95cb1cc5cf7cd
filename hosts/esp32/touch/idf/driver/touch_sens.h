/* The SDK's include path lacks this folder of ESP-IDF's. */
#include "esp_driver_touch_sens/include/driver/touch_sens.h"
