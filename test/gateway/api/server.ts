/** Raw requests to a running gateway, which `fetch` would normalize. */

import { Agent, type IncomingHttpHeaders, request } from "node:http";

export interface Asked {
	readonly path: string;
	readonly headers?: Readonly<Record<string, string>>;
	readonly body?: string | Buffer;
}

export interface Answered {
	readonly status: number;
	readonly headers: IncomingHttpHeaders;
	readonly body: Buffer;
}

/** Reuses connections, which take longer to open than a request. */
const agent = new Agent({ keepAlive: true });

/** Sends one request without following redirects. */
export function ask(url: string, method: string, { path, headers = {}, body }: Asked): Promise<Answered> {
	const { hostname, port } = new URL(url);
	return new Promise((resolve, reject) => {
		const sent = request({ hostname, port, path, method, headers: { ...headers }, agent }, (response) => {
			const chunks: Buffer[] = [];
			response.on("data", (chunk: Buffer) => chunks.push(chunk));
			response.on("error", reject);
			response.on("end", () => {
				const { statusCode: status = 0, headers } = response;
				resolve({ status, headers, body: Buffer.concat(chunks) });
			});
		});
		sent.on("error", reject);
		sent.end(body);
	});
}
