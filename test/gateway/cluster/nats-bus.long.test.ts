import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { Bus } from "../../../gateway/bus.js";
import { StartError } from "../../../gateway/problem.js";
import { Authority } from "../../support/certificates.js";
import { temporaryDirectory } from "../../support/cleanup.js";
import { waitUntil } from "../../support/eventually.js";
import { FaultyLink } from "../../support/faulty-link.js";
import { type NatsServer, startNats, startNatsCluster } from "../../support/nats.js";
import { createNatsAccount } from "../../support/nats-credentials.js";
import { whyMissing } from "../../support/programs.js";
import { Told } from "../storage/log-contract.js";
import { contentOf, inChunks, testBus } from "./bus-contract.js";
import { natsBus, natsBuses, status } from "./nats-buses.js";

/** Retries while the servers elect a leader. */
async function persist<T>(work: () => Promise<T>): Promise<T> {
	for (;;)
		try {
			return await work();
		} catch {
			await pause(100);
		}
}

/** @returns the address of a link that changes the server's messages */
async function onLine(t: TestContext, { port }: NatsServer, rewrite: (text: string) => string) {
	const link = await FaultyLink.to(t, port);
	link.rewrite = (chunk) => Buffer.from(rewrite(chunk.toString("latin1")), "latin1");
	return `nats://127.0.0.1:${link.port}`;
}

