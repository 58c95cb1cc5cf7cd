/**
 * Runs before the firmware's main: says what is starting on which chip and why, which is the first thing to know of a board
 * that restarts by itself. A release build drops it.
 */

import { SystemFacts } from "board/system-facts";

export default function setup(done: () => void): void {
	const facts = new SystemFacts();
	trace(
		`${facts.compiledModel} ${facts.firmwareVersion}, ESP-IDF ${facts.idfVersion}, ${facts.flashSizeMB} MB flash, ` +
			`${facts.psramSizeMB} MB PSRAM, ${facts.resetReason}\n`,
	);
	done();
}
