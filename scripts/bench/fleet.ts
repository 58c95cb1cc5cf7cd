/** The fleet that the gateway is made for: 10,000 devices at one report each 5 s, watched by 20 monitors that keep up. */

import { alternate, pick } from "./rounds.js";
import { compare, measure, type Row } from "./row.js";
import { withSides } from "./sides.js";
import { socketsAtMost } from "./sockets.js";

const devices = 10_000;
const monitors = 20;
const reportEachSeconds = 5;
/** As long as from one ping of all sockets to the next, so that each round has one. */
const roundSeconds = 15;

export function run(): Promise<readonly Row[]> {
	return withSides(async (ours, reference) => {
		const fleet = Math.min(devices, socketsAtMost());
		const perSecond = fleet / reportEachSeconds;
		for (const side of [ours, reference]) {
			await side.connectDevices(fleet);
			await side.setMonitors(monitors);
		}
		const load = { count: perSecond * roundSeconds, perSecond };
		const rounds = await alternate(
			() => ours.relay(load),
			() => reference.relay(load),
		);
		const title = `${fleet} devices at ${reportEachSeconds} s, ${monitors} monitors`;
		const note = fleet < devices ? `${devices} do not fit: too few open files` : undefined;
		return [
			compare(
				{
					benchmark: "fleet",
					what: `${title}: share of a core`,
					unit: "",
					target: { of: "ours", atMost: 0.5 },
					...(note && { note }),
				},
				pick(rounds, ({ share }) => share),
			),
			measure(
				{
					benchmark: "fleet",
					what: `${title}: reports lost, worst round`,
					unit: "",
					target: { of: "ours", atMost: 0 },
				},
				[Math.max(...rounds.map((round) => round.ours.lost))],
			),
			compare(
				{ benchmark: "fleet", what: `${title}: latency p99`, unit: "µs" },
				pick(rounds, ({ p99Micros }) => p99Micros),
			),
		];
	});
}
