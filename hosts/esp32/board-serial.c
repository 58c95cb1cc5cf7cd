/*
 * The console as a port for bytes: ESP-IDF's driver of it changes line ends, of what is printed to CR LF and of what is received to
 * LF. Called from serial.ts.
 */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "sdkconfig.h"

/* esp_line_endings_t (esp_vfs_common.h), and functions of headers that the SDK's include path lacks. */
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

/** Takes what has come, without waiting. @returns how many bytes, at most `size` */
uint32_t board_serial_read(uint8_t *buffer, uint32_t offset, uint32_t size)
{
	uint32_t length = 0;
	set_rx_line_end(LINE_END_LF);
	while ((length < size) && (1 == read(STDIN_FILENO, buffer + offset + length, 1)))
		length++;
	return length;
}

/** In one call, which no other task's output interrupts. */
void board_serial_write(const uint8_t *bytes, uint32_t length)
{
	fflush(stdout);
	set_tx_line_end(LINE_END_LF);
	write(STDOUT_FILENO, bytes, length);
	set_tx_line_end(LINE_END_CRLF);
}
