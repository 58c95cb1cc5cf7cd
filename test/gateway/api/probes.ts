/** Operations in openapi.yaml, and requests for each of their statuses, to verify that the gateway still returns it. */

import { existsSync } from "node:fs";
import { openApiDocument } from "../../../scripts/api/openapi.js";
import { sha256Of } from "../../support/bytes.js";
import { filePart, form, formHeaders, textPart } from "../../support/firmware-server.js";
import { makeImage } from "../../support/images.js";
import { imagePath } from "../../support/releases.js";
import { bearer, monitorToken } from "../../support/running.js";
import { ApiDocument } from "./schemas.js";
import type { Asked } from "./server.js";

export const openApi = new ApiDocument(openApiDocument());

export interface Operation {
	/** Upper case. */
	readonly method: string;
	readonly path: string;
	/** Path in the document. */
	readonly names: readonly string[];
	/** Folder of the extension; undefined: the core. */
	readonly extension: string | undefined;
	/** Statuses of its responses. */
	readonly statuses: readonly number[];
	/** Example of a JSON body. */
	readonly example: unknown;
}

export const described: readonly Operation[] = Object.keys(openApi.at("paths")).flatMap((path) =>
	Object.keys(openApi.at("paths", path))
		.filter((name) => name !== "parameters")
		.map((name) => {
			const names = ["paths", path, name];
			const { tags } = openApi.at(...names);
			const extension = Array.isArray(tags) ? String(tags[0]) : undefined;
			const { example } = openApi.at(...names, "requestBody", "content", "application/json");
			const statuses = Object.keys(openApi.at(...names, "responses")).map(Number);
			return { method: name.toUpperCase(), path, names, extension, statuses, example };
		}),
);

export const release = { version: "1.4.0", model: "DEV-1", chip: "esp32s3" } as const;
/** Release in the catalog whose file on disk differs. */
export const brokenRelease = { version: "1.3.0", model: "DEV-1", chip: "esp32s3" } as const;

const headers = bearer(monitorToken);
const formType = { "Content-Type": "application/x-www-form-urlencoded" };
const json = (path: string, body: object): Asked => ({ path, headers, body: JSON.stringify(body) });
const withoutBody = (path: string): Asked => ({ path, headers });

const plan = { firmware: { version: "1.4.0" }, target: { model: "DEV-1" }, startsAt: "2100-01-01T00:00:00Z" };
const autumn = "/api/rollouts/autumn";

/** Half a second of silence, 16 kHz, mono, 16 bit. */
const wav = Buffer.alloc(44 + 16_000);
wav.write(
	"RIFF\xa4\x3e\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x80\x3e\0\0\0\x7d\0\0\x02\0\x10\0data\x80\x3e\0\0",
	0,
	"latin1",
);
const wavId = sha256Of(wav);
const sound = (body: Buffer | string, type = "audio/wav"): Asked => ({
	path: "/api/sounds?name=Dinner",
	headers: { ...headers, "Content-Type": type },
	body,
});
const upload = (...parts: readonly Buffer[]): Asked => ({
	path: "/ota/upload",
	headers: { ...headers, ...formHeaders },
	body: form(...parts),
});

const all = { targets: { all: true } };
const identifying = { command: { ...all, payload: { command: "identify" } } };
const playing = { announcement: { url: "http://10.0.0.1/a.wav", ...all } };
const closing = {
	at: { weekly: { time: "17:50" } },
	do: existsSync("gateway/commands") ? identifying : playing,
};

