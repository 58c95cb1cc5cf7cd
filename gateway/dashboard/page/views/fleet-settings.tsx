/** Changes one setting of all connected devices, a few at a time: separate tokens, or a new gateway address. */

import { useState } from "preact/hooks";
import { plural } from "../../../api/client/words.js";
import { useTopic } from "../app/hooks.js";
import type { Attempt } from "../model/pending-commands.js";
import { Button } from "../parts/button.js";
import { Choice, Field } from "../parts/field.js";
import { Panel } from "../parts/panel.js";
import { Backup } from "./backup.js";
import { Webhooks } from "./webhooks.js";

const counts = ["1", "2", "3", "5", "10", "20", "50"];

export function FleetSettings() {
	const app = useTopic("list", "jobs");
	const [atATime, setAtATime] = useState("5");
	const [gateway, setGateway] = useState("");
	const named = app.fleet.all().filter(({ session }) => session.deviceId !== null);
	const keys = named
		.filter(({ session }) => session.connected && session.features.includes("settings"))
		.map(({ key }) => key)
		.sort();
	const isOff = app.jobs.needsPage || keys.length === 0;
	const run = (title: string, change: (key: string) => Promise<Attempt>) =>
		app.run({
			title,
			keys,
			atATime: Number(atATime),
			stopsAtFailure: true,
			change: async (key) => {
				const { status, reason } = await change(key);
				if (status !== "done") throw new Error(reason ?? "It has not said how it ended.");
			},
		});
	const devices = plural(keys.length, "device");
	const button = (text: string, question: string, trial: string, isReady: boolean, onClick: () => void) => (
		<Button
			isChange
			disabled={isOff || !isReady}
			question={{
				title: `${question}?`,
				text: <p>Each restarts to try {trial}, and is away meanwhile. This page must stay open.</p>,
			}}
			onClick={onClick}
		>
			{text}
		</Button>
	);
	return (
		<div class="fleet-settings">
			<h1 class="visually-hidden">Settings</h1>
			<Panel title="Settings of all devices">
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
					{button(
						`Replace the tokens of ${devices}`,
						`Replace the tokens of ${devices}`,
						"its new token",
						true,
						() => run("New tokens", (key) => app.replaceToken(key)),
					)}
				</div>
				<h3>A gateway that has moved</h3>
				<p class="hint">Keep this gateway running at its present address until all have followed.</p>
				<div class="actions of-fields">
					<Field
						label="New address"
						placeholder="wss://gateway.example/device"
						value={gateway}
						onInput={(text) => setGateway(text.trim())}
					/>
					{button(`Move ${devices}`, `Move ${devices} to ${gateway}`, "the new address", gateway !== "", () =>
						run(`To ${gateway}`, (key) => app.changeSettings(key, async () => ({ gateway }))),
					)}
				</div>
			</Panel>
			<Webhooks />
			<Backup />
		</div>
	);
}
