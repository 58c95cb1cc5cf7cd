/**
 * Runs before the firmware's main: saves the crash record of the previous run, starts keeping the trace, logs the firmware and chip, and
 * installs the abort reporter.
 */

import { nativeFunctions } from "board/native";
import { SystemFacts } from "board/system";
import { reportAborts } from "moddable/abort-report";

export default function setup(done: () => void): void {
	const ffi = nativeFunctions();
	ffi.board_crash_start();
	keepTrace((text) => ffi.board_trace(text));
	reportAborts({
		note: (kind, message, stack) => ffi.board_crash_note(kind, message, stack),
		print: (text) => ffi.board_print(text),
		drain: () => ffi.board_drain_console(),
	});
	const facts = new SystemFacts();
	trace(
		`${facts.compiledModel} ${facts.firmwareVersion}, ESP-IDF ${facts.idfVersion}, ${facts.flashSizeMB} MB flash, ` +
			`${facts.psramSizeMB} MB PSRAM, ${facts.resetReason}\n`,
	);
	done();
}

/** Wraps the global `trace` to also keep its output in memory. */
function keepTrace(keep: (text: string) => void): void {
	const print = trace;
	const kept = (...values: unknown[]): void => {
		for (const value of values) {
			const text = String(value);
			print(text);
			keep(text);
		}
	};
	Object.assign(globalThis, { trace: kept });
}
