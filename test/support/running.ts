/**
 * Gateway on a free port of 127.0.0.1 with devices and monitors on real sockets. Everything is closed and deleted
 * when the test ends, even after a failure.
 */

import { connect, type Socket } from "node:net";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { type ClientOptions, WebSocket } from "ws";
import type { Model } from "../../device/protocol/schema.js";
import { extensions } from "../../gateway/extensions.js";
import { Gateway, type GatewayOptions } from "../../gateway/gateway.js";
import { createLog } from "../../gateway/telemetry/log.js";
import { onEnd, temporaryDirectory } from "./cleanup.js";
import { nextEvent, sourceOf, within } from "./eventually.js";
import { bearer, deviceToken, monitorToken, noRateLimits } from "./gateway-settings.js";
import { Inbox } from "./inbox.js";
import { sampleReport, withField } from "./sample-report.js";

export { bearer, deviceToken, monitorToken, noRateLimits, temporaryDirectory };

export interface SessionRecord {
	readonly sessionId: string;
	readonly deviceId: string | null;
	readonly model: string | null;
	readonly connected: boolean;
	readonly firmwareVersion: string | null;
	readonly metadata: { readonly otaStatus: string };
	readonly state: unknown;
	readonly [name: string]: unknown;
}

/** Device in a summary or a list. */
export type ListedDevice = Readonly<Record<string, unknown>> & { readonly deviceId: string };

/** Frame received by a monitor; its fields depend on its type. */
export interface Frame {
	readonly type: string;
	readonly reason: string;
	readonly remaining?: number;
	readonly sessions: readonly SessionRecord[];
	readonly sessionId: string;
	readonly deviceId: string | null;
	readonly requestId: string;
	readonly code: string;
	readonly command: string;
	readonly message: unknown;
	readonly gateway?: string;
	readonly gateways?: number;
	readonly alone?: boolean;
	readonly releasesDiffer?: boolean;
	readonly devices?: readonly ListedDevice[];
	readonly removed?: readonly string[];
}

/** WebSocket client that queues received frames. */
export class Client {
	readonly socket: WebSocket;
	/** Called with each frame that the test reads. */
	onFrame = (_frame: Frame) => {};
	readonly #closed: Promise<{ code: number; reason: string }>;
	readonly #texts = new Inbox<string>();

	constructor(url: string, options: ClientOptions) {
		this.socket = new WebSocket(url, options);
		this.#closed = new Promise((resolve) => {
			this.socket.on("close", (code, reason) => {
				const end = { code, reason: reason.toString() };
				resolve(end);
				this.#texts.end(new Error(`closed by ${JSON.stringify(end)} without another frame`));
			});
		});
		this.socket.on("error", () => {});
		this.socket.on("message", (data) => this.#texts.add(data.toString()));
	}

	/** Close code and reason, once the socket is closed. */
	get closed(): Promise<{ code: number; reason: string }> {
		return within(this.#closed, "the close of the connection");
	}

	/** Next unread frame, as text. */
	nextText(): Promise<string> {
		return within(this.#texts.take(), "a frame");
	}

	async next(): Promise<Frame> {
		return this.#parse(await this.nextText());
	}

	#parse(text: string): Frame {
		const frame: Frame = JSON.parse(text);
		this.onFrame(frame);
		return frame;
	}

	/** Skips frames up to the first that satisfies `predicate`. */
	until(predicate: (frame: Frame) => boolean): Promise<Frame> {
		let last = "none";
		const find = async () => {
			for (;;) {
				last = await this.#texts.take();
				const frame = this.#parse(last);
				if (predicate(frame)) return frame;
			}
		};
		return within(find(), () => `a frame of ${sourceOf(predicate)}; the last was ${last}`);
	}

	/** Session record of the next status_update with that reason, of this device or any. */
	async change(reason: string, deviceId?: string): Promise<SessionRecord> {
		const isOfDevice = ([session]: Frame["sessions"]) =>
			deviceId === undefined || session?.deviceId === deviceId;
		const { sessions } = await this.until(
			(frame) => frame.type === "status_update" && frame.reason === reason && isOfDevice(frame.sessions),
		);
		const [session] = sessions;
		if (!session || sessions.length > 1) throw new Error(`${sessions.length} sessions in one change`);
		return session;
	}

	send(message: unknown): void {
		this.socket.send(typeof message === "string" ? message : JSON.stringify(message));
	}

	/** Sends a command to the gateway. @returns its response */
	async request(message: unknown): Promise<Frame> {
		this.send(message);
		return this.until(({ type }) => type === "ack" || type === "error");
	}
}

