import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Writable } from "node:stream";
import { describe, type TestContext, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { pino } from "pino";
import { addRelease, readCatalog } from "../../../scripts/release/folder.js";
import { bearer, deviceToken } from "../../support/gateway-settings.js";
import { makeImage } from "../../support/images.js";
import { natsMissing } from "../../support/nats.js";
import { writeCatalog } from "../../support/releases.js";
import { temporaryDirectory } from "../../support/running.js";
import { type Buses, contentOf, inChunks } from "./bus-contract.js";
import { type Clustered, runClustered } from "./gateways.js";
import { memoryBuses } from "./memory-buses.js";
import { natsBuses } from "./nats-buses.js";

const signature = `${"A".repeat(85)}Q==`;
const path = "/releases/dev-1/firmware-v1.4.0.bin";
/** As start_ota names it. */
const address = "/releases/firmware-v1.4.0.bin?model=dev-1&chip=esp32s3";
const bootLoader = Buffer.from("the boot loader");
const date = "2026-01-02";

interface Member extends Clustered {
	readonly dataDir: string;
	readonly releasesDir: string;
	/** Sentences of the log. */
	readonly problems: readonly string[];
	/** Starts it again with the same folders. */
	again(): Promise<Member>;
}

/** Folders that were not given are new, and empty. */
async function start(t: TestContext, buses: Buses, { dataDir = "", releasesDir = "" } = {}): Promise<Member> {
	const folders = {
		dataDir: dataDir || (await temporaryDirectory(t)),
		releasesDir: releasesDir || join(await temporaryDirectory(t), "releases"),
	};
	const problems: string[] = [];
	const stream = new Writable({
		write: (line, _encoding, done) => {
			problems.push(String(JSON.parse(String(line)).problem));
			done();
		},
	});
	const clustered = await runClustered(t, await buses.connect(), {
		...folders,
		log: pino({ level: "warn" }, stream),
	});
	const again = async () => {
		await clustered.gateway.close();
		return start(t, buses, folders);
	};
	return { ...clustered, ...folders, problems, again };
}

/** Tries again until it does not throw. */
async function eventually(work: () => Promise<void>): Promise<void> {
	for (;;)
		try {
			return await work();
		} catch {
			await pause(20);
		}
}

/** @param text makes its content differ from others of that version */
async function release({ releasesDir }: Pick<Member, "releasesDir">, version: string, text = "one") {
	const image = makeImage({ version, segments: [Buffer.from(text), Buffer.alloc(300_000, text)] });
	const parts = [{ name: "bootloader.bin", offset: 0, bytes: bootLoader }];
	const images = [{ image, offset: 0x10000, parts }];
	await addRelease(releasesDir, { version, date, notes: text, images, sign: () => signature });
	return image;
}

async function withdraw({ releasesDir }: Member, version: string): Promise<void> {
	const { releases } = await readCatalog(releasesDir);
	await writeCatalog(releasesDir, {
		schema: 1,
		latest: null,
		releases: releases.filter((each) => each.version !== version),
	});
	await rm(join(releasesDir, `dev-1/firmware-v${version}.bin`));
}

async function get({ url }: Clustered, file: string): Promise<{ status: number; body: Buffer }> {
	const response = await fetch(`${url}${file}`, { headers: bearer(deviceToken) });
	return { status: response.status, body: Buffer.from(await response.arrayBuffer()) };
}

async function listed(member: Clustered): Promise<readonly string[]> {
	const { status, body } = await get(member, "/ota/catalog");
	assert.equal(status, 200);
	const catalog: { readonly releases: readonly { readonly version: string }[] } = JSON.parse(String(body));
	return catalog.releases.map(({ version }) => version);
}

async function serves(member: Clustered, image: Buffer, file = path): Promise<void> {
	const { status, body } = await get(member, file);
	assert.equal(status, 200);
	assert.ok(body.equals(image));
}

/** @returns the names of files that are whole */
async function cached({ dataDir }: Member): Promise<readonly string[]> {
	const names = await readdir(join(dataDir, "shared-releases"));
	return names.filter((name) => name.endsWith(".bin"));
}

function digest(content: Uint8Array): string {
	return createHash("sha256").update(content).digest("hex");
}

function testReleases(name: string, make: (t: TestContext) => Promise<Buses>): void {
	const run = async (t: TestContext) => {
		const buses = await make(t);
		return { buses, a: await start(t, buses), b: await start(t, buses) };
	};

	describe(`${name}: a release of one gateway`, { timeout: 60_000, concurrency: true }, () => {
		test("is listed, served and installed by any, with all that belongs to it", async (t) => {
			const { buses, a, b } = await run(t);
			const image = await release(a, "1.4.0");
			await release(b, "1.3.0");
			for (const each of [a, b])
				await eventually(async () => assert.deepEqual(await listed(each), ["1.4.0", "1.3.0"]));
			const [ours, theirs] = [await get(a, "/ota/catalog"), await get(b, "/ota/catalog")];
			assert.deepEqual(JSON.parse(String(theirs.body)), JSON.parse(String(ours.body)));
			assert.equal(JSON.parse(String(theirs.body)).latest, "1.4.0");
			await serves(b, image);
			await serves(b, image, address);
			await serves(b, bootLoader, "/releases/dev-1/flash-v1.4.0/bootloader.bin");
			assert.equal((await get(b, "/releases/dev-1/flash-v1.4.0/flash.json")).status, 200);

			const device = await b.join("dev-1-000001", { ending: "waits" });
			const watch = await b.watch();
			await watch.ask({ type: "trigger_ota", targetId: "dev-1-000001", version: "1.4.0" });
			await device.offered;
			const { url, signature: sent } = device.commands.find(({ command }) => command === "start_ota") ?? {};
			assert.deepEqual([url, sent], [`${b.url}${address}`, signature]);
			device.close();

			await a.gateway.close();
			const c = await start(t, buses);
			await eventually(async () => assert.deepEqual(await listed(c), ["1.4.0", "1.3.0"]));
			await serves(c, image);
		});

		test("goes on from the cache without the bus, also after a restart; a damaged file does not", async (t) => {
			const { buses, a, b } = await run(t);
			const [old, image] = [await release(a, "1.3.0"), await release(a, "1.4.0")];
			await eventually(async () => assert.equal((await cached(b)).length, 5));
			await buses.cut(b.bus);
			// The last file may have got its name a moment before the gateway knows it.
			await eventually(async () => assert.deepEqual(await listed(b), ["1.4.0", "1.3.0"]));
			await serves(b, image);
			await b.gateway.close();
			await writeFile(join(b.dataDir, "shared-releases", `${digest(old)}.bin`), "damaged");
			const bus = await buses.connect();
			await buses.cut(bus);
			const again = await runClustered(t, bus, { dataDir: b.dataDir, releasesDir: b.releasesDir });
			assert.deepEqual(await listed(again), ["1.4.0"]);
			await serves(again, image);
			await buses.heal(bus);
			await eventually(() => serves(again, old, "/releases/dev-1/firmware-v1.3.0.bin"));
		});

		test("is gone everywhere once no RELEASES_DIR has it, and its files too", async (t) => {
			const { buses, a, b } = await run(t);
			const image = await release(a, "1.4.0");
			await release(a, "1.3.0", "other");
			await eventually(async () => assert.equal((await cached(b)).length, 5));
			await withdraw(a, "1.4.0");
			for (const each of [a, b])
				await eventually(async () => assert.deepEqual(await listed(each), ["1.3.0"]));
			await eventually(async () => assert.equal((await cached(b)).length, 3));
			assert.equal((await get(b, path)).status, 404);
			const files = await b.bus.files("gw-images");
			await eventually(async () => assert.equal(await files.get(digest(image)), undefined));
			assert.ok((await contentOf(await files.get(digest(bootLoader)))).equals(bootLoader));
			const c = await start(t, buses);
			await eventually(async () => assert.deepEqual(await listed(c), ["1.3.0"]));
		});

		test("that was removed while its gateway was stopped is gone everywhere", async (t) => {
			const { a, b } = await run(t);
			const image = await release(a, "1.4.0");
			await eventually(() => serves(b, image));
			await a.gateway.close();
			await withdraw(a, "1.4.0");
			const again = await a.again();
			for (const each of [again, b]) await eventually(async () => assert.deepEqual(await listed(each), []));
		});

		test("whose RELEASES_DIR is gone, as a disk that is not mounted, stays with all, and is that gateway's again once it is back", async (t) => {
			const { a, b } = await run(t);
			const image = await release(a, "1.4.0");
			await eventually(() => serves(b, image));
			const elsewhere = `${a.releasesDir}-elsewhere`;
			await rename(a.releasesDir, elsewhere);
			const isSaid = (problem: string) => /^RELEASES_DIR has no catalog\.json/.test(problem);
			await eventually(async () => assert.ok(a.problems.some(isSaid)));
			await eventually(async () => assert.equal((await cached(a)).length, 3));
			for (const each of [a, b]) {
				await serves(each, image);
				assert.deepEqual(await listed(each), ["1.4.0"]);
			}
			await rename(elsewhere, a.releasesDir);
			await eventually(async () => assert.equal((await cached(a)).length, 0));
			await serves(a, image);
			assert.equal(a.problems.filter(isSaid).length, 1);
			await withdraw(a, "1.4.0");
			for (const each of [a, b]) await eventually(async () => assert.deepEqual(await listed(each), []));
		});

		test("that another one has too stays until that removes it", async (t) => {
			const { buses, a, b } = await run(t);
			const image = await release(a, "1.4.0");
			const c = await start(t, buses, { releasesDir: join(await temporaryDirectory(t), "releases") });
			await release(c, "1.4.0");
			await eventually(async () => assert.equal((await cached(b)).length, 3));
			await eventually(async () => assert.equal((await cached(c)).length, 0));
			let isRemoved = false;
			const isAlwaysThere = (async () => {
				while (!isRemoved) {
					await serves(b, image);
					assert.deepEqual(await listed(b), ["1.4.0"]);
				}
			})();
			await withdraw(a, "1.4.0");
			await eventually(async () => assert.equal((await cached(a)).length, 3));
			await serves(a, image);
			isRemoved = true;
			await isAlwaysThere;
			await withdraw(c, "1.4.0");
			for (const each of [a, b, c]) await eventually(async () => assert.deepEqual(await listed(each), []));
			await eventually(async () => assert.equal((await cached(a)).length, 0));
		});

		test("that differs from another's of that version does not replace it, and the log says so", async (t) => {
			const { buses, a, b } = await run(t);
			const image = await release(a, "1.4.0", "one");
			await eventually(() => serves(b, image));
			const releasesDir = join(await temporaryDirectory(t), "releases");
			const other = await release({ releasesDir }, "1.4.0", "two");
			const c = await start(t, buses, { releasesDir });
			const isDifferent = (problem: string) => /^Release 1\.4\.0 in RELEASES_DIR differs/.test(problem);
			await eventually(async () => assert.ok(c.problems.some(isDifferent)));
			await serves(c, other);
			await serves(b, image);
			await withdraw(a, "1.4.0");
			for (const each of [a, b]) await eventually(() => serves(each, other));
			assert.equal(c.problems.filter(isDifferent).length, 1);
		});

		test("whose file has another content on the bus, or in RELEASES_DIR, is not served", async (t) => {
			const { buses, a, b } = await run(t);
			const image = makeImage({ version: "1.5.0" });
			const files = await a.bus.files("gw-images");
			await files.put(digest(image), inChunks(Buffer.from("another content")));
			await addRelease(a.releasesDir, { version: "1.5.0", date, notes: "", images: [image] });
			await eventually(async () => assert.deepEqual(await listed(b), ["1.5.0"]));
			assert.equal((await get(b, "/releases/dev-1/firmware-v1.5.0.bin")).status, 503);
			await eventually(async () => assert.match(String(b.problems), /has another content/));
			assert.deepEqual(await cached(b), []);
			const right = makeImage({ version: "1.6.0" });
			await addRelease(b.releasesDir, { version: "1.6.0", date, notes: "", images: [right] });
			await eventually(async () => assert.deepEqual(await listed(a), ["1.6.0", "1.5.0"]));
			await serves(a, right, "/releases/dev-1/firmware-v1.6.0.bin");

			const releasesDir = join(await temporaryDirectory(t), "releases");
			await release({ releasesDir }, "1.4.0");
			await writeFile(join(releasesDir, "dev-1/firmware-v1.4.0.bin"), "another content");
			const c = await start(t, buses, { releasesDir });
			await eventually(async () =>
				assert.match(String(c.problems), /firmware-v1\.4\.0\.bin is missing, or is not/),
			);
			assert.equal((await get(a, path)).status, 404);
		});
	});
}

testReleases("memory", memoryBuses);
if (natsMissing) test("NATS", { skip: natsMissing });
else testReleases("NATS", natsBuses);
