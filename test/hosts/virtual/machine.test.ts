import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { buildMachine, buildProgram, modulesOf, type Program } from "../../../hosts/virtual/node/build.js";
import type { Answer, Channel } from "../../../hosts/virtual/node/channel.js";
import type { Exit } from "../../../hosts/virtual/node/exit.js";
import { Machine, type MachineOptions } from "../../../hosts/virtual/node/machine.js";
import { nextEvent, waitUntil, within } from "../../support/eventually.js";

const fixtures = "test/hosts/virtual/xs";

let executable = "";

before(async () => {
	executable = await buildMachine();
});

const machines = new Set<Machine>();

after(async () => {
	await Promise.all([...machines].map((machine) => machine.close()));
});

/** Machine that is closed at the end of the tests. */
function start(program: Program, options: Partial<MachineOptions> = {}): Machine {
	const machine = new Machine({ executable, program: program.bytes, clock: "virtual", ...options });
	machines.add(machine);
	machine.exited.then(() => machines.delete(machine));
	return machine;
}

function fixture(name: string): Promise<Program> {
	return buildProgram({ modules: { main: `${fixtures}/${name}.ts` } });
}

/** Line of the first occurrence of a text in a fixture, from 1. */
async function lineOf(name: string, text: string): Promise<number> {
	const lines = (await readFile(`${fixtures}/${name}.ts`, "utf8")).split("\n");
	return 1 + lines.findIndex((line) => line.includes(text));
}

test("objects created while modules load are in ROM, and a change of them is rejected as on a board", async (t) => {
	const results: Record<string, unknown> = {};
	const machine = start(await fixture("rom"), {
		onOpen: () => ({
			onPost: (request, detail) => {
				results[request] = detail;
			},
		}),
	});
	t.after(() => machine.close());
	await machine.ready;
	await machine.close();
	const { allowed, ...rejected } = results;
	assert.deepEqual(allowed, {
		"message of an Error with one": "y",
		"JSON of a copy": '{"a":"x","list":["y"]}',
		"let of a module": 2,
		"plain object": "5 6 text!",
		"new global": 4,
		"prototype of an own class": 9,
	});
	assert.deepEqual(new Set(Object.values(rejected)), new Set(["TypeError"]));
	assert.equal(Object.keys(rejected).length, 9);
});

describe("program that cannot be preloaded ends with the name of its module:", () => {
	for (const [name, culprit, message, line] of [
		["a timer set while a module loads", "timer", /a module uses Timer while loading/, "Timer.set"],
		[
			"a channel opened while a module loads",
			"channel",
			/a module uses a Channel while loading/,
			"new Channel",
		],
		["an exception while a module loads", "throwing", /RangeError: while loading/, "throw new"],
		["an import of a missing module", "missing", /module culprit imports no\/such\/module/, undefined],
	] as const)
		test(name, async () => {
			const modules = { main: `${fixtures}/bad/importer.ts`, culprit: `${fixtures}/bad/${culprit}.ts` };
			const exit = await start(await buildProgram({ modules })).exited;
			assert.equal(exit.kind, "bad_program");
			assert.match(exit.message, message);
			if (line === undefined) return;
			assert.deepEqual([exit.file, exit.line], [modules.culprit, await lineOf(`bad/${culprit}`, line)]);
		});

	test("a main without a default function", async () => {
		const exit = await start(await fixture("bad/no-main")).exited;
		assert.equal(exit.kind, "bad_program");
		assert.match(exit.message, /the default export of module main is not a function/);
	});

	test("an invalid or incomplete program", async () => {
		for (const text of ["no program at all", ""]) {
			const exit = await start({ changedAt: 0, bytes: Buffer.from(text) }).exited;
			assert.equal(exit.kind, "bad_program");
			assert.match(exit.message, /the program is truncated/);
		}
	});

	test("a machine that cannot be started", async () => {
		const exit = await start(await fixture("channels"), { executable: "/no/such/machine" }).exited;
		assert.equal(exit.kind, "killed");
		assert.match(exit.message, /ENOENT/);
	});
});

