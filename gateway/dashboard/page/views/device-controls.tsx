/** Controls of a device's ring and motor, and the state of its buttons and sensors. */

import off from "lucide-static/icons/lightbulb-off.svg";
import type { Light, StateReport } from "../../../../device/protocol/messages.js";
import { chosenPresets, effectWords } from "../../../api/client/command-words.js";
import type { Entry } from "../../../api/client/fleet.js";
import { useIsLive } from "../app/hooks.js";
import { ControlSlider, Outcome, useControl } from "../parts/controls.js";
import { Check, Toggles } from "../parts/field.js";
import { Icon } from "../parts/icon.js";
import { Panel } from "../parts/panel.js";

interface ControlsProps {
	readonly entry: Entry;
	readonly state: StateReport;
}

const swatches: readonly (readonly [color: string, name: string])[] = [
	["#ffb066", "Warm white"],
	["#ffffff", "White"],
	["#ff3b30", "Red"],
	["#ff8800", "Orange"],
	["#ffd60a", "Yellow"],
	["#30d158", "Green"],
	["#0a84ff", "Blue"],
	["#bf5af2", "Purple"],
];
/** Initial color of a light. */
const firstColor = "#ffb066";

/** Controls of the ring as a light; choosing a color switches it on. */
function RingLight({ entry: { key }, state: { peripherals } }: ControlsProps) {
	const { light } = peripherals.led_ring;
	const { isOff, denial, send } = useControl(key, "set_light");
	const { color = firstColor, effect = "solid" } = light ?? {};
	const show = (change: Partial<Pick<Light, "color" | "effect">>) =>
		send({ command: "set_light", value: { color, effect, ...change } });
	const isCustom = light !== undefined && !swatches.some(([swatch]) => swatch === light.color);
	return (
		<>
			<div class="control" title={denial}>
				<fieldset class="swatches" aria-label="Color" disabled={isOff}>
					{swatches.map(([swatch, name]) => (
						<button
							key={swatch}
							type="button"
							class="swatch"
							style={{ "--swatch": swatch }}
							aria-label={name}
							title={denial ?? name}
							aria-pressed={swatch === light?.color}
							onClick={() => show({ color: swatch })}
						/>
					))}
					<input
						type="color"
						class={`swatch ${isCustom ? "on" : ""}`}
						style={isCustom ? { "--swatch": color } : {}}
						aria-label="Custom color"
						title={denial ?? "Custom color"}
						value={color}
						onChange={({ currentTarget }) => show({ color: currentTarget.value })}
					/>
					<button
						type="button"
						class="swatch off"
						aria-label="Clear"
						title={denial ?? "Clear"}
						disabled={!light}
						onClick={() => send({ command: "set_light", value: null })}
					>
						<Icon of={off} />
					</button>
				</fieldset>
				<Outcome deviceKey={key} name="set_light" />
			</div>
			<ControlSlider deviceKey={key} name="set_brightness" value={peripherals.led_ring.brightness_coef} />
			<div class="control" title={denial}>
				<span>Effect</span>
				<Toggles
					label="Effect"
					value={light ? effect : undefined}
					options={effectWords}
					disabled={isOff}
					onChange={(value) => show({ effect: value })}
				/>
			</div>
		</>
	);
}

function RoomBrightness({ entry: { key }, state: { peripherals } }: ControlsProps) {
	const { requested, isOff, denial, send } = useControl(key, "set_auto_brightness");
	return (
		<div title={denial}>
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

/** Light, haptics, and last the presets of the firmware, of which a light marks none. */
export function LightCard({ entry, state }: ControlsProps) {
	const { key, session } = entry;
	const { led_ring: ring, haptic_intensity: haptics, ambient_light } = state.peripherals;
	const { requested, isOff, denial, send } = useControl(key, "set_led");
	const isLight = session.features.includes("light");
	const shown = requested ?? (ring.light ? undefined : ring.state_name);
	return (
		<Panel title="Light" look="stack light-card">
			{isLight ? (
				<RingLight entry={entry} state={state} />
			) : (
				<ControlSlider deviceKey={key} name="set_brightness" value={ring.brightness_coef} />
			)}
			{isLight && ambient_light !== undefined && <RoomBrightness entry={entry} state={state} />}
			{haptics !== undefined && <ControlSlider deviceKey={key} name="set_haptics" value={haptics} />}
			<div class="control" title={denial}>
				<span>Preset</span>
				<Toggles
					label="LED ring"
					options={chosenPresets}
					value={chosenPresets.find(([preset]) => preset === shown)?.[0]}
					disabled={isOff}
					onChange={(value) => send({ command: "set_led", value })}
				/>
				<Outcome deviceKey={key} name="set_led" />
			</div>
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
						<li key={name} class={`tag ${isKnown && isOn ? "on" : ""}`}>
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
