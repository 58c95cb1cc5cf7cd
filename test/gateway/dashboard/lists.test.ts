import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { type Entry, Fleet } from "../../../gateway/api/client/fleet.js";
import type { DeviceIssueKind } from "../../../gateway/api/issues.js";
import { offeredReleases } from "../../../gateway/api/offered-releases.js";
import type { DeviceSummary } from "../../../gateway/api/session.js";
import type { OtaStatus } from "../../../gateway/api/statuses.js";
import { noUpdate } from "../../../gateway/api/update.js";
import { Recorder } from "../../../gateway/dashboard/page/app/recorder.js";
import {
	noQuery,
	type Query,
	queryOf,
	queryText,
	select,
	tally,
} from "../../../gateway/dashboard/page/model/filter.js";
import {
	dueUpdates,
	effectOn,
	firmwareOf,
	fits,
	updatesOf,
} from "../../../gateway/dashboard/page/model/outdated.js";
import { devicesIn } from "../../../gateway/dashboard/page/model/rooms.js";
import { parseTagList, tagsOf } from "../../../gateway/dashboard/page/model/tags.js";
import { speaker } from "./page/gateway.js";
import { stateReport } from "./state-report.js";

interface Change extends Partial<DeviceSummary> {
	readonly status?: OtaStatus;
}

/** Entry of a device with this summary. */
function entry(deviceId: string, { status: otaStatus = "idle", ...change }: Change = {}): Entry {
	const fleet = new Fleet(() => {});
	const summary = speaker(deviceId, { chip: null, metadata: { ...noUpdate, otaStatus }, ...change });
	fleet.summarize({
		type: "summary",
		reason: "changed",
		timestamp: "2026-01-01T12:00:00.000Z",
		devices: [summary],
	});
	const [found] = fleet.all();
	assert.ok(found, "no entry");
	return found;
}

function concern(kind: DeviceIssueKind, seen = false): Entry["attention"] {
	return [{ kind, since: null, seen }];
}

const fleet = [
	entry("c", { firmwareVersion: "1.10.0", rssi: -80, attention: concern("crashed") }),
	entry("a", {
		model: "PROTO-1",
		firmwareVersion: "1.9.0",
		connected: false,
		attention: concern("crashed", true),
	}),
	entry("d", {
		firmwareVersion: "nightly",
		attention: concern("rolled_back"),
		name: "Lobby speaker",
		room: "Hall",
	}),
	entry("b", { firmwareVersion: "1.10.0-rc.1", status: "downloading", rssi: -60 }),
];

function keys(query: Partial<Query>): string {
	return select(fleet, { ...noQuery, ...query })
		.map(({ key }) => key)
		.join("");
}

