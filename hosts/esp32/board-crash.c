/*
 * Crash record and trace buffer in RTC memory, which survives a restart. The record says how the previous run ended unless the
 * firmware requested the restart. After a panic or a watchdog reset, ESP-IDF's core dump in flash adds the program counters; without a
 * `coredump` partition the record lacks only these. Called from crash.ts, setup-target.ts, system.ts and update.ts.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "esp_attr.h"
#include "esp_cpu_utils.h"
#include "esp_debug_helpers.h"
#include "esp_partition.h"
#include "esp_random.h"
#include "esp_rom_crc.h"
#include "esp_system.h"
#include "esp_timer.h"
#include "espcoredump/include/esp_core_dump.h"
#include "freertos/FreeRTOS.h"
#include "freertos/freertos_debug.h"
#include "freertos/task.h"
#include "xtensa_context.h"

/* board-descriptor.c */
extern const char *board_firmware_version(void);

/** Layout version. Must change with the structures below: another firmware version may have written the memory. */
#define MAGIC 0x43524331
#define TRACE_BYTES 2000
#define MAX_FRAMES 16

/** A run of the firmware, from start to reset. */
struct run {
	uint32_t id;
	char version[32];
	/** Kind of abort if XS ended the run; otherwise empty. */
	char kind[16];
	/** 1 if the firmware requested the restart. */
	uint32_t is_restart;
	char message[256];
	char stack[512];
	/* The checksum excludes the following fields, which change too often. */
	uint32_t uptime_seconds;
	/** Total bytes traced. `trace` is a ring buffer. */
	uint32_t traced;
	uint32_t line_count;
	char trace[TRACE_BYTES];
};

struct checked_run {
	uint32_t crc;
	struct run run;
};

static RTC_NOINIT_ATTR struct {
	uint32_t magic;
	struct checked_run current;
	/** Last crash, kept until the gateway has stored it. */
	struct checked_run crash;
	/** MAGIC while a core dump is being read. A dump whose reading crashed is not read again. */
	uint32_t reading_dump;
} memory;

static bool has_started = false;
/** Task of XS, the only one that the task watchdog monitors. */
static TaskHandle_t xs_task = NULL;

static uint32_t crc_of(const struct run *run)
{
	return esp_rom_crc32_le(MAGIC, (const uint8_t *)run, offsetof(struct run, uptime_seconds));
}

static bool is_valid(const struct checked_run *checked)
{
	return (MAGIC == memory.magic) && (checked->crc == crc_of(&checked->run));
}

static void seal(struct checked_run *checked)
{
	checked->crc = crc_of(&checked->run);
}

/** Copies printable ASCII and line feeds, replaces other characters with "?", and truncates to `size` bytes including the NUL. */
static void copy_text(char *target, size_t size, const char *source)
{
	size_t i = 0;
	for (; source[i] && (i + 1 < size); i++)
		target[i] = ('\n' == source[i]) || ((source[i] >= ' ') && (source[i] <= '~')) ? source[i] : '?';
	target[i] = 0;
}

/** Records program counters for addr2line. */
static void note_stack(struct run *run, const uint32_t *counters, uint32_t count)
{
	size_t length = 0;
	for (uint32_t i = 0; (i < count) && (length < sizeof(run->stack)); i++)
		length += (size_t)snprintf(run->stack + length, sizeof(run->stack) - length, "at 0x%08x\n", (unsigned)counters[i]);
}

static const char *name_of_cause(uint32_t cause)
{
	switch (cause) {
	case 0: return "IllegalInstruction";
	case 6: return "IntegerDivideByZero";
	case 20: return "InstrFetchProhibited";
	case 28: return "LoadProhibited";
	case 29: return "StoreProhibited";
	default: return "exception";
	}
}

/** Adds panic reason, task and program counters from the core dump. Ignores an incomplete dump. */
static void describe_dump(struct checked_run *crash)
{
	char message[sizeof(crash->run.message)] = "";
	esp_core_dump_summary_t *summary = calloc(1, sizeof(*summary));
	if (!summary || (ESP_OK != esp_core_dump_image_check()) || (ESP_OK != esp_core_dump_get_summary(summary))) {
		free(summary);
		return;
	}
	if (ESP_OK != esp_core_dump_get_panic_reason(message, sizeof(message)))
		snprintf(message, sizeof(message), "%s (cause %u) at 0x%08x of address 0x%08x, task %.16s",
			name_of_cause(summary->ex_info.exc_cause), (unsigned)summary->ex_info.exc_cause, (unsigned)summary->exc_pc,
			(unsigned)summary->ex_info.exc_vaddr, summary->exc_task);
	uint32_t depth = summary->exc_bt_info.depth;
	note_stack(&crash->run, summary->exc_bt_info.bt, depth < MAX_FRAMES ? depth : MAX_FRAMES);
	free(summary);
	memcpy(crash->run.message, message, sizeof(message));
	seal(crash);
}

