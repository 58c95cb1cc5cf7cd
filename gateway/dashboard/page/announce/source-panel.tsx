/** What is played: a recording, a file, a kept sound or a text; each can be heard first. */

import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { longestName } from "../../../api/announcement.js";
import { messageOf } from "../../../api/client/request.js";
import { duration } from "../../../api/client/words.js";
import { cleanText, cutText } from "../../../api/text.js";
import { Button } from "../parts/button.js";
import { Check, Field, Toggles } from "../parts/field.js";
import { FileDrop } from "../parts/file-drop.js";
import { Panel } from "../parts/panel.js";
import { Problem } from "../parts/problem.js";
import type { Announcer, Source } from "./announcer.js";
import { Recording } from "./recording.js";
import { type Draft, draftOf, Player } from "./sound.js";

interface SourcePanelProps {
	readonly announcer: Announcer;
	readonly onSource: (source: Source | undefined) => void;
}

type Kind = "recording" | "file" | "sound" | "text";
const kinds: readonly (readonly [Kind, string])[] = [
	["recording", "Microphone"],
	["file", "File"],
	["sound", "Kept"],
	["text", "Text"],
];
const longestText = 1000;

export function SourcePanel({ announcer, onSource }: SourcePanelProps) {
	const [kind, setKind] = useState<Kind>("recording");
	const [drafts, setDrafts] = useState<Partial<Record<Kind, Draft>>>({});
	/** Undefined: it is not kept. */
	const [keptAs, setKeptAs] = useState<string>();
	const [soundId, setSoundId] = useState("");
	const [text, setText] = useState("");
	const [problem, setProblem] = useState("");
	const [isReading, setReading] = useState(false);
	const toSpeak = cleanText(text);
	const draft = drafts[kind];
	const sound = announcer.sounds?.find(({ id }) => id === soundId);
	useEffect(() => onSource(sourceOf()), [kind, draft, keptAs, sound, text]);

	function sourceOf(): Source | undefined {
		if (kind === "text") return toSpeak === "" ? undefined : { kind, text: toSpeak };
		if (kind === "sound") return sound && { kind, sound };
		return draft && { kind: "draft", draft, keptAs };
	}

	const choose = (next: Kind) => {
		setKind(next);
		setProblem("");
	};
	const take = async (of: Kind, content: Blob, name: string) => {
		setProblem("");
		setReading(true);
		setKeptAs(undefined);
		try {
			const made = await draftOf(content, name, of === "recording");
			setDrafts((before) => ({ ...before, [of]: made }));
		} catch (error) {
			setDrafts(({ [of]: _, ...others }) => others);
			setProblem(messageOf(error));
		}
		setReading(false);
	};
	return (
		<Panel title="Sound" look="stack">
			<Toggles
				label="What is played"
				options={kinds.filter(([one]) => one !== "text" || announcer.canSpeak)}
				value={kind}
				onChange={choose}
			/>
			{kind === "recording" && (
				<Recording
					hasDraft={draft !== undefined}
					onRecorded={(content) =>
						take(kind, content, `Recording, ${new Date().toLocaleString("en-GB", shortTime)}`)
					}
				/>
			)}
			{kind === "file" && (
				<FileDrop accept="audio/*" onFiles={([file]) => file && take(kind, file, file.name)}>
					<span>
						Drop an audio file here, or <u>choose one</u>
					</span>
					<span class="hint">At most 2 minutes; its loudness is evened out.</span>
				</FileDrop>
			)}
			{kind === "sound" && <KeptSounds announcer={announcer} chosen={soundId} onChosen={setSoundId} />}
			{kind === "text" && (
				<Field
					label="What the gateway says"
					type="lines"
					maxLength={longestText}
					value={text}
					onInput={setText}
				/>
			)}
			{kind === "text" && toSpeak !== "" && (
				<SoundLine key={text} load={() => announcer.speak(toSpeak)}>
					<span class="hint">As the gateway speaks it</span>
				</SoundLine>
			)}
			<p class="hint" role="status">
				{isReading && "Reading it…"}
			</p>
			{draft && !isReading && <DraftLine draft={draft} keptAs={keptAs} onKeptAs={setKeptAs} />}
			<Problem>{problem}</Problem>
		</Panel>
	);
}

const shortTime = { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" } as const;

interface DraftLineProps {
	readonly draft: Draft;
	readonly keptAs: string | undefined;
	readonly onKeptAs: (name: string | undefined) => void;
}

function DraftLine({ draft, keptAs, onKeptAs }: DraftLineProps) {
	const gain = Math.round(draft.gainDb);
	const change = gain === 0 ? "" : `, made ${Math.abs(gain)} dB ${gain > 0 ? "louder" : "quieter"}`;
	return (
		<>
			<SoundLine load={async () => draft.samples}>
				<span>
					{draft.name}{" "}
					<span class="hint">
						{lengthText(draft.seconds)}
						{change}
					</span>
				</span>
			</SoundLine>
			<Check
				label="Keep it for later"
				checked={keptAs !== undefined}
				onToggle={(checked) => onKeptAs(checked ? cutText(draft.name, longestName) : undefined)}
			/>
			{keptAs !== undefined && (
				<Field label="Name" maxLength={longestName} value={keptAs} onInput={onKeptAs} />
			)}
		</>
	);
}

interface KeptSoundsProps {
	readonly announcer: Announcer;
	/** Id of a sound. */
	readonly chosen: string;
	readonly onChosen: (id: string) => void;
}

function KeptSounds({ announcer, chosen, onChosen }: KeptSoundsProps) {
	const { sounds } = announcer;
	if (!sounds) return null;
	if (sounds.length === 0)
		return <p class="hint">None is kept yet: record one or choose a file, and keep it.</p>;
	return (
		<ul class="sounds" aria-label="Kept sounds">
			{sounds.map((sound) => (
				<li key={sound.id}>
					<SoundLine load={() => announcer.load(sound)}>
						<Check
							isRadio
							name="sound"
							label={
								<>
									{sound.name} <span class="hint">{lengthText(sound.seconds)}</span>
								</>
							}
							checked={sound.id === chosen}
							onToggle={() => onChosen(sound.id)}
						/>
						<Button
							question={{
								title: `Delete ${sound.name}?`,
								text: <p>It is deleted for everyone. Devices that play it now do so to its end.</p>,
								loss: { do: "Delete sound", keep: "Keep it" },
							}}
							onClick={() => announcer.remove(sound.id)}
						>
							Delete
						</Button>
					</SoundLine>
				</li>
			))}
		</ul>
	);
}

interface SoundLineProps {
	readonly load: () => Promise<Float32Array<ArrayBuffer>>;
	readonly children: ComponentChildren;
}

/** A sound that can be heard in this browser. */
function SoundLine({ load, children }: SoundLineProps) {
	const player = useMemo(() => new Player(), []);
	useEffect(() => () => player.close(), [player]);
	const [isPlaying, setPlaying] = useState(false);
	const play = async () => {
		const samples = await load();
		setPlaying(true);
		// Not awaited: the same button stops it.
		void player.play(samples).finally(() => setPlaying(false));
	};
	return (
		<div class="sound">
			{children}
			<Button look="small" isPressed={isPlaying} onClick={() => (isPlaying ? player.stop() : play())}>
				{isPlaying ? "Stop" : "Hear it"}
			</Button>
		</div>
	);
}

function lengthText(seconds: number): string {
	return seconds < 10 ? `${seconds.toFixed(1)} s` : duration(seconds);
}
