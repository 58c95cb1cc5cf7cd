/** Controls of a device's ring and motor, and the state of its buttons and sensors. */

import type { Light, StateReport } from "../../../../device/protocol/messages.js";
import { effectWords, presetWords } from "../../../api/client/command-words.js";
import type { Entry } from "../../../api/client/fleet.js";
import { useIsLive } from "../app/hooks.js";
import { Button } from "../parts/button.js";
import { ControlSlider, Outcome, useControl } from "../parts/controls.js";
import { Check, Choice, Toggles } from "../parts/field.js";
import { Panel } from "../parts/panel.js";

interface ControlsProps {
	readonly entry: Entry;
	readonly state: StateReport;
}

/** Initial color of a light. */
const white = "#ffffff";

/** Controls of the ring as a light; choosing a color switches it on. */
function RingLight({ entry: { key }, state: { peripherals } }: ControlsProps) {
	const { light } = peripherals.led_ring;
	const { isOff, send } = useControl(key, "set_light");
	const { color = white, effect = "solid" } = light ?? {};
	const show = (change: Partial<Pick<Light, "color" | "effect">>) =>
		send({ command: "set_light", value: { color, effect, ...change } });
	return (
		<div class="control">
			<label for={`${key}-light`}>Light color</label>
			<div class="light">
				<input
					id={`${key}-light`}
					type="color"
					value={color}
					disabled={isOff}
					onChange={({ currentTarget }) => show({ color: currentTarget.value })}
				/>
				<Choice
					label="Effect"
					value={effect}
					options={effectWords}
					onChange={(value) => show({ effect: value })}
				/>
				<Button
					look="small"
					disabled={isOff || !light}
					onClick={() => send({ command: "set_light", value: null })}
				>
					Clear
				</Button>
			</div>
			<Outcome deviceKey={key} name="set_light" />
		</div>
	);
}

function RoomBrightness({ entry: { key }, state: { peripherals } }: ControlsProps) {
	const { requested, isOff, send } = useControl(key, "set_auto_brightness");
	return (
		<div>
			<Check
				label="Adapt to room light"
				disabled={isOff}
				checked={
					requested === undefined ? (peripherals.led_ring.auto_brightness ?? false) : requested === true
				}
				onToggle={(value) => send({ command: "set_auto_brightness", value })}
			/>
			<Outcome deviceKey={key} name="set_auto_brightness" />
		</div>
	);
}

export function RingControls({ entry, state }: ControlsProps) {
	const { key, session } = entry;
	const { peripherals } = state;
	const { led_ring: ring, haptic_intensity: haptics } = peripherals;
	const { requested, isOff, send } = useControl(key, "set_led");
	return (
		<Panel title={haptics === undefined ? "Ring" : "Ring and haptics"} label="Ring" look="stack">
			<div class="control">
				<span>LED ring</span>
				<Toggles
					label="LED ring"
					options={presetWords.map(([preset, text]) => [
						preset,
						<span key={preset} class={`swatch ${preset}`}>
							{text}
						</span>,
					])}
					value={presetWords.find(([preset]) => preset === (requested ?? ring.state_name))?.[0]}
					disabled={isOff}
					onChange={(value) => send({ command: "set_led", value })}
				/>
				<Outcome deviceKey={key} name="set_led" />
			</div>
			<ControlSlider deviceKey={key} name="set_brightness" value={ring.brightness_coef} />
			{session.features.includes("light") && <RingLight entry={entry} state={state} />}
			{session.features.includes("light") && peripherals.ambient_light !== undefined && (
				<RoomBrightness entry={entry} state={state} />
			)}
			{haptics !== undefined && <ControlSlider deviceKey={key} name="set_haptics" value={haptics} />}
		</Panel>
	);
}

type InputName = keyof StateReport["peripherals"]["buttons"] | "touch_active";
const inputs: readonly (readonly [InputName, string])[] = [
	["btn_play", "Play"],
	["btn_mute", "Mute"],
	["btn_vol_down", "Volume −"],
	["btn_vol_up", "Volume +"],
	["touch_active", "Touch"],
];

/** Last reported state of buttons, light sensor and touch sensor. */
export function Inputs({ entry: { session }, state: { peripherals } }: ControlsProps) {
	const isKnown = useIsLive() && session.connected;
	const { ambient_light: light, touch_active } = peripherals;
	const reported: Readonly<Record<InputName, boolean | undefined>> = { ...peripherals.buttons, touch_active };
	return (
		<Panel title="Buttons and sensors" look="stack">
			<ul class="keys" aria-label="Buttons">
				{inputs.map(([name, text]) => {
					const isOn = reported[name];
					if (isOn === undefined) return null;
					const verb = name === "touch_active" ? "touched" : "pressed";
					return (
						<li key={name} class={isKnown && isOn ? "on" : ""}>
							{text} <span class="visually-hidden">{!isKnown ? "unknown" : isOn ? verb : `not ${verb}`}</span>
						</li>
					);
				})}
			</ul>
			{light !== undefined && (
				<div class="control">
					<span>Light</span>
					<meter aria-label="Light" min={0} max={4095} value={light} />
					<span class="value">{light} of 4095</span>
				</div>
			)}
		</Panel>
	);
}
