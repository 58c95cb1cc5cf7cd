/** Readable texts of audit log entries, by the request or message of the change. */

import { entryOf, isRecord } from "../../../../device/protocol/schema.js";
import type { ListedChange } from "../../../api/audit.js";
import { commandEntries } from "../../../api/commands.js";
import type { AuditedRoute } from "../../../api/routes.js";

/** In braces a field of the path, of the query or of what was sent. */
const requestWords: Readonly<Record<AuditedRoute, string>> = {
	"GET /api/backup": "Backup downloaded",
	"POST /api/attention/seen": "Marked as seen",
	"DELETE /api/devices": "Devices forgotten that were away for {awayDays} days",
	"PATCH /api/devices/:deviceId": "Name, room, note or tags changed",
	"DELETE /api/devices/:deviceId": "Device forgotten",
	"POST /api/devices/:deviceId/replace": "Replaced by {by}",
	"DELETE /api/devices/:deviceId/replace": "Replaced device let in again",
	"POST /api/device-tokens": "Token made for {deviceId}",
	"POST /api/tokens": "Token made for {name}, who is a {role}",
	"DELETE /api/tokens/:name": "Token of {name} revoked",
	"POST /api/sounds": "Sound sent: {name}",
	"DELETE /api/sounds/:id": "Sound deleted",
	"POST /api/speech": "Text heard before it is announced",
	"POST /api/announcements": "Announced",
	"DELETE /api/announcements/:id": "Announcement stopped",
	"POST /api/commands": "Devices asked",
	"DELETE /api/commands/:id": "Command called off",
	"POST /api/schedules": "Schedule made",
	"PUT /api/schedules/:id": "Schedule changed",
	"DELETE /api/schedules/:id": "Schedule {id} deleted",
	"PUT /api/quiet-hours": "Quiet hours set",
	"DELETE /api/quiet-hours/:id": "Quiet hours {id} removed",
	"PUT /api/rollouts/:id": "Rollout started",
	"DELETE /api/rollouts/:id": "Rollout {id} removed",
	"POST /api/rollouts/:id/pause": "Rollout {id} paused",
	"POST /api/rollouts/:id/resume": "Rollout {id} resumed",
	"POST /api/rollouts/:id/approve": "Next group of rollout {id} approved",
	"POST /api/rollouts/:id/cancel": "Rollout {id} cancelled",
	"POST /api/rollouts/:id/retry": "Failed devices of rollout {id} tried again",
	"POST /api/webhooks/:number/test": "Webhook {number} tested",
	"POST /ota/upload": "Firmware {version} for {model} uploaded",
	"POST /login/link": "Login link made",
};

const routes = Object.entries(requestWords).map(([route, words]) => {
	const pattern = route.replaceAll(/:(\w+)/g, "(?<$1>[^/]+)");
	return { pattern: new RegExp(`^${pattern}$`), words };
});

/** Describes a change and the values that were sent; an unknown route, such as one of a later version, is shown as is. */
export function auditText({ what, detail }: Pick<ListedChange, "what" | "detail">) {
	const [request = "", query = ""] = what.split("?");
	const body = parseJson(detail ?? "{}");
	const { payload, targets, ...others } = recordOf(body);
	const { command = what, ...values } = recordOf(payload);
	const { all, room, tags, ...devices } = recordOf(targets);
	const place = room ? ` in ${room}` : tags ? ` on devices with ${tags}` : "";
	const sent: Readonly<Record<string, unknown>> = { ...others, ...values, ...devices };
	const route = routes.find(({ pattern }) => pattern.test(request));
	const inAddress: Readonly<Record<string, string>> = {
		...Object.fromEntries(new URLSearchParams(query)),
		...route?.pattern.exec(request)?.groups,
	};
	const template = entryOf(commandEntries, textOf(command))?.audit ?? route?.words ?? what;
	const words = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
		return textOf(entryOf(inAddress, name) ?? entryOf(sent, name) ?? "…");
	});
	const rest = Object.entries(sent).filter(([name]) => !template.includes(`{${name}}`));
	return {
		words: `${words}${all ? " on all devices" : place}`,
		/** Details that the text omits. */
		rest: body === undefined ? detail : rest.map(([name, value]) => `${name}: ${textOf(value)}`).join(", "),
	};
}

function textOf(value: unknown): string {
	if (Array.isArray(value)) return value.map(textOf).join(", ");
	return isRecord(value) ? JSON.stringify(value) : `${value}`;
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
	return isRecord(value) ? value : {};
}

/** Returns undefined for a truncated body. */
function parseJson(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}
