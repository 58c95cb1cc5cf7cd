/**
 * Renders components of the page in Node: in a DOM of happy-dom, with the page's own App, a scripted gateway and mocked time.
 * Elements are found by role and accessible name. Test files import this module first, and then the components with `await import`.
 */

import assert from "node:assert/strict";
import { register } from "node:module";
import type { TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import { computeAccessibleName, getRole } from "dom-accessibility-api";
import { BrowserErrorCaptureEnum, Window } from "happy-dom";
import { type ComponentType, h, options, render } from "preact";
import type { App } from "../../../../gateway/dashboard/page/app/app.js";
import { waitUntil } from "../../../support/eventually.js";
import { type GatewayOptions, PageGateway } from "./gateway.js";

register(import.meta.resolve("./loader.js"));
// Static imports are loaded before the hooks are registered.
const { App: PageApp } = await import("../../../../gateway/dashboard/page/app/app.js");
const { AppContext } = await import("../../../../gateway/dashboard/page/app/hooks.js");

/** Globals of a browser that the page uses and Node lacks or implements differently. */
const domNames = [
	...["document", "location", "history", "navigator", "localStorage", "sessionStorage", "CSS"],
	...[
		"Node",
		"Element",
		"HTMLElement",
		"HTMLAnchorElement",
		"HTMLTableRowElement",
		"FormData",
		"Audio",
		"innerHeight",
		"scrollY",
	],
	...["ResizeObserver", "EventTarget", "Event", "MouseEvent", "KeyboardEvent", "PointerEvent"],
] as const;
const domFunctions = [
	"addEventListener",
	"removeEventListener",
	"dispatchEvent",
	"getComputedStyle",
	"matchMedia",
] as const;

/** Duration of a frame, in ms. */
const frameMs = 16;

/** Replaces the globals of the previous test. */
function installDom(t: TestContext, gateway: PageGateway): void {
	const window = new Window({
		url: "http://gateway.test/",
		settings: { errorCapture: BrowserErrorCaptureEnum.disabled },
	});
	t.after(() => window.happyDOM.close());
	addPopovers(window);
	const onNextFrame = (paint: () => void) => setTimeout(paint, frameMs);
	// Preact's own schedule uses a timeout without a delay, which mocked timers never run.
	options.requestAnimationFrame = onNextFrame;
	const globals = {
		...Object.fromEntries(domNames.map((name) => [name, window[name]])),
		...Object.fromEntries(domFunctions.map((name) => [name, window[name].bind(window)])),
		// Its timers are those of Node, which tests mock.
		window: globalThis,
		isSecureContext: false,
		scrollTo: () => {},
		requestAnimationFrame: onNextFrame,
		cancelAnimationFrame: clearTimeout,
		fetch: gateway.fetch,
		WebSocket: gateway.webSocket,
	};
	for (const [name, value] of Object.entries(globals))
		Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
	t.mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"], now: Date.parse("2026-01-01T12:00Z") });
	t.mock.method(performance, "now", () => Date.now());
}

/** Adds popovers, which happy-dom lacks. */
function addPopovers({ document, HTMLElement: { prototype } }: Window): void {
	const hidePopover = function (this: HTMLElement) {
		this.removeAttribute("data-open");
	};
	Object.assign(prototype, { hidePopover });
	document.addEventListener("click", ({ target }) => {
		const button = target instanceof HTMLElement && target.closest("[popovertarget]");
		if (button)
			document.getElementById(button.getAttribute("popovertarget") ?? "")?.toggleAttribute("data-open");
	});
}

/** Closed dialogs and popovers, and what is hidden. */
export const closed = "[hidden], dialog:not([open]), [popover]:not([data-open])";

export interface MountOptions extends GatewayOptions {
	/** Fragment of the address. */
	readonly address?: string;
}

/** Starts a page without a view. @returns its App, connected to the gateway */
export async function start(
	t: TestContext,
	{ address = "#/", ...options }: MountOptions = {},
): Promise<Page> {
	const gateway = new PageGateway(options);
	installDom(t, gateway);
	location.hash = address;
	const page = new Page(t, gateway, new PageApp());
	page.app.connect();
	gateway.accept();
	await page.advance();
	return page;
}

/** Renders a component on a connected page. */
export async function mount<P extends object>(
	t: TestContext,
	component: ComponentType<P>,
	props: P,
	options: MountOptions = {},
): Promise<Page> {
	const page = await start(t, options);
	t.after(() => page.leave());
	await page.render(component, props);
	return page;
}

export class Page {
	readonly gateway: PageGateway;
	readonly app: App;
	readonly #t: TestContext;
	readonly #root: () => HTMLElement;

	/** @param root returns the element within which it finds others */
	constructor(t: TestContext, gateway: PageGateway, app: App, root = () => document.body) {
		this.#t = t;
		this.gateway = gateway;
		this.app = app;
		this.#root = root;
	}

	/** The same page, limited to what the only such element contains now and later. */
	within(role: string, name: string | RegExp = ""): Page {
		return new Page(this.#t, this.gateway, this.app, () => this.find(role, name));
	}

	/** Renders a component, or renders it again with other properties. */
	async render<P extends object>(component: ComponentType<P>, props: P): Promise<void> {
		render(h(AppContext.Provider, { value: this.app, children: h(component, props) }), document.body);
		await this.advance();
	}

	/** Opens a view of the page. */
	async open(address: string): Promise<void> {
		// happy-dom dispatches it with a real timer.
		const changed = new Promise((resolve) => addEventListener("hashchange", resolve, { once: true }));
		location.hash = address;
		await changed;
		await this.advance();
	}

	/** Waits for something that is imported on demand, while the time advances. */
	until(condition: () => boolean): Promise<void> {
		return waitUntil(condition, () => this.advance(frameMs));
	}

	/** Removes the component. */
	async leave(): Promise<void> {
		render(null, document.body);
		await this.advance();
	}

	/** Relays a report, like the method of the gateway. */
	async report(...report: Parameters<PageGateway["report"]>): Promise<void> {
		this.gateway.report(...report);
		await this.advance();
	}

	/** Advances the time in frames, or in a hundred steps, and runs what is due. */
	async advance(ms = 5 * frameMs): Promise<void> {
		const stepMs = Math.max(frameMs, Math.ceil(ms / 100));
		await setImmediate();
		for (let leftMs = ms; leftMs > 0; leftMs -= stepMs) {
			this.#t.mock.timers.tick(Math.min(leftMs, stepMs));
			await setImmediate();
		}
	}

	/** Elements with a role, and with this accessible name or a part of it. */
	all(role: string, name: string | RegExp = ""): readonly HTMLElement[] {
		return [...this.#root().querySelectorAll<HTMLElement>("*")].filter((element) => {
			if (getRole(element) !== role || isHidden(element)) return false;
			if (name === "") return true;
			const actual = nameOf(element);
			return typeof name === "string" ? actual === name : name.test(actual);
		});
	}

	/** The only such element. */
	find(role: string, name: string | RegExp = ""): HTMLElement {
		const [found, ...others] = this.all(role, name);
		const present = () => this.all(role).map(nameOf).join(" | ");
		assert.ok(found && others.length === 0, `${others.length + 1} × ${role} "${name}" among: ${present()}`);
		return found;
	}

	has(role: string, name: string | RegExp = ""): boolean {
		return this.all(role, name).length > 0;
	}

	/** Whether the only such control is disabled. */
	isOff(role: string, name: string | RegExp): boolean {
		return isOff(this.find(role, name));
	}

	/** The only field with this label. */
	field(label: string): HTMLInputElement {
		const fields = [...this.#root().querySelectorAll<HTMLInputElement>("input, select, textarea")];
		const [found, ...others] = fields.filter((field) => !isHidden(field) && nameOf(field) === label);
		assert.ok(found && others.length === 0, `"${label}" among: ${fields.map(nameOf).join(" | ")}`);
		return found;
	}

	/** Text of the elements with a role. */
	texts(role: string): readonly string[] {
		return this.all(role).map(({ textContent }) => textContent ?? "");
	}

	/** Error messages. */
	get problems(): readonly string[] {
		return this.texts("alert").filter(Boolean);
	}

	async click(role: string, name: string | RegExp = "", init: MouseEventInit = {}): Promise<void> {
		const element = this.find(role, name);
		assert.equal(isOff(element), false, `${name} is disabled`);
		element.dispatchEvent(new MouseEvent("click", { ...passed, ...init }));
		await this.advance();
	}

	/** Changes a field as a person does. @param value text, number, or text of an option */
	async enter(label: string, value: string | number): Promise<void> {
		const field = this.field(label);
		assert.equal(isOff(field), false, `${label} is disabled`);
		const option = [...field.querySelectorAll("option")].find(({ textContent }) => textContent === value);
		field.value = option?.value ?? `${value}`;
		for (const type of ["input", "change"]) field.dispatchEvent(new Event(type, passed));
		await this.advance();
	}

	/** Presses a key on the only such element. */
	async press(role: string, name: string | RegExp, key: string, init: KeyboardEventInit = {}): Promise<void> {
		this.find(role, name).dispatchEvent(new KeyboardEvent("keydown", { ...passed, ...init, key }));
		await this.advance();
	}
}

/** Dispatched events bubble. */
export const passed = { bubbles: true, cancelable: true } as const;

/** Whether a control is disabled; happy-dom applies `:disabled` to a fieldset alone, not to its controls. */
function isOff(control: Element): boolean {
	return control.matches(":disabled") || control.closest("fieldset[disabled]") !== null;
}

function nameOf(element: Element): string {
	// There is no style sheet, and computed styles take most of the time.
	return computeAccessibleName(element, { getComputedStyle: () => document.body.style });
}

/** Whether assistive technology ignores an element, apart from the style sheet. */
function isHidden(element: Element): boolean {
	if (element.closest(`[aria-hidden=true], ${closed}`)) return true;
	const details = element.closest("details:not([open])");
	return details !== null && !element.closest("summary");
}
