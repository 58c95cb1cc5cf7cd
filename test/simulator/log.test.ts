/** Log of the simulator's panel: its lines for messages and traces. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Log, type LogLine } from "../../hosts/simulator/modules/log.js";

function createLog() {
	const lines: LogLine[] = [];
	const sounds: unknown[] = [];
	const log = new Log({ onLine: (line) => lines.push(line), onSound: (sound) => sounds.push(sound) });
	return { log, lines, sounds };
}

/** Lines as the panel shows them. */
function shown(lines: readonly LogLine[]): string[] {
	const texts: string[] = [];
	for (const { text, isReplacing } of lines) {
		if (isReplacing) texts.pop();
		texts.push(text);
	}
	return texts;
}

function report({ volume = 70, uptime = 5, heap = 0 } = {}): string {
	return JSON.stringify({
		type: "state_report",
		timestamp: `2026-01-01T00:00:${String(uptime).padStart(2, "0")}Z`,
		health: { uptime_seconds: uptime, free_heap_bytes: heap, min_free_heap_bytes: heap },
		peripherals: { audio: { volume, current_track: "none" }, touch_active: false },
	});
}

test("shows a command with its value", () => {
	const { log, lines } = createLog();
	log.received('{"command":"set_volume","value":31}');
	log.received('{"command":"set_led","value":"failed"}');
	log.received('{"command":"query_state"}');
	assert.deepEqual(shown(lines), ["< set_volume 31", '< set_led "failed"', "< query_state"]);
	assert.deepEqual(
		lines.map(({ kind }) => kind),
		["command", "command", "command"],
	);
});

test("hides the values of settings and the query string of an address", () => {
	const { log, lines } = createLog();
	log.received('{"command":"set_settings","value":{"ssid":"Home","password":"s3cret-1","token":"s3cret-2"}}');
	log.received('{"command":"start_ota","url":"http://h/f.bin?key=s3cret-3","cert_pem":"s3cret-4"}');
	assert.deepEqual(shown(lines), ["< set_settings ssid, password, token", "< start_ota http://h/f.bin"]);
});

test("shows a state report by its changes since the previous one", () => {
	const { log, lines } = createLog();
	log.sent(report());
	log.sent(report({ volume: 31, uptime: 10, heap: 7 }));
	assert.deepEqual(shown(lines), ["> state_report, the first", "> state_report: audio.volume 31"]);
});

test("counts successive unchanged state reports in one line", () => {
	const { log, lines } = createLog();
	for (const uptime of [5, 10, 15, 20]) log.sent(report({ uptime, heap: uptime }));
	assert.deepEqual(shown(lines), ["> state_report, the first", "> state_report, unchanged (3 times)"]);
	log.received('{"command":"query_state"}');
	log.sent(report({ uptime: 21 }));
	assert.deepEqual(shown(lines).slice(2), ["< query_state", "> state_report, unchanged"]);
});

test("shows the sound of each state report, a chime by its name", () => {
	const { log, sounds } = createLog();
	for (const audio of [
		{ player_state: "playing", current_track: "file:///chimes/startup" },
		{ player_state: "playing", current_track: "file:///sounds/a1b2" },
		{ player_state: "paused", current_track: "file:///sounds/a1b2" },
		{ player_state: "stopped", current_track: "none" },
		{ player_state: "idle", current_track: "none" },
	])
		log.sent(JSON.stringify({ type: "state_report", peripherals: { audio } }));
	assert.deepEqual(sounds, [
		{ name: "startup", isHeld: false },
		{ name: "a sound", isHeld: false },
		{ name: "a sound", isHeld: true },
		null,
		null,
	]);
});

test("shows the progress of an update in one line, and its end in another", () => {
	const { log, lines } = createLog();
	for (const percent of [1, 2, 3]) {
		const progress = { type: "ota_progress", percent, bytes_written: percent * 10, bytes_total: 1000 };
		log.sent(JSON.stringify(progress));
	}
	log.sent('{"type":"ota_error","reason":"the image is damaged"}');
	assert.deepEqual(shown(lines), ["> update 3 %, 30 of 1000 bytes", "> update failed: the image is damaged"]);
	log.sent('{"type":"ota_complete"}');
	assert.equal(lines.at(-1)?.text, "> update complete");
});

test("shows rejected commands and the end of a settings trial with their reasons", () => {
	const { log, lines } = createLog();
	log.sent('{"type":"command_error","command":"sing","code":"unknown_command","message":"there is no sing"}');
	log.sent('{"type":"settings_result","outcome":"returned","reason":"no access point"}');
	assert.deepEqual(shown(lines), [
		"> sing rejected: there is no sing",
		"> settings returned. no access point",
	]);
	assert.equal(lines[0]?.kind, "problem");
});

test("shows a traced line once it is complete; the end of a connection is a problem", () => {
	const { log, lines } = createLog();
	log.traced("gateway con");
	assert.deepEqual(lines, []);
	log.traced("nected\ngateway: the connection was lost\nnext attempt to reach the gateway in 0.7 s\n");
	assert.deepEqual(
		lines.map(({ kind, text }) => [kind, text]),
		[
			["trace", "gateway connected"],
			["problem", "gateway: the connection was lost"],
			["problem", "next attempt to reach the gateway in 0.7 s"],
		],
	);
});

test("limits the line length for invalid and long messages", () => {
	const { log, lines } = createLog();
	log.received("null");
	log.received("{");
	log.sent("[");
	log.received(JSON.stringify({ command: "set_led", value: "x".repeat(5000) }));
	assert.deepEqual(shown(lines).slice(0, 2), ["< invalid message: null", "< invalid message: {"]);
	assert.equal(lines.length, 4);
	assert.equal(lines[3]?.text.length, 301);
});
