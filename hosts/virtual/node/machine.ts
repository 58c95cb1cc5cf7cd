/**
 * Process with the XS engine and a firmware. onOpen provides the handler for each channel that the firmware opens (a socket, the speaker,
 * the flash).
 */

import { type ChildProcess, spawn } from "node:child_process";
import { Socket } from "node:net";
import { messageOf } from "../../../device/message-of.js";
import type { Channel, ChannelHandler } from "./channel.js";
import { describeExit, type Exit, exitFrom, exitWithoutReport, noLocation } from "./exit.js";
import { encodeFrame, type Frame, FrameDecoder, frameKind } from "./frames.js";

/** Limits of the XS heap, which cannot grow. The process ends when a limit is exceeded. */
export interface Limits {
	/** Memory for strings, buffers and arrays. */
	chunkBytes: number;
	/** Values and properties; 16 bytes each on a board. */
	slots: number;
	stackSlots: number;
	/** Property names in addition to those in the firmware. */
	keys: number;
}

/** Lower than on boards (`XsEngine.limits`): 79 KB of chunks plus the ring buffer for sounds, 77 KB of slots, 8 KB of stack. */
const boardLimits: Limits = { chunkBytes: 78_848 + 40_960, slots: 4_928, stackSlots: 512, keys: 256 };

/** Heap statistics, with the slot count of a board. */
export interface Statistics {
	chunkBytesUsed: number;
	chunkBytesPeak: number;
	chunkBytes: number;
	slotsUsed: number;
	slotsPeak: number;
	slots: number;
	stackPeak: number;
	stackSlots: number;
	keysUsed: number;
	keys: number;
	/** Number of garbage collections; wraps around at 65,536. */
	collections: number;
}

export interface MachineOptions {
	/** Result of buildMachine(). */
	executable: string;
	/** Result of buildProgram(). */
	program: Uint8Array;
	/** Content of mc/config. */
	config?: Readonly<Record<string, string>> | undefined;
	/** Defaults: boardLimits. */
	limits?: Partial<Limits> | undefined;
	/** "virtual": only advance() advances time. Default: "real". */
	clock?: "real" | "virtual" | undefined;
	/** 32-bit seed of Math.random. Default: random. */
	seed?: number | undefined;
	/** Limit of processor time per turn; 0 for no limit. Default: 10,000, like the task watchdog of boards. */
	watchdogMs?: number | undefined;
	onOpen?: ((channel: Channel) => ChannelHandler) | undefined;
	onTrace?: ((text: string) => void) | undefined;
	/** Not called after close(). */
	onExit?: ((exit: Exit) => void) | undefined;
}

interface Times {
	/** Milliseconds since the start. */
	now: number;
	/** Due time of the next timer; null without a timer. */
	next: number | null;
}

type Waiter = { resolve(header: string): void; reject(error: Error): void };

/** Waits for one round of Node's event loop. */
const nextRound = () => new Promise<void>((resolve) => setImmediate(resolve));

export class Machine {
	/** Resolves when main has returned; rejects if the process ends first. */
	readonly ready: Promise<void>;
	/** Resolves when the process has ended; never rejects. */
	readonly exited: Promise<Exit>;
	readonly #options: MachineOptions;
	readonly #process: ChildProcess;
	readonly #stream: Socket;
	readonly #handlers = new Map<number, ChannelHandler>();
	/** Pending requests, whose replies arrive in order. */
	readonly #waiters: Waiter[] = [];
	#exit: Exit | undefined;
	#hasEnded = false;
	#isClosed = false;
	#isCorked = false;
	#now = 0;

