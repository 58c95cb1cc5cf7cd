/*
 * Runs hosts/esp32/board-crash.c on a computer: each line of standard input is a command, whose output goes to standard
 * output and ends with an empty line. RTC memory is a static variable here, so a "restart" keeps it and "power" does not. The core dump lies
 * in an array, and each access to it may be where the chip restarts.
 */
#include <sanitizer/lsan_interface.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RTC_NOINIT_ATTR
typedef enum { ESP_OK = 0, ESP_FAIL = -1 } esp_err_t;
typedef enum { ESP_RST_UNKNOWN, ESP_RST_POWERON, ESP_RST_EXT, ESP_RST_SW, ESP_RST_PANIC, ESP_RST_INT_WDT, ESP_RST_TASK_WDT,
	ESP_RST_WDT, ESP_RST_DEEPSLEEP, ESP_RST_BROWNOUT, ESP_RST_SDIO, ESP_RST_USB, ESP_RST_JTAG, ESP_RST_EFUSE,
	ESP_RST_PWR_GLITCH, ESP_RST_CPU_LOCKUP } esp_reset_reason_t;
typedef struct { int address; } esp_partition_t;
enum { ESP_PARTITION_TYPE_DATA = 1, ESP_PARTITION_SUBTYPE_DATA_COREDUMP = 3 };
typedef struct {
	uint32_t exc_tcb, exc_pc;
	char exc_task[16];
	struct { uint32_t bt[16], depth; bool corrupted; } exc_bt_info;
	struct { uint32_t exc_cause, exc_vaddr; } ex_info;
} esp_core_dump_summary_t;

static esp_reset_reason_t reason = ESP_RST_POWERON;
static int64_t now_us = 0;
static const char *version = "1.4.0";

esp_reset_reason_t esp_reset_reason(void) { return reason; }
int64_t esp_timer_get_time(void) { return now_us; }
uint32_t esp_random(void) { return (uint32_t)rand(); }
const char *board_firmware_version(void) { return version; }

