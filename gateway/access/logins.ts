/** Logins of people: one-time codes, and cookies signed with the person's token. */

import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Response } from "express";
import type { LoginLink } from "../api/login.js";
import { type Person, personRoles } from "../api/person.js";
import { isDue } from "../api/time.js";
import type { Base } from "../base.js";
import { RequestError } from "../problem.js";
import type { EndedLogins } from "./ended-logins.js";
import { baseUrlOf, reachedAt } from "./origin.js";
import { equalSecrets, isAmong, sign } from "./secrets.js";
import type { Tokens } from "./tokens.js";

export interface LoginsOptions extends Pick<Base, "now" | "monotonic"> {
	readonly tokens: Tokens;
	readonly publicUrl: URL | undefined;
	readonly endedLogins: Pick<EndedLogins, "has" | "end" | "use">;
}

interface Login {
	readonly person: Person;
	readonly signature: string;
	/** Milliseconds since 1970. */
	readonly expires: number;
}

const dayMs = 24 * 60 * 60 * 1000;
const cookieAgeMs = 30 * dayMs;
/** Twice: after a start the clock may be behind until it is set. */
const longestLoginMs = 2 * cookieAgeMs;
const loginCodeAgeMs = 60 * 60 * 1000;
const loginLinkAgeMs = 10 * 60 * 1000;
const codesAtMost = 100;
/** Cookies of the same name: browsers send one for each path. */
const mostCookies = 4;

export class Logins {
	readonly #options: LoginsOptions;
	/** The monitor token's login codes that this gateway made, with the monotonic time at which each ends. */
	readonly #codes = new Map<string, number>();

	constructor(options: LoginsOptions) {
		this.#options = options;
	}

	/** Returns the person of a request; among several logins the one with more permissions. */
	personOf(request: IncomingMessage): Person | undefined {
		const people = this.#of(request).map(({ person }) => person);
		const [first] = personRoles.flatMap((role) => people.filter((person) => person.role === role));
		return first;
	}

	/**
	 * Creates a one-time login code, valid at any gateway with the same tokens.
	 * @param token of a person, whose removal ends it; default: the current monitor token
	 */
	makeCode(token = this.#options.tokens.current("monitor"), ageMs = loginCodeAgeMs): string {
		const { tokens, now, monotonic } = this.#options;
		const head = `${now() + ageMs}.${randomUUID()}`;
		const code = `${head}.${sign(token, `login code ${head}`)}`;
		if (token !== tokens.current("monitor")) return code;
		for (const [each, runsUntil] of this.#codes)
			if (runsUntil <= monotonic() || this.#codes.size >= codesAtMost) this.#codes.delete(each);
		this.#codes.set(code, monotonic() + ageMs);
		return code;
	}

	/**
	 * A link by which a person logs in another device, once within ten minutes.
	 * @param name of the person
	 * @throws {RequestError} 409 with AUTH=off
	 */
	makeLink(request: IncomingMessage, name: string | undefined): LoginLink {
		const { tokens, now, publicUrl } = this.#options;
		const person = tokens.people.find((each) => each.name === name);
		if (!person) throw new RequestError(409, "With AUTH=off no one needs to log in.");
		const expiresAt = new Date(now() + loginLinkAgeMs).toISOString();
		const code = this.makeCode(person.token, loginLinkAgeMs);
		return { url: `${baseUrlOf(request, publicUrl)}/login?code=${code}`, expiresAt };
	}

	/** @returns the token that the code stands for; undefined if it is wrong, used or expired */
	async useCode(code: string): Promise<string | undefined> {
		const { tokens, endedLogins, now, monotonic } = this.#options;
		const [, head = "", expires, signature = ""] = /^((\d{1,16})\.[\w-]{36})\.([\w-]+)$/.exec(code) ?? [];
		await tokens.refresh();
		const signer = tokens.people.find(({ token }) =>
			equalSecrets(signature, sign(token, `login code ${head}`)),
		);
		// The gateway that made it ignores a changed clock or token.
		const runsUntil = this.#codes.get(code);
		const isOver =
			runsUntil === undefined ? isDue(Number(expires), now(), loginCodeAgeMs) : runsUntil <= monotonic();
		const token = signer?.token ?? (runsUntil === undefined ? undefined : tokens.current("monitor"));
		if (token === undefined || isOver) return undefined;
		return (await endedLogins.use(signature, Number(expires))) ? token : undefined;
	}

	/**
	 * Sets a cookie: its expiry, signed with the person's token, which also ends it.
	 * @param shown a valid token of a person
	 */
	async begin(request: IncomingMessage, response: Response, shown: string): Promise<void> {
		const { tokens, publicUrl, now } = this.#options;
		await tokens.refresh();
		const unnamed = tokens.of("monitor");
		const [current = ""] = unnamed;
		const token = isAmong(shown, unnamed) ? current : shown;
		const expires = String(now() + cookieAgeMs);
		response.cookie(cookieName(token), `${expires}.${signCookie(token, expires)}`, {
			httpOnly: true,
			sameSite: "strict",
			secure: reachedAt(request).protocol === "https:" || publicUrl?.protocol === "https:",
			maxAge: cookieAgeMs,
			path: this.#cookiePath(request),
		});
	}

	/** Ends the request's logins. @throws {NodeJS.ErrnoException} */
	async end(request: IncomingMessage, response: Response): Promise<void> {
		const { tokens, endedLogins } = this.#options;
		const path = this.#cookiePath(request);
		for (const { token } of tokens.people) response.clearCookie(cookieName(token), { path });
		const logins = this.#of(request);
		await Promise.all(logins.map(({ signature, expires }) => endedLogins.end(signature, expires)));
	}

	/** Behind a proxy other programs may share the host. */
	#cookiePath(request: IncomingMessage): string {
		return new URL(baseUrlOf(request, this.#options.publicUrl)).pathname;
	}

	#of({ headers }: IncomingMessage): readonly Login[] {
		const { tokens, endedLogins, now } = this.#options;
		return tokens.people.flatMap(({ token, ...person }) => {
			const form = new RegExp(`(?:^|; *)${cookieName(token)}=(\\d{1,16})\\.([\\w-]+)`, "g");
			const cookies = [...(headers.cookie ?? "").matchAll(form)].slice(0, mostCookies);
			return cookies.flatMap(([, text = "", signature = ""]) => {
				const expires = Number(text);
				const isOver = isDue(expires, now(), longestLoginMs);
				const isValid = equalSecrets(signature, signCookie(token, text)) && !isOver;
				return isValid && !endedLogins.has(signature, expires) ? [{ person, signature, expires }] : [];
			});
		});
	}
}

/** Different for each gateway of a host: cookies ignore the port. */
function cookieName(token: string): string {
	return `gateway_${sign(token, "cookie name").slice(0, 12)}`;
}

function signCookie(token: string, expires: string): string {
	return sign(token, `cookie ${expires}`);
}
