/*
 * Selects the image in the inactive slot for the next boot, in a separate task. ESP-IDF verifies the image first, which takes 0.7 s for
 * 1.4 MB and several seconds for a full slot; XS could neither report nor feed the watchdog meanwhile. Called from update.ts.
 */

#include <stdatomic.h>
#include <stdint.h>

#include "app_update/include/esp_ota_ops.h"
#include "freertos/FreeRTOS.h"
#include "freertos/task.h"

/** Value of ESP-IDF's examples/system/ota/native_ota_example. */
#define STACK_BYTES 8192
/** Below the XS task's priority of 4 (SDK build/devices/esp32/lib/main/main.c). */
#define PRIORITY (tskIDLE_PRIORITY + 1)

static atomic_int is_selecting;
static atomic_int result;

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

/** Starts the selection. Must not be called while one is in progress. */
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
