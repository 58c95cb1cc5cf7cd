/**
 * Folder of a simulated device with its settings, MAC address, build and mcsim's copy of the app. Each simulator has its own, since
 * two devices with the same address would disconnect each other from the gateway.
 */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Model } from "../../device/protocol/schema.js";
import { acquireLock } from "../../hosts/virtual/node/process-lock.js";
import type { Desktop } from "../moddable/sdk.js";

const mostOfOneModel = 100;

interface FolderOptions {
	/** Folder of all simulated devices. */
	readonly parent: string;
	readonly model: Model;
	readonly desktop: Desktop;
}

export interface SimulatorFolder {
	readonly path: string;
	/** Releases the folder for another process. */
	readonly close: () => void;
}

/** Claims the first free folder. @throws Error if none is free */
export function claimFolder({ parent, model, desktop }: FolderOptions): SimulatorFolder {
	// On other systems mcsim has a single folder.
	const most = desktop === "lin" ? mostOfOneModel : 1;
	for (let number = 1; number <= most; number++) {
		const path = join(parent, `${model.toLowerCase()}${number === 1 ? "" : `-${number}`}`);
		mkdirSync(path, { recursive: true });
		const close = acquireLock(join(path, "pid"));
		if (close) return { path, close };
	}
	throw new Error(
		desktop === "lin"
			? `${most} simulated ${model} devices are already running. Stop one of them first.`
			: `A simulated ${model} is already running, and another one would share its settings on this system. Stop it first, or use npm run device for more devices.`,
	);
}
