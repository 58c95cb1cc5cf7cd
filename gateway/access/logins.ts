/** Logins of people: one-time codes, and cookies signed with the person's token. */

import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Response } from "express";
import type { LoginLink } from "../api/login.js";
import { type Person, personRoles } from "../api/person.js";
import { isDue } from "../api/time.js";
import type { Base } from "../base.js";
import type { EndedLogins } from "./ended-logins.js";
import { baseUrlOf, reachedAt } from "./origin.js";
import { equalSecrets, includesSecret, sign } from "./secrets.js";
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
/** Expiry accepted at most, as the clock may be slow after a start until it is synchronized. */
const maxCookieAgeMs = 2 * cookieAgeMs;
const loginCodeAgeMs = 60 * 60 * 1000;
const loginLinkAgeMs = 10 * 60 * 1000;
/** Age of a link for another person, the longest of all codes. */
export const invitationAgeMs = dayMs;
const maxCodes = 100;
/** Limit of cookies with the same name, of which browsers send one per path. */
const maxCookies = 4;

export class Logins {
	readonly #options: LoginsOptions;
	/** Login codes that this gateway created for the monitor token, with their monotonic expiry. */
	readonly #codes = new Map<string, number>();

	constructor(options: LoginsOptions) {
		this.#options = options;
	}

	/** Returns the person of a request; of several logins, the one with the most permissions. */
	personOf(request: IncomingMessage): Person | undefined {
		const people = this.#loginsOf(request).map(({ person }) => person);
		const [first] = personRoles.flatMap((role) => people.filter((person) => person.role === role));
		return first;
	}

	/**
	 * Creates a one-time login code, valid at any gateway with the same tokens.
	 * @param token token of a person, whose removal invalidates the code; default: the current monitor token
	 */
	createCode(token = this.#options.tokens.current("monitor"), ageMs = loginCodeAgeMs): string {
		const { tokens, now, monotonic } = this.#options;
		const head = `${now() + ageMs}.${randomUUID()}`;
		const code = `${head}.${sign(token, `login code ${head}`)}`;
		if (token !== tokens.current("monitor")) return code;
		for (const [oldCode, runsUntil] of this.#codes)
			if (runsUntil <= monotonic() || this.#codes.size >= maxCodes) this.#codes.delete(oldCode);
		this.#codes.set(code, monotonic() + ageMs);
		return code;
	}

	/**
	 * Creates a link that logs a person in on another computer or phone, once.
	 * @param ageMs default: ten minutes
	 * @returns undefined if no token has this name, as with AUTH=off
	 */
	createLink(request: IncomingMessage, name: string, ageMs = loginLinkAgeMs): LoginLink | undefined {
		const { tokens, now, publicUrl } = this.#options;
		const person = tokens.people.find((candidate) => candidate.name === name);
		if (!person) return undefined;
		const expiresAt = new Date(now() + ageMs).toISOString();
		const code = this.createCode(person.token, ageMs);
		return { url: `${baseUrlOf(request, publicUrl)}/login?code=${code}`, expiresAt };
	}

	/** Redeems a login code. @returns token of its person; undefined if the code is invalid, used or expired */
	async useCode(code: string): Promise<string | undefined> {
		const { tokens, endedLogins, now, monotonic } = this.#options;
		const [, head = "", expires, signature = ""] = /^((\d{1,16})\.[\w-]{36})\.([\w-]+)$/.exec(code) ?? [];
		await tokens.refresh();
		const signer = tokens.people.find(({ token }) =>
			equalSecrets(signature, sign(token, `login code ${head}`)),
		);
		// The gateway that created the code is not affected by a changed clock or token.
		const runsUntil = this.#codes.get(code);
		const isOver =
			runsUntil === undefined ? isDue(Number(expires), now(), invitationAgeMs) : runsUntil <= monotonic();
		const token = signer?.token ?? (runsUntil === undefined ? undefined : tokens.current("monitor"));
		if (token === undefined || isOver) return undefined;
		return (await endedLogins.use(signature, Number(expires))) ? token : undefined;
	}

	/**
	 * Sets a cookie that contains its expiry, signed with the person's token. Removal of the token ends the login.
	 * @param presented a valid token of a person
	 */
	async begin(request: IncomingMessage, response: Response, presented: string): Promise<void> {
		const { tokens, publicUrl, now } = this.#options;
		await tokens.refresh();
		const unnamed = tokens.of("monitor");
		const [current = ""] = unnamed;
		const token = includesSecret(unnamed, presented) ? current : presented;
		const expires = String(now() + cookieAgeMs);
		response.cookie(cookieName(token), `${expires}.${signCookie(token, expires)}`, {
			httpOnly: true,
			sameSite: "strict",
			secure: reachedAt(request).protocol === "https:" || publicUrl?.protocol === "https:",
			maxAge: cookieAgeMs,
			path: this.#cookiePath(request),
		});
	}

	/** Ends all logins of a request. @throws {NodeJS.ErrnoException} */
	async end(request: IncomingMessage, response: Response): Promise<void> {
		const { tokens, endedLogins } = this.#options;
		const path = this.#cookiePath(request);
		for (const { token } of tokens.people) response.clearCookie(cookieName(token), { path });
		const logins = this.#loginsOf(request);
		await Promise.all(logins.map(({ signature, expires }) => endedLogins.end(signature, expires)));
	}

	/** Returns the path of this gateway, as other programs may share its host behind a proxy. */
	#cookiePath(request: IncomingMessage): string {
		return new URL(baseUrlOf(request, this.#options.publicUrl)).pathname;
	}

	#loginsOf({ headers }: IncomingMessage): readonly Login[] {
		const { tokens, endedLogins, now } = this.#options;
		return tokens.people.flatMap(({ token, name, role }) => {
			const pattern = new RegExp(`(?:^|; *)${cookieName(token)}=(\\d{1,16})\\.([\\w-]+)`, "g");
			const cookies = [...(headers.cookie ?? "").matchAll(pattern)].slice(0, maxCookies);
			return cookies.flatMap(([, text = "", signature = ""]) => {
				const expires = Number(text);
				const isOver = isDue(expires, now(), maxCookieAgeMs);
				const isValid = equalSecrets(signature, signCookie(token, text)) && !isOver;
				return isValid && !endedLogins.has(signature) ? [{ person: { name, role }, signature, expires }] : [];
			});
		});
	}
}

/** Returns a name that differs between gateways on the same host, as cookies ignore the port. */
function cookieName(token: string): string {
	return `gateway_${sign(token, "cookie name").slice(0, 12)}`;
}

function signCookie(token: string, expires: string): string {
	return sign(token, `cookie ${expires}`);
}
