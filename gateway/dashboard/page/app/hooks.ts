/** Hooks by which views follow the page's state. */

import { createContext } from "preact";
import { useContext, useEffect, useLayoutEffect, useMemo, useReducer, useState } from "preact/hooks";
import type { Entry } from "../../../api/client/fleet.js";
import { type Action, mayDo } from "../../../api/commands.js";
import { cleanText, percentDecoded } from "../../../api/text.js";
import type { App } from "./app.js";
import type { KnownPast } from "./device-history.js";
import type { FirmwareStore } from "./firmware.js";
import { respond } from "./gateway.js";
import type { Topic } from "./painter.js";
import { Resource } from "./resource.js";

export const AppContext = createContext<App | undefined>(undefined);

export function useApp(): App {
	const app = useContext(AppContext);
	if (!app) throw new Error("there is no app around this view");
	return app;
}

/** As `useApp`; renders again in the frame after one of the topics was marked. */
export function useTopic(...names: readonly Topic[]): App {
	const app = useApp();
	const { painter } = app;
	const [, render] = useReducer((count: number, _: undefined) => count + 1, 0);
	// Not useEffect, which waits for the frame and would miss changes until then.
	useLayoutEffect(() => {
		const ends = names.map((name) => painter.listen(name, () => render(undefined)));
		return () => {
			for (const end of ends) end();
		};
	}, [painter, names.join(" ")]);
	return app;
}

/** Undefined once the device is forgotten. */
export function useDevice(key: string): Entry | undefined {
	return useTopic(`device ${key}`).fleet.get(key);
}

/** As `useDevice`, and requests each of its reports. */
export function useFollowedDevice(key: string): Entry | undefined {
	const app = useApp();
	useEffect(() => app.follow(key), [app, key]);
	return useDevice(key);
}

/** What the gateway has recorded of a device; undefined before it was read. */
export function usePast(key: string): KnownPast | undefined {
	return useTopic(`record ${key}`).past(key).value;
}

/** Whether requests reach the gateway. */
export function useIsLive(): boolean {
	return useTopic("link").linkState.name === "live";
}

/** After this time a gateway that was stopped has not just been restarted. */
const gatewayRestartMs = 60_000;

/** How the gateway is while it does not answer; undefined: the page is connected to it. */
export function useGatewayAbsence(): "is restarting" | "cannot be reached" | undefined {
	const { linkState: state } = useTopic("link");
	const now = useNow(1000);
	if (state.name === "live") return undefined;
	return state.name === "lost" && state.isExpected && now - state.since < gatewayRestartMs
		? "is restarting"
		: "cannot be reached";
}

/**
 * Whether this person can change something now. What a role may do is said below the header.
 * @param action undefined: something that is for monitors alone
 */
export function useMayChange(action?: Action): boolean {
	const { person } = useApp();
	const isLive = useIsLive();
	return isLive && (!person || mayDo(person, action ?? "trigger_ota"));
}

/** Something that a view alone shows: read with each connection. @param everyMs how often it is also read while the page is seen */
export function useResource<T>(read: () => Promise<T>, everyMs?: number): Resource<T> {
	const isLive = useIsLive();
	const [, render] = useReducer((count: number, _: undefined) => count + 1, 0);
	const [resource] = useState(() => new Resource(read, () => render(undefined)));
	useEffect(() => {
		if (!isLive) return;
		void resource.refresh();
		const timer = everyMs && setInterval(() => document.hidden || resource.refresh(), everyMs);
		return () => clearInterval(timer);
	}, [resource, isLive]);
	return resource;
}

/** @param name undefined: it is not requested @returns whether the gateway has this route; undefined: not known yet */
export function useHasRoute(name: "GET /api/audit" | "GET /api/backup" | undefined): boolean | undefined {
	const find = async () =>
		name !== undefined &&
		(await respond(name, { isHead: true }).then(
			() => true,
			() => false,
		));
	return useResource(find).value;
}

/** Has the gateway's firmware read, first for this view and then at each change. */
export function useFirmware(): FirmwareStore {
	const { firmware } = useTopic("firmware");
	useEffect(() => void firmware.refresh(), [firmware]);
	return firmware;
}