describe("device list", () => {
	test("shows all by display name without a filter", () => {
		assert.equal(keys({}), "abcd");
		assert.equal(keys({ isDescending: true }), "dcba");
		const named = entry("z", { name: "Aardvark" });
		const shown = select([...fleet, named], noQuery).map(({ key }) => key);
		assert.deepEqual(shown, ["a", "z", "b", "c", "d"]);
	});

	test("is searched by words, all of which must match", () => {
		assert.equal(keys({ search: "PROTO" }), "a");
		assert.equal(keys({ search: "1.10 dev-1" }), "bc");
		assert.equal(keys({ search: "home 10.0.0.1" }), "abcd");
		assert.equal(keys({ search: "home nowhere" }), "");
		assert.equal(keys({ search: "lobby" }), "d", "by its name");
		assert.equal(keys({ search: "hall" }), "d", "by its room");
	});

	test("is filtered by model, room, version and state", () => {
		assert.equal(keys({ model: "DEV-1" }), "bcd");
		assert.equal(keys({ room: "Hall" }), "d");
		assert.equal(keys({ version: "1.10.0" }), "c");
		assert.equal(keys({ state: "connected" }), "bcd");
		assert.equal(keys({ state: "away" }), "a");
		assert.equal(keys({ state: "updating" }), "b");
		assert.equal(keys({ state: "rolled_back" }), "d");
		assert.equal(keys({ state: "update_failed" }), "");
		assert.equal(keys({ state: "crashed" }), "c", "not dismissed");
	});

	test("is sorted by urgency, semantic version and signal, then by name, in either direction", () => {
		assert.equal(keys({ sort: "state" }), "cdab", "a download needs no attention");
		assert.equal(keys({ sort: "version" }), "dabc");
		assert.equal(keys({ sort: "version", isDescending: true }), "cbad");
		assert.equal(keys({ sort: "signal" }), "cbda", "one without a signal comes last");
		assert.equal(keys({ sort: "room" }), "dabc");
		assert.equal(keys({ sort: "heard" }), "abcd", "the one that is away comes first");
		assert.equal(keys({ sort: "model", isDescending: true }), "abcd", "by name among equals");
	});

	test("uses natural order, by numbers and with Ä next to A", () => {
		const rooms = ["Zoo", "Lobby 10", "Lobby 2", "Äpfel"];
		const named = rooms.map((room, index) => entry(`${index}`, { name: room, room }));
		assert.equal(
			select(named, noQuery)
				.map(({ session }) => session.name)
				.join(", "),
			"Äpfel, Lobby 2, Lobby 10, Zoo",
		);
	});

	test("counts versions, newest first, and states", () => {
		const counted = (query: Partial<Query>) => {
			const { versions, states } = tally(fleet, { ...noQuery, ...query });
			return [...versions, ...states].map(({ value, count }) => `${value} ${count}`);
		};
		const versions = ["1.10.0 1", "1.10.0-rc.1 1", "1.9.0 1", "nightly 1"];
		assert.deepEqual(counted({}), [
			...versions,
			"connected 3",
			"away 1",
			"updating 1",
			"crashed 1",
			"rolled_back 1",
		]);
		assert.deepEqual(
			counted({ version: "1.9.0" }),
			[...versions, "connected 0", "away 1", "updating 0", "crashed 0", "rolled_back 0"],
			"the other versions can be chosen in its place",
		);
		assert.deepEqual(
			counted({ state: "away" }),
			[
				"1.10.0 0",
				"1.10.0-rc.1 0",
				"1.9.0 1",
				"nightly 0",
				"connected 3",
				"away 1",
				"updating 1",
				"crashed 1",
				"rolled_back 1",
			],
			"a part counts what the list would show with it",
		);
	});

	test("is searched without regard to case and accents", () => {
		const cologne = entry("e", { name: "Theke", room: "Köln" });
		const found = (search: string) => select([cologne], { ...noQuery, search }).length;
		assert.deepEqual([found("KOLN"), found("köln"), found("kölm")], [1, 1, 0]);
	});

	test("counts a wrong clock apart from faults of the hardware", () => {
		const faults = ["The device's clock is more than a minute behind the gateway's.", "No codec."].map(
			(reason) => entry(reason, { attention: concern("faulty").map((issue) => ({ ...issue, reason })) }),
		);
		const { states } = tally(faults, noQuery);
		assert.deepEqual(states.slice(1), [
			{ value: "wrong_clock", count: 1 },
			{ value: "faulty", count: 1 },
		]);
	});

	test("is filtered by a tag expression, and empty for an invalid one", () => {
		const tagged = [
			entry("a", { tags: ["beta", "shop"] }),
			entry("b", { tags: ["shop"], connected: false }),
			entry("c"),
		];
		const keysOf = (query: Partial<Query>) =>
			select(tagged, { ...noQuery, ...query })
				.map(({ key }) => key)
				.join("");
		assert.equal(keysOf({ tags: "shop and not beta" }), "b");
		assert.equal(keysOf({ tags: "not shop" }), "c");
		assert.equal(keysOf({ tags: "shop", state: "away" }), "b");
		assert.equal(keysOf({ tags: " " }), "abc");
		assert.equal(keysOf({ tags: "shop and" }), "");
		assert.equal(keysOf({ search: "shop beta" }), "a", "a search finds tags too");
		const { states } = tally(tagged, { ...noQuery, tags: "shop" });
		assert.deepEqual(states, [
			{ value: "connected", count: 1 },
			{ value: "away", count: 1 },
		]);
		assert.deepEqual(tagsOf(tagged), ["beta", "shop"]);
	});

	test("is stored in the address, ignoring other parameters", () => {
		const query: Query = {
			search: "hall 1 & 2",
			model: "DEV-1",
			room: "Hall",
			tags: "shop and (beta or test)",
			version: "1.10.0+7",
			state: "rolled_back",
			sort: "heard",
			isDescending: true,
			layout: "table",
		};
		assert.deepEqual(queryOf(queryText(query)), query);
		assert.equal(queryText(noQuery), "");
		assert.deepEqual(queryOf("?state=odd&sort=constructor&order=x&view=cards&more=1"), noQuery);
	});
});

