import assert from "node:assert/strict";
import fs, { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import type { Bus } from "../../../gateway/bus.js";
import type { ReplicationRules } from "../../../gateway/cluster/replicated-content.js";
import { ReplicatedStore } from "../../../gateway/cluster/replicated-store.js";
import { Replication } from "../../../gateway/cluster/replication.js";
import { onEnd, temporaryDirectory } from "../../support/cleanup.js";
import { type MemoryBus, MemoryServer } from "../../support/memory-bus.js";
import { natsMissing, startNats } from "../../support/nats.js";
import { runs } from "../../support/property-runs.js";
import { natsBus, status } from "./nats-buses.js";

/** Entries by name, each with a number that only grows: the union of two lists, the greater number of each name. */
type Scores = Readonly<Record<string, number>>;

interface Node<B extends Bus> {
	readonly bus: B;
	readonly store: ReplicatedStore<Scores>;
	/** As the gateway has them in memory. */
	readonly memory: Map<string, Scores>;
	/** How often another gateway's change was told. */
	count: number;
	readonly directory: string;
}

const rules: ReplicationRules<Scores> = {
	format: (record) => JSON.stringify(record),
	parse: (content) => JSON.parse(content),
	changedAt: (scores: Scores) => Math.max(...Object.values(scores)),
	merge: (one, other) => {
		const merged: Record<string, number> = {};
		for (const [name, score] of [...Object.entries(one), ...Object.entries(other)].sort())
			merged[name] = Math.max(score, merged[name] ?? 0);
		return merged;
	},
};

async function openNode<B extends Bus>(bus: B, directory: string, now: () => number): Promise<Node<B>> {
	const memory = new Map<string, Scores>();
	const node = { bus, memory, directory, count: 0 };
	const store = new ReplicatedStore<Scores>({
		bus,
		bucket: "gw-test",
		directory: join(directory, "records"),
		disk: fs,
		what: "scores",
		...rules,
		onRecord: (key, record) => {
			node.count += 1;
			if (record) memory.set(key, record);
			else memory.delete(key);
		},
		now,
		onProblem: (problem) => assert.fail(problem),
	});
	for (const [key, record] of await store.load()) memory.set(key, record);
	store.start();
	return Object.assign(node, { store });
}

/** Changes a record as a gateway does: what it has in memory, and one entry more. */
function score(node: Node<Bus>, key: string, name: string, at: number): Promise<boolean> {
	const record = { ...node.memory.get(key), [name]: at };
	node.memory.set(key, record);
	return node.store.save(key, record);
}

function remove(node: Node<Bus>, key: string): Promise<boolean> {
	node.memory.delete(key);
	return node.store.remove(key);
}

/** Everything is told: nothing waits, at several turns of the event loop. */
async function settled(nodes: readonly Node<Bus>[]): Promise<void> {
	for (let quiet = 0; quiet < 30; quiet += 1) {
		await new Promise((resolve) => setImmediate(resolve));
		if (!nodes.every(({ store }) => store.isIdle)) quiet = 0;
	}
	await Promise.all(nodes.map(({ store }) => store.settle()));
}

async function onDisk({ directory }: Node<Bus>): Promise<Map<string, Scores>> {
	const folder = join(directory, "records");
	const names = (await readdir(folder)).sort();
	const read = async (name: string) => JSON.parse(await fs.readFile(join(folder, name), "utf8"));
	return new Map(
		await Promise.all(names.map(async (name) => [name.slice(0, -5), await read(name)] as const)),
	);
}

async function twoNodes(t: TestContext) {
	const server = new MemoryServer();
	let at = 1;
	const now = () => at++;
	const open = async (directory: string) => {
		const node = await openNode(server.connect(), directory, now);
		onEnd(t, () => node.store.close());
		return node;
	};
	const a = await open(await temporaryDirectory(t));
	const b = await open(await temporaryDirectory(t));
	await settled([a, b]);
	return { a, b, now, open, server };
}

describe("records of several gateways", () => {
	test("are on the disk and in the memory of each", async (t) => {
		const { a, b, now } = await twoNodes(t);
		await score(a, "one", "x", now());
		await score(b, "two", "y", now());
		await settled([a, b]);
		for (const node of [a, b]) {
			assert.deepEqual([...node.memory.keys()].sort(), ["one", "two"]);
			assert.deepEqual(await onDisk(node), new Map([...node.memory].sort()));
		}
		await remove(b, "one");
		await settled([a, b]);
		for (const node of [a, b]) assert.deepEqual([...(await onDisk(node)).keys()], ["two"]);
		assert.deepEqual([...a.memory.keys()], ["two"]);
	});

	test("are merged if both have changed while they were cut off", async (t) => {
		const { a, b, now } = await twoNodes(t);
		await score(a, "k", "first", now());
		await settled([a, b]);
		a.bus.cut();
		await score(a, "k", "a", now());
		await score(b, "k", "b", now());
		await score(b, "new", "b", now());
		a.bus.heal();
		await settled([a, b]);
		assert.deepEqual(Object.keys(a.memory.get("k") ?? {}).sort(), ["a", "b", "first"]);
		assert.deepEqual(a.memory, b.memory);
		assert.deepEqual(await onDisk(a), await onDisk(b));
	});

	test("that one removed and the other changed meanwhile: the later counts", async (t) => {
		const { a, b, now } = await twoNodes(t);
		for (const key of ["kept", "gone"]) await score(a, key, "first", now());
		await settled([a, b]);
		b.bus.cut();
		await score(b, "gone", "b", now());
		for (const key of ["kept", "gone"]) await remove(a, key);
		await score(b, "kept", "b", now());
		b.bus.heal();
		await settled([a, b]);
		for (const node of [a, b]) {
			assert.deepEqual([...node.memory.keys()], ["kept"]);
			assert.deepEqual([...(await onDisk(node)).keys()], ["kept"]);
		}
	});

	test("are passed on from a gateway that was stopped before it could, and to one that is new", async (t) => {
		const { a, b, now, open, server } = await twoNodes(t);
		await score(a, "both", "first", now());
		await settled([a, b]);
		a.bus.cut();
		await score(a, "both", "a", now());
		await score(a, "alone", "a", now());
		await a.store.close();
		await score(b, "both", "b", now());
		const again = await open(a.directory);
		const fresh = await openNode(server.connect(), await temporaryDirectory(t), now);
		await settled([again, b, fresh]);
		assert.deepEqual(Object.keys(again.memory.get("both") ?? {}).sort(), ["a", "b", "first"]);
		for (const node of [again, b, fresh]) {
			assert.deepEqual(node.memory, again.memory);
			assert.deepEqual(await onDisk(node), await onDisk(again));
		}
		await fresh.store.close();
	});

	test("are removed from one that was stopped when they were removed", async (t) => {
		const { a, b, now, open } = await twoNodes(t);
		await score(a, "k", "a", now());
		await settled([a, b]);
		await b.store.close();
		await remove(a, "k");
		await settled([a]);
		const again = await open(b.directory);
		await settled([a, again]);
		assert.deepEqual([...again.memory.keys(), ...(await onDisk(again)).keys()], []);
	});

	test("that were removed by one that was stopped before it could tell are removed, unless changed later", async (t) => {
		const { a, b, now, open } = await twoNodes(t);
		for (const key of ["gone", "later", "back"]) await score(a, key, "a", now());
		await settled([a, b]);
		a.bus.cut();
		for (const key of ["gone", "later", "back"]) await remove(a, key);
		await score(a, "back", "again", now());
		await a.store.close();
		await score(b, "later", "b", now());
		const again = await open(a.directory);
		await settled([again, b]);
		for (const node of [again, b]) {
			assert.deepEqual([...node.memory.keys()].sort(), ["back", "later"]);
			assert.deepEqual([...(await onDisk(node)).keys()], ["back", "later"]);
		}
		await again.store.close();
		assert.equal(await fs.readFile(join(a.directory, "records-removed.json"), "utf8"), "{}\n");
	});

	test("are not told to the gateway that wrote them", async (t) => {
		const { a, b, now } = await twoNodes(t);
		for (let turn = 0; turn < 30; turn += 1) {
			void score(a, "k", `n${turn}`, now());
			if (turn % 3 === 0) await new Promise((resolve) => setImmediate(resolve));
		}
		await settled([a, b]);
		assert.deepEqual([a.count, b.memory], [0, a.memory]);
	});

	test("that change while the gateway's own is read are merged with the change", async () => {
		const server = new MemoryServer();
		const bus = server.connect();
		const other = await server.connect().bucket("gw-test");
		await other.set("k", JSON.stringify({ theirs: 1 }), 0);
		let memory: Scores = { mine: 2 };
		const replication: Replication<Scores> = new Replication<Scores>({
			...rules,
			bus,
			bucket: "gw-test",
			own: {
				read: async () => {
					const before = memory;
					memory = { ...memory, meanwhile: 3 };
					replication.changed("k", memory);
					return before;
				},
				save: async () => true,
				remove: async () => true,
			},
			onRecord: (_key, record = {}) => {
				memory = record;
			},
			now: () => 0,
			onProblem: (problem) => assert.fail(problem),
		});
		replication.has("k", memory);
		replication.start();
		while (!replication.isIdle) await new Promise((resolve) => setImmediate(resolve));
		const all = { theirs: 1, mine: 2, meanwhile: 3 };
		assert.deepEqual([memory, JSON.parse((await other.get("k"))?.text ?? "")], [all, all]);
		await replication.close();
	});

	test("of which the server has lost the latest, unseen by the gateways, are merged at the next change", {
		timeout: 20_000,
	}, async (t) => {
		const { a, b, now, server } = await twoNodes(t);
		await score(a, "k", "early", now());
		await settled([a, b]);
		const content = server.buckets.get("gw-test");
		const [early] = [...(content?.entries.values() ?? [])];
		assert.ok(content && early);
		await score(a, "k", "lost", now());
		await settled([a, b]);
		content.entries.set("k", early);
		await score(a, "k", "late", now());
		await settled([a, b]);
		assert.deepEqual(Object.keys(b.memory.get("k") ?? {}).sort(), ["early", "late", "lost"]);
		assert.equal(a.store.isIdle, true);
	});

	test("are written to the bucket only when their state changes", async (t) => {
		const { a, b, now, server } = await twoNodes(t);
		const at = now();
		for (let turn = 0; turn < 5; turn += 1) await score(a, "k", "x", at);
		await settled([a, b]);
		assert.equal(server.buckets.get("gw-test")?.revision, 1);
	});
});

describe("records on a NATS server", { timeout: 60_000, ...(natsMissing && { skip: natsMissing }) }, () => {
	for (const [what, keep] of [
		["its data", "nothing"],
		["what was written last", "first"],
	] as const)
		test(`that has lost ${what}: the gateways write it again`, async (t) => {
			const server = await startNats(t);
			let at = 1;
			const now = () => at++;
			const start = async () => {
				const { bus } = natsBus(t, [server.url]);
				await bus.open();
				const node = await openNode(bus, await temporaryDirectory(t), now);
				onEnd(t, () => node.store.close());
				return node;
			};
			const agree = async (nodes: readonly Node<Bus>[]) => {
				const [first] = nodes;
				const isSame = ({ memory }: Node<Bus>) => isDeepStrictEqual(memory, first?.memory);
				while (!nodes.every((node) => node.store.isIdle && isSame(node))) await pause(20);
			};
			const [a, b] = [await start(), await start()];
			const copy = join(await temporaryDirectory(t), "copy");
			const restart = async (work: () => Promise<void>) => {
				const away = [status(a.bus, false), status(b.bus, false)];
				await server.kill();
				await Promise.all(away);
				await work();
				await server.start();
				await Promise.all([status(a.bus, true), status(b.bus, true)]);
			};
			await score(a, "early", "a", now());
			await agree([a, b]);
			await restart(() => fs.cp(server.directory, copy, { recursive: true }));
			for (const name of ["late", "later"]) await score(a, name, "a", now());
			await score(b, "early", "b", now());
			await agree([a, b]);
			assert.equal(b.memory.size, 3);
			await restart(async () => {
				await fs.rm(server.directory, { recursive: true });
				if (keep === "first") await fs.cp(copy, server.directory, { recursive: true });
			});
			await score(b, "newest", "b", now());
			while (!(a.memory.has("newest") && isDeepStrictEqual(a.memory, b.memory))) await pause(20);
			const fresh = await start();
			while (!isDeepStrictEqual(fresh.memory, a.memory)) await pause(20);
			assert.deepEqual(Object.keys(fresh.memory.get("early") ?? {}).sort(), ["a", "b"]);
			assert.equal(fresh.memory.size, 4);
		});
});

type Step = readonly [
	kind: "score" | "remove" | "cut" | "heal" | "settle" | "turn",
	node: number,
	key: string,
];

test("gateways that write, and are cut off and healed, in any order: all end with the same, nothing is lost", async (t) => {
	const kind = fc.constantFrom("score", "score", "score", "remove", "cut", "heal", "settle", "turn");
	const step: fc.Arbitrary<Step> = fc.tuple(kind, fc.nat(2), fc.constantFrom("k", "l"));
	const run = async (steps: readonly Step[], withRemovals: boolean) => {
		const server = new MemoryServer();
		let at = 1;
		const now = () => at++;
		const directory = await fs.mkdtemp(join(await root, "run-"));
		const nodes: Node<MemoryBus>[] = [];
		for (const name of ["a", "b", "c"])
			nodes.push(await openNode(server.connect(), join(directory, name), now));
		const acknowledged: { key: string; name: string }[] = [];
		const saving: Promise<void>[] = [];
		for (const [index, [what, which, key]] of steps.entries()) {
			const node = nodes[which];
			assert.ok(node);
			const name = `n${index}`;
			if (what === "score")
				saving.push(
					score(node, key, name, now()).then((isSaved) => void (isSaved && acknowledged.push({ key, name }))),
				);
			else if (what === "remove" && withRemovals) await remove(node, key);
			else if (what === "cut") node.bus.cut();
			else if (what === "heal") node.bus.heal();
			else if (what === "settle") await settled(nodes.filter(({ bus }) => bus.isConnected));
			else await new Promise((resolve) => setImmediate(resolve));
		}
		for (const { bus } of nodes) bus.heal();
		await Promise.all(saving);
		await settled(nodes);
		const [first] = nodes;
		assert.ok(first);
		for (const node of nodes) {
			assert.deepEqual(node.memory, first.memory);
			assert.deepEqual(await onDisk(node), new Map([...first.memory].sort()));
		}
		if (!withRemovals)
			for (const { key, name } of acknowledged) assert.ok(first.memory.get(key)?.[name], `${key} ${name}`);
		for (const { store } of nodes) await store.close();
		await fs.rm(directory, { recursive: true });
	};
	const root = temporaryDirectory(t);
	await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.boolean(), run), {
		numRuns: runs(150),
	});
});