interface ApiOptions {
	readonly headers?: Readonly<Record<string, string>>;
	readonly signal?: AbortSignal | undefined;
}

/** @returns function that sends a request with JSON, a text, a form or a WAV file, as a monitor or with another token */
function apiAt(url: string) {
	return async (
		method: string,
		path: string,
		body?: object | string,
		token: string = monitorToken,
		{ headers: more, signal }: ApiOptions = {},
	) => {
		const isFile = body instanceof Uint8Array;
		const content =
			isFile || body instanceof FormData || typeof body !== "object" ? body : JSON.stringify(body);
		const headers = { ...bearer(token), ...(isFile && { "Content-Type": "audio/wav" }), ...more };
		const response = await fetch(url + path, {
			method,
			headers,
			...(content !== undefined && { body: content }),
			signal: signal ?? null,
		});
		const text = await response.text();
		const isJson = /json/.test(response.headers.get("content-type") ?? "");
		const value = isJson ? JSON.parse(text) : undefined;
		return { status: response.status, headers: response.headers, text, body: value };
	};
}

export interface RunningGateway {
	readonly gateway: Gateway;
	readonly dataDir: string;
	/** URL, for example `http://127.0.0.1:40123`. */
	readonly url: string;
	readonly loginUrl: string;
	/** Connects to a path. Resolves when the socket is open. */
	open(path: string, options?: ClientOptions): Promise<Client>;
	/** Connects a device with a valid token and these headers. */
	device(headers?: Readonly<Record<string, string>>, options?: ClientOptions): Promise<Client>;
	/** Connects an identified device that has reported once, and reads its session from a monitor. */
	namedDevice(monitor: Client, model?: Model): Promise<{ device: Client; session: SessionRecord }>;
	/** Connects a device that has reported, and waits for its identification at a monitor. */
	reporting(monitor: Client, deviceId: string): Promise<Client>;
	/** Connects a monitor with a valid token that has read its snapshot. */
	monitor(): Promise<Client & { snapshot: Frame }>;
	/** Connects a monitor to `/monitor` with this query. */
	subscribe(query: string): Promise<Client>;
	readonly api: ReturnType<typeof apiAt>;
	metrics(): Promise<string>;
	/** Uploads firmware as a browser does. */
	upload(image: Uint8Array): ReturnType<ReturnType<typeof apiAt>>;
	/** Response to a rejected upgrade. */
	rejected(path: string, headers?: Readonly<Record<string, string>>): Promise<Rejected>;
}

export interface Rejected {
	readonly status: number | undefined;
	readonly headers: Readonly<Record<string, unknown>>;
	readonly body: string;
}

const silent = createLog("silent");

export interface RunOptions extends GatewayOptions {
	/** PEM of the authority of `tls`, which the clients of the test trust. */
	readonly authority?: string;
}

