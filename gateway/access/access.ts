/**
 * Who may do what. Every request, of a device, a program or a browser, HTTP or WebSocket, is let in here or nowhere.
 */

import { createHash, createHmac } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { RequestHandler } from "express";
import type { Logger } from "pino";
import { RateLimiterMemory } from "rate-limiter-flexible";
import { type HttpRefusal, sendProblem } from "../problem.js";
import { isLoopback, isSameOrigin, reachedAt, remoteAddressOf } from "./origin.js";
import { equalSecrets, makeSecret, type Role, type Tokens } from "./tokens.js";

export interface AccessOptions {
	readonly tokens: Tokens;
	/** AUTH=off: nobody is asked for a token. Only for a gateway that listens on loopback. */
	readonly isOff: boolean;
	readonly publicUrl: URL | undefined;
	readonly log: Logger;
	/** Milliseconds since 1970. */
	readonly now: () => number;
}

const dayMs = 24 * 60 * 60 * 1000;
const cookieAgeMs = 30 * dayMs;
const loginCodeAgeMs = 60 * 60 * 1000;
/** Wrong tokens that one address may show in a minute. */
const failuresAMinute = 10;

export class Access {
	readonly #options: AccessOptions;
	readonly #failures = new RateLimiterMemory({ points: failuresAMinute, duration: 60 });
	readonly #loginCodes = new Map<string, number>();
	/** Cookies know no port: without its own name one gateway's cookie would replace another's on the same host. */
	readonly cookieName: string;

	constructor(options: AccessOptions) {
		this.#options = options;
		this.cookieName = `gateway_${createHash("sha256").update(options.tokens.monitor).digest("hex").slice(0, 12)}`;
	}

	/**
	 * Whether a request shows one of these roles' tokens, or the cookie that logging in gives to a monitor.
	 *
	 * @returns undefined where it may pass
	 */
	async check(request: IncomingMessage, roles: readonly Role[]): Promise<HttpRefusal | undefined> {
		if (this.#options.isOff) return this.#checkHost(request);
		const shown = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? "")?.[1];
		if (shown === undefined)
			return roles.includes("monitor") && this.hasCookie(request) ? undefined : unauthorized();
		return this.checkToken(request, shown, roles);
	}

	/**
	 * Whether `shown` is the token of one of these roles; a wrong one counts against the request's address. Past the
	 * limit a monitor's right token is refused too, or guessing would cost nothing; a device's never is, or one device
	 * with a wrong token could lock out all others behind the same router.
	 */
	async checkToken(
		request: IncomingMessage,
		shown: string,
		roles: readonly Role[],
	): Promise<HttpRefusal | undefined> {
		const isRight = (role: Role) => roles.includes(role) && equalSecrets(shown, this.#options.tokens[role]);
		if (isRight("device")) return undefined;
		const blocked = await this.#checkFailures(request, roles);
		if (blocked) return blocked;
		if (isRight("monitor")) return undefined;
		return this.countFailure(request, roles);
	}

	/** Counts a failed login. @returns what to answer it with */
	async countFailure(request: IncomingMessage, roles: readonly Role[]): Promise<HttpRefusal> {
		await this.#failures.penalty(failureKey(request, roles));
		this.#options.log.warn({ remoteAddress: remoteAddressOf(request), roles }, "wrong token");
		return (await this.#checkFailures(request, roles)) ?? unauthorized();
	}

	/** Turns away what a browser sends on behalf of another web site. */
	checkOrigin(request: IncomingMessage): HttpRefusal | undefined {
		if (isSameOrigin(request, this.#options.publicUrl)) return undefined;
		return {
			status: 403,
			detail: "This request comes from another web site; set PUBLIC_URL to the address in use.",
		};
	}

	/** Express middleware: lets these roles pass, and answers everyone else. */
	require(...roles: readonly Role[]): RequestHandler {
		return async (request, response, next) => {
			const isRead = request.method === "GET" || request.method === "HEAD";
			const refusal = (isRead ? undefined : this.checkOrigin(request)) ?? (await this.check(request, roles));
			if (refusal) sendProblem(response, refusal);
			else next();
		};
	}

	/** A code that logs in once, within an hour. */
	makeLoginCode(): string {
		const code = makeSecret();
		this.#loginCodes.set(code, this.#options.now() + loginCodeAgeMs);
		return code;
	}

	/** Uses up a login code. @returns false where it is wrong, used or too old */
	useLoginCode(code: string): boolean {
		const expires = this.#loginCodes.get(code);
		this.#loginCodes.delete(code);
		return expires !== undefined && expires > this.#options.now();
	}

	/** The value of a login cookie: when it expires, signed with the monitor token. It dies with that token. */
	makeCookie(): { readonly value: string; readonly maxAgeMs: number } {
		const expires = String(this.#options.now() + cookieAgeMs);
		return { value: `${expires}.${this.#sign(expires)}`, maxAgeMs: cookieAgeMs };
	}

	/** Whether a request comes from a browser that has logged in. */
	hasCookie(request: IncomingMessage): boolean {
		const pair = (request.headers.cookie ?? "")
			.split(/; */)
			.find((text) => text.startsWith(`${this.cookieName}=`));
		const [expires = "", signature = ""] = pair?.slice(this.cookieName.length + 1).split(".") ?? [];
		return equalSecrets(signature, this.#sign(expires)) && Number(expires) > this.#options.now();
	}

	/** Without tokens a web site could give its own name our address; then only our loopback names are answered. */
	#checkHost(request: IncomingMessage): HttpRefusal | undefined {
		if (isLoopback(reachedAt(request).hostname)) return undefined;
		return { status: 403, detail: "With AUTH=off this gateway answers to localhost and 127.0.0.1 only." };
	}

	async #checkFailures(request: IncomingMessage, roles: readonly Role[]): Promise<HttpRefusal | undefined> {
		const failures = await this.#failures.get(failureKey(request, roles));
		if (!failures || failures.consumedPoints < failuresAMinute) return undefined;
		const seconds = Math.ceil(failures.msBeforeNext / 1000);
		return {
			status: 429,
			detail: `Too many wrong tokens from this address; try again in ${seconds} s.`,
			headers: { "Retry-After": String(seconds) },
		};
	}

	#sign(expires: string): string {
		return createHmac("sha256", this.#options.tokens.monitor).update(`cookie ${expires}`).digest("base64url");
	}
}

/** Counted apart by role: devices with a wrong token must not keep people behind the same proxy from logging in. */
function failureKey(request: IncomingMessage, roles: readonly Role[]): string {
	return `${roles.join()} ${remoteAddressOf(request)}`;
}

function unauthorized(): HttpRefusal {
	return {
		status: 401,
		detail: "Show a valid token: Authorization: Bearer <token>.",
		headers: { "WWW-Authenticate": 'Bearer realm="gateway"' },
	};
}
