/** Fleet: labels, crashes, history and rejections of devices, the summary for lists, and the removal of devices. */

import type { Core, Extension } from "../extension.js";
import { CrashCauses } from "./crash-causes.js";
import { CrashCounter, CrashStore } from "./crash-store.js";
import { Histories } from "./history.js";
import { Issues } from "./issues.js";
import { Labels } from "./labels.js";
import { fleetLimits } from "./limits.js";
import { Lists } from "./lists.js";
import { fleetMessages } from "./messages.js";
import { Rejections } from "./rejections.js";
import { createFleetRoutes, historyOf } from "./routes.js";
import { Subscriptions } from "./subscriptions.js";
import { createWiFiRoutes } from "./wifi.js";

export function createFleet(gatewayCore: Core): Extension {
	const core = { ...gatewayCore, limits: { ...fleetLimits, ...gatewayCore.limits } };
	const { sessions, log, now } = core;
	const crashCounter = new CrashCounter(core.metrics);
	const crashes = new CrashStore({
		core,
		onStored: (device, crash) => {
			const { kind, message, file, line, firmware_version: version } = crash;
			log.warn({ deviceId: device.deviceId, kind, version, message, file, line }, "device: crashed");
			crashCounter.count(kind, version);
			sessions.announce(device.session, "crash");
			core.events.emit("crash", device, crash);
			causes
				.count(device, crash)
				.catch((error: unknown) => log.error({ err: error }, "crash causes: adding a crash failed"));
		},
		onRecord: ({ session }) => sessions.announce(session, "crash"),
	});
	const causes: CrashCauses = new CrashCauses({
		core,
		onNew: ({ kind, message, frames, last: { version, deviceId } }, id) => {
			const device = sessions.devices.get(deviceId);
			if (device) core.events.emit("crashCause", device, { id, kind, message, frames, version });
		},
		onChanged: () => lists.changed("crashes"),
	});
	const labels = new Labels(core);
	const histories = new Histories(core);
	const lists: Lists = new Lists(core);
	const rejections = new Rejections(now, () => lists.changed("rejections"));
	const issues = new Issues({ core, crashes });
	const subscriptions = new Subscriptions(core, issues);
	return {
		routes: [
			...createFleetRoutes({ core, crashes, causes, labels, rejections, histories, issues }),
			...createWiFiRoutes(core, histories),
		],
		listeners: [
			labels.listeners,
			crashCounter,
			crashes.listeners,
			// Updated before the summary, which contains the issues.
			issues.listeners,
			histories.listeners,
			subscriptions.listeners,
			lists.listeners,
			{
				rejected: (rejection) => rejections.add(rejection),
				scheduleFailed: ({ name, reason }) => {
					const remoteAddress = name ?? "Unnamed schedule";
					rejections.add({ what: "schedule", deviceId: undefined, remoteAddress, reason });
				},
			},
		],
		onReplaced: (from, by) => labels.move(from, by),
		messages: { subscribe: subscriptions.execute },
		channels: {
			summary: { sendSnapshot: (monitor) => subscriptions.sendFirst(monitor) },
		},
		services: {
			deviceHistory: (device) => historyOf(device, core, crashes),
			latestCrash: (deviceId) => crashes.headsOf({ deviceId }).at(-1),
		},
		open: async () => {
			await labels.open();
			await crashes.open();
			await causes.open();
			await issues.open();
			await lists.open();
		},
		close: async () => {
			lists.close();
			subscriptions.close();
			await causes.close();
		},
	};
}

createFleet.messages = fleetMessages;
