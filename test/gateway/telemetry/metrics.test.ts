import assert from "node:assert/strict";
import { test } from "node:test";
import { Registry } from "prom-client";
import { collectProcessMetrics } from "../../../gateway/telemetry/metrics.js";

test("exposes process metrics without a list of open sockets", async () => {
	const registry = new Registry();
	collectProcessMetrics(registry);
	const names = registry.getMetricsAsArray().map(({ name }) => name);
	for (const name of ["process_cpu_seconds_total", "process_max_fds", "nodejs_eventloop_lag_seconds"])
		assert.ok(names.includes(name), name);
	assert.deepEqual(
		names.filter((name) => /_active_|open_fds/.test(name)),
		["nodejs_active_requests", "nodejs_active_requests_total"],
	);
});
