/*
 * Binary access to the console. Disables the line-ending conversion of ESP-IDF's driver (LF to CR LF on output, CR to LF on input).
 * Called from serial.ts.
 */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "sdkconfig.h"

/* esp_line_endings_t (esp_vfs_common.h) and functions whose headers are missing from the SDK's include path. */
enum { LINE_END_CRLF, LINE_END_CR, LINE_END_LF };
#if CONFIG_ESP_CONSOLE_USB_SERIAL_JTAG
extern void usb_serial_jtag_vfs_set_rx_line_endings(int mode);
extern void usb_serial_jtag_vfs_set_tx_line_endings(int mode);
#define set_rx_line_end usb_serial_jtag_vfs_set_rx_line_endings
#define set_tx_line_end usb_serial_jtag_vfs_set_tx_line_endings
#else
extern int uart_vfs_dev_port_set_rx_line_endings(int port, int mode);
extern int uart_vfs_dev_port_set_tx_line_endings(int port, int mode);
#define set_rx_line_end(mode) uart_vfs_dev_port_set_rx_line_endings(CONFIG_ESP_CONSOLE_UART_NUM, mode)
#define set_tx_line_end(mode) uart_vfs_dev_port_set_tx_line_endings(CONFIG_ESP_CONSOLE_UART_NUM, mode)
#endif

/** Reads received bytes without blocking. @returns the number of bytes, at most `size` */
uint32_t board_serial_read(uint8_t *buffer, uint32_t offset, uint32_t size)
{
	uint32_t length = 0;
	set_rx_line_end(LINE_END_LF);
	while ((length < size) && (1 == read(STDIN_FILENO, buffer + offset + length, 1)))
		length++;
	return length;
}

/** Writes in one call, so that no other task's output gets in between. */
void board_serial_write(const uint8_t *bytes, uint32_t length)
{
	fflush(stdout);
	set_tx_line_end(LINE_END_LF);
	write(STDOUT_FILENO, bytes, length);
	set_tx_line_end(LINE_END_CRLF);
}
