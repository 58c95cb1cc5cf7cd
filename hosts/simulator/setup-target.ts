/** Runs before the firmware's main: gets the stored settings from the panel, in a later turn, then sets the global `device`. */

import config from "mc/config";
import { createHost } from "simulator/host";
import { Log } from "simulator/log";
import { Panel } from "simulator/panel";

export default function setup(done: () => void): void {
	const model = config.model === "PROTO-1" ? "PROTO-1" : "DEV-1";
	const panel = new Panel();
	const log = new Log({ onLine: (line) => panel.post({ log: line }) });
	showTraces(log);
	panel.onBoot = (boot) => {
		Object.defineProperty(globalThis, "device", { value: createHost({ model, panel, boot, log }) });
		done();
	};
	panel.post({ ready: { model } });
}

/** The debugger and the terminal get them as well. */
function showTraces(log: Log): void {
	const original = trace;
	const value = (...texts: Parameters<typeof trace>) => {
		original(...texts);
		log.traced(texts.join(""));
	};
	Object.defineProperty(globalThis, "trace", { value });
}
