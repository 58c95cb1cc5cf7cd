/*
 * Driver for one capacitive pad on the ESP32-S3's touch controller (hardware version 2), which scans continuously. The SDK's touch
 * module needs a driver that ESP-IDF has removed. Called from touch-pad.ts.
 */

#include <stddef.h>
#include <stdint.h>

#include "driver/touch_sens.h"

/* Charge cycles and voltage limits of a measurement, from ESP-IDF's examples for this chip. */
#define CHARGE_TIMES 500
#define LOW_LIMIT TOUCH_VOLT_LIM_L_0V5
#define HIGH_LIMIT TOUCH_VOLT_LIM_H_2V2
/* Required by the driver but unused: the firmware tracks its own baseline. */
#define ACTIVE_THRESHOLD 2000
/* Measurements after which the filter's value is valid. */
#define FIRST_SCANS 3
#define SCAN_TIMEOUT_MS 100

static touch_sensor_handle_t controller;
static touch_channel_handle_t channel;

static esp_err_t start(int32_t number)
{
	touch_sensor_sample_config_t sample = TOUCH_SENSOR_V2_DEFAULT_SAMPLE_CONFIG(CHARGE_TIMES, LOW_LIMIT, HIGH_LIMIT);
	touch_sensor_config_t config = TOUCH_SENSOR_DEFAULT_BASIC_CONFIG(1, &sample);
	touch_channel_config_t pad = {
		.active_thresh = { ACTIVE_THRESHOLD },
		.charge_speed = TOUCH_CHARGE_SPEED_7,
		.init_charge_volt = TOUCH_INIT_CHARGE_VOLT_DEFAULT,
	};
	touch_sensor_filter_config_t filter = TOUCH_SENSOR_DEFAULT_FILTER_CONFIG();

	esp_err_t err = touch_sensor_new_controller(&config, &controller);
	if (ESP_OK == err)
		err = touch_sensor_new_channel(controller, (int)number, &pad, &channel);
	if (ESP_OK == err)
		err = touch_sensor_config_filter(controller, &filter);
	if (ESP_OK == err)
		err = touch_sensor_enable(controller);
	for (int i = 0; (ESP_OK == err) && (i < FIRST_SCANS); i++)
		err = touch_sensor_trigger_oneshot_scanning(controller, SCAN_TIMEOUT_MS);
	if (ESP_OK == err)
		err = touch_sensor_start_continuous_scanning(controller);
	return err;
}

/** Releases the driver. Ignores errors of parts that were not started. */
void board_touch_close(void)
{
	if (!controller)
		return;
	(void)touch_sensor_stop_continuous_scanning(controller);
	(void)touch_sensor_disable(controller);
	if (channel)
		(void)touch_sensor_del_channel(channel);
	(void)touch_sensor_del_controller(controller);
	channel = NULL;
	controller = NULL;
}

/**
 * @param number channel 1 to 14, equal to the GPIO
 * @returns an esp_err_t
 */
int32_t board_touch_open(int32_t number)
{
	if (controller)
		return ESP_ERR_INVALID_STATE;
	esp_err_t err = start(number);
	if (ESP_OK != err)
		board_touch_close();
	return err;
}

/** Current smoothed count, 0 without a measurement. */
uint32_t board_touch_read(void)
{
	uint32_t value = 0;
	if (!channel || (ESP_OK != touch_channel_read_data(channel, TOUCH_CHAN_DATA_TYPE_SMOOTH, &value)))
		return 0;
	return value;
}
