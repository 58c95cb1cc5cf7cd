/** Brings firmware to devices: one, the selected or all outdated ones, a few at a time. */

import { useState } from "preact/hooks";
import { topics } from "../app/app.js";
import { useApp, useIsLive, useLeaveWarning, useTopic } from "../app/hooks.js";
import { noQuery, select } from "../model/filter.js";
import { fits, isOutdated } from "../model/outdated.js";
import { isUpdating, plural } from "../model/words.js";
import { firmwareText } from "./device-update.js";
import { Choice } from "./fleet.js";
import { DeviceTable } from "./rollout-devices.js";
import { RolloutProgress } from "./rollout-progress.js";

const counts = ["1", "2", "3", "5", "10", "20"];

export function RolloutPanel() {
	const { firmware, fleet, rollouts } = useApp();
	for (const topic of [topics.firmware, topics.list, topics.rollout]) useTopic(topic);
	const isLive = useIsLive();
	const [chosen, setChosen] = useState<string>();
	const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
	const [search, setSearch] = useState("");
	const [atATime, setAtATime] = useState("3");
	const [stopAfter, setStopAfter] = useState("2");
	useLeaveWarning(rollouts.isRunning);

	const target =
		firmware.choices.find(({ selector }) => selector === chosen) ?? firmware.latest ?? firmware.choices[0];
	const entries = select(fleet.all(), { ...noQuery, search }).filter(
		({ session }) => session.deviceId !== null,
	);
	const ready = target
		? entries.filter(
				({ session }) => session.connected && fits(target, session) && !isUpdating(session.metadata),
			)
		: [];
	const outdated = ready.filter(({ session }) => target && isOutdated(session, target)).map(({ key }) => key);
	const picked = ready.filter(({ key }) => selected.has(key)).map(({ key }) => key);
	const start = (keys: readonly string[]) => {
		if (!target || keys.length === 0) return;
		const { selector } = target;
		rollouts.start({ selector, keys, atATime: Number(atATime), stopAfter: Number(stopAfter) });
		setSelected(new Set());
	};
	const isOff = !isLive || rollouts.isRunning || !target;
	return (
		<section class="panel rollout" aria-label="Update devices">
			<h2>Update devices</h2>
			{target ? (
				<div class="toolbar">
					<Choice
						label="To"
						value={target.selector}
						onChange={setChosen}
						options={firmware.choices.map(({ selector, version }) => [
							selector,
							firmwareText(selector, version) + (selector === firmware.catalog?.latest ? ", latest" : ""),
						])}
					/>
					<Choice
						label="At a time"
						value={atATime}
						onChange={setAtATime}
						options={counts.map((one) => [one, one])}
					/>
					<Choice
						label="Stop after"
						value={stopAfter}
						onChange={setStopAfter}
						options={counts.map((one) => [one, plural(Number(one), "failure")])}
					/>
					<div class="actions">
						<button
							type="button"
							class="primary"
							disabled={isOff || outdated.length === 0}
							onClick={() => start(outdated)}
						>
							Update all outdated ({outdated.length})
						</button>
						<button type="button" disabled={isOff || picked.length === 0} onClick={() => start(picked)}>
							Update selected ({picked.length})
						</button>
					</div>
				</div>
			) : (
				<p class="hint">There is no firmware to update to yet: upload one, or make a release.</p>
			)}
			{rollouts.current && <RolloutProgress rollout={rollouts.current} />}
			<DeviceTable
				entries={entries}
				target={target}
				selected={selected}
				onSelected={setSelected}
				search={search}
				onSearch={setSearch}
				onUpdate={isOff ? undefined : (key) => start([key])}
			/>
		</section>
	);
}
