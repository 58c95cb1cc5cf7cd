/** Signatures of webhooks, verified by the Standard Webhooks library. */

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Webhook } from "standardwebhooks";
import { readHooks } from "../../../gateway/webhooks/hooks.js";
import { bearer, runGateway, temporaryDirectory } from "../../support/running.js";
import { Receiver, withHooks } from "./receiver.js";

const secret = `whsec_${Buffer.from("the-key-of-the-receiver-of-32-by").toString("base64")}`;
const previousSecret = "secret-of-the-receiver";
const minuteMs = 60_000;

/** Starts a gateway with one hook to the receiver, and clocks that tests set. @returns a function that sends an event */
async function run(t: TestContext, receiver: Receiver, secrets: readonly string[]) {
	const clock = { aheadMs: 0 };
	const gateway = await runGateway(t, {
		now: () => Date.now() + clock.aheadMs,
		monotonic: () => performance.now() + clock.aheadMs,
		...withHooks([receiver.hook({ secrets })]),
	});
	const happen = (deviceId: string) =>
		gateway.rejected("/device", { ...bearer("a-token-that-is-not-right"), "Device-Id": deviceId });
	return { clock, happen };
}

async function signedAt(receiver: Receiver, count: number) {
	await receiver.until(count);
	const signed = receiver.signed[count - 1];
	assert.ok(signed, `only ${receiver.signed.length} deliveries`);
	return signed;
}

test("signs each attempt with the same id and its own time", async (t) => {
	const receiver = await new Receiver().listen(t);
	receiver.manner = 500;
	const { clock, happen } = await run(t, receiver, [secret]);
	const library = new Webhook(secret);
	await happen("dev-1-00000a");
	const first = await signedAt(receiver, 1);
	assert.deepEqual(library.verify(first.body, first.headers), receiver.received[0]);
	assert.equal(first.headers["webhook-id"], receiver.received[0]?.id);
	clock.aheadMs = 2 * minuteMs;
	const second = await signedAt(receiver, 2);
	library.verify(second.body, second.headers);
	assert.equal(second.body, first.body);
	assert.equal(second.headers["webhook-id"], first.headers["webhook-id"]);
	const time = (signed: typeof first) => Number(signed.headers["webhook-timestamp"]);
	assert.ok(time(second) - time(first) >= 120, `${time(second) - time(first)} s`);
});

test("signs with the new and the previous secret during rotation", async (t) => {
	const receiver = await new Receiver().listen(t);
	const path = join(await temporaryDirectory(t), "webhooks.json");
	await writeFile(path, JSON.stringify([{ url: receiver.url, secret, previousSecret }]));
	const [hook] = readHooks(path);
	assert.ok(hook, "no webhook was read");
	const { happen } = await run(t, receiver, hook.secrets);
	await happen("dev-1-00000a");
	const { body, headers } = await signedAt(receiver, 1);
	assert.equal(headers["webhook-signature"]?.split(" ").length, 2);
	new Webhook(secret).verify(body, headers);
	new Webhook(previousSecret, { format: "raw" }).verify(body, headers);
	assert.throws(() => new Webhook(Buffer.alloc(32), { format: "raw" }).verify(body, headers), /No matching/);
});

test("rejects to start with an invalid whsec_ secret, without printing it", async (t) => {
	const path = join(await temporaryDirectory(t), "webhooks.json");
	const url = "https://example.org/hook";
	const coded = (bytes: number) => `whsec_${Buffer.alloc(bytes, 7).toString("base64")}`;
	const read = async (entry: object) => {
		await writeFile(path, JSON.stringify([{ url, ...entry }]));
		return readHooks(path)[0]?.secrets;
	};
	for (const usable of [coded(24), coded(25), coded(64), previousSecret])
		assert.deepEqual(await read({ secret: usable }), [usable]);
	for (const wrong of [
		coded(23),
		coded(65),
		coded(32).slice(0, -1),
		`${coded(24)}!`,
		`whsec_${"-".repeat(32)}`,
	])
		for (const entry of [{ secret: wrong }, { secret, previousSecret: wrong }]) {
			const name = "previousSecret" in entry ? "previousSecret" : "secret";
			await assert.rejects(read(entry), ({ message }: Error) => {
				assert.ok(
					message.includes(`is wrong in 1: ${name} begins with whsec_, so the rest must be`),
					message,
				);
				assert.match(message, /openssl rand -base64 32/);
				return !message.includes(wrong);
			});
		}
	await assert.rejects(
		read({ secret, previousSecret: "too short" }),
		/previousSecret must be at least 16 printable/,
	);
});
