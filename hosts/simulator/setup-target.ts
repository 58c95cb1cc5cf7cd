/** Runs before the firmware's main: gets the stored settings from the panel, in a later turn, then sets the global `device`. */

import config from "mc/config";
import { createHost } from "simulator/host";
import { Panel } from "simulator/panel";

export default function setup(done: () => void): void {
	const model = config.model === "PROTO-1" ? "PROTO-1" : "DEV-1";
	const panel = new Panel();
	panel.onBoot = (boot) => {
		Object.defineProperty(globalThis, "device", { value: createHost({ model, panel, boot }) });
		done();
	};
	panel.post({ ready: { model } });
}