uint32_t esp_rom_crc32_le(uint32_t crc, const uint8_t *bytes, uint32_t length)
{
	crc = ~crc;
	while (length--) {
		crc ^= *bytes++;
		for (int bit = 0; bit < 8; bit++)
			crc = (crc >> 1) ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return ~crc;
}

static const esp_partition_t partition = { 0 };
static uint8_t dump[600];
static size_t dump_size = 0;
static bool is_dump_whole = false;
/* Accesses to the dump until the chip restarts in one; 0: it does not. */
static int accesses_left = 0;
static jmp_buf restart;

static void access_dump(void)
{
	if (accesses_left && !--accesses_left)
		longjmp(restart, 1);
}

/* Truncates the dump to `written` bytes, as after a power cut or a crash of the panic handler. */
static void make_dump(int seed, size_t written)
{
	dump_size = sizeof(dump);
	is_dump_whole = written == dump_size;
	memset(dump, 0xff, sizeof(dump));
	memset(dump, seed, written);
}

const esp_partition_t *esp_partition_find_first(int type, int subtype, const char *label)
{
	(void)type, (void)subtype, (void)label;
	access_dump();
	return &partition;
}

esp_err_t esp_partition_read(const esp_partition_t *from, size_t offset, void *bytes, size_t size)
{
	(void)from;
	access_dump();
	if (offset + size > sizeof(dump))
		return ESP_FAIL;
	memcpy(bytes, dump + offset, size);
	return ESP_OK;
}

esp_err_t esp_core_dump_image_get(size_t *address, size_t *size)
{
	access_dump();
	*address = 0;
	*size = dump_size;
	return dump_size ? ESP_OK : ESP_FAIL;
}

esp_err_t esp_core_dump_image_check(void)
{
	access_dump();
	return is_dump_whole ? ESP_OK : ESP_FAIL;
}

esp_err_t esp_core_dump_get_summary(esp_core_dump_summary_t *summary)
{
	access_dump();
	*summary = (esp_core_dump_summary_t){
		.exc_task = "main", .exc_pc = 0x400d1234, .exc_bt_info = { .bt = { 0x400d1234, 0x400d5678 }, .depth = 2 },
		.ex_info = { .exc_cause = 29, .exc_vaddr = 0 }
	};
	return ESP_OK;
}

esp_err_t esp_core_dump_get_panic_reason(char *text, size_t size)
{
	(void)text, (void)size;
	access_dump();
	return ESP_FAIL;
}

esp_err_t esp_core_dump_image_erase(void)
{
	access_dump();
	dump_size = 0;
	return ESP_OK;
}

enum { pdTRUE = 1 };
typedef const char *TaskHandle_t;
typedef struct { void *pxTCB; uint8_t *pxTopOfStack, *pxEndOfStack; } TaskSnapshot_t;
typedef struct { uint32_t pc, sp, next_pc; const void *exc_frame; } esp_backtrace_frame_t;
typedef struct { long exit, pc, ps, a0, a1; } XtExcFrame;

/* The stack of a hanging task is read on an emulated chip (test/hosts/qemu). */
TaskHandle_t xTaskGetCurrentTaskHandle(void) { return "main"; }
TaskHandle_t xTaskGetCurrentTaskHandleForCore(int core) { return (void)core, "IDLE"; }
int xPortGetCoreID(void) { return 0; }
void xthal_window_spill(void) { }
uint32_t esp_cpu_process_stack_pc(uint32_t pc) { return pc; }
int vTaskGetSnapshot(TaskHandle_t task, TaskSnapshot_t *snapshot) { return (void)task, (void)snapshot, 0; }
bool esp_backtrace_get_next_frame(esp_backtrace_frame_t *frame) { return (void)frame, false; }

#include "board-crash.c"

static void print_and_free(char *text)
{
	fputs(text, stdout);
	free(text);
}

int main(void)
{
	char line[4096];
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		char *word = strtok(line, " ");
		char *rest = strtok(NULL, "");
		const char *text = rest ? rest : "";
		if (!strcmp(word, "start")) {
			reason = (esp_reset_reason_t)atoi(text);
			now_us = 0;
			has_started = false;
			/* A restart does not free memory. */
			__lsan_disable();
			if (!setjmp(restart))
				board_crash_start();
			__lsan_enable();
		}
		else if (!strcmp(word, "dump"))
			make_dump(atoi(text), sizeof(dump));
		else if (!strcmp(word, "half-dump"))
			make_dump(atoi(text), sizeof(dump) / 2);
		else if (!strcmp(word, "restart-at"))
			accesses_left = atoi(text);
		else if (!strcmp(word, "accesses-left"))
			printf("%d", accesses_left);
		else if (!strcmp(word, "power"))
			memset(&memory, atoi(text), sizeof(memory));
		else if (!strcmp(word, "damage"))
			((uint8_t *)&memory.current.run)[atoi(text)] ^= 1;
		else if (!strcmp(word, "version"))
			version = strdup(text);
		else if (!strcmp(word, "time")) {
			now_us = atoll(text) * 1000000;
			board_crash_tick();
		}
		else if (!strcmp(word, "note"))
			board_crash_note(text, "Error: not handled", "at f ()\nat g ()");
		else if (!strcmp(word, "want"))
			board_crash_expect_restart();
		else if (!strcmp(word, "trace")) {
			board_trace(text);
			board_trace("\n");
		}
		else if (!strcmp(word, "part"))
			board_trace(text);
		else if (!strcmp(word, "lines"))
			printf("%u", (unsigned)board_trace_line_count());
		else if (!strcmp(word, "read"))
			print_and_free(board_trace_read((uint32_t)strtoul(text, NULL, 10)));
		else if (!strcmp(word, "crash"))
			print_and_free(board_crash_text((uint32_t)atoi(text)));
		else if (!strcmp(word, "uptime"))
			printf("%u", (unsigned)board_crash_uptime());
		else if (!strcmp(word, "clear"))
			board_crash_clear();
		fputs("\x1e", stdout);
	}
	return 0;
}
