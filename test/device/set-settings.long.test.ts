import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { type ChangedSettings, checkUplink } from "../../device/protocol/messages.js";
import { Flash, type FlashOperation } from "../../hosts/virtual/node/boot/flash.js";
import { flashBytes, partitions } from "../../hosts/virtual/node/boot/partitions.js";
import type { VirtualDevice } from "../../hosts/virtual/node/virtual-device.js";
import { powerOn, runScriptedGateway, type ScriptedGateway } from "../support/scripted-gateway.js";
import { passUntil } from "../support/virtual-time.js";

const setSettings = (value: ChangedSettings) => ({ command: "set_settings", value });

/** Next connection of a device, across its restarts, and its first report. */
async function connected(device: VirtualDevice, gateway: ScriptedGateway) {
	const connection = await passUntil(device, gateway.connection());
	await connection.next("state_report");
	return connection;
}

/**
 * Interval of the power cuts. test/device/settings-trial.test.ts cuts every flash operation; here the whole firmware
 * runs.
 */
const every = Number(process.env.CUT_EVERY || 2);

test("a power cut in a trial of the whole firmware leaves complete settings and a correct result", async (t) => {
	const operations: FlashOperation[] = [];
	/** Advances 20 s, with time for real sockets. */
	const passSome = async (device: VirtualDevice) => {
		for (let step = 0; step < 80; step++) {
			await setTimeout(2);
			await device.machine.advance(250).catch(() => {});
		}
	};
	/** Tries valid settings. @param operation at which power is cut */
	const tryIn = async (flash: Flash, operation?: number) => {
		const gateway = await runScriptedGateway(t);
		/** Authorization of the last connection. */
		let token: string | undefined;
		const outcomes: string[] = [];
		gateway.server.on("connection", (socket, { headers }) => {
			token = headers.authorization;
			socket.on("message", (text) => {
				const checked = checkUplink(JSON.parse(text.toString()));
				if (checked.problem === undefined && checked.uplink.type === "settings_result")
					outcomes.push(checked.uplink.outcome);
			});
		});
		const settings = { gateway: gateway.url, token: "previous-token" };
		const device = await powerOn(t, gateway, "DEV-1", { flash, settings, clock: "virtual" });
		const connection = await connected(device, gateway);
		operations.length = 0;
		if (operation !== undefined) flash.cutAt(operation, "middle");
		connection.send(setSettings({ token: "next-token", sntp: "127.0.0.1" }));
		await passSome(device);
		assert.equal(device.setting("trial"), undefined);
		await device.powerCycle();
		await passSome(device);
		const isNew = token === "Bearer next-token";
		assert.ok(isNew || token === "Bearer previous-token", `connected with ${token}`);
		assert.equal(device.setting("sntp"), isNew ? "127.0.0.1" : undefined, "whole");
		await device.close();
		return { isNew, outcomes };
	};

	const rehearsal = new Flash({ byteLength: flashBytes, onOperation: (one) => operations.push(one) });
	assert.deepEqual(await tryIn(rehearsal), { isNew: true, outcomes: ["kept"] });
	const { offset, byteLength } = partitions.nvs;
	const cuts = operations
		.map((operation, index) => ({ number: index + 1, at: operation.offset }))
		.filter(({ at, number }) => at >= offset && at < offset + byteLength && number % every === 0);
	let returned = 0;
	for (const { number } of cuts) {
		const { isNew, outcomes } = await tryIn(new Flash({ byteLength: flashBytes }), number);
		if (!isNew) returned += 1;
		assert.deepEqual([...new Set(outcomes)], isNew ? ["kept"] : [], `cut at ${number}`);
	}
	assert.ok(returned > 0 && returned < cuts.length, "some cuts happen before the settings are active");
	t.diagnostic(`${cuts.length} power cuts, ${returned} of them before the new settings were active`);
});
