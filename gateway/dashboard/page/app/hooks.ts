/** Hooks by which views follow the page's state. */

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

/** Renders again in the frame after one of the topics was marked. */
export function useTopic(...names: readonly string[]): void {
	const { painter } = useApp();
	const [, render] = useReducer((count: number, _: undefined) => count + 1, 0);
	// Not useEffect, which waits for the frame and would miss changes until then.
	useLayoutEffect(() => {
		const ends = names.map((name) => painter.listen(name, () => render(undefined)));
		return () => {
			for (const end of ends) end();
		};
	}, [painter, names.join(" ")]);
}

/** Undefined once the device is forgotten. */
export function useDevice(key: string): Entry | undefined {
	useTopic(topics.device(key));
	return useApp().fleet.get(key);
}

/** As `useDevice`, and requests each of its reports. */
export function useFollowedDevice(key: string): Entry | undefined {
	const app = useApp();
	useEffect(() => app.follow(key), [app, key]);
	return useDevice(key);
}

/** Whether requests reach the gateway. */
export function useIsLive(): boolean {
	useTopic(topics.link);
	return useApp().linkState.name === "live";
}

/** Whether this person can change something now. A viewer cannot; the page says so below its header. */
export function useMayChange(): boolean {
	const { person } = useApp();
	const isLive = useIsLive();
	return isLive && person?.role !== "viewer";
}

/** Has the gateway's firmware read, first for this view and then at each change. */
export function useFirmware(): void {
	const { firmware } = useApp();
	useTopic(topics.firmware);
	useEffect(() => void firmware.refresh(), [firmware]);
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

/** Asks before the page is left, which would stop what it has begun. */
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
	/** @param room empty: the devices without one */
	| { readonly view: "room"; readonly room: string; readonly search: string }
	| { readonly view: "attention" }
	| { readonly view: "device"; readonly key: string; readonly tab: DeviceTab }
	/** @param devices to be updated: ids, `selected`, or none */
	| { readonly view: "firmware"; readonly devices: string }
	/** @param search as in an address: "?room=Kitchen", "?devices=", or empty for all devices */
	| { readonly view: "announce"; readonly search: string }
	| { readonly view: "settings" }
	| { readonly view: "wifi" }
	/** @param withVirtual boards may be virtual ones, as in tests: "#/add?virtual" */
	| { readonly view: "add"; readonly withVirtual: boolean };

export const deviceTabs = ["overview", "history", "firmware", "settings", "log"] as const;
export type DeviceTab = (typeof deviceTabs)[number];

/** The view that the address names, by its fragment: it works below any path, without a request. */
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
	const [, room] = /^#\/rooms\/(.*)$/.exec(path) ?? [];
	if (room !== undefined) return { view: "room", room: decode(room), search };
	const [, view, key, part] =
		/^#\/(devices?|firmware|announce|attention|settings|wifi|add)(?:\/([^/]+))?(?:\/(\w+))?$/.exec(path) ??
		[];
	if (view === "attention" || view === "settings" || view === "wifi") return { view };
	if (view === "announce") return { view, search };
	if (view === "add") return { view, withVirtual: search === "?virtual" };
	if (view === "firmware") return { view, devices: new URLSearchParams(search).get("devices") ?? "" };
	if (!view || !key) return { view: "fleet", search };
	return { view: "device", key: decode(key), tab: deviceTabs.find((tab) => tab === part) ?? "overview" };
}

export function deviceAddress(key: string, tab: DeviceTab = "overview"): string {
	return `#/devices/${encodeURIComponent(key)}${tab === "overview" ? "" : `/${tab}`}`;
}

/** @param room undefined: of the devices without one */
export function roomAddress(room: string | undefined): string {
	return `#/rooms/${encodeURIComponent(room ?? "")}`;
}

/** Of the view that updates these devices; many are not named in it. */
export function updateAddress(keys: ReadonlySet<string>): string {
	return `#/firmware?${new URLSearchParams({ devices: deviceList(keys) })}`;
}

/** Of the view that announces: in a room, on these devices, or on all. */
export function announceAddress({
	room,
	keys,
}: {
	readonly room?: string;
	readonly keys?: ReadonlySet<string>;
} = {}): string {
	if (room === undefined && keys === undefined) return "#/announce";
	return `#/announce?${new URLSearchParams(room === undefined ? { devices: deviceList(keys ?? new Set()) } : { room })}`;
}

/** The devices that an address means, as the two functions above write it. */
export function listedDevices(devices: string, selected: ReadonlySet<string>): ReadonlySet<string> {
	return devices === "selected" ? selected : new Set(devices.split(",").filter(Boolean));
}

function deviceList(keys: ReadonlySet<string>): string {
	return keys.size > 40 ? "selected" : [...keys].join(",");
}

function decode(text: string): string {
	try {
		return decodeURIComponent(text);
	} catch {
		return text;
	}
}
