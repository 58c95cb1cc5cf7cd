/**
 * The gateway's HTTP routes as openapi.yaml tells them. To add one: an entry here, `npm run api`, and in
 * test/gateway/api/probes.ts a request for each status; test/gateway/api/openapi.test.ts says which of the three is missing.
 */

import type { Role } from "../../gateway/access/token-file.js";
import type { Json, JsonObject } from "./json-schema.js";
import { binaryAnswers, html, json, nothing, problem, type ResponseOf } from "./responses.js";
import {
	catalogExample,
	deviceExample,
	knownDeviceExample,
	updateExample,
	uploadExample,
} from "./route-examples.js";

export interface Route {
	readonly method: "get" | "post" | "delete";
	/** As OpenAPI writes it: `/releases/{path}`; a parameter may hold slashes where the route allows them. */
	readonly path: string;
	readonly summary: string;
	/** Whose token lets pass; none: open to all. 401 and 429 are added. */
	readonly roles: readonly Role[];
	/** Sent by browsers with a person's cookie: 403 for another site's page is added. */
	readonly isChecked?: true;
	readonly parameters?: readonly JsonObject[];
	readonly requestBody?: JsonObject;
	/** By status. */
	readonly responses: Readonly<Record<number, ResponseOf>>;
}

const socketHere = { 426: problem("A WebSocket lives here: see asyncapi.yaml.", { Upgrade: "websocket" }) };

const deviceIdInPath = {
	name: "deviceId",
	in: "path",
	required: true,
	schema: { type: "string" },
	example: "dev-1-a1b2c3",
};

export const routes: readonly Route[] = [
	{
		method: "get",
		path: "/healthz",
		summary: "Whether the gateway runs",
		roles: [],
		responses: { 200: json("It does.", "health", { status: "ok" }) },
	},
	{
		method: "get",
		path: "/readyz",
		summary: "Whether the gateway can do its work: it is not stopping, and its data folder can be written",
		roles: [],
		responses: {
			200: json("It can.", "readiness", { status: "ready" }),
			503: problem("It cannot; `detail` says why."),
		},
	},
	{
		method: "get",
		path: "/metrics",
		summary: "What the gateway does, in numbers for Prometheus",
		roles: ["monitor"],
		responses: { 200: { description: "Now.", content: { "text/plain": { schema: { type: "string" } } } } },
	},
	{
		method: "get",
		path: "/api/devices",
		summary: "Every device that is known, connected or not",
		roles: ["monitor"],
		responses: { 200: json("The devices.", "devices", { devices: [knownDeviceExample] }) },
	},
	{
		method: "get",
		path: "/api/devices/{deviceId}",
		summary: "All that is known of a device",
		roles: ["monitor"],
		parameters: [deviceIdInPath],
		responses: {
			200: json("The device.", "device", deviceExample),
			404: problem("No device of that name is known."),
		},
	},
	{
		method: "delete",
		path: "/api/devices/{deviceId}",
		summary: "Forgets a device that is away; every monitor gets a new snapshot",
		roles: ["monitor"],
		isChecked: true,
		parameters: [deviceIdInPath],
		responses: {
			204: nothing("It is forgotten."),
			404: problem("No device of that name is known."),
			409: problem("It is connected and would be known again at once."),
			507: problem("It could not be removed from disk, and stays."),
		},
	},
	{
		method: "get",
		path: "/api/device-token",
		summary: "The token that devices show, for the page that helps to connect one",
		roles: ["monitor"],
		responses: { 200: json("The token.", "token", { token: "<the device token>" }) },
	},
	{
		method: "get",
		path: "/device",
		summary: "Where devices connect",
		roles: [],
		responses: socketHere,
	},
	{
		method: "get",
		path: "/monitor",
		summary: "Where dashboards and programs connect",
		roles: [],
		responses: socketHere,
	},
	{
		method: "post",
		path: "/ota/upload",
		summary: "Uploads a firmware, which is checked and then replaces the former one",
		roles: ["monitor"],
		isChecked: true,
		requestBody: {
			required: true,
			content: {
				"multipart/form-data": {
					schema: {
						type: "object",
						required: ["firmware"],
						properties: { firmware: { type: "string", contentMediaType: "application/octet-stream" } },
					},
				},
			},
		},
		responses: {
			201: json("It is checked and stored.", "upload", uploadExample),
			400: problem("No file field `firmware`, an empty file, or a form that breaks off."),
			413: problem("Larger than MAX_UPLOAD."),
			415: problem("Not multipart/form-data."),
			422: problem("Not an image for these devices; `detail` says what is wrong with it."),
			507: problem("The disk is full; the previous firmware is still in place."),
		},
	},
	{
		method: "get",
		path: "/ota/status",
		summary: "What was uploaded last; nulls, and a size of 0, before the first upload",
		roles: ["device", "monitor"],
		responses: { 200: json("The upload.", "upload", uploadExample) },
	},
	{
		method: "get",
		path: "/ota/catalog",
		summary: "The releases",
		roles: ["device", "monitor"],
		responses: { 200: json("The catalog.", "catalog", catalogExample) },
	},
	{
		method: "get",
		path: "/ota/history",
		summary: "The latest 200 updates of all devices, the latest first",
		roles: ["monitor"],
		responses: { 200: json("The updates.", "history", { updates: [updateExample] }) },
	},
	{
		method: "get",
		path: "/ota/firmware.bin",
		summary: "The firmware that was uploaded last, or a part of it",
		roles: ["device", "monitor"],
		responses: { ...binaryAnswers, 404: problem("None was uploaded yet.") },
	},
	{
		method: "get",
		path: "/releases/{path}",
		summary: "A release's image, or a part of it",
		roles: ["device", "monitor"],
		parameters: [
			{
				name: "path",
				in: "path",
				required: true,
				description: "As the catalog names it, slashes and all.",
				schema: { type: "string" },
				example: "dev-1/firmware-v1.4.0.bin",
			},
		],
		responses: {
			...binaryAnswers,
			400: problem("The address is not well formed."),
			404: problem("The catalog names no such file."),
			503: problem("The file is not the one in the catalog.", { "Retry-After": "10" }),
		},
	},
	{
		method: "get",
		path: "/login",
		summary: "The login page; with a one-time code, the login itself",
		roles: [],
		parameters: [{ name: "code", in: "query", schema: { type: "string" } }],
		responses: {
			200: html("The page."),
			303: nothing("Logged in: a cookie, and on to the dashboard."),
			401: html("The code was used before, or is too old."),
			429: html("Too many wrong codes or tokens from this address."),
		},
	},
	{
		method: "post",
		path: "/login",
		summary: "Trades the monitor token for a cookie",
		roles: [],
		isChecked: true,
		requestBody: {
			content: {
				"application/x-www-form-urlencoded": {
					schema: { type: "object", required: ["token"], properties: { token: { type: "string" } } },
				},
			},
		},
		responses: {
			303: nothing("Logged in: a cookie, and on to the dashboard."),
			401: html("Not the monitor token."),
			429: html("Too many wrong tokens from this address."),
		},
	},
	{
		method: "get",
		path: "/login/state",
		summary: "Whether this browser is logged in",
		roles: ["monitor"],
		responses: { 204: nothing("It is.") },
	},
	{
		method: "post",
		path: "/logout",
		summary: "Takes the cookie back",
		roles: [],
		isChecked: true,
		responses: { 303: nothing("To the login page.") },
	},
];

