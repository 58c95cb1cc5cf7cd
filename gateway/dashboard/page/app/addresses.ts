/** Addresses of the views: fragments, which work below any path and without a request. */

import { cleanText, percentDecoded } from "../../../api/text.js";

/** Views by the first path segment of the fragment. */
const views = ["rooms", "devices", "firmware", "announce", "schedules", "issues", "settings", "add"] as const;

export interface Route {
	readonly view: "fleet" | (typeof views)[number];
	/** Key of a device; name of a room, empty for devices without one; or part of the settings. */
	readonly key: string;
	readonly tab: DeviceTab;
	/** Query such as "?state=away", or empty. */
	readonly search: string;
}

export const deviceTabs = ["overview", "firmware", "settings", "diagnostics"] as const;
export type DeviceTab = (typeof deviceTabs)[number];

/** @param hash fragment of an address; invalid percent escapes are kept as they are */
export function routeOf(hash: string): Route {
	const [path = "", ...rest] = hash.replace(/^#\//, "").split("?");
	const [first = "", key = "", part = ""] = path.split("/").map(decode);
	const view = views.find((name) => name === first) ?? "fleet";
	return {
		view: view === "devices" && key === "" ? "fleet" : view,
		key,
		tab: deviceTabs.find((tab) => tab === part) ?? "overview",
		search: rest.length > 0 ? `?${rest.join("?")}` : "",
	};
}

export function deviceAddress(key: string, tab: DeviceTab = "overview"): string {
	return `#/devices/${encodeURIComponent(key)}${tab === "overview" ? "" : `/${tab}`}`;
}

/** @param room undefined for the devices without one */
export function roomAddress(room: string | undefined): string {
	return `#/rooms/${encodeURIComponent(room ?? "")}`;
}

/** Address of the fleet filtered by a tag expression. */
export function tagAddress(tags: string): string {
	return `#/?${new URLSearchParams({ tags })}`;
}

export function rolloutAddress(id: string): string {
	return `#/firmware/${encodeURIComponent(id)}`;
}

/** Address of a new rollout for these devices. */
export function updateAddress(keys: Iterable<string>): string {
	return `#/firmware?${new URLSearchParams({ devices: [...keys].join() })}`;
}

/** Address of the announce view for a room, for these devices, or for all. */
export function announceAddress(on: { readonly room?: string; readonly keys?: Iterable<string> } = {}) {
	const { room, keys } = on;
	const query = room !== undefined ? { room } : keys && { devices: [...keys].join() };
	return query ? `#/announce?${new URLSearchParams(query)}` : "#/announce";
}

/** Address of the schedules view with the quiet hours of a room or a device. */
export function schedulesAddress(of: { readonly room?: string; readonly device?: string } = {}): string {
	const query = new URLSearchParams(of).toString();
	return query ? `#/schedules?${query}` : "#/schedules";
}

/** Devices listed in an address by `updateAddress` or `announceAddress`. */
export function listedDevices(query: URLSearchParams): ReadonlySet<string> {
	return new Set(query.get("devices")?.split(",").filter(Boolean));
}

function decode(text: string): string {
	return cleanText(percentDecoded(text) ?? text);
}

/** Fragment of the current address without its query. */
export function listAddress(): string {
	return location.hash.split("?")[0] || "#/";
}
