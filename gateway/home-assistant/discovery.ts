/**
 * The discovery messages of the gateway and its devices, and their topics: homeassistant/components/mqtt/schemas.py,
 * DEVICE_DISCOVERY_SCHEMA.
 */

import packageFile from "../../package.json" with { type: "json" };
import { componentsOf, type Facts, product } from "./entities.js";

const { version } = packageFile;

/** This gateway, as Home Assistant knows it. */
export interface Gateway {
	readonly name: string;
	/** See baseOf. */
	readonly base: string;
	/** For a link. */
	readonly publicUrl: string | undefined;
}

/** Home Assistant takes letters, digits, `_` and `-` alone: other characters are escaped, and `_`, which escapes. */
function escaped(text: string): string {
	return encodeURIComponent(text)
		.replaceAll(/[_.!~*'()]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
		.replaceAll("%", "_");
}

export function discoveryTopic(prefix: string, deviceId: string): string {
	return `${prefix}/device/${escaped(deviceId)}/config`;
}

/** @returns the id of the device in a topic of discovery; undefined: it is none of ours */
export function deviceIdIn(prefix: string, topic: string): string | undefined {
	const start = `${prefix}/device/`;
	const [name = "", config] = topic.slice(start.length).split("/");
	const isOurs = /^([A-Za-z0-9-]|_2E|_5F)+$/.test(name);
	return topic.startsWith(start) && config === "config" && isOurs
		? decodeURIComponent(name.replaceAll("_", "%"))
		: undefined;
}

/** Below a node of its own: no device has the same. */
export function gatewayTopic(prefix: string, name: string): string {
	return `${prefix}/device/${product}/${escaped(name)}/config`;
}

/** Of the topics of the gateway with this name; no other gateway has the same. */
export function baseOf(name: string): string {
	return `${product}/${encodeURIComponent(name)}`;
}

/** @param text of a discovery message @param base of a gateway's topics */
export function isDiscoveredBy(text: string, base: string): boolean {
	return text.includes(`"${base}/status"`);
}

/** The gateway as a device of Home Assistant, through which it has the others. */
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

/** @param macAddress undefined before its first report */
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
		// A device is available while both say so.
		availability: [{ topic: `${base}/status` }, { topic: `${base}/${deviceId}/availability` }],
		availability_mode: "all",
		components: componentsOf(facts, base),
	});
}

/** Those of simulated devices are locally administered; Home Assistant makes one device of two with the same. */
function isUnique(macAddress: string | undefined): boolean {
	return macAddress !== undefined && (Number.parseInt(macAddress, 16) & 2) === 0;
}
