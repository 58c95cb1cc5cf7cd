/** Faults injected into the boards' TCP socket (hosts/esp32/tcp), each of which its random test must find. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { seed } from "../../support/seed.js";
import { compile, type Fault, prepareThreadSanitizer, reason, run } from "./tcp/random-test.js";

/** Steps; most faults are found within a few thousand. */
const steps = "100000";
/** Seeds tried after the first one. */
const moreSeeds = 4;

const work = mkdtempSync(join(tmpdir(), "tcp-"));
after(() => rmSync(work, { recursive: true, force: true }));

const faults: readonly Fault[] = [
	{
		name: "no lock",
		file: "tcp-port-test.c",
		replacements: [
			["pthread_mutex_lock(&lock);", "(void)lock;"],
			["pthread_mutex_unlock(&lock);", ""],
		],
		sanitizer: "thread",
		found: /ThreadSanitizer: data race/,
	},
	{
		name: "closes the descriptor before handing it over",
		file: "tcp-watcher.c",
		replacements: [
			[
				"slots[slot].is_closing = true;",
				"tcp_port_close(slots[slot].descriptor); slots[slot].descriptor = NONE;",
			],
		],
		sanitizer: "address",
		found: /a descriptor is closed that select\(\) waits for|select: Bad file descriptor/,
	},
	{
		name: "frees the memory before the table forgets it",
		file: "tcp-watcher.c",
		replacements: [
			["	slots[slot].owner = NULL;\n", ""],
			["	slots[slot].ready = 0;\n", ""],
		],
		sanitizer: "address",
		// A new connection may reuse the memory and then gets an event of the previous one.
		found: /AddressSanitizer: heap-use-after-free|an event after the error/,
	},
	{
		name: "frees memory in a callback that its caller still uses",
		file: "tcp-connection.c",
		replacements: [
			["	connection->use_count++;\n", ""],
			["	watch(connection);\n	release(connection);\n", "	watch(connection);\n"],
		],
		sanitizer: "address",
		found: /AddressSanitizer: heap-use-after-free/,
	},
	{
		name: "continues a connection's events after a close in a callback",
		file: "tcp-connection.c",
		replacements: [
			[
				"		if (connection->state == IS_OPEN && (conditions & TCP_WRITABLE))",
				"		if (conditions & TCP_WRITABLE) connection->events->on_writable(connection, 1);\n		if (conditions & TCP_WRITABLE)",
			],
		],
		sanitizer: "address",
		found: /FAILED at step/,
	},
	{
		name: "loses a message if the queue is full",
		file: "tcp-watcher.c",
		replacements: [
			[
				"	if (must_post && !tcp_port_post(deliver)) {\n		tcp_port_lock();\n		is_posted = false;\n		tcp_port_unlock();\n	}\n",
				"	if (must_post)\n		(void)tcp_port_post(deliver);\n",
			],
		],
		sanitizer: "address",
		found: /stalls/,
	},
	{
		name: "does not set a condition again",
		file: "tcp-connection.c",
		replacements: [
			["	connection->is_in_event = false;\n	watch(connection);\n", "	connection->is_in_event = false;\n"],
		],
		sanitizer: "address",
		found: /stalls|nothing is announced/,
	},
	{
		name: "stages bytes that no event announced",
		file: "tcp-connection.c",
		replacements: [
			["stage(connection, connection->offered)", "stage(connection, sizeof connection->staged)"],
		],
		sanitizer: "address",
		found: /stalls/,
	},
	{
		name: "reports the peer's close before its bytes",
		file: "tcp-connection.c",
		replacements: [
			[
				"	if (unread == 0)\n		return fail(connection);\n",
				"	if (unread < 64)\n		return fail(connection);\n",
			],
		],
		sanitizer: "address",
		found: /without a cause|the error came before/,
	},
];

describe("random test of the TCP socket", { skip: reason }, () => {
	before(() => prepareThreadSanitizer(work));

	for (const [index, fault] of faults.entries())
		test(`finds an injected fault: ${fault.name}`, async () => {
			const program = compile(work, `fault-${index}`, fault.sanitizer, fault);
			let { status, output } = await run(program, steps, String(seed));
			// Some faults show up only in few schedules.
			for (let more = 1; status === 0 && more <= moreSeeds; more++)
				({ status, output } = await run(program, steps, String(seed + more)));
			assert.notEqual(status, 0, "fault not detected");
			assert.match(output, fault.found);
		});
});