/** Requests by "METHOD path status", in order. All other statuses are probed by rule, after these. */
export const probes: readonly (readonly [key: string, asked: Asked])[] = [
	["DELETE /api/devices 200", withoutBody("/api/devices?awayDays=1")],
	["DELETE /api/devices 422", withoutBody("/api/devices?awayDays=0")],
	["DELETE /api/devices/{deviceId} 409", withoutBody("/api/devices/dev-1-a1b2c3")],
	["POST /api/sounds 201", sound(wav)],
	["POST /api/sounds 413", sound(Buffer.concat([wav, Buffer.alloc(5_000_000)]))],
	["POST /api/sounds 415", sound(wav, "multipart/form-data")],
	["POST /api/sounds 422", sound(wav.subarray(0, 20))],
	["POST /api/sounds 501", sound("ID3", "audio/mpeg")],
	["POST /api/speech 501", json("/api/speech", { text: "hello" })],
	["POST /api/announcements 202", json("/api/announcements", { sound: wavId, ...all })],
	["POST /api/announcements 501", json("/api/announcements", { text: "hello", ...all })],
	["POST /api/commands 202", json("/api/commands", identifying.command)],
	["DELETE /api/sounds/{id} 204", withoutBody(`/api/sounds/${wavId}`)],
	["POST /api/sounds 201", sound(wav)],
	["POST /api/schedules 201", json("/api/schedules", closing)],
	["PUT /api/schedules/{id} 404", json("/api/schedules/unknown", closing)],
	[
		"PUT /api/quiet-hours 200",
		json("/api/quiet-hours", { ...all, from: "22:00", until: "07:00", volume: 20 }),
	],
	["PUT /api/rollouts/{id} 201", json(autumn, plan)],
	["PUT /api/rollouts/{id} 200", json(autumn, plan)],
	["PUT /api/rollouts/{id} 409", json("/api/rollouts/winter", plan)],
	["PUT /api/rollouts/{id} 422", json("/api/rollouts/winter", {})],
	["POST /api/rollouts/{id}/pause 200", withoutBody(`${autumn}/pause`)],
	["POST /api/rollouts/{id}/resume 200", withoutBody(`${autumn}/resume`)],
	["POST /api/rollouts/{id}/approve 409", withoutBody(`${autumn}/approve`)],
	["POST /api/rollouts/{id}/retry 200", withoutBody(`${autumn}/retry`)],
	["DELETE /api/rollouts/{id} 409", withoutBody(autumn)],
	["POST /api/rollouts/{id}/cancel 200", withoutBody(`${autumn}/cancel`)],
	["POST /api/rollouts/{id}/pause 409", withoutBody(`${autumn}/pause`)],
	["POST /api/rollouts/{id}/resume 409", withoutBody(`${autumn}/resume`)],
	["POST /api/rollouts/{id}/retry 409", withoutBody(`${autumn}/retry`)],
	["DELETE /api/rollouts/{id} 204", withoutBody(autumn)],
	["PUT /api/rollouts/{id} 201", json("/api/rollouts/winter", plan)],
	["POST /api/webhooks/{number}/test 200", withoutBody("/api/webhooks/1/test")],
	["GET /ota/firmware.bin 404", withoutBody("/ota/firmware.bin")],
	["POST /ota/upload 201", upload(filePart(makeImage()))],
	["POST /ota/upload 400", upload(textPart("other", "1"))],
	["POST /ota/upload 413", upload(filePart(Buffer.alloc(400_000)))],
	["POST /ota/upload 415", { ...withoutBody("/ota/upload"), body: "no form" }],
	["POST /ota/upload 422", upload(filePart(Buffer.from("no image")))],
	["GET /ota/firmware.bin 410", withoutBody("/ota/firmware.bin?sha256=other")],
	["GET /releases/{path} 400", withoutBody("/releases/%")],
	["GET /releases/{path} 410", withoutBody(`${imagePath(release)}?sha256=other`)],
	["GET /releases/{path} 503", withoutBody(imagePath(brokenRelease))],
	["POST /login 303", { path: "/login", headers: formType, body: `token=${monitorToken}` }],
	["POST /login 401", { path: "/login", headers: formType, body: "token=wrong" }],
	["POST /api/tokens 201", json("/api/tokens", { name: "anna", role: "user" })],
	["POST /api/tokens 409", json("/api/tokens", { name: "anna", role: "viewer" })],
	["POST /api/tokens/{name}/link 201", withoutBody("/api/tokens/anna/link")],
	["DELETE /api/tokens/{name} 204", withoutBody("/api/tokens/anna")],
	["POST /login/link 201", withoutBody("/login/link")],
	["POST /logout 303", { path: "/logout" }],
];

