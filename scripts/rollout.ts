/** `npm run rollout`: updates many devices in groups, and shows the progress. */

import { once } from "node:events";
import { createInterface } from "node:readline/promises";
import {
	countWords,
	type Preview,
	planWords,
	previewWords,
	type RolloutAction,
	type RolloutHead,
	stateText,
	updatableCount,
} from "../gateway/api/client/rollout.js";
import {
	defaultOptions,
	makePlan,
	makeRolloutId,
	type RequestedPlan,
} from "../gateway/api/client/rollout-plan.js";
import { plural } from "../gateway/api/client/words.js";
import { printableLines } from "../gateway/telemetry/printable.js";
import { type Arguments, print, runCommand, UsageError } from "./command-line/command.js";
import { findModel, modelNames } from "./command-line/device-settings.js";
import { GatewayClient, gatewayOption } from "./command-line/gateway-client.js";
import { exitCodes, resumeHint, watch } from "./rollout/watch.js";

const usage = `Usage: npm run rollout -- 1.4.0 --model dev-1 [options]
       npm run rollout -- --channel beta --tags "shop and not test" --standing [options]
       npm run rollout -- 1.4.0 --devices dev-1-7cdfa1a1b2c3,dev-1-7cdfa100beef [options]
       npm run rollout -- --watch <id>    (or --pause, --resume, --approve, --cancel, --retry, --delete)
       npm run rollout -- --list

Updates devices to a release, to latest or to custom (the upload), and shows the progress until the end. The gateway runs the
rollout: Ctrl-C only stops the display. By default, the first group has 5 devices, or 5 % of a large fleet, followed by the rest.
Up to 20 devices in --devices are updated one after another until one fails.

  --channel beta            latest release of a channel, instead of a version
  --model, --tags, --all    devices of a model, with tags, or both; or all devices
  --standing                include devices that join later or return with an older version, and with --channel each later
                            release, until --cancel; shows the progress of the current devices
  --canary 5|5%|0           devices in the first group; 0 for none
  --concurrency 20          devices updated at the same time
  --approval                require --approve before the rest
  --soak 180                soak time in seconds before a device counts as updated
  --yes                     start without confirmation
  --gateway                 default http://127.0.0.1:8080

The monitor token is read from MONITOR_TOKEN, or from the data folder (DATA_DIR, default data) of the gateway on this computer.
Exit codes: ${Object.values(exitCodes)
	.map(([code, words]) => `${code} ${words}`)
	.join(", ")}.`;

const text = { type: "string", default: "" } as const;
const flag = { type: "boolean", default: false } as const;
const actions = ["pause", "resume", "approve", "cancel", "retry", "delete"] as const;
const options = {
	channel: text,
	model: text,
	tags: text,
	all: flag,
	standing: flag,
	devices: text,
	canary: text,
	concurrency: text,
	approval: flag,
	soak: text,
	yes: flag,
	gateway: gatewayOption,
	list: flag,
	watch: text,
	pause: text,
	resume: text,
	approve: text,
	cancel: text,
	retry: text,
	delete: text,
} as const;

await runCommand({ name: "rollout", usage, options, allowPositionals: true, run });

async function run({ values, positionals }: Arguments<typeof options>): Promise<void> {
	const [version] = positionals;
	const action = actions.find((name) => values[name] !== "");
	const isStart = version !== undefined || values.channel !== "";
	const ways = [isStart, action !== undefined, values.watch !== "", values.list];
	if (
		positionals.length > 1 ||
		(version !== undefined && values.channel !== "") ||
		ways.filter(Boolean).length !== 1
	)
		throw new UsageError(
			"Specify one version, --channel, or one of --watch, --list, --pause and similar options.",
		);
	const gateway = new GatewayClient(values.gateway);
	if (values.list) return list(gateway);
	if (action === "delete")
		return gateway.request("DELETE /api/rollouts/:id", { params: { id: values.delete } });
	if (action) return show(await act(gateway, values[action], action));
	if (values.watch) return watchToEnd(gateway, values.watch);
	const plan = planOf(version === undefined ? { channel: values.channel } : { version }, values);
	const preview = await gateway.request("POST /api/rollouts/preview", { body: plan });
	console.log(printableLines(`${previewWords(preview)}.\nPlan: ${planWords(preview.plan, Date.now())}.`));
	if (!values.yes && !(await confirm(question(preview)))) return console.log("Canceled.");
	const id = makeRolloutId((values.standing && values.channel) || preview.plan.firmware.version);
	await gateway.request("PUT /api/rollouts/:id", { params: { id }, body: plan });
	console.log(`Rollout ${id} started. Ctrl-C only stops the display.`);
	await watchToEnd(gateway, id);
}

/** @throws UsageError */
function planOf(
	firmware: RequestedPlan["firmware"],
	values: Arguments<typeof options>["values"],
): RequestedPlan {
	const model = findModel(values.model);
	if (values.model !== "" && !model)
		throw new UsageError(`--model must be ${modelNames.join(" or ")}, not "${values.model}".`);
	const { tags } = values;
	const isOfKind = model !== undefined || tags !== "";
	if ([isOfKind, values.all, values.devices !== ""].filter(Boolean).length !== 1)
		throw new UsageError("Specify the devices with --model, --tags, --all or --devices.");
	const ofKind = values.all ? ({ all: true } as const) : { ...(model && { model }), ...(tags && { tags }) };
	const target = values.devices === "" ? ofKind : { devices: values.devices.split(",") };
	const { canary, concurrency, approval, soak: soakSeconds, standing } = values;
	const chosen = { ...defaultOptions, canary, concurrency, approval, soakSeconds, standing };
	return makePlan(firmware, target, chosen);
}

function question(preview: Preview): string {
	return `Update ${plural(updatableCount(preview), "device")} to ${preview.plan.firmware.version}?`;
}

/** @throws UsageError without a terminal */
async function confirm(text: string): Promise<boolean> {
	if (!process.stdin.isTTY) throw new UsageError("No terminal for the confirmation. Confirm with --yes.");
	const lines = createInterface({ input: process.stdin, output: process.stdout });
	const answer = await Promise.race([lines.question(`${text} [y/N] `), once(lines, "close")]);
	lines.close();
	return typeof answer === "string" && /^y(es)?$/i.test(answer.trim());
}

async function watchToEnd(gateway: GatewayClient, id: string): Promise<void> {
	const stop = () => {
		console.log(`\nThe rollout continues in the gateway. ${resumeHint(id)}`);
		process.exit(exitCodes.interrupted[0]);
	};
	process.once("SIGINT", stop);
	process.exitCode = await watch(gateway, id);
	process.removeListener("SIGINT", stop);
}

/** Changes a rollout. A retry also resumes a rollout that was paused by failures. */
async function act(gateway: GatewayClient, id: string, action: RolloutAction): Promise<RolloutHead> {
	const next = await gateway.request(`POST /api/rollouts/:id/${action}`, { params: { id } });
	return action === "retry" && next.pausedBecause === "failures" ? act(gateway, id, "resume") : next;
}

async function list(gateway: GatewayClient): Promise<void> {
	const { rollouts } = await gateway.request("GET /api/rollouts");
	if (rollouts.length === 0) console.log("No rollouts.");
	for (const rollout of rollouts) show(rollout);
}

function show(rollout: RolloutHead): void {
	print(`${rollout.id}  ${rollout.version}  ${stateText(rollout)}: ${countWords(rollout.counts)}`);
}
