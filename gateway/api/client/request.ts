/** Requests to the gateway over HTTP, with its refusals as sentences. */

export interface GatewayRequest {
	readonly method?: "GET" | "HEAD" | "PUT" | "POST" | "PATCH" | "DELETE";
	readonly body?: object;
	/** In place of `body`. */
	readonly file?: Uint8Array<ArrayBuffer>;
	/** Of the file; default: a WAV. */
	readonly fileType?: string;
	/** Sent as If-Match: the request counts only while the resource is as it was read. */
	readonly revision?: number;
	readonly headers?: Readonly<Record<string, string>>;
}

/** The gateway refused it; the message says what to change. */
export class Refusal extends Error {
	/** HTTP status; 0: there was no response. */
	readonly status: number;

	constructor(status: number, message: string, options?: ErrorOptions) {
		super(message, options);
		this.status = status;
	}
}

/** What an error says. */
export function messageOf(error: unknown): string {
	return error instanceof Error ? error.message : String(error);
}

/** @param path or address. @returns the body; null where there is none. @throws Refusal */
export async function ask<T>(path: string, request: GatewayRequest = {}): Promise<T> {
	return JSON.parse((await (await responseTo(path, request)).text()) || "null");
}

/** As `ask` reads: null where the gateway answers 404, as one without that extension. @throws Refusal */
export async function askIfThere<T>(path: string): Promise<T | null> {
	return ask<T>(path).catch((error: unknown) => {
		if (error instanceof Refusal && error.status === 404) return null;
		throw error;
	});
}

/** @param path or address. @throws Refusal */
export async function askFile(path: string, request: GatewayRequest = {}): Promise<ArrayBuffer> {
	return (await responseTo(path, request)).arrayBuffer();
}

/** @param path or address. @returns an answer whose body is not read yet @throws Refusal */
export async function responseTo(path: string, request: GatewayRequest): Promise<Response> {
	const { method = "GET", body, file, fileType = "audio/wav", revision } = request;
	const headers = {
		...request.headers,
		...(body && { "Content-Type": "application/json" }),
		...(file && { "Content-Type": fileType }),
		...(revision !== undefined && { "If-Match": `"${revision}"` }),
	};
	const content = file ?? (body && JSON.stringify(body));
	const response = await fetch(path, { method, headers, ...(content && { body: content }) }).catch(
		(cause: unknown) => {
			throw new Refusal(0, "The gateway cannot be reached.", { cause });
		},
	);
	if (!response.ok) throw new Refusal(response.status, problemDetail(response.status, await response.text()));
	return response;
}

/** The `detail` of problem+json (RFC 9457). An answer without it is not the gateway's but that of a proxy before it. */
export function problemDetail(status: number, text: string): string {
	try {
		const problem: { detail?: string } = JSON.parse(text);
		if (problem.detail) return problem.detail;
	} catch {
		// Such as nginx's own page.
	}
	if (status === 413)
		return "A proxy before the gateway refused this as too large (413): raise its limit, in nginx client_max_body_size.";
	if (status >= 502 && status <= 504) return `A proxy does not reach the gateway (${status}).`;
	return `Not the gateway answered but another program, such as a proxy before it (${status}).`;
}
