/** Runs before the firmware's main: requests the stored settings from the panel, then sets the global `device`. */

import { reportAborts } from "moddable/abort-report";
import { requireModel } from "protocol/models";
import { createHost } from "simulator/host";
import { Panel } from "simulator/panel";
import { describeHang, Watchdog } from "simulator/watchdog";
import { TraceLines } from "virtual/trace-lines";

export default function setup(done: () => void): void {
	const panel = new Panel();
	const lines = new TraceLines();
	const print = trace;
	reportAborts({
		note: (kind, message, stack) =>
			panel.post({ abort: kind === "watchdog" ? describeHang() : { kind, message, stack } }),
		print,
		drain: () => {},
	});
	keepTrace((text) => {
		panel.post({ trace: text });
		lines.write(text);
	});
	new Watchdog();
	panel.onBoot = (boot) => {
		const model = requireModel(boot.model);
		Object.defineProperty(globalThis, "device", { value: createHost({ model, panel, boot, lines }) });
		done();
	};
	panel.post({ ready: true });
}

/** Passes trace output to `keep`, in addition to the debugger and the terminal. */
function keepTrace(keep: (text: string) => void): void {
	const original = trace;
	const value = (...texts: Parameters<typeof trace>) => {
		original(...texts);
		keep(texts.join(""));
	};
	Object.defineProperty(globalThis, "trace", { value });
}
