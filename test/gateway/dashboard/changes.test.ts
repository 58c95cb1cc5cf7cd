import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { commandEntries } from "../../../gateway/api/commands.js";
import { routeTables } from "../../../gateway/api/routes.js";
import { auditText } from "../../../gateway/dashboard/page/model/audit-text.js";
import { monitorMessages } from "../../../gateway/sockets/monitor-commands.js";

const changeOf = (what: string, sent?: object, deviceId: string | null = null) =>
	auditText({ what, deviceId, detail: sent === undefined ? null : JSON.stringify(sent) });
const textOf = (what: string, sent?: object) => changeOf(what, sent).text;

describe("audit log text", () => {
	test("is a sentence for each monitor message, command and audited route", () => {
		const messages = Object.keys(monitorMessages).filter((each) => each !== "control_device");
		const texts = [
			...messages.map((type) => textOf(type)),
			...Object.keys(commandEntries).map((command) =>
				textOf("control_device", { payload: { command, value: 40 } }),
			),
			...routeTables.flatMap(({ routes }) =>
				Object.entries(routes)
					.filter(([name, { roles, isAudited = !name.startsWith("GET ") }]) => roles !== null && isAudited)
					.map(([name]) => textOf(name.replaceAll(/:\w+/g, "x"), {})),
			),
		];
		assert.ok(texts.length > 50, `${texts.length} texts`);
		for (const text of texts) assert.match(text, /^(?!made a change$)[a-z][^{}[\]/]+$/, text);
	});

	test("names values, place and devices without JSON", () => {
		const payload = { command: "set_volume", value: 40 };
		const nowhere = { color: undefined, place: undefined, deviceIds: [] };
		assert.deepEqual(changeOf("control_device", { payload }, "dev-1-a"), {
			...nowhere,
			text: "set the volume to 40",
			deviceIds: ["dev-1-a"],
		});
		const send = (targets: object) => changeOf("POST /api/commands", { payload, targets });
		assert.equal(send({ room: "Kitchen" }).place, "Kitchen");
		assert.equal(send({ tags: "shop and not beta" }).place, "shop and not beta");
		assert.equal(send({ all: true }).place, "all devices");
		assert.deepEqual(send({ devices: ["dev-1-a", "dev-1-b"] }).deviceIds, ["dev-1-a", "dev-1-b"]);
		const light = (value: object) => changeOf("control_device", { payload: { command: "set_light", value } });
		assert.deepEqual(light({ color: "#ff0000" }), {
			...nowhere,
			text: "set the ring to ● red",
			color: "#ff0000",
		});
		assert.equal(light({ color: [0, 0, 255], effect: "blink" }).text, "set the ring to ● blue, blink");
		const dim = { payload: { command: "set_brightness", value: 0.25 } };
		assert.equal(textOf("control_device", dim), "set the brightness to 25 %");
		const settings = { payload: { command: "set_settings", value: { ssid: "shop", password: "…" } } };
		assert.equal(textOf("control_device", settings), "changed settings: Wi-Fi name, Wi-Fi password");
		assert.equal(textOf("POST /api/announcements", { text: "Dinner" }), "announced “Dinner”");
		assert.equal(textOf("DELETE /api/tokens/Anna%20Gro%C3%9F"), "revoked the access token of Anna Groß");
		assert.equal(textOf("DELETE /api/devices?awayDays=30"), "forgot devices away for 30 days");
		const label = textOf("PATCH /api/devices/dev-1-a1b2c3", { name: "Lobby", room: "Hall", note: "" });
		assert.equal(label, "set the name to “Lobby” and the room to “Hall” and removed the note");
		const rollout = { firmware: { version: "1.4.0" }, target: { model: "DEV-1" } };
		assert.deepEqual(changeOf("PUT /api/rollouts/x", rollout), {
			...nowhere,
			text: "started a rollout of 1.4.0",
			place: "DEV-1",
		});
	});

	test("uses the complete part of a truncated request, and hides an unknown path", () => {
		const cut = (what: string, detail: string) => auditText({ what, detail, deviceId: null });
		const many = cut(
			"POST /api/commands",
			'{"payload":{"command":"restart"},"targets":{"devices":["a","b","c…',
		);
		assert.deepEqual([many.text, many.place, many.deviceIds], ["requested a restart", "many devices", []]);
		assert.equal(cut("POST /api/tokens", '{"name":"an…').text, "invited a person");
		assert.equal(textOf("POST /api/later"), "made a change");
	});
});