test("the error names packages with a compiler if there is none", async () => {
	const path = process.env.PATH;
	process.env.PATH = "";
	try {
		await assert.rejects(buildMachine(), /apt-get install build-essential.*xcode-select --install/);
	} finally {
		process.env.PATH = path;
	}
});

describe("modules", () => {
	test("are found by name, and by relative paths", async () => {
		const { named, ...files } = await modulesOf(`${fixtures}/names`);
		let traced = "";
		const machine = start(
			await buildProgram({ modules: { ...files, "example:named/module": named ?? "" } }),
			{
				config: { device: 'é😀"\\' },
				onTrace: (text) => {
					traced += text;
				},
			},
		);
		await machine.ready;
		assert.equal(traced, 'above+beside+below named é😀"\\ true');
		await machine.close();
	});
});

describe("end of a process", () => {
	const statuses = new Map<string, number | undefined>();
	const end = async (way: string, options: Partial<MachineOptions> = {}) => {
		const reported: Exit[] = [];
		const machine = start(await fixture("ending"), {
			config: { way },
			onOpen: (channel) => {
				setImmediate(() => channel.send("poke"));
				return {};
			},
			onExit: (exit) => reported.push(exit),
			...options,
		});
		machine.advance(1000).catch(() => {});
		const exit = await machine.exited;
		assert.deepEqual(reported, [exit], "onExit is called once");
		statuses.set(exit.kind, exit.status);
		return exit;
	};
	for (const [way, kind, message, line] of [
		["exception in main", "exception", /^Error: on request$/, "throw new Error"],
		["exception in a timer", "exception", /^Error: on request$/, "throw new Error"],
		["exception in an event", "exception", /^Error: on request$/, "throw new Error"],
		["exception in a promise", "rejection", /^Error: on request$/, "throw new Error"],
		["rejection in an async function", "rejection", /^Error: on request$/, "throw new Error"],
		["chunk memory", "out_of_memory", /^out of chunk memory/, "repeat(1000"],
		["one large chunk", "out_of_memory", /^out of chunk memory/, "new ArrayBuffer(150_000)"],
		["slots", "out_of_memory", /^out of slots/, "kept = { kept }"],
		["stack", "out_of_memory", /^stack overflow/, "deeper(depth + 1)"],
		["keys", "out_of_memory", /^out of keys/, "key$"],
		["endless loop", "watchdog", /watchdog timeout$/, "Date.now()"],
		["endless chain of promises", "watchdog", /watchdog timeout$/, "Promise.resolve().then(again)"],
		["endless built-in", "watchdog", /watchdog/, "indexOf.call"],
	] as const)
		test(`is reported with its line: ${way}`, async () => {
			const exit = await end(way, kind === "watchdog" ? { watchdogMs: 50 } : {});
			assert.equal(exit.kind, kind);
			assert.match(exit.message, message);
			assert.deepEqual([exit.file, exit.line], [`${fixtures}/ending.ts`, await lineOf("ending", line)]);
		});

	test("ignores a rejection that is handled in the same turn", async () => {
		assert.equal((await end("rejection that is handled in time")).kind, "quit");
	});

	test("succeeds with more memory", async () => {
		const machine = start(await fixture("ending"), {
			config: { way: "one large chunk" },
			limits: { chunkBytes: 200_000 },
		});
		await machine.ready;
		await machine.close();
	});

	test("distinguishes restart and quit", async () => {
		assert.equal((await end("restart")).kind, "restart");
		assert.equal((await end("quit")).kind, "quit");
	});

	test("has a separate exit status for each kind", () => {
		assert.equal(statuses.size, 6);
		assert.equal(new Set(statuses.values()).size, 6);
		assert.equal(statuses.get("quit"), 0);
	});

	test("close() calls no callback and resolves with quit", async () => {
		let wasCalled = false;
		const machine = start(await fixture("ending"), {
			onExit: () => {
				wasCalled = true;
			},
		});
		await machine.ready;
		const [exit] = await Promise.all([machine.close(), machine.close()]);
		assert.equal(exit.kind, "quit");
		assert.equal(wasCalled, false);
		await assert.rejects(machine.statistics());
		await assert.rejects(machine.advance(1));
	});

	test("rejects pending promises for the machine with the reason", async () => {
		const machine = start(await fixture("ending"), { config: { way: "exception in main" } });
		await assert.rejects(machine.ready, /on request/);
		await assert.rejects(machine.statistics(), /on request/);
	});

	for (const [signal, kind, status] of [
		["SIGKILL", "killed", undefined],
		["SIGSEGV", "panic", 17],
	] as const)
		test(`reports ${signal}`, async () => {
			const machine = start(await fixture("ending"));
			await machine.ready;
			process.kill(machine.pid ?? 0, signal);
			const exit = await machine.exited;
			assert.deepEqual([exit.kind, exit.status], [kind, status]);
			assert.match(exit.message, new RegExp(signal));
		});
});