/** The gateway's clock, which ticks once in `intervalMs`. */
export function useNow(intervalMs: number): number {
	const { clock } = useApp();
	const [ticks, tick] = useReducer((count: number, _: undefined) => count + 1, 0);
	useEffect(() => {
		const timer = setInterval(() => tick(undefined), intervalMs);
		return () => clearInterval(timer);
	}, [intervalMs]);
	return useMemo(() => clock.now(), [clock, clock.aheadMs, ticks]);
}

/** PendingCommands before the page is left, which would stop what it has begun. */
export function useLeaveWarning(isOn: boolean): void {
	// Not useEffect, which waits for the next frame: it could be left before.
	useLayoutEffect(() => {
		if (!isOn) return;
		const onLeave = (event: Event) => event.preventDefault();
		addEventListener("beforeunload", onLeave);
		return () => removeEventListener("beforeunload", onLeave);
	}, [isOn]);
}

/** By the first part of an address's path. */
const views = {
	rooms: "room",
	devices: "device",
	device: "device",
	firmware: "firmware",
	announce: "announce",
	times: "times",
	attention: "attention",
	settings: "settings",
	wifi: "settings",
	add: "add",
} as const;

export interface Route {
	readonly view: "fleet" | (typeof views)[keyof typeof views];
	/** Of a device; of a room its name, empty for the devices without one; or the part of the settings. */
	readonly key: string;
	/** Of a device. */
	readonly tab: DeviceTab;
	/** As in an address: "?state=away", or empty. */
	readonly search: string;
}

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
	const [path = "", ...rest] = hash.replace(/^#\//, "").split("?");
	const [first = "", key = "", part = ""] = path.split("/").map(decode);
	const view = Object.entries(views).find(([name]) => name === first)?.[1] ?? "fleet";
	return {
		view: view === "device" && key === "" ? "fleet" : view,
		// Earlier links have the Wi-Fi by itself.
		key: first === "wifi" ? first : key,
		tab: deviceTabs.find((tab) => tab === part) ?? "overview",
		search: rest.length > 0 ? `?${rest.join("?")}` : "",
	};
}

export function deviceAddress(key: string, tab: DeviceTab = "overview"): string {
	return `#/devices/${encodeURIComponent(key)}${tab === "overview" ? "" : `/${tab}`}`;
}

/** @param room undefined: of the devices without one */
export function roomAddress(room: string | undefined): string {
	return `#/rooms/${encodeURIComponent(room ?? "")}`;
}

/** Of the devices that match an expression of tags. */
export function tagAddress(tags: string): string {
	return `#/?${new URLSearchParams({ tags })}`;
}

/** Of the view that updates these devices; many are not named in it. */
export function updateAddress(keys: ReadonlySet<string>): string {
	return `#/firmware?${new URLSearchParams({ devices: deviceList(keys) })}`;
}

/** Of the view that announces: in a room, on these devices, or on all. */
export function announceAddress(on: { readonly room?: string; readonly keys?: ReadonlySet<string> } = {}) {
	const { room, keys } = on;
	const query = room !== undefined ? { room } : keys && { devices: deviceList(keys) };
	return query ? `#/announce?${new URLSearchParams(query)}` : "#/announce";
}

/** Of the view of times, with the quiet hours of a room or a device. */
export function schedulesAddress(of: { readonly room?: string; readonly device?: string } = {}): string {
	const query = new URLSearchParams(of).toString();
	return query ? `#/times?${query}` : "#/times";
}

/** The devices that an address means, as the two functions above write it. */
export function listedDevices(devices: string, selected: ReadonlySet<string>): ReadonlySet<string> {
	return devices === "selected" ? selected : new Set(devices.split(",").filter(Boolean));
}

function deviceList(keys: ReadonlySet<string>): string {
	return keys.size > 40 ? "selected" : [...keys].join(",");
}

function decode(text: string): string {
	return cleanText(percentDecoded(text) ?? text);
}