describe("update targets of a device", () => {
	const image = { path: "", size: 1, sha256: "", idf_version: "" };
	const catalog = {
		schema: 1,
		latest: "1.10.0",
		releases: [
			{
				version: "1.10.0",
				date: "",
				notes: "",
				images: [
					{ ...image, model: "DEV-1", chip: "esp32s3" },
					{ ...image, model: "DEV-1", chip: "virtual" },
				],
			},
		],
	} as const;
	const upload = {
		filename: null,
		size: 0,
		upload_time: null,
		sha256: null,
		version: null,
		model: null,
		chip: null,
		signature: null,
		signature_required: false,
	};

	test("are the releases, and the upload if any", () => {
		assert.deepEqual(firmwareOf(undefined, undefined), []);
		assert.deepEqual(firmwareOf(catalog, upload), [
			{ selector: "1.10.0", version: "1.10.0", channel: "stable", images: catalog.releases[0].images },
		]);
		assert.equal(firmwareOf(undefined, { ...upload, filename: "a.bin" })[0]?.selector, "custom");
	});

	test("exclude what the gateway does not offer", () => {
		assert.deepEqual(
			firmwareOf(undefined, { ...upload, filename: "a.bin", problem: "It is not signed." }),
			[],
		);
		const [release] = catalog.releases;
		const [image] = release.images;
		const signed = { ...image, chip: "esp32s3", signature: "" } as const;
		const mixed = { ...catalog, releases: [{ ...release, images: [image, signed] }] };
		assert.deepEqual(offeredReleases(mixed, false), mixed);
		assert.deepEqual(offeredReleases(mixed, true).releases[0]?.images, [signed]);
		assert.deepEqual(offeredReleases(catalog, true).releases, []);
	});

	test("describe the effect of an update", () => {
		const [firmware] = firmwareOf(catalog, undefined);
		assert.ok(firmware, "no firmware is listed");
		const effect = (change: Change) => effectOn(entry("x", change), firmware);
		assert.equal(effect({ firmwareVersion: "1.9.0" }), "update");
		assert.equal(effect({ firmwareVersion: "1.10.0-rc.1" }), "update");
		assert.equal(effect({ firmwareVersion: "1.10.0" }), "none");
		assert.equal(effect({ firmwareVersion: "2.0.0" }), "downgrade");
		for (const firmwareVersion of ["v1.10.0", "1.10", "1.10.0+7"])
			assert.equal(effect({ firmwareVersion }), "none", firmwareVersion);
		assert.equal(effect({ firmwareVersion: "2.0" }), "downgrade");
		assert.equal(effect({ firmwareVersion: "nightly" }), "unknown");
		assert.equal(effect({ firmwareVersion: "1.9.0", model: "PROTO-1" }), "unfit");
		assert.equal(effect({ firmwareVersion: "1.9.0", chip: "esp32s3" }), "update");
		assert.equal(effect({ firmwareVersion: "1.9.0", chip: "esp32" }), "unfit");
		assert.equal(fits({ ...firmware, images: [] }, entry("x", { model: "PROTO-1" })), true);
	});

	test("are due if a newer matching release exists and nothing prevents the update", () => {
		const image = { path: "", size: 1, sha256: "", idf_version: "" } as const;
		const release = (version: string, ...models: readonly ("DEV-1" | "PROTO-1")[]) => ({
			version,
			date: "",
			notes: "",
			images: models.map((model) => ({ ...image, model, chip: "esp32s3" as const })),
		});
		const releases = [
			release("1.9.0", "DEV-1", "PROTO-1"),
			release("1.10.0", "DEV-1"),
			release("2.0.0-rc.1", "DEV-1"),
			release("3.0.0"),
		];
		const findUpdate = updatesOf({ schema: 1, latest: "1.10.0", releases });
		const update = (change: Change) => findUpdate(entry("x", change))?.selector;
		assert.equal(
			update({ firmwareVersion: "1.8.0" }),
			"1.10.0",
			"offered a pre-release or one without images",
		);
		assert.equal(update({ firmwareVersion: "1.10.0-rc.1" }), "1.10.0");
		assert.equal(update({ firmwareVersion: "1.10.0" }), undefined);
		assert.equal(update({ firmwareVersion: "2.0.0-rc.1" }), undefined);
		assert.equal(update({ firmwareVersion: "nightly" }), undefined);
		assert.equal(update({ firmwareVersion: "1.8.0", model: "PROTO-1" }), "1.9.0");
		assert.equal(update({ firmwareVersion: "1.8.0", chip: "virtual" }), undefined);
		assert.equal(update({ firmwareVersion: "1.8.0", connected: false }), undefined);
		assert.equal(update({ firmwareVersion: "1.8.0", status: "downloading" }), undefined);
		assert.equal(update({ firmwareVersion: "1.8.0", status: "failed" }), "1.10.0");
		const rolledBack = entry("x", { firmwareVersion: "1.8.0", status: "rolled_back" });
		const after = (otaVersion: string) => {
			const { session } = rolledBack;
			return { ...rolledBack, session: { ...session, metadata: { ...session.metadata, otaVersion } } };
		};
		assert.equal(findUpdate(after("1.10.0")), undefined, "it would roll that back again");
		assert.equal(findUpdate(after("1.9.0"))?.selector, "1.10.0");

		const models = [
			entry("a", { firmwareVersion: "1.8.0" }),
			entry("b", { firmwareVersion: "1.10.0" }),
			entry("c", { firmwareVersion: "1.8.0", model: "PROTO-1" }),
			entry("d", { firmwareVersion: "1.9.0" }),
		];
		assert.deepEqual(
			dueUpdates(models, findUpdate).map(({ firmware, keys, fitting }) => [firmware.selector, keys, fitting]),
			[
				["1.10.0", ["a", "d"], 3],
				["1.9.0", ["c"], 4],
			],
		);
		const query = { ...noQuery, state: "outdated" } as const;
		const keys = select(models, query, findUpdate).map(({ key }) => key);
		assert.deepEqual(keys, ["a", "c", "d"]);
		const { states } = tally(models, noQuery, findUpdate);
		assert.equal(states.find(({ value }) => value === "outdated")?.count, 3);
	});

	test("include an upload only for a matching or unknown chip", () => {
		const effect = (chip: string | null) => {
			const uploaded = { ...upload, filename: "a.bin", version: "2.0.0", model: "DEV-1", chip } as const;
			const [custom] = firmwareOf(undefined, uploaded);
			return custom && effectOn(entry("x", { chip: "virtual" }), custom);
		};
		assert.deepEqual(["virtual", "esp32s3", null].map(effect), ["update", "unfit", "update"]);
	});

	test("include an upload for QEMU only for QEMU, and not for an unknown chip", () => {
		const uploaded = {
			...upload,
			filename: "a.bin",
			version: "2.0.0",
			model: "DEV-1",
			chip: "esp32s3-qemu",
		} as const;
		const [custom] = firmwareOf(undefined, uploaded);
		const effect = (chip?: string) => custom && effectOn(entry("x", chip ? { chip } : {}), custom);
		const effects = ["esp32s3-qemu", "esp32s3", undefined].map((chip) => effect(chip));
		assert.deepEqual(effects, ["update", "unfit", "unfit"]);
	});
});

