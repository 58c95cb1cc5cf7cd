import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { commandEntries } from "../../../gateway/api/commands.js";
import { routeTables } from "../../../gateway/api/routes.js";
import { auditText } from "../../../gateway/dashboard/page/model/audit-text.js";

type Fields = Readonly<Record<string, unknown>>;

const changeOf = (what: string, after: Fields = {}, before: Fields = {}) =>
	auditText({ what, deviceId: null, after, before });
const textOf = (...change: Parameters<typeof changeOf>) => changeOf(...change).text;

describe("audit log text", () => {
	test("is a sentence for each command and audited route", () => {
		const routes = routeTables.flatMap(({ routes }) =>
			Object.entries(routes)
				.filter(([name, { roles, isAudited = !name.startsWith("GET ") }]) => roles !== null && isAudited)
				.map(([name]) => name),
		);
		assert.ok(routes.length > 20, `${routes.length} routes`);
		for (const what of [...Object.keys(commandEntries), ...routes])
			assert.match(
				textOf(what, { value: 40 }),
				/^(?!made a change$)[a-z][^{}[\]/]+$/,
				`edit the sentence of ${what} in gateway/dashboard/page/model/audit-text.ts`,
			);
		assert.equal(textOf("POST /api/later"), "made a change");
	});

	for (const [what, after, text, before] of [
		["set_volume", { value: 40 }, "set the volume to 40"],
		["set_volume", { value: 40 }, "set the volume from 60 to 40", { value: 60 }],
		["set_brightness", { value: 0.25 }, "set the brightness to 25 %", { value: 0.25 }],
		["set_mute", { value: true }, "turned mute on", { value: false }],
		["set_light", { value: { color: [0, 0, 255], effect: "blink" } }, "set the ring to ● blue, blink"],
		[
			"set_settings",
			{ value: { ssid: "shop", password: "…" } },
			"changed settings: Wi-Fi name, Wi-Fi password",
		],
		["POST /api/announcements", { text: "Dinner" }, "announced “Dinner”"],
		["DELETE /api/sounds/:id", { id: "d1" }, "deleted a sound, “Gong”", { name: "Gong" }],
		["DELETE /api/tokens/:name", { name: "Anna Groß" }, "revoked the access token of Anna Groß"],
		["DELETE /api/devices", { awayDays: 30 }, "forgot devices offline for 30 days"],
		["PATCH /api/devices/:deviceId", { name: "Patio" }, "renamed Terrace to Patio", { name: "Terrace" }],
		[
			"PATCH /api/devices/:deviceId",
			{ name: "Lobby", room: "Hall", note: "", tags: ["beta"] },
			"named it Lobby, moved it from Attic to Hall, removed the note and set the tags beta",
			{ room: "Attic", note: "x" },
		],
	] as const)
		test(`names ${what} with ${JSON.stringify(after)} after ${JSON.stringify(before)}`, () =>
			assert.equal(textOf(what, after, before), text));

	test("names the place and the devices", () => {
		const placeOf = (targets: object) => changeOf("set_volume", { value: 40, targets }).place;
		assert.equal(placeOf({ room: "Kitchen" }), "Kitchen");
		assert.equal(placeOf({ tags: "shop and not beta" }), "shop and not beta");
		assert.equal(placeOf({ all: true }), "all devices");
		assert.equal(placeOf({ devices: ["a", "b", "… 18 more"] }), "20 devices");
		const { deviceIds } = changeOf("restart", { targets: { devices: ["a", "b"] } });
		assert.deepEqual(deviceIds, ["a", "b"]);
		const rollout = { firmware: { version: "1.4.0" }, target: { model: "DEV-1" } };
		const { text, place } = changeOf("PUT /api/rollouts/:id", rollout);
		assert.deepEqual([text, place], ["started a rollout of 1.4.0", "DEV-1"]);
		assert.equal(changeOf("set_light", { value: { color: "#ff0000" } }).color, "#ff0000");
	});
});
