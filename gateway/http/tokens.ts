/** Routes `/api/tokens`: lists, creates and revokes tokens of people. Only the response to POST contains a token. */

import type { Access } from "../access/access.js";
import { invitationAgeMs } from "../access/logins.js";
import type { Tokens } from "../access/tokens.js";
import { tokenRoutes } from "../api/login.js";
import { errorCode, RequestError, requireFound } from "../problem.js";
import type { Storage } from "../storage/records.js";
import { type Route, serve } from "./routes.js";

export interface TokenRoutesOptions {
	readonly access: Pick<Access, "logins" | "usedAt" | "endRevoked">;
	readonly tokens: Pick<Tokens, "people" | "refresh" | "add" | "remove">;
	readonly storage: Storage;
}

export function createTokenRoutes({ access, tokens, storage }: TokenRoutesOptions): readonly Route[] {
	/** Awaits a change of the tokens file. @throws {RequestError} if writing it failed */
	const storeChange = <T>(change: Promise<T>) =>
		change.catch((error: unknown) => {
			if (errorCode(error) === undefined) throw error;
			const detail = `The tokens could not be written to ${storage.place}, and nothing was changed.`;
			throw new RequestError(storage.status, detail);
		});
	return serve(tokenRoutes, {
		"GET /api/tokens": async () => {
			await tokens.refresh();
			const all = tokens.people.map(({ name, role, since }) => {
				return { name, role, since: isoTime(since), usedAt: isoTime(access.usedAt(name)) };
			});
			// During a rotation there are two tokens without a name, of which one is listed.
			return { tokens: all.filter(({ name }, index) => name !== all[index - 1]?.name) };
		},
		"POST /api/tokens": async ({ body: { name, role } }) => {
			const token = await storeChange(tokens.add(name, role));
			return { name, role, token };
		},
		"POST /api/tokens/:name/link": async ({ request, params: { name } }) => {
			await tokens.refresh();
			const link = access.logins.createLink(request, name, invitationAgeMs);
			return requireFound(link, `No token is named ${name}.`);
		},
		"DELETE /api/tokens/:name": async ({ params: { name } }) => {
			await storeChange(tokens.remove(name));
			await access.endRevoked();
		},
	});
}

function isoTime(at: number | undefined): string | null {
	return at === undefined ? null : new Date(at).toISOString();
}