/** Statuses that only a failing disk, bus, program or client causes. */
export const failures: readonly number[] = [408, 500, 502, 507];

/** Other statuses that the tests of each folder cause. */
export const testedElsewhere: readonly string[] = [
	"GET /readyz 503",
	"GET /ota/firmware.bin 503",
	"DELETE /api/devices/{deviceId} 204",
	"POST /api/devices/{deviceId}/replace 200 409",
	"DELETE /api/devices/{deviceId}/replace 204 409",
	"POST /api/sounds 400 409 503",
	"DELETE /api/sounds/{id} 409",
	"POST /api/speech 200 503",
	"POST /api/announcements 409 503",
	"GET /api/announcements/{id} 200",
	"DELETE /api/announcements/{id} 204",
	"POST /api/commands 409",
	"GET /api/commands/{id} 200",
	"DELETE /api/commands/{id} 204",
	"POST /api/schedules 409 501",
	"PUT /api/schedules/{id} 200 400 422 501",
	"DELETE /api/schedules/{id} 204",
	"DELETE /api/quiet-hours/{id} 204",
	"POST /api/rollouts/{id}/approve 200",
	"POST /api/rollouts/{id}/cancel 409",
	"POST /api/webhooks/{number}/test 409",
	"POST /login/link 409",
];

/** Replaces the parameters of a path with names of nothing. */
export function examplePath(path: string): string {
	return path
		.replace("{path}", "none.bin")
		.replace("{file}", "unknown.wav")
		.replaceAll(/\{\w+\}/g, "unknown");
}

/** Replaces the parameters of a path with names that `probes` leave. */
export function knownPath(path: string): string {
	return path
		.replace("/releases/{path}", imagePath(release))
		.replace("{file}", `${wavId}.wav`)
		.replace("{deviceId}", "dev-1-a1b2c3")
		.replace("sounds/{id}", `sounds/${wavId}`)
		.replace("rollouts/{id}", "rollouts/winter")
		.replaceAll(/\{\w+\}/g, "unknown");
}

/** Headers that cause a status of a file, or of a command with a revision. */
const conditions: Readonly<Record<number, Readonly<Record<string, string>>>> = {
	206: { Range: "bytes=0-9" },
	304: { "If-None-Match": "*" },
	412: { "If-Match": '"99"' },
	416: { Range: "bytes=99999999-" },
};

/** @returns request that causes the status at each operation; undefined: it is added to `probes` */
export function probeByRule(operation: Operation, status: number): Asked | undefined {
	const { method, example } = operation;
	const [known, unknown] = [knownPath(operation.path), examplePath(operation.path)];
	const body = example === undefined ? {} : { body: JSON.stringify(example) };
	const condition = conditions[status];
	if (condition) return { path: known, headers: { ...headers, ...condition } };
	if (status === 401 || status === 426) return { path: unknown };
	if (status === 403) return { path: unknown, headers: { Origin: "http://evil.example" } };
	if (status === 404) return { path: unknown, headers, ...body };
	if (status < 300 && (method === "GET" || example !== undefined)) return { path: known, headers, ...body };
	if (example === undefined) return undefined;
	if (status === 400) return { path: known, headers, body: "no JSON" };
	return status === 422 ? { path: known, headers, body: "{}" } : undefined;
}

/** The eleventh of these requests is rejected with 429. */
export function wrongToken(path: string): Asked {
	if (path !== "/login") return { path: examplePath(path), headers: bearer("a-token-that-is-not-right") };
	return { path: "/login", headers: formType, body: "token=wrong" };
}
