/*
 * Runs hosts/esp32/board-crash.c on a computer: each line of standard input is a command, and what it answers goes to standard
 * output, ended by an empty line. RTC memory is a static variable here, so a "restart" keeps it and "power" does not.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "esp_system.h"

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
			board_crash_start();
		}
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
