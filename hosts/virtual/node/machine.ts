/**
 * A device as a process: the real XS engine with the firmware in it, and this class as its only link to the world.
 * What the firmware opens (a socket, a speaker, a flash) arrives as a channel; onOpen answers with the stand-in.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { Socket } from "node:net";
import { encodeFrame, type Frame, FrameDecoder, FrameKind } from "./frames.js";

/** A stand-in's line to the firmware. */
export interface Channel {
	readonly id: number;
	/** As in the firmware's `new Channel(kind, options, …)`. */
	readonly kind: string;
	readonly options: unknown;
	/**
	 * Sends an event, which the firmware gets in a turn of its own. Does nothing once either side is closed.
	 * @returns false if the machine is slow and much waits to be written: pause until onDrain
	 */
	send(name: string, detail?: unknown, payload?: Uint8Array): boolean;
}

/** What Node answers to a call. */
export interface Answer {
	detail?: unknown;
	payload?: Uint8Array;
}

type MaybeAnswer = Answer | undefined;

/** A stand-in. Payloads are views that live until the callback returns: copy them to keep them. */
export interface ChannelHandler {
	/** A request without an answer. */
	onPost?(request: string, detail: unknown, payload: Buffer): void;
	/** A request that the firmware waits for. What it throws is thrown in the firmware, as an Error with its message. */
	onCall?(request: string, detail: unknown, payload: Buffer): MaybeAnswer | Promise<MaybeAnswer>;
	/** The firmware closed the channel, or the process ended. */
	onClose?(): void;
	/** What send() left waiting has been written. */
	onDrain?(): void;
}

/** Sizes of the device's XS heap. None can grow: when one is full, the process ends. */
export interface Limits {
	/** Bytes for strings, buffers and arrays. */
	chunkBytes: number;
	/** Slots for values and properties: 16 bytes each on a board. */
	slots: number;
	/** Slots of the stack. */
	stackSlots: number;
	/** Property names that are not in the firmware itself. */
	keys: number;
}

/** The creation block of our boards: 79 KB of chunks, 77 KB of slots, 8 KB of stack. */
export const BOARD_LIMITS: Limits = { chunkBytes: 78_848, slots: 4_928, stackSlots: 512, keys: 256 };

/** The process's exit status for each way to end that it can report; `enum reason` in machine.h. */
const EXIT_STATUS = {
	quit: 0,
	exception: 10,
	rejection: 11,
	out_of_memory: 12,
	watchdog: 13,
	restart: 14,
	bad_program: 15,
} as const;

/** Why a machine ended. */
export interface Exit {
	/**
	 * quit: switched off, also by close(). restart: the firmware restarted the device. exception: not caught.
	 * rejection: of a promise, not handled when the turn ended. out_of_memory: see pool. watchdog: a turn did not end.
	 * bad_program: it cannot be loaded or preloaded. killed: the process ended without a word, see message.
	 */
	kind: keyof typeof EXIT_STATUS | "killed";
	message: string;
	/** Exit status of the process, another one for each kind; undefined if a signal ended it, as close() does. */
	status: number | undefined;
	/** out_of_memory: "chunk", "slot", "stack" or "keys" of the device; "host" if this computer has none left. */
	pool: string | undefined;
	/** The TypeScript file, relative to the project. */
	file: string | undefined;
	/** From 1. */
	line: number | undefined;
	/** Lines of "at function (file:line)", innermost first; "" if there is none. */
	stack: string;
}

/** The device's heap. Counts of slots are a board's; bytes of slots are slots × 16 there. */
export interface Statistics {
	chunkBytesUsed: number;
	chunkBytesPeak: number;
	chunkBytes: number;
	slotsUsed: number;
	slotsPeak: number;
	slots: number;
	/** Slots of the stack. */
	stackPeak: number;
	stackSlots: number;
	keysUsed: number;
	keys: number;
	/** Preloaded objects and variables that may change: each costs a board 4 bytes. */
	aliases: number;
	/** Garbage collections since start; wraps at 65,536. */
	collections: number;
}

