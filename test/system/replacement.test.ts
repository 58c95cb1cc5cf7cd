/** Replacements in a gateway that is killed meanwhile, and in one restored from a backup. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import fs from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { test } from "node:test";
import type { StateReport } from "../../device/protocol/messages.js";
import { restore } from "../../scripts/backup/restore.js";
import {
	furnish,
	goesOver,
	isAsBefore,
	killMeanwhile,
	next,
	old,
	pairsOf,
	settingsOf,
} from "../gateway/replacement/lobby.js";
import { call } from "../support/call.js";
import { eventually } from "../support/eventually.js";
import { runFleet } from "../support/fleet.js";
import { GatewayProcess } from "../support/gateway-process.js";
import { freePort } from "../support/ports.js";
import { bearer, deviceToken, monitorToken, runGateway, temporaryDirectory } from "../support/running.js";

const count = 8;
const pairs = pairsOf(count);

test("a gateway killed during replacements has completed or not started each one after its next start", async (t) => {
	const directory = await temporaryDirectory(t);
	const { releasesDir = "" } = await settingsOf(directory);
	const dataDir = join(directory, "data");
	const gateway = new GatewayProcess(t, await freePort(), {
		DATA_DIR: dataDir,
		RELEASES_DIR: releasesDir,
		DEVICE_TOKEN: deviceToken,
		MONITOR_TOKEN: monitorToken,
		LOG_LEVEL: "warn",
		IMAGE_CHECK: "off",
	});
	await gateway.start();
	for (const { pair, id } of pairs) await furnish(gateway.url, pair, id);
	const answered = await killMeanwhile(gateway, pairs);
	const begun = pairs.filter(({ pair: [from] }) => existsSync(join(dataDir, "replacements", `${from}.json`)));
	t.diagnostic(`${answered.size} of ${count} were answered, ${begun.length} had begun`);
	await gateway.start();
	for (const each of pairs) {
		if (answered.has(each.id)) assert.ok(begun.includes(each), "acknowledged replacements persist");
		if (begun.includes(each)) await goesOver(gateway.url, each.pair, each.id);
		else await isAsBefore(gateway.url, each.pair, each.id);
	}
});

test("a backup contains replaced boards and their history", async (t) => {
	const folder = await temporaryDirectory(t);
	const options = await settingsOf(join(folder, "first"));
	const first = await runGateway(t, options);
	await furnish(first.url);
	await call(first.url, "POST", `devices/${old}/replace`, { by: next });
	const { body } = await fetch(`${first.url}/api/backup`, { headers: bearer(monitorToken) });
	assert.ok(body, "the response has no body");
	const archive = Readable.from(body);
	const [dataDir, releasesDir] = [join(folder, "second"), join(folder, "releases")];
	await restore({ archive, dataDir, releasesDir, passphrase: undefined, disk: fs, onProblem: assert.fail });
	await first.gateway.close();
	const second = await runGateway(t, { ...options, dataDir });
	await goesOver(second.url);
	const refused = await second.refused("/device", { ...bearer(deviceToken), "Device-Id": old });
	assert.equal(refused.status, 410);
});

test("a board in XS receives volume and brightness of the replaced board, which logs why it is rejected", async (t) => {
	const fleet = await runFleet(t);
	const broken = await fleet.powerOn("DEV-1", { serial: "00000a" });
	await broken.report();
	await broken.control({ command: "set_volume", value: 35 });
	await broken.control({ command: "set_brightness", value: 0.25 });
	const isSet = ({ peripherals: { audio, led_ring } }: StateReport) =>
		audio.volume === 35 && led_ring.brightness_coef === 0.25;
	await broken.report(isSet);
	await broken.device.close();
	const board = await fleet.powerOn("DEV-1", { serial: "00000b" });
	assert.equal(isSet(await board.report()), false);
	await eventually(
		() => call(fleet.url, "POST", `devices/${broken.deviceId}/replace`, { by: board.deviceId }),
		() => true,
	);
	await board.report(isSet);
	let log = "";
	const onTrace = (text: string) => {
		log += text;
	};
	await fleet.powerOn("DEV-1", { serial: "00000a", onTrace });
	await eventually(
		() => log,
		(text) => text.includes("the gateway rejected this device (410): another one has replaced it"),
	);
});
