/*
 * A ring of WS2812 LEDs on RMT. A frame is encoded whole before DMA sends it, so that neither a cache miss nor a write to flash can
 * delay a bit of it; a chip whose RMT has no DMA refills the channel's memory by interrupt. Called from peripherals.ts.
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "driver/rmt_tx.h"
#include "esp_rom_sys.h"
#include "esp_timer.h"
#include "soc/soc_caps.h"

/** As many as bring-up lights at once (bring-up/requests.ts). */
#define MOST_PIXELS 64
#define PIXEL_BYTES 3

/* A bit takes 1.25 us, in ticks of 50 ns: data sheet of the WS2812B, "Data transfer time". */
#define TICKS_HZ 20000000
#define T0H 8
#define T0L 17
#define T1H 16
#define T1L 9
#define PIXEL_US 30
/** The line is low for this long before the LEDs show what they got. */
#define RESET_US 280
/** What the driver needs at most after a frame, when all interrupts wait for flash. */
#define DONE_TIMEOUT_MS 10

#if SOC_RMT_SUPPORT_DMA
#define WITH_DMA 1
/** The end mark needs one more; the driver rounds each half of its buffer down to a line of the cache. */
#define SYMBOLS(length) ((length) * PIXEL_BYTES * 8 + 32)
#else
#define WITH_DMA 0
#define SYMBOLS(length) SOC_RMT_MEM_WORDS_PER_CHANNEL
#endif

static struct {
	rmt_channel_handle_t channel;
	rmt_encoder_handle_t encoder;
	uint32_t length;
	/** How far right the color of each byte of a pixel lies in 0xRRGGBB. */
	uint8_t shift[PIXEL_BYTES];
	/** The next frame. */
	uint8_t drawn[MOST_PIXELS * PIXEL_BYTES];
	/** The frame that is being sent. */
	uint8_t sent[MOST_PIXELS * PIXEL_BYTES];
	/** When the LEDs show the last frame, by esp_timer_get_time(). */
	int64_t shown_at;
} ring;

/** @returns 0 unless it has each of R, G and B once */
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

/** Until the LEDs show the last frame. Frames of a pattern are farther apart. @returns 0: the frame did not end */
static int wait_until_shown(void)
{
	int64_t left_us = ring.shown_at - esp_timer_get_time();
	if (left_us > 0)
		esp_rom_delay_us((uint32_t)left_us);
	return ESP_OK == rmt_tx_wait_all_done(ring.channel, DONE_TIMEOUT_MS);
}

/** Errors for what was not started are ignored. */
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
 * The pixels are dark, and nothing is sent yet.
 *
 * @param length 1 to 64 pixels
 * @param order of the colors of a pixel, e.g. "GRB"
 * @returns 0 or ESP-IDF's error
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

/** Changes the next frame. @param color 0xRRGGBB */
void board_ring_set(uint32_t index, uint32_t color)
{
	if (index >= ring.length)
		return;
	for (int i = 0; i < PIXEL_BYTES; i++)
		ring.drawn[index * PIXEL_BYTES + i] = (uint8_t)(color >> ring.shift[i]);
}

/** Sends the next frame, and returns while it is being sent. It waits only for a frame that was begun less than a frame before. */
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
