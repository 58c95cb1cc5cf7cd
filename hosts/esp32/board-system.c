/*
 * Wrappers for ESP-IDF functions with out-parameters, structures or macros; plain functions are bound directly. Called from system.ts,
 * setup-target.ts and update.ts.
 */

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "app_update/include/esp_ota_ops.h"
#include "esp_flash.h"
#include "esp_mac.h"
#include "esp_timer.h"
#include "freertos/FreeRTOS.h"
#include "freertos/task.h"

/** Reads the six bytes of the station interface's MAC address, or zeros on failure. */
void board_read_mac(uint8_t *mac)
{
	if (ESP_OK != esp_read_mac(mac, ESP_MAC_WIFI_STA))
		for (int i = 0; i < 6; i++)
			mac[i] = 0;
}

/** Reads the first eight bytes of the SHA-256 of the running image's ELF file. */
void board_read_image_id(uint8_t *id)
{
	memcpy(id, esp_app_get_description()->app_elf_sha256, 8);
}

/* board-crash.c */
extern void board_crash_tick(void);

/** Milliseconds since the start. Also updates the uptime of the crash record. */
double board_uptime_ms(void)
{
	board_crash_tick();
	return (double)(esp_timer_get_time() / 1000);
}

/** Flash size, 0 if unknown. */
uint32_t board_flash_bytes(void)
{
	uint32_t bytes = 0;
	if (ESP_OK != esp_flash_get_physical_size(NULL, &bytes))
		return 0;
	return bytes;
}

/** Size of the chip's USB FIFO. ESP-IDF drops data that finds no room for 50 ms (usb_serial_jtag.c and usb_serial_jtag_vfs.c). */
#define PRINT_BYTES 64
/** Longer than a UART at 115,200 baud takes to send PRINT_BYTES. */
#define PRINT_PAUSE_MS 10

/** Prints text without adding a line end, in pieces that the USB port does not drop. */
void board_print(const char *text)
{
	for (size_t left = strlen(text); left > 0;) {
		size_t piece = left < PRINT_BYTES ? left : PRINT_BYTES;
		fwrite(text, 1, piece, stdout);
		fflush(stdout);
		text += piece;
		left -= piece;
		if (left > 0)
			vTaskDelay(pdMS_TO_TICKS(PRINT_PAUSE_MS));
	}
}

/** Longer than a computer takes to read the USB port, and longer than a UART takes to send its 128-byte FIFO. */
#define DRAIN_MS 50

/** Waits until printed text has left the chip; a restart would discard it. */
void board_drain_console(void)
{
	fflush(stdout);
	vTaskDelay(pdMS_TO_TICKS(DRAIN_MS));
}

int32_t board_is_pending_verify(void)
{
	esp_ota_img_states_t state = ESP_OTA_IMG_UNDEFINED;
	const esp_partition_t *running = esp_ota_get_running_partition();
	if (!running || (ESP_OK != esp_ota_get_state_partition(running, &state)))
		return 0;
	return ESP_OTA_IMG_PENDING_VERIFY == state;
}
