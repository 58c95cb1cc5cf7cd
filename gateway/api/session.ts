/** Sessions and devices as sent to monitors and by `GET /api/devices`. */

import { features, uplinks } from "../../device/protocol/messages.js";
import { integer, models, oneOf, optional } from "../../device/protocol/schema.js";
import { deviceIssue } from "./issues.js";
import { label } from "./label.js";
import {
	array,
	closed,
	dateTime,
	described,
	type InferShape,
	nullable,
	onlyTrue,
	reference,
	text,
	uuid,
} from "./shapes.js";
import { otaMetadata } from "./update.js";

/** Common fields of sessions and devices. */
const head = {
	sessionId: uuid,
	deviceId: described(nullable(text), "null until the device is identified"),
	model: nullable(oneOf(...models)),
	connected: { type: "boolean" },
	connectedAt: dateTime,
	lastSeenAt: dateTime,
	remoteAddress: text,
	firmwareVersion: described(nullable(text), "null before the first state_report"),
	features: described(array(oneOf(...features)), "known features of the header Device-Features"),
	metadata: otaMetadata,
	crashCount: described(
		optional(integer(1, 20)),
		"number of crashes of the running firmware version among the last 20; absent: none",
	),
	...label.fields,
} as const;

/** Values of the latest report for lists of devices. */
const vitals = {
	rssi: described(
		nullable(uplinks.state_report.fields.network.fields.wifi_rssi),
		"in dBm, within 4 of the latest report; null before it, as are ssid and volume",
	),
	ssid: nullable(text),
	volume: nullable(integer(0, 100)),
	unmutedVolume: described(
		optional(integer(1, 100)),
		"volume that unmuting restores; absent: not muted, or not reported",
	),
	safeMode: described(optional(onlyTrue), "absent unless in safe mode"),
	fault: described(optional(text), "fault of sound, touch pad or clock; absent: none reported"),
} as const;

export const session = closed({
	...head,
	state: nullable(reference({ state_report: uplinks.state_report })),
});
export type SessionRecord = InferShape<typeof session>;

const issuesField = described(optional(array(deviceIssue)), "what people should look at; absent: nothing");

/** Device as listed by `GET /api/devices`. */
export const knownDevice = closed({
	...head,
	deviceId: text,
	chip: nullable(text),
	firstSeenAt: dateTime,
	...vitals,
	attention: issuesField,
});
export type KnownDevice = InferShape<typeof knownDevice>;

const { connectedAt: _, ...summaryHead } = head;

/** Device without its state, and without ids and times that lists do not show. */
export const deviceSummary = closed({
	...summaryHead,
	sessionId: described(optional(uuid), "present if only the reports, not the handshake, name the device"),
	metadata: described(optional(otaMetadata), "absent before the first update"),
	deviceId: text,
	lastSeenAt: described(optional(dateTime), "absent while connected"),
	chip: nullable(text),
	...vitals,
	attention: issuesField,
});
export type DeviceSummary = InferShape<typeof deviceSummary>;
export type Vitals = Pick<DeviceSummary, keyof typeof vitals>;
