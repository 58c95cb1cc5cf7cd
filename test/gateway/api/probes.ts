/**
 * Requests for each status documented in openapi.yaml, to verify that the gateway still returns it.
 */

import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { filePart, form, formHeaders, textPart } from "../../support/firmware-server.js";
import { makeImage } from "../../support/images.js";
import { imagePath } from "../../support/releases.js";
import { bearer, deviceToken, monitorToken } from "../../support/running.js";
import type { Asked } from "./server.js";

export const release = { version: "1.4.0", model: "DEV-1", chip: "esp32s3" } as const;
/** Release in the catalog whose file on disk differs. */
export const brokenRelease = { version: "1.3.0", model: "DEV-1", chip: "esp32s3" } as const;

const device = bearer(deviceToken);
const monitor = bearer(monitorToken);
const formType = { "Content-Type": "application/x-www-form-urlencoded" };
const otherSite = { Origin: "http://evil.example" };
const tokenRequest = (body: string): Asked => ({ path: "/api/device-tokens", headers: monitor, body });
const personToken = (body: string): Asked => ({ path: "/api/tokens", headers: monitor, body });
const labelling = (deviceId: string, body: string): Asked => ({
	path: `/api/devices/${deviceId}`,
	headers: monitor,
	body,
});
const replacing = (body: string): Asked => ({ path: "/api/devices/unknown/replace", headers: monitor, body });
const seeing = (body: string): Asked => ({ path: "/api/attention/seen", headers: monitor, body });
const plan = { firmware: { version: "1.4.0" }, target: { model: "DEV-1" }, startsAt: "2100-01-01T00:00:00Z" };
const rolloutPath = "/api/rollouts/autumn";
const rollout = (path: string, body: object | string = plan): Asked => ({
	path: `/api/rollouts/${path}`,
	headers: monitor,
	body: typeof body === "string" ? body : JSON.stringify(body),
});
const command = (name: string, headers = {}, path = rolloutPath): Asked => ({
	path: `${path}/${name}`,
	headers: { ...monitor, ...headers },
});

/** Probes of each rollout command. */
function rolloutCommand(name: string): Readonly<Record<string, Asked>> {
	const operation = `POST /api/rollouts/{id}/${name}`;
	return {
		[`${operation} 404`]: command(name, {}, "/api/rollouts/unknown"),
		[`${operation} 412`]: command(name, { "If-Match": '"99"' }),
	};
}

/** Half a second of silence, 16 kHz, mono, 16 bit. */
const wav = Buffer.alloc(44 + 16_000);
wav.write(
	"RIFF\xa4\x3e\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x80\x3e\0\0\0\x7d\0\0\x02\0\x10\0data\x80\x3e\0\0",
	0,
	"latin1",
);
const wavId = createHash("sha256").update(wav).digest("hex");
const sound = (body: Buffer): Asked => ({
	path: "/api/sounds?name=Dinner",
	headers: { ...monitor, "Content-Type": "audio/wav" },
	body,
});
const announcement = (body: object | string): Asked => ({
	path: "/api/announcements",
	headers: monitor,
	body: typeof body === "string" ? body : JSON.stringify(body),
});

const manyCommand = (body: object | string): Asked => ({ ...announcement(body), path: "/api/commands" });

const schedule = (body: object | string, path = "/api/schedules"): Asked => ({ ...announcement(body), path });
const identifying = { command: { targets: { all: true }, payload: { command: "identify" } } };
const playing = { announcement: { url: "http://10.0.0.1/a.wav", targets: { all: true } } };
const action = existsSync("gateway/commands") ? identifying : playing;
const closing = { at: { weekly: { time: "17:50" } }, do: action };
const quiet = { targets: { all: true }, from: "22:00", until: "07:00", volume: 20 };

const upload = (body: Buffer): Asked => ({
	path: "/ota/upload",
	headers: { ...monitor, ...formHeaders },
	body,
});

/** Probes of a route that serves a binary. */
function binary(operation: string, path: string): Readonly<Record<string, Asked>> {
	const get = (headers: Readonly<Record<string, string>>) => ({ path, headers: { ...device, ...headers } });
	return {
		[`${operation} 200`]: get({}),
		[`${operation} 206`]: get({ Range: "bytes=0-15" }),
		[`${operation} 304`]: get({ "If-None-Match": "*" }),
		[`${operation} 412`]: get({ "If-Match": '"of another"' }),
		[`${operation} 416`]: get({ Range: "bytes=99999999-" }),
	};
}

