/*
 * Buttons controlled by JSON lines on the serial port, in the format of the virtual device: {"button":"play","pressed":true}. Received
 * bytes are also buffered for the firmware. Called from peripherals.ts.
 */

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* esp32/board-serial.c */
extern uint32_t board_serial_read(uint8_t *buffer, uint32_t offset, uint32_t size);

/** Most bytes that the firmware reads at once (device/improv/improv.ts). */
#define KEPT_BYTES 640

/** Button names in the order of their bits, from bit 0 (host/provider.ts). */
static const char *const names[] = { "play", "mute", "volumeUp", "volumeDown" };

static uint32_t pressed = 0;

/** Bytes for the firmware, discarded if it does not read them in time. */
static uint8_t kept[KEPT_BYTES];
static uint32_t kept_bytes = 0;

static void apply(const char *line)
{
	char name[16], level[8];
	if (2 != sscanf(line, " {\"button\":\"%15[a-zA-Z]\",\"pressed\":%7[a-z]}", name, level))
		return;
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i], name))
			pressed = strcmp(level, "true") ? pressed & ~(1u << i) : pressed | (1u << i);
}

/** Processes received bytes without blocking. @returns a bit mask of the pressed buttons */
uint32_t qemu_buttons(void)
{
	static char line[64];
	static size_t length = 0;
	uint8_t next;
	while (board_serial_read(&next, 0, 1)) {
		if (KEPT_BYTES == kept_bytes)
			kept_bytes = 0;
		kept[kept_bytes++] = next;
		if (('\n' == next) || ('\r' == next)) {
			line[length] = 0;
			apply(line);
			length = 0;
		}
		else if (length + 1 < sizeof(line))
			line[length++] = next;
	}
	return pressed;
}

/** Same interface as board_serial_read(). */
uint32_t qemu_serial_read(uint8_t *buffer, uint32_t offset, uint32_t size)
{
	qemu_buttons();
	uint32_t length = kept_bytes < size ? kept_bytes : size;
	memcpy(buffer + offset, kept, length);
	kept_bytes = 0;
	return length;
}
