/**
 * Checks that controls which a role does not permit are absent or disabled with the reason, in every view: it uses all that are
 * enabled, and compares the requests with the permissions of the API.
 */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { mayDo } from "../../../../gateway/api/commands.js";
import type { PersonRole } from "../../../../gateway/api/person.js";
import { routeTables } from "../../../../gateway/api/routes.js";
import { deviceStatuses } from "../../../../gateway/api/statuses.js";
import { speaker } from "./gateway.js";
import { closed, mount, type Page, passed } from "./mount.js";

const { Shell } = await import("../../../../gateway/dashboard/page/views/shell.js");
await import("../../../../gateway/dashboard/page/views/later.js");

const at = "2026-01-01T11:00:00.000Z";
const features = [
	"identify",
	"sound",
	"light",
	"quiet",
	"settings",
	"restart",
	"log",
	"mute",
	"cancel",
] as const;
const issue = { kind: "update_failed", since: at, seen: false } as const;
const devices = [
	speaker("a", { name: "Oven", room: "Kitchen", features, tags: ["beta"] }),
	speaker("b", { name: "Shelf", room: "Kitchen", attention: [issue] }),
	speaker("c", { room: "Hall", connected: false, lastSeenAt: at }),
];
const by = { by: "Ada", createdAt: at, last: null, zone: "UTC", on: true };
const chime = { targets: { all: true }, payload: { command: "play_audio", value: "attention" } };
const counts = Object.fromEntries(deviceStatuses.map((status) => [status, status === "failed" ? 1 : 0]));
const rollout = {
	...{ id: "r1", version: "2.0.0", status: "running", pausedBecause: null, standing: false },
	...{ createdAt: at, endedAt: null, counts, revision: 1 },
};
const release = {
	...{ version: "2.0.0", date: "2026-01-01", notes: "" },
	images: [{ model: "DEV-1", chip: "esp32s3", path: "x", size: 1, sha256: "", idf_version: "" }],
};
const past = { settingsKeptAt: null, versions: [], resets: [], updates: [], crashes: [] };
const replies = {
	"GET /api/quiet-hours": {
		zone: "UTC",
		quietHours: [
			{
				...{ id: "q", targets: { all: true }, from: "22:00", until: "06:00", volume: 20, on: true },
				...{ zone: "UTC", by: "Ada", changedAt: at, holdsUntil: null },
			},
		],
	},
	"GET /api/schedules": {
		zone: "UTC",
		schedules: [
			{ ...by, id: "s1", name: "Tea", at: { weekly: { time: "17:00" } }, do: { command: chime }, nextAt: at },
		],
	},
	"GET /api/sounds": {
		sounds: [{ id: "d1", name: "Gong", seconds: 2, size: 1, sha256: "d1", createdAt: at }],
		canSpeak: true,
	},
	"GET /api/rollouts": { rollouts: [rollout] },
	"GET /ota/catalog": { schema: 1, latest: "2.0.0", releases: [release, { ...release, version: "1.0.0" }] },
	"GET /ota/status": {
		filename: "x.bin",
		size: 1,
		version: "1.0.0",
		model: "DEV-1",
		chip: null,
		upload_time: null,
		sha256: "",
	},
	"GET /api/devices/a": { ...past, before: [] },
	"GET /api/tokens": { tokens: [{ name: "ben", role: "user", since: at, usedAt: null }] },
	"GET /api/audit": { changes: [] },
	"HEAD /api/audit": {},
	"HEAD /api/backup": {},
	"GET /api/webhooks": {
		webhooks: [
			{
				number: 1,
				origin: "https://example.org",
				events: ["away"],
				tags: null,
				after: 5,
				ended: false,
				waiting: 0,
				latest: null,
			},
		],
	},
	"GET /api/wifi": { devices: [] },
};
const addresses = [
	...["#/", "#/?view=table", "#/rooms/Kitchen", "#/announce", "#/schedules?room=Kitchen", "#/issues"],
	...[
		"#/devices/a",
		"#/devices/a/firmware",
		"#/devices/a/settings",
		"#/devices/a/diagnostics",
		"#/devices/c",
	],
	...["#/firmware", "#/firmware?new", "#/firmware?devices=a", "#/firmware/r1", "#/add"],
	...["people", "devices", "wifi", "changes"].map((part) => `#/settings/${part}`),
];