/** @returns the address of a link that replaces the server's version, which newer servers repeat */
function withVersion(t: TestContext, server: NatsServer, version: string): Promise<string> {
	return onLine(t, server, (text) => text.replace(/"version":"[^"]*"/, `"version":"${version}"`));
}

/** @returns the address of a link that adds one to the pending count of each message */
function withWrongCount(t: TestContext, server: NatsServer): Promise<string> {
	return onLine(t, server, (text) => text.replace(/(\$JS\.ACK\.\S+\.)0(?= )/g, "$1" + "1"));
}

async function watched(bus: Bus) {
	const bucket = await persist(() => bus.bucket("gw-test"));
	const told = new Told<string>();
	await persist(() => bucket.watch((key, entry) => told.add(`${key} ${entry?.text}`)));
	return { bucket, told };
}

const skip = whyMissing("nats-server");
if (skip) test("NATS", { skip });
else {
	testBus("NATS", natsBuses);

	describe("NATS server", { timeout: 120_000 }, () => {
		test("is rejected below 2.11, naming the setting that allows it", async (t) => {
			const server = await startNats(t);
			for (const [version, allowOld, isRejected] of [
				["2.10.29", false, true],
				["2.10.29", true, false],
				["2.11.0", false, false],
			] as const) {
				const { bus } = natsBus(t, [await withVersion(t, server, version)], { allowOld });
				if (!isRejected) await bus.open();
				else
					await assert.rejects(bus.open(), (error) => {
						assert.ok(error instanceof StartError, `failed with ${error}`);
						assert.match(error.message, /has version 2\.10\.29; .* set NATS_ALLOW_OLD=1\.$/);
						return true;
					});
				assert.equal(bus.isConnected, !isRejected);
			}
		});

		test("is found if it starts later, and serves earlier subscriptions", async (t) => {
			const server = await startNats(t);
			await server.kill();
			const { bus, problems } = natsBus(t, [server.url]);
			const told = new Told<string>();
			bus.subscribe("s", told.add);
			const opening = bus.open();
			bus.publish("s", "lost");
			await waitUntil(() => problems.length > 0);
			assert.match(String(problems), /is unreachable \(.*refused.*\); retrying/);
			await server.start();
			await opening;
			await status(bus, true);
			bus.publish("s", "here");
			await told.until((list) => list.length > 0);
			assert.deepEqual(told.list, ["here"]);
		});

		test("loses nothing when killed and restarted, and watches resume", async (t) => {
			const server = await startNats(t);
			const [{ bus: a }, { bus: b }] = [natsBus(t, [server.url]), natsBus(t, [server.url])];
			await Promise.all([a.open(), b.open()]);
			const { bucket, told } = await watched(a);
			const other = await b.bucket("gw-test");
			const revision = await other.set("k", "1", 0);
			await other.set("gone", "1", 0);
			await told.until((list) => list.includes("gone 1"));
			for (let round = 1; round <= 3; round += 1) {
				const away = [status(a, false), status(b, false)];
				await server.kill();
				await Promise.all(away);
				await server.start();
				await Promise.all([status(a, true), status(b, true)]);
				await persist(() => other.set(`round ${round}`, "1", 0));
				await told.until((list) => list.includes(`round ${round} 1`));
			}
			assert.deepEqual(await bucket.get("k"), { text: "1", revision });
			assert.equal(told.list.filter((entry) => entry === "k 1").length, 1, "repeated without a change");
		});

		test("may report too many pending messages; the read ends at its initial count", async (t) => {
			const server = await startNats(t);
			const { bus } = natsBus(t, [await withWrongCount(t, server)]);
			await bus.open();
			const bucket = await bus.bucket("gw-test");
			for (const key of ["a", "b", "c"]) await bucket.set(key, "1", 0);
			const told: string[] = [];
			await bucket.watch((key) => told.push(key));
			assert.deepEqual(told, ["a", "b", "c"]);
		});

		test("is detected if it hangs", async (t) => {
			const server = await startNats(t);
			const { bus } = natsBus(t, [server.url]);
			await bus.open();
			const { told, bucket } = await watched(bus);
			const away = status(bus, false);
			server.suspend();
			await away;
			await assert.rejects(bucket.get("k"));
			server.resume();
			await status(bus, true);
			await persist(() => bucket.set("k", "1", 0));
			await told.until((list) => list.includes("k 1"));
		});

		test("is reported without JetStream", async (t) => {
			const server = await startNats(t, "--jetstream=false");
			const { bus, problems } = natsBus(t, [server.url]);
			await bus.open();
			await assert.rejects(bus.bucket("gw-test"), { problem: "disconnected" });
			assert.match(String(problems), /Start nats-server with --jetstream/);
		});

		test("may require user, password and TLS", async (t) => {
			const directory = await temporaryDirectory(t);
			const authority = new Authority(directory, "authority");
			const { cert, key } = authority.issue("DNS:localhost");
			await writeFile(join(directory, "cert.pem"), cert);
			await writeFile(join(directory, "key.pem"), key);
			const tls = [
				"--tls",
				`--tlscert=${join(directory, "cert.pem")}`,
				`--tlskey=${join(directory, "key.pem")}`,
			];
			const server = await startNats(t, "--user=gateway", "--pass=p@ss", ...tls);
			const url = `tls://gateway:p%40ss@localhost:${server.port}`;
			const { bus } = natsBus(t, [url], { authority: Buffer.from(authority.certificate) });
			await bus.open();
			assert.equal(bus.isConnected, true);
			const { bus: unauthorised, problems } = natsBus(t, [`nats://127.0.0.1:${server.port}`], {
				authority: Buffer.from(authority.certificate),
			});
			void unauthorised.open();
			await waitUntil(() => problems.length > 0);
			assert.match(String(problems), /Authorization Violation/i);
		});

		test("may require credentials from a .creds file", async (t) => {
			const { configuration, credentials } = createNatsAccount();
			const path = join(await temporaryDirectory(t), "nats.conf");
			await writeFile(path, configuration);
			const server = await startNats(t, `--config=${path}`);
			const { bus } = natsBus(t, [server.url], { credentials });
			await bus.open();
			const bucket = await bus.bucket("gw-test");
			await bucket.set("key", "value", 0);
			assert.equal((await bucket.get("key"))?.text, "value");
			const { credentials: unknownCredentials } = createNatsAccount();
			const { bus: rejected, problems } = natsBus(t, [server.url], { credentials: unknownCredentials });
			void rejected.open();
			await waitUntil(() => problems.length > 0);
			assert.match(String(problems), /Authorization Violation/i);
		});
	});

	describe("three NATS servers", { timeout: 180_000 }, () => {
		test("replicate each value, and lose nothing if one is killed", async (t) => {
			const servers = await startNatsCluster(t);
			const urls = servers.map(({ url }) => url);
			const [{ bus: a }, { bus: b }] = [natsBus(t, urls), natsBus(t, urls)];
			await Promise.all([a.open(), b.open()]);
			const { told } = await watched(a);
			const other = await persist(() => b.bucket("gw-test"));
			const files = await persist(() => b.files("gw-files"));
			await persist(() => files.put("x", inChunks(Buffer.from("content"))));
			const written: string[] = [];
			let count = 0;
			for (const server of servers) {
				await server.kill();
				for (let round = 0; round < 5; round += 1) {
					const key = `k${count++}`;
					await persist(async () => {
						const known = await other.get(key);
						if (!known) await other.set(key, "1", 0);
					});
					written.push(key);
				}
				await told.until((list) => written.every((key) => list.includes(`${key} 1`)));
				await server.start();
				await server.ready();
			}
			assert.equal(String(await persist(async () => contentOf(await files.get("x")))), "content");
			for (const key of written) assert.equal((await persist(() => other.get(key)))?.text, "1");
		});
	});
}
