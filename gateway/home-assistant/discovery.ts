/**
 * Discovery messages of the gateway and its devices, and their topics: homeassistant/components/mqtt/schemas.py,
 * DEVICE_DISCOVERY_SCHEMA.
 */

import packageFile from "../../package.json" with { type: "json" };
import { componentsOf, type Facts, product } from "./entities.js";

const { version } = packageFile;

/** This gateway as a device of Home Assistant. */
export interface Gateway {
	readonly name: string;
	/** Result of `baseOf`. */
	readonly base: string;
	/** Link in Home Assistant. */
	readonly publicUrl: string | undefined;
}

/** Escapes characters other than letters, digits and `-`. Home Assistant also allows `_`, the escape character. */
function escaped(text: string): string {
	return encodeURIComponent(text)
		.replaceAll(/[_.!~*'()]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
		.replaceAll("%", "_");
}

export function discoveryTopic(prefix: string, deviceId: string): string {
	return `${prefix}/device/${escaped(deviceId)}/config`;
}

/** @returns device id in a discovery topic; undefined for foreign topics */
export function deviceIdIn(prefix: string, topic: string): string | undefined {
	const start = `${prefix}/device/`;
	const [name = "", config] = topic.slice(start.length).split("/");
	const isOurs = /^([A-Za-z0-9-]|_2E|_5F)+$/.test(name);
	return topic.startsWith(start) && config === "config" && isOurs
		? decodeURIComponent(name.replaceAll("_", "%"))
		: undefined;
}

/** Returns a topic below a separate node, distinct from those of devices. */
export function gatewayTopic(prefix: string, name: string): string {
	return `${prefix}/device/${product}/${escaped(name)}/config`;
}

/** Returns the base topic of the gateway with this name, unique per name. */
export function baseOf(name: string): string {
	return `${product}/${encodeURIComponent(name)}`;
}

/**
 * @param text discovery message
 * @param base base topic of a gateway
 */
export function isDiscoveredBy(text: string, base: string): boolean {
	return text.includes(`"${base}/status"`);
}

/** Describes the gateway as the Home Assistant device that connects the others. */
export function gatewayText({ name, base, publicUrl }: Gateway): string {
	const status = {
		platform: "binary_sensor",
		unique_id: `${base}-status`,
		name: "Connection",
		device_class: "connectivity",
		state_topic: `${base}/status`,
		payload_on: "online",
		payload_off: "offline",
		entity_category: "diagnostic",
	};
	return JSON.stringify({
		device: {
			identifiers: [base],
			manufacturer: product,
			name: `Device gateway ${name}`,
			sw_version: version,
			configuration_url: publicUrl,
		},
		origin: { name: product, sw_version: version, support_url: publicUrl },
		components: { status },
	});
}

/** @param macAddress undefined before the first report */
export function discoveryText(facts: Facts, { base, publicUrl }: Gateway, macAddress?: string): string {
	const { deviceId, label, model, chip, firmwareVersion } = facts.device;
	return JSON.stringify({
		device: {
			identifiers: [`${product}-${deviceId}`],
			connections: isUnique(macAddress) ? [["mac", macAddress]] : undefined,
			manufacturer: product,
			serial_number: deviceId,
			name: label.name ?? deviceId,
			suggested_area: label.room,
			model,
			hw_version: chip,
			sw_version: firmwareVersion ?? undefined,
			via_device: base,
			configuration_url: publicUrl && `${publicUrl}/#/devices/${encodeURIComponent(deviceId)}`,
		},
		origin: { name: product, sw_version: version, support_url: publicUrl },
		// A device is available while both topics say so.
		availability: [{ topic: `${base}/status` }, { topic: `${base}/${deviceId}/availability` }],
		availability_mode: "all",
		components: componentsOf(facts, base),
	});
}

/** Excludes locally administered addresses of simulated devices, as Home Assistant merges devices with equal ones. */
function isUnique(macAddress: string | undefined): boolean {
	return macAddress !== undefined && (Number.parseInt(macAddress, 16) & 2) === 0;
}
