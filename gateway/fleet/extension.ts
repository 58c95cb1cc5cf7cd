/** The fleet: names and rooms of devices, their crashes, history and refusals, the summary for lists, and forgetting. */

import type { Core, Extension } from "../extension.js";
import { CrashStore, crashCounter, crashesFile, type StoredCrash } from "./crash-store.js";
import { Histories } from "./history.js";
import { Refusals } from "./refusals.js";
import { fleetRoutes } from "./routes.js";
import { Subscriptions } from "./subscriptions.js";

export function createFleet(core: Core): Extension {
	const { sessions, records, log, now } = core;
	const countCrash = crashCounter(core.metrics);
	const crashRecords = records<readonly StoredCrash[]>({
		name: "crashes",
		onProblem: (problem) => log.warn({ problem }, "crashes"),
		...crashesFile,
		onRecord: (deviceId, stored) => {
			const device = sessions.devices.get(deviceId);
			if (device) crashes.take(device, stored);
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
