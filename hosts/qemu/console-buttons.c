/*
 * The four buttons, pressed and released by lines on the serial port, in the form that the virtual device takes:
 * {"button":"play","pressed":true}. Called from peripherals.ts.
 */

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/** A bit each, the first in bit 0 (host/provider.ts). */
static const char *const names[] = { "play", "mute", "volumeUp", "volumeDown" };

static uint32_t pressed = 0;

static void apply(const char *line)
{
	char name[16], level[8];
	if (2 != sscanf(line, " {\"button\":\"%15[a-zA-Z]\",\"pressed\":%7[a-z]}", name, level))
		return;
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i], name))
			pressed = strcmp(level, "true") ? pressed & ~(1u << i) : pressed | (1u << i);
}

/** Takes what has come, without waiting. @returns a bit for each button that is pressed */
uint32_t qemu_buttons(void)
{
	static char line[64];
	static size_t length = 0;
	char next;
	while (1 == read(STDIN_FILENO, &next, 1)) {
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
