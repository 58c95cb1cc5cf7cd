import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import type { StateReport } from "../../../device/protocol/messages.js";
import { waitUntil } from "../../support/eventually.js";
import { dark, orange, red, ringOf } from "../../support/ring.js";
import { powerOn } from "../../support/scripted-gateway.js";
import { nextConnection, pass, passUntilTrue, powerOnInVirtualTime } from "../../support/virtual-time.js";
import { runCountingServer } from "./counting-server.js";

/** Turns the ring off: each of its frames would be one step of the clock. */
const darkRing = { command: "set_led", value: "idle" };
const isDark = ({ led_ring }: StateReport["peripherals"]) => led_ring.state_id === 0;

describe("unreachable gateway", () => {
	test("is retried five times within 31 s, then again after a minute, and shown on the ring", async (t) => {
		const gateway = await runCountingServer(t, (socket) => socket.destroy());
		const device = await powerOn(t, gateway, "DEV-1", { clock: "virtual" });
		await pass(device, 0);
		await waitUntil(() => gateway.connections() === 1);
		await pass(device, 32_000);
		assert.equal(gateway.connections(), 6, "the first attempt and five retries");
		assert.equal(ringOf(device), orange, "orange does not flash");
		await pass(device, 60_000);
		assert.ok(gateway.connections() > 6, "no second round");
	});

	test("times out after 20 s when it accepts the connection and sends no response", async (t) => {
		const gateway = await runCountingServer(t, () => {});
		const device = await powerOn(t, gateway, "DEV-1", { clock: "virtual" });
		await waitUntil(() => gateway.connections() === 1);
		await pass(device, 19_999);
		assert.equal(gateway.connections(), 1);
		await pass(device, 1001);
		assert.equal(gateway.connections(), 2);
	});

	test("counts as a failed attempt when it sends garbage or rejects the upgrade", async (t) => {
		for (const answer of [
			"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n",
			"HTTP/1.1 101 Switching Protocols\r\n\r\n",
			"\0\0\0\0",
		]) {
			const gateway = await runCountingServer(t, (socket) => socket.on("data", () => socket.end(answer)));
			const device = await powerOn(t, gateway, "DEV-1", { clock: "virtual" });
			await waitUntil(() => gateway.connections() === 1);
			await passUntilTrue(device, 1000, () => gateway.connections() !== 1);
			assert.equal(gateway.connections(), 2, answer);
			await device.close();
		}
	});
});

describe("gateway that stays connected", () => {
	/** Loses seven connections in a row, each after `heldMs`. @returns the longest time until the next one */
	async function longestPause(t: TestContext, heldMs: number): Promise<number> {
		const { device, gateway, connection, pass: advance, command } = await powerOnInVirtualTime(t, "DEV-1");
		await command(darkRing, isDark);
		let current = connection;
		const pauses: number[] = [];
		for (let loss = 1; loss <= 7; loss++) {
			await advance(heldMs);
			const lostAt = device.machine.now;
			current.socket.terminate();
			await current.closed;
			current = (await nextConnection(device, gateway)).connection;
			pauses.push(device.machine.now - lostAt);
		}
		return Math.max(...pauses);
	}

	// The longest delay of a round is 16 s; two rounds are at least 30 s apart.
	test("uses up the retries when each connection lasts less than 30 s", async (t) => {
		const pauseMs = await longestPause(t, 28_000);
		assert.ok(pauseMs >= 30_000, `${pauseMs} ms`);
	});

	test("restarts the retries when each connection lasts 30 s", async (t) => {
		const pauseMs = await longestPause(t, 30_000);
		assert.ok(pauseMs < 20_000, `${pauseMs} ms`);
	});
});

test("stops attempts to reach the gateway while the access point is away", async (t) => {
	const gateway = await runCountingServer(t, (socket) => socket.destroy());
	const device = await powerOn(t, gateway, "DEV-1", { clock: "virtual" });
	await waitUntil(() => gateway.connections() === 1);
	// All retries are used up, and the next round is scheduled.
	await pass(device, 32_000);
	device.board.accessPoints = [];
	for (let look = 0; look < 70; look++) {
		await pass(device, 1000);
		assert.ok([red, dark].includes(ringOf(device)), `no Wi-Fi, in second ${look}`);
	}
	assert.equal(gateway.connections(), 6);
});

describe("heartbeat", () => {
	test("sends a ping after 15 s without a frame, and closes the connection after 45 s", async (t) => {
		const { device, gateway, connection, pass: advance } = await powerOnInVirtualTime(t, "DEV-1");
		// From now on the gateway reads and sends nothing, not even a pong.
		connection.socket.pause();
		await advance(44_900);
		assert.notEqual(ringOf(device), orange, "the device cannot know yet");
		await advance(100);
		assert.equal(ringOf(device), orange, "connecting");
		await nextConnection(device, gateway);
	});

	test("keeps a connection on which only pongs arrive", async (t) => {
		const { connection, pass: advance, command } = await powerOnInVirtualTime(t, "DEV-1");
		await command(darkRing, isDark);
		let pings = 0;
		connection.socket.on("ping", () => {
			pings += 1;
		});
		await advance(10 * 60_000);
		assert.equal(connection.socket.readyState, connection.socket.OPEN);
		assert.ok(pings >= 39 && pings <= 40, `${pings} pings in ten minutes`);
	});
});
