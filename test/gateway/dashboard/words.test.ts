import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { uplinks } from "../../../device/protocol/messages.js";
import { matches } from "../../../device/protocol/schema.js";
import { withFieldName } from "../../../gateway/api/client/words.js";
import { resetText } from "../../../gateway/api/statuses.js";
import { auditText } from "../../../gateway/dashboard/page/model/audit-text.js";
import { markText, memoryText, signalText } from "../../../gateway/dashboard/page/model/health-text.js";
import { uplinkText } from "../../../gateway/dashboard/page/model/report-changes.js";
import { inheritedNames } from "../../support/arbitraries.js";
import { type Json, sampleReport } from "../../support/sample-report.js";
import { stateReport } from "./state-report.js";

function said(fields: Readonly<Record<string, Json>>): string {
	return uplinkText(stateReport("PROTO-1", fields), stateReport("PROTO-1"));
}

describe("report text", () => {
	test("describes the changes since the previous report", () => {
		assert.equal(said({ "network.wifi_rssi": -63 }), "wifi rssi -50 → -63");
		assert.equal(said({ "health.safe_mode": true }), "safe mode – → true");
	});

	test("omits fields that always change", () => {
		assert.equal(said({ timestamp: "2026-11-20T12:00:05.000Z", "health.uptime_seconds": 3605 }), "no change");
	});

	test("lists at most three changes", () => {
		const four = {
			"network.wifi_rssi": -63,
			"peripherals.audio.volume": 7,
			"peripherals.ambient_light": 1,
			"peripherals.haptic_intensity": 2,
		};
		assert.match(said(four), /^wifi rssi .+, volume 50 → 7, .+ and 1 more$/);
	});
});

test("describes the health of a device", () => {
	assert.equal(resetText("POWERON_RESET"), "power on");
	assert.equal(resetText("NEW_KIND_RESET"), "new kind reset");
	const memory = [7, 8, 19, 20].map((kib) => memoryText(kib * 1024));
	assert.deepEqual(memory, ["low", "tight", "tight", "fine"]);
	assert.deepEqual([-50, -60, -70, -85].map(signalText), ["strong", "good", "fair", "weak"]);
	const at = "2026-11-20T12:00:00.000Z";
	const update = { at, kind: "update", reason: "rolled_back", version: "1.4.0" } as const;
	assert.equal(markText(update), "Update to 1.4.0: rolled back");
	assert.equal(markText({ ...update, kind: "crash", reason: "out_of_memory" }), "Crash: out of memory");
	assert.equal(
		markText({ ...update, kind: "restart", reason: "BROWNOUT_RESET" }),
		"Restart: supply voltage too low",
	);
});

test("shows an inherited name unchanged", () => {
	const report = sampleReport("DEV-1");
	for (const name of inheritedNames) {
		const words = name.replaceAll("_", " ");
		const mark = { at: "", version: null, reason: name };
		assert.equal(resetText(name), words.toLowerCase());
		assert.equal(markText({ ...mark, kind: "crash" }), `Crash: ${name.toLowerCase()}`);
		assert.equal(markText({ ...mark, kind: "update" }), `Update: ${name}`);
		assert.equal(auditText({ what: name, after: {}, deviceId: null }).text, "made a change");
		assert.match(auditText({ what: "set_led", after: {}, deviceId: null }).text, /…/);
		assert.equal(withFieldName(`${name} must be 1`, {}), `${name} must be 1`);
		const known = Object.fromEntries([...Object.entries(report), [name, 1]]);
		assert.equal(matches(uplinks.state_report, known) && uplinkText(known, report), `${words} – → 1`);
	}
});
