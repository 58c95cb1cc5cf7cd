/** Discovery by a device without a `gateway` setting, in virtual time. The test responds to its mDNS questions. */

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { createServer } from "node:net";
import { describe, type TestContext, test } from "node:test";
import { decode, encode } from "dns-packet";
import { waitUntil } from "../../support/eventually.js";
import { freePort, listen } from "../../support/ports.js";
import { powerOn, runScriptedGateway, type ScriptedGateway } from "../../support/scripted-gateway.js";
import { pass, passUntil, yieldToSockets } from "../../support/virtual-time.js";

const token = "device-token-of-the-tests";
const deviceId = "dev-1-020000a1b2c3";

function proofOf(text: string, key = token): string {
	return createHmac("sha256", key).update(text).digest("hex").slice(0, 32);
}

interface Question {
	readonly nonce: string;
	readonly deviceId: string;
	readonly proof: string;
	answer(facts: readonly string[]): void;
}

/** @param onQuestion called for each datagram that the device sends */
async function search(
	t: TestContext,
	onQuestion: (question: Question, count: number) => void,
	settings: Readonly<Record<string, string>> = {},
) {
	const traced: string[] = [];
	let questions = 0;
	let fail = (_reason: string) => {};
	const failed = new Promise<never>((_, reject) => {
		fail = (reason) => reject(new Error(reason));
	});
	failed.catch(() => {});
	const device = await powerOn(t, { url: "" }, "DEV-1", {
		clock: "virtual",
		settings: { gateway: "", token, ...settings },
		onTrace: (text) => traced.push(text),
		onOpen: (channel) => {
			if (channel.kind !== "udp") return undefined;
			return {
				onPost(request, detail, payload) {
					assert.equal(request, "write");
					assert.deepEqual(detail, { address: "224.0.0.251", port: 5353 });
					const [question] = decode(payload).questions ?? [];
					const [nonce = "", id = "", proof = "", ...rest] = question?.name.split(".") ?? [];
					assert.equal(rest.join("."), "_sub._device-gateway._tcp.local");
					const answer = (facts: readonly string[]) =>
						channel.send(
							"datagram",
							null,
							encode({ type: "response", answers: [{ name: "x", type: "TXT", data: [...facts] }] }),
						);
					if (questions > 20) fail("found no gateway");
					onQuestion({ nonce, deviceId: id, proof, answer }, ++questions);
				},
			};
		},
	});
	/** Advances the clock until the device has connected or has given up. */
	const connectionTo = (gateway: ScriptedGateway) =>
		passUntil(device, Promise.race([gateway.connection(), failed]));
	return { device, traced, countQuestions: () => questions, fail, connectionTo };
}

/** Response of a gateway that knows the token. */
function factsOf({ nonce }: Question, address: string, key = token): readonly string[] {
	return [
		"path=/device",
		`address=${address}`,
		`proof=${proofOf(`gateway answer ${nonce} ${deviceId} ${address}`, key)}`,
	];
}

describe("device without a gateway address", () => {
	test("discovers the gateway that knows its token, connects and stores its address", async (t) => {
		const gateway = await runScriptedGateway(t);
		const asked: Question[] = [];
		const { device, connectionTo } = await search(t, (question) => {
			asked.push(question);
			question.answer(factsOf(question, gateway.url));
		});
		const connection = await connectionTo(gateway);
		assert.equal(connection.headers.authorization, `Bearer ${token}`);
		const [question] = asked;
		assert.equal(asked.length, 1);
		assert.equal(question?.deviceId, deviceId);
		assert.equal(question?.proof, proofOf(`gateway question ${question?.nonce} ${deviceId}`));
		await connection.next("state_report");
		await pass(device, 5_000);
		assert.equal(device.setting("gateway"), gateway.url);

		await device.powerCycle();
		await passUntil(device, gateway.connection());
		assert.equal(asked.length, 1, "a known address needs no discovery");
	});

	test("ignores gateways that do not know the token, and never sends it to them", async (t) => {
		const gateway = await runScriptedGateway(t);
		const other = createServer();
		const url = `ws://127.0.0.1:${await listen(t, other)}/device`;
		const { traced, fail, connectionTo } = await search(t, (question, count) => {
			const { nonce, answer } = question;
			answer([`address=${url}`]);
			answer([`address=${url}`, "proof="]);
			answer(factsOf(question, url, "another-token-of-the-tests"));
			// Replay of the real gateway's response and of the device's question, with another address.
			answer([...factsOf(question, gateway.url).slice(2), `address=${url}`]);
			answer([`address=${url}`, `proof=${question.proof}`]);
			answer(factsOf({ ...question, nonce: `${nonce}0` }, url));
			if (count === 2) answer(factsOf(question, gateway.url));
		});
		other.on("connection", () => fail("connected to a gateway that does not know its token"));
		await connectionTo(gateway);
		assert.match(traced.join(""), /does not know this device's token/);
	});

	test("repeats the question with increasing intervals, and logs when no gateway responds", async (t) => {
		const { device, traced, countQuestions } = await search(t, () => {});
		const sentAt: number[] = [];
		for (let second = 0; second < 190; second++) {
			await pass(device, 1000);
			while (sentAt.length < countQuestions()) sentAt.push(second);
		}
		const pauses = sentAt.slice(1).map((at, index) => at - (sentAt[index] ?? 0));
		assert.deepEqual(pauses.slice(1), [2, 4, 8, 16, 32, 60, 60]);
		assert.match(traced.join(""), /^discovery: no gateway in this network/m);
		assert.equal(device.setting("gateway"), undefined);
	});

	test("uses a new nonce for each search", async (t) => {
		const nonces = new Set<string>();
		const { device } = await search(t, ({ nonce }) => nonces.add(nonce));
		await pass(device, 10_000);
		assert.equal(nonces.size, 1);
		const { accessPoints } = device.board;
		device.board.accessPoints = [];
		await pass(device, 10_000);
		device.board.accessPoints = accessPoints;
		await pass(device, 60_000);
		assert.equal(nonces.size, 2);
	});

	test("rejects gateways without TLS if it has an authority", async (t) => {
		const gateway = await runScriptedGateway(t);
		const { device, traced } = await search(
			t,
			(question) => question.answer(factsOf(question, gateway.url)),
			{ ca: "AAAA" },
		);
		await pass(device, 10_000);
		assert.match(traced.join(""), /has no TLS, which the setting ca requires/);
		assert.doesNotMatch(traced.join(""), /discovered gateway/);
	});

	test("switches to another gateway when its own is unreachable, and returns later", async (t) => {
		const gateway = await runScriptedGateway(t);
		const away = `ws://127.0.0.1:${await freePort()}/device`;
		let exists = false;
		const { device, traced, connectionTo } = await search(t, (question) => {
			question.answer(factsOf(question, away));
			if (exists) question.answer(factsOf(question, gateway.url));
		});
		const found = () =>
			[...traced.join("").matchAll(/^discovered gateway (.+)$/gm)].map(([, address]) => address);
		await waitUntil(
			() => found().length >= 2,
			async () => {
				await yieldToSockets();
				await pass(device, 250);
			},
		);
		assert.deepEqual(found(), [away, away], "no other gateway available");
		exists = true;
		await connectionTo(gateway);
		await pass(device, 5_000);
		assert.equal(device.setting("gateway"), gateway.url);
	});
});
