import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Past } from "../../../gateway/api/device.js";
import { plotPaths, timeTicks } from "../../../gateway/dashboard/page/model/plot-paths.js";
import { nearest, type Row, rowsOf } from "../../../gateway/dashboard/page/model/series.js";

const stepMs = 300_000;
/** History response of the gateway. */
const now = Date.UTC(2026, 10, 22, 12, 0, 0);

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
	test("has a row for each step since the first report, with gaps", () => {
		const rows = rowsOf(pastOf([-60, null, -50]), now / 1000);
		assert.deepEqual(
			rows.map(({ rssi, heap, light }) => [rssi, heap, light]),
			[
				[[-65, -60], [100, 100], null],
				[null, null, null],
				[[-55, -50], [100, 100], null],
			],
		);
		const times = rows.map(({ time }) => time - now / 1000);
		assert.deepEqual(times, [-690, -390, -90], "middles of the steps");
	});

	test("is looked up by time", () => {
		const rows = [-50, -60, -70].map((rssi, index) => ({
			time: index * 10,
			rssi: [rssi, rssi] as const,
			heap: null,
			light: null,
		}));
		const at = (seconds: number) => nearest(rows, seconds)?.rssi?.[1];
		assert.deepEqual([-99, 4, 6, 14, 16, 99].map(at), [-50, -50, -60, -60, -70, -70]);
		assert.equal(nearest([], 0), undefined);
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
