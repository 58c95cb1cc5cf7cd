/** Bus between gateways in one process, for tests. Each gateway can be disconnected and reconnected. */

import { type Bucket, type Bus, BusError } from "../../gateway/bus.js";
import type { Files } from "../../gateway/storage/blobs.js";
import type { Entry, Log, LogReader } from "../../gateway/storage/log.js";

/** Real timers, even if a test mocks them. */
const later = setImmediate;
const turn = () => new Promise<void>((resolve) => void later(resolve));

interface Subscription {
	readonly bus: MemoryBus;
	readonly subject: string;
	readonly onMessage: (text: string, subject: string) => void;
}

interface Service {
	readonly bus: MemoryBus;
	readonly subject: string;
	readonly answer: (text: string) => Promise<string>;
}

interface Watch {
	readonly bus: MemoryBus;
	/** Values as announced to the watchers. */
	readonly known: Map<string, number>;
	readonly onChange: (key: string, entry: Entry | undefined) => void;
}

interface BucketContent {
	readonly entries: Map<string, Entry>;
	readonly watches: Set<Watch>;
	revision: number;
}

interface LogContent {
	readonly entries: (readonly [key: string, entry: Entry])[];
	readonly readers: Set<LogReader & { readonly bus: MemoryBus }>;
	revision: number;
}

/** Server shared by the buses of one process. */
export class MemoryServer {
	readonly subscriptions = new Set<Subscription>();
	readonly services = new Set<Service>();
	readonly buckets = new Map<string, BucketContent>();
	readonly logs = new Map<string, LogContent>();
	readonly files = new Map<string, Map<string, Uint8Array>>();

	connect(): MemoryBus {
		return new MemoryBus(this);
	}
}

export class MemoryBus implements Bus {
	readonly #server: MemoryServer;
	readonly #listeners = new Set<(isConnected: boolean) => void>();
	#isConnected = true;
	#isClosed = false;

	constructor(server: MemoryServer) {
		this.#server = server;
	}

	get isConnected(): boolean {
		return this.#isConnected;
	}

	/** Disconnects it. Messages in flight are lost. */
	cut(): void {
		this.#setConnected(false);
	}

