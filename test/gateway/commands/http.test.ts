import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { eventually } from "../../support/eventually.js";
import { needs } from "../../support/extensions.js";
import { type RunOptions, runGateway } from "../../support/running.js";
import type { Json } from "../../support/sample-report.js";
import { ScriptedDevice, type ScriptedDeviceOptions } from "../../support/scripted-device.js";
import { checkFrame } from "../api/schemas.js";

async function run(t: TestContext, options: RunOptions = {}) {
	const gateway = await runGateway(t, options);
	const { api: call, url } = gateway;
	let serial = 0;
	/** Connects devices that have reported. */
	const connect = async (count: number, more: Partial<ScriptedDeviceOptions> = {}) => {
		const monitor = await gateway.monitor();
		const made = Array.from({ length: count }, () => {
			serial += 1;
			const deviceId = `dev-1-${serial.toString(16).padStart(6, "0")}`;
			return new ScriptedDevice({ url, deviceId, ...more });
		});
		for (const scripted of made) {
			await scripted.connect();
			t.after(() => scripted.close());
			await monitor.change("identified");
		}
		monitor.socket.close();
		return made;
	};
	const device = async (more?: Partial<ScriptedDeviceOptions>) => {
		const [made] = await connect(1, more);
		return made ?? assert.fail("no device connected");
	};
	const send = async (targets: object, payload: object) => {
		const { status, headers, body } = await call("POST", "/api/commands", { targets, payload });
		assert.equal(status, 202, JSON.stringify(body));
		assert.equal(headers.get("location"), `/api/commands/${body.id}`);
		return String(body.id);
	};
	const ended = (id: string) =>
		eventually(
			async () => (await call("GET", `/api/commands/${id}`)).body,
			({ endedAt }) => endedAt !== null,
		);
	/** Result by device of a job that has ended. */
	const resultOf = async (targets: object, payload: object) =>
		states(await ended(await send(targets, payload)));
	/** Status and detail of a rejected job. */
	const rejectionOf = async (body: object | string) => {
		const { status, body: problem } = await call("POST", "/api/commands", body);
		return [status, problem.detail];
	};
	return { ...gateway, call, connect, device, send, ended, resultOf, rejectionOf };
}

const states = (command: {
	readonly devices: readonly { readonly deviceId: string; readonly state: string }[];
}) => Object.fromEntries(command.devices.map(({ deviceId, state }) => [deviceId, state]));

