/**
 * Runs before the firmware's main: keeps how the previous run ended, keeps what is traced, says what starts on which chip and why,
 * and reports aborts.
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

/** Makes the global `trace` keep its texts in memory too. */
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
