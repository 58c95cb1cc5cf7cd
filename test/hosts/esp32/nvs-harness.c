/*
 * Runs hosts/esp32/board-nvs.c on a computer, over a partition in a file, and prints the state after its start: "closed", "open"
 * or "read-only". With a second argument it then erases the partition. ESP-IDF's library is reduced to the pages it considers free
 * and the namespaces it finds.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define PAGE 4096
#define NVS_DEFAULT_PART_NAME "nvs"
#define BIT(n) (1 << (n))
#define ESP_SYSTEM_INIT_FN(name, stage, cores, priority) static esp_err_t name(void)
typedef enum { ESP_OK = 0, ESP_FAIL = -1, ESP_ERR_NVS_NOT_FOUND = 0x1102, ESP_ERR_NVS_NO_FREE_PAGES = 0x110d } esp_err_t;
typedef struct { uint32_t size; bool readonly; } esp_partition_t;
enum { ESP_PARTITION_TYPE_DATA = 1, ESP_PARTITION_SUBTYPE_DATA_NVS = 2 };
typedef uint32_t nvs_handle_t;
typedef enum { NVS_READONLY, NVS_READWRITE } nvs_open_mode_t;

static uint8_t flash[0x10000];
static bool is_open = false;

const esp_partition_t *esp_partition_find_first(int type, int subtype, const char *label)
{
	static const esp_partition_t nvs = { .size = sizeof(flash), .readonly = false };
	(void)type, (void)subtype;
	return strcmp(label, "nvs") ? NULL : &nvs;
}

esp_err_t esp_partition_read(const esp_partition_t *from, size_t offset, void *bytes, size_t size)
{
	if (offset + size > from->size)
		return ESP_FAIL;
	memcpy(bytes, flash + offset, size);
	return ESP_OK;
}

esp_err_t esp_partition_erase_range(const esp_partition_t *from, size_t offset, size_t size)
{
	if ((offset + size > from->size) || (offset % PAGE) || (size % PAGE))
		return ESP_FAIL;
	memset(flash + offset, 0xff, size);
	return ESP_OK;
}

static bool is_in_use(size_t page)
{
	return (0xfe == flash[page]) || (0xfc == flash[page]) || (0xf8 == flash[page]);
}

esp_err_t nvs_flash_init_partition_ptr(const esp_partition_t *nvs)
{
	if (is_open)
		return ESP_OK;
	is_open = nvs->readonly;
	for (size_t page = 0; page < sizeof(flash); page += PAGE)
		is_open = is_open || !is_in_use(page);
	return is_open ? ESP_OK : ESP_ERR_NVS_NO_FREE_PAGES;
}

esp_err_t nvs_flash_init(void)
{
	return nvs_flash_init_partition_ptr(esp_partition_find_first(0, 0, "nvs"));
}

esp_err_t nvs_flash_deinit(void)
{
	is_open = false;
	return ESP_OK;
}

esp_err_t nvs_flash_erase(void)
{
	memset(flash, 0xff, sizeof(flash));
	return ESP_OK;
}

esp_err_t nvs_open(const char *name, nvs_open_mode_t mode, nvs_handle_t *handle)
{
	(void)mode;
	*handle = 1;
	for (size_t at = 64; at < sizeof(flash); at += 32)
		if (is_in_use(at / PAGE * PAGE) && !flash[at] && (1 == flash[at + 1]) && !strcmp((const char *)flash + at + 8, name))
			return ESP_OK;
	return ESP_ERR_NVS_NOT_FOUND;
}

void nvs_close(nvs_handle_t handle) { (void)handle; }

#include "board-nvs.c"

void board_start_include(void)
{
}

int main(int count, char **words)
{
	FILE *file = count > 1 ? fopen(words[1], "r+b") : NULL;
	if (!file || (1 != fread(flash, sizeof(flash), 1, file)))
		return 1;
	board_nvs_start();
	puts(board_nvs_is_read_only() ? "read-only" : is_open ? "open" : "closed");
	if ((count > 2) && board_nvs_erase())
		return 1;
	rewind(file);
	return (1 == fwrite(flash, sizeof(flash), 1, file)) && !fclose(file) ? 0 : 1;
}
