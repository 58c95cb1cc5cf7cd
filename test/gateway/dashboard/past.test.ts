import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Past } from "../../../gateway/api/device.js";
import { plotPaths, timeTicks } from "../../../gateway/dashboard/page/model/plot-paths.js";
import { type Row, Series } from "../../../gateway/dashboard/page/model/series.js";
import { stateReport } from "./state-report.js";

const stepMs = 300_000;
/** History response of the gateway. */
const now = Date.UTC(2026, 10, 22, 12, 0, 0);

const reportWith = (rssi: number) => stateReport("PROTO-1", { "network.wifi_rssi": rssi });
const least = ({ rows }: Series) => rows.map(({ rssi }) => rssi?.[0] ?? null);
const most = ({ rows }: Series) => rows.map(({ rssi }) => rssi?.[1] ?? null);

/** History whose last step is one minute old. @param rssi last steps; null: no report; undefined: no gateway */
function pastOf(rssi: readonly (number | null)[], from = now - 4 * 60_000 + stepMs - 288 * stepMs): Past {
	const fill = <T>(blank: T, tail: readonly T[]): readonly T[] => [
		...Array<T>(288 - tail.length).fill(blank),
		...tail,
	];
	return {
		from: new Date(from).toISOString(),
		stepSeconds: 300,
		rssi: {
			min: fill(
				null,
				rssi.map((value) => (value === null ? null : value - 5)),
			),
			max: fill(null, rssi),
		},
		heap: fill(
			null,
			rssi.map((value) => (value === null ? null : 102_400)),
		),
		light: null,
		presence: fill<number | null>(
			null,
			rssi.map((value) => (value === null ? 0 : 1)),
		),
		marks: [],
	};
}

describe("device history", () => {
	test("starts with known data of the gateway, and continues with reports", () => {
		const series = new Series();
		series.setPast(pastOf([-60, null, -50]), now);
		assert.deepEqual(most(series), [-60, null, -50]);
		assert.deepEqual(least(series), [-65, null, -55]);
		const heaps = series.rows.map(({ heap }) => heap);
		assert.deepEqual(heaps, [[100, 100], null, [100, 100]]);
		series.add(reportWith(-70), now + 5000);
		assert.deepEqual(most(series), [-60, null, -50, -70]);
		assert.deepEqual(least(series).at(-1), -70);
		assert.equal(series.rows.at(-1)?.time, now / 1000 + 5);
		const steps = series.rows.map(({ time }, row) => time - (series.rows[row - 1]?.time ?? 0));
		assert.ok(
			steps.every((step) => step > 0),
			`ascending: ${steps}`,
		);
	});

	test("has a gap without reports", () => {
		const series = new Series();
		series.setPast(pastOf([-50]), now);
		series.add(reportWith(-51), now + 19_000);
		assert.deepEqual(most(series), [-50, -51]);
		series.add(reportWith(-52), now + 60_000);
		assert.deepEqual(most(series), [-50, -51, null, -52]);
		const times = series.rows.slice(1).map(({ time }) => time - now / 1000);
		assert.deepEqual(times, [19, 20, 60]);
		const away = new Series();
		away.setPast(pastOf([-50, null]), now);
		away.add(reportWith(-51), now + 60_000);
		assert.deepEqual(most(away), [-50, null, -51]);
	});

	test("replaces later reports when reloaded", () => {
		const series = new Series();
		series.setPast(pastOf([-50]), now);
		for (let at = now; at < now + stepMs; at += 5000) series.add(reportWith(-50), at + 5000);
		assert.equal(series.rows.length, 61);
		const { rows } = series;
		series.setPast(pastOf([-50, -51]), now + stepMs);
		assert.deepEqual(most(series), [-50, -51]);
		assert.notEqual(series.rows, rows);
	});

	test("is looked up by time", () => {
		const series = new Series();
		for (const [index, rssi] of [-50, -60, -70].entries()) series.add(reportWith(rssi), now + index * 10_000);
		const at = (seconds: number) => series.nearest(now / 1000 + seconds)?.rssi?.[1];
		assert.deepEqual([-99, 4, 6, 14, 16, 99].map(at), [-50, -50, -60, -60, -70, -70]);
		assert.equal(new Series().nearest(0), undefined);
	});
});

describe("plot", () => {
	const times = [0, 25, 50, 75, 100];
	const plot = (least: (number | null)[], most = least) => {
		const rows = times.map((time, at): Row => {
			const [from, to] = [least[at] ?? null, most[at] ?? null];
			return { time, rssi: null, heap: null, light: from === null || to === null ? null : [from, to] };
		});
		const kind = { title: "", unit: "", quantity: "light", range: [0, 100] } as const;
		return plotPaths(kind, { rows, since: 0, until: 100 });
	};

	test("is a line, or a band if minimum and maximum differ", () => {
		assert.deepEqual(plot([0, 50, 100, 50, 0]), {
			line: "M0 100L25 50L50 0L75 50L100 100",
			band: "",
			ticks: [0, 50, 100].map((value) => ({ value, place: 100 - value })),
		});
		assert.equal(
			plot([0, 0, 0, 0, 0], [50, 0, 0, 0, 50]).band,
			"M0 50L25 100L50 100L75 100L100 50L100 100L75 100L50 100L25 100L0 100Z",
		);
	});

	test("has gaps, and dots for isolated values", () => {
		assert.equal(plot([0, null, 100, null, 50]).line, "M0 100h0M50 0h0M100 50h0");
		assert.equal(plot([null, null, null, null, null]).line, "");
	});

	test("expands for values outside its usual range", () => {
		const ticks = plot([-30, 0, 0, 0, 180]).ticks.map(({ value }) => value);
		assert.deepEqual(ticks, [-100, 0, 100, 200]);
	});

	test("is labeled with at most six round times of day", () => {
		for (const minutes of [1, 7, 60, 300, 1440]) {
			const ticks = timeTicks(now / 1000 - minutes * 60 - 17, now / 1000 + 17);
			assert.ok(ticks.length >= 1 && ticks.length <= 6, `${minutes}: ${ticks.length}`);
			for (const tick of ticks) assert.equal(tick % 60, 0);
		}
	});
});
