/** Controls for the board of a demo device, and playback of its speaker. */

import { useEffect, useState } from "preact/hooks";
import type { ButtonName } from "../../../device/host.js";
import { messageOf } from "../../../device/message-of.js";
import { type BoardPart, hasPart } from "../../../device/protocol/models.js";
import type { Entry } from "../../../gateway/api/client/fleet.js";
import { Button } from "../../../gateway/dashboard/page/parts/button.js";
import { Check } from "../../../gateway/dashboard/page/parts/field.js";
import { Problem } from "../../../gateway/dashboard/page/parts/problem.js";
import { Slider } from "../../../gateway/dashboard/page/parts/slider.js";
import { HoldButton } from "./hold-button.js";
import { useInputs } from "./inputs.js";
import { MakeAndInstall } from "./make-and-install.js";
import { demo } from "./requests.js";
import { Speaker } from "./speaker.js";
import { type ShownBoard, useBoard } from "./use-board.js";

const buttons: readonly (readonly [ButtonName, string])[] = [
	["play", "Play"],
	["mute", "Mute"],
	["volumeDown", "Volume −"],
	["volumeUp", "Volume +"],
];

/** Initial signal of a virtual device. */
const usualRssi = -48;
const initialState: ShownBoard = {
	inputs: { pressed: [], light: 0, isTouched: false, rssi: usualRssi },
	ring: "",
	next: "",
	isPlaying: false,
	expect: () => {},
};

/** Shared by all devices, so that it stays on when the page changes. */
const speaker = new Speaker();

export function Board({ entry }: { entry: Entry }) {
	const path = `api/demo/devices/${encodeURIComponent(entry.key)}`;
	const state = useBoard(path, speaker);
	const { inputs, ring, isPlaying, next, expect } = state ?? initialState;
	const isOn = state !== undefined;
	const isVirtual = entry.chip === "virtual";
	const { send, problem } = useInputs(entry.key, isOn);
	const changeLight = (light: number) => {
		send({ light });
		expect({ light });
	};
	/** @param rssi null for out of range */
	const changeSignal = (rssi: number | null) => {
		send(rssi === null ? { wifi: false } : { rssi });
		expect({ rssi });
	};
	const has = (part: BoardPart) => entry.session.model !== null && hasPart(entry.session.model, part);
	/** Last signal in range. */
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
					{isOn
						? `${isVirtual ? "virtual" : "in QEMU"}, operated on this page`
						: "off while the demo is unreachable"}
				</span>
			</h2>
			<fieldset class="board-parts" disabled={!isOn}>
				<LedRing colors={ring.match(/.{6}/g) ?? []} />
				<div class="board-part">
					<h3>Hold</h3>
					<div class="actions">
						{buttons.map(([button, text]) => (
							<HoldButton
								key={button}
								isPressed={inputs.pressed.includes(button)}
								onChange={(pressed) => send({ button, pressed })}
							>
								{text}
							</HoldButton>
						))}
						{has("touch") && (
							<HoldButton isPressed={inputs.isTouched} onChange={(touch) => send({ touch })}>
								Touch
							</HoldButton>
						)}
					</div>
				</div>
				<div class="board-part">
					<h3>Environment</h3>
					{has("ambientLight") && (
						<Slider label="Ambient light" range={[0, 4095]} value={inputs.light} onChange={changeLight} />
					)}
					{isVirtual && (
						<>
							<Check
								label="Wi-Fi in range"
								checked={inputs.rssi !== null}
								onToggle={(inRange) => changeSignal(inRange ? rssi : null)}
							/>
							<Slider
								label="Wi-Fi signal"
								unit=" dBm"
								range={[-95, -30]}
								value={rssi}
								isOff={inputs.rssi === null}
								onChange={changeSignal}
							/>
						</>
					)}
					<div class="actions">
						<Button
							onClick={() =>
								demo.request("POST /api/demo/devices/:id/power-cut", { params: { id: entry.key } })
							}
						>
							Cut power briefly
						</Button>
					</div>
				</div>
				<SpeakerPart isPlaying={isPlaying} volume={entry.state?.peripherals.audio.volume ?? 0} />
				{isVirtual && <MakeAndInstall entry={entry} next={next} />}
			</fieldset>
			<Problem>{problem}</Problem>
		</section>
	);
}

/** LEDs as the board receives them; the first is at the top. */
function LedRing({ colors }: { colors: readonly string[] }) {
	return (
		<svg class="board-ring" viewBox="-1 -1 2 2" role="img" aria-label="LEDs">
			{colors.map((color, index) => {
				const angle = (index / colors.length) * 2 * Math.PI;
				const channels = [0, 2, 4].map((at) => Number.parseInt(color.slice(at, at + 2), 16) / 255);
				const fill = `color(srgb-linear ${channels.join(" ")})`;
				return (
					<circle
						key={angle}
						r={0.16}
						cx={0.8 * Math.sin(angle)}
						cy={-0.8 * Math.cos(angle)}
						style={{ fill }}
					/>
				);
			})}
		</svg>
	);
}

function SpeakerPart({ isPlaying, volume }: { isPlaying: boolean; volume: number }) {
	const [isOn, setOn] = useState(speaker.isOn);
	const toggle = async () => {
		try {
			if (isOn) speaker.turnOff();
			else await speaker.turnOn();
			setOn(!isOn);
		} catch (error) {
			speaker.turnOff();
			throw new Error(`Playback failed: ${messageOf(error)}`);
		}
	};
	return (
		<div class="board-part">
			<h3>Speaker</h3>
			<p role="status">{isPlaying ? `Playing at volume ${volume}` : "Silent"}</p>
			<div class="actions">
				<Button isPressed={isOn} onClick={toggle}>
					Listen in this browser
				</Button>
			</div>
		</div>
	);
}
