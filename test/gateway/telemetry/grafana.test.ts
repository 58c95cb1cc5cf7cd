/** Queries of the Grafana dashboard, checked against the metrics of a gateway and by promtool. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Registry } from "prom-client";
import { collectProcessMetrics } from "../../../gateway/telemetry/metrics.js";
import { pathOf, whyMissing } from "../../support/programs.js";
import { bearer, monitorToken, temporaryDirectory } from "../../support/running.js";
import { sampleReport } from "../../support/sample-report.js";
import { runWholeGateway } from "../api/whole-gateway.js";

interface Target {
	readonly expr: string;
	readonly legendFormat?: string;
}

interface Dashboard {
	readonly panels: readonly { readonly title: string; readonly targets: readonly Target[] }[];
}

const { panels }: Dashboard = JSON.parse(readFileSync("gateway/grafana.json", "utf8"));
/** Substitutes Grafana's variables. */
const queries = panels.flatMap(({ title, targets }) =>
	targets.map(({ expr, legendFormat = "" }) => ({
		title,
		legend: legendFormat,
		expr: expr.replaceAll("$job", "gateway").replaceAll("$__rate_interval", "5m"),
	})),
);
/** Metrics of removable extensions; all others are the core's. */
const extensionOf: Readonly<Record<string, string>> = {
	gateway_crashes_total: "fleet",
	gateway_ended_webhooks: "webhooks",
	gateway_rollouts: "rollouts",
	gateway_schedules: "schedules",
};

/** Strips labels, durations, strings and functions from a query. */
function metricsOf(expr: string): readonly string[] {
	const bare = expr.replace(/\{[^}]*\}|\[[^\]]*\]|\b(by|without|on|ignoring) ?\([^)]*\)|"[^"]*"/g, " ");
	return (bare.match(/[a-z_]\w*\b(?!\s*\()/gi) ?? []).filter(
		(name) => !["or", "and", "unless"].includes(name),
	);
}

test("uses only exposed metrics and grouped labels in dashboard queries", async (t) => {
	const registry = new Registry();
	collectProcessMetrics(registry);
	const { url } = await runWholeGateway(t, { registry });
	const text = await (await fetch(`${url}/metrics`, { headers: bearer(monitorToken) })).text();
	const exposed = new Set(
		[...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].flatMap(([, name = "", type]) =>
			type === "histogram" ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
		),
	);
	for (const { title, expr, legend } of queries) {
		const names = metricsOf(expr);
		assert.ok(names.length > 0, `${title}: ${expr} names no metric`);
		const isRemoved = (name: string) => !existsSync(`gateway/${extensionOf[name] ?? ""}`);
		const unknown = names.filter((name) => !exposed.has(name) && !isRemoved(name));
		assert.deepEqual(unknown, [], `${title}: ${expr}`);
		const grouped = expr.match(/\bby \(([^)]*)\)/)?.[1]?.split(", ") ?? ["instance"];
		for (const [, label = ""] of legend.matchAll(/\{\{(\w+)\}\}/g))
			assert.ok(grouped.includes(label), `${title}: ${legend} of ${expr}`);
	}
	assert.ok(queries.length >= 20, `${queries.length} queries`);
});

test("has a series at 0 for each known label value before the first event", async (t) => {
	const registry = new Registry();
	await runWholeGateway(t, { registry });
	const counters = (await registry.getMetricsAsJSON()).filter(({ name }) => /^gateway_.*_total$/.test(name));
	assert.ok(counters.length >= 8, `${counters.length} counters`);
	for (const { name, values } of counters) {
		assert.notDeepEqual(values, [], name);
		assert.deepEqual(new Set(values.map(({ value }) => value)), new Set([0]), name);
	}
});

const skip = whyMissing("promtool");
const ofFleet = existsSync("gateway/fleet") ? false : "fleet/ was removed";

