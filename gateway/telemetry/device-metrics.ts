/** Prometheus gauges of devices, computed when metrics are read. Of gateways that act as one, each has them of all devices. */

import { compare, prerelease } from "semver";
import { isNewer } from "../api/channels.js";
import type { Release } from "../api/firmware.js";
import type { CatalogFile } from "../firmware/catalog.js";
import { fits } from "../firmware/image.js";
import type { Device } from "../sessions/device.js";
import type { Metrics } from "./metrics.js";

/** Maximum number of versions with their own label, since a device may report any text as its version. */
const versionsAtMost = 20;

export interface DeviceMetricsOptions {
	readonly metrics: Pick<Metrics, "watch" | "watchCounts">;
	readonly sessions: { readonly devices: ReadonlyMap<string, Device> };
	readonly catalog: Pick<CatalogFile, "read">;
}

export function watchDevices({ metrics, sessions, catalog }: DeviceMetricsOptions): void {
	const all = () => [...sessions.devices.values()];
	const { watch, watchCounts } = metrics;
	watch("gateway_known_devices", "Devices that are known, connected or not", () => sessions.devices.size);
	watch(
		"gateway_devices_away",
		"Devices that are known and not connected",
		() => all().filter(({ session }) => !session.connected).length,
	);
	watchCounts(
		"gateway_devices",
		"Devices that are known, by the firmware that they reported last",
		["version", "model"],
		() => labelsOf(all()),
	);
	watch("gateway_due_updates", "Devices that are known and that a newer release fits", async () => {
		const isDue = updatesOf((await catalog.read()).releases);
		return all().filter(isDue).length;
	});
}

/** The labels of each: the most frequent versions, and `other`. */
function labelsOf(devices: readonly Device[]) {
	const counts = new Map<string, number>();
	const versionOf = ({ firmwareVersion }: Device) => firmwareVersion ?? "unknown";
	for (const device of devices) counts.set(versionOf(device), (counts.get(versionOf(device)) ?? 0) + 1);
	const sorted = [...counts].sort(([, a], [, b]) => b - a);
	const named = new Set(sorted.slice(0, versionsAtMost).map(([version]) => version));
	return devices.map((device) => {
		const version = versionOf(device);
		return { version: named.has(version) ? version : "other", model: device.model ?? "unknown" };
	});
}

/** @returns whether a device runs an older version than the newest release for it, as the page finds it: no pre-release */
function updatesOf(releases: readonly Release[]): (device: Device) => boolean {
	const newestFirst = releases
		.filter(({ version }) => prerelease(version) === null)
		.sort((a, b) => compare(b.version, a.version));
	// Thousands of devices are alike.
	const known = new Map<string, boolean>();
	return (device) => {
		const { model, chip, firmwareVersion } = device;
		const like = `${model} ${chip} ${firmwareVersion}`;
		const newest = () => newestFirst.find((release) => release.images.some((image) => fits(image, device)));
		const isDue = known.get(like) ?? isNewer(newest()?.version ?? null, firmwareVersion);
		known.set(like, isDue);
		return isDue;
	};
}
