/**
 * Runs before the firmware's main: says what is starting on which chip and why, which is the first thing to know of a board
 * that restarts by itself (a release build drops that), and has the end of the firmware reported.
 */

import { reportAborts } from "board/abort-report";
import { SystemFacts } from "board/system-facts";
import FFI from "mc/ffi";

export default function setup(done: () => void): void {
	const ffi = new FFI();
	reportAborts({
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
