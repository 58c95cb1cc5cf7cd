/*
 * Runs hosts/esp32/board-ring.c on a computer: what it asks of RMT, and how long it waits, by a clock that only waiting moves. Each
 * line of standard input is a call; see main().
 */
#include <stdio.h>

#include "board-ring.c"

static int64_t now_us = 1000000;
static const uint8_t *payload;
static size_t payload_bytes;
static esp_err_t answer_of_wait = ESP_OK;
static esp_err_t answer_of_encoder = ESP_OK;
static int nothing;

int64_t esp_timer_get_time(void)
{
	return now_us;
}

void esp_rom_delay_us(uint32_t us)
{
	printf("wait %u us\n", (unsigned)us);
	now_us += us;
}

esp_err_t rmt_new_tx_channel(const rmt_tx_channel_config_t *config, rmt_channel_handle_t *channel)
{
	(void)config;
	*channel = (rmt_channel_handle_t)&nothing;
	return ESP_OK;
}

esp_err_t rmt_new_bytes_encoder(const rmt_bytes_encoder_config_t *config, rmt_encoder_handle_t *encoder)
{
	if (ESP_OK != answer_of_encoder)
		return answer_of_encoder;
	(void)config;
	*encoder = (rmt_encoder_handle_t)&nothing;
	return ESP_OK;
}

esp_err_t rmt_transmit(rmt_channel_handle_t channel, rmt_encoder_handle_t encoder, const void *bytes, size_t size,
	const rmt_transmit_config_t *config)
{
	(void)channel, (void)encoder, (void)config;
	payload = bytes;
	payload_bytes = size;
	printf("send ");
	for (size_t i = 0; i < size; i++)
		printf("%02x", payload[i]);
	printf("\n");
	return ESP_OK;
}

esp_err_t rmt_tx_wait_all_done(rmt_channel_handle_t channel, int timeout_ms)
{
	(void)channel, (void)timeout_ms;
	return answer_of_wait;
}

esp_err_t rmt_enable(rmt_channel_handle_t channel)
{
	(void)channel;
	return ESP_OK;
}

esp_err_t rmt_disable(rmt_channel_handle_t channel)
{
	(void)channel;
	return ESP_OK;
}

esp_err_t rmt_del_channel(rmt_channel_handle_t channel)
{
	(void)channel;
	printf("channel freed\n");
	return ESP_OK;
}

esp_err_t rmt_del_encoder(rmt_encoder_handle_t encoder)
{
	(void)encoder;
	printf("encoder freed\n");
	return ESP_OK;
}

int main(void)
{
	char line[80], order[16];
	unsigned a, b;
	while (fgets(line, sizeof line, stdin)) {
		if (3 == sscanf(line, "open %u %u %15s", &a, &b, order))
			printf("open %x\n", (unsigned)board_ring_open((int32_t)a, b, order));
		else if (2 == sscanf(line, "set %u %x", &a, &b))
			board_ring_set(a, b);
		else if (1 == sscanf(line, "later %u", &a))
			now_us += a;
		else if (1 == sscanf(line, "busy %x", &a))
			answer_of_wait = (esp_err_t)a;
		else if (1 == sscanf(line, "encoder %x", &a))
			answer_of_encoder = (esp_err_t)a;
		else if (0 == strcmp(line, "show\n"))
			board_ring_show();
		else if (0 == strcmp(line, "sent\n")) {
			printf("sent ");
			for (size_t i = 0; i < payload_bytes; i++)
				printf("%02x", payload[i]);
			printf("\n");
		} else if (0 == strcmp(line, "close\n"))
			board_ring_close();
		else
			return 1;
	}
	return 0;
}
