import assert from "node:assert/strict";
import { test } from "node:test";
import { DeviceStore, deviceRecord } from "../../../gateway/sessions/device-store.js";
import { Sessions } from "../../../gateway/sessions/sessions.js";
import { Records } from "../../../gateway/storage/records.js";
import { handshakeOf, link, makeEngine } from "../../support/made-records.js";

test("a device whose record another process removes is forgotten, and what it writes of one is of no interest", async (t) => {
	t.mock.timers.enable({ apis: ["setInterval"] });
	const engine = makeEngine();
	const clock = { now: () => 0, monotonic: () => 0 };
	const sessions = new Sessions({ ...clock, maxDevices: 10 });
	const problems: string[] = [];
	const store = new DeviceStore({
		records: (options) => new Records({ ...options, engine }),
		sessions,
		...clock,
		onProblem: (problem) => problems.push(problem),
	});
	sessions.listen(store.sessions);
	await store.open();
	const { device } = sessions.open(handshakeOf("dev-1-000001"), link);
	assert.ok(device, "no device");
	engine.onChange?.("dev-1-000001", deviceRecord.format(device));
	engine.onChange?.("dev-1-000001", "damaged, and of no interest here");
	assert.deepEqual(problems, []);
	sessions.end(device.session, "disconnected");
	engine.onChange?.("dev-1-000001", undefined);
	assert.equal(sessions.devices.size, 0);
	await store.close();
});
