/** Reads a stream of NATS: what it holds, then what is added. After each connection it reads from the beginning again. */

import {
	type ConsumerMessages,
	JetStreamApiCodes,
	JetStreamApiError,
	type JetStreamClient,
	type JsMsg,
	type OrderedConsumerOptions,
} from "@nats-io/jetstream";
import { percentDecoded } from "../../api/text.js";
import { BusError } from "../../bus.js";
import type { Unsubscribe } from "../../storage/log.js";
import type { NatsLink } from "./link.js";

export interface NatsReaderOptions {
	readonly link: NatsLink;
	readonly client: JetStreamClient;
	readonly stream: string;
	readonly consumer: Partial<OrderedConsumerOptions>;
	/** A reading begins: the server may have lost its place, or the stream what was written last. */
	readonly onBegin: () => void;
	readonly onMessage: (message: JsMsg) => void;
	/** All that the stream held was read. */
	readonly onRead: () => void;
}

/** A server's consumer that is gone is noticed after two of these. */
const heartbeatMs = 1_000;
const retryMs = 1_000;
/** What was counted when a reading began may never come: its time to live has ended. */
const stalledMs = 5_000;
const notWritten: readonly number[] = [
	JetStreamApiCodes.StreamWrongLastSequence,
	JetStreamApiCodes.StreamWrongLastSequenceUnknown,
];

/** @returns undefined if another write came first */
export async function unlessOverwritten<T>(work: () => Promise<T>): Promise<T | undefined> {
	try {
		return await work();
	} catch (error) {
		if (error instanceof JetStreamApiError && notWritten.includes(error.code)) return undefined;
		throw error;
	}
}

export class NatsReader {
	readonly #options: NatsReaderOptions;
	readonly #stopListening: Unsubscribe;
	#messages: ConsumerMessages | undefined;
	/** Counts the readings; messages of an earlier one are left out. */
	#reading = 0;
	#fail: (error: BusError) => void = () => {};
	#isOpening = true;
	#isClosed = false;
	#timer: NodeJS.Timeout | undefined;
	#stalled: NodeJS.Timeout | undefined;

	constructor(options: NatsReaderOptions) {
		this.#options = options;
		this.#stopListening = options.link.onStatus((isConnected) => {
			if (!isConnected) this.#stop();
			else if (!this.#isOpening) this.#readAgain();
		});
	}

	/** Resolves once all that the stream holds was read. @throws {BusError} */
	async open(): Promise<Unsubscribe> {
		try {
			await this.#options.link.ask(() => this.#consume());
			this.#isOpening = false;
			return () => this.#close();
		} catch (error) {
			this.#close();
			throw error;
		}
	}

	#close(): void {
		this.#isClosed = true;
		this.#stopListening();
		this.#stop();
	}

	#stop(): void {
		this.#reading += 1;
		clearTimeout(this.#timer);
		clearTimeout(this.#stalled);
		this.#messages?.stop();
		this.#messages = undefined;
		this.#fail(new BusError("away", "NATS cannot be reached."));
	}

	#readAgain(): void {
		const { link } = this.#options;
		if (this.#isClosed || !link.isConnected) return;
		this.#stop();
		const reading = this.#reading + 1;
		link
			.ask(() => this.#consume())
			.catch(() => {
				if (reading === this.#reading) this.#timer = setTimeout(() => this.#readAgain(), retryMs).unref();
			});
	}

	async #consume(): Promise<void> {
		const { client, stream, consumer: config, onBegin, onMessage, onRead } = this.#options;
		this.#reading += 1;
		const reading = this.#reading;
		// A copy: the client changes it to go on where it was.
		const consumer = await client.consumers.get(stream, { ...config });
		const { num_pending: count } = await consumer.info(true);
		if (reading !== this.#reading) throw new BusError("away", "NATS cannot be reached.");
		onBegin();
		let isWhole = false;
		let received = 0;
		await new Promise<void>((resolve, reject) => {
			this.#fail = reject;
			this.#stalled = setTimeout(() => {
				reject(new BusError("timeout", `What ${stream} holds did not come from NATS.`));
			}, stalledMs);
			const end = () => {
				isWhole = true;
				clearTimeout(this.#stalled);
				guarded(onRead);
				resolve();
			};
			const callback = (message: JsMsg) => {
				if (reading !== this.#reading) return;
				guarded(() => onMessage(message));
				if (isWhole) return;
				received += 1;
				// What is overwritten meanwhile comes later: nats-server 2.9 may say without end that it is pending.
				if (received >= count || message.info.pending === 0) end();
				else this.#stalled?.refresh();
			};
			consumer.consume({ callback, idle_heartbeat: heartbeatMs }).then((messages) => {
				if (reading !== this.#reading) return messages.stop();
				this.#messages = messages;
				if (count === 0) end();
				void this.#follow(messages, reading);
			}, reject);
		});
	}

	/** The server that sends the changes may have ended while another one keeps the connection. */
	async #follow(messages: ConsumerMessages, reading: number): Promise<void> {
		for await (const { type } of messages.status()) if (type === "heartbeats_missed") break;
		if (reading === this.#reading) this.#readAgain();
	}
}

/** The client would stop to read without a word. */
function guarded(work: () => void): void {
	try {
		work();
	} catch (defect) {
		queueMicrotask(() => {
			throw defect;
		});
	}
}

/** Names in subjects have letters, digits and `-/_=`: others are encoded as in quoted-printable. */
export function encodeName(text: string): string {
	const other = (sign: string) => `%${sign.charCodeAt(0).toString(16)}`;
	return (
		encodeURIComponent(text)
			.replace(/[.!'()*~]/g, other)
			.replaceAll("%", "=") || "="
	);
}

export function decodeName(name: string): string {
	// One that is not of a gateway stays as it is: an error would end the reading.
	return name === "=" ? "" : (percentDecoded(name.replaceAll("=", "%")) ?? name);
}
