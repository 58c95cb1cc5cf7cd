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
import { temporaryDirectory } from "../../support/running.js";
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
	const text = await (await runWholeGateway(t, { registry })).metrics();
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
