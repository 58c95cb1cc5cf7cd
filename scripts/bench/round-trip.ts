/**
 * From a monitor's command to the report that answers it: through the gateway to a device in XS, and through a bare `ws`
 * server to a socket that answers with a ready-made report.
 */

import { once } from "node:events";
import { setTimeout } from "node:timers/promises";
import { WebSocket } from "ws";
import { VirtualDevice } from "../../hosts/virtual/node/virtual-device.js";
import { Child } from "./child.js";
import { Commander } from "./load/commander.js";
import { deviceIdOf, reportHead, stamped } from "./load/reports.js";
import { alternate, pick } from "./rounds.js";
import { compare, percentile, type Row } from "./row.js";
import type { BareServer } from "./servers/bare-server.js";
import { startGateway } from "./servers/start-gateway.js";

const trips = 40;
/** Below the rate at which a monitor's commands are refused. */
const pauseMs = 25;
const answerMs = 5000;

export async function run(): Promise<readonly Row[]> {
	const gateway = startGateway();
	const bare = new Child<BareServer>("servers/bare-server.ts");
	const atEnd: (() => unknown)[] = [() => gateway.close(), () => bare.close()];
	try {
		const [ours, reference] = await Promise.all([gateway.ask("listen"), bare.ask("listen")]);
		const [base, bareBase] = [ours.url, reference.url].map((url) => url.replace("http", "ws"));
		const commander = await Commander.connect({ url: `${base}/monitor`, token: ours.tokens.monitor });
		atEnd.unshift(() => commander.close());
		const device = await VirtualDevice.start({
			model: "DEV-1",
			serial: "a1b2c3",
			settings: { gateway: `${base}/device`, token: ours.tokens.device },
		});
		atEnd.unshift(() => device.close());
		await commander.report(answerMs);

		const bareCommander = await Commander.connect({ url: `${bareBase}/monitor`, token: "" });
		const echo = new WebSocket(`${bareBase}/device`);
		atEnd.unshift(
			() => bareCommander.close(),
			() => echo.terminate(),
		);
		await once(echo, "open");
		echo.on("message", () => echo.send(stamped(reportHead(1))));
		const named = bareCommander.report(answerMs);
		echo.send(stamped(reportHead(1)));
		await named;

		const one = () => times(commander, device.deviceId);
		const other = () => times(bareCommander, deviceIdOf(1));
		await one();
		await other();
		const rounds = await alternate(one, other);
		const figure = (rank: number) =>
			compare(
				{
					benchmark: "round-trip",
					what: `command to report, XS and gateway beside ready-made and bare ws: p${rank}`,
					unit: "µs",
				},
				pick(rounds, (micros) => percentile(micros, rank)),
			);
		return [figure(50), figure(95)];
	} finally {
		for (const end of atEnd) await end();
	}
}

async function times(commander: Commander, deviceId: string): Promise<readonly number[]> {
	const micros: number[] = [];
	for (let count = 0; count < trips; count++) {
		micros.push(await commander.roundTrip(deviceId, { command: "query_state" }, answerMs));
		await setTimeout(pauseMs);
	}
	return micros;
}
