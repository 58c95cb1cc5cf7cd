/** `/api/tokens`: lists, makes and ends the tokens of people. A secret is in the answer that makes it, and nowhere else. */

import { Router } from "express";
import { object, oneOf } from "../../device/protocol/schema.js";
import { personRoles, type TokenList } from "../api/person.js";
import { readJson } from "../http/request-body.js";
import { errorCode, HttpProblem, refuseMethod } from "../problem.js";
import type { Storage } from "../storage/records.js";
import type { Access } from "./access.js";
import { type Tokens, tokenName } from "./tokens.js";

const askedToken = object({ name: tokenName, role: oneOf(...personRoles) });

export interface PeopleRoutesOptions {
	readonly access: Pick<Access, "requirePerson" | "usedAt" | "endRevoked">;
	readonly tokens: Pick<Tokens, "people" | "refresh" | "add" | "remove">;
	readonly storage: Storage;
}

export function peopleRoutes({ access, tokens, storage }: PeopleRoutesOptions): Router {
	const { requirePerson } = access;
	const router = Router({ caseSensitive: true, strict: true });

	/** @throws {HttpProblem} if it could not be written */
	const stored = <T>(change: Promise<T>) =>
		change.catch((error: unknown) => {
			if (errorCode(error) === undefined) throw error;
			const detail = `The tokens could not be written to ${storage.place}, and nothing was changed.`;
			throw new HttpProblem(storage.status, detail);
		});

	router
		.route("/api/tokens")
		.get(requirePerson, async (_request, response) => {
			await tokens.refresh();
			const all = tokens.people.map(({ name, role, since }) => {
				return { name, role, since: isoTime(since), usedAt: isoTime(access.usedAt(name)) };
			});
			// While it is replaced there are two without a name.
			const list: TokenList = { tokens: all.filter(({ name }, index) => name !== all[index - 1]?.name) };
			response.set("Cache-Control", "no-store").json(list);
		})
		.post(requirePerson, async (request, response) => {
			const { name, role } = await readJson(request, askedToken, '{"name":"anna","role":"user"}');
			const token = await stored(tokens.add(name, role));
			response.status(201).set("Cache-Control", "no-store").json({ name, role, token });
		})
		.all(refuseMethod("GET, HEAD, POST"));

	router
		.route("/api/tokens/:name")
		.delete(requirePerson, async ({ params: { name } }, response) => {
			await stored(tokens.remove(name));
			await access.endRevoked();
			response.status(204).end();
		})
		.all(refuseMethod("DELETE"));

	return router;
}

function isoTime(at: number | undefined): string | null {
	return at === undefined ? null : new Date(at).toISOString();
}
