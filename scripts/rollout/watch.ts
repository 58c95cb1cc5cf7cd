/** Shows the progress of a rollout until its end: one updating line on a terminal, otherwise a line per step. */

import { setTimeout } from "node:timers/promises";
import { Rejection } from "../../gateway/api/client/request.js";
import {
	countWords,
	isSettled,
	percentOf,
	problems,
	type Rollout,
	stateText,
	sum,
	watchWords,
} from "../../gateway/api/client/rollout.js";
import { sentence } from "../../gateway/api/client/words.js";
import { deviceWords, isOver } from "../../gateway/api/statuses.js";
import { cutText } from "../../gateway/api/text.js";
import { printable } from "../../gateway/telemetry/printable.js";
import type { GatewayClient } from "../command-line/gateway-client.js";

export const exitCodes = {
	done: [0, "all devices updated"],
	stopped: [1, "paused by failures, usage error, or rejected by the gateway"],
	partly: [2, "finished with failures"],
	cancelled: [3, "canceled"],
	interrupted: [130, "interrupted by Ctrl-C; the rollout continues"],
} as const;

const intervalMs = 1_000;
const barLength = 24;
const shortestBar = 6;

/** @returns the exit code @throws Rejection for an unknown rollout, or if the gateway is unreachable at the start */
export async function watch(gateway: GatewayClient, id: string): Promise<number> {
	const line = new ProgressLine();
	const printed = new Set<string>();
	let rollout = await read(gateway, id);
	for (;;) {
		for (const note of [...(await problemsOf(gateway, rollout)), ...approvalOf(rollout)]) {
			if (!printed.has(note)) line.print(note);
			printed.add(note);
		}
		line.show(progressOf(rollout), stepOf(rollout));
		const code = exitCodeOf(rollout);
		if (code !== undefined) {
			line.end();
			if (code === exitCodes.stopped[0]) console.log(continueHint(rollout));
			return code;
		}
		rollout = await reload(gateway, id, line);
	}
}

/** Lists failures: "dev-1-7cdfa1a1b2c3 failed: HTTP connection failed (-1)." */
async function problemsOf(gateway: GatewayClient, { id, counts }: Rollout): Promise<readonly string[]> {
	if (sum(counts, problems) === 0) return [];
	const query = { status: problems.join(",") };
	const { devices } = await gateway
		.request("GET /api/rollouts/:id/devices", { params: { id }, query })
		.catch(() => ({ devices: [] }));
	return devices.map(
		({ deviceId, status, reason }) =>
			`${deviceId} ${deviceWords[status]}${reason === null ? "." : `: ${sentence(reason)}`}`,
	);
}

function approvalOf({ id, pausedBecause, group }: Rollout): readonly string[] {
	if (pausedBecause !== "approval") return [];
	return [`Group ${group + 1} waits for approval: npm run rollout -- --approve ${id}`];
}

function read(gateway: GatewayClient, id: string): Promise<Rollout> {
	return gateway.request("GET /api/rollouts/:id", { params: { id } });
}

/** Reloads the rollout, and retries while the gateway is unreachable, since it may be restarting. */
async function reload(gateway: GatewayClient, id: string, line: ProgressLine): Promise<Rollout> {
	for (;;) {
		await setTimeout(intervalMs);
		try {
			return await read(gateway, id);
		} catch (error) {
			if (!(error instanceof Rejection && error.status === 0)) throw error;
			line.show(`${error.message} Retrying.`, "away");
		}
	}
}

/** Progress line: "Running  [######------]  34 %  1 runs 1.4.0 (watched for another 2 min 40 s), 2 failed, 139 waiting". */
function progressOf(rollout: Rollout): string {
	const { counts, groups, group } = rollout;
	const percent = percentOf(counts);
	const place = groups.length > 1 && !isOver(rollout) ? `, group ${group + 1} of ${groups.length}` : "";
	const state = `${stateText(rollout)}${place}  `;
	const rest = `${percent} %  ${devicesOf(rollout)}`;
	const room = columnsOf(process.stdout) - state.length - rest.length - "[]  ".length - 1;
	const length = Math.min(barLength, room);
	const done = Math.round((percent * length) / 100);
	const bar = length < shortestBar ? "" : `[${"#".repeat(done)}${"-".repeat(length - done)}]  `;
	return `${state}${bar}${rest}`;
}

/** Device counts, with the longest wait first, since a narrow terminal cuts the end of the line. */
function devicesOf({ counts, version, soakSecondsLeft }: Rollout): string {
	if (soakSecondsLeft === null) return countWords(counts);
	const { soaking } = counts;
	const watched = `${soaking.toLocaleString("en")} ${soaking === 1 ? "runs" : "run"} ${version} (${watchWords(soakSecondsLeft, soaking)})`;
	return [watched, countWords({ ...counts, soaking: 0 })].filter(Boolean).join(", ");
}

/** Width of a terminal; unlimited for a file. */
function columnsOf({ isTTY, columns }: NodeJS.WriteStream): number {
	return isTTY ? columns || 80 : Number.POSITIVE_INFINITY;
}

/** Key of a step; without a terminal, a line is printed when it changes: state, group, progress in tenths, and soaking. */
function stepOf({ status, pausedBecause, group, counts }: Rollout): string {
	return `${status} ${pausedBecause} ${group} ${Math.floor(percentOf(counts) / 10)} ${counts.soaking > 0}`;
}

/** Exit code; undefined while the rollout runs or waits for approval. */
function exitCodeOf(rollout: Rollout): number | undefined {
	const { status, pausedBecause, counts } = rollout;
	if (status === "paused" && pausedBecause === "failures") return exitCodes.stopped[0];
	if (status === "cancelled") return exitCodes.cancelled[0];
	if (status !== "finished" && !isSettled(rollout)) return undefined;
	return sum(counts, problems) === 0 ? exitCodes.done[0] : exitCodes.partly[0];
}

function continueHint({ id }: Rollout): string {
	const command = (option: string) => `npm run rollout -- --${option} ${id}`;
	return `Paused: too many failures. Continue with ${command("resume")}; retry the failed devices with ${command("retry")}`;
}

export function resumeHint(id: string): string {
	return `Show it with npm run rollout -- --watch ${id}, or change it with --pause, --resume, --approve, --cancel or --retry.`;
}

/** Updating last line of a terminal; in a file, a line per step. */
class ProgressLine {
	#line = "";
	#step = "";

	/** Prints a permanent line above the progress line. */
	print(note: string): void {
		const text = printable(note);
		if (!process.stdout.isTTY) return console.log(text);
		process.stdout.write(`\r\x1b[K${text}\n`);
		this.#draw();
	}

	/** Shows the progress. @param step key; a file gets a line only when it changes */
	show(line: string, step: string): void {
		this.#line = printable(line);
		if (process.stdout.isTTY) this.#draw();
		else if (step !== this.#step) console.log(this.#line);
		this.#step = step;
	}

	end(): void {
		if (process.stdout.isTTY) process.stdout.write(`\r\x1b[K${this.#line}\n`);
	}

	#draw(): void {
		process.stdout.write(`\r\x1b[K${cutText(this.#line, columnsOf(process.stdout) - 1)}`);
	}
}
