import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import {
	age,
	bytes,
	clock,
	duration,
	signalBars,
	withFieldName,
} from "../../../../gateway/api/client/words.js";

test("formats numbers in common units", () => {
	assert.equal([0, 59, 60, 3_725, 200_000].map(duration).join(), "0 s,59 s,1 min,1 h 2 min,2 d 7 h");
	assert.deepEqual([0, 1999, 2000].map(age), ["just now", "just now", "2 s ago"]);
	assert.deepEqual([100, 187_000, 1_300_000].map(bytes), ["100 B", "183 KB", "1.2 MB"]);
	assert.equal(clock(Date.parse("2026-11-27T06:00:00Z") / 1000, "Europe/Berlin"), "07:00");
	assert.deepEqual([-50, -60, -70, -85].map(signalBars), [4, 3, 2, 1]);
});

test("formats times and dates as in the language of the computer", async () => {
	const words = fileURLToPath(new URL("../../../../gateway/api/client/words.ts", import.meta.url));
	const contents = `import { clock, dayText, when } from ${JSON.stringify(words)};
		const time = "2026-11-27T14:05:00Z";
		console.log([when(time), clock(Date.parse(time) / 1000, "UTC"), dayText(time, "UTC")].join("; "))`;
	const stdin = { contents, resolveDir: "." };
	const { outputFiles } = await build({ stdin, bundle: true, platform: "node", write: false });
	for (const [LANG, text] of Object.entries({
		"en_US.UTF-8": "Nov 27, 2026, 2:05 PM; 2:05 PM; Fri, Nov 27",
		"de_DE.UTF-8": "27.11.2026, 14:05; 14:05; Fr., 27. Nov.",
	})) {
		const env = { ...process.env, TZ: "UTC", LANG, NODE_OPTIONS: "" };
		const program = ["--eval", outputFiles[0]?.text ?? ""];
		const shown = execFileSync(process.execPath, program, { env, encoding: "utf8" });
		assert.equal(shown.trim().replaceAll("\u202f", " "), text);
	}
});

test("names a field in a rejection by its label instead of its path", () => {
	const names = { gateway: "Gateway address", concurrency: "Then at a time" };
	for (const [text, words] of [
		["payload: set_settings: value.gateway must be an address.", "Gateway address must be an address."],
		["groups.0.concurrency must be from 1 to 500.", "Then at a time must be from 1 to 500."],
		["value.ca must be a certificate.", "value.ca must be a certificate."],
		["The gateway is not ready.", "The gateway is not ready."],
	] as const)
		assert.equal(withFieldName(text, names), words);
});
