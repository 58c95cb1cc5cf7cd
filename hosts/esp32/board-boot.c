/*
 * Whether the running image still has to prove itself. The boot loader starts a new image once; if that restarts
 * unconfirmed, the former image comes back. Confirming and giving up are ESP-IDF's own functions, bound without C
 * (boot-state.ts).
 */

#include <stdint.h>

#include "app_update/include/esp_ota_ops.h"

/** 1 while the running image is new and unconfirmed, else 0; also 0 where that cannot be read. */
int32_t board_is_pending_verify(void)
{
	esp_ota_img_states_t state = ESP_OTA_IMG_UNDEFINED;
	const esp_partition_t *running = esp_ota_get_running_partition();
	if (!running || (ESP_OK != esp_ota_get_state_partition(running, &state)))
		return 0;
	return ESP_OTA_IMG_PENDING_VERIFY == state;
}