const textOrNull = { type: ["string", "null"] };
const count = { type: "integer", minimum: 0 };
const sha256 = { type: "string", pattern: "^[0-9a-f]{64}$" };

const time = { type: "string", format: "date-time" };
const knownDevice = {
	sessionId: { type: "string" },
	deviceId: { type: "string" },
	model: textOrNull,
	connected: { type: "boolean" },
	connectedAt: time,
	lastSeenAt: time,
	remoteAddress: { type: "string" },
	firmwareVersion: textOrNull,
	metadata: { type: "object" },
	chip: textOrNull,
	firstSeenAt: time,
};

/** Bodies by the names that `json` gives them. */
export const bodySchemas: Readonly<Record<string, JsonObject>> = {
	problem: {
		type: "object",
		description: "RFC 9457",
		required: ["type", "title", "status", "detail"],
		properties: {
			type: { const: "about:blank" },
			title: { type: "string" },
			status: { type: "integer", minimum: 400, maximum: 599 },
			detail: { type: "string", description: "one sentence that says what to change" },
		},
		additionalProperties: false,
	},
	readiness: object({ status: { const: "ready" } }),
	token: object({ token: { type: "string" } }),
	devices: object({ devices: list(object(knownDevice)) }),
	device: object({
		...knownDevice,
		versions: list(object({ version: { type: "string" }, at: time })),
		resets: list(object({ reason: { type: "string" }, at: time })),
		updates: list(
			object({
				status: { type: "string" },
				percent: { type: ["integer", "null"] },
				version: textOrNull,
				from: textOrNull,
				reason: textOrNull,
				startedAt: time,
				endedAt: { ...textOrNull, format: "date-time" },
			}),
		),
		state: { type: ["object", "null"], description: "the latest state_report" },
	}),
	history: object({
		updates: list({
			...object({
				deviceId: { type: "string" },
				status: { type: "string" },
				startedAt: { ...count, description: "milliseconds since 1970" },
			}),
			additionalProperties: true,
		}),
	}),
	health: object({ status: { const: "ok" } }),
	upload: object({
		filename: textOrNull,
		size: { ...count, description: "bytes" },
		upload_time: { ...textOrNull, format: "date-time" },
		sha256: { anyOf: [sha256, { type: "null" }] },
		version: textOrNull,
		model: textOrNull,
		chip: textOrNull,
	}),
	catalog: object({
		schema: { const: 1 },
		latest: textOrNull,
		releases: list(
			object({
				version: { type: "string" },
				date: { type: "string" },
				notes: { type: "string" },
				images: list(
					object({
						model: { type: "string" },
						path: { type: "string" },
						size: count,
						sha256,
						chip: { type: "string" },
						idf_version: { type: "string" },
					}),
				),
			}),
		),
	}),
};

function object(properties: Readonly<Record<string, Json>>): JsonObject {
	return { type: "object", required: Object.keys(properties), properties };
}

function list(items: JsonObject): JsonObject {
	return { type: "array", items };
}
