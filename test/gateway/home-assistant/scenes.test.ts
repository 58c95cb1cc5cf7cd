/** House scenarios: many devices, restarts, renames, replaced boards and Home Assistant's actions. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { call } from "../../support/call.js";
import { needs } from "../../support/extensions.js";
import { SimulatedHomeAssistant } from "../../support/home-assistant/simulated-home-assistant.js";
import { dev, isWhole, proto, runDevices, startHome } from "./start-home.js";

const ids = Array.from({ length: 20 }, (_, index) => `${index % 2 ? "proto" : "dev"}-1-${100_000 + index}`);

describe("house", () => {
	test("has all entities of 20 devices, even after restarts of all parts", async (t) => {
		const { home, broker, run, ...first } = await startHome(t);
		let { url } = first;
		runDevices(t, ids, () => url);
		await home.until(() => isWhole(home, ids));
		const entities = () => ids.map((id) => home.entityIds(id));
		const before = entities();
		assert.equal(new Set(before.map(({ length }) => length)).size, 2, "a set for each model");

		await home.restart();
		await home.until(() => isWhole(home, ids));

		await broker.kill();
		await broker.start();
		// It knows only what was published since.
		const other = await SimulatedHomeAssistant.start(t, broker, { hasBirth: false });
		await home.until(() => isWhole(other, ids) && isWhole(home, ids));
		// Messages in flight when the broker was killed may be repeated: a device's, and the gateway's two.
		const topics = new Set(other.heard.map(({ topic }) => topic));
		assert.ok(other.heard.length <= topics.size + 3, `${other.heard.length} messages`);

		await first.gateway.close();
		await home.until(() => ids.every((id) => !home.isAvailable(id)));
		({ url } = await run());
		await home.until(() => isWhole(home, ids));
		assert.deepEqual(entities(), before, "nothing is new to it");
	});

	test("keeps the entities of a renamed and moved device", needs("fleet"), async (t) => {
		const { home, add, url } = await startHome(t);
		const device = await add(dev);
		await home.until(() => isWhole(home, [dev]));
		const entities = home.entityIds(dev);
		await call(url, "PATCH", `devices/${dev}`, { name: "Lobby", room: "Hall" });
		const known = () => home.devices.get(dev)?.device;
		await home.until(() => known()?.name === "Lobby" && isWhole(home, [dev]));
		assert.equal(known()?.suggested_area, "Hall");
		await home.restart();
		await home.until(() => isWhole(home, [dev]));
		assert.deepEqual(home.entityIds(dev), entities);
		await home.command(dev, "volume", "12");
		await device.receives({ command: "set_volume", value: 12 });
		await home.shows(dev, "volume", "12");
	});

	test("removes entities of a forgotten device, and those a new board lacks", needs("fleet"), async (t) => {
		const { home, add, url } = await startHome(t);
		const device = await add(dev, { model: "PROTO-1" });
		await add(proto);
		await home.until(() => isWhole(home, [dev, proto]));
		const entities = home.entityIds(dev);
		device.close();
		await home.until(() => !home.isAvailable(dev) && home.isAvailable(proto));
		const board = await add(dev);
		await home.until(() => home.devices.get(dev)?.device.model === "DEV-1" && isWhole(home, [dev]));
		const left = home.entityIds(dev);
		const gone = entities.filter((id) => !left.includes(id));
		assert.deepEqual([gone.length, left.length], [4, entities.length - 4], "haptics, touch, light");

		board.close();
		await home.until(() => !home.isAvailable(dev));
		await call(url, "DELETE", `devices/${dev}`);
		await home.until(() => !home.topics.some((topic) => topic.includes(dev)));
		assert.deepEqual([home.devices.has(dev), home.entityIds(dev)], [false, []]);
		await add(dev);
		await home.until(() => isWhole(home, [dev]));
		assert.deepEqual(home.entityIds(dev).toSorted(), left.toSorted(), "as they were");
		assert.ok(home.isAvailable(proto), `${proto} is unavailable`);
	});
});