	/** Reconnects it. */
	heal(): void {
		if (this.#isConnected || this.#isClosed) return;
		for (const content of this.#server.buckets.values())
			for (const watch of content.watches) if (watch.bus === this) later(() => catchUp(content, watch));
		for (const { readers, entries } of this.#server.logs.values())
			for (const reader of readers)
				if (reader.bus === this) later(() => this.#isConnected && reader.onAll([...entries]));
		this.#setConnected(true);
	}

	onStatus(listener: (isConnected: boolean) => void) {
		return added(this.#listeners, listener);
	}

	publish(subject: string, text: string): void {
		if (!this.#isConnected) return;
		for (const subscription of this.#server.subscriptions)
			if (covers(subscription.subject, subject))
				later(() => {
					const isSubscribed = subscription.bus.isConnected && this.#server.subscriptions.has(subscription);
					if (isSubscribed) subscription.onMessage(text, subject);
				});
	}

	subscribe(subject: string, onMessage: Subscription["onMessage"]) {
		return added(this.#server.subscriptions, { bus: this, subject, onMessage });
	}

	async request(subject: string, text: string, timeoutMs: number): Promise<string> {
		await this.requireConnected();
		const service = [...this.#server.services].find((service) => service.subject === subject);
		if (!service?.bus.isConnected) throw new BusError("disconnected", `No responders on ${subject}.`);
		return new Promise((resolve, reject) => {
			const giveUp = () =>
				reject(new BusError("timeout", `No response on ${subject} within ${timeoutMs} ms.`));
			const timer = setTimeout(giveUp, timeoutMs);
			const onAnswer = async (answer: string) => {
				await turn();
				if (!this.#isConnected || !service.bus.isConnected) return;
				clearTimeout(timer);
				resolve(answer);
			};
			service.answer(text).then(onAnswer, () => {});
		});
	}

	serve(subject: string, answer: Service["answer"]) {
		return added(this.#server.services, { bus: this, subject, answer });
	}

	async bucket(name: string): Promise<Bucket> {
		await this.requireConnected();
		const made = { entries: new Map(), watches: new Set<Watch>(), revision: 0 };
		return memoryBucket(this, kept(this.#server.buckets, name, made));
	}

	async buckets(): Promise<readonly string[]> {
		await this.requireConnected();
		return [...this.#server.buckets.keys()];
	}

	async log(name: string): Promise<Log> {
		await this.requireConnected();
		const made: LogContent = { entries: [], readers: new Set(), revision: 0 };
		const content = kept(this.#server.logs, name, made);
		return memoryLog(this, content);
	}

	async files(name: string): Promise<Files> {
		await this.requireConnected();
		return memoryFiles(this, kept(this.#server.files, name, new Map()));
	}

	async close(): Promise<void> {
		await turn();
		const { subscriptions, services, buckets, logs } = this.#server;
		const watches = [...buckets.values()].map((content) => content.watches);
		const readers = [...logs.values()].map((content) => content.readers);
		for (const all of [subscriptions, services, ...watches, ...readers] as readonly Set<{ bus: MemoryBus }>[])
			for (const subscription of all) if (subscription.bus === this) all.delete(subscription);
		this.#isClosed = true;
		this.#listeners.clear();
		this.#isConnected = false;
	}

	/** Takes a turn of the event loop, like each exchange with a server. @throws {BusError} `disconnected` */
	async requireConnected(): Promise<void> {
		await turn();
		if (!this.#isConnected) throw new BusError("disconnected", "The bus is disconnected.");
	}

	/** Takes another turn. @throws {BusError} `timeout` if it was disconnected meanwhile */
	async requireAnswer(): Promise<void> {
		await turn();
		if (!this.#isConnected) throw new BusError("timeout", "The bus was disconnected during the write.");
	}

	#setConnected(isConnected: boolean): void {
		if (this.#isConnected === isConnected || this.#isClosed) return;
		this.#isConnected = isConnected;
		for (const listener of this.#listeners) listener(isConnected);
	}
}

function memoryBucket(bus: MemoryBus, content: BucketContent): Bucket {
	const { entries } = content;
	const write = async (key: string, text: string | undefined, revision: number) => {
		await bus.requireConnected();
		if ((entries.get(key)?.revision ?? 0) !== revision) return undefined;
		content.revision += 1;
		const written = content.revision;
		const entry = text === undefined ? undefined : { text, revision: written };
		if (entry) entries.set(key, entry);
		else entries.delete(key);
		for (const watch of content.watches)
			later(() => content.watches.has(watch) && notify(watch, key, entry, written));
		await bus.requireAnswer();
		return written;
	};
	return {
		get: async (key) => {
			await bus.requireConnected();
			return entries.get(key);
		},
		set: write,
		remove: async (key, revision) => (await write(key, undefined, revision)) !== undefined,
		watch: async (onChange) => {
			await bus.requireConnected();
			const watch = { bus, known: new Map<string, number>(), onChange };
			catchUp(content, watch);
			return added(content.watches, watch);
		},
	};
}

function memoryLog(bus: MemoryBus, content: LogContent): Log {
	const { entries, readers } = content;
	return {
		append: async (key, text, after) => {
			await bus.requireConnected();
			if ((entries.findLast(([entryKey]) => entryKey === key)?.[1].revision ?? 0) !== after) return undefined;
			content.revision += 1;
			const entry = { text, revision: content.revision };
			entries.push([key, entry]);
			for (const reader of readers)
				later(() => reader.bus.isConnected && readers.has(reader) && reader.onEntry(key, entry));
			await bus.requireAnswer();
			return entry.revision;
		},
		removeBefore: async (key, revision) => {
			await bus.requireConnected();
			const isKept = ([entryKey, entry]: LogContent["entries"][number]) =>
				entryKey !== key || entry.revision >= revision;
			entries.splice(0, entries.length, ...entries.filter(isKept));
		},
		read: async (reader) => {
			await bus.requireConnected();
			reader.onAll([...entries]);
			return added(readers, { ...reader, bus });
		},
	};
}

function memoryFiles(bus: MemoryBus, files: Map<string, Uint8Array>): Files {
	async function* read(content: Uint8Array) {
		for (let at = 0; at < content.length; at += 65_536) {
			await bus.requireConnected();
			yield content.subarray(at, at + 65_536);
		}
	}
	return {
		put: async (name, content) => {
			const chunks = [];
			for await (const chunk of content) chunks.push(chunk);
			await bus.requireConnected();
			if (!files.has(name)) files.set(name, Buffer.concat(chunks));
		},
		get: async (name) => {
			await bus.requireConnected();
			const content = files.get(name);
			return content && read(content);
		},
		remove: async (name) => {
			await bus.requireConnected();
			files.delete(name);
		},
		names: async () => {
			await bus.requireConnected();
			return [...files.keys()];
		},
	};
}

/** @param revision of the change */
function notify(watch: Watch, key: string, entry: Entry | undefined, revision: number): void {
	if (!watch.bus.isConnected || revision <= (watch.known.get(key) ?? 0)) return;
	if (!entry && !watch.known.has(key)) return;
	if (entry) watch.known.set(key, revision);
	else watch.known.delete(key);
	watch.onChange(key, entry);
}

function catchUp({ entries, revision }: BucketContent, watch: Watch): void {
	for (const key of [...watch.known.keys()])
		if (!entries.has(key)) notify(watch, key, undefined, revision + 1);
	for (const [key, entry] of [...entries]) notify(watch, key, entry, entry.revision);
}

/** @returns the content of this name, which is `made` if there is none yet */
function kept<T>(all: Map<string, T>, name: string, made: T): T {
	const content = all.get(name) ?? made;
	all.set(name, content);
	return content;
}

function covers(pattern: string, subject: string): boolean {
	const [parts, others] = [pattern.split("."), subject.split(".")];
	return parts.length === others.length && parts.every((part, at) => part === "*" || part === others[at]);
}

function added<T>(all: Set<T>, item: T): () => void {
	all.add(item);
	return () => void all.delete(item);
}
