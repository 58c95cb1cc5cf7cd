/*
 * Driver for a ring of WS2812 LEDs on RMT. A frame is encoded completely before DMA sends it, so neither a cache miss nor a flash write
 * can delay a bit. Called from peripherals.ts.
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "driver/rmt_tx.h"
#include "esp_rom_sys.h"
#include "esp_timer.h"

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

/** Symbols of a frame, the end marker, and reserve because the driver rounds each half of its buffer down to a cache line. */
#define SYMBOLS(length) ((length) * PIXEL_BYTES * 8 + 32)

static struct {
	/** NULL unless the driver is started. */
	rmt_channel_handle_t channel;
	rmt_encoder_handle_t encoder;
	uint32_t length;
	/** Frame being drawn. */
	uint8_t drawn[MOST_PIXELS * PIXEL_BYTES];
	/** Frame being sent. */
	uint8_t sent[MOST_PIXELS * PIXEL_BYTES];
	/** Time at which the LEDs latch the last frame, by esp_timer_get_time(). */
	int64_t shown_at;
} ring;

/**
 * Opens the ring with dark pixels; sends nothing. Must not be called while it is open.
 *
 * @param length 1 to 64 pixels
 * @returns an esp_err_t
 */
int32_t board_ring_open(int32_t pin, uint32_t length)
{
	rmt_tx_channel_config_t config = {
		.gpio_num = (gpio_num_t)pin,
		.clk_src = RMT_CLK_SRC_DEFAULT,
		.resolution_hz = TICKS_HZ,
		.mem_block_symbols = SYMBOLS(length),
		.trans_queue_depth = 1,
		.flags.with_dma = 1,
	};
	rmt_bytes_encoder_config_t bits = {
		.bit0 = { .level0 = 1, .duration0 = T0H, .level1 = 0, .duration1 = T0L },
		.bit1 = { .level0 = 1, .duration0 = T1H, .level1 = 0, .duration1 = T1L },
		.flags.msb_first = 1,
	};
	rmt_channel_handle_t channel;
	if (length > MOST_PIXELS)
		return ESP_ERR_INVALID_ARG;
	esp_err_t err = rmt_new_tx_channel(&config, &channel);
	if (ESP_OK == err)
		err = rmt_new_bytes_encoder(&bits, &ring.encoder);
	if (ESP_OK == err)
		err = rmt_enable(channel);
	if (ESP_OK == err) {
		ring.channel = channel;
		ring.length = length;
	}
	return err;
}

/** Sets a pixel of the next frame. @param color the bytes to send, the first one in bits 16 to 23 */
void board_ring_set(uint32_t index, uint32_t color)
{
	if (index >= ring.length)
		return;
	for (int i = 0; i < PIXEL_BYTES; i++)
		ring.drawn[index * PIXEL_BYTES + i] = (uint8_t)(color >> (16 - 8 * i));
}

/** Waits until the LEDs have latched the last frame; frames of a pattern never need to wait. @returns 0 on timeout */
static int wait_until_shown(void)
{
	int64_t left_us = ring.shown_at - esp_timer_get_time();
	if (left_us > 0)
		esp_rom_delay_us((uint32_t)left_us);
	return ESP_OK == rmt_tx_wait_all_done(ring.channel, DONE_TIMEOUT_MS);
}

/** Releases the driver for another ring; the LEDs keep the last frame. */
void board_ring_close(void)
{
	if (!ring.channel)
		return;
	(void)wait_until_shown();
	(void)rmt_disable(ring.channel);
	(void)rmt_del_channel(ring.channel);
	(void)rmt_del_encoder(ring.encoder);
	memset(&ring, 0, sizeof(ring));
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