test("no machine is left when Node is killed: idle, in endless loops, and in Timer.delay", async () => {
	const modules = { main: `${fixtures}/ending.ts` };
	const busy = ["endless loop", "endless built-in", "delay"];
	const script = `
		import { buildProgram } from ${JSON.stringify(path.resolve("hosts/virtual/node/build.ts"))};
		import { Machine } from ${JSON.stringify(path.resolve("hosts/virtual/node/machine.ts"))};
		const { bytes: program } = await buildProgram(${JSON.stringify({ modules })});
		const options = { program, executable: ${JSON.stringify(executable)}, watchdogMs: 0 };
		const idle = new Machine(options);
		await idle.ready;
		const busy = ${JSON.stringify(busy)}.map((way) => new Machine({ ...options, config: { way } }));
		setTimeout(() => console.log([idle, ...busy].map(({ pid }) => pid).join()), 300);
	`;
	const parent = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "--eval", script], {
		stdio: ["ignore", "pipe", "inherit"],
	});
	const [chunk]: Buffer[] = await nextEvent(parent.stdout, "data");
	const pids = String(chunk).split(",").map(Number);
	assert.equal(pids.filter(isAlive).length, 1 + busy.length, `process ids ${chunk}`);
	parent.kill("SIGKILL");
	await nextEvent(parent, "close");
	await waitUntil(() => !pids.some(isAlive));
});

function isAlive(pid: number): boolean {
	try {
		process.kill(pid, 0);
		return true;
	} catch {
		return false;
	}
}

interface Post {
	request: string;
	detail: unknown;
	payload: Buffer;
}

