/** The fleet: names and rooms of devices, their crashes, history and refusals, the summary for lists, and forgetting. */

import type { Core, Extension } from "../extension.js";
import { Attentions, type Seen, seenFile } from "./attention.js";
import { CrashStore, crashCounter, crashesFile, type StoredCrash } from "./crash-store.js";
import { Histories } from "./history.js";
import { Lists } from "./lists.js";
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
	const lists = new Lists(core);
	const refusals = new Refusals(now, () => lists.changed("refusals"));
	const seenRecords = records<Seen>({
		name: "seen",
		onProblem: (problem) => log.warn({ problem }, "what was seen"),
		...seenFile,
		onRecord: (deviceId, seen) => attentions.take(deviceId, seen),
	});
	const attentions: Attentions = new Attentions({ core, records: seenRecords });
	const subscriptions = new Subscriptions(core, attentions);
	return {
		routes: fleetRoutes({ core, crashes, refusals, histories, attentions }),
		sessions: [
			crashes.sessions,
			// Before the summary.
			attentions.sessions,
			histories.sessions,
			subscriptions.sessions,
			lists.sessions,
			{ onRefused: (refusal) => refusals.add(refusal) },
		],
		messages: { subscribe: subscriptions.execute },
		pictures: {
			summary: (monitor) => subscriptions.sendShort(monitor),
			summary_start: (monitor) => {
				monitor.hold();
				subscriptions.sendShort(monitor);
			},
		},
		onMonitorsChanged: () => subscriptions.onMonitorsChanged(),
		get readinessProblem() {
			return crashes.readinessProblem;
		},
		open: async () => {
			await crashes.open(sessions.devices);
			await attentions.open();
			histories.open();
			await lists.open();
		},
		close: async () => {
			histories.close();
			lists.close();
			subscriptions.close();
			await crashes.close();
			await attentions.close();
		},
	};
}
