/*
 * Measurements of the bring-up program at any pin (I2C, levels, clocks), and line input from the serial port. I2C is bit-banged, since
 * ESP-IDF's driver blocks until its timeout at pins without pull-ups. Called from probes.ts.
 */

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "driver/gpio.h"
#include "driver/pulse_cnt.h"
#include "esp_chip_info.h"
#include "esp_partition.h"
#include "esp_rom_sys.h"
#include "freertos/FreeRTOS.h"
#include "freertos/task.h"

/** Twice a request with the colors of 64 LEDs. */
#define LINE_BYTES 2048

/** Reads without blocking; discards lines that are too long. @returns a complete line, "" if there is none yet */
const char *bring_up_line(void)
{
	static char line[LINE_BYTES];
	static size_t length = 0;
	char next;
	while (1 == read(STDIN_FILENO, &next, 1)) {
		if (('\n' == next) || ('\r' == next)) {
			size_t ended = length;
			length = 0;
			if ((0 == ended) || (ended >= sizeof(line)))
				continue;
			line[ended] = 0;
			return line;
		}
		if (length < sizeof(line))
			line[length++] = next;
	}
	return "";
}

/** @returns major chip revision times 100 plus minor revision (esp_chip_info_t) */
uint32_t bring_up_revision(void)
{
	esp_chip_info_t info;
	esp_chip_info(&info);
	return info.revision;
}

/** @returns "name,offset,size"; "" after the last one */
const char *bring_up_partition(uint32_t index)
{
	static char text[64];
	esp_partition_iterator_t each = esp_partition_find(ESP_PARTITION_TYPE_ANY, ESP_PARTITION_SUBTYPE_ANY, NULL);
	while (each && index--)
		each = esp_partition_next(each);
	if (!each)
		return "";
	const esp_partition_t *partition = esp_partition_get(each);
	snprintf(text, sizeof(text), "%s,%lu,%lu", partition->label, (unsigned long)partition->address,
		(unsigned long)partition->size);
	esp_partition_iterator_release(each);
	return text;
}

/** Quarter of a clock period: 50 kHz, slow enough for the chip's pull-ups of 45 kOhm. */
#define QUARTER_US 5
/** Limit for clock stretching, in quarters. */
#define STRETCH_STEPS 40

static int data_pin, clock_pin;

static int is_usable(int pin)
{
	return GPIO_IS_VALID_OUTPUT_GPIO(pin);
}

static void release(int pin)
{
	gpio_set_level(pin, 1);
	esp_rom_delay_us(QUARTER_US);
}

static void pull(int pin)
{
	gpio_set_level(pin, 0);
	esp_rom_delay_us(QUARTER_US);
}

static void raise_clock(void)
{
	release(clock_pin);
	for (int i = 0; (i < STRETCH_STEPS) && !gpio_get_level(clock_pin); i++)
		esp_rom_delay_us(QUARTER_US);
}

static int transfer_bit(int bit)
{
	gpio_set_level(data_pin, bit);
	esp_rom_delay_us(QUARTER_US);
	raise_clock();
	int level = gpio_get_level(data_pin);
	pull(clock_pin);
	return level;
}

/** @returns whether the byte was acknowledged */
static int send_byte(int byte)
{
	for (int bit = 7; bit >= 0; bit--)
		(void)transfer_bit((byte >> bit) & 1);
	return 0 == transfer_bit(1);
}

static void start(void)
{
	release(data_pin);
	raise_clock();
	pull(data_pin);
	pull(clock_pin);
}

static void stop(void)
{
	pull(data_pin);
	raise_clock();
	release(data_pin);
}

