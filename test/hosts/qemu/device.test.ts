/** Ethernet of a device in QEMU over fakes of the SDK's modules. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Bench, loadBoard } from "../esp32/board-bench.js";

const ethernet = "embedded:network/interface/ethernet";

describe("Ethernet instead of Wi-Fi", () => {
	async function connecting() {
		const bench = new Bench();
		const { network } = await loadBoard("qemu/dev-1", bench);
		const heard: string[] = [];
		const wifi = new network.wifi({ onChanged: (property) => heard.push(property) });
		return { bench, wifi, heard };
	}

	test("is down until connect() is called", async () => {
		const { bench, wifi } = await connecting();
		assert.equal(wifi.connection, 200);
		assert.deepEqual(bench.calls, []);
	});

	test("rejects a second attempt during the first", async () => {
		const { wifi } = await connecting();
		wifi.connect({ SSID: "qemu" });
		assert.throws(() => wifi.connect({ SSID: "qemu" }), /already connecting/);
	});

	test("can be constructed again after close(), without a callback in between", async () => {
		const { bench, wifi } = await connecting();
		wifi.connect({ SSID: "qemu" });
		bench.forget();
		wifi.disconnect();
		assert.equal(wifi.connection, 200);
		wifi.disconnect();
		wifi.connect({ SSID: "qemu" });
		assert.deepEqual(bench.calls, [`${ethernet} close`, `${ethernet} new {}`, `${ethernet} connect`]);
	});

	test("reports an address that it still has in a later turn, which the SDK does not", async () => {
		const { bench, wifi, heard } = await connecting();
		bench.values.set(`${ethernet} connection`, 500);
		wifi.connect({ SSID: "qemu" });
		assert.deepEqual(heard, []);
		assert.deepEqual(bench.calls, [`${ethernet} new {}`]);
		bench.runTimers();
		assert.deepEqual(heard, ["connection"]);
	});

	test("does not call back if it is closed in that turn", async () => {
		const { bench, wifi, heard } = await connecting();
		bench.values.set(`${ethernet} connection`, 500);
		wifi.connect({ SSID: "qemu" });
		wifi.close();
		bench.runTimers();
		assert.deepEqual(heard, []);
	});
});
