/** LED ring driver in C: pixels, waits and cleanup. Its signal is tested on an emulated chip. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { before, describe, test } from "node:test";
import { compileC, withoutCompiler as skip } from "../../support/c-program.js";

/** Declarations from ESP-IDF v6.0's headers that the file needs; the harness defines the functions. */
const headers: Readonly<Record<string, string>> = {
	"driver/rmt_tx.h": `#pragma once
#include <stddef.h>
#include <stdint.h>
typedef int esp_err_t;
typedef int gpio_num_t;
#define ESP_OK 0
#define ESP_ERR_INVALID_ARG 0x102
#define ESP_ERR_INVALID_STATE 0x103
#define RMT_CLK_SRC_DEFAULT 4
typedef struct rmt_channel_t *rmt_channel_handle_t;
typedef struct rmt_encoder_t *rmt_encoder_handle_t;
typedef struct { uint16_t duration0 : 15, level0 : 1, duration1 : 15, level1 : 1; } rmt_symbol_word_t;
typedef struct {
	gpio_num_t gpio_num;
	int clk_src;
	uint32_t resolution_hz;
	size_t mem_block_symbols, trans_queue_depth;
	struct { uint32_t with_dma : 1; } flags;
} rmt_tx_channel_config_t;
typedef struct { rmt_symbol_word_t bit0, bit1; struct { uint32_t msb_first : 1; } flags; } rmt_bytes_encoder_config_t;
typedef struct { int loop_count; } rmt_transmit_config_t;
esp_err_t rmt_new_tx_channel(const rmt_tx_channel_config_t *, rmt_channel_handle_t *);
esp_err_t rmt_new_bytes_encoder(const rmt_bytes_encoder_config_t *, rmt_encoder_handle_t *);
esp_err_t rmt_transmit(rmt_channel_handle_t, rmt_encoder_handle_t, const void *, size_t, const rmt_transmit_config_t *);
esp_err_t rmt_tx_wait_all_done(rmt_channel_handle_t, int);
esp_err_t rmt_enable(rmt_channel_handle_t);
esp_err_t rmt_disable(rmt_channel_handle_t);
esp_err_t rmt_del_channel(rmt_channel_handle_t);
esp_err_t rmt_del_encoder(rmt_encoder_handle_t);
`,
	"esp_rom_sys.h": "#pragma once\n#include <stdint.h>\nvoid esp_rom_delay_us(uint32_t);\n",
	"esp_timer.h": "#pragma once\n#include <stdint.h>\nint64_t esp_timer_get_time(void);\n",
	"soc/soc_caps.h": "#define SOC_RMT_MEM_WORDS_PER_CHANNEL 48\n#define SOC_RMT_SUPPORT_DMA 1\n",
};
let program = "";

/** @returns the output of the calls, one line each */
function run(calls: readonly string[]): readonly string[] {
	const input = calls.map((call) => `${call}\n`).join("");
	const { stdout, stderr, status } = spawnSync(program, { input, encoding: "utf8" });
	assert.deepEqual([stderr, status], ["", 0]);
	return stdout.trimEnd().split("\n");
}

describe("LED ring driver", { skip }, () => {
	before(() => {
		program = compileC({
			sources: ["test/hosts/esp32/ring-harness.c"],
			folders: ["hosts/esp32"],
			headers,
		});
	});

	test("sends the colors in the ring's order", () => {
		for (const [order, bytes] of [
			["GRB", "000000023f80"],
			["RGB", "0000003f0280"],
			["BGR", "00000080023f"],
			["BRG", "000000803f02"],
		] as const)
			assert.deepEqual(run([`open 21 2 ${order}`, "set 1 3f0280", "show"]).at(-1), `send ${bytes}`, order);
	});

	test("keeps pixels that are not set again, and ignores a nonexistent one", () => {
		const calls = [
			"open 21 2 RGB",
			"set 0 010203",
			"show",
			"later 33000",
			"set 1 ffffff",
			"set 2 ffffff",
			"show",
		];
		assert.deepEqual(run(calls).slice(-2), ["send 010203000000", "send 010203ffffff"]);
		assert.equal(run(["open 21 64 RGB", "set 64 ffffff"]).at(-1), "open 0");
	});

	test("does not change a frame that is being sent", () => {
		const lines = run(["open 21 1 RGB", "set 0 010203", "show", "set 0 0a0b0c", "sent"]);
		assert.deepEqual(lines.slice(-2), ["send 010203", "sent 010203"]);
	});

	test("waits for the previous frame and 280 us, and not at all when that is over", () => {
		const open = ["open 21 12 RGB", "show"];
		const waits = (calls: readonly string[]) => run(calls).filter((line) => line.startsWith("wait"));
		assert.deepEqual(waits([...open, "show"]), [`wait ${12 * 30 + 280} us`]);
		assert.deepEqual(waits([...open, "later 600", "show"]), ["wait 40 us"]);
		assert.deepEqual(waits([...open, "later 640", "show"]), []);
	});

	test("skips a frame while the previous one does not end", () => {
		const calls = ["open 21 1 RGB", "show", "later 33000", "busy 107", "show", "busy 0", "show"];
		assert.equal(run(calls).filter((line) => line.startsWith("send")).length, 2);
	});

	test("closes after the LEDs have latched the frame; the next ring starts dark", () => {
		const lines = run(["open 21 1 RGB", "set 0 ffffff", "show", "close", "close", "open 21 2 RGB", "show"]);
		assert.deepEqual(lines.slice(lines.indexOf("send ffffff")).slice(0, 4), [
			"send ffffff",
			"wait 310 us",
			"channel freed",
			"encoder freed",
		]);
		assert.deepEqual(lines.slice(-2), ["open 0", "send 000000000000"]);
		assert.equal(lines.filter((line) => line === "channel freed").length, 1);
	});

	test("rejects invalid options and a second ring without using hardware", () => {
		for (const ring of ["0 GRB", "65 GRB", "12 GGB", "12 GRBW", "12 grb"])
			assert.deepEqual(run([`open 21 ${ring}`, "set 0 ffffff", "show", "close"]), ["open 102"], ring);
		assert.equal(run(["open 21 12 GRB", "open 22 12 GRB"]).at(-1), "open 103");
	});

	test("frees the channel if the encoder cannot be allocated, and can be opened later", () => {
		const lines = run(["encoder 101", "open 21 1 GRB", "show", "encoder 0", "open 21 1 GRB"]);
		assert.deepEqual(lines.slice(0, 2), ["channel freed", "open 101"]);
		assert.equal(lines.at(-1), "open 0");
	});
});
