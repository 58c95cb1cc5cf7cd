/** Announce view: sound, targets, volume, and the state of each device. */

import { useMemo, useRef, useState } from "preact/hooks";
import type { SoundList } from "../../../api/announcement.js";
import { plural } from "../../../api/client/words.js";
import { targetsIn } from "../app/addresses.js";
import { useResource, useTopic } from "../app/hooks.js";
import type { Resource } from "../app/resource.js";
import { nameOf } from "../model/filter.js";
import { devicesIn, fewDevices } from "../model/rooms.js";
import { Button } from "../parts/button.js";
import { PageHead } from "../parts/page-head.js";
import { Panel } from "../parts/panel.js";
import { Permitted } from "../parts/permitted.js";
import { Problem } from "../parts/problem.js";
import { TargetChoice } from "../parts/target-choice.js";
import { Latest } from "./latest.js";
import { AnnouncementOptions, type PlayOptions } from "./options.js";
import { readSounds, type Source, SourcePanel } from "./source-panel.js";

export function AnnounceView({ search }: { readonly search: string }) {
	const sounds = useResource(readSounds);
	const [source, setSource] = useState<Source | string>("");
	return (
		<>
			<PageHead title="Announce" />
			<div class="announce">
				<Permitted action="play_sound">
					<Problem>{!sounds.value && sounds.problem}</Problem>
					{/* The initial source depends on whether the gateway can speak. */}
					{(sounds.value || sounds.problem !== "") && (
						<>
							<SourcePanel sounds={sounds} onSource={setSource} />
							<TargetPanel sounds={sounds} search={search} chosen={source} />
						</>
					)}
				</Permitted>
				<Latest />
			</div>
		</>
	);
}

interface TargetPanelProps {
	readonly sounds: Resource<SoundList>;
	readonly search: string;
	/** Source, or what is missing. */
	readonly chosen: Source | string;
}

function TargetPanel({ sounds, search, chosen }: TargetPanelProps) {
	const source = typeof chosen === "string" ? undefined : chosen;
	const app = useTopic("list");
	const { listVersion } = app.fleet;
	const entries = useMemo(
		() => app.fleet.all().filter(({ session }) => session.deviceId !== null),
		[app.fleet, listVersion],
	);
	const [targets, setTargets] = useState(() => targetsIn(search) ?? { all: true });
	const [options, setOptions] = useState<PlayOptions>({});
	/** Key of the button: a new source replaces the button and its error. A removed source keeps both, since it may be the cause. */
	const sources = useRef({ count: 0, latest: source });
	if (source && source !== sources.current.latest)
		sources.current = { count: sources.current.count + 1, latest: source };
	const devices = devicesIn(targets, entries);
	const [only] = devices;
	const where =
		targets.room !== undefined
			? `in ${targets.room}`
			: `on ${devices.length === 1 && only ? nameOf(only) : plural(devices.length, "device")}`;
	const announce = async () => {
		if (!source) return;
		const { announcements } = app;
		const content = await source.prepare();
		await announcements.start({ ...content, targets, ...options });
		await sounds.refresh();
	};
	return (
		<Panel title="Where" look="stack beside-another">
			<TargetChoice withTags label="Play on" targets={targets} onChange={setTargets} />
			<AnnouncementOptions options={options} onChange={(changed) => setOptions({ ...options, ...changed })} />
			<div class="actions">
				<Button
					key={`${sources.current.count} ${JSON.stringify(targets)}`}
					look="primary"
					action="play_sound"
					disabled={!source || devices.length === 0}
					question={
						devices.length > fewDevices && {
							title: `Announce ${where} (${plural(devices.length, "device")})?`,
							text: "The result of each device is shown.",
						}
					}
					onClick={announce}
				>
					Announce {where}
				</Button>
				{!source && <p class="hint">{chosen}</p>}
			</div>
		</Panel>
	);
}