	constructor(options: MachineOptions) {
		this.#options = options;
		this.#process = spawn(options.executable, [], {
			stdio: ["ignore", "ignore", "inherit", "pipe"],
		});
		const stream = this.#process.stdio[3];
		if (!(stream instanceof Socket)) throw new Error("The machine process has no stream.");
		this.#stream = stream;
		const decoder = new FrameDecoder({ onFrame: (frame) => this.#onFrame(frame) });
		stream.on("data", (chunk) => decoder.write(chunk));
		// The process events report the end.
		stream.on("error", () => {});
		this.exited = new Promise((resolve) => {
			this.#process.on("error", ({ message }) =>
				resolve(this.#onEnd({ ...noLocation, kind: "killed", message })),
			);
			this.#process.on("close", (status, signal) => resolve(this.#onEnd(exitWithoutReport(status, signal))));
		});
		this.ready = this.#reply().then((header) => {
			this.#noteTimes(header);
		});
		// onExit reports the same error.
		this.ready.catch(() => {});
		this.#writeFrame(frameKind.start, 0, startHeader(options), options.program);
	}

	/** Undefined if the process could not be started. */
	get pid(): number | undefined {
		return this.#process.pid;
	}

	/** Milliseconds since the start on the virtual clock. */
	get now(): number {
		return this.#now;
	}

	/**
	 * Advances the virtual clock by `ms`. Awaits `settle` before, between and after the due times of timers, so that Node can process events.
	 *
	 * @param settle defaults to one round of Node's event loop
	 * @throws Error if the clock is real, or the process ends
	 */
	async advance(ms: number, settle: () => void | Promise<void> = nextRound): Promise<void> {
		if (this.#options.clock !== "virtual") throw new Error("Only a virtual clock can be advanced.");
		const target = this.#now + ms;
		for (;;) {
			await settle();
			const { now, next } = await this.#step(target);
			if (now >= target && (next === null || next > target)) break;
		}
		await settle();
	}

	/**
	 * Waits until the machine has processed everything sent to it.
	 *
	 * @returns milliseconds until its next timer; undefined without a timer
	 */
	async settle(): Promise<number | undefined> {
		const { now, next } = await this.#step(0);
		return next === null ? undefined : Math.max(0, next - now);
	}

	/** @param collect whether to collect garbage first */
	async statistics(collect = false): Promise<Statistics> {
		return JSON.parse(await this.#request(frameKind.inspect, collect ? "1" : "0"));
	}

	/** Ends the process. No callback is called afterwards. */
	close(): Promise<Exit> {
		this.#isClosed = true;
		if (!this.#hasEnded) {
			this.#exit ??= { ...noLocation, kind: "quit", message: "quit" };
			this.#closeHandlers();
			this.#process.kill("SIGKILL");
			this.#stream.destroy();
		}
		return this.exited;
	}

	#writeFrame(kind: number, channel: number, header: string, payload?: Uint8Array): void {
		if (this.#hasEnded || this.#isClosed) return;
		this.#corkForNow();
		for (const part of encodeFrame(kind, channel, header, payload)) this.#stream.write(part);
	}

	/** Combines the writes of one turn, each of which would wake the machine. */
	#corkForNow(): void {
		if (this.#isCorked) return;
		this.#isCorked = true;
		this.#stream.cork();
		process.nextTick(() => {
			this.#isCorked = false;
			this.#stream.uncork();
		});
	}

	#reply(): Promise<string> {
		return new Promise((resolve, reject) => {
			if (this.#hasEnded || this.#isClosed) reject(new Error(this.#exit?.message ?? "the machine is closed"));
			else this.#waiters.push({ resolve, reject });
		});
	}

	#request(kind: number, header: string): Promise<string> {
		const reply = this.#reply();
		this.#writeFrame(kind, 0, header);
		return reply;
	}

	/** Advances to the next timer due by `target`, in milliseconds since the start. A past target does not change the time. */
	async #step(target: number): Promise<Times> {
		return this.#noteTimes(await this.#request(frameKind.step, String(target)));
	}

	#noteTimes(header: string): Times {
		const times: Times = JSON.parse(header);
		this.#now = times.now;
		return times;
	}

	#onFrame({ kind, channel, header, payload }: Frame): void {
		if (this.#isClosed) return;
		switch (kind) {
			case frameKind.open:
				this.#onOpen(channel, header);
				break;
			case frameKind.post: {
				const [request, detail]: [string, unknown] = JSON.parse(header);
				this.#handlers.get(channel)?.onPost?.(request, detail, payload);
				break;
			}
			case frameKind.call:
				void this.#onCall(channel, header, payload);
				break;
			case frameKind.close: {
				const handler = this.#handlers.get(channel);
				this.#handlers.delete(channel);
				handler?.onClose?.();
				break;
			}
			case frameKind.trace:
				this.#options.onTrace?.(payload.toString());
				break;
			case frameKind.exit:
				this.#exit = exitFrom(channel, header, payload.toString());
				break;
			case frameKind.reply:
				this.#waiters.shift()?.resolve(header);
		}
	}

	#onOpen(id: number, header: string): void {
		const [kind, options]: [string, unknown] = JSON.parse(header);
		if (!this.#options.onOpen) throw new Error(`The firmware opened "${kind}", but onOpen is not set.`);
		// Registered first, so that the handler's constructor can send events.
		this.#handlers.set(id, {});
		const send = (name: string, detail?: unknown, payload?: Uint8Array) => {
			if (this.#handlers.has(id))
				this.#writeFrame(frameKind.event, id, JSON.stringify([name, detail]), payload);
		};
		this.#handlers.set(id, this.#options.onOpen({ id, kind, options, send }));
	}

	async #onCall(channel: number, header: string, payload: Buffer): Promise<void> {
		const [request, detail]: [string, unknown] = JSON.parse(header);
		try {
			const handler = this.#handlers.get(channel);
			if (!handler?.onCall) throw new Error(`no handler for "${request}"`);
			const answered = handler.onCall(request, detail, payload);
			// Awaiting a synchronous answer would cost a turn of the event loop.
			const answer = answered instanceof Promise ? await answered : answered;
			this.#writeFrame(frameKind.answer, channel, JSON.stringify({ value: answer?.detail }), answer?.payload);
		} catch (error) {
			const failure = messageOf(error);
			this.#writeFrame(frameKind.answer, channel, JSON.stringify({ failure }));
		}
	}

	#closeHandlers(): void {
		const handlers = [...this.#handlers.values()];
		this.#handlers.clear();
		for (const handler of handlers) handler.onClose?.();
	}

	/** @param exit used unless the machine has reported its exit */
	#onEnd(exit: Exit): Exit {
		if (this.#hasEnded && this.#exit) return this.#exit;
		this.#hasEnded = true;
		this.#exit = { ...(this.#exit ?? exit), status: exit.status };
		const error = new Error(describeExit(this.#exit));
		for (const waiter of this.#waiters.splice(0)) waiter.reject(error);
		if (!this.#isClosed) {
			this.#closeHandlers();
			this.#options.onExit?.(this.#exit);
		}
		return this.#exit;
	}
}

/** Encodes the header of the start frame for machine.c. */
function startHeader(options: MachineOptions): string {
	const { chunkBytes, slots, stackSlots, keys } = { ...boardLimits, ...options.limits };
	const { clock, config = {}, watchdogMs = 10_000 } = options;
	const { seed = Math.floor(Math.random() * 2 ** 32) } = options;
	const isVirtual = Number(clock === "virtual");
	const numbers = [chunkBytes, slots, stackSlots, keys, watchdogMs, isVirtual, seed];
	return [...numbers, JSON.stringify(config)].join(" ");
}
