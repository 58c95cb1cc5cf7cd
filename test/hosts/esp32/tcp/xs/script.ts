/** Script over the boards' TCP socket. Each step starts the next one; a failure ends the process with 1. */

import TCP, { type Options } from "embedded:io/socket/tcp";

declare const ports: Readonly<Record<"rejecting" | "greeting" | "resetting" | "echoing", number>>;
declare function now(): number;
declare function exit(status: number): void;
declare function collect(): void;

const longestStepMs = 20_000;
const address = "127.0.0.1";

let timers: { at: number; callback: () => void }[] = [];
function later(callback: () => void, delayMs = 0): void {
	timers.push({ at: now() + delayMs, callback });
}

let stepEndsMs = 0;
let stepName = "";
Object.assign(globalThis, {
	tick() {
		if (now() > stepEndsMs) fail("took too long");
		const due = timers.filter(({ at }) => at <= now());
		timers = timers.filter((timer) => !due.includes(timer));
		for (const { callback } of due) callback();
	},
});

function fail(reason: string): void {
	trace(`FAILED: ${stepName}: ${reason}\n`);
	exit(1);
}

function check(condition: boolean, reason: string): void {
	if (!condition) fail(reason);
}

function thrownBy(action: () => void): string {
	try {
		action();
	} catch (error) {
		return String(error);
	}
	return "nothing";
}

/** Reads at most `byteCount` bytes. @returns one character per byte */
function readText(socket: TCP, byteCount: number): string {
	const bytes = new Uint8Array(byteCount);
	return String.fromCharCode(...bytes.subarray(0, socket.read(bytes)));
}
const steps: readonly (readonly [string, (next: () => void) => void])[] = [
	[
		"rejects options out of range",
		(next) => {
			const wrong: Partial<Record<keyof Options, unknown>>[] = [
				{ address: "localhost" },
				{ address: undefined },
				{ port: 0 },
				{ port: 65_536 },
			];
			for (const options of wrong) {
				const thrown = thrownBy(() =>
					Reflect.construct(TCP, [{ address, port: ports.greeting, ...options }]),
				);
				check(thrown.startsWith("RangeError"), `${JSON.stringify(options)} gives ${thrown}`);
			}
			next();
		},
	],
	[
		"reports a rejected connection as one error",
		(next) => {
			new TCP({
				address,
				port: ports.rejecting,
				onWritable: () => fail("connected"),
				onError() {
					this.close();
					this.close();
					next();
				},
			});
		},
	],
	[
		"delivers bytes received before a close",
		(next) => {
			let text = "";
			new TCP({
				address,
				port: ports.greeting,
				onWritable(byteCount) {
					check(byteCount === 4096, `${byteCount} are writable`);
				},
				onReadable(byteCount) {
					for (let i = 0; i < byteCount; i++) text += readText(this, 1);
					check(readText(this, 1) === "", "more than announced");
				},
				onError() {
					check(text === "hello world", text);
					this.close();
					next();
				},
			});
		},
	],
	[
		"reads into a part of a buffer, and no more than announced",
		(next) => {
			new TCP({
				address,
				port: ports.greeting,
				onReadable(byteCount) {
					if (byteCount < 11) return;
					const bytes = new Uint8Array(9);
					check(this.read(bytes.subarray(3, 6)) === 3, "no count");
					check(String(bytes) === "0,0,0,104,101,108,0,0,0", String(bytes));
					const rest = readText(this, 100);
					check(rest === "lo world", rest);
					this.close();
					next();
				},
			});
		},
	],
	[
		"reports a reset as one error and stays closed",
		(next) => {
			new TCP({
				address,
				port: ports.resetting,
				onReadable(byteCount) {
					readText(this, byteCount);
				},
				onError() {
					check(readText(this, 1) === "", "it reads after its error");
					check(this.write(new Uint8Array(3)) === 0, "it writes after its error");
					this.close();
					check(thrownBy(() => readText(this, 1)) !== "nothing", "it reads after close");
					next();
				},
			});
		},
	],
	[
		"turns an exception in a callback into a socket error",
		(next) => {
			new TCP({
				address,
				port: ports.greeting,
				onWritable() {
					throw new Error("mine");
				},
				onError() {
					this.close();
					next();
				},
			});
		},
	],
	[
		"rejects a write beyond the limit",
		(next) => {
			const socket = new TCP({
				address,
				port: ports.echoing,
				onWritable(byteCount) {
					check(
						thrownBy(() => this.write(new Uint8Array(byteCount + 1))) !== "nothing",
						"it writes too much",
					);
					this.close();
					next();
				},
			});
			check(
				thrownBy(() => socket.write(new Uint8Array(1))) !== "nothing",
				"it writes before it is connected",
			);
		},
	],
	[
		"collects a closed socket as garbage",
		(next) => {
			const closed = new WeakRef(new TCP({ address, port: ports.echoing }));
			closed.deref()?.close();
			later(() => {
				collect();
				check(closed.deref() === undefined, "it stays");
				next();
			}, 20);
		},
	],
	[
		"runs six sockets at a time, without a reference",
		(next) => {
			const sockets = Array.from({ length: 6 }, () => new TCP({ address, port: ports.echoing }));
			check(thrownBy(() => new TCP({ address, port: ports.echoing })) !== "nothing", "a seventh");
			for (const socket of sockets) socket.close();
			later(() => {
				new TCP({
					address,
					port: ports.echoing,
					onWritable() {
						this.close();
						next();
					},
				});
				collect();
			}, 100);
		},
	],
];

function run(index: number): void {
	collect();
	const step = steps[index];
	if (!step) {
		// The machine ends with an open socket.
		new TCP({ address, port: ports.echoing });
		trace(`${index} steps\n`);
		return exit(0);
	}
	const [name, action] = step;
	stepName = name;
	stepEndsMs = now() + longestStepMs;
	let isOver = false;
	action(() => {
		if (isOver) return fail("ended twice");
		isOver = true;
		later(() => run(index + 1), 20);
	});
	// Before any event, which callbacks and sockets must survive.
	collect();
}
run(0);
