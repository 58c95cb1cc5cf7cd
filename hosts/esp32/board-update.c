/*
 * Writes an image to the inactive slot and selects it for the next boot. Called from update.ts.
 */

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "app_update/include/esp_ota_ops.h"
#include "esp_partition.h"
#include "freertos/FreeRTOS.h"
#include "freertos/task.h"

/**
 * Bytes erased at once, a divisor of the slot's size. The flash erases such a block in the time of three of its 16 sectors: 150 ms and
 * 45 ms (W25Q128JV, typical).
 */
#define ERASE_BYTES 65536
#define WRITE_BYTES 4096

/** Value of ESP-IDF's examples/system/ota/native_ota_example. */
#define STACK_BYTES 8192
/** Below the XS task's priority of 4 (SDK build/devices/esp32/lib/main/main.c). */
#define PRIORITY (tskIDLE_PRIORITY + 1)

static uint32_t erased;
static uint32_t written;
static atomic_int is_selecting;
static atomic_int result;

/** Invalidates the image in the slot. @returns an esp_err_t, an error while the running image is unconfirmed */
int32_t board_update_open(void)
{
	esp_ota_handle_t handle;
	esp_err_t err = esp_ota_begin(esp_ota_get_next_update_partition(NULL), ERASE_BYTES, &handle);
	erased = ERASE_BYTES;
	written = 0;
	/* Only frees the handle. */
	return ESP_OK == err ? esp_ota_abort(handle) : err;
}

/**
 * Writes the next bytes, erasing flash before them.
 *
 * @param buffer in PSRAM, from which ESP-IDF would write 32 bytes at a time and stop both cores for each (esp_flash_write)
 * @returns an esp_err_t
 */
int32_t board_update_write(const uint8_t *buffer, uint32_t offset, uint32_t length)
{
	static uint8_t internal[WRITE_BYTES];
	const esp_partition_t *slot = esp_ota_get_next_update_partition(NULL);
	esp_err_t err = ESP_OK;
	for (uint32_t done = 0, size; (ESP_OK == err) && (done < length); done += size, written += size) {
		size = length - done < WRITE_BYTES ? length - done : WRITE_BYTES;
		if (erased < written + size) {
			err = esp_partition_erase_range(slot, erased, ERASE_BYTES);
			erased += ERASE_BYTES;
		}
		memcpy(internal, buffer + offset + done, size);
		if (ESP_OK == err)
			err = esp_partition_write(slot, written, internal, size);
	}
	return err;
}

static void select_partition(const esp_partition_t *partition)
{
	atomic_store(&result, esp_ota_set_boot_partition(partition));
	atomic_store(&is_selecting, 0);
}

static void select_task(void *partition)
{
	select_partition(partition);
	vTaskDelete(NULL);
}

/**
 * Starts to verify the image and select it, in a separate task: verification takes 0.7 s for 1.4 MB and several seconds for a full
 * slot, and XS could neither report nor feed the watchdog meanwhile. Must not be called while a selection is in progress.
 */
void board_update_select(void)
{
	const esp_partition_t *partition = esp_ota_get_next_update_partition(NULL);
	atomic_store(&is_selecting, 1);
	if (pdPASS != xTaskCreate(select_task, "update", STACK_BYTES, (void *)partition, PRIORITY, NULL))
		/* No memory for a task: block XS rather than fail the update. */
		select_partition(partition);
}

int32_t board_update_is_selecting(void)
{
	return atomic_load(&is_selecting);
}

/** esp_err_t of the last selection. */
int32_t board_update_result(void)
{
	return atomic_load(&result);
}
