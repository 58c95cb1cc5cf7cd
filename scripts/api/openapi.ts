/** The HTTP half of the gateway as an OpenAPI 3.1 document, from the table of its routes. */

import type { Json, JsonObject } from "./json-schema.js";
import { problem, type ResponseOf } from "./responses.js";
import { bodySchemas, type Route, routes } from "./routes.js";

const schemes = { device: "deviceToken", monitor: "monitorToken" } as const;

export function openApi(version: string): JsonObject {
	const paths: Record<string, Record<string, Json>> = {};
	for (const route of routes) paths[route.path] = { ...paths[route.path], [route.method]: operation(route) };
	return {
		openapi: "3.1.0",
		info: {
			title: "Device gateway: HTTP",
			version,
			description:
				"Devices, firmware, login and health. Errors are problem+json; a method that an address does not have is 405, with Allow. The dashboard's files, at /, are open and not listed.",
			license: { name: "MIT", identifier: "MIT" },
		},
		servers: [{ url: "http://127.0.0.1:8080", description: "HOST and PORT, or PUBLIC_URL" }],
		paths,
		components: {
			schemas: bodySchemas,
			securitySchemes: {
				[schemes.device]: bearer("The token that devices show."),
				[schemes.monitor]: bearer("The token that dashboards and programs show."),
				login: {
					type: "apiKey",
					in: "cookie",
					name: "gateway_<id>",
					description: "What /login gives a browser, in place of the monitor token.",
				},
			},
		},
	};
}

function operation(route: Route): JsonObject {
	const { roles, summary, parameters, requestBody } = route;
	const security = [
		...roles.map((role) => ({ [schemes[role]]: [] })),
		...(roles.includes("monitor") ? [{ login: [] }] : []),
	];
	return {
		operationId: operationId(route),
		summary,
		security,
		...(parameters && { parameters }),
		...(requestBody && { requestBody }),
		responses: Object.fromEntries(Object.entries(allResponses(route))),
	};
}

/** With those that every route of its kind has. */
export function allResponses({ roles, isChecked, responses }: Route): Readonly<Record<number, ResponseOf>> {
	return {
		...(roles.length > 0 && {
			401: problem("No valid token.", { "WWW-Authenticate": 'Bearer realm="gateway"' }),
			429: problem("Too many wrong tokens from this address.", { "Retry-After": "60" }),
		}),
		...(isChecked && { 403: problem("Sent by another web site's page.") }),
		...responses,
	};
}

/** "GET /ota/firmware.bin" → get_ota_firmware_bin */
function operationId({ method, path }: Route): string {
	return `${method}${path}`.replace(/[^A-Za-z0-9]+/g, "_").replace(/_$/, "");
}

function bearer(description: string): JsonObject {
	return { type: "http", scheme: "bearer", description };
}
