/*
 * Startup hooks between ESP-IDF's start and the SDK's main. They hold core 1 while core 0 uses flash, erase an NVS that main would reject,
 * and report a module without PSRAM, on which XS would otherwise restart endlessly without a message. The linker takes this file from
 * the SDK's archive because system.ts calls board_psram_bytes().
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "esp_attr.h"
#include "esp_partition.h"
#include "esp_private/startup_internal.h"
#include "esp_rom_sys.h"
#include "esp_system.h"
#include "freertos/FreeRTOS.h"
#include "freertos/idf_additions.h"
#include "freertos/task.h"
#include "nvs_flash/include/nvs_flash.h"

/* Core 1 runs its functions of this stage in about 1 ms. */
#define HOLD_LIMIT_MS 100

static DRAM_ATTR volatile bool is_core1_held;
static DRAM_ATTR volatile bool is_core0_done;

/* Runs in RAM and calls nothing, because the cache is off while core 0 uses flash. Must not be inlined into flash code. */
static void NOINLINE_ATTR IRAM_ATTR hold_core1(void)
{
	is_core1_held = true;
	while (!is_core0_done)
		;
}

/*
 * ESP-IDF's list of startup functions is in flash. Before the scheduler runs, nothing keeps core 1 from reading it while core 0 disables
 * the cache for the core dump (priority 130) and for NVS (240), which panics with "Cache error". Core 1 therefore waits
 * in RAM after its last function, and core 0 continues once it does.
 */
ESP_SYSTEM_INIT_FN(board_start_hold, SECONDARY, BIT(1), 250)
{
	hold_core1();
	return ESP_OK;
}

ESP_SYSTEM_INIT_FN(board_start_await, SECONDARY, BIT(0), 129)
{
	for (int ms = 0; !is_core1_held && ms < HOLD_LIMIT_MS; ms++)
		esp_rom_delay_us(1000);
	return ESP_OK;
}

ESP_SYSTEM_INIT_FN(board_start_release, SECONDARY, BIT(0), 250)
{
	is_core0_done = true;
	return ESP_OK;
}

#define NVS_PAGE_BYTES 4096

/** Avoids opening the NVS, which reads all pages and took 4 s longer here than in main (QEMU). */
static bool has_erased_page(const esp_partition_t *nvs)
{
	uint32_t words[32];
	for (size_t page = 0; page + NVS_PAGE_BYTES <= nvs->size; page += NVS_PAGE_BYTES) {
		bool is_erased = true;
		for (size_t at = 0; is_erased && at < NVS_PAGE_BYTES; at += sizeof(words)) {
			if (ESP_OK != esp_partition_read(nvs, page + at, words, sizeof(words)))
				return false;
			for (size_t word = 0; word < sizeof(words) / sizeof(*words); word++)
				is_erased = is_erased && (UINT32_MAX == words[word]);
		}
		if (is_erased)
			return true;
	}
	return false;
}

/*
 * The SDK's main (build/devices/esp32/lib/main/main.c) panics at every start if no page of the NVS is free. ESP-IDF always keeps one
 * free, so that only another firmware can have used all of them. main handles all other errors, and accepts an open NVS.
 */
ESP_SYSTEM_INIT_FN(board_start_free_nvs, SECONDARY, BIT(0), 240)
{
	const esp_partition_t *nvs =
		esp_partition_find_first(ESP_PARTITION_TYPE_DATA, ESP_PARTITION_SUBTYPE_DATA_NVS, NVS_DEFAULT_PART_NAME);
	if (nvs && !has_erased_page(nvs) && (ESP_ERR_NVS_NO_FREE_PAGES == nvs_flash_init()))
		nvs_flash_erase();
	return ESP_OK;
}

#define MESSAGE_INTERVAL_MS 5000
#define MESSAGE_COUNT 12
#define STACK_BYTES 4096
/* Above the SDK's main, on the same core. */
#define PRIORITY 10

/* esp_psram/include/esp_psram.h, which is missing from the SDK's include path. */
extern bool esp_psram_is_initialized(void);
extern size_t esp_psram_get_size(void);

/* Suspends the SDK's main. The restart makes the boot loader roll back to the previous image. */
static void report_missing_psram(void *context)
{
	(void)context;
	vTaskSuspend(xTaskGetHandle("main"));
	for (int count = 0; count < MESSAGE_COUNT; count++) {
		printf("This module has no octal PSRAM. The firmware requires an ESP32-S3-WROOM-1-N16R8 "
			"(16 MB of flash, 8 MB of octal PSRAM) and does not start.\n");
		fflush(stdout);
		vTaskDelay(pdMS_TO_TICKS(MESSAGE_INTERVAL_MS));
	}
	esp_restart();
}

ESP_SYSTEM_INIT_FN(board_start_check_psram, SECONDARY, BIT(0), 241)
{
	if (!esp_psram_is_initialized())
		xTaskCreatePinnedToCore(report_missing_psram, "no psram", STACK_BYTES, NULL, PRIORITY, NULL, 0);
	return ESP_OK;
}

uint32_t board_psram_bytes(void)
{
	return (uint32_t)esp_psram_get_size();
}
