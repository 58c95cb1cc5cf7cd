/**
 * Changes one setting of all connected devices, a few at a time: a token for each, or a new address of the gateway.
 */

import { useState } from "preact/hooks";
import { plural } from "../../../api/client/words.js";
import { topics } from "../app/app.js";
import { useApp, useIsLive, useLeaveWarning, useTopic } from "../app/hooks.js";
import type { FleetItem } from "../model/fleet-change.js";
import { Choice } from "../parts/choice.js";
import { Field } from "../parts/field.js";
import { Grid } from "../parts/grid.js";
import { DeviceLink } from "./device-link.js";

const counts = ["1", "2", "3", "5", "10", "20", "50"];

export function SettingsView() {
	const app = useApp();
	for (const topic of [topics.list, topics.fleetChange]) useTopic(topic);
	const isLive = useIsLive();
	const [atATime, setAtATime] = useState("5");
	const { fleetChange } = app;
	useLeaveWarning(fleetChange.isRunning);
	const named = app.fleet.all().filter(({ session }) => session.deviceId !== null);
	const keys = named
		.filter(({ session }) => session.connected && session.features.includes("settings"))
		.map(({ key }) => key)
		.sort();
	const isOff = !isLive || fleetChange.isRunning || keys.length === 0;
	const replaceTokens = () =>
		fleetChange.start({
			title: "New tokens",
			keys,
			atATime: Number(atATime),
			stopsAtFailure: true,
			change: (key) => app.replaceToken(key),
		});
	const move = (event: SubmitEvent) => {
		event.preventDefault();
		if (!(event.currentTarget instanceof HTMLFormElement)) return;
		const gateway = new FormData(event.currentTarget).get("gateway");
		if (typeof gateway !== "string" || gateway === "") return;
		fleetChange.start({
			title: `To ${gateway}`,
			keys,
			atATime: Number(atATime),
			stopsAtFailure: true,
			change: (key) => app.settings.change(key, async () => ({ gateway })),
		});
	};
	return (
		<div class="fleet-settings">
			<h1 class="visually-hidden">Settings</h1>
			<section class="panel" aria-label="Settings of all devices">
				<h2>Settings of all devices</h2>
				<p class="hint">
					{plural(keys.length, "device")} of {named.length} can take new settings
					{keys.length < named.length && ": the others are away, or their firmware is older"}. Each restarts
					to try them. After the first that does not keep them, no other begins.
				</p>
				<div class="toolbar">
					<Choice
						label="At a time"
						value={atATime}
						onChange={setAtATime}
						options={counts.map((one) => [one, one])}
					/>
				</div>
				<h3>A token of its own for each</h3>
				<p class="hint">
					Made from the gateway's current device token, so that the previous one can be retired afterwards.
				</p>
				<div class="actions">
					<button type="button" class="primary" disabled={isOff} onClick={replaceTokens}>
						Replace the tokens of {plural(keys.length, "device")}
					</button>
				</div>
				<h3>A gateway that has moved</h3>
				<p class="hint">Keep this gateway running at its present address until all have followed.</p>
				<form class="actions" autocomplete="off" onSubmit={move}>
					<Field name="gateway" label="New address" placeholder="wss://gateway.example/device" />
					<button type="submit" disabled={isOff}>
						Move {plural(keys.length, "device")}
					</button>
				</form>
			</section>
			{fleetChange.items.length > 0 && <Progress />}
		</div>
	);
}

const words = {
	waiting: "to come",
	running: "trying, up to 120 s",
	kept: "done",
	failed: "failed",
	not_begun: "not begun",
};

function Progress() {
	const { fleetChange } = useApp();
	const { items, title } = fleetChange;
	const count = (status: FleetItem["status"]) => items.filter((item) => item.status === status).length;
	const counts = (["kept", "running", "waiting", "failed", "not_begun"] as const)
		.filter((status) => count(status) > 0)
		.map((status) => `${count(status)} ${status === "running" ? "under way" : words[status]}`);
	return (
		<section class="panel" aria-label="Progress">
			<h2>{title}</h2>
			<div class="rollout-head">
				<p role="status">{counts.join(", ")}</p>
				{count("waiting") > 0 && (
					<button type="button" class="small" onClick={() => fleetChange.cancel()}>
						Cancel the {count("waiting")} to come
					</button>
				)}
			</div>
			{fleetChange.isRunning && <p class="hint">Keep this page open: it begins the next ones.</p>}
			<Grid label="Devices" keys={items.map(({ key }) => key)} height={58} gap={0}>
				{(key) => <Row item={items.find((item) => item.key === key)} />}
			</Grid>
		</section>
	);
}

function Row({ item }: { item: FleetItem | undefined }) {
	if (!item) return null;
	return (
		<div class={`row change-row ${item.status}`}>
			<DeviceLink deviceKey={item.key} />
			<span class={item.status === "failed" ? "problem" : "hint"}>
				{words[item.status]}
				{item.reason && `: ${item.reason}`}
			</span>
		</div>
	);
}
