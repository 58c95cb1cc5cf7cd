/*
 * ESP-IDF's console, which a release build of the SDK does not use: there trace() is compiled out. Called from
 * abort-report.ts and system-facts.ts.
 */

#include <stdio.h>

#include "freertos/FreeRTOS.h"
#include "freertos/task.h"

/** Longer than a computer takes to fetch what waits in the chip's USB port, or UART to send its 128 bytes. */
#define DRAIN_MS 50

/** As a part of a line. */
void board_print(const char *text)
{
	fputs(text, stdout);
}

/** Returns when what was printed has left the chip: a restart would cut it off. */
void board_drain_console(void)
{
	fflush(stdout);
	vTaskDelay(pdMS_TO_TICKS(DRAIN_MS));
}
