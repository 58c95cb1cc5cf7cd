/** Device in QEMU over fakes of the SDK's modules: the board's parts and Ethernet. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Host } from "../../../device/host.js";
import { models } from "../../../device/protocol/models.js";
import { boardOf, qemuBoardOf } from "../../../scripts/boards/build.js";
import { Bench, loadBoard } from "../esp32/board-bench.js";

const ethernet = "embedded:network/interface/ethernet";

async function qemu(): Promise<{ bench: Bench; device: Host }> {
	const bench = new Bench();
	return { bench, device: await loadBoard("qemu/dev-1", bench) };
}

for (const model of models)
	test(`a ${model} in QEMU has the board's parts except for the network, and a chip of its own`, async () => {
		const bench = new Bench();
		const { chip, ...device } = await loadBoard(qemuBoardOf(model), bench);
		const { chip: _, ...board } = await loadBoard(boardOf(model), new Bench());
		assert.deepEqual(bench.calls, []);
		assert.equal(chip, "esp32s3-qemu");
		assert.equal(device.network.wifi.name, "WiredNetwork");
		const namesOf = (host: object) =>
			JSON.stringify(host, (_key, part) => (typeof part === "function" ? part.name : part));
		const { wifi } = board.network;
		assert.equal(namesOf({ ...device, network: { ...device.network, wifi } }), namesOf(board));
	});

describe("Ethernet instead of Wi-Fi", () => {
	async function connecting() {
		const { bench, device } = await qemu();
		const heard: string[] = [];
		const wifi = new device.network.wifi({ onChanged: (property) => heard.push(property) });
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
