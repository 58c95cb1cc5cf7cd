/** How a view follows what it shows. */

import { createContext } from "preact";
import { useContext, useEffect, useLayoutEffect, useMemo, useReducer, useState } from "preact/hooks";
import type { Entry } from "../../../api/client/fleet.js";
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

/** The same, of a device that is looked at: each of its reports is asked for. */
export function useFollowedDevice(key: string): Entry | undefined {
	const app = useApp();
	useEffect(() => app.follow(key), [app, key]);
	return useDevice(key);
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

/** Names the window. */
export function useTitle(text: string): void {
	useEffect(() => {
		document.title = `${text} · Device gateway`;
	}, [text]);
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
	/** @param search as in an address: "?state=away", or empty */
	| { readonly view: "fleet"; readonly search: string }
	| { readonly view: "device"; readonly key: string }
	/** @param devices to be updated: ids, `selected`, or none */
	| { readonly view: "firmware"; readonly devices: string }
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
	return useMemo(() => routeOf(hash), [hash]);
}

/** @param hash the fragment of an address; a bad percent escape in it stands for itself */
export function routeOf(hash: string): Route {
	const [path = "", ...rest] = hash.split("?");
	const search = rest.length > 0 ? `?${rest.join("?")}` : "";
	const [, view, key] = /^#\/(device|firmware|settings|add)(?:\/(.+))?$/.exec(path) ?? [];
	if (view === "settings" || view === "add") return { view };
	if (view === "firmware") return { view, devices: new URLSearchParams(search).get("devices") ?? "" };
	return view === "device" && key ? { view, key: decode(key) } : { view: "fleet", search };
}

export function deviceAddress(key: string): string {
	return `#/device/${encodeURIComponent(key)}`;
}

/** Of the view that updates these devices; many are not named in it. */
export function updateAddress(keys: ReadonlySet<string>): string {
	const devices = keys.size > 40 ? "selected" : [...keys].join(",");
	return `#/firmware?${new URLSearchParams({ devices })}`;
}

function decode(text: string): string {
	try {
		return decodeURIComponent(text);
	} catch {
		return text;
	}
}