/**
 * Identifies a dump by its checksum, which survives power cuts. Returns 0 without a dump. Excludes the last word: that is the dump's
 * own checksum, and a CRC over data and its CRC is constant.
 */
static uint32_t id_of_dump(void)
{
	size_t address = 0, size = 0;
	uint32_t id = 0;
	uint8_t bytes[256];
	const esp_partition_t *partition =
		esp_partition_find_first(ESP_PARTITION_TYPE_DATA, ESP_PARTITION_SUBTYPE_DATA_COREDUMP, NULL);
	if (!partition || (ESP_OK != esp_core_dump_image_get(&address, &size)))
		return 0;
	for (size_t at = 0, part; at + sizeof(id) < size; at += part) {
		part = size - sizeof(id) - at < sizeof(bytes) ? size - sizeof(id) - at : sizeof(bytes);
		if (ESP_OK != esp_partition_read(partition, at, bytes, part))
			return 0;
		id = esp_rom_crc32_le(id, bytes, (uint32_t)part);
	}
	return id;
}

/**
 * @param last the run that ended; NULL if unknown
 * @returns the kind of crash; NULL for a requested restart or another regular reset
 */
static const char *crash_kind(const struct run *last)
{
	switch (esp_reset_reason()) {
	case ESP_RST_SW:
		/* XS calls no abort hook on a stack overflow. */
		return !last || last->is_restart ? NULL : "unknown";
	case ESP_RST_PANIC:
	case ESP_RST_CPU_LOCKUP:
		return "panic";
	case ESP_RST_INT_WDT:
	case ESP_RST_TASK_WDT:
	case ESP_RST_WDT:
		return "watchdog";
	case ESP_RST_BROWNOUT:
	case ESP_RST_PWR_GLITCH:
		return "brown_out";
	default:
		return NULL;
	}
}

static const char *default_message(const char *kind)
{
	if (!strcmp(kind, "unknown"))
		return "XS aborted without a reason, for example on a stack overflow";
	if (!strcmp(kind, "watchdog"))
		return "task or interrupt watchdog timeout";
	if (!strcmp(kind, "brown_out"))
		return "supply voltage too low";
	return "panic in native code without a core dump";
}

static bool has_crash(void)
{
	return is_valid(&memory.crash) && memory.crash.run.kind[0];
}

/** @param last the run that crashed; NULL if unknown */
static void keep_crash(const char *kind, const struct run *last)
{
	struct run *crash = &memory.crash.run;
	if (last)
		*crash = *last;
	else {
		memset(crash, 0, sizeof(*crash));
		crash->id = esp_random();
	}
	if (!crash->kind[0])
		copy_text(crash->kind, sizeof(crash->kind), kind);
	if (!crash->message[0])
		copy_text(crash->message, sizeof(crash->message), default_message(crash->kind));
	seal(&memory.crash);
}

static void begin_run(void)
{
	memset(&memory.current, 0, sizeof(memory.current));
	memory.current.run.id = esp_random();
	copy_text(memory.current.run.version, sizeof(memory.current.run.version), board_firmware_version());
	seal(&memory.current);
	memory.magic = MAGIC;
}

/** Updates the uptime of the current run. */
void board_crash_tick(void)
{
	memory.current.run.uptime_seconds = (uint32_t)(esp_timer_get_time() / 1000000);
}

/** Records an XS abort. May be called again with more details for the same abort. */
void board_crash_note(const char *kind, const char *message, const char *stack)
{
	struct run *run = &memory.current.run;
	copy_text(run->kind, sizeof(run->kind), kind);
	copy_text(run->message, sizeof(run->message), message);
	copy_text(run->stack, sizeof(run->stack), stack);
	board_crash_tick();
	seal(&memory.current);
}

/** Adds the core dump, if any, to the crash detected at this start. */
static void add_dump(bool is_new_crash)
{
	uint32_t id = id_of_dump();
	if (!id)
		return;
	/* Dump without a record in RTC memory: power was cut before it was reported. */
	if (!is_new_crash && !has_crash()) {
		keep_crash("panic", NULL);
		is_new_crash = true;
	}
	const char *kind = memory.crash.run.kind;
	if (!is_new_crash || (strcmp(kind, "panic") && strcmp(kind, "watchdog")))
		return;
	memory.crash.run.id = id;
	seal(&memory.crash);
	/* Recorded by the watchdog, whose dump has the stack of another task. */
	if (!memory.crash.run.stack[0])
		describe_dump(&memory.crash);
}

/**
 * Saves the previous run if it crashed, and starts the record of this run. Must be called once, before the first trace. Reads flash
 * last, after everything else is sealed: a reset meanwhile loses only the core dump's details.
 */
