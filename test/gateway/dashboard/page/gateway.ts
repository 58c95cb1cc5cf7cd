/** Gateway of a page in a test: answers its requests, and holds its socket, messages and requests. */

import { EventEmitter } from "node:events";
import type { MonitorFrame } from "../../../../gateway/api/frames.js";
import type { PersonRole } from "../../../../gateway/api/person.js";
import type { DeviceSummary } from "../../../../gateway/api/session.js";
import type { Json } from "../../../support/sample-report.js";
import { stateReport } from "../state-report.js";

export interface GatewayOptions {
	readonly devices?: readonly DeviceSummary[];
	/** Role of the person; default: monitor. */
	readonly role?: PersonRole;
	/** Replies by route such as "GET /api/schedules"; all others are 404. A function is called with the parsed body. */
	readonly replies?: Readonly<Record<string, Reply>>;
}

export type Reply = Readonly<Record<string, unknown>> | Response | ((body: unknown) => object);

/** Socket message of the page. */
interface Sent {
	readonly type?: string;
	readonly targetId?: string;
	readonly payload?: { readonly command: string; readonly value?: unknown };
	readonly requestId?: string;
}

export class PageGateway {
	readonly options: GatewayOptions;
	/** Sockets that the page opened. */
	readonly sockets: PageSocket[] = [];
	/** Reason with which it rejects commands; undefined accepts them. */
	rejection: string | undefined;
	#commands: (readonly [deviceId: string | undefined, command: string | undefined, value?: unknown])[] = [];
	/** Requests that change something. */
	readonly changes: (readonly [route: string, body: unknown])[] = [];
	/** Number of requests by route. */
	readonly counts = new Map<string, number>();

	constructor(options: GatewayOptions) {
		this.options = options;
	}

	readonly fetch = async (address: string, { method = "GET", body }: RequestInit = {}): Promise<Response> => {
		const route = `${method} /${address}`;
		this.counts.set(route, (this.counts.get(route) ?? 0) + 1);
		const content: unknown = typeof body === "string" ? JSON.parse(body) : body;
		if (method !== "GET" && method !== "HEAD") this.changes.push([route, content]);
		const { role = "monitor", replies = {} } = this.options;
		const reply: Reply | undefined = { "GET /login/state": { name: "Ada", role }, ...replies }[route];
		if (!reply) return Response.json({ detail: "Not found." }, { status: 404 });
		const result: object = await (reply instanceof Function ? reply(content) : reply);
		return result instanceof Response ? result.clone() : Response.json(result);
	};

	/** Socket class for the page. */
	get webSocket() {
		const open = (socket: PageSocket) => this.sockets.push(socket);
		const onMessage = (message: Sent) => this.#onMessage(message);
		return class extends PageSocket {
			constructor() {
				super(onMessage);
				open(this);
			}
		};
	}

	/** Accepts the page's latest socket and sends a snapshot. */
	accept(): void {
		const socket = this.sockets.at(-1);
		if (!socket) throw new Error("The page opened no socket.");
		socket.readyState = PageSocket.OPEN;
		socket.emit("open", {});
		this.sendSummary("snapshot", this.options.devices ?? []);
	}

	send(frame: MonitorFrame): void {
		this.sockets.at(-1)?.emit("message", { data: JSON.stringify(frame) });
	}

	sendSummary(reason: "snapshot" | "changed", devices: readonly DeviceSummary[]): void {
		this.send({ type: "summary", reason, timestamp: new Date().toISOString(), devices: [...devices] });
	}

	/** Relays a report of a device. @param fields by path, such as "peripherals.audio.volume"; undefined removes one */
	report(deviceId: string, fields: Readonly<Record<string, Json | undefined>> = {}): void {
		const message = stateReport("DEV-1", { "peripherals.audio.volume": 50, ...fields });
		this.send({ type: "device_message", sessionId: `session of ${deviceId}`, deviceId, message });
	}

	/** Returns the commands that were sent since the last call. */
	takeCommands() {
		const commands = this.#commands;
		this.#commands = [];
		return commands;
	}

	/** Closes the page's socket. */
	lose(code = 1006): void {
		this.sockets.at(-1)?.end(code);
	}

	#onMessage({ type = "", targetId, payload, requestId = "" }: Sent): void {
		const isCommand = type !== "subscribe";
		if (isCommand) {
			const head = [targetId, payload?.command ?? type] as const;
			this.#commands.push(payload?.value === undefined ? head : [...head, payload.value]);
		}
		const message = isCommand ? this.rejection : undefined;
		queueMicrotask(() =>
			this.send(
				message === undefined
					? { type: "ack", requestId, command: type }
					: { type: "error", requestId, code: "invalid_command", message },
			),
		);
	}
}

class PageSocket extends EventEmitter {
	static readonly OPEN = 1;
	static readonly CLOSED = 3;
	readyState = 0;
	readonly #onMessage: (message: Sent) => void;

	constructor(onMessage: (message: Sent) => void) {
		super();
		this.#onMessage = onMessage;
	}

	addEventListener(name: string, listener: (event: object) => void): void {
		this.on(name, listener);
	}

	send(text: string): void {
		this.#onMessage(JSON.parse(text));
	}

	close(): void {
		this.end(1000);
	}

	end(code: number): void {
		if (this.readyState === PageSocket.CLOSED) return;
		this.readyState = PageSocket.CLOSED;
		this.emit("close", { code });
	}
}

/** Summary of a connected device. @param change fields such as its name */
export function speaker(deviceId: string, change: Partial<DeviceSummary> = {}): DeviceSummary {
	return {
		sessionId: `session of ${deviceId}`,
		deviceId,
		model: "DEV-1",
		connected: true,
		remoteAddress: "10.0.0.1",
		firmwareVersion: "1.0.0",
		features: ["identify", "sound", "queue", "light", "quiet"],
		chip: "esp32s3",
		rssi: -50,
		ssid: "home",
		volume: 50,
		...change,
	};
}
