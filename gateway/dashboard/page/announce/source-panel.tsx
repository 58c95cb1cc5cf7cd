/** Source of an announcement: a recording, a file, a saved sound or a text, each with a preview. */

import music from "lucide-static/icons/music.svg";
import trash from "lucide-static/icons/trash-2.svg";
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { messageOf } from "../../../../device/message-of.js";
import {
	type AnnouncementRequest,
	maxNameLength,
	type Sound,
	type SoundList,
} from "../../../api/announcement.js";
import { duration, when } from "../../../api/client/words.js";
import { cleanText, cutText } from "../../../api/text.js";
import { writeWav } from "../../../api/wav.js";
import { request, requestFile, requestIfFound } from "../app/gateway.js";
import type { Resource } from "../app/resource.js";
import { Button } from "../parts/button.js";
import { EmptyState } from "../parts/empty-state.js";
import { Choice, Field, Toggles } from "../parts/field.js";
import { FileDrop } from "../parts/file-drop.js";
import { Icon } from "../parts/icon.js";
import { Panel } from "../parts/panel.js";
import { Problem } from "../parts/problem.js";
import { recordingProblem } from "./microphone.js";
import { Recording } from "./recording.js";
import { type Draft, draftOf } from "./sound.js";

export interface Source {
	/** Uploads the sound if needed. @returns fields of the announcement @throws Error with a message to show */
	readonly prepare: () => Promise<Pick<AnnouncementRequest, "sound" | "text">>;
}

/** @throws Error with a message to show */
export async function readSounds(): Promise<SoundList> {
	const list = await requestIfFound("GET /api/sounds");
	if (list) return list;
	throw new Error("Announcements are disabled on this gateway.");
}

interface SourcePanelProps {
	readonly sounds: Resource<SoundList>;
	/** Called with the source, or with what is missing. */
	readonly onSource: (source: Source | string) => void;
}

type Kind = "text" | "file" | "recording" | "sound";
const missing: Readonly<Record<Kind, string>> = {
	text: "Write a message.",
	file: "Choose a file.",
	recording: "Record a message.",
	sound: "Choose a sound.",
};
const longestText = 1000;

export function SourcePanel({ sounds, onSource }: SourcePanelProps) {
	const { sounds: saved = [], canSpeak = false } = sounds.value ?? {};
	const noRecording = recordingProblem();
	const kinds: readonly (readonly [Kind, string, isOffered: boolean])[] = [
		["text", "Text", canSpeak],
		["file", "File", true],
		["recording", "Microphone", noRecording === ""],
		["sound", "Saved", true],
	];
	const [chosen, setChosen] = useState<Kind>();
	const kind = chosen ?? (canSpeak ? "text" : "file");
	/** Drafts, or why a file or a recording cannot be announced. */
	const [drafts, setDrafts] = useState<Partial<Record<Kind, Draft | string>>>({});
	/** Name for saving; empty does not save the sound. */
	const [saveAs, setSaveAs] = useState("");
	const [soundId, setSoundId] = useState("");
	const [text, setText] = useState("");
	const [isReading, setReading] = useState(false);
	const toSpeak = cleanText(text);
	const latest = drafts[kind];
	const draft = typeof latest === "string" ? undefined : latest;
	const sound = saved.find(({ id }) => id === soundId);
	useEffect(() => onSource(sourceOf() ?? missing[kind]), [kind, draft, saveAs, sound, text]);

	function sourceOf(): Source | undefined {
		if (kind === "text") return toSpeak === "" ? undefined : { prepare: async () => ({ text: toSpeak }) };
		if (kind === "sound") return sound && { prepare: () => prepareSaved(sound) };
		return draft && { prepare: async () => ({ sound: await upload(draft, saveAs) }) };
	}

	async function prepareSaved({ id, name }: Sound) {
		await sounds.refresh();
		if (sounds.value?.sounds.some((known) => known.id === id)) return { sound: id };
		throw new Error(`${name} was deleted. Choose another sound.`);
	}

	const addDraft = async (of: Kind, content: Blob, name: string) => {
		setChosen(of);
		setReading(true);
		setSaveAs("");
		const made = await draftOf(content, name, of === "recording").catch(messageOf);
		setDrafts((before) => ({ ...before, [of]: made }));
		setReading(false);
	};
	return (
		<Panel title="Sound" look="stack beside-another">
			<Toggles
				label="Source"
				options={kinds.flatMap(([option, words, isOffered]) => (isOffered ? [[option, words] as const] : []))}
				value={kind}
				onChange={setChosen}
			/>
			{kind === "recording" && (
				<Recording
					hasDraft={draft !== undefined}
					onRecorded={(content) => addDraft(kind, content, `Recording, ${when(Date.now())}`)}
				/>
			)}
			{kind === "file" && (
				<FileDrop accept="audio/*" onFiles={([file]) => file && addDraft(kind, file, file.name)}>
					<span>
						Drop an audio file, or <u>choose one</u>
					</span>
					<span class="hint">At most 2 minutes. The loudness is normalized.</span>
				</FileDrop>
			)}
			{kind === "sound" && sounds.value && (
				<SavedSounds
					sounds={saved}
					sound={sound}
					onChosen={setSoundId}
					onRemove={(removal) => sounds.after(removal)}
				/>
			)}
			{kind === "text" && (
				<Field label="Message" type="lines" maxLength={longestText} value={text} onInput={setText} />
			)}
			{kind === "text" && toSpeak !== "" && (
				<SoundLine key={text} load={() => requestFile("POST /api/speech", { body: { text: toSpeak } })}>
					<span class="hint">Preview voice</span>
				</SoundLine>
			)}
			<p class="hint" role="status">
				{isReading && "Loading…"}
			</p>
			{draft && !isReading && <DraftLine draft={draft} saveAs={saveAs} onSaveAs={setSaveAs} />}
			<Problem>{!isReading && typeof latest === "string" && latest}</Problem>
			{sounds.value && !canSpeak && (
				<p class="hint">
					To announce a text, install a voice such as espeak-ng, set{" "}
					<code>SPEECH_COMMAND="espeak-ng --stdout"</code> and restart the gateway.
				</p>
			)}
			{noRecording && <p class="hint">{noRecording}</p>}
		</Panel>
	);
}