test("keeps the last 500 log lines, and numbers all", () => {
	const recorder = new Recorder();
	const log = recorder.watch("a");
	const { lines } = log;
	const report = stateReport("DEV-1");
	for (let count = 0; count < 600; count++) recorder.record("a", report, 0, null);
	assert.equal(log.lines.length, 500);
	assert.equal(log.lines.at(-1)?.number, 600);
	assert.deepEqual(lines, [], "earlier result modified");
});

test("splits tags at spaces and commas, and names invalid ones", () => {
	assert.deepEqual(parseTagList(" Shop-Berlin, beta\n"), ["shop-berlin", "beta"]);
	assert.deepEqual(parseTagList(" , "), []);
	for (const [text, word] of [
		["shop not", "not"],
		["beta büro", "büro"],
		[`a ${"x".repeat(33)}`, "x".repeat(33)],
	] as const)
		assert.throws(() => parseTagList(text), {
			message: new RegExp(`^“${word}” is not a valid tag\\. Use up to 32 of a to z`),
		});
});

test("resolves targets to all devices, a room, tags or known ids", () => {
	const inHall = [entry("a", { room: "Hall" }), entry("b", { room: "Hall" })];
	const all = [...inHall, entry("c", { tags: ["beta"] })];
	const keysIn = (targets: Parameters<typeof devicesIn>[0]) => devicesIn(targets, all).map(({ key }) => key);
	assert.deepEqual(keysIn({ all: true }), ["a", "b", "c"]);
	assert.deepEqual(keysIn({ room: "Hall" }), ["a", "b"]);
	assert.deepEqual(keysIn({ room: "Attic" }), []);
	assert.deepEqual(keysIn({ tags: "not beta" }), ["a", "b"]);
	assert.deepEqual(keysIn({ tags: "" }), []);
	assert.deepEqual(keysIn({ devices: ["c", "x"] }), ["c"]);
	assert.deepEqual(keysIn({}), []);
});
