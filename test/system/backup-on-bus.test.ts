import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { joinGateways } from "../../gateway/cluster/extension.js";
import { extensions } from "../../gateway/extensions.js";
import { memoryBuses } from "../gateway/cluster/memory-buses.js";
import { downloadBackup, restoreBackup } from "../support/backups.js";
import { call } from "../support/call.js";
import { eventually } from "../support/eventually.js";
import { quickPlan } from "../support/released-fleet.js";
import { writeReleases } from "../support/releases.js";
import { bearer, monitorToken, noRateLimits, runGateway, temporaryDirectory } from "../support/running.js";
import { ScriptedDevice } from "../support/scripted-device.js";
import { tone, wav } from "../support/sounds.js";

const { limits } = noRateLimits;
const sound = wav(tone(16_000));

test("a backup by either of two gateways contains the data of both, and restores a single gateway or two on other servers", async (t) => {
	const buses = await memoryBuses();
	const folder = await temporaryDirectory(t);
	const releasesDir = join(folder, "releases");
	await writeReleases(releasesDir, [{ version: "1.4.0", model: "DEV-1", chip: "esp32s3" }]);
	const urls: string[] = [];
	for (const gatewayName of ["one", "two"]) {
		const dataDir = join(folder, gatewayName);
		const bus = await buses.connect();
		const joined = joinGateways(bus, dataDir, extensions);
		urls.push((await runGateway(t, { dataDir, releasesDir, limits, ...joined })).url);
	}
	const [firstUrl = "", secondUrl = ""] = urls;
	const device = await ScriptedDevice.join(t, { url: firstUrl, deviceId: "dev-1-000000" });
	const shows = (path: string, text: RegExp, url = secondUrl) =>
		eventually(
			async () => JSON.stringify(await call(url, "GET", path)),
			(shown) => text.test(shown),
		);
	await shows("devices", /dev-1-000000/);
	await call(firstUrl, "PATCH", "devices/dev-1-000000", { name: "Speaker" });
	const { id } = await call<{ id: string }>(firstUrl, "POST", "sounds?name=Dinner", sound);
	await shows("sounds", /Dinner/);
	const announcement = { sound: id, targets: { all: true } };
	const at = { weekly: { time: "17:50", days: ["mon"] } };
	await call(secondUrl, "POST", "schedules", { name: "Closing", at, do: { announcement } });
	await eventually(() => call(secondUrl, "PUT", "rollouts/autumn", quickPlan()));
	await shows("rollouts/autumn", /finished/);
	// Through the other gateway, which has it from the bus.
	await shows("audit", /PUT \/api\/rollouts\/:id/, firstUrl);
	device.close();

	const backup = await downloadBackup(secondUrl);
	const restoreTo = async (dataDir: string) => {
		await restoreBackup(backup, dataDir, releasesDir);
		return dataDir;
	};
	const requireAll = async (url: string) => {
		await shows("devices", /Speaker/, url);
		await shows("schedules", /Closing/, url);
		await shows("rollouts/autumn", /"succeeded":1/, url);
		await shows("audit", /PUT \/api\/rollouts\/:id/, url);
		const response = await fetch(`${url}/sounds/${id}.wav`, { headers: bearer(monitorToken) });
		assert.deepEqual(Buffer.from(await response.arrayBuffer()), sound);
	};
	const own = { deviceToken: undefined, monitorToken: undefined };
	const alone = await restoreTo(join(folder, "alone"));
	await requireAll((await runGateway(t, { dataDir: alone, releasesDir, limits, ...own })).url);

	const others = await memoryBuses();
	for (const dataDir of [await restoreTo(join(folder, "third")), join(folder, "fourth")]) {
		const joined = joinGateways(await others.connect(), dataDir, extensions);
		await requireAll((await runGateway(t, { dataDir, releasesDir, limits, ...own, ...joined })).url);
	}
});