describe("job", () => {
	test("runs without a connected monitor, and keeps each device's result", async (t) => {
		const { connect, device, send, ended, call, ...gateway } = await run(t);
		const devices = await connect(25);
		const monitor = await gateway.monitor();
		const away = await device();
		away.close();
		await monitor.change("disconnected");
		const id = await send({ all: true }, { command: "set_volume", value: 40, other: 1 });
		const command = await ended(id);
		assert.deepEqual(command.payload, { command: "set_volume", value: 40 });
		assert.deepEqual([command.counts.done, command.counts.away], [25, 1]);
		assert.equal(command.devices[0].state, "away");
		for (const { commands } of devices) assert.deepEqual(commands, [{ command: "set_volume", value: 40 }]);
		const { devices: _, ...head } = command;
		assert.equal(head.by, "monitor");
		assert.deepEqual((await call("GET", "/api/commands")).body, { commands: [head] });
		assert.equal((await call("DELETE", `/api/commands/${id}`)).status, 204);
		const { body } = await call("GET", "/api/commands");
		assert.deepEqual(body, { commands: [] }, "it has ended, and is forgotten");
	});

	test("reaches only the devices of a room or tag expression at the start", needs("fleet"), async (t) => {
		const { device, resultOf, rejectionOf, call } = await run(t);
		const [stable, beta, other] = [await device(), await device(), await device()];
		const label = (deviceId: string, fields: object) => call("PATCH", `/api/devices/${deviceId}`, fields);
		await label(stable.deviceId, { room: "Ku\u0308che", tags: ["shop"] });
		await label(beta.deviceId, { room: "Hall", tags: ["shop", "beta"] });
		const payload = { command: "restart" };
		const stableOnly = { [stable.deviceId]: "done" };
		assert.deepEqual(await resultOf({ room: "K\u00fcche " }, payload), stableOnly);
		assert.deepEqual(await resultOf({ tags: "shop and not beta" }, payload), stableOnly);
		assert.deepEqual(await resultOf({ tags: " not ( shop ) " }, payload), { [other.deviceId]: "done" });
		await label(beta.deviceId, { tags: ["shop"] });
		const both = { ...stableOnly, [beta.deviceId]: "done" };
		assert.deepEqual(await resultOf({ tags: "shop and not beta" }, payload), both);
		for (const [targets, detail] of [
			[{ room: "k\u00fcche" }, "No device is in the room k\u00fcche; there are K\u00fcche, Hall."],
			[{ tags: "beta" }, "No device has the tags beta; there is shop."],
			[{ tags: "shop AND beta" }, "tags: At character 6: write and in place of AND."],
		] as const)
			assert.deepEqual(await rejectionOf({ targets, payload }), [422, detail]);
	});

	test("is visible to subscribed monitors, even those that connect while it runs", async (t) => {
		const { device, send, ended, subscribe } = await run(t);
		const watcher = await subscribe("commands");
		const quick = await device();
		const slow = await device({ executesCommands: false });
		const ids = [quick.deviceId, slow.deviceId];
		const id = await send({ devices: ids }, { command: "set_volume", value: 7 });
		const frame = Object(await watcher.until(({ type }) => type === "command_update"));
		checkFrame(frame);
		assert.deepEqual([frame.id, frame.isOver, frame.payload.value, frame.by], [id, false, 7, "monitor"]);
		const late = await subscribe("commands");
		const first = Object(await late.until(({ type }) => type === "command_update"));
		checkFrame(first);
		assert.equal(states(first)[slow.deviceId], "asked");
		slow.report({ "peripherals.audio.volume": 7 } satisfies Record<string, Json>);
		for (const monitor of [watcher, late])
			await monitor.until((update) => update.type === "command_update" && Object(update).isOver);
		assert.deepEqual(states(await ended(id)), { [quick.deviceId]: "done", [slow.deviceId]: "done" });
	});

	test("is rejected with a reason by devices, by the gateway for outdated firmware, and for silent ones", async (t) => {
		let now = 0;
		const { device, send, ended, call } = await run(t, { monotonic: () => now });
		const old = await device({ features: [] });
		const busy = await device({ executesCommands: false });
		const silent = await device({ executesCommands: false });
		const ids = [old.deviceId, busy.deviceId, silent.deviceId, "dev-1-unknown"];
		const id = await send({ devices: ids }, { command: "identify" });
		await busy.receives({ command: "identify" });
		busy.reject("identify", "an update is in progress");
		await silent.receives({ command: "identify" });
		const rejected = async () => (await call("GET", `/api/commands/${id}`)).body.counts.failed;
		await eventually(rejected, (count) => count === 1);
		now += 60_000;
		const command = await ended(id);
		assert.deepEqual(states(command), {
			[old.deviceId]: "unsupported",
			[busy.deviceId]: "failed",
			[silent.deviceId]: "failed",
			"dev-1-unknown": "away",
		});
		const reasons = command.devices.map(({ reason }: { reason: string | null }) => reason);
		for (const reason of ["An update is in progress.", "The device did not confirm the command in time."])
			assert.ok(reasons.includes(reason), String(reasons));
	});

	test("fails for a device that does not confirm in time", async (t) => {
		let now = 0;
		const { device, send, ended } = await run(t, { monotonic: () => now });
		const silent = await device({ executesCommands: false });
		const id = await send({ all: true }, { command: "identify" });
		await silent.receives({ command: "identify" });
		now += 60_000;
		assert.deepEqual(states(await ended(id)), { [silent.deviceId]: "failed" });
	});

	test("is rejected while 20 others run, and accepted once one has ended", async (t) => {
		const { call, device, send, ended, rejectionOf } = await run(t);
		const slow = await device({ executesCommands: false });
		const ids: string[] = [];
		for (let volume = 0; volume < 20; volume++)
			ids.push(await send({ devices: [slow.deviceId] }, { command: "set_volume", value: volume }));
		const body = { targets: { all: true }, payload: { command: "identify" } };
		const detail = "20 commands are running, the maximum. Wait until one ends.";
		assert.deepEqual(await rejectionOf(body), [409, detail]);
		slow.report({ "peripherals.audio.volume": 7 });
		await ended(ids[7] ?? "");
		assert.equal((await call("POST", "/api/commands", body)).status, 202);
	});

	test("is started and canceled only by roles that may send its command", async (t) => {
		const { device, send, call } = await run(t);
		await device({ executesCommands: false });
		const tokenOf = async (role: string) =>
			String((await call("POST", "/api/tokens", { name: role, role })).body.token);
		const [user, viewer] = [await tokenOf("user"), await tokenOf("viewer")];
		const commands = { volume: { command: "set_volume", value: 40 }, restart: { command: "restart" } };
		for (const [token, name, started, canceled] of [
			[user, "volume", 202, 204],
			[user, "restart", 403, 403],
			[viewer, "volume", 403, 403],
			[viewer, "restart", 403, 403],
		] as const) {
			const payload = commands[name];
			const { status } = await call("POST", "/api/commands", { targets: { all: true }, payload }, token);
			const id = await send({ all: true }, payload);
			const { status: end } = await call("DELETE", `/api/commands/${id}`, undefined, token);
			assert.deepEqual([status, end], [started, canceled], `${name}, ${token === user ? "user" : "viewer"}`);
		}
	});

	test("is rejected with a remedy if invalid", async (t) => {
		const { rejectionOf } = await run(t);
		const payload = { command: "identify" };
		const devices = { devices: ["a"] };
		for (const [body, status, reason] of [
			[{ targets: { all: true }, payload }, 422, /contains no device/],
			[{ targets: { room: "Attic" }, payload }, 422, /room Attic/],
			[{ targets: { all: true, room: "Attic" }, payload }, 422, /one of/],
			[{ targets: { room: " " }, payload }, 422, /targets is one of/],
			[{ targets: {}, payload }, 422, /must be an object with at least one of all, room, tags, devices, and/],
			[{ targets: { all: true, tags: "beta" }, payload }, 422, /one of/],
			[{ targets: { tags: "" }, payload }, 422, /one of/],
			[{ targets: { tags: "beta" }, payload }, 422, /No device has the tags beta; there is no tag\./],
			[
				{ targets: { tags: "a".repeat(501) }, payload },
				422,
				/targets.tags must be .* at most 500 characters/,
			],
			[{ targets: devices, payload: { command: "set_volume", value: 101 } }, 422, /0 to 100/],
			[{ targets: devices, payload: { command: "start_ota" } }, 422, /one of set_volume/],
			[{ targets: devices, payload: "identify" }, 422, /payload/],
			["no JSON", 400, /Send JSON/],
		] as const) {
			const [answered, detail] = await rejectionOf(body);
			assert.equal(answered, status);
			assert.match(detail, reason);
		}
	});
});
