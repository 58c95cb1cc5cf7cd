/** The fleet: names and rooms of devices, their crashes, history and refusals, the summary for lists, and forgetting. */

import { join } from "node:path";
import type { Core, Extension } from "../extension.js";
import { CrashStore, crashCounter, crashesFile } from "./crash-store.js";
import { Histories } from "./history.js";
import { Refusals } from "./refusals.js";
import { fleetRoutes } from "./routes.js";
import { Subscriptions } from "./subscriptions.js";

export function createFleet(core: Core): Extension {
	const { settings, sessions, records, disk, log, now } = core;
	const countCrash = crashCounter(core.metrics);
	const crashRecords = records({
		directory: join(settings.dataDir, "crashes"),
		disk,
		onProblem: (problem) => log.warn({ problem }, "crashes"),
		...crashesFile,
		bucket: "gw-crashes",
		onRecord: async (deviceId) => {
			// The device may become known meanwhile.
			await crashRecords.settle();
			const device = sessions.devices.get(deviceId);
			if (device) await crashes.restore(device);
		},
	});
	const crashes: CrashStore = new CrashStore({
		records: crashRecords,
		now,
		onStored: (device, { kind, message, file, line, firmware_version: version }) => {
			log.warn({ deviceId: device.deviceId, kind, version, message, file, line }, "device: crashed");
			countCrash(kind, version);
			sessions.announce(device.session, "crash");
		},
	});
	const histories = new Histories(core);
	const refusals = new Refusals(now);
	const subscriptions = new Subscriptions(core);
	return {
		routes: fleetRoutes({ core, crashes, refusals, histories }),
		sessions: [
			crashes.sessions,
			histories.sessions,
			subscriptions.sessions,
			{ onRefused: (refusal) => refusals.add(refusal) },
		],
		messages: { subscribe: subscriptions.execute },
		onMonitorsChanged: () => subscriptions.onMonitorsChanged(),
		get readinessProblem() {
			return crashes.readinessProblem;
		},
		open: async () => {
			await crashes.open(sessions.devices);
			histories.open();
		},
		close: async () => {
			histories.close();
			subscriptions.close();
			await crashes.close();
		},
	};
}
