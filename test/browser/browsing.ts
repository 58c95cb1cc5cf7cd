/**
 * A real Chromium at a real gateway, logged in. At the end of each test it is checked that the page requested nothing of another
 * host and logged no error.
 */

import assert from "node:assert/strict";
import { after, type TestContext } from "node:test";
import type { Browser, BrowserContext, BrowserContextOptions, Locator, Page } from "playwright-core";
import { launchChromium, logIn } from "../support/chromium.js";

/** How long a test waits for an expected state. */
const patienceMs = 60_000;

/** A gateway goes before the page that is open at it, at the end of a test if not earlier. */
const outage =
	/ERR_(CONNECTION|SOCKET_NOT_CONNECTED|EMPTY_RESPONSE|INCOMPLETE_CHUNKED)|WebSocket connection to/;

export interface OpenOptions extends BrowserContextOptions {
	/** Fragment of the address: `#/firmware`. */
	readonly view?: string;
	/** Something that the page is expected to complain about, such as a connection that is refused. */
	readonly expected?: RegExp;
	/** Called before a page is opened. */
	readonly prepare?: (context: BrowserContext) => Promise<void>;
}

/**
 * For one test file: a browser that starts with its first test and ends with its last.
 *
 * @param args of Chromium
 */
export function browsing(args: readonly string[] = []) {
	let browser: Promise<Browser> | undefined;
	after(async () => (await browser)?.close());

	/** A new window that is logged in at the gateway at `url`. */
	return async (t: TestContext, url: string, options: OpenOptions = {}): Promise<Page> => {
		browser ??= launchChromium(args);
		const { view = "", expected, prepare, ...contextOptions } = options;
		const context = await (await browser).newContext({
			viewport: { width: 1280, height: 900 },
			// Without a graphics processor a page's moving rings take up to half a processor.
			reducedMotion: "reduce",
			...contextOptions,
		});
		context.setDefaultTimeout(patienceMs);
		const complaints: string[] = [];
		context.on("console", (message) => {
			// Chromium reports each 404 and 503: a gateway without webhooks, audit, commands or quiet hours answers so, and one that is stopping.
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
		await logIn(context.request, url);
		await prepare?.(context);
		const page = await context.newPage();
		await page.goto(`${url}/${view}`);
		return page;
	};
}

/** What each view says while the gateway is away; forms may say the same of their own requests. */
export function gatewayAway(page: Page): Locator {
	return page
		.getByRole("complementary", { name: "Connection" })
		.getByText(/The gateway (is restarting|cannot be reached)\./);
}

/** What the page says was not done. */
export function problems(page: Page): Locator {
	return page.getByRole("alert").filter({ hasText: /\S/ });
}