/** Rounds in which controls appear, such as those of a menu, a dialog and a question. */
const rounds = 4;
const inputs = "input, select, textarea, [contenteditable]";

const isOff = (control: Element) =>
	control.matches(":disabled") || control.closest("fieldset[disabled]") !== null;
const isShown = (control: Element) => !control.closest(closed);
/** The tooltip of an element hides that of the elements around it. */
const hasReason = (control: Element) =>
	/not allowed/i.test(control.closest("[title]")?.getAttribute("title") ?? "");
/** Cheaper than an accessible name. */
const labelOf = (control: HTMLElement) =>
	`${control.localName} “${control.getAttribute("aria-label") ?? (control.textContent || control.closest("label, .field")?.textContent)}”`;

function dropOf(name: string): Event {
	return Object.assign(new Event("drop", passed), { dataTransfer: { files: [{ name }] } });
}

/** Opens every view and uses what is enabled there. @returns disabled controls without reason, and enabled ones, by view */
async function useEverything(page: Page) {
	const [unexplained, enabled] = [new Set<string>(), new Set<string>()];
	for (const address of addresses) {
		const open = async () => {
			if (location.hash !== address) await page.open(address);
		};
		await open();
		await page.report("a");
		await page.until(() => !page.texts("status").includes("Loading…"));
		const used = new Set<string>();
		for (let round = 0; round < rounds; round += 1) {
			const controls = [...document.querySelectorAll<HTMLInputElement>(`button, summary, ${inputs}`)].filter(
				isShown,
			);
			const count = used.size;
			for (const control of controls) {
				const name = `${address} ${labelOf(control)}`;
				if (isOff(control)) {
					if (!hasReason(control)) unexplained.add(name);
					continue;
				}
				enabled.add(name);
				const isLogout = control.closest("form")?.getAttribute("action") === "logout";
				if (used.has(name) || isLogout || !control.isConnected) continue;
				used.add(name);
				if (control.localName === "input" && !["checkbox", "radio", "file"].includes(control.type))
					control.value = "40";
				for (const event of [
					new MouseEvent("click", passed),
					new Event("input", passed),
					new Event("change", passed),
				])
					control.dispatchEvent(event);
			}
			await page.advance();
			for (const target of document.querySelectorAll(".drop")) target.dispatchEvent(dropOf("x.bin"));
			await open();
			if (used.size === count) break;
		}
	}
	await page.advance(1000);
	return { unexplained, enabled };
}

/** Whether the API permits a request or a command to a role. */
function isPermitted(request: string, role: PersonRole): boolean {
	if (!request.includes("/")) return mayDo({ name: "Ada", role }, request);
	const matches = (name: string) =>
		new RegExp(`^${name.replaceAll(/:\w+/g, "[^/?]+")}(\\?|$)`).test(request.replace("HEAD ", "GET "));
	const [roles = null] = routeTables.flatMap(({ routes }) =>
		Object.entries(routes).flatMap(([name, route]) => (matches(name) ? [route.roles] : [])),
	);
	return roles === null || roles.includes(role);
}

async function show(t: TestContext, role: PersonRole): Promise<Page> {
	const page = await mount(t, Shell, {}, { devices, role, replies });
	for (const name of ["assign", "replace"] as const) t.mock.method(location, name, () => {});
	return page;
}

test("every view permits what the API does, and gives a reason for the rest", async (t) => {
	let admin = { enabled: new Set<string>(), requested: new Set<string>() };
	for (const role of ["monitor", "user", "viewer"] as const)
		await t.test(role, async (t) => {
			const page = await show(t, role);
			const { unexplained, enabled } = await useEverything(page);
			const commands = page.gateway.takeCommands().map(([, name = ""]) => name);
			const requested = new Set([...page.gateway.counts.keys(), ...commands]);
			if (role === "monitor") admin = { enabled, requested };
			assert.deepEqual(
				[...requested].filter((request) => !isPermitted(request, role)),
				[],
				"offered, but not permitted",
			);
			assert.deepEqual(
				[...admin.requested].filter(
					(request) =>
						!/^(GET|HEAD)|preview/.test(request) && isPermitted(request, role) && !requested.has(request),
				),
				[],
				"permitted, but not offered",
			);
			assert.deepEqual(
				[...unexplained].filter((name) => admin.enabled.has(name) && !enabled.has(name)),
				[],
				"disabled without a reason",
			);
		});
});
