/** The board of one of the demo's devices: what a person would do to it by hand, and what its speaker plays. */

import { useEffect, useMemo, useState } from "preact/hooks";
import type { ButtonName } from "../../../device/host.js";
import { type BoardPart, hasPart } from "../../../device/protocol/models.js";
import type { Entry } from "../../../gateway/api/client/fleet.js";
import { Check } from "../../../gateway/dashboard/page/parts/field.js";
import { Problem } from "../../../gateway/dashboard/page/parts/problem.js";
import { Slider } from "../../../gateway/dashboard/page/parts/slider.js";
import type { BoardInput } from "../../../hosts/virtual/node/input.js";
import { HearIt } from "./hear-it.js";
import { HoldButton } from "./hold-button.js";
import { BoardInputs } from "./inputs.js";
import { LevelMeter } from "./level-meter.js";
import { MakeAndInstall } from "./make-and-install.js";
import { PowerCut } from "./power-cut.js";
import { Speaker } from "./speaker.js";
import { type BoardState, useBoard } from "./use-board.js";

const buttons: readonly (readonly [ButtonName, string])[] = [
	["play", "Play"],
	["mute", "Mute"],
	["volumeDown", "Volume −"],
	["volumeUp", "Volume +"],
];

/** As after the start of a virtual device. */
const usualRssi = -48;
const nothingYet: BoardState = {
	inputs: { pressed: [], light: 0, isTouched: false, rssi: usualRssi },
	gain: 0,
	next: "",
	sound: null,
};

/** For all devices, so that it stays on from one to the next. */
const speaker = new Speaker();
const speakers = [speaker];

export function Board({ entry }: { entry: Entry }) {
	const path = `api/demo/devices/${encodeURIComponent(entry.key)}`;
	const state = useBoard(path, speaker);
	const { inputs, gain, sound, next } = state ?? nothingYet;
	const [problem, setProblem] = useState("");
	const isOn = state !== undefined;
	useEffect(() => setProblem(""), [isOn]);
	const sender = useMemo(() => new BoardInputs(path, setProblem), [path]);
	const send = (input: BoardInput) => sender.send(input);
	const has = (part: BoardPart) => entry.session.model !== null && hasPart(entry.session.model, part);
	/** The last one in range. */
	const [rssi, setRssi] = useState(usualRssi);
	const rssiNow = state?.inputs.rssi ?? null;
	useEffect(() => {
		if (rssiNow !== null) setRssi(rssiNow);
	}, [rssiNow]);
	return (
		<section class="panel board" aria-label="Board">
			<h2>
				Board{" "}
				<span class="hint">
					{isOn ? "a virtual one, worked from this page" : "off while the demo cannot be reached"}
				</span>
			</h2>
			<fieldset class="board-parts" disabled={!isOn}>
				<div class="board-part">
					<h3>Hold</h3>
					<div class="actions">
						{buttons.map(([button, text]) => (
							<HoldButton
								key={button}
								isPressed={inputs.pressed.includes(button)}
								onChange={(pressed) => void send({ button, pressed })}
							>
								{text}
							</HoldButton>
						))}
						{has("touch") && (
							<HoldButton isPressed={inputs.isTouched} onChange={(touch) => void send({ touch })}>
								Touch
							</HoldButton>
						)}
					</div>
				</div>
				<div class="board-part">
					<h3>Around it</h3>
					{has("ambientLight") && (
						<BoardRange
							label="Light on it"
							range={[0, 4095]}
							value={inputs.light}
							onChange={(light) => send({ light })}
						/>
					)}
					<BoardCheck
						label="Wi-Fi in range"
						value={inputs.rssi !== null}
						onChange={(inRange) => send(inRange ? { rssi } : { wifi: false })}
					/>
					<BoardRange
						label="Wi-Fi signal"
						unit=" dBm"
						range={[-95, -30]}
						value={rssi}
						isOff={inputs.rssi === null}
						onChange={(value) => send({ rssi: value })}
					/>
					<PowerCut path={path} />
				</div>
				<div class="board-part">
					<h3>Speaker</h3>
					<LevelMeter sound={sound} gain={gain} />
					<SpeakerText isPlaying={sound !== null} volume={entry.state?.peripherals.audio.volume ?? 0} />
					<HearIt speakers={speakers} />
				</div>
				<MakeAndInstall entry={entry} next={next} />
			</fieldset>
			<Problem>{problem}</Problem>
		</section>
	);
}

interface BoardRangeProps extends Omit<Parameters<typeof Slider>[0], "value" | "onChange"> {
	readonly value: number;
	/** @returns resolves once the board has it */
	readonly onChange: (value: number) => Promise<void>;
}

function BoardRange({ value, onChange, ...look }: BoardRangeProps) {
	const [shown, change] = useWanted(value, onChange);
	return <Slider {...look} value={shown} onChange={(next) => void change(next)} />;
}

interface BoardCheckProps {
	readonly label: string;
	/** As the board has it. */
	readonly value: boolean;
	/** @returns resolves once the board has it */
	readonly onChange: (value: boolean) => Promise<void>;
}

function BoardCheck({ label, value, onChange }: BoardCheckProps) {
	const [shown, change] = useWanted(value, onChange);
	return <Check label={label} checked={shown} onToggle={(next) => void change(next)} />;
}

/** The value that a control shows, with the function that changes it: what was chosen is shown until the board has it. */
function useWanted<T>(value: T, onChange: (value: T) => Promise<void>): [T, (next: T) => Promise<void>] {
	const [wanted, setWanted] = useState<{ readonly value: T }>();
	const change = async (next: T) => {
		const sent = { value: next };
		setWanted(sent);
		await onChange(next);
		setWanted((latest) => (latest === sent ? undefined : latest));
	};
	return [wanted === undefined ? value : wanted.value, change];
}

function SpeakerText({ isPlaying, volume }: { isPlaying: boolean; volume: number }) {
	const words = volume === 0 ? "Plays, but its volume is 0" : `Plays at volume ${volume}`;
	return <p role="status">{isPlaying ? words : "Silent"}</p>;
}
