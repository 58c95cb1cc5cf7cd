/** The view that announces: what is played, where, how loud, and what each device says of it. */

import { useMemo, useRef, useState } from "preact/hooks";
import type { SoundList } from "../../../api/announcement.js";
import type { Entry } from "../../../api/client/fleet.js";
import { plural } from "../../../api/client/words.js";
import type { Targets } from "../../../api/targets.js";
import { listedDevices, useApp, useResource, useTopic } from "../app/hooks.js";
import type { Resource } from "../app/resource.js";
import { nameOf, roomsOf } from "../model/filter.js";
import { Button, fewDevices } from "../parts/button.js";
import { Check, Choice, type Option } from "../parts/field.js";
import { Panel } from "../parts/panel.js";
import { Problem } from "../parts/problem.js";
import { Slider } from "../parts/slider.js";
import { Latest } from "./latest.js";
import { readSounds, type Source } from "./source.js";
import { SourcePanel } from "./source-panel.js";

export function AnnouncingView({ search }: { readonly search: string }) {
	const { announcementSection: Section } = useApp();
	const sounds = useResource(readSounds);
	const [source, setSource] = useState<Source>();
	return (
		<div class="announce">
			<h1>Announce</h1>
			<Problem>{!sounds.value && sounds.problem}</Problem>
			<SourcePanel sounds={sounds} onSource={setSource} />
			<Where sounds={sounds} search={search} source={source} />
			<Latest />
			{Section && <Section />}
		</div>
	);
}

interface WhereProps {
	readonly sounds: Resource<SoundList>;
	readonly search: string;
	readonly source: Source | undefined;
}

const everywhere = "all";
const named = "devices";
const roomPrefix = "room ";

function Where({ sounds, search, source }: WhereProps) {
	const app = useTopic("list");
	const [given] = useState(() => {
		const fields = new URLSearchParams(search);
		return { room: fields.get("room"), keys: listedDevices(fields.get("devices") ?? "", app.selection.keys) };
	});
	const { listVersion } = app.fleet;
	const entries = useMemo(
		() => app.fleet.all().filter(({ session }) => session.deviceId !== null),
		[app.fleet, listVersion],
	);
	const [target, setTarget] = useState(
		given.room !== null ? roomPrefix + given.room : given.keys.size > 0 ? named : everywhere,
	);
	const [volume, setVolume] = useState<number>();
	/** Key of the button. A new source makes a new button, without the previous problem. Where no source is left it stays: that may be its problem. */
	const sources = useRef({ count: 0, latest: source });
	if (source && source !== sources.current.latest)
		sources.current = { count: sources.current.count + 1, latest: source };
	const meant = (value: string) =>
		entries.filter(
			({ key, session }) =>
				value === everywhere ||
				(value === named ? given.keys.has(key) : session.room === value.slice(roomPrefix.length)),
		);
	const rooms = new Set([...roomsOf(entries), ...(given.room === null ? [] : [given.room])]);
	const option = (value: string, text: string): Option => [
		value,
		`${text} (${meant(value).length.toLocaleString("en")})`,
	];
	const devices = meant(target);
	const [only] = devices;
	const options = [
		option(everywhere, "All devices"),
		...Array.from(rooms, (room) => option(roomPrefix + room, room)),
		...(given.keys.size > 0 ? [option(named, "Chosen devices")] : []),
	];
	const count = devices.length === 1 && only ? nameOf(only) : plural(devices.length, "device");
	const announce = async () => {
		if (!source) return;
		const { announcements } = app;
		const asked = { targets: targetsOf(target, devices), ...(volume !== undefined && { volume }) };
		const content = await source.prepare();
		for (const [id, { isRunning }] of announcements.all) if (!isRunning) announcements.close(id);
		await announcements.begin({ ...content, ...asked });
		await sounds.refresh();
	};
	return (
		<Panel title="Where" look="stack">
			<Choice label="Play it on" value={target} onChange={setTarget} options={options} />
			<p class="hint">{obstacles(devices, volume)}</p>
			<Volume value={volume} onChange={setVolume} />
			<div class="actions">
				<Button
					key={`${sources.current.count} ${target}`}
					look="primary"
					action="play_sound"
					disabled={!source || devices.length === 0}
					question={
						devices.length > fewDevices && {
							title: `Announce on ${count}?`,
							text: <p>{obstacles(devices, volume) || "Each device's answer is shown."}</p>,
						}
					}
					onClick={announce}
				>
					Announce on {count}
				</Button>
				{!source && <p class="hint">Choose first what is played.</p>}
			</div>
		</Panel>
	);
}

function targetsOf(target: string, devices: readonly Entry[]): Targets {
	if (target === everywhere) return { all: true };
	if (target === named) return { devices: devices.map(({ key }) => key) };
	return { room: target.slice(roomPrefix.length) };
}

/** Why some will not be heard. @param volume of the sound; undefined: as it is set on each */
function obstacles(devices: readonly Entry[], volume: number | undefined): string {
	const here = devices.filter(({ session }) => session.connected);
	const able = here.filter(({ session }) => session.features.includes("sound"));
	const muted = able.filter(({ vitals }) => vitals.volume === 0).length;
	const away = devices.length - here.length;
	const unable = here.length - able.length;
	return [
		away > 0 && `${away.toLocaleString("en")} away.`,
		unable > 0 && `${unable.toLocaleString("en")} whose firmware plays no sounds.`,
		muted > 0 &&
			volume === undefined &&
			`${muted.toLocaleString("en")} muted: give the sound a volume to be heard there.`,
	]
		.filter((words) => words !== false)
		.join(" ");
}

interface VolumeProps {
	/** Undefined: as it is set on each device. */
	readonly value: number | undefined;
	readonly onChange: (value: number | undefined) => void;
}

const usualVolume = 60;

function Volume({ value, onChange }: VolumeProps) {
	return (
		<>
			<Check
				label="As loud as each device is set"
				checked={value === undefined}
				onToggle={(checked) => onChange(checked ? undefined : usualVolume)}
			/>
			{value !== undefined && <Slider label="Volume of this sound" value={value} onChange={onChange} />}
		</>
	);
}
