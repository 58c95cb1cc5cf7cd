/** Prometheus gauges of devices, computed when metrics are read. Each gateway of a cluster reports all devices. */

import { compare, prerelease } from "semver";
import { isNewer } from "../api/channels.js";
import type { Release } from "../api/firmware.js";
import type { CatalogFile } from "../firmware/catalog.js";
import { fits } from "../firmware/image.js";
import type { Device } from "../sessions/device.js";
import type { Metrics } from "./metrics.js";

/** Maximum number of versions with their own label, since a device may report any text as its version. */
const maxVersions = 20;

export interface DeviceMetricsOptions {
	readonly metrics: Pick<Metrics, "watch" | "watchCounts">;
	readonly sessions: { readonly devices: ReadonlyMap<string, Device> };
	readonly catalog: Pick<CatalogFile, "read">;
}

export function watchDevices({ metrics, sessions, catalog }: DeviceMetricsOptions): void {
	const all = () => [...sessions.devices.values()];
	const { watch, watchCounts } = metrics;
	watch("gateway_known_devices", "Known devices, connected or not", () => sessions.devices.size);
	watch(
		"gateway_devices_away",
		"Known devices that are not connected",
		() => all().filter(({ session }) => !session.connected).length,
	);
	watchCounts(
		"gateway_devices",
		"Known devices by latest reported firmware version and model",
		["version", "model"],
		() => labelsOf(all()),
	);
	watch("gateway_due_updates", "Known devices with a newer release", async () => {
		const isDue = updatesOf((await catalog.read()).releases);
		return all().filter(isDue).length;
	});
}

/** Returns the labels of each device: one of the most frequent versions, or `other`. */
function labelsOf(devices: readonly Device[]) {
	const counts = new Map<string, number>();
	const versionOf = ({ firmwareVersion }: Device) => firmwareVersion ?? "unknown";
	for (const device of devices) counts.set(versionOf(device), (counts.get(versionOf(device)) ?? 0) + 1);
	const sorted = [...counts].sort(([, a], [, b]) => b - a);
	const named = new Set(sorted.slice(0, maxVersions).map(([version]) => version));
	return devices.map((device) => {
		const version = versionOf(device);
		return { version: named.has(version) ? version : "other", model: device.model ?? "unknown" };
	});
}

/** @returns predicate for devices with a newer release, without pre-releases, like on the dashboard */
function updatesOf(releases: readonly Release[]): (device: Device) => boolean {
	const newestFirst = releases
		.filter(({ version }) => prerelease(version) === null)
		.sort((a, b) => compare(b.version, a.version));
	// Cached, as thousands of devices have the same model, chip and version.
	const known = new Map<string, boolean>();
	return (device) => {
		const { model, chip, firmwareVersion } = device;
		const key = `${model} ${chip} ${firmwareVersion}`;
		const newest = () => newestFirst.find((release) => release.images.some((image) => fits(image, device)));
		const isDue = known.get(key) ?? isNewer(newest()?.version ?? null, firmwareVersion);
		known.set(key, isDue);
		return isDue;
	};
}
