/**
 * Opens pages in Chromium, logged in at a gateway. At its end each test fails if the page has requested anything from another
 * host or logged an error.
 */

import assert from "node:assert/strict";
import { after, type TestContext } from "node:test";
import type { Browser, BrowserContext, BrowserContextOptions, Locator, Page } from "playwright-core";
import { launchChromium, logIn } from "../support/chromium.js";

/** Timeout for an expected state. */
const patienceMs = 30_000;

/** Console messages about a closed gateway: it stops before the page is closed. */
const outage =
	/ERR_(CONNECTION|SOCKET_NOT_CONNECTED|EMPTY_RESPONSE|INCOMPLETE_CHUNKED)|WebSocket connection to/;

export interface OpenOptions extends BrowserContextOptions {
	/** URL fragment: `#/firmware`. */
	readonly view?: string;
	/** Token to log in with; default: the monitor token; empty: not logged in. */
	readonly token?: string;
	/** Console message to ignore, such as a rejected connection. */
	readonly expected?: RegExp;
	/** Called before a page is opened. */
	readonly prepare?: (context: BrowserContext) => Promise<void>;
}

/**
 * Shares a browser between the tests of a file: it starts with the first and closes after the last.
 *
 * @param args of Chromium
 */
export function browsing(args: readonly string[] = []) {
	let browser: Promise<Browser> | undefined;
	after(async () => (await browser)?.close());

	/** Opens a window that is logged in at the gateway at `url`. */
	return async (t: TestContext, url: string, options: OpenOptions = {}): Promise<Page> => {
		browser ??= launchChromium(args);
		const { view = "", token, expected, prepare, ...contextOptions } = options;
		const context = await (await browser).newContext({
			viewport: { width: 1280, height: 900 },
			// Animated rings take up to half a CPU without a GPU.
			reducedMotion: "reduce",
			locale: "en-GB",
			...contextOptions,
		});
		context.setDefaultTimeout(patienceMs);
		const complaints: string[] = [];
		context.on("console", (message) => {
			// Chromium logs each 404 and 503, the responses of a gateway without these extensions, and of one that is stopping.
			if (/\/(api\/(webhooks|audit|commands|quiet-hours)|readyz)$/.test(message.location().url)) return;
			if (["error", "warning"].includes(message.type())) complaints.push(message.text());
		});
		context.on("weberror", (error) => complaints.push(String(error.error())));
		context.on("request", (request) => {
			if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(url))
				complaints.push(request.url());
		});
		t.after(async () => {
			await context.close();
			assert.deepEqual(
				complaints.filter((complaint) => !outage.test(complaint) && !expected?.test(complaint)),
				[],
				"the page has nothing to complain about",
			);
		});
		if (token !== "") await logIn(context.request, url, token);
		await prepare?.(context);
		const page = await context.newPage();
		await page.goto(`${url}/${view}`);
		return page;
	};
}

/** Notice that each view shows while the gateway is unreachable; forms may show it for their requests. */
export function gatewayAway(page: Page): Locator {
	return page
		.getByRole("complementary", { name: "Connection" })
		.getByText(/Gateway is (restarting|unreachable)\./);
}

/** Toasts that report failures. */
export function problems(page: Page): Locator {
	return page.getByRole("alert").filter({ hasText: /\S/ });
}

/** Opens a menu or another disclosure, which has no role. */
export function disclose(scope: Page | Locator, name: string): Promise<void> {
	return scope.locator("summary, .menu", { hasText: name }).first().click();
}

/** Waits for a text, which may occur several times. */
export function sees(scope: Page | Locator, text: string | RegExp): Promise<void> {
	return scope.getByText(text).first().waitFor();
}
