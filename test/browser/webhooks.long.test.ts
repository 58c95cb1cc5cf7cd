/** An administrator tests webhooks, of which one is rejected and one has ended. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Receiver, withHooks } from "../gateway/webhooks/receiver.js";
import { skip } from "../support/chromium.js";
import { runGateway } from "../support/running.js";
import { checkView } from "./axe.js";
import { browsing } from "./browsing.js";

const open = browsing();

test("webhooks", { skip }, async (t) => {
	const receivers = [
		await new Receiver().listen(t),
		await new Receiver().listen(t),
		await new Receiver().listen(t),
	];
	const [takes, rejects, ends] = receivers;
	assert.ok(takes && rejects && ends, "no receivers");
	rejects.manner = 500;
	ends.manner = 410;
	const ids = ["0123456789abcdef", "fedcba9876543210", "0011223344556677"];
	const hooks = receivers.map((receiver, index) =>
		receiver.hook({ id: ids[index] ?? "", events: ["away"], after: 7 }),
	);
	const { url } = await runGateway(t, withHooks(hooks));
	const page = await open(t, url, { view: "#/settings/devices" });
	const panel = page.getByRole("region", { name: "Webhooks" });

	await t.test("are listed without secrets, and show the response to a test", async () => {
		await panel.getByText("offline for 7 min").first().waitFor();
		await panel.getByText(new URL(takes.url).origin).waitFor();
		assert.doesNotMatch(await page.content(), /secret-path|secret-of-the-receiver/);
		for (const [index, role, result] of [
			[1, "status", "Test delivered (204)."],
			[2, "alert", "Test rejected (500)."],
			[3, "alert", "Test rejected (410)."],
		] as const) {
			await panel.getByRole("button", { name: `Test webhook ${index}` }).click();
			await panel.getByRole(role).getByText(result).waitFor();
		}
		const events = takes.received.map(({ event }) => event);
		assert.deepEqual(events, ["test"]);
		await checkView(page);
	});

	await t.test("are an issue once the receiver has ended one, until it is dismissed", async () => {
		await page.getByRole("link", { name: "Issues 1" }).click();
		await page.getByRole("button", { name: "Webhook disabled" }).click();
		const ended = page.getByRole("dialog", { name: "Webhook disabled" });
		await ended.getByText(new URL(ends.url).origin, { exact: true }).waitFor();
		await checkView(page);
		await ended.getByRole("button", { name: /^Dismiss/ }).click();
		await ended.waitFor({ state: "detached" });
		await page.goto(`${url}/#/settings/devices`);
		await panel.getByText(/disabled by response 410/).waitFor();
	});
});
