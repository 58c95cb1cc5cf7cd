/** HTTP and WebSocket client of commands, with the monitor token and readable errors. */

import { WebSocket } from "ws";
import { messageOf } from "../../device/message-of.js";
import { type Client, createClient, Rejection } from "../../gateway/api/client/request.js";
import type { Routes } from "../../gateway/api/routes.js";
import { UsageError } from "./command.js";
import { findGatewayToken } from "./gateway-token.js";

export const gatewayOption = { type: "string", default: "http://127.0.0.1:8080" } as const;

export class GatewayClient {
	/** Typed requests. @throws {Rejection} */
	readonly request: Client<Routes>["request"];
	readonly #respond: Client<Routes>["respond"];
	readonly #address: URL;
	readonly #headers: Readonly<Record<string, string>>;

	/** @param gateway value of `--gateway` @throws {UsageError} @throws {Error} without a token */
	constructor(gateway: string) {
		const address = URL.canParse(gateway) ? new URL(gateway) : undefined;
		if (!address || !/^(http|ws)s?:$/.test(address.protocol))
			throw new UsageError(
				`--gateway must be an address such as ${gatewayOption.default}, not "${gateway}".`,
			);
		this.#address = address;
		this.#headers = { Authorization: `Bearer ${findGatewayToken("monitor")}` };
		const client = createClient({ base: this.#urlOf("", "http").replace(/\/$/, ""), headers: this.#headers });
		this.#respond = client.respond;
		this.request = (...input) =>
			client.request(...input).catch((error: unknown) => {
				throw error instanceof Rejection ? this.rejection(error.status, error) : error;
			});
	}

	/** @param releases includes images @returns chunks of the archive @throws {Rejection} also during the download */
	async *downloadBackup(releases: boolean): AsyncGenerator<Uint8Array> {
		try {
			const { body } = await this.#respond("GET /api/backup", { query: releases ? { releases: "1" } : {} });
			if (body) yield* body;
		} catch (error) {
			if (error instanceof Rejection) throw this.rejection(error.status, error);
			throw new Rejection(0, `Download interrupted: ${causeOf(error)}. Check the log of the gateway.`);
		}
	}

	/** Opens a monitor connection, which emits `error` if it is rejected: see `connectionError`. */
	openMonitor(): WebSocket {
		return new WebSocket(this.#urlOf("/monitor", "ws"), { headers: this.#headers });
	}

	/** Converts the error of a WebSocket that did not open. */
	connectionError(error: Error): Rejection {
		const [, status = "0"] = /^Unexpected server response: (\d{3})$/.exec(error.message) ?? [];
		return this.rejection(Number(status), error);
	}

	/** @param status HTTP status; 0 without a response @param error with the message of the gateway, or the cause */
	rejection(status: number, error: unknown): Rejection {
		return new Rejection(status, this.#sentenceOf(status, error));
	}

	#sentenceOf(status: number, error: unknown): string {
		const address = `${this.#address}`.replace(/\/$/, "");
		if (status === 0) return `Gateway unreachable at ${address}: ${causeOf(error)}.`;
		if (status === 401)
			return `Monitor token rejected by ${address}. Set MONITOR_TOKEN, or set DATA_DIR to the data folder of that gateway.`;
		if (status === 403) return "Not permitted for this token. Set MONITOR_TOKEN to a monitor token.";
		// Removes the API path, which is for programs.
		return messageOf(error).replace(/; see \/\S+\.$/, ".");
	}

	#urlOf(path: string, scheme: "http" | "ws"): string {
		const url = new URL(`${this.#address.pathname.replace(/\/$/, "")}${path}`, this.#address);
		url.protocol = this.#address.protocol.replace(/^(http|ws)/, scheme);
		return url.href;
	}
}

/** Describes the root cause of a fetch or socket error. */
function causeOf(error: unknown): string {
	if (error instanceof AggregateError && error.message === "")
		return [...new Set(error.errors.map(causeOf))].join(", ");
	if (error instanceof Error && error.cause !== undefined) return causeOf(error.cause);
	return messageOf(error);
}
