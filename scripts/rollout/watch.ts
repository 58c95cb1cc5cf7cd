/** Prints the progress of a rollout until its end, a line per step. */

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
import { print } from "../command-line/command.js";
import type { GatewayClient } from "../command-line/gateway-client.js";

export const exitCodes = {
	done: [0, "all devices updated"],
	stopped: [1, "paused by failures, usage error, or rejected by the gateway"],
	partly: [2, "finished with failures"],
	cancelled: [3, "canceled"],
	interrupted: [130, "interrupted by Ctrl-C; the rollout continues"],
} as const;

const intervalMs = 1_000;

/** @returns the exit code @throws Rejection for an unknown rollout, or if the gateway is unreachable at the start */
export async function watch(gateway: GatewayClient, id: string): Promise<number> {
	const printed = new Set<string>();
	const printOnce = (line: string) => {
		if (!printed.has(line)) print(line);
		printed.add(line);
	};
	let step = "";
	let rollout = await read(gateway, id);
	for (;;) {
		for (const note of [...(await problemsOf(gateway, rollout)), ...approvalOf(rollout)]) printOnce(note);
		if (step !== stepOf(rollout)) print(progressOf(rollout));
		step = stepOf(rollout);
		const code = exitCodeOf(rollout);
		if (code === exitCodes.stopped[0]) print(continueHint(rollout));
		if (code !== undefined) return code;
		rollout = await reload(gateway, id, printOnce);
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
async function reload(
	gateway: GatewayClient,
	id: string,
	onUnreachable: (sentence: string) => void,
): Promise<Rollout> {
	for (;;) {
		await setTimeout(intervalMs);
		try {
			return await read(gateway, id);
		} catch (error) {
			if (!(error instanceof Rejection && error.status === 0)) throw error;
			onUnreachable(`${error.message} Retrying.`);
		}
	}
}

/** Progress: "Running, group 1 of 2  34 %  1 runs 1.4.0 (watched for another 2 min 40 s), 2 failed, 139 waiting". */
function progressOf(rollout: Rollout): string {
	const { counts, groups, group } = rollout;
	const place = groups.length > 1 && !isOver(rollout) ? `, group ${group + 1} of ${groups.length}` : "";
	return `${stateText(rollout)}${place}  ${percentOf(counts)} %  ${devicesOf(rollout)}`;
}

/** Device counts, with the longest wait first. */
function devicesOf({ counts, version, soakSecondsLeft }: Rollout): string {
	if (soakSecondsLeft === null) return countWords(counts);
	const { soaking } = counts;
	const watched = `${soaking.toLocaleString("en")} ${soaking === 1 ? "runs" : "run"} ${version} (${watchWords(soakSecondsLeft, soaking)})`;
	return [watched, countWords({ ...counts, soaking: 0 })].filter(Boolean).join(", ");
}

/** Key of a step: state, group, progress in tenths, and soaking. */
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
