/** The topics, and the message by which Home Assistant (2024.12 or later) makes a device with all its entities. */

import { entities, type Facts } from "./entities.js";

const base = "device-gateway";
/** Subscribed to. */
export const availabilityTopics = `${base}/+/availability`;
export const commandTopics = `${base}/+/+/set`;

export function topicOf(deviceId: string, what: string): string {
	return `${base}/${deviceId}/${what}`;
}

/** @param name of a gateway */
export function gatewayTopic(name: string): string {
	return topicOf(encodeURIComponent(name), "gateway");
}

/** @returns the device's id and the rest of the topic; undefined if it is none of ours */
export function readTopic(topic: string): { readonly deviceId: string; readonly what: string } | undefined {
	const [, deviceId, what] = /^device-gateway\/([^/]+)\/([^/]+)(?:\/set)?$/.exec(topic) ?? [];
	return deviceId === undefined || what === undefined ? undefined : { deviceId, what };
}

/** Home Assistant takes letters, digits, `_` and `-` alone: other characters are escaped, and `_`, which escapes. */
export function discoveryTopic(prefix: string, deviceId: string): string {
	const escaped = deviceId.replaceAll(/[._]/g, (character) => (character === "." ? "_2E" : "_5F"));
	return `${prefix}/device/${escaped}/config`;
}

/** @param publicUrl of this gateway, for a link */
export function discoveryText(facts: Facts, statusTopic: string, publicUrl: string | undefined): string {
	const { deviceId, label, model, chip, firmwareVersion } = facts.device;
	const components: Record<string, object> = {};
	for (const [key, { platform, options, more, isOffered, state, command }] of Object.entries(entities)) {
		const stateTopic = topicOf(deviceId, key);
		const hasState = state !== undefined || platform === "event";
		components[key] =
			isOffered?.(facts) === false
				? // It removes the entity, if there was one.
					{ platform }
				: {
						platform,
						unique_id: `${base}-${deviceId}-${key}`,
						qos: 1,
						...options,
						...more?.(facts),
						...(hasState && { state_topic: stateTopic }),
						...(command && { command_topic: `${stateTopic}/set` }),
					};
	}
	return JSON.stringify({
		device: {
			identifiers: [`${base}-${deviceId}`],
			serial_number: deviceId,
			name: label.name ?? deviceId,
			suggested_area: label.room,
			model,
			hw_version: chip,
			sw_version: firmwareVersion ?? undefined,
			configuration_url: publicUrl,
		},
		origin: { name: base },
		// A device is available while both say so.
		availability: [{ topic: statusTopic }, { topic: topicOf(deviceId, "availability") }],
		availability_mode: "all",
		components,
	});
}
