/** Tile of a device, a room or the whole home: figure, name and state, with mute and volume below. */

import volumeIcon from "lucide-static/icons/volume-2.svg";
import mutedIcon from "lucide-static/icons/volume-x.svg";
import type { ComponentChildren, DOMAttributes } from "preact";
import { useRef } from "preact/hooks";
import type { Entry } from "../../../api/client/fleet.js";
import { plural } from "../../../api/client/words.js";
import { type ConfirmableCommand, titleOf } from "../../../api/commands.js";
import { useDenial, useMayChange, useTopic } from "../app/hooks.js";
import { type DeviceVolume, muteCommand, requestedVolume, volumeOf } from "../app/mute.js";
import type { Attempt } from "../model/pending-commands.js";
import { quietLimit } from "../model/rooms.js";
import { moveVolumes, type Volumes } from "../model/volumes.js";
import { Button } from "./button.js";
import { Icon } from "./icon.js";
import { Problem, useRequest } from "./problem.js";
import { Slider } from "./slider.js";

interface TileProps {
	/** Name of the device or room, for the controls. */
	readonly title: string;
	/** Ring or icon. */
	readonly figure: ComponentChildren;
	/** Text instead of the title. */
	readonly heading?: string | undefined;
	/** Undefined for a tile that leads nowhere. */
	readonly href?: string | undefined;
	/** Contents of the line below the name. */
	readonly state: ComponentChildren;
	/** Icon buttons. */
	readonly actions?: ComponentChildren;
	/** Devices whose volume the tile sets. */
	readonly entries: readonly Entry[];
	/** Classes. */
	readonly look?: string;
	/** Makes the tile a landmark. */
	readonly isRegion?: boolean;
	readonly gestures?: DOMAttributes<HTMLElement>;
	/** Contents before the figure. */
	readonly children?: ComponentChildren;
}

export function Tile(props: TileProps) {
	const { title, heading = title, figure, href, state, actions, children } = props;
	const { entries, look = "", isRegion, gestures } = props;
	const volume = useVolume(entries);
	const Box = isRegion ? "section" : "article";
	return (
		<Box class={`tile ${look}`} aria-label={isRegion ? title : undefined} {...gestures}>
			{children}
			{figure}
			<div class="tile-text">
				<h2>{href === undefined ? heading : <a href={href}>{heading}</a>}</h2>
				<p>{state}</p>
				<Problem>{volume.problem}</Problem>
			</div>
			{actions}
			<div class="tile-volume">
				<Mute title={title} volume={volume} />
				<Slider
					isInline
					label={`Volume of ${title}`}
					value={volume.value}
					isMuted={volume.isMuted}
					limit={volume.limit}
					isOff={volume.isOff}
					tooltip={useDenial("set_volume")}
					sentEveryMs={volume.sentEveryMs}
					onChange={volume.set}
				/>
			</div>
		</Box>
	);
}

export function Mute({ title, volume }: { title: string; volume: ReturnType<typeof useVolume> }) {
	const { isMuted, isOff, setMuted } = volume;
	return (
		<Button
			look="icon-button quiet mute"
			action="set_volume"
			disabled={isOff}
			isPressed={isMuted}
			label={`Mute ${title}`}
			onClick={() => setMuted(!isMuted)}
		>
			<Icon of={isMuted ? mutedIcon : volumeIcon} />
		</Button>
	);
}

type Change = readonly [key: string, ask: ConfirmableCommand];

const sentEveryMs = 200;
/** Batch size and pause, below the gateway's limit of 50 commands per second and page. */
const batchSize = 20;
const pauseMs = 500;

/** Common volume of devices. */
export function useVolume(listed: readonly Entry[]) {
	const app = useTopic("quiet", ...listed.map(({ key }) => `device ${key}` as const));
	const mayChange = useMayChange("set_volume");
	const { run, problem } = useRequest();
	const moves = useRef<readonly Volumes[]>([]);
	const latest = useRef<readonly Change[]>([]);
	/** Restores the volumes before the changes that are not confirmed yet. */
	const undo = useRef<(() => void) | undefined>(undefined);
	const entries = listed.flatMap(({ key }) => app.fleet.get(key) ?? []);
	const here = entries.flatMap((entry) => (entry.session.connected && volumeOf(entry)) || []);
	const shown = here.map((volume) => {
		const attempt = app.pendingCommands.get(volume.key, "set_volume");
		return requestedVolume(volume, attempt?.status === "pending" ? attempt.ask : undefined);
	});
	const isMuted = shown.length > 0 && shown.every((volume) => volume.isMuted);
	const audible = shown.filter((volume) => volume.isMuted === isMuted);
	const change = async (ask: ConfirmableCommand, changes: readonly Change[]) => {
		latest.current = changes;
		const changed = new Set(changes.map(([key]) => key));
		undo.current ??= app.undoOf(
			ask,
			entries.filter(({ key }) => changed.has(key)),
		);
		const attempts: Promise<Attempt>[] = [];
		while (attempts.length < changes.length) {
			if (attempts.length > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
			if (latest.current !== changes) return;
			for (const [key, ask] of changes.slice(attempts.length, attempts.length + batchSize))
				attempts.push(app.sendCommand(key, ask));
		}
		const failures = (await Promise.all(attempts)).filter(({ status }) => status !== "done");
		if (latest.current !== changes) return;
		const done = changes.length - failures.length;
		if (changes.length > 1 && done > 0)
			app.toasts.show("volume", `${titleOf(ask)}: ${plural(done, "device")}`, undo.current);
		undo.current = undefined;
		const [{ reason = "" } = {}] = failures;
		if (failures.length === 0) return;
		if (changes.length === 1) throw new Error(reason ?? "");
		throw new Error(`Failed on ${failures.length} of ${plural(changes.length, "device")}: ${reason}`);
	};
	return {
		/**
		 * Volume of the loudest device that is not muted, requested or reported; of all if all are muted, and of the offline ones if all are
		 * offline. Null if unknown.
		 */
		value: loudest(audible) ?? loudest(entries.flatMap((entry) => volumeOf(entry) ?? [])),
		/** Whether all are muted. */
		isMuted,
		isOff: !mayChange || shown.length === 0,
		/** Limit by quiet hours. */
		limit: quietLimit(app.quietHours.value?.quietHours ?? [], entries),
		sentEveryMs: Math.max(sentEveryMs, (shown.length * pauseMs) / batchSize),
		/** Error of the latest change. */
		problem,
		/** Sets the volume of the loudest device, and the others proportionally. Devices that are muted alone stay muted. */
		set: (to: number) => {
			const moved = new Set(audible.map(({ key }) => key));
			const now = new Map(here.flatMap(({ key, volume }) => (moved.has(key) ? [[key, volume]] : [])));
			moves.current = moveVolumes(moves.current, now, to);
			const next = [...(moves.current.at(-1) ?? [])];
			return run(() =>
				change(
					{ command: "set_volume", value: to },
					next.map(([key, value]) => [key, { command: "set_volume", value }]),
				),
			);
		},
		setMuted: (toMuted: boolean) => {
			const changed = shown.filter((volume) => volume.isMuted !== toMuted);
			return run(() =>
				change(
					{ command: "set_mute", value: toMuted },
					changed.map((volume) => [volume.key, muteCommand(volume, toMuted)]),
				),
			);
		},
	};
}

function loudest(volumes: readonly DeviceVolume[]): number | null {
	return volumes.length === 0 ? null : Math.max(...volumes.map(({ volume }) => volume));
}
