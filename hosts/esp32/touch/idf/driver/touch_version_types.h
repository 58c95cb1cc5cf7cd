/* Forwards to an ESP-IDF folder that is missing from the SDK's include path. hw_ver2: ESP32-S2 and ESP32-S3. */
#include "esp_driver_touch_sens/hw_ver2/include/driver/touch_version_types.h"
