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
			assert.notEqual(textOf(type).text, type);
		for (const command of Object.keys(commandEntries)) {
			const { text } = textOf("control_device", { payload: { command, value: 40 } });
			assert.notEqual(text, "control_device");
			assert.doesNotMatch(text, /\{/);
		}
	});

	test("includes parameters, and shows truncated ones unchanged", () => {
		const payload = { command: "set_volume", value: 40 };
		const volume = { text: "Volume set to 40", rest: "" };
		assert.deepEqual(textOf("control_device", { payload }), volume);
		assert.deepEqual(textOf("POST /api/commands", { targets: { room: "Kitchen" }, payload }), {
			...volume,
			text: "Volume set to 40 in Kitchen",
		});
		const { text } = textOf("POST /api/commands", { targets: { tags: "shop and not beta" }, payload });
		assert.equal(text, "Volume set to 40 on devices with shop and not beta");
		const targets = { devices: ["dev-1-a", "dev-1-b"] };
		assert.equal(textOf("POST /api/commands", { targets, payload }).rest, "devices: dev-1-a, dev-1-b");
		assert.deepEqual(textOf("POST /api/announcements", { text: "Dinner", targets: { all: true } }), {
			text: "Announcement started on all devices",
			rest: "text: Dinner",
		});
		assert.equal(textOf("DELETE /api/tokens/Anna%20Gro%C3%9F").text, "Token of Anna Groß revoked");
		const away = textOf("DELETE /api/devices?awayDays=30");
		assert.equal(away.text, "Forgot devices away for 30 days");
		const label = textOf("PATCH /api/devices/dev-1-a1b2c3", { name: "Lobby", room: "Hall" });
		assert.deepEqual(label, { text: "Name, room, note or tags changed", rest: "name: Lobby, room: Hall" });
		const cut = auditText({ what: "POST /api/tokens", detail: '{"name":"an…' });
		assert.deepEqual(cut, { text: "Token created for … (…)", rest: '{"name":"an…' });
		assert.equal(textOf("POST /api/later").text, "POST /api/later");
	});
});
