import assert from "node:assert/strict";
import { test } from "node:test";
import { DeviceStore, deviceRecord, labelRecord } from "../../../gateway/sessions/device-store.js";
import { Sessions } from "../../../gateway/sessions/sessions.js";
import { type CreateRecords, type RecordEngine, Records } from "../../../gateway/storage/records.js";

/** Records that another process can write. */
function makeEngine(): RecordEngine {
	return {
		each: async () => {},
		read: async () => undefined,
		write: async () => {},
		placeOf: (key) => key,
		problemOf: () => undefined,
		close: async () => {},
	};
}

test("a label that another process has set before its device is known here reaches monitors with the device", async (t) => {
	t.mock.timers.enable({ apis: ["setInterval"] });
	const engines = { devices: makeEngine(), labels: makeEngine() };
	const records: CreateRecords = (options) =>
		new Records({ ...options, engine: options.name === "labels" ? engines.labels : engines.devices });
	const clock = { now: () => 0, monotonic: () => 0 };
	const sessions = new Sessions({ ...clock, maxDevices: 10 });
	const shown: (readonly [reason: string, name: string | undefined])[] = [];
	sessions.listen({ onChanged: ({ device }, reason) => void shown.push([reason, device?.label.name]) });
	const problems: string[] = [];
	const store = new DeviceStore({
		records,
		sessions,
		...clock,
		onProblem: (problem) => problems.push(problem),
	});
	sessions.listen(store.sessions);
	await store.open();
	engines.labels.onChange?.("dev-1-000001", labelRecord.format({ name: "Hall" }));
	const rest = {
		isBound: false,
		model: undefined,
		chip: undefined,
		features: [],
		remoteAddress: "",
		baseUrl: "",
	};
	const link = { send: () => {}, close: () => {}, isOpen: () => true };
	const { device } = sessions.open({ ...rest, deviceId: "dev-1-000001" }, link);
	assert.equal(device?.label.name, "Hall");
	assert.ok(shown.some(([reason, name]) => reason === "labelled" && name === "Hall"));

	assert.ok(device);
	engines.devices.onChange?.("dev-1-000001", deviceRecord.format(device));
	engines.devices.onChange?.("dev-1-000001", "damaged, and of no interest here");
	assert.deepEqual(problems, []);
	sessions.end(device.session, "disconnected");
	engines.devices.onChange?.("dev-1-000001", undefined);
	assert.equal(sessions.devices.size, 0);
	await store.close();
});
