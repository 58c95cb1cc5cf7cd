/** How a view follows what it shows. */

import { createContext } from "preact";
import { useContext, useEffect, useLayoutEffect, useReducer, useState } from "preact/hooks";
import type { Entry } from "../model/fleet.js";
import { type App, topics } from "./app.js";

export const AppContext = createContext<App | undefined>(undefined);

export function useApp(): App {
	const app = useContext(AppContext);
	if (!app) throw new Error("there is no app around this view");
	return app;
}

/** Renders again in the frame after something of that name has changed. */
export function useTopic(topic: string): void {
	const { painter } = useApp();
	const [, render] = useReducer((count: number, _: undefined) => count + 1, 0);
	// Not useEffect, which waits for the frame: what changes until then would not be heard of.
	useLayoutEffect(() => painter.listen(topic, () => render(undefined)), [painter, topic]);
}

/** A device as it is known now; undefined once it is forgotten. */
export function useDevice(key: string): Entry | undefined {
	useTopic(topics.device(key));
	return useApp().fleet.get(key);
}

/** Whether what is asked of devices reaches the gateway. */
export function useIsLive(): boolean {
	useTopic(topics.link);
	return useApp().linkState.name === "live";
}

const firmwareAgeMs = 10_000;

/** Reads what the gateway has to update with, again and again: a new release comes without a message. */
export function useFirmware(): void {
	const app = useApp();
	useEffect(() => {
		void app.firmware.refresh();
		const timer = setInterval(() => {
			if (app.linkState.name === "live" && !document.hidden) void app.firmware.refresh();
		}, firmwareAgeMs);
		return () => clearInterval(timer);
	}, [app]);
}

/** This page's clock, which ticks once in `intervalMs`. */
export function useNow(intervalMs: number): number {
	const [now, setNow] = useState(Date.now);
	useEffect(() => {
		const timer = setInterval(() => setNow(Date.now()), intervalMs);
		return () => clearInterval(timer);
	}, [intervalMs]);
	return now;
}

/** Whether a media query holds. */
export function useMedia(query: string): boolean {
	const [holds, setHolds] = useState(() => matchMedia(query).matches);
	useEffect(() => {
		const list = matchMedia(query);
		const onChange = () => setHolds(list.matches);
		list.addEventListener("change", onChange);
		return () => list.removeEventListener("change", onChange);
	}, [query]);
	return holds;
}

/** Asks before the page is left: what it has begun would stop. */
export function useLeaveWarning(isOn: boolean): void {
	useEffect(() => {
		if (!isOn) return;
		const onLeave = (event: Event) => event.preventDefault();
		addEventListener("beforeunload", onLeave);
		return () => removeEventListener("beforeunload", onLeave);
	}, [isOn]);
}

export type Route =
	| { readonly view: "fleet" }
	| { readonly view: "device"; readonly key: string }
	| { readonly view: "firmware" }
	| { readonly view: "settings" }
	| { readonly view: "add" };

/** The view that the address names, by its fragment: so it works below any path, and no request is made for it. */
export function useRoute(): Route {
	const [hash, setHash] = useState(location.hash);
	useEffect(() => {
		const onChange = () => setHash(location.hash);
		addEventListener("hashchange", onChange);
		return () => removeEventListener("hashchange", onChange);
	}, []);
	const [, view, key] = /^#\/(device|firmware|settings|add)(?:\/(.+))?$/.exec(hash) ?? [];
	if (view === "firmware" || view === "settings" || view === "add") return { view };
	return view === "device" && key ? { view, key: decode(key) } : { view: "fleet" };
}

export function deviceAddress(key: string): string {
	return `#/device/${encodeURIComponent(key)}`;
}

function decode(text: string): string {
	try {
		return decodeURIComponent(text);
	} catch {
		return text;
	}
}
