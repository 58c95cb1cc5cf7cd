/** Logins and tokens of people. */

import { object, oneOf, optional, pattern, string } from "../../device/protocol/schema.js";
import { everyone, monitors } from "./permissions.js";
import { personRoles } from "./person.js";
import { defineRoutes, json } from "./route.js";
import { array, closed, dateTime, described, type InferShape, nullable, text } from "./shapes.js";

/** Name of a person's token, as typed. Part of a path, in which URLs give `.`, `..` and slashes a meaning. */
export const tokenName = Object.freeze({
	...pattern(
		64,
		"^(?!\\.{1,2}$)[^/\\\\\\x00-\\x1f\\x7f]+$",
		"a name of at least one character, without slashes and control characters,",
	),
	isFreeText: true,
} as const);
const role = oneOf(...personRoles);
const person = {
	name: described(string(64), "name of the token; `monitor` for the one without a name"),
	role,
};
const html = { "text/html": text };
const code = described(optional(text), "one-time code of a login link, consumed by the POST");
const notWritten =
	"The tokens could not be written to disk, and nothing was changed. With several gateways 503 while NATS is unreachable.";

export const loginLink = closed({ url: text, expiresAt: dateTime });
export type LoginLink = InferShape<typeof loginLink>;

export const tokenList = closed({
	tokens: array(
		closed({
			...person,
			since: described(nullable(dateTime), "null if unknown"),
			usedAt: described(
				nullable(dateTime),
				"time of the latest request with this token or its logins; null: none since the gateway's start",
			),
		}),
	),
});

export const loginRoutes = defineRoutes(null, {
	"GET /login": {
		summary: "Returns the login page; with a one-time code, only a button",
		roles: null,
		query: { code },
		reply: { type: "raw", content: html },
	},
	"POST /login": {
		summary: "Logs in with a person's token or a one-time code",
		roles: null,
		query: { code },
		body: {
			type: "raw",
			isOptional: true,
			content: { "application/x-www-form-urlencoded": object({ token: optional(text) }) },
		},
		status: 303,
		returns: "Logged in; sets the cookie and redirects to the dashboard.",
		problems: {
			401: { description: "The token is invalid, or the code was used or has expired.", content: html },
			429: { description: "Too many invalid codes or tokens from this address.", content: html },
		},
	},
	"POST /logout": {
		summary: "Removes the login cookie",
		roles: null,
		status: 303,
		returns: "Redirects to the login page.",
	},
	"GET /login/state": {
		summary: "Returns name and role of the logged-in person",
		roles: everyone,
		reply: closed(person),
	},
	"POST /login/link": {
		summary: "Creates a login link for another browser of the same person, valid once, for ten minutes",
		roles: everyone,
		status: 201,
		returns: "The link, based on PUBLIC_URL or the host of this request.",
		reply: loginLink,
		problems: { 409: "AUTH is off, so that there are no logins." },
	},
});

export const tokenRoutes = defineRoutes(null, {
	"GET /api/tokens": {
		summary: "Lists the tokens of people, without their secrets",
		roles: monitors,
		returns: "The tokens. The first one has no name and is listed as monitor.",
		reply: tokenList,
	},
	"POST /api/tokens": {
		summary: "Creates a token with a name",
		roles: monitors,
		body: json(object({ name: tokenName, role }), { name: "Anna", role: "user" }),
		status: 201,
		returns: "The token. It cannot be retrieved again.",
		reply: closed({ name: text, role, token: text }),
		problems: { 409: "A token with this name exists, or there are 100 tokens.", 507: notWritten },
	},
	"POST /api/tokens/:name/link": {
		summary: "Creates a login link for a person, valid once, for a day",
		roles: monitors,
		status: 201,
		returns: "The link, based on PUBLIC_URL or the host of this request.",
		reply: loginLink,
	},
	"DELETE /api/tokens/:name": {
		summary: "Revokes a token, its logins and its open connections",
		roles: monitors,
		problems: { 507: notWritten },
	},
});
