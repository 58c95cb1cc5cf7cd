/*
 * Driver for a ring of WS2812 LEDs on RMT. A frame is encoded completely before DMA sends it, so neither a cache miss nor a flash write
 * can delay a bit. On a chip whose RMT has no DMA, an interrupt refills the channel's memory. Called from peripherals.ts.
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "driver/rmt_tx.h"
#include "esp_rom_sys.h"
#include "esp_timer.h"
#include "soc/soc_caps.h"

/** Most pixels that a bring-up request sets (bring-up/requests.ts). */
#define MOST_PIXELS 64
#define PIXEL_BYTES 3

/* A bit takes 1.25 us, in ticks of 50 ns: data sheet of the WS2812B, "Data transfer time". */
#define TICKS_HZ 20000000
#define T0H 8
#define T0L 17
#define T1H 16
#define T1L 9
#define PIXEL_US 30
/** Low time after which the LEDs latch a frame. */
#define RESET_US 280
/** Longest delay of the driver's completion interrupt, during a flash write. */
#define DONE_TIMEOUT_MS 10

#if SOC_RMT_SUPPORT_DMA
#define WITH_DMA 1
/** Includes the end marker, and reserve because the driver rounds each half of its buffer down to a cache line. */
#define SYMBOLS(length) ((length) * PIXEL_BYTES * 8 + 32)
#else
#define WITH_DMA 0
#define SYMBOLS(length) SOC_RMT_MEM_WORDS_PER_CHANNEL
#endif

static struct {
	rmt_channel_handle_t channel;
	rmt_encoder_handle_t encoder;
	uint32_t length;
	/** Bit offset in 0xRRGGBB of the color sent in each byte of a pixel. */
	uint8_t shift[PIXEL_BYTES];
	/** Frame being drawn. */
	uint8_t drawn[MOST_PIXELS * PIXEL_BYTES];
	/** Frame being sent. */
	uint8_t sent[MOST_PIXELS * PIXEL_BYTES];
	/** Time at which the LEDs latch the last frame, by esp_timer_get_time(). */
	int64_t shown_at;
} ring;

/** @returns 0 unless `order` contains R, G and B once each */
static int read_order(const char *order)
{
	static const char colors[] = "RGB";
	if ((PIXEL_BYTES != strlen(order)) || !strchr(order, 'R') || !strchr(order, 'G') || !strchr(order, 'B'))
		return 0;
	for (int i = 0; i < PIXEL_BYTES; i++)
		ring.shift[i] = (uint8_t)(16 - 8 * (strchr(colors, order[i]) - colors));
	return 1;
}

static esp_err_t start(int32_t pin)
{
	rmt_tx_channel_config_t config = {
		.gpio_num = (gpio_num_t)pin,
		.clk_src = RMT_CLK_SRC_DEFAULT,
		.resolution_hz = TICKS_HZ,
		.mem_block_symbols = SYMBOLS(ring.length),
		.trans_queue_depth = 1,
		.flags.with_dma = WITH_DMA,
	};
	rmt_bytes_encoder_config_t bits = {
		.bit0 = { .level0 = 1, .duration0 = T0H, .level1 = 0, .duration1 = T0L },
		.bit1 = { .level0 = 1, .duration0 = T1H, .level1 = 0, .duration1 = T1L },
		.flags.msb_first = 1,
	};
	esp_err_t err = rmt_new_tx_channel(&config, &ring.channel);
	if (ESP_OK == err)
		err = rmt_new_bytes_encoder(&bits, &ring.encoder);
	if (ESP_OK == err)
		err = rmt_enable(ring.channel);
	return err;
}

/** Waits until the LEDs have latched the last frame; frames of a pattern never need to wait. @returns 0 on timeout */
static int wait_until_shown(void)
{
	int64_t left_us = ring.shown_at - esp_timer_get_time();
	if (left_us > 0)
		esp_rom_delay_us((uint32_t)left_us);
	return ESP_OK == rmt_tx_wait_all_done(ring.channel, DONE_TIMEOUT_MS);
}

/** Releases the driver. Ignores errors of parts that were not started. */
void board_ring_close(void)
{
	if (!ring.channel)
		return;
	(void)wait_until_shown();
	(void)rmt_disable(ring.channel);
	(void)rmt_del_channel(ring.channel);
	if (ring.encoder)
		(void)rmt_del_encoder(ring.encoder);
	memset(&ring, 0, sizeof(ring));
}

/**
 * Opens the ring with dark pixels; sends nothing.
 *
 * @param length 1 to 64 pixels
 * @param order order of the colors in a pixel, e.g. "GRB"
 * @returns an esp_err_t
 */
int32_t board_ring_open(int32_t pin, uint32_t length, const char *order)
{
	if (ring.channel)
		return ESP_ERR_INVALID_STATE;
	if ((0 == length) || (length > MOST_PIXELS) || !read_order(order))
		return ESP_ERR_INVALID_ARG;
	ring.length = length;
	esp_err_t err = start(pin);
	if (ESP_OK != err)
		board_ring_close();
	return err;
}

/** Sets a pixel of the next frame. @param color 0xRRGGBB */
void board_ring_set(uint32_t index, uint32_t color)
{
	if (index >= ring.length)
		return;
	for (int i = 0; i < PIXEL_BYTES; i++)
		ring.drawn[index * PIXEL_BYTES + i] = (uint8_t)(color >> ring.shift[i]);
}

/** Starts sending the next frame. Blocks only while the previous frame is still being sent. */
void board_ring_show(void)
{
	static const rmt_transmit_config_t once = { 0 };
	size_t size = ring.length * PIXEL_BYTES;
	if (!ring.channel || !wait_until_shown())
		return;
	memcpy(ring.sent, ring.drawn, size);
	if (ESP_OK == rmt_transmit(ring.channel, ring.encoder, ring.sent, size, &once))
		ring.shown_at = esp_timer_get_time() + ring.length * PIXEL_US + RESET_US;
}
