/** The controls of a device: sound, ring and motor; and what it reports of its buttons and sensors. */

import type { Chime, StateReport } from "../../../../device/protocol/messages.js";
import type { Entry } from "../../../api/client/fleet.js";
import { useGatewayAbsence, useIsLive, useMayChange } from "../app/hooks.js";
import { presetWords } from "../model/presets.js";
import { Action, Choices, ControlSlider, Outcome, useControl } from "../parts/controls.js";
import { Panel } from "../parts/panel.js";

const chimes: readonly (readonly [Chime, string])[] = [
	["startup", "Start-up"],
	["wifi_connecting", "Wi-Fi connecting"],
	["wifi_connected", "Wi-Fi connected"],
];

interface ControlsProps {
	readonly entry: Entry;
	readonly state: StateReport;
}

/** Why nothing can be asked now; empty where it can. */
function useObstacle({ session }: Entry): string {
	const absence = useGatewayAbsence();
	const mayChange = useMayChange("set_volume");
	if (absence) return `off while the gateway ${absence}`;
	if (!mayChange) return "off for a viewer";
	return session.connected ? "" : "off while it is away";
}

/** In the head of the page: volume and sound. */
export function SoundControls({ entry, state: { peripherals } }: ControlsProps) {
	const { key } = entry;
	const { audio } = peripherals;
	const why = useObstacle(entry);
	return (
		<section class="panel" aria-label="Controls">
			<h2 class="visually-hidden">Controls {why}</h2>
			<fieldset class="controls" disabled={why !== ""}>
				<ControlSlider deviceKey={key} name="set_volume" label="Volume" value={audio.volume} />
				<Sound entry={entry} audio={audio} />
			</fieldset>
		</section>
	);
}

/** Ring and motor. */
export function RingControls({ entry, state: { peripherals } }: ControlsProps) {
	const { key } = entry;
	const { led_ring, haptic_intensity } = peripherals;
	const why = useObstacle(entry);
	return (
		<Panel title={haptic_intensity === undefined ? "Ring" : "Ring and motor"} label="Ring" hint={why}>
			<fieldset class="controls" disabled={why !== ""}>
				<Choices
					deviceKey={key}
					name="set_led"
					label="LED ring"
					options={presetWords}
					value={led_ring.state_name}
					toAsk={(value) => ({ command: "set_led", value })}
				/>
				<ControlSlider
					deviceKey={key}
					name="set_brightness"
					label="Brightness"
					value={led_ring.brightness_coef * 100}
				/>
				{haptic_intensity !== undefined && (
					<ControlSlider deviceKey={key} name="set_haptics" label="Haptics" value={haptic_intensity} />
				)}
			</fieldset>
		</Panel>
	);
}

interface SoundProps {
	readonly entry: Entry;
	readonly audio: StateReport["peripherals"]["audio"];
}

function Sound({ entry: { key, session }, audio }: SoundProps) {
	const { asked } = useControl(key, "play_audio");
	const isPlaying = audio.player_state === "playing";
	const track = isPlaying ? audio.current_track : "";
	const isChime = chimes.some(([chime]) => track.endsWith(`/${chime}`));
	return (
		<fieldset class="control choices">
			<legend>
				Chimes <span class="player">{audio.player_state}</span>
			</legend>
			<div class="actions">
				{chimes.map(([chime, text]) => (
					<span key={chime} class={track.endsWith(`/${chime}`) ? "sounding" : asked === chime ? "asked" : ""}>
						<Action deviceKey={key} ask={{ command: "play_audio", value: chime }}>
							{text}
						</Action>
					</span>
				))}
				{session.features.includes("sound") && (
					<Action deviceKey={key} ask={{ command: "stop_sound" }} isNeedless={!isPlaying || isChime}>
						Stop
					</Action>
				)}
			</div>
			<Outcome deviceKey={key} name="play_audio" />
			<Outcome deviceKey={key} name="stop_sound" />
		</fieldset>
	);
}

const buttons: readonly (readonly [keyof StateReport["peripherals"]["buttons"], string])[] = [
	["btn_play", "Play"],
	["btn_mute", "Mute"],
	["btn_vol_down", "Volume −"],
	["btn_vol_up", "Volume +"],
];

/** Buttons, light and touch, as last reported. */
export function Inputs({ entry: { session }, state }: { entry: Entry; state: StateReport }) {
	const isNow = useIsLive() && session.connected;
	const { buttons: pressed, ambient_light, touch_active } = state.peripherals;
	return (
		<Panel title="Buttons and sensors">
			<ul class="keys" aria-label="Buttons">
				{buttons.map(([name, text]) => (
					<Key
						key={name}
						text={text}
						isOn={isNow && pressed[name]}
						on="pressed"
						off={isNow ? "not pressed" : "not known"}
					/>
				))}
				{touch_active !== undefined && (
					<Key
						text="Touch"
						isOn={isNow && touch_active}
						on="touched"
						off={isNow ? "not touched" : "not known"}
					/>
				)}
			</ul>
			{ambient_light !== undefined && (
				<label class="light">
					<span>Light</span>
					<meter min={0} max={4095} value={ambient_light} />
					<span class="value">{ambient_light}</span>
				</label>
			)}
		</Panel>
	);
}

function Key({ text, isOn, on, off }: { text: string; isOn: boolean; on: string; off: string }) {
	return (
		<li class={isOn ? "on" : ""}>
			{text} <span class="visually-hidden">{isOn ? on : off}</span>
		</li>
	);
}