describe("channels", () => {
	/** Starts an echo machine; next() is its next post. */
	const startEcho = async (
		onCall?: (detail: unknown, payload: Buffer) => Answer | Promise<Answer>,
		options: Partial<MachineOptions> = {},
	) => {
		const posts: Post[] = [];
		const opened: Channel[] = [];
		let onPost = () => {};
		let closed = 0;
		const machine = start(await fixture("channels"), {
			config: { text: "é😀" },
			onOpen: (channel) => {
				opened.push(channel);
				return {
					onPost: (request, detail, payload) => {
						posts.push({ request, detail, payload: Buffer.from(payload) });
						onPost();
					},
					onClose: () => void closed++,
					...(onCall && {
						onCall: (_request: string, detail: unknown, payload: Buffer) => onCall(detail, payload),
					}),
				};
			},
			...options,
		});
		await machine.ready;
		const next = async (): Promise<Post> => {
			for (;;) {
				const post = posts.shift();
				if (post) return post;
				const posted = new Promise<void>((resolve) => {
					onPost = resolve;
				});
				await within(posted, "a message of the machine");
			}
		};
		const view = await next();
		const nothing = await next();
		const [channel] = opened;
		assert.ok(channel, "no channel was opened");
		const counts = { closed: () => closed };
		return { machine, channel, next, posts, counts, view, nothing };
	};

	test("a post contains only the bytes of a view, or none", async () => {
		const { view, nothing, machine } = await startEcho();
		assert.deepEqual(view, { request: "view", detail: null, payload: Buffer.from([2, 3]) });
		assert.deepEqual(nothing, { request: "nothing", detail: null, payload: Buffer.alloc(0) });
		await machine.close();
	});

	test("payloads of any size arrive in both directions", async () => {
		const { channel, next, machine } = await startEcho();
		for (const length of [0, 1, 13, 16_384, 65_535, 65_536]) {
			const payload = Buffer.alloc(length, length % 251);
			channel.send("block", { length }, payload);
			assert.deepEqual(await next(), { request: "block", detail: { length }, payload });
		}
		await machine.close();
	});

	test("events arrive in order, each in its own turn", async () => {
		const { channel, next, machine } = await startEcho();
		for (let i = 0; i < 1000; i++) channel.send(String(i));
		for (let i = 0; i < 1000; i++) assert.equal((await next()).request, String(i));
		await machine.close();
	});

	test("a call waits for its response, and events are queued meanwhile", async () => {
		const { channel, next, machine } = await startEcho(async (detail, payload) => {
			channel.send("meanwhile");
			await new Promise((resolve) => setTimeout(resolve, 5));
			return detail === null ? { payload: Buffer.concat([payload, payload]) } : { detail: { asked: detail } };
		});
		channel.send("ask", "what");
		channel.send("after");
		const nothing = Buffer.alloc(0);
		assert.deepEqual(await next(), { request: "answered", detail: { asked: "what" }, payload: nothing });
		assert.equal((await next()).request, "after");
		assert.equal((await next()).request, "meanwhile");
		channel.send("ask", null, Buffer.from([1, 2]));
		const payload = Buffer.from([1, 2, 1, 2]);
		assert.deepEqual(await next(), { request: "answered", detail: null, payload });
		await machine.close();
	});

	test("a call that Node rejects throws its message in the firmware", async () => {
		const { channel, next, machine } = await startEcho(() => {
			throw new Error(`é😀 ${"long ".repeat(100)}`);
		});
		channel.send("ask");
		assert.equal((await next()).detail, `Error: é😀 ${"long ".repeat(100)}`);
		await machine.close();
	});

	test("a call without a handler throws", async () => {
		const { channel, next, machine } = await startEcho();
		channel.send("ask");
		assert.equal((await next()).detail, 'Error: no handler for "question"');
		await machine.close();
	});

	test("a closed channel neither receives nor sends", async () => {
		const { channel, posts, counts, machine } = await startEcho();
		channel.send("close");
		channel.send("late");
		await machine.settle();
		assert.equal(counts.closed(), 1);
		assert.deepEqual(posts, []);
		channel.send("later");
		await machine.close();
		assert.equal(counts.closed(), 1);
	});

	test("close() and the end of the process close open channels", async () => {
		const { counts, machine } = await startEcho();
		assert.equal(counts.closed(), 0);
		const closing = machine.close();
		assert.equal(counts.closed(), 1);
		await closing;
		assert.equal(counts.closed(), 1);
	});
});

