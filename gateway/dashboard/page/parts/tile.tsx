/** Tile of a device, a room or the whole home: figure, name and state, with mute and volume below. */

import volumeIcon from "lucide-static/icons/volume-2.svg";
import mutedIcon from "lucide-static/icons/volume-x.svg";
import type { ComponentChildren, DOMAttributes } from "preact";
import { useRef } from "preact/hooks";
import type { Entry } from "../../../api/client/fleet.js";
import { plural } from "../../../api/client/words.js";
import { useDenial, useMayChange, useTopic } from "../app/hooks.js";
import type { Attempt } from "../model/pending-commands.js";
import { moveVolumes, type Volumes, volumesOf } from "../model/rooms.js";
import { Button } from "./button.js";
import { Icon } from "./icon.js";
import { Problem } from "./problem.js";
import { Slider } from "./slider.js";
import { useRequest } from "./use-request.js";

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
	const volume = useVolume(title, entries);
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
					isOff={volume.isOff}
					tooltip={useDenial("set_volume")}
					sentEveryMs={volume.sentEveryMs}
					onChange={volume.set}
				/>
			</div>
		</Box>
	);
}

export function Mute({ title, volume: { value, isOff, set } }: { title: string; volume: Volume }) {
	const isMuted = value === 0;
	return (
		<Button
			look="icon-button quiet mute"
			action="set_volume"
			disabled={isOff}
			isPressed={isMuted}
			label={`Mute ${title}`}
			onClick={() => set(isMuted ? undefined : 0)}
		>
			<Icon of={isMuted ? mutedIcon : volumeIcon} />
		</Button>
	);
}

/** Common volume of devices. */
interface Volume {
	/** Volume of the loudest device, requested or reported; of the offline ones if all are; null if unknown. */
	readonly value: number | null;
	readonly isOff: boolean;
	readonly sentEveryMs: number;
	/** Error of the latest change. */
	readonly problem: string;
	/** Sets the volume of the loudest device, and the others proportionally; undefined restores the volume before mute. */
	readonly set: (to: number | undefined) => unknown;
}

const sentEveryMs = 200;
/** Batch size and pause, below the gateway's limit of 50 commands per second and page. */
const batchSize = 20;
const pauseMs = 500;

/** @param title names the volumes before mute in the session storage */
export function useVolume(title: string, listed: readonly Entry[]): Volume {
	const app = useTopic(...listed.map(({ key }) => `device ${key}` as const));
	const mayChange = useMayChange("set_volume");
	const { run, problem } = useRequest();
	const latest = useRef<readonly Volumes[]>([]);
	const { pendingCommands } = app;
	const entries = listed.flatMap(({ key }) => app.fleet.get(key) ?? []);
	const volumes = volumesOf(entries);
	const shown = Object.entries(volumes).map(([key, reported]) => {
		const ask = pendingCommands.isPending(key, "set_volume") && pendingCommands.get(key, "set_volume")?.ask;
		return ask && ask.command === "set_volume" ? ask.value : reported;
	});
	const set = async (to: number | undefined) => {
		// Session storage survives the reload of a background page on phones.
		const storageKey = `volumes ${title}`;
		const moves = moveVolumes(JSON.parse(sessionStorage.getItem(storageKey) ?? "[]"), volumes, to);
		sessionStorage.setItem(storageKey, JSON.stringify(moves));
		latest.current = moves;
		const next = Object.entries(moves.at(-1) ?? {});
		const attempts: Promise<Attempt>[] = [];
		while (attempts.length < next.length) {
			if (attempts.length > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
			if (latest.current !== moves) return;
			for (const [key, value] of next.slice(attempts.length, attempts.length + batchSize))
				attempts.push(app.sendCommand(key, { command: "set_volume", value }));
		}
		const [failed, ...others] = (await Promise.all(attempts)).filter(({ status }) => status !== "done");
		if (latest.current !== moves || !failed) return;
		const reason = failed.reason ?? "";
		if (next.length === 1) throw new Error(reason);
		throw new Error(`Failed on ${others.length + 1} of ${plural(next.length, "device")}: ${reason}`);
	};
	return {
		value: loudest(shown) ?? loudest(entries.flatMap(({ vitals: { volume } }) => volume ?? [])),
		isOff: !mayChange || shown.length === 0,
		sentEveryMs: Math.max(sentEveryMs, (shown.length * pauseMs) / batchSize),
		problem,
		set: (to) => run(() => set(to)),
	};
}

function loudest(volumes: readonly number[]): number | null {
	return volumes.length === 0 ? null : Math.max(...volumes);
}
