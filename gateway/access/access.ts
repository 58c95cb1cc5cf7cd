/** Checks the token, login and origin of every request, HTTP and WebSocket. */

import type { IncomingMessage } from "node:http";
import type { Request } from "express";
import { type Action, mayDo } from "../api/commands.js";
import { roleWords } from "../api/permissions.js";
import { type Person, type PersonRole, personRoles } from "../api/person.js";
import type { RouteDefinition } from "../api/route.js";
import type { Base } from "../base.js";
import { type HttpRejection, RequestError } from "../problem.js";
import { EndedLogins } from "./ended-logins.js";
import { Logins } from "./logins.js";
import { isLoopback, isSameOrigin, reachedAt, remoteAddressOf } from "./origin.js";
import { AddressLimit } from "./rates.js";
import { deviceOf, equalSecrets, includesSecret } from "./secrets.js";
import type { Role, Tokens } from "./tokens.js";

export interface AccessOptions
	extends Pick<Base, "settings" | "records" | "storage" | "log" | "now" | "monotonic"> {
	readonly tokens: Tokens;
	readonly onAdmitted: (request: IncomingMessage) => void;
	/** Called after each request that changes something. */
	readonly onChange: (change: Change) => void;
}

export interface Admission {
	/** Undefined if it is admitted. */
	readonly rejection?: HttpRejection;
	/** Set if the token is valid for one device only. */
	readonly deviceId?: string;
	/** Set for a person's token or login. */
	readonly person?: Person;
}

/** Change by a person, for the audit log. */
export interface Change {
	readonly person: Person;
	readonly remoteAddress: string;
	readonly deviceId: string | undefined;
	/** Name of a route, such as `PATCH /api/devices/:deviceId`, of a command, or of another monitor message. */
	readonly what: string;
	/** Fields of path, query and body, or of the command; may contain secrets. */
	readonly after: object;
	/** Previous values of some of the fields. */
	readonly before?: object | undefined;
}

/** Permissions of a token or login. */
interface Grants {
	/** Undefined: not a device's token. */
	readonly device?: Admission;
	readonly person?: Person | undefined;
}

export class Access {
	readonly logins: Logins;
	readonly #options: AccessOptions;
	readonly #endedLogins: EndedLogins;
	readonly #failures = new AddressLimit({ points: 10, seconds: 60, what: "wrong tokens" });
	/** By name, in milliseconds since 1970. */
	readonly #usedAt = new Map<string, number>();
	/** Callbacks that close open connections after a revocation. */
	readonly #watched = new Map<IncomingMessage, () => void>();

	constructor(options: AccessOptions) {
		this.#options = options;
		const endedLogins = new EndedLogins({ ...options, onEnded: () => void this.endRevoked() });
		this.#endedLogins = endedLogins;
		this.logins = new Logins({ ...options, endedLogins, publicUrl: options.settings.publicUrl });
	}

	/** @throws {NodeJS.ErrnoException} if the folder of ended logins cannot be used */
	open(): Promise<void> {
		return this.#endedLogins.open();
	}

