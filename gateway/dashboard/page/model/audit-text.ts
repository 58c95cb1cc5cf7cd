/** Readable texts of audit log entries, by the request or message of the change. */

import { entryOf, isRecord } from "../../../../device/protocol/schema.js";
import type { ListedChange } from "../../../api/audit.js";
import { commandEntries } from "../../../api/commands.js";
import type { AuditedRoute } from "../../../api/routes.js";
import { percentDecoded } from "../../../api/text.js";

/** Templates with fields of the path, the query or the body in braces. */
const routeTexts: Readonly<Record<AuditedRoute, string>> = {
	"GET /api/backup": "Backup downloaded",
	"POST /api/attention/seen": "Issue dismissed",
	"DELETE /api/devices": "Forgot devices away for {awayDays} days",
	"PATCH /api/devices/:deviceId": "Name, room, note or tags changed",
	"DELETE /api/devices/:deviceId": "Device forgotten",
	"POST /api/devices/:deviceId/replace": "Replaced by {by}",
	"DELETE /api/devices/:deviceId/replace": "Replaced device allowed again",
	"POST /api/device-tokens": "Device token created for {deviceId}",
	"POST /api/tokens": "Token created for {name} ({role})",
	"POST /api/tokens/:name/link": "Login link created for {name}",
	"DELETE /api/tokens/:name": "Token of {name} revoked",
	"POST /api/sounds": "Sound uploaded: {name}",
	"DELETE /api/sounds/:id": "Sound deleted",
	"POST /api/speech": "Voice previewed",
	"POST /api/announcements": "Announcement started",
	"DELETE /api/announcements/:id": "Announcement stopped",
	"POST /api/commands": "Command sent",
	"DELETE /api/commands/:id": "Command canceled",
	"POST /api/schedules": "Schedule created",
	"PUT /api/schedules/:id": "Schedule changed",
	"DELETE /api/schedules/:id": "Schedule {id} deleted",
	"PUT /api/quiet-hours": "Quiet hours set",
	"DELETE /api/quiet-hours/:id": "Quiet hours {id} removed",
	"PUT /api/rollouts/:id": "Rollout started",
	"DELETE /api/rollouts/:id": "Rollout {id} removed",
	"POST /api/rollouts/:id/pause": "Rollout {id} paused",
	"POST /api/rollouts/:id/resume": "Rollout {id} resumed",
	"POST /api/rollouts/:id/approve": "Next group of rollout {id} approved",
	"POST /api/rollouts/:id/cancel": "Rollout {id} canceled",
	"POST /api/rollouts/:id/retry": "Failed devices of rollout {id} retried",
	"POST /api/webhooks/:number/test": "Webhook {number} tested",
	"POST /ota/upload": "Firmware {version} for {model} uploaded",
	"POST /login/link": "Login link created",
};

const routes = Object.entries(routeTexts).map(([route, template]) => {
	const pattern = route.replaceAll(/:(\w+)/g, "(?<$1>[^/]+)");
	return { pattern: new RegExp(`^${pattern}$`), template };
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
	const inPath = Object.entries(route?.pattern.exec(request)?.groups ?? {});
	const parameters: Readonly<Record<string, string>> = {
		...Object.fromEntries(new URLSearchParams(query)),
		...Object.fromEntries(inPath.map(([name, value]) => [name, percentDecoded(value) ?? value])),
	};
	const template = entryOf(commandEntries, textOf(command))?.audit ?? route?.template ?? what;
	const text = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
		return textOf(entryOf(parameters, name) ?? entryOf(sent, name) ?? "…");
	});
	const rest = Object.entries(sent).filter(([name]) => !template.includes(`{${name}}`));
	return {
		text: `${text}${all ? " on all devices" : place}`,
		/** Values that the text does not contain. */
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