interface DraftLineProps {
	readonly draft: Draft;
	readonly saveAs: string;
	readonly onSaveAs: (name: string) => void;
}

function DraftLine({ draft, saveAs, onSaveAs }: DraftLineProps) {
	const gain = Math.round(draft.gainDb);
	const change = gain === 0 ? "" : `, made ${Math.abs(gain)} dB ${gain > 0 ? "louder" : "quieter"}`;
	return (
		<>
			<SoundLine load={async () => writeWav(draft.samples)}>
				<span>
					{draft.name}{" "}
					<span class="hint">
						{lengthText(draft.seconds)}
						{change}
					</span>
				</span>
			</SoundLine>
			<Field
				label="Save as (optional)"
				placeholder="Not saved"
				maxLength={maxNameLength}
				value={saveAs}
				onInput={onSaveAs}
			/>
		</>
	);
}

interface SavedSoundsProps {
	readonly sounds: readonly Sound[];
	/** Selected sound. */
	readonly sound: Sound | undefined;
	readonly onChosen: (id: string) => void;
	readonly onRemove: (removal: Promise<unknown>) => Promise<void>;
}

function SavedSounds({ sounds, sound, onChosen, onRemove }: SavedSoundsProps) {
	if (sounds.length === 0)
		return (
			<EmptyState icon={music} title="No saved sounds.">
				Record one or choose a file, and enter a name to save it.
			</EmptyState>
		);
	const { id = "", name, seconds = 0 } = sound ?? {};
	return (
		<>
			<Choice
				label="Saved sound"
				value={id}
				onChange={onChosen}
				options={[["", "Choose a sound"], ...sounds.map((saved) => [saved.id, saved.name] as const)]}
			/>
			{sound && (
				<SoundLine key={id} load={() => requestFile("GET /sounds/:file", { params: { file: `${id}.wav` } })}>
					<span class="hint">{lengthText(seconds)}</span>
					<Button
						look="icon-button quiet"
						label={`Delete ${name}`}
						action="play_sound"
						question={{
							title: `Delete ${name}?`,
							text: "It is deleted for everyone. Devices that are playing it finish.",
							loss: { do: "Delete sound", keep: "Cancel" },
						}}
						onClick={() => onRemove(request("DELETE /api/sounds/:id", { params: { id } }))}
					>
						<Icon of={trash} />
					</Button>
				</SoundLine>
			)}
		</>
	);
}

interface SoundLineProps {
	/** @returns a WAV file */
	readonly load: () => Promise<ArrayBuffer | Uint8Array<ArrayBuffer>>;
	readonly children: ComponentChildren;
}

/** Sound with a preview in this browser. */
function SoundLine({ load, children }: SoundLineProps) {
	const [audio] = useState(() => new Audio());
	const [isPlaying, setPlaying] = useState(false);
	useEffect(() => {
		audio.onplay = () => setPlaying(true);
		audio.onpause = () => setPlaying(false);
		return () => {
			audio.pause();
			URL.revokeObjectURL(audio.src);
		};
	}, [audio]);
	const play = async () => {
		const file = new Blob([await load()], { type: "audio/wav" });
		URL.revokeObjectURL(audio.src);
		audio.src = URL.createObjectURL(file);
		await audio.play();
	};
	return (
		<div class="sound">
			{children}
			<Button isPressed={isPlaying} onClick={() => (isPlaying ? audio.pause() : play())}>
				{isPlaying ? "Stop" : "Preview"}
			</Button>
		</div>
	);
}

function lengthText(seconds: number): string {
	return seconds < 10 ? `${seconds.toFixed(1)} s` : duration(seconds);
}

/** Uploads a sound. @param saveAs name of the saved sound; blank uploads it temporarily. @returns its id @throws Rejection */
async function upload(draft: Draft, saveAs: string): Promise<string> {
	const name = cutText(cleanText(saveAs) || cleanText(draft.name) || "Sound", maxNameLength);
	const query = { name, temporary: cleanText(saveAs) === "" };
	return (await request("POST /api/sounds", { query, file: writeWav(draft.samples) })).id;
}