	/** Whether requests from loopback require no token. */
	get #isOff(): boolean {
		return !this.#options.settings.auth;
	}

	/**
	 * Checks the token or a person's login cookie.
	 * @param maxAgeMs how long a revoked token may still be valid
	 */
	async check(
		request: IncomingMessage,
		roles: readonly (Role | PersonRole)[],
		maxAgeMs = 0,
	): Promise<Admission> {
		const admission = await this.#check(request, roles, maxAgeMs);
		if (!admission.rejection) this.#options.onAdmitted(request);
		if (admission.person) this.#usedAt.set(admission.person.name, this.#options.now());
		return admission;
	}

	async #check(
		request: IncomingMessage,
		roles: readonly (Role | PersonRole)[],
		maxAgeMs: number,
	): Promise<Admission> {
		if (this.#isOff) return this.#checkHost(request);
		const isToken = bearerOf(request) !== undefined;
		const age = isToken ? maxAgeMs : 0;
		await this.#options.tokens.refresh(age);
		const admission = admissionOf(this.#grantsOf(request), roles);
		if (admission) return admission;
		// Checks again with fresh tokens, as the token may be new.
		if (age > 0) return this.#check(request, roles, 0);
		return {
			rejection: isToken
				? this.countFailure(request, roles.includes("device") ? "device" : "monitor")
				: rejectionWithoutToken(request),
		};
	}

	/** Returns the time of the last request with a person's token or login; undefined if there was none since the start. */
	usedAt(name: string): number | undefined {
		return this.#usedAt.get(name);
	}

	/** Checks a person's token that is not in a header. @returns rejection; undefined if the token is valid */
	async checkPersonToken(request: IncomingMessage, token: string): Promise<HttpRejection | undefined> {
		await this.#options.tokens.refresh();
		return this.#grantsOfToken(token).person ? undefined : this.countFailure(request, "monitor");
	}

	/** Returns the person whose token or login a request or its open connection has, with the present role; undefined: none any more. */
	async personOf(request: IncomingMessage): Promise<Person | undefined> {
		if (this.#isOff) return anyone;
		await this.#options.tokens.refresh();
		return this.#grantsOf(request).person;
	}

	/** Whether token or login are valid according to the tokens last read. For rate limits only. */
	isKnown(request: IncomingMessage): boolean {
		const { device, person } = this.#grantsOf(request);
		return person !== undefined || device !== undefined;
	}

	#grantsOf(request: IncomingMessage): Grants {
		const presented = bearerOf(request);
		return presented === undefined
			? { person: this.logins.personOf(request) }
			: this.#grantsOfToken(presented);
	}

	#grantsOfToken(presented: string): Grants {
		const { tokens } = this.#options;
		if (includesSecret(tokens.of("device"), presented)) return { device: {} };
		const deviceId = deviceOf(presented, tokens.of("device"));
		if (deviceId !== undefined) return { device: { deviceId } };
		const [person] = tokens.people.filter(({ token }) => equalSecrets(presented, token)).map(withoutToken);
		return { person };
	}

	/**
	 * Counts an invalid token of an address. Valid tokens are not limited, as several clients may share an address.
	 * @param what counted separately
	 * @returns rejection to send
	 */
	countFailure(request: IncomingMessage, what: string): HttpRejection {
		const tooMany = this.#failures.count(request, what);
		if (tooMany) return tooMany;
		this.#options.log.warn({ remoteAddress: remoteAddressOf(request), what }, "wrong token");
		return unauthorized;
	}

	/**
	 * Rejects cross-site requests of browsers with a cookie or with AUTH=off. A page of another site cannot add a bearer token,
	 * and a program with one may send any `Origin`.
	 */
	checkOrigin(request: IncomingMessage): HttpRejection | undefined {
		if (!this.#isOff && bearerOf(request) !== undefined) return undefined;
		return isSameOrigin(request, this.#options.settings.publicUrl) ? undefined : crossSite;
	}

	/**
	 * Checks origin and token of a request for a route.
	 * @returns person; undefined for a device, or for a route without roles
	 * @throws {RequestError} 401, 403, 429
	 */
	async authorize(
		request: IncomingMessage,
		{ roles, devices }: Pick<RouteDefinition, "roles" | "devices">,
	): Promise<Person | undefined> {
		const isRead = request.method === "GET" || request.method === "HEAD";
		const foreign = isRead ? undefined : this.checkOrigin(request);
		if (foreign) throw problemFor(foreign);
		if (roles === null) return undefined;
		const { rejection, person } = await this.check(request, devices ? ["device", ...roles] : roles);
		if (rejection) throw problemFor(rejection);
		return person;
	}

	reportChange(request: Request, change: Omit<Change, "remoteAddress">): void {
		this.#options.onChange({ ...change, remoteAddress: remoteAddressOf(request) });
	}

	/**
	 * Watches a person's open connection.
	 * @param onEnded called by `endRevoked` when its token or login is no longer valid
	 * @returns a function that stops watching
	 */
	watch(request: IncomingMessage, onEnded: () => void): () => void {
		this.#watched.set(request, onEnded);
		return () => this.#watched.delete(request);
	}

	/** Closes watched connections whose token was removed, or whose login was ended or has expired. */
	async endRevoked(): Promise<void> {
		if (this.#isOff) return;
		await this.#options.tokens.refresh();
		for (const [request, onEnded] of this.#watched) if (!this.#grantsOf(request).person) onEnded();
	}

	/** Accepts loopback host names only, to prevent DNS rebinding. */
	#checkHost(request: IncomingMessage): Admission {
		if (isLoopback(reachedAt(request).hostname)) return { person: anyone };
		const detail = "With AUTH=off this gateway only accepts requests to localhost and 127.0.0.1.";
		return { rejection: { status: 403, detail } };
	}
}

/** Checks a permission that depends on the body. @throws {RequestError} 403 */
export function requireAction(person: Person, action: Action): void {
	if (!mayDo(person, action)) throw problemFor(forbiddenTo(person.role));
}

function problemFor({ status, detail, headers }: HttpRejection): RequestError {
	return new RequestError(status, detail, headers);
}

function admissionOf({ device, person }: Grants, roles: readonly string[]): Admission | undefined {
	if (device && roles.includes("device")) return device;
	if (!person) return undefined;
	if (roles.includes(person.role)) return { person };
	return personRoles.some((role) => roles.includes(role))
		? { rejection: forbiddenTo(person.role) }
		: undefined;
}

function withoutToken({ name, role }: Person): Person {
	return { name, role };
}

function bearerOf({ headers }: IncomingMessage): string | undefined {
	return /^Bearer +(\S+)$/i.exec(headers.authorization ?? "")?.[1];
}

const crossSite: HttpRejection = {
	status: 403,
	detail: "Cross-site request rejected. Set PUBLIC_URL to the address in use.",
};

function forbiddenTo(role: PersonRole): HttpRejection {
	return { status: 403, detail: `This token may ${roleWords[role]}. Use a token with the role monitor.` };
}

/** Person of all requests with AUTH=off. */
const anyone: Person = { name: "AUTH=off", role: "monitor" };

const unauthorized: HttpRejection = {
	status: 401,
	detail: "Valid token required: Authorization: Bearer <token>.",
	headers: { "WWW-Authenticate": 'Bearer realm="gateway"' },
};

/** Browsers would add a password to requests of other sites, so it is no substitute for a token in its own header. */
function rejectionWithoutToken({ headers }: IncomingMessage): HttpRejection {
	if (!/^Basic /i.test(headers.authorization ?? "")) return unauthorized;
	const detail = "A token is not accepted as password of the URL. Send it as Authorization: Bearer <token>.";
	return { ...unauthorized, detail };
}
