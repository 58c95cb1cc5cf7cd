/*
 * Runs hosts/esp32/board-update.c on a computer, with POSIX threads for FreeRTOS's tasks. Prints calls for the flash, and how ESP-IDF's
 * verification of an image is seen while it lasts and when it is over, with memory for a task and without.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef int esp_err_t;
typedef struct { int unused; } esp_partition_t;
typedef void (*TaskFunction_t)(void *);
typedef uint32_t esp_ota_handle_t;
enum { ESP_OK = 0, pdPASS = 1, tskIDLE_PRIORITY = 0 };

static sem_t release;
static int has_memory = 1;
static pthread_t selected_by, task;
static const esp_partition_t slot = { 0 };
static TaskFunction_t task_code;

static const esp_partition_t *esp_ota_get_next_update_partition(const esp_partition_t *start)
{
	return start ? NULL : &slot;
}

static esp_err_t esp_ota_set_boot_partition(const esp_partition_t *partition)
{
	sem_wait(&release);
	selected_by = pthread_self();
	return &slot == partition ? 0x1503 : 0;
}

static esp_err_t beginning = 0;

static esp_err_t esp_ota_begin(const esp_partition_t *partition, size_t size, esp_ota_handle_t *handle)
{
	printf("begin %d with %zu bytes\n", &slot == partition, size);
	*handle = 7;
	return beginning;
}

static esp_err_t esp_ota_abort(esp_ota_handle_t handle)
{
	printf("free handle %u\n", (unsigned)handle);
	return 0;
}

static esp_err_t esp_partition_erase_range(const esp_partition_t *partition, size_t offset, size_t size)
{
	printf("erase %d: %zu bytes at %zu\n", &slot == partition, size, offset);
	return 0;
}

static size_t unwritable = SIZE_MAX;

static esp_err_t esp_partition_write(const esp_partition_t *partition, size_t offset, const void *bytes, size_t size)
{
	const uint8_t *written = bytes;
	printf("write %d: %zu bytes at %zu, from %u to %u\n", &slot == partition, size, offset, written[0], written[size - 1]);
	return unwritable == offset ? 0x105 : 0;
}

static void *run(void *argument)
{
	task_code(argument);
	return NULL;
}

static int xTaskCreate(TaskFunction_t code, const char *name, int stack, void *argument, int priority, void *handle)
{
	(void)name, (void)stack, (void)priority, (void)handle;
	task_code = code;
	return has_memory && 0 == pthread_create(&task, NULL, run, argument) ? pdPASS : 0;
}

static void vTaskDelete(void *handle) { (void)handle; }

#include "board-update.c"

static void write_image(void)
{
	static uint8_t bytes[2 * ERASE_BYTES];
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i / 512);
	printf("open %x\n", board_update_open());
	printf("result %x\n", board_update_write(bytes, 512, 4096));
	printf("result %x\n", board_update_write(bytes, 4608, ERASE_BYTES - 4096));
	printf("result %x\n", board_update_write(bytes, 1024, 4097));
	printf("open %x\n", board_update_open());
	printf("result %x\n", board_update_write(bytes, 0, 10));
	unwritable = 10;
	printf("result %x\n", board_update_write(bytes, 0, 5000));
	beginning = 0x1504;
	printf("open %x\n", board_update_open());
}

static void print_result(void)
{
	printf("selecting %d, result %x, in this turn %d\n", board_update_is_selecting(), board_update_result(),
	       !!pthread_equal(selected_by, pthread_self()));
}

int main(int count, char **words)
{
	(void)words;
	if (count > 1) {
		write_image();
		return 0;
	}
	sem_init(&release, 0, 0);
	board_update_select();
	printf("selecting %d\n", board_update_is_selecting());
	sem_post(&release);
	pthread_join(task, NULL);
	print_result();
	has_memory = 0;
	sem_post(&release);
	board_update_select();
	print_result();
	return 0;
}
