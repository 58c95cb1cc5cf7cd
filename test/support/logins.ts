/** Logins and named tokens of people at a gateway. */

import disk from "node:fs/promises";
import { generateTokens, type TokenFile, tokenPath, writeTokenFile } from "../../gateway/access/tokens.js";

/** Request of the button on a login link's page. */
export const press = { method: "POST", redirect: "manual" } as const;

export function postToken(url: string, token: string, headers: Readonly<Record<string, string>> = {}) {
	return fetch(`${url}/login`, { ...press, headers: { ...headers }, body: new URLSearchParams({ token }) });
}

/** Cookie set by a response, as a browser returns it. */
export function cookieOf(response: Response): string {
	return response.headers.getSetCookie()[0]?.split(";")[0] ?? "";
}

/** @returns headers of a page that is logged in */
export async function logIn(url: string, token: string): Promise<{ readonly cookie: string }> {
	return { cookie: cookieOf(await postToken(url, token)) };
}

/** @returns status and person of a request with these headers */
export async function loginOf(url: string, headers: Readonly<Record<string, string>>) {
	const response = await fetch(`${url}/login/state`, { headers: { ...headers } });
	return { status: response.status, person: response.ok ? await response.json() : undefined };
}

/** Sets the named tokens of a gateway that gets its own from the environment. */
export async function nameTokens(
	dataDir: string,
	...named: readonly NonNullable<TokenFile["named"]>[number][]
): Promise<void> {
	await writeTokenFile(disk, tokenPath(dataDir), { ...generateTokens(), named });
}