void board_crash_start(void)
{
	bool is_dump_bad = (MAGIC == memory.magic) && (MAGIC == memory.reading_dump);
	const struct run *last = is_valid(&memory.current) ? &memory.current.run : NULL;
	/* A reset while the dump was read is not another crash. */
	const char *kind = is_dump_bad && has_crash() ? NULL : crash_kind(last);
	if (kind)
		keep_crash(kind, last);
	else if (!has_crash())
		memset(&memory.crash, 0, sizeof(memory.crash));
	begin_run();
	if (is_dump_bad)
		esp_core_dump_image_erase();
	else {
		memory.reading_dump = MAGIC;
		add_dump(NULL != kind);
	}
	memory.reading_dump = 0;
	has_started = true;
	xs_task = xTaskGetCurrentTaskHandle();
}

/**
 * Called by ESP-IDF in the interrupt of the task watchdog. Its core dump has the stack of the task that runs on the other core, which is
 * IDLE unless XS runs there: records that of XS.
 */
void esp_task_wdt_isr_user_handler(void)
{
	TaskSnapshot_t snapshot;
	uint32_t counters[MAX_FRAMES], count = 0;
	if (!xs_task || (xs_task == xTaskGetCurrentTaskHandleForCore(!xPortGetCoreID())) || (pdTRUE != vTaskGetSnapshot(xs_task, &snapshot)))
		return;
	xthal_window_spill();
	const XtExcFrame *saved = (const void *)snapshot.pxTopOfStack;
	esp_backtrace_frame_t frame = { .pc = saved->pc, .sp = saved->a1, .next_pc = saved->a0 };
	/* A waiting task was saved by vPortYield(), whose return address is `pc`. */
	if (!saved->exit) {
		frame = (esp_backtrace_frame_t){ .sp = (uint32_t)(uintptr_t)saved, .next_pc = saved->pc };
		esp_backtrace_get_next_frame(&frame);
	}
	do
		counters[count++] = esp_cpu_process_stack_pc(frame.pc);
	while ((count < MAX_FRAMES) && frame.next_pc && esp_backtrace_get_next_frame(&frame));
	board_crash_note("watchdog", "task watchdog timeout: the task of XS hung", "");
	note_stack(&memory.current.run, counters, count);
	seal(&memory.current);
}

/** Marks the next restart as requested by the firmware. */
void board_crash_expect_restart(void)
{
	memory.current.run.is_restart = 1;
	seal(&memory.current);
}

/** Copies the newest `count` complete lines to `text`, which has TRACE_BYTES + 1 bytes. */
static void read_lines(const struct run *run, uint32_t count, char *text)
{
	uint32_t kept = run->traced < TRACE_BYTES ? run->traced : TRACE_BYTES;
	for (uint32_t i = 0; i < kept; i++)
		text[i] = run->trace[(run->traced - kept + i) % TRACE_BYTES];
	while (kept && ('\n' != text[kept - 1]))
		kept--;
	text[kept] = 0;
	uint32_t start = 0;
	/* The start of the oldest line may have been overwritten. */
	if (run->traced > TRACE_BYTES) {
		const char *end = memchr(text, '\n', kept);
		start = end ? (uint32_t)(end - text) + 1 : kept;
	}
	uint32_t lines = 0;
	uint32_t from = kept;
	while ((from > start) && ((lines < count) || ('\n' != text[from - 1]))) {
		from--;
		if ('\n' == text[from])
			lines++;
	}
	memmove(text, text + from, kept - from + 1);
	/* RTC memory may be corrupt. */
	copy_text(text, TRACE_BYTES + 1, text);
}

/**
 * @param field 0 id, 1 kind, 2 message, 3 stack, 4 version, 5 trace
 * @returns the field of the last crash, "" if there is none; the caller frees it
 */
char *board_crash_text(uint32_t field)
{
	char *text = calloc(1, TRACE_BYTES + 1);
	const struct run *crash = &memory.crash.run;
	if (!text || !has_crash())
		return text;
	if (0 == field)
		snprintf(text, 9, "%08x", (unsigned)crash->id);
	else if (5 == field)
		read_lines(crash, UINT32_MAX, text);
	else
		copy_text(text, TRACE_BYTES, 1 == field ? crash->kind : 2 == field ? crash->message : 3 == field ? crash->stack : crash->version);
	return text;
}

/** Last recorded uptime of the crashed run, in seconds. */
uint32_t board_crash_uptime(void)
{
	return memory.crash.run.uptime_seconds;
}

void board_crash_clear(void)
{
	memset(&memory.crash, 0, sizeof(memory.crash));
	esp_core_dump_image_erase();
}

void board_trace(const char *text)
{
	struct run *run = &memory.current.run;
	if (!has_started)
		return;
	for (; *text; text++) {
		run->trace[run->traced++ % TRACE_BYTES] = ('\n' == *text) || ((*text >= ' ') && (*text <= '~')) ? *text : '?';
		if ('\n' == *text)
			run->line_count++;
	}
	board_crash_tick();
}

/** Number of complete lines since the start. */
uint32_t board_trace_line_count(void)
{
	return memory.current.run.line_count;
}

/** Returns the newest `count` complete lines. The caller frees them. */
char *board_trace_read(uint32_t count)
{
	char *text = calloc(1, TRACE_BYTES + 1);
	if (text)
		read_lines(&memory.current.run, count, text);
	return text;
}
