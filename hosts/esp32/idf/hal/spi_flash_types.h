/* The SDK's include path lacks this folder of ESP-IDF's. */
#include "esp_hal_mspi/include/hal/spi_flash_types.h"
