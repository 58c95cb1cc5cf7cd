/** Rollouts: updates of a fleet in groups, paused automatically when too many fail. */

import { type FrameOf, frameText } from "../api/frames.js";
import type { Core, Extension } from "../extension.js";
import { retryUntilConnected } from "../retry-until-connected.js";
import { frameOf, Rollouts } from "./rollouts.js";
import { createRolloutRoutes } from "./routes.js";
import { RolloutStore } from "./store.js";

export function createRollouts(core: Core): Extension {
	const { settings, sessions, firmware, monitors, peers, metrics, log, openLog } = core;
	const onProblem = (problem: string) => log.warn({ problem }, "rollouts");
	const store = new RolloutStore({ onProblem });
	let isClosed = false;
	const rollouts = new Rollouts({
		...core,
		store,
		isShared: peers.bus !== undefined,
		selection: firmware.selection,
		updates: firmware.updates,
		latestCrashOf: (deviceId: string) => core.services.latestCrash?.(deviceId),
		devices: sessions.devices,
		timeZone: settings.timeZone,
		announce: (rollout: FrameOf<"rollout_update">) => {
			monitors.broadcast("rollouts", frameText(rollout));
			core.events.emit("rollout", rollout);
		},
	});
	metrics.watch("gateway_rollouts", "Active rollouts", () => rollouts.active().length);
	return {
		routes: createRolloutRoutes(rollouts),
		channels: { rollouts: () => rollouts.active().map((rollout) => frameText(frameOf(rollout))) },
		intercept: ({ type }, { device }) => {
			const rejection = type === "trigger_ota" && device && rollouts.findHolder(device);
			return rejection ? { rejection } : undefined;
		},
		onReplaced: (from, by) => rollouts.replaceDevice(from, by),
		get readinessProblem() {
			return rollouts.readinessProblem;
		},
		open: async () => {
			const read = async () => store.open(await openLog("rollouts", onProblem));
			await retryUntilConnected({ isClosed: () => isClosed, onProblem }, read);
			rollouts.open();
		},
		close: () => {
			isClosed = true;
			return rollouts.close();
		},
	};
}
