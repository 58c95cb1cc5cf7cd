/*
 * Opens an NVS without a free page before the SDK's main does (build/devices/esp32/lib/main/main.c), which would panic at every start.
 * ESP-IDF's examples erase the whole NVS; this code preserves all readable settings. Called from storage.ts.
 */

#include <stdbool.h>
#include <stdint.h>

#include "esp_partition.h"
#include "esp_private/startup_internal.h"
#include "nvs_flash/include/nvs.h"
#include "nvs_flash/include/nvs_flash.h"

/* Page format (nvs_flash/src/nvs_page.hpp): the header is followed by two state bits per entry. */
#define PAGE_BYTES 4096
#define STATES_OFFSET 32
#define ENTRY_COUNT 126
#define ENTRY_WRITTEN 2

/** Same value in storage.ts. */
#define NAMESPACE "settings"

/* board-start.c */
extern void board_start_include(void);

static bool is_read_only = false;

/** Avoids opening the NVS, which reads all pages and took 4 s longer here than in main.c (QEMU). */
static bool has_erased_page(const esp_partition_t *nvs)
{
	uint32_t words[32];
	for (size_t page = 0; page + PAGE_BYTES <= nvs->size; page += PAGE_BYTES) {
		bool is_erased = true;
		for (size_t at = 0; is_erased && at < PAGE_BYTES; at += sizeof(words)) {
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

static bool has_entry(const uint8_t *states)
{
	for (int entry = 0; entry < ENTRY_COUNT; entry++)
		if (ENTRY_WRITTEN == ((states[entry / 4] >> (entry % 4 * 2)) & 3))
			return true;
	return false;
}

/** @returns whether a page was erased */
static bool erase_page_without_entries(const esp_partition_t *nvs)
{
	uint8_t states[32];
	for (size_t page = 0; page + PAGE_BYTES <= nvs->size; page += PAGE_BYTES)
		if ((ESP_OK == esp_partition_read(nvs, page + STATES_OFFSET, states, sizeof(states))) && !has_entry(states))
			return ESP_OK == esp_partition_erase_range(nvs, page, PAGE_BYTES);
	return false;
}

static void open_read_only(const esp_partition_t *nvs)
{
	static esp_partition_t read_only;
	nvs_handle_t settings;
	read_only = *nvs;
	read_only.readonly = true;
	if (ESP_OK != nvs_flash_init_partition_ptr(&read_only))
		return;
	/* Full of entries of another firmware. */
	if (ESP_ERR_NVS_NOT_FOUND == nvs_open(NAMESPACE, NVS_READONLY, &settings)) {
		nvs_flash_deinit();
		nvs_flash_erase();
		return;
	}
	nvs_close(settings);
	is_read_only = true;
}

/* Runs in ESP-IDF's startup, before app_main, whose nvs_flash_init() accepts an open NVS and handles all other errors. */
ESP_SYSTEM_INIT_FN(board_nvs_start, SECONDARY, BIT(0), 240)
{
	board_start_include();
	const esp_partition_t *nvs =
		esp_partition_find_first(ESP_PARTITION_TYPE_DATA, ESP_PARTITION_SUBTYPE_DATA_NVS, NVS_DEFAULT_PART_NAME);
	if (!nvs || has_erased_page(nvs) || (ESP_ERR_NVS_NO_FREE_PAGES != nvs_flash_init()))
		return ESP_OK;
	if (!erase_page_without_entries(nvs) || (ESP_OK != nvs_flash_init()))
		open_read_only(nvs);
	return ESP_OK;
}

/** 1 if no page is free: settings can be read but not changed. */
int32_t board_nvs_is_read_only(void)
{
	return is_read_only;
}

/** Erases the NVS even while it is open; it is unusable until the next start. @returns an esp_err_t */
int32_t board_nvs_erase(void)
{
	return nvs_flash_erase();
}
