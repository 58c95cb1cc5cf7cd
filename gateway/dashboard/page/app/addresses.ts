/** Addresses of the views: fragments, which work below any path and without a request. */

import type { Targets } from "../../../api/targets.js";
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

export function rolloutAddress(id: string): string {
	return `#/firmware/${encodeURIComponent(id)}`;
}

/** Address of a view for a room, for devices with tags, for these devices, or for all. @param view empty for the fleet */
export function viewAddress(
	view: "" | "announce" | "firmware" | "schedules",
	{ room, tags, devices }: Targets = {},
): string {
	const fields = Object.entries({ room, tags, devices: devices?.join() });
	const query = `${new URLSearchParams(fields.flatMap(([name, text]) => (text ? [[name, text]] : [])))}`;
	return `#/${view}${query && `?${query}`}`;
}

/** Targets in the query of an address; undefined without any. */
export function targetsIn(search: string): Targets | undefined {
	const { room, tags, devices } = Object.fromEntries(new URLSearchParams(search));
	if (room) return { room };
	if (tags) return { tags };
	return devices ? { devices: devices.split(",").filter(Boolean) } : undefined;
}

function decode(text: string): string {
	return cleanText(percentDecoded(text) ?? text);
}

/** Fragment of the current address without its query. */
export function listAddress(): string {
	return location.hash.split("?")[0] || "#/";
}

/** Gateway address for devices, derived from the address of this page. */
export function ownDeviceAddress(): string {
	const address = new URL("device", document.baseURI);
	return `${address.protocol.replace("http", "ws")}//${address.host}${address.pathname}`;
}
