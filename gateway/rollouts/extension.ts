/** Rollouts: updates of a fleet in groups, paused automatically when too many fail. */

import { join } from "node:path";
import { type FrameOf, frameText } from "../api/frames.js";
import type { Core, Extension } from "../extension.js";
import { latestCrash } from "../services/devices.js";
import { FileLog } from "../storage/file-log.js";
import { frameOf, Rollouts } from "./rollouts.js";
import { createRolloutRoutes } from "./routes.js";
import { SharedRollouts } from "./shared/shared-rollouts.js";
import { RolloutStore } from "./store.js";

export function createRollouts(core: Core): Extension {
	const { settings, sessions, firmware, monitors, peers, metrics, disk, log } = core;
	const { now, monotonic, yieldToLoop, storage } = core;
	const onProblem = (problem: string) => log.warn({ problem }, "rollouts");
	const store = new RolloutStore({ onProblem });
	const directory = join(settings.dataDir, "rollouts");
	const openStore = () => store.open(new FileLog({ directory, disk, onProblem }));
	const parts = {
		selection: firmware.selection,
		updates: firmware.updates,
		latestCrashOf: (deviceId: string) => core.services.get(latestCrash)?.(deviceId),
		devices: sessions.devices,
		timeZone: settings.timeZone,
		now,
		monotonic,
		yieldToLoop,
		storage,
		announce: (rollout: FrameOf<"rollout_update">) => {
			monitors.broadcast("rollouts", frameText(rollout));
			core.events.emit("rollout", rollout);
		},
		log,
	};
	const { id, bus, ownerOf } = peers;
	const rollouts = bus
		? new SharedRollouts({ ...parts, id, bus, ownerOf, earlier: store })
		: new Rollouts({ ...parts, store });
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
			await openStore();
			rollouts.open();
		},
		close: () => rollouts.close(),
	};
}
