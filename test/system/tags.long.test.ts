/** Tags assigned at one of two gateways on NATS, which select devices at the other. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { joinGateways } from "../../gateway/cluster/join.js";
import { extensions } from "../../gateway/extensions.js";
import { natsBuses } from "../gateway/cluster/nats-buses.js";
import { call } from "../support/call.js";
import { eventually } from "../support/eventually.js";
import { whyMissing } from "../support/programs.js";
import { runGateway, temporaryDirectory } from "../support/running.js";
import { ScriptedDevice } from "../support/scripted-device.js";

interface Listed {
	readonly devices: readonly { readonly deviceId: string; readonly tags?: readonly string[] }[];
}

test("a tag assigned at one gateway selects devices at the other, now and at a due time, until it is removed", {
	skip: whyMissing("nats-server"),
}, async (t) => {
	const buses = await natsBuses(t);
	const folder = await temporaryDirectory(t);
	const urls: string[] = [];
	for (const name of ["one", "two"]) {
		const dataDir = join(folder, name);
		const joined = joinGateways(await buses.connect(), dataDir, extensions);
		urls.push((await runGateway(t, { dataDir, limits: { scheduleSettleMs: 0 }, ...joined })).url);
	}
	const [one = "", two = ""] = urls;
	const connect = async (url: string, deviceId: string) => {
		const device = await new ScriptedDevice({ url, deviceId }).connect();
		t.after(() => device.close());
		return device;
	};
	const tagged = await connect(one, "dev-1-00000a");
	const other = await connect(two, "dev-1-00000b");
	const hasTags = (url: string, expected: string) =>
		eventually(
			() => call<Listed>(url, "GET", "devices"),
			({ devices }) =>
				devices.length === 2 &&
				devices
					.map(({ tags = [] }) => tags.join(" "))
					.sort()
					.join() === expected,
		);
	const volumes = ({ commands }: ScriptedDevice) =>
		commands.flatMap(({ command, value }) => (command === "set_volume" ? [value] : []));
	const command = (value: number) => ({
		targets: { tags: "shop and not (beta or test)" },
		payload: { command: "set_volume", value },
	});

	await hasTags(one, ",");
	await call(one, "PATCH", "devices/dev-1-00000a", { tags: ["shop"] });
	await call(one, "PATCH", "devices/dev-1-00000b", { tags: ["shop", "beta"] });
	await hasTags(two, "beta shop,shop");
	await call(two, "POST", "commands", command(11));
	await eventually(
		() => volumes(tagged),
		(set) => set.join() === "11",
	);
	await call(two, "POST", "schedules", { at: { in: 1 }, do: { command: command(12) } });
	await eventually(
		() => volumes(tagged),
		(set) => set.join() === "11,12",
	);

	await call(two, "PATCH", "devices/dev-1-00000b", { tags: ["shop"] });
	await hasTags(one, "shop,shop");
	await call(two, "PATCH", "devices/dev-1-00000a", { tags: null });
	await hasTags(one, ",shop");
	await call(one, "POST", "commands", command(13));
	await eventually(
		() => volumes(other),
		(set) => set.join() === "13",
	);
	assert.deepEqual(volumes(tagged), [11, 12]);
});
