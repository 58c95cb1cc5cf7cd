import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { commandEntries } from "../../../gateway/api/commands.js";
import { auditText } from "../../../gateway/dashboard/page/model/audit-text.js";
import { monitorMessages } from "../../../gateway/sockets/monitor-commands.js";

const textOf = (what: string, sent?: object) =>
	auditText({ what, detail: sent === undefined ? null : JSON.stringify(sent) });

describe("audit log text", () => {
	test("exists for each monitor message and command", () => {
		for (const type of Object.keys(monitorMessages).filter((each) => each !== "control_device"))
			assert.notEqual(textOf(type).words, type);
		for (const command of Object.keys(commandEntries)) {
			const { words } = textOf("control_device", { payload: { command, value: 40 } });
			assert.notEqual(words, "control_device");
			assert.doesNotMatch(words, /\{/);
		}
	});

	test("includes parameters, and shows truncated ones unchanged", () => {
		const payload = { command: "set_volume", value: 40 };
		const volume = { words: "Volume set to 40", rest: "" };
		assert.deepEqual(textOf("control_device", { payload }), volume);
		assert.deepEqual(textOf("POST /api/commands", { targets: { room: "Kitchen" }, payload }), {
			...volume,
			words: "Volume set to 40 in Kitchen",
		});
		const { words } = textOf("POST /api/commands", { targets: { tags: "shop and not beta" }, payload });
		assert.equal(words, "Volume set to 40 on devices with shop and not beta");
		const targets = { devices: ["dev-1-a", "dev-1-b"] };
		assert.equal(textOf("POST /api/commands", { targets, payload }).rest, "devices: dev-1-a, dev-1-b");
		assert.deepEqual(textOf("POST /api/announcements", { text: "Dinner", targets: { all: true } }), {
			words: "Announced on all devices",
			rest: "text: Dinner",
		});
		assert.equal(textOf("DELETE /api/tokens/anna").words, "Token of anna revoked");
		const away = textOf("DELETE /api/devices?awayDays=30");
		assert.equal(away.words, "Devices forgotten that were away for 30 days");
		const label = textOf("PATCH /api/devices/dev-1-a1b2c3", { name: "Lobby", room: "Hall" });
		assert.deepEqual(label, { words: "Name, room, note or tags changed", rest: "name: Lobby, room: Hall" });
		const cut = auditText({ what: "POST /api/tokens", detail: '{"name":"an…' });
		assert.deepEqual(cut, { words: "Token made for …, who is a …", rest: '{"name":"an…' });
		assert.equal(textOf("POST /api/later").words, "POST /api/later");
	});
});