/** @returns 0, or an error: -1 data stuck low, -2 clock stuck low, -3 unusable pin */
static int open_bus(int data, int clock)
{
	if ((data == clock) || !is_usable(data) || !is_usable(clock))
		return -3;
	data_pin = data;
	clock_pin = clock;
	gpio_config_t config = {
		.pin_bit_mask = (1ULL << data) | (1ULL << clock),
		.mode = GPIO_MODE_INPUT_OUTPUT_OD,
		.pull_up_en = GPIO_PULLUP_ENABLE,
	};
	gpio_set_level(data, 1);
	gpio_set_level(clock, 1);
	if (ESP_OK != gpio_config(&config))
		return -3;
	esp_rom_delay_us(10 * QUARTER_US);
	if (!gpio_get_level(clock))
		return -2;
	/* Bus clear: after an interrupted transfer a chip may hold data low; nine clocks release it (UM10204, 3.1.16). */
	for (int i = 0; (i < 9) && !gpio_get_level(data); i++) {
		pull(clock_pin);
		raise_clock();
	}
	if (!gpio_get_level(data))
		return -1;
	stop();
	return 0;
}

static void close_bus(void)
{
	gpio_reset_pin(data_pin);
	gpio_reset_pin(clock_pin);
}

/** @returns 1 if the address is acknowledged, 0 if not, or an error of open_bus() */
int32_t bring_up_i2c_probe(int32_t data, int32_t clock, int32_t address)
{
	int opened = open_bus(data, clock);
	if (opened == -3)
		return opened;
	if (0 == opened) {
		start();
		opened = send_byte(address << 1);
		stop();
	}
	close_bus();
	return opened;
}

/** @returns the register's value, or -1 */
int32_t bring_up_i2c_read(int32_t data, int32_t clock, int32_t address, int32_t reg)
{
	int opened = open_bus(data, clock);
	if (opened == -3)
		return -1;
	int value = -1;
	if (0 == opened) {
		start();
		int is_answered = send_byte(address << 1) && send_byte(reg);
		start();
		if (is_answered && send_byte((address << 1) | 1)) {
			value = 0;
			for (int bit = 0; bit < 8; bit++)
				value = (value << 1) | transfer_bit(1);
			(void)transfer_bit(1);
		}
		stop();
	}
	close_bus();
	return value;
}

/** Reads a pin as an input with pull-up. @returns 0, 1, or -1 for an invalid pin */
int32_t bring_up_level(int32_t pin)
{
	if (!GPIO_IS_VALID_GPIO(pin))
		return -1;
	gpio_config_t config = {
		.pin_bit_mask = 1ULL << pin,
		.mode = GPIO_MODE_INPUT,
		.pull_up_en = GPIO_PULLUP_ENABLE,
	};
	if (ESP_OK != gpio_config(&config))
		return -1;
	esp_rom_delay_us(20);
	return gpio_get_level(pin);
}

/** Counts rising edges at a pin driven by the chip itself. @param ms 1 to 5 @returns 0 if they cannot be counted */
uint32_t bring_up_count(int32_t pin, uint32_t ms)
{
	pcnt_unit_config_t unit_config = { .low_limit = -1, .high_limit = INT16_MAX };
	pcnt_chan_config_t channel_config = { .edge_gpio_num = pin, .level_gpio_num = -1 };
	pcnt_unit_handle_t unit = NULL;
	pcnt_channel_handle_t channel = NULL;
	int count = 0;
	if (!GPIO_IS_VALID_GPIO(pin) || (ESP_OK != pcnt_new_unit(&unit_config, &unit)))
		return 0;
	if ((ESP_OK == pcnt_new_channel(unit, &channel_config, &channel)) &&
		(ESP_OK == pcnt_channel_set_edge_action(channel, PCNT_CHANNEL_EDGE_ACTION_INCREASE,
			PCNT_CHANNEL_EDGE_ACTION_HOLD)) &&
		(ESP_OK == pcnt_unit_enable(unit))) {
		portMUX_TYPE lock = portMUX_INITIALIZER_UNLOCKED;
		taskENTER_CRITICAL(&lock);
		(void)pcnt_unit_clear_count(unit);
		(void)pcnt_unit_start(unit);
		esp_rom_delay_us(1000 * ms);
		(void)pcnt_unit_get_count(unit, &count);
		taskEXIT_CRITICAL(&lock);
		(void)pcnt_unit_stop(unit);
		(void)pcnt_unit_disable(unit);
	}
	if (channel)
		(void)pcnt_del_channel(channel);
	(void)pcnt_del_unit(unit);
	return count > 0 ? (uint32_t)count : 0;
}