export interface MachineOptions {
	/** From buildMachine(). */
	executable: string;
	/** The path of a program, from buildProgram(). */
	program: string;
	/** mc/config. */
	config?: Readonly<Record<string, string>> | undefined;
	/** Default: BOARD_LIMITS. */
	limits?: Partial<Limits> | undefined;
	/** "virtual": time stands still unless advance() moves it. Default "real". */
	clock?: "real" | "virtual" | undefined;
	/** Wall clock at start, milliseconds since 1970. Default 0: nobody has set it yet. */
	wallClock?: number | undefined;
	/** Time.ticks at start; near 2 ** 31 it wraps soon. Default 0. */
	firstTick?: number | undefined;
	/** Of Math.random, 32 bits. Default: a random one. */
	seed?: number | undefined;
	/** A turn may take so much processor time; 0: any. Default 10,000, the task watchdog of our boards. */
	watchdogMs?: number | undefined;
	onOpen?: ((channel: Channel) => ChannelHandler) | undefined;
	/** Text that the firmware traced. */
	onTrace?: ((text: string) => void) | undefined;
	/** The process has ended. Not called after close(). */
	onExit?: ((exit: Exit) => void) | undefined;
}

interface Times {
	/** Milliseconds since start. */
	now: number;
	/** When the next timer is due; null if there is none. */
	next: number | null;
}

type Waiter = { resolve(header: string): void; reject(error: Error): void };

/** Lets everything that Node has to do at this moment happen once: sockets deliver, promises settle. */
const nextRound = () => new Promise<void>((resolve) => setImmediate(resolve));

export class Machine {
	/** Settles when main has returned; rejects if the process ends before. */
	readonly ready: Promise<void>;
	/** Settles when the process has ended. Never rejects. */
	readonly exited: Promise<Exit>;
	readonly #options: MachineOptions;
	readonly #process: ChildProcess;
	readonly #stream: Socket;
	readonly #handlers = new Map<number, ChannelHandler>();
	/** Who waits for which kind of frame, in order. */
	readonly #waiters = new Map<number, Waiter[]>();
	#exit: Exit | undefined;
	#hasEnded = false;
	#isClosed = false;
	#isCorked = false;
	#now = 0;

