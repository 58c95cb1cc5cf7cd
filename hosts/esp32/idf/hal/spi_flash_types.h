/* Forwards to an ESP-IDF folder that is missing from the SDK's include path. */
#include "esp_hal_mspi/include/hal/spi_flash_types.h"