test("shows the first event of each kind, between two scrapes", { skip: skip || ofFleet }, async (t) => {
	const { url, monitor: openMonitor, device: openDevice, refused } = await runWholeGateway(t);
	const scrape = async () => (await fetch(`${url}/metrics`, { headers: bearer(monitorToken) })).text();
	const monitor = await openMonitor();
	const deviceId = "dev-1-a1b2c3";
	const device = await openDevice({ "Device-Id": deviceId, "Device-Features": "crash" });
	device.send({ ...sampleReport("DEV-1"), deviceId });
	const { firmwareVersion: version } = await monitor.change("identified");
	const before = await scrape();
	const head = {
		id: "1a",
		kind: "exception",
		message: "Error",
		firmware_version: version,
		uptime_seconds: 1,
	};
	device.send({
		type: "crash_report",
		deviceId,
		crash: { ...head, file: "main.ts", line: 1, stack: "at main.ts:1", trace: "" },
	});
	await monitor.change("crash");
	device.send("invalid");
	device.send({ type: "ota_progress", percent: 1, bytes_written: 1, bytes_total: 100 });
	device.send({ type: "ota_error", reason: "x" });
	await monitor.until(({ sessions: [session] = [] }) => session?.metadata.otaStatus === "failed");
	await monitor.request({ type: "boot_device", targetId: "unknown" });
	await monitor.request({ type: "control_device", targetId: deviceId, payload: { command: "query_state" } });
	await refused("/device", bearer("wrong"));
	const expected = new Map<string, readonly Record<string, unknown>[]>([
		["gateway_crashes_total", [{ kind: "exception", version }]],
		["gateway_updates_total", [{ outcome: "failed" }]],
		["gateway_uplinks_total", ["crash_report", "ota_error", "ota_progress"].map((type) => ({ type }))],
		["gateway_dropped_uplinks_total", [{}]],
		["gateway_commands_total", [{ type: "control_device" }]],
		["gateway_refused_commands_total", [{ code: "unknown_target" }]],
		["gateway_refused_upgrades_total", [{ status: "401" }]],
	]);
	const [earlier, later] = [samplesOf(before), samplesOf(await scrape())];
	const tests = queries.flatMap(({ expr }) =>
		metricsOf(expr).flatMap((name) => {
			const samples = expected.get(name)?.map((labels) => ({ labels: formatLabels(labels), value: 1 }));
			return samples
				? [{ expr: `clamp_max(ceil(${expr} > 0), 1)`, eval_time: "4m", exp_samples: samples }]
				: [];
		}),
	);
	assert.equal(tests.length, expected.size);
	const input_series = Array.from(later, ([series, value]) => ({
		series,
		values: `${earlier.get(series) ?? "_"} ${value}x3`,
	}));
	const path = join(await temporaryDirectory(t), "test.yaml");
	await writeFile(
		path,
		JSON.stringify({ tests: [{ interval: "1m", input_series, promql_expr_test: tests }] }),
	);
	const { status, stdout, stderr } = spawnSync(pathOf("promtool"), ["test", "rules", path], {
		encoding: "utf8",
	});
	assert.equal(status, 0, `${stdout}${stderr}`);
});

/** Reads the values of counters by series, with the job of the queries. */
function samplesOf(text: string): ReadonlyMap<string, string> {
	const lines = text.matchAll(/^(gateway_\w+_total)(?:\{(.*)\})? (\d+)$/gm);
	return new Map(
		Array.from(lines, ([, name, labels = "", value = ""]) => [`${name}{job="gateway",${labels}}`, value]),
	);
}

function formatLabels(labels: Readonly<Record<string, unknown>>): string {
	return `{${Object.entries(labels).map(([name, value]) => `${name}="${value}"`)}}`;
}

test("has queries that promtool parses", { skip }, async (t) => {
	const path = join(await temporaryDirectory(t), "rules.yaml");
	const check = async (expressions: readonly string[]) => {
		const rules = expressions.map((expr, index) => ({ record: `query:${index}`, expr }));
		// JSON is YAML.
		await writeFile(path, JSON.stringify({ groups: [{ name: "dashboard", rules }] }));
		const { status, stdout, stderr } = spawnSync(pathOf("promtool"), ["check", "rules", path], {
			encoding: "utf8",
		});
		return { isValid: status === 0, text: `${stdout}${stderr}` };
	};
	assert.equal((await check(["sum(gateway_sessions"])).isValid, false);
	const { isValid, text } = await check(queries.map(({ expr }) => expr));
	assert.ok(isValid, text);
});