	constructor(options: MachineOptions) {
		this.#options = options;
		this.#process = spawn(options.executable, [options.program], {
			stdio: ["ignore", "ignore", "inherit", "pipe"],
		});
		const stream = this.#process.stdio[3];
		if (!(stream instanceof Socket)) throw new Error("the machine has no stream");
		this.#stream = stream;
		const decoder = new FrameDecoder((frame) => this.#onFrame(frame));
		stream.on("data", (chunk) => decoder.write(chunk));
		stream.on("drain", () => {
			for (const handler of this.#handlers.values()) handler.onDrain?.();
		});
		/* A machine that ends while something is written to it; its end is reported by the process. */
		stream.on("error", () => {});
		this.exited = new Promise((resolve) => {
			this.#process.on("error", (error) => resolve(this.#onEnd(error.message, undefined)));
			this.#process.on("close", (status, signal) =>
				resolve(this.#onEnd(`the process ended with ${signal ?? `status ${status}`}`, status ?? undefined)),
			);
		});
		this.ready = this.#wait(FrameKind.ready).then((header) => {
			this.#noteTimes(header);
		});
		/* Whoever does not care for `ready` still has onExit. */
		this.ready.catch(() => {});
		this.#send(FrameKind.start, 0, JSON.stringify(startOptions(options)));
	}

	/** The machine's process; undefined if it could not be started. */
	get pid(): number | undefined {
		return this.#process.pid;
	}

	/** Milliseconds since start on the virtual clock. */
	get now(): number {
		return this.#now;
	}

	/**
	 * Virtual clock: lets `ms` pass. Timers run in order, those of one moment together, and `settle` is awaited
	 * before the first, between moments and after the last, so that the rest of the world can do its part.
	 * @param settle default: one round of Node's event loop
	 * @throws Error if the clock is real, or the process ends
	 */
	async advance(ms: number, settle: () => void | Promise<void> = nextRound): Promise<void> {
		if (this.#options.clock !== "virtual") throw new Error("only a virtual clock can be advanced");
		const target = this.#now + ms;
		for (;;) {
			await settle();
			const { now, next } = this.#noteTimes(
				await this.#ask(FrameKind.step, FrameKind.stepped, String(target)),
			);
			if (now >= target && (next === null || next > target)) break;
		}
		await settle();
	}

	/**
	 * Waits until the machine has done all that was sent to it before.
	 * @returns milliseconds from now until its next timer is due; undefined if it has none
	 */
	async settle(): Promise<number | undefined> {
		const { now, next } = this.#noteTimes(await this.#ask(FrameKind.sync, FrameKind.synced, ""));
		return next === null ? undefined : Math.max(0, next - now);
	}

	/** The state of the heap; after a garbage collection if `collect`. */
	async statistics(collect = false): Promise<Statistics> {
		return JSON.parse(await this.#ask(FrameKind.inspect, FrameKind.statistics, collect ? "1" : "0"));
	}

	/** Switches the device off, as pulling its plug would. No callback comes after it. */
	close(): Promise<Exit> {
		this.#isClosed = true;
		if (!this.#hasEnded) {
			this.#exit ??= { ...NO_PLACE, kind: "quit", message: "quit" };
			this.#closeHandlers();
			this.#process.kill("SIGKILL");
			this.#stream.destroy();
		}
		return this.exited;
	}

	#send(kind: number, channel: number, header: string, payload?: Uint8Array): boolean {
		if (this.#hasEnded || this.#isClosed) return true;
		let isFree = true;
		this.#corkForNow();
		for (const part of encodeFrame(kind, channel, header, payload)) isFree = this.#stream.write(part);
		return isFree;
	}

	/** What is sent in one turn goes out together: each write would wake the machine. */
	#corkForNow(): void {
		if (this.#isCorked) return;
		this.#isCorked = true;
		this.#stream.cork();
		process.nextTick(() => {
			this.#isCorked = false;
			this.#stream.uncork();
		});
	}

	#wait(kind: number): Promise<string> {
		return new Promise((resolve, reject) => {
			if (this.#hasEnded || this.#isClosed) {
				reject(new Error(this.#exit?.message ?? "the machine is closed"));
				return;
			}
			const waiters = this.#waiters.get(kind);
			if (waiters) waiters.push({ resolve, reject });
			else this.#waiters.set(kind, [{ resolve, reject }]);
		});
	}

	#ask(kind: number, answerKind: number, header: string): Promise<string> {
		const answer = this.#wait(answerKind);
		this.#send(kind, 0, header);
		return answer;
	}

	#noteTimes(header: string): Times {
		const times: Times = JSON.parse(header);
		this.#now = times.now;
		return times;
	}

	#onFrame({ kind, channel, header, payload }: Frame): void {
		if (this.#isClosed) return;
		switch (kind) {
			case FrameKind.open:
				this.#onOpen(channel, header);
				break;
			case FrameKind.post: {
				const [request, detail]: [string, unknown] = JSON.parse(header);
				this.#handlers.get(channel)?.onPost?.(request, detail, payload);
				break;
			}
			case FrameKind.call:
				void this.#onCall(channel, header, payload);
				break;
			case FrameKind.close: {
				const handler = this.#handlers.get(channel);
				this.#handlers.delete(channel);
				handler?.onClose?.();
				break;
			}
			case FrameKind.trace:
				this.#options.onTrace?.(payload.toString());
				break;
			case FrameKind.exit:
				this.#exit = exitFrom(header);
				break;
			default:
				this.#waiters.get(kind)?.shift()?.resolve(header);
		}
	}

	#onOpen(id: number, header: string): void {
		const [kind, options]: [string, unknown] = JSON.parse(header);
		if (!this.#options.onOpen)
			throw new Error(`the firmware opened "${kind}", but the machine has no onOpen`);
		/* Registered first, so that the stand-in can send while it is made. */
		this.#handlers.set(id, {});
		const send = (name: string, detail?: unknown, payload?: Uint8Array) =>
			!this.#handlers.has(id) || this.#send(FrameKind.event, id, JSON.stringify([name, detail]), payload);
		this.#handlers.set(id, this.#options.onOpen({ id, kind, options, send }));
	}

	async #onCall(channel: number, header: string, payload: Buffer): Promise<void> {
		const [request, detail]: [string, unknown] = JSON.parse(header);
		try {
			const handler = this.#handlers.get(channel);
			if (!handler?.onCall) throw new Error(`nobody answers "${request}"`);
			const answered = handler.onCall(request, detail, payload);
			/* Awaiting costs a turn of the event loop that a plain answer need not wait for. */
			const answer = answered instanceof Promise ? await answered : answered;
			const text = answer?.detail === undefined ? "" : JSON.stringify(answer.detail);
			this.#send(FrameKind.answer, channel, text, answer?.payload);
		} catch (error) {
			this.#send(FrameKind.failure, channel, error instanceof Error ? error.message : String(error));
		}
	}

	#closeHandlers(): void {
		const handlers = [...this.#handlers.values()];
		this.#handlers.clear();
		for (const handler of handlers) handler.onClose?.();
	}

	#onEnd(message: string, status: number | undefined): Exit {
		if (this.#hasEnded && this.#exit) return this.#exit;
		this.#hasEnded = true;
		this.#exit = { ...(this.#exit ?? { ...NO_PLACE, kind: "killed", message }), status };
		const error = new Error(describeExit(this.#exit));
		for (const waiters of this.#waiters.values()) for (const waiter of waiters) waiter.reject(error);
		this.#waiters.clear();
		if (!this.#isClosed) {
			this.#closeHandlers();
			this.#options.onExit?.(this.#exit);
		}
		return this.#exit;
	}
}

const NO_PLACE = { status: undefined, pool: undefined, file: undefined, line: undefined, stack: "" } as const;

/** One line for people: what happened, and where. */
export function describeExit(exit: Exit): string {
	const place = exit.file === undefined ? "" : ` (${exit.file}:${exit.line})`;
	return `${exit.kind}: ${exit.message}${place}`;
}

function startOptions(options: MachineOptions) {
	return {
		...BOARD_LIMITS,
		...options.limits,
		config: JSON.stringify(options.config ?? {}),
		isVirtual: options.clock === "virtual" ? 1 : 0,
		wallClock: options.wallClock ?? 0,
		firstTick: options.firstTick ?? 0,
		seed: options.seed ?? Math.floor(Math.random() * 2 ** 32),
		watchdogMs: options.watchdogMs ?? 10_000,
	};
}

function exitFrom(header: string): Exit {
	const exit: { kind: keyof typeof EXIT_STATUS; message: string; pool?: string; stack?: string } =
		JSON.parse(header);
	const stack = exit.stack ?? "";
	/* Where the firmware was, rather than where our own modules refused it. */
	const places = [...stack.matchAll(/([^\s()]+):(\d+)\)?$/gm)];
	const place = places.find(([, file]) => !file?.startsWith("hosts/virtual/modules/")) ?? places[0];
	return {
		kind: exit.kind,
		message: exit.message,
		status: EXIT_STATUS[exit.kind],
		pool: exit.pool,
		file: place?.[1],
		line: place ? Number(place[2]) : undefined,
		stack,
	};
}
