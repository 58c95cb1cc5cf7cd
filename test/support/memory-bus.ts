/** Bus between gateways in one process, for tests. Each gateway can be disconnected and reconnected. */

import { type Bucket, type BucketOptions, type Bus, BusError } from "../../gateway/bus.js";
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
	readonly ttlMs: number | undefined;
	readonly entries: Map<string, Entry & { readonly at: number }>;
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
	readonly now: () => number;

	/** @param now clock of the buckets' values in ms; default: monotonic */
	constructor(now: () => number = () => performance.now()) {
		this.now = now;
	}

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
			for (const watch of content.watches)
				if (watch.bus === this) later(() => catchUp(this.#server, content, watch));
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
		const services = [...this.#server.services].filter((service) => service.subject === subject);
		const service = services.find(({ bus }) => bus.isConnected);
		if (!service) throw new BusError("noResponders", `No responders on ${subject}.`);
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

	async bucket(name: string, { ttlMs }: BucketOptions = {}): Promise<Bucket> {
		await this.requireConnected();
		const { buckets } = this.#server;
		const made = { ttlMs, entries: new Map(), watches: new Set<Watch>(), revision: 0 };
		const content = buckets.get(name) ?? made;
		buckets.set(name, content);
		return new MemoryBucket(this, this.#server, content);
	}

	async buckets(): Promise<readonly string[]> {
		await this.requireConnected();
		return [...this.#server.buckets.keys()];
	}

	async log(name: string): Promise<Log> {
		await this.requireConnected();
		const { logs } = this.#server;
		const content = logs.get(name) ?? { entries: [], readers: new Set(), revision: 0 };
		logs.set(name, content);
		return new MemoryLog(this, content);
	}

	async files(name: string): Promise<Files> {
		await this.requireConnected();
		const { files } = this.#server;
		const content = files.get(name) ?? new Map<string, Uint8Array>();
		files.set(name, content);
		return new MemoryFiles(this, content);
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

	#setConnected(isConnected: boolean): void {
		if (this.#isConnected === isConnected || this.#isClosed) return;
		this.#isConnected = isConnected;
		for (const listener of this.#listeners) listener(isConnected);
	}
}

class MemoryBucket implements Bucket {
	readonly #bus: MemoryBus;
	readonly #server: MemoryServer;
	readonly #content: BucketContent;

	constructor(bus: MemoryBus, server: MemoryServer, content: BucketContent) {
		this.#bus = bus;
		this.#server = server;
		this.#content = content;
	}

	async get(key: string): Promise<Entry | undefined> {
		await this.#bus.requireConnected();
		return present(this.#server, this.#content).get(key);
	}

	set(key: string, text: string, revision: number): Promise<number | undefined> {
		return this.#write(key, text, revision);
	}

	async remove(key: string, revision: number): Promise<boolean> {
		return (await this.#write(key, undefined, revision)) !== undefined;
	}

	async watch(onChange: Watch["onChange"]) {
		await this.#bus.requireConnected();
		const watch = { bus: this.#bus, known: new Map<string, number>(), onChange };
		catchUp(this.#server, this.#content, watch);
		return added(this.#content.watches, watch);
	}

	async #write(key: string, text: string | undefined, revision: number): Promise<number | undefined> {
		await this.#bus.requireConnected();
		const entries = present(this.#server, this.#content);
		if ((entries.get(key)?.revision ?? 0) !== revision) return undefined;
		this.#content.revision += 1;
		const written = this.#content.revision;
		const entry = text === undefined ? undefined : { text, revision: written, at: this.#server.now() };
		if (entry) entries.set(key, entry);
		else entries.delete(key);
		for (const watch of this.#content.watches)
			later(() => this.#content.watches.has(watch) && notify(watch, key, entry, written));
		await turn();
		if (!this.#bus.isConnected) throw new BusError("timeout", "The bus was disconnected during the write.");
		return written;
	}
}

class MemoryLog implements Log {
	readonly #bus: MemoryBus;
	readonly #content: LogContent;

	constructor(bus: MemoryBus, content: LogContent) {
		this.#bus = bus;
		this.#content = content;
	}

	async append(key: string, text: string, after: number): Promise<number | undefined> {
		await this.#bus.requireConnected();
		const { entries, readers } = this.#content;
		if ((entries.findLast(([entryKey]) => entryKey === key)?.[1].revision ?? 0) !== after) return undefined;
		this.#content.revision += 1;
		const entry = { text, revision: this.#content.revision };
		entries.push([key, entry]);
		for (const reader of readers)
			later(() => reader.bus.isConnected && readers.has(reader) && reader.onEntry(key, entry));
		await turn();
		if (!this.#bus.isConnected) throw new BusError("timeout", "The bus was disconnected during the write.");
		return entry.revision;
	}

	async removeBefore(key: string, revision: number): Promise<void> {
		await this.#bus.requireConnected();
		const { entries } = this.#content;
		const isKept = ([entryKey, entry]: LogContent["entries"][number]) =>
			entryKey !== key || entry.revision >= revision;
		entries.splice(0, entries.length, ...entries.filter(isKept));
	}

	async read(reader: LogReader) {
		await this.#bus.requireConnected();
		reader.onAll([...this.#content.entries]);
		return added(this.#content.readers, { ...reader, bus: this.#bus });
	}
}

class MemoryFiles implements Files {
	readonly #bus: MemoryBus;
	readonly #files: Map<string, Uint8Array>;

	constructor(bus: MemoryBus, files: Map<string, Uint8Array>) {
		this.#bus = bus;
		this.#files = files;
	}

	async put(name: string, content: AsyncIterable<Uint8Array>): Promise<void> {
		const chunks = [];
		for await (const chunk of content) chunks.push(chunk);
		await this.#bus.requireConnected();
		if (!this.#files.has(name)) this.#files.set(name, Buffer.concat(chunks));
	}

	async get(name: string): Promise<AsyncIterable<Uint8Array> | undefined> {
		await this.#bus.requireConnected();
		const content = this.#files.get(name);
		return content && this.#read(content);
	}

	async remove(name: string): Promise<void> {
		await this.#bus.requireConnected();
		this.#files.delete(name);
	}

	async names(): Promise<readonly string[]> {
		await this.#bus.requireConnected();
		return [...this.#files.keys()];
	}

	async *#read(content: Uint8Array): AsyncIterable<Uint8Array> {
		for (let at = 0; at < content.length; at += 65_536) {
			await this.#bus.requireConnected();
			yield content.subarray(at, at + 65_536);
		}
	}
}

/** Values that have not expired. */
function present(server: MemoryServer, { entries, ttlMs = Number.POSITIVE_INFINITY }: BucketContent) {
	for (const [key, { at }] of entries) if (server.now() - at >= ttlMs) entries.delete(key);
	return entries;
}

/** @param revision of the change */
function notify(watch: Watch, key: string, entry: Entry | undefined, revision: number): void {
	if (!watch.bus.isConnected || revision <= (watch.known.get(key) ?? 0)) return;
	if (!entry && !watch.known.has(key)) return;
	if (entry) watch.known.set(key, revision);
	else watch.known.delete(key);
	watch.onChange(key, entry);
}

function catchUp(server: MemoryServer, content: BucketContent, watch: Watch): void {
	const entries = present(server, content);
	for (const key of [...watch.known.keys()])
		if (!entries.has(key)) notify(watch, key, undefined, content.revision + 1);
	for (const [key, entry] of [...entries]) notify(watch, key, entry, entry.revision);
}

function covers(pattern: string, subject: string): boolean {
	const [parts, others] = [pattern.split("."), subject.split(".")];
	return parts.length === others.length && parts.every((part, at) => part === "*" || part === others[at]);
}

function added<T>(all: Set<T>, item: T): () => void {
	all.add(item);
	return () => void all.delete(item);
}