/** Probes by "METHOD path status", in order. 401, 403 and 429 of all routes are probed by rule. */
export const probes: Readonly<Record<string, Asked>> = {
	"GET /healthz 200": { path: "/healthz" },
	"GET /readyz 200": { path: "/readyz" },
	"GET /metrics 200": { path: "/metrics", headers: monitor },
	"GET /api/wifi 200": { path: "/api/wifi", headers: monitor },
	"GET /api/refusals 200": { path: "/api/refusals", headers: monitor },
	"GET /api/crashes 200": { path: "/api/crashes", headers: monitor },
	"POST /api/attention/seen 204": seeing('{"items":[{"kind":"away","id":"dev-1-a1b2c3"}]}'),
	"POST /api/attention/seen 400": seeing("no JSON"),
	"POST /api/attention/seen 422": seeing('{"items":[{"kind":"lost","id":"dev-1-a1b2c3"}]}'),
	"GET /api/devices 200": { path: "/api/devices", headers: monitor },
	"DELETE /api/devices 200": { path: "/api/devices?awayDays=1", headers: monitor },
	"DELETE /api/devices 422": { path: "/api/devices?awayDays=0", headers: monitor },
	"GET /api/devices/{deviceId} 200": { path: "/api/devices/dev-1-a1b2c3", headers: monitor },
	"GET /api/devices/{deviceId} 404": { path: "/api/devices/unknown", headers: monitor },
	"GET /api/devices/{deviceId}/history 200": { path: "/api/devices/dev-1-a1b2c3/history", headers: monitor },
	"GET /api/devices/{deviceId}/history 404": { path: "/api/devices/unknown/history", headers: monitor },
	"PATCH /api/devices/{deviceId} 200": labelling("dev-1-a1b2c3", '{"name":"Lobby speaker","note":""}'),
	"PATCH /api/devices/{deviceId} 400": labelling("dev-1-a1b2c3", "no JSON"),
	"PATCH /api/devices/{deviceId} 404": labelling("unknown", '{"name":"Lobby speaker"}'),
	"PATCH /api/devices/{deviceId} 422": labelling("dev-1-a1b2c3", '{"nam":"Lobby speaker"}'),
	"DELETE /api/devices/{deviceId} 409": { path: "/api/devices/dev-1-a1b2c3", headers: monitor },
	"DELETE /api/devices/{deviceId} 404": { path: "/api/devices/unknown", headers: monitor },
	"POST /api/devices/{deviceId}/replace 400": replacing("no JSON"),
	"POST /api/devices/{deviceId}/replace 404": replacing('{"by":"dev-1-d4e5f6"}'),
	"POST /api/devices/{deviceId}/replace 422": replacing('{"by":"dev 1"}'),
	"DELETE /api/devices/{deviceId}/replace 404": { path: "/api/devices/unknown/replace", headers: monitor },
	"GET /api/device-token 200": { path: "/api/device-token", headers: monitor },
	"POST /api/device-tokens 201": tokenRequest('{"deviceId":"dev-1-a1b2c3"}'),
	"POST /api/device-tokens 400": tokenRequest("no JSON"),
	"POST /api/device-tokens 422": tokenRequest('{"deviceId":"dev 1"}'),
	"GET /api/device-setup 200": { path: "/api/device-setup", headers: monitor },
	"GET /api/sounds 200": { path: "/api/sounds", headers: monitor },
	"POST /api/sounds 201": sound(wav),
	"POST /api/sounds 413": sound(Buffer.concat([wav, Buffer.alloc(5_000_000)])),
	"POST /api/sounds 415": {
		path: "/api/sounds?name=x",
		headers: { ...monitor, "Content-Type": "multipart/form-data" },
		body: wav,
	},
	"POST /api/sounds 422": sound(Buffer.from("<html>")),
	"POST /api/sounds 501": {
		path: "/api/sounds?name=x",
		headers: { ...monitor, "Content-Type": "audio/mpeg" },
		body: "ID3",
	},
	"GET /api/sounds/{id} 200": { path: `/api/sounds/${wavId}`, headers: monitor },
	"GET /api/sounds/{id} 404": { path: "/api/sounds/unknown", headers: monitor },
	"GET /sounds/{file} 200": { path: `/sounds/${wavId}.wav`, headers: device },
	"GET /sounds/{file} 206": { path: `/sounds/${wavId}.wav`, headers: { ...device, Range: "bytes=0-9" } },
	"GET /sounds/{file} 304": { path: `/sounds/${wavId}.wav`, headers: { ...device, "If-None-Match": "*" } },
	"GET /sounds/{file} 404": { path: "/sounds/unknown.wav", headers: device },
	"GET /sounds/{file} 412": { path: `/sounds/${wavId}.wav`, headers: { ...device, "If-Match": '"other"' } },
	"GET /sounds/{file} 416": { path: `/sounds/${wavId}.wav`, headers: { ...device, Range: "bytes=999999-" } },
	"POST /api/speech 400": { ...announcement("no JSON"), path: "/api/speech" },
	"POST /api/speech 422": { ...announcement({}), path: "/api/speech" },
	"POST /api/speech 501": { ...announcement({ text: "hello" }), path: "/api/speech" },
	"GET /api/announcements 200": { path: "/api/announcements", headers: monitor },
	"POST /api/announcements 202": announcement({ sound: wavId, targets: { all: true } }),
	"POST /api/announcements 400": announcement("no JSON"),
	"POST /api/announcements 422": announcement({ targets: { all: true } }),
	"POST /api/announcements 501": announcement({ text: "hello", targets: { all: true } }),
	"GET /api/announcements/{id} 404": { path: "/api/announcements/unknown", headers: monitor },
	"DELETE /api/announcements/{id} 404": { path: "/api/announcements/unknown", headers: monitor },
	"GET /api/commands 200": { path: "/api/commands", headers: monitor },
	"POST /api/commands 202": manyCommand({ targets: { all: true }, payload: { command: "identify" } }),
	"POST /api/commands 400": manyCommand("no JSON"),
	"POST /api/commands 422": manyCommand({ targets: { all: true }, payload: { command: "start_ota" } }),
	"GET /api/commands/{id} 404": { path: "/api/commands/unknown", headers: monitor },
	"DELETE /api/commands/{id} 404": { path: "/api/commands/unknown", headers: monitor },
	"DELETE /api/sounds/{id} 204": { path: `/api/sounds/${wavId}`, headers: monitor },
	"DELETE /api/sounds/{id} 404": { path: "/api/sounds/unknown", headers: monitor },
	"GET /api/schedules 200": { path: "/api/schedules", headers: monitor },
	"POST /api/schedules 201": schedule(closing),
	"POST /api/schedules 400": schedule("no JSON"),
	"POST /api/schedules 422": schedule({ ...closing, at: { in: 0 } }),
	"PUT /api/schedules/{id} 404": schedule(closing, "/api/schedules/unknown"),
	"DELETE /api/schedules/{id} 404": { path: "/api/schedules/unknown", headers: monitor },
	"GET /api/quiet-hours 200": { path: "/api/quiet-hours", headers: monitor },
	"PUT /api/quiet-hours 200": schedule(quiet, "/api/quiet-hours"),
	"PUT /api/quiet-hours 400": schedule("no JSON", "/api/quiet-hours"),
	"PUT /api/quiet-hours 422": schedule({ ...quiet, from: "24:00" }, "/api/quiet-hours"),
	"DELETE /api/quiet-hours/{id} 404": { path: "/api/quiet-hours/unknown", headers: monitor },
	"GET /api/rollouts 200": { path: "/api/rollouts", headers: monitor },
	"POST /api/rollouts/preview 200": rollout("preview"),
	"POST /api/rollouts/preview 400": rollout("preview", "no JSON"),
	"POST /api/rollouts/preview 422": rollout("preview", { ...plan, maxAttempts: 0 }),
	"PUT /api/rollouts/{id} 201": rollout("autumn"),
	"PUT /api/rollouts/{id} 200": rollout("autumn"),
	"PUT /api/rollouts/{id} 400": rollout("autumn", "no JSON"),
	"PUT /api/rollouts/{id} 409": rollout("winter"),
	"PUT /api/rollouts/{id} 422": rollout("winter", { ...plan, maxAttempts: 0 }),
	"GET /api/rollouts/{id} 200": { path: rolloutPath, headers: monitor },
	"GET /api/rollouts/{id} 404": { path: "/api/rollouts/unknown", headers: monitor },
	"GET /api/rollouts/{id}/devices 200": { path: `${rolloutPath}/devices`, headers: monitor },
	"GET /api/rollouts/{id}/devices 404": { path: "/api/rollouts/unknown/devices", headers: monitor },
	...rolloutCommand("pause"),
	...rolloutCommand("resume"),
	...rolloutCommand("approve"),
	...rolloutCommand("cancel"),
	...rolloutCommand("retry"),
	"POST /api/rollouts/{id}/pause 200": command("pause"),
	"POST /api/rollouts/{id}/resume 200": command("resume"),
	"POST /api/rollouts/{id}/approve 409": command("approve"),
	"POST /api/rollouts/{id}/retry 200": command("retry"),
	"DELETE /api/rollouts/{id} 409": { path: rolloutPath, headers: monitor },
	"POST /api/rollouts/{id}/cancel 200": command("cancel"),
	"POST /api/rollouts/{id}/pause 409": command("pause"),
	"POST /api/rollouts/{id}/resume 409": command("resume"),
	"POST /api/rollouts/{id}/retry 409": command("retry"),
	"DELETE /api/rollouts/{id} 204": { path: rolloutPath, headers: monitor },
	"DELETE /api/rollouts/{id} 404": { path: "/api/rollouts/unknown", headers: monitor },
	"GET /api/audit 200": { path: "/api/audit", headers: monitor },
	"GET /api/backup 200": { path: "/api/backup", headers: monitor },
	"GET /api/webhooks 200": { path: "/api/webhooks", headers: monitor },
	"POST /api/webhooks/{number}/test 200": { path: "/api/webhooks/1/test", headers: monitor },
	"POST /api/webhooks/{number}/test 404": { path: "/api/webhooks/2/test", headers: monitor },
	"GET /device 426": { path: "/device" },
	"GET /monitor 426": { path: "/monitor" },
	"GET /ota/firmware.bin 404": { path: "/ota/firmware.bin", headers: device },
	"POST /ota/upload 201": upload(form(filePart(makeImage()))),
	"POST /ota/upload 400": upload(form(textPart("other", "1"))),
	"POST /ota/upload 413": upload(form(filePart(Buffer.alloc(400_000)))),
	"POST /ota/upload 415": { path: "/ota/upload", headers: monitor, body: "no form" },
	"POST /ota/upload 422": upload(form(filePart(Buffer.from("no image")))),
	"GET /ota/status 200": { path: "/ota/status", headers: device },
	"GET /ota/history 200": { path: "/ota/history", headers: monitor },
	"GET /ota/catalog 200": { path: "/ota/catalog", headers: device },
	...binary("GET /ota/firmware.bin", "/ota/firmware.bin"),
	"GET /ota/firmware.bin 410": { path: "/ota/firmware.bin?sha256=other", headers: device },
	...binary("GET /releases/{path}", imagePath(release)),
	"GET /releases/{path} 400": { path: "/releases/%", headers: device },
	"GET /releases/{path} 404": { path: "/releases/none.bin", headers: device },
	"GET /releases/{path} 410": { path: `${imagePath(release)}?sha256=other`, headers: device },
	"GET /releases/{path} 503": { path: imagePath(brokenRelease), headers: device },
	"GET /login 200": { path: "/login" },
	"POST /login 303": { path: "/login", headers: formType, body: `token=${monitorToken}` },
	"POST /login 401": { path: "/login", headers: formType, body: "token=wrong" },
	"GET /login/state 200": { path: "/login/state", headers: monitor },
	"GET /api/tokens 200": { path: "/api/tokens", headers: monitor },
	"POST /api/tokens 201": personToken('{"name":"anna","role":"user"}'),
	"POST /api/tokens 400": personToken("no JSON"),
	"POST /api/tokens 409": personToken('{"name":"anna","role":"viewer"}'),
	"POST /api/tokens 422": personToken('{"name":"anna","role":"owner"}'),
	"POST /api/tokens/{name}/link 201": { path: "/api/tokens/anna/link", headers: monitor },
	"POST /api/tokens/{name}/link 404": { path: "/api/tokens/unknown/link", headers: monitor },
	"DELETE /api/tokens/{name} 204": { path: "/api/tokens/anna", headers: monitor },
	"DELETE /api/tokens/{name} 404": { path: "/api/tokens/unknown", headers: monitor },
	"POST /login/link 201": { path: "/login/link", headers: monitor },
	"POST /logout 303": { path: "/logout" },
};