export async function runGateway(
	t: TestContext,
	{ authority, ...options }: RunOptions = {},
): Promise<RunningGateway> {
	const { dataDir = await temporaryDirectory(t) } = options;
	const gateway = new Gateway({
		port: 0,
		dataDir,
		releasesDir: join(dataDir, "releases"),
		deviceToken,
		monitorToken,
		log: silent,
		extensions,
		...options,
	});
	const { url, loginUrl } = await gateway.listen();
	const clients: Client[] = [];
	onEnd(t, async () => {
		for (const { socket } of clients) socket.terminate();
		await gateway.close();
	});

	const dial = (path: string, clientOptions: ClientOptions = {}) => {
		const trust = authority === undefined ? {} : { ca: authority };
		const client = new Client(`${url.replace("http", "ws")}${path}`, { ...trust, ...clientOptions });
		clients.push(client);
		return client;
	};
	const open = async (path: string, clientOptions?: ClientOptions) => {
		const client = dial(path, clientOptions);
		await nextEvent(client.socket, "open");
		return client;
	};
	const device: RunningGateway["device"] = (headers = {}, clientOptions = {}) =>
		open("/device", { ...clientOptions, headers: { ...bearer(deviceToken), ...headers } });

	const api = apiAt(url);
	return {
		gateway,
		dataDir,
		url,
		loginUrl,
		open,
		device,
		api,
		metrics: async () => (await api("GET", "/metrics")).text,
		upload(image) {
			const form = new FormData();
			form.set("firmware", new Blob([new Uint8Array(image)]), "firmware.bin");
			return api("POST", "/ota/upload", form);
		},
		subscribe: (query) => open(`/monitor?${query}`, { headers: bearer(monitorToken) }),
		async namedDevice(monitor, model = "DEV-1") {
			const client = await device({ "Device-Id": `${model.toLowerCase()}-a1b2c3` });
			client.send(sampleReport(model));
			return { device: client, session: await monitor.change("identified") };
		},
		async reporting(monitor, deviceId) {
			const client = await device({ "Device-Id": deviceId });
			client.send(reportWithVolume(50, deviceId));
			await monitor.change("identified");
			return client;
		},
		async monitor() {
			const client = await open("/monitor", { headers: bearer(monitorToken) });
			return Object.assign(client, { snapshot: await client.next() });
		},
		async rejected(path, headers = {}) {
			const { socket } = dial(path, { headers });
			const [, response] = await nextEvent(socket, "unexpected-response");
			response.setEncoding("utf8");
			let body = "";
			for await (const chunk of response) body += chunk;
			return { status: response.statusCode, headers: response.headers, body };
		},
	};
}

/** Runs a gateway with a monitor that has read its snapshot. */
export async function runWatched(t: TestContext, options?: RunOptions) {
	const gateway = await runGateway(t, options);
	return { gateway, monitor: await gateway.monitor() };
}

/** Runs a gateway with a monitor and an identified device that has reported. */
export async function runWithDevice(t: TestContext, options?: RunOptions) {
	const { gateway, monitor } = await runWatched(t, options);
	return { gateway, monitor, ...(await gateway.namedDevice(monitor)) };
}

/** Connects without a WebSocket client, which would answer close frames. */
export async function openByHand(t: TestContext, port: number, path: string, token: string): Promise<Socket> {
	// The gateway ends the connection after a close frame; this peer is slow to follow.
	const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true }).on("error", () => {});
	onEnd(t, () => socket.destroy());
	socket.write(upgradeRequest(path, token));
	await nextEvent(socket, "data");
	return socket.resume();
}

/** Bytes of an upgrade request. Many can be written in one turn, and no client answers a close frame. */
export function upgradeRequest(path: string, token: string): string {
	const lines = [`GET ${path} HTTP/1.1`, "Host: x", `Authorization: Bearer ${token}`, "Connection: Upgrade"];
	lines.push(
		"Upgrade: websocket",
		"Sec-WebSocket-Version: 13",
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
	);
	return [...lines, "", ""].join("\r\n");
}

/** Report of a DEV-1 with this volume. */
export function reportWithVolume(volume: number, deviceId = "dev-1-a1b2c3") {
	return withField(
		withField(sampleReport("DEV-1"), "peripherals.audio.volume", volume),
		"deviceId",
		deviceId,
	);
}
