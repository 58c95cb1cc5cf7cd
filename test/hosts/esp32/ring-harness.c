/*
 * Runs hosts/esp32/board-ring.c on a computer: what it sends by RMT, and how long it waits, by a clock that only waiting moves. Each
 * line of standard input is a call; see main().
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef int esp_err_t;
typedef int gpio_num_t;
typedef void *rmt_channel_handle_t, *rmt_encoder_handle_t;
enum { ESP_OK = 0, ESP_ERR_INVALID_ARG = 0x102, ESP_ERR_INVALID_STATE = 0x103, RMT_CLK_SRC_DEFAULT = 4 };
#define SOC_RMT_SUPPORT_DMA 1
typedef struct {
	int gpio_num, clk_src;
	uint32_t resolution_hz;
	size_t mem_block_symbols, trans_queue_depth;
	struct { uint32_t with_dma : 1; } flags;
} rmt_tx_channel_config_t;
typedef struct {
	struct { uint16_t duration0 : 15, level0 : 1, duration1 : 15, level1 : 1; } bit0, bit1;
	struct { uint32_t msb_first : 1; } flags;
} rmt_bytes_encoder_config_t;
typedef struct { int loop_count; } rmt_transmit_config_t;

static int64_t now_us = 1000000;
static const uint8_t *payload;
static size_t payload_bytes;
static esp_err_t wait_result = ESP_OK;
static esp_err_t encoder_result = ESP_OK;
static int nothing;

static int64_t esp_timer_get_time(void) { return now_us; }
static esp_err_t rmt_tx_wait_all_done(rmt_channel_handle_t channel, int timeout_ms) { return (void)channel, (void)timeout_ms, wait_result; }
static esp_err_t rmt_enable(rmt_channel_handle_t channel) { return (void)channel, ESP_OK; }
static esp_err_t rmt_disable(rmt_channel_handle_t channel) { return (void)channel, ESP_OK; }
static esp_err_t rmt_del_channel(rmt_channel_handle_t channel) { return (void)channel, puts("channel freed"), ESP_OK; }
static esp_err_t rmt_del_encoder(rmt_encoder_handle_t encoder) { return (void)encoder, puts("encoder freed"), ESP_OK; }

static void esp_rom_delay_us(uint32_t us)
{
	printf("wait %u us\n", (unsigned)us);
	now_us += us;
}

static esp_err_t rmt_new_tx_channel(const rmt_tx_channel_config_t *config, rmt_channel_handle_t *channel)
{
	(void)config;
	*channel = &nothing;
	return ESP_OK;
}

static esp_err_t rmt_new_bytes_encoder(const rmt_bytes_encoder_config_t *config, rmt_encoder_handle_t *encoder)
{
	(void)config;
	if (ESP_OK == encoder_result)
		*encoder = &nothing;
	return encoder_result;
}

static void print_payload(const char *what)
{
	printf("%s ", what);
	for (size_t i = 0; i < payload_bytes; i++)
		printf("%02x", payload[i]);
	printf("\n");
}

static esp_err_t rmt_transmit(rmt_channel_handle_t channel, rmt_encoder_handle_t encoder, const void *bytes, size_t size,
	const rmt_transmit_config_t *config)
{
	(void)channel, (void)encoder, (void)config;
	payload = bytes;
	payload_bytes = size;
	print_payload("send");
	return ESP_OK;
}

#include "board-ring.c"

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
			wait_result = (esp_err_t)a;
		else if (1 == sscanf(line, "encoder %x", &a))
			encoder_result = (esp_err_t)a;
		else if (0 == strcmp(line, "show\n"))
			board_ring_show();
		else if (0 == strcmp(line, "sent\n"))
			print_payload("sent");
		else if (0 == strcmp(line, "close\n"))
			board_ring_close();
		else
			return 1;
	}
	return 0;
}