describe("clocks and timers", () => {
	/** Entries noted by the fixture: "text@milliseconds since start". */
	const notes = async (name: string, ms: number, options: Partial<MachineOptions> = {}) => {
		const noted: string[] = [];
		const machine = start(await fixture("clocks"), {
			config: { test: name },
			onOpen: () => ({ onPost: (text, at) => void noted.push(`${text}@${at}`) }),
			...options,
		});
		await machine.ready;
		await machine.advance(ms);
		assert.equal(machine.now, ms);
		await machine.close();
		return noted;
	};

	test("timers fire in the order of their times, simultaneous ones in the order of creation", async () => {
		assert.deepEqual(await notes("order", 20), ["now@0", "a@10", "b@20", "c@20"]);
	});

	test("a timer repeats without drift until it is cleared", async () => {
		assert.deepEqual(await notes("repeat", 1000), ["repeat@100", "repeat@200", "repeat@300"]);
	});

	test("after a stall a repeating timer fires in a burst until it has caught up", async () => {
		assert.deepEqual(await notes("burst", 60), [
			"repeat@10",
			"repeat@45",
			"repeat@45",
			"repeat@45",
			"repeat@50",
			"repeat@60",
		]);
	});

	test("schedule moves, stops and starts a timer; a one-shot ends when its callback returns", async () => {
		assert.deepEqual(await notes("schedule", 200), ["late@50", "woken@65", "once@80", "kept@90", "kept@105"]);
	});

	test("promise jobs run before the next timer", async () => {
		assert.deepEqual(await notes("jobs", 10), ["first@10", "job@10", "second@10"]);
	});

	test("the wall clock is 1970 in UTC until it is set; uptime never jumps", async () => {
		assert.deepEqual(await notes("clocks", 1500), [
			"0 0 0 0@0",
			"1500 1500 1500000 1970-01-01T00:00:01.500Z@1500",
			"1700000000000 1500@1500",
		]);
	});

	test("ticks wrap as signed 32-bit integers, and delta counts across", async () => {
		assert.deepEqual(await notes("wrap", 2 ** 31 + 600), [
			`${2 ** 31 - 400} ${-(2 ** 31) + 600} 1000@${2 ** 31 + 600}`,
		]);
	});

	test("random numbers are reproducible by the seed", async () => {
		const first = await notes("random", 0, { seed: 7 });
		assert.deepEqual(await notes("random", 0, { seed: 7 }), first);
		assert.notDeepEqual(await notes("random", 0, { seed: 8 }), first);
		assert.equal(new Set(first).size, 3);
	});

	test("Node's event loop runs between two points in virtual time", async () => {
		const seen: string[] = [];
		const machine = start(await fixture("clocks"), {
			config: { test: "repeat" },
			onOpen: () => ({ onPost: (_, at) => void seen.push(`post@${at}`) }),
		});
		await machine.ready;
		await machine.advance(250, async () => {
			await Promise.resolve();
			seen.push(`settled@${machine.now}`);
		});
		assert.deepEqual(seen, [
			"settled@0",
			"post@100",
			"settled@100",
			"post@200",
			"settled@200",
			"settled@250",
		]);
		assert.equal(await machine.settle(), 50);
		await machine.close();
	});

	test("timers fire by themselves on the real clock", async () => {
		const noted: number[] = [];
		const exited = new Promise<void>((resolve) => {
			void (async () => {
				const machine = start(await fixture("clocks"), {
					clock: "real",
					config: { test: "repeat" },
					onOpen: () => ({
						onPost: (_, at) => {
							noted.push(Number(at));
							if (noted.length === 3) resolve(machine.close().then(() => {}));
						},
					}),
				});
			})();
		});
		await exited;
		for (const [index, at] of noted.entries()) assert.ok(at >= 100 * (index + 1), `${at}`);
	});
});

describe("garbage collection", () => {
	test("moves and frees the device's objects, but never those in ROM", async () => {
		let traced = "";
		const machine = start(await fixture("garbage"), {
			limits: { chunkBytes: 16_384, slots: 600 },
			onOpen: () => ({}),
			onTrace: (text) => {
				traced += text;
			},
		});
		await machine.ready;
		await machine.advance(1000);
		assert.equal(traced, "intact");
		const { collections } = await machine.statistics();
		assert.ok(collections > 200, `only ${collections} collections`);
		await machine.close();
	});
});

describe("statistics", () => {
	test("count the device's memory, without ROM", async () => {
		const machine = start(await fixture("rom"), { onOpen: () => ({}) });
		await machine.ready;
		const before = await machine.statistics();
		const after = await machine.statistics(true);
		assert.equal(after.collections, before.collections + 1);
		assert.equal(after.chunkBytes, 119_808);
		assert.equal(after.slots, 4_928);
		assert.equal(after.stackSlots, 512);
		assert.ok(after.slotsUsed < 400, `${after.slotsUsed}`);
		assert.ok(
			after.slotsPeak >= before.slotsUsed,
			`peak of ${after.slotsPeak} slots, ${before.slotsUsed} used before`,
		);
		assert.ok(
			after.chunkBytesUsed < before.chunkBytesUsed,
			`${after.chunkBytesUsed} bytes, ${before.chunkBytesUsed} before`,
		);
		assert.ok(after.stackPeak > 10 && after.stackPeak < 512, `peak of ${after.stackPeak} stack slots`);
		await machine.close();
	});
});
