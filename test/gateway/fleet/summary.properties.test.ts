/** Tests that subscribed monitors converge on the gateway's state after any order of events. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { noLabel } from "../../../gateway/api/label.js";
import { summaryText } from "../../../gateway/fleet/summary.js";
import type { Device } from "../../../gateway/sessions/device.js";
import { sampleReport } from "../../../scripts/api/sample-report.js";
import { MonitorView } from "../../support/monitor-view.js";
import { runs } from "../../support/property-runs.js";
import { summarized } from "./summarized.js";

const ids = ["dev-1-000001", "dev-1-000002", "dev-1-000003", "dev-1-000004"];
const which = fc.nat(ids.length - 1);
const rssi = fc.integer({ min: -60, max: -48 });

function reportOf(deviceId: string, wifi_rssi: number, uptime_seconds: number) {
	const report = sampleReport("DEV-1");
	const health = { ...report.health, uptime_seconds };
	return { ...report, deviceId, health, network: { ...report.network, wifi_rssi } };
}

test("converges for every subscriber after any changes during snapshots", (t) => {
	const step = fc.oneof(
		fc.record({ do: fc.constantFrom("open", "end", "forget"), device: which }),
		fc.record({ do: fc.constant("report"), device: which, rssi }),
		fc.record({ do: fc.constant("label"), device: which, name: fc.constantFrom("", "a", "b") }),
		fc.record({ do: fc.constant("subscribe"), device: which }),
		fc.record({ do: fc.constant("read"), device: which }),
		fc.record({ do: fc.constant("pass"), device: which }),
	);
	t.mock.timers.enable({ apis: ["setTimeout"] });
	const textOf = (device: Device) => summaryText(device, { of: () => ({}) });
	fc.assert(
		fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
			const subscribers: { picture: MonitorView; snapshot: Iterator<string> }[] = [];
			const onFrame = (frame: Buffer) => {
				for (const { picture } of subscribers) picture.apply(JSON.parse(frame.toString()));
			};
			// Two of these fill a frame.
			const { sessions, summary, open } = summarized(3, 140_000, { onFrame });
			const read = ({ picture, snapshot }: (typeof subscribers)[number]) => {
				const { done, value } = snapshot.next();
				if (!done) picture.apply(JSON.parse(value));
				return done;
			};
			for (const step of steps) {
				const id = ids[step.device] ?? "";
				const device = sessions.devices.get(id);
				if (step.do === "open") open(id);
				else if (step.do === "end" && device) sessions.end(device.session, "disconnected");
				else if (step.do === "forget" && device) sessions.forget(device);
				else if ("rssi" in step && device?.session.connected)
					sessions.receive(device.session, reportOf(id, step.rssi, 60), Buffer.from("{}"));
				else if ("name" in step && device) {
					device.label = step.name ? { name: step.name } : noLabel;
					sessions.announce(device.session, "labelled");
				} else if (step.do === "subscribe") {
					const picture = new MonitorView();
					const subscriber = { picture, snapshot: summary.snapshot() };
					read(subscriber);
					subscribers.push(subscriber);
				} else if (step.do === "read") {
					const subscriber = subscribers[step.device];
					if (subscriber) read(subscriber);
				} else if (step.do === "pass") t.mock.timers.tick(250);
			}
			for (const subscriber of subscribers) while (!read(subscriber));
			// A timer set in a tick fires in a later one.
			for (const _ of ids) t.mock.timers.tick(250);
			const known = [...sessions.devices.values()].map((device) => JSON.parse(textOf(device)));
			const byId = new Map(known.map((device) => [device.deviceId, device]));
			for (const { picture } of subscribers) {
				assert.ok(picture.isComplete, "the summary is incomplete");
				assert.deepEqual(new Map(picture.devices), byId);
			}
			summary.close();
		}),
		{ numRuns: runs(300) },
	);
});
