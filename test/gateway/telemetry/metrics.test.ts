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
	const open = names.filter((name) => /_active_|open_fds/.test(name));
	assert.deepEqual(open, ["nodejs_active_requests", "nodejs_active_requests_total"]);
});
