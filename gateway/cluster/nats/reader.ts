/** Reads the existing and then new messages of a NATS stream. After each reconnection it starts from the beginning. */

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
	/** Called when a read starts, as the server may have lost the position, or the stream its latest messages. */
	readonly onBegin: () => void;
	readonly onMessage: (message: JsMsg) => void;
	/** Called after all existing messages were read. If it rejects, they are read again. */
	readonly onRead: () => void | Promise<void>;
}

/** Heartbeat interval. A lost consumer is detected after two. */
const heartbeatMs = 1_000;
const retryMs = 1_000;
/** Time limit for the read. Messages counted at its start may never arrive if they are overwritten. */
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
	/** Number of the current read. Messages of earlier ones are ignored. */
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
			else if (!this.#isOpening) this.#restart();
		});
	}

	/**
	 * Resolves after all existing messages were read.
	 * @throws {BusError}
	 */
	async open(): Promise<Unsubscribe> {
		try {
			await this.#options.link.run(() => this.#consume());
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
		this.#fail(new BusError("disconnected", "NATS is unreachable."));
	}

	#restart(): void {
		const { link } = this.#options;
		if (this.#isClosed || !link.isConnected) return;
		this.#stop();
		const reading = this.#reading + 1;
		link
			.run(() => this.#consume())
			.catch(() => {
				if (reading === this.#reading) this.#timer = setTimeout(() => this.#restart(), retryMs).unref();
			});
	}

	async #consume(): Promise<void> {
		const { client, stream, consumer: config, onBegin, onMessage, onRead } = this.#options;
		this.#reading += 1;
		const reading = this.#reading;
		// A copy, as the client modifies it to track its position.
		const consumer = await client.consumers.get(stream, { ...config });
		const { num_pending: count } = await consumer.info(true);
		if (reading !== this.#reading) throw new BusError("disconnected", "NATS is unreachable.");
		onBegin();
		let isWhole = false;
		let received = 0;
		await new Promise<void>((resolve, reject) => {
			this.#fail = reject;
			this.#stalled = setTimeout(() => {
				reject(new BusError("timeout", `NATS did not send all messages of ${stream}.`));
			}, stalledMs);
			const end = () => {
				isWhole = true;
				clearTimeout(this.#stalled);
				resolve(guarded(onRead));
			};
			const callback = (message: JsMsg) => {
				if (reading !== this.#reading) return;
				guarded(() => onMessage(message));
				if (isWhole) return;
				received += 1;
				// Overwritten messages arrive later: nats-server 2.9 may report them as pending forever.
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

	/** Restarts the read if the server of the consumer failed while another one keeps the connection. */
	async #follow(messages: ConsumerMessages, reading: number): Promise<void> {
		for await (const { type } of messages.status()) if (type === "heartbeats_missed") break;
		if (reading === this.#reading) this.#restart();
	}
}

/** Reports exceptions asynchronously, as the client would silently stop reading. */
export function guarded<T>(work: () => T): T | undefined {
	try {
		return work();
	} catch (defect) {
		queueMicrotask(() => {
			throw defect;
		});
		return undefined;
	}
}

/** Encodes a name for subjects, which consist of letters, digits and `-/_=`, like quoted-printable. */
export function encodeName(text: string): string {
	const other = (sign: string) => `%${sign.charCodeAt(0).toString(16)}`;
	return (
		encodeURIComponent(text)
			.replace(/[.!'()*~]/g, other)
			.replaceAll("%", "=") || "="
	);
}

export function decodeName(name: string): string {
	// A foreign name is returned unchanged, as an error would end the read.
	return name === "=" ? "" : (percentDecoded(name.replaceAll("=", "%")) ?? name);
}
