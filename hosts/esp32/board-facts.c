/*
 * What a board knows of itself and ESP-IDF tells only through out-parameters and structures; facts that are a plain function
 * of ESP-IDF's (heap, reset reason, version) are bound without C. Called from system-facts.ts.
 */

#include <stdint.h>

#include "esp_flash.h"
#include "esp_mac.h"
#include "esp_timer.h"
#include "sdkconfig.h"

/* esp_psram/include/esp_psram.h; the SDK's include path lacks that folder. */
#if CONFIG_SPIRAM
extern size_t esp_psram_get_size(void);
#endif

/** The station interface's MAC address: six bytes, as it is on the air. All zero where it cannot be read. */
void board_read_mac(uint8_t *mac)
{
	if (ESP_OK != esp_read_mac(mac, ESP_MAC_WIFI_STA))
		for (int i = 0; i < 6; i++)
			mac[i] = 0;
}

/** Milliseconds since the start. A double holds them exactly for 285,000 years. */
double board_uptime_ms(void)
{
	return (double)(esp_timer_get_time() / 1000);
}

/** Bytes of the flash chip itself, whatever part of it the image was made for; 0 where it does not say. */
uint32_t board_flash_bytes(void)
{
	uint32_t bytes = 0;
	if (ESP_OK != esp_flash_get_physical_size(NULL, &bytes))
		return 0;
	return bytes;
}

/** Bytes of PSRAM that were found and tested at the start. */
uint32_t board_psram_bytes(void)
{
#if CONFIG_SPIRAM
	return (uint32_t)esp_psram_get_size();
#else
	return 0;
#endif
}