/** Tests in test/gateway/ that cause other statuses, by operation and statuses. */
export const testedElsewhere: Readonly<Record<string, string>> = {
	"GET /readyz 503": "limits",
	"GET /api/backup 500": "backup/contents",
	"POST /api/attention/seen 507": "fleet/issues",
	"PATCH /api/devices/{deviceId} 507": "fleet/label",
	"DELETE /api/devices/{deviceId} 204 507": "fleet/routes",
	"POST /api/devices/{deviceId}/replace 200 409 507": "replacement/replacement",
	"DELETE /api/devices/{deviceId}/replace 204 409 507": "replacement/replacement",
	"POST /api/sounds 400 408 409 507": "announcements/http",
	"POST /api/announcements 409": "announcements/http",
	"GET /api/announcements/{id} 200": "announcements/http",
	"DELETE /api/announcements/{id} 204": "announcements/http",
	"DELETE /api/sounds/{id} 409": "schedules/schedules",
	"DELETE /api/sounds/{id} 507": "announcements/http",
	"POST /api/sounds 503": "announcements/decoder",
	"POST /api/speech 200 502 503": "announcements/speech",
	"POST /api/announcements 503": "announcements/speech",
	"POST /api/commands 409": "commands/http",
	"GET /api/commands/{id} 200": "commands/http",
	"DELETE /api/commands/{id} 204": "commands/http",
	"POST /api/schedules 409 501 507": "schedules/http",
	"PUT /api/schedules/{id} 200 400 422 501 507": "schedules/http",
	"DELETE /api/schedules/{id} 204 507": "schedules/http",
	"PUT /api/quiet-hours 507": "schedules/http",
	"DELETE /api/quiet-hours/{id} 204 507": "schedules/http",
	"PUT /api/rollouts/{id} 507": "rollouts/http",
	"POST /api/rollouts/{id}/approve 200 507": "rollouts/http",
	"POST /api/rollouts/{id}/cancel 409 507": "rollouts/http",
	"DELETE /api/rollouts/{id} 507": "rollouts/http",
	"POST /api/rollouts/{id}/pause 507": "rollouts/http",
	"POST /api/rollouts/{id}/resume 507": "rollouts/http",
	"POST /api/rollouts/{id}/retry 507": "rollouts/http",
	"POST /api/webhooks/{number}/test 409": "webhooks/webhooks",
	"POST /ota/upload 507": "firmware/upload",
	"GET /ota/firmware.bin 503": "firmware/binaries",
	"POST /api/tokens 507": "http/tokens",
	"DELETE /api/tokens/{name} 507": "http/tokens",
	"POST /login/link 409": "access/access",
};

/** Replaces the parameters of an openapi.yaml path with names. */
export function examplePath(path: string): string {
	return path
		.replace("{path}", "none.bin")
		.replace("{file}", "unknown.wav")
		.replace("{deviceId}", "unknown")
		.replace("{number}", "unknown")
		.replace("{name}", "unknown")
		.replace("{id}", "unknown");
}

/** Request without a token, or from a page of another site. */
export function probeByRule(path: string, status: number): Asked | undefined {
	const asked = examplePath(path);
	if (status === 401) return { path: asked };
	if (status === 403) return { path: asked, headers: otherSite };
	return undefined;
}

/** The eleventh of these requests is rejected with 429. */
export function wrongToken(path: string): Asked {
	if (path !== "/login") return { path: examplePath(path), headers: bearer("a-token-that-is-not-right") };
	return { path: "/login", headers: formType, body: "token=wrong" };
}
