/** Changes one setting of all connected devices, a few at a time: separate tokens, or a new gateway address. */

import { useState } from "preact/hooks";
import { plural } from "../../../api/client/words.js";
import { useHasRoute, useTopic } from "../app/hooks.js";
import type { Attempt } from "../model/pending-commands.js";
import { Button } from "../parts/button.js";
import { Choice, Field } from "../parts/field.js";
import { Item } from "../parts/item.js";
import { Panel } from "../parts/panel.js";
import { Permitted } from "../parts/permitted.js";
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
				if (status !== "done") throw new Error(reason ?? "No result received.");
			},
		});
	const devices = plural(keys.length, "device");
	const button = (text: string, trial: string, isReady: boolean, onClick: () => void) => (
		<Button
			isChange
			disabled={isOff || !isReady}
			question={{
				title: `${text}?`,
				text: `Each device restarts to apply ${trial} and is offline meanwhile. Keep this page open.`,
			}}
			onClick={onClick}
		>
			{text}
		</Button>
	);
	return (
		<div class="fleet-settings">
			<Panel title="Settings of all devices" look="stack">
				<p class="hint">
					{keys.length} of {plural(named.length, "device")} can receive new settings
					{keys.length < named.length && " (the others are offline or need an update)"}. Each device restarts
					to apply them. After the first failure, the remaining devices are skipped.
				</p>
				<Permitted>
					<Choice
						label="At a time"
						value={atATime}
						onChange={setAtATime}
						options={counts.map((count) => [count, count])}
					/>
					<ul class="listed">
						<Item
							title="Separate token per device"
							facts={[
								"Derived from the current device token, so that the previous one can be revoked afterwards.",
							]}
							actions={button(`Replace the tokens of ${devices}`, "its new token", true, () =>
								run("New tokens", (key) => app.replaceToken(key)),
							)}
						/>
						<Item
							title="New gateway address"
							facts={["Keep this gateway running at its current address until all devices have moved."]}
							actions={button(`Move ${devices}`, `the address ${gateway}`, gateway !== "", () =>
								run(`Move to ${gateway}`, (key) => app.changeSettings(key, async () => ({ gateway }))),
							)}
						>
							<Field
								label="New address"
								placeholder="wss://gateway.example/device"
								value={gateway}
								onInput={(text) => setGateway(text.trim())}
							/>
						</Item>
					</ul>
				</Permitted>
			</Panel>
			<Webhooks />
			<Backup />
		</div>
	);
}

/** Link that downloads a backup; absent if the gateway has no backups or the person lacks the permission. */
function Backup() {
	const { person } = useTopic("link");
	if (!useHasRoute(person?.role === "monitor" ? "GET /api/backup" : undefined)) return null;
	return (
		<Panel
			title="Backup"
			look="stack"
			actions={
				<a class="button" href="api/backup" download>
					Download backup
				</a>
			}
		>
			<p class="hint">
				Devices, labels, rollouts, schedules, sounds and tokens, but no firmware images. Keep it secret.
				Restore it with <code>npm run restore</code>.
			</p>
		</Panel>
	);
}
