/** Header of a device page: label, frequent actions and notices. */

import { chimes, featureFor } from "../../../../device/protocol/messages.js";
import { chimeWords } from "../../../api/client/command-words.js";
import type { Entry } from "../../../api/client/fleet.js";
import type { ConfirmableCommand } from "../../../api/commands.js";
import {
	announceAddress,
	type DeviceTab,
	deviceAddress,
	schedulesAddress,
	useMayChange,
	useTopic,
} from "../app/hooks.js";
import { Action, ControlSlider, Outcome } from "../parts/controls.js";
import { Menu } from "../parts/menu.js";
import { Ring } from "../parts/ring.js";
import { DeviceLabel } from "./device-label.js";
import { DeviceNotice } from "./device-notice.js";
import { DeviceQuiet } from "./quiet-link.js";

/** Less frequent commands. The startup chime has its own button. */
const more: readonly (readonly [text: string, ask: ConfirmableCommand])[] = [
	["Refresh", { command: "query_state" }],
	["Reconnect", { command: "boot_device" }],
	["Restart", { command: "restart" }],
	...chimes
		.filter((value) => value !== "startup")
		.map((value) => [`Play “${chimeWords[value]}”`, { command: "play_audio", value }] as const),
];
const outcomes = ["play_audio", "stop_sound", "identify", "query_state", "boot_device", "restart"] as const;

/** Whether firmware with these features supports a command. */
function isSupported(ask: ConfirmableCommand, features: readonly string[]): boolean {
	const feature = ask.command === "boot_device" ? undefined : featureFor(ask);
	return feature === undefined || features.includes(feature);
}

/** @param tab tab below the header, whose content is not repeated */
export function DeviceHead({ entry, tab }: { entry: Entry; tab: DeviceTab }) {
	const { key, session, vitals } = entry;
	const { firmware, quietHours } = useTopic("firmware", "quiet");
	const update = useMayChange() && tab !== "firmware" && firmware.findUpdate(entry);
	return (
		<section class="panel hero" aria-label="Overview">
			<Ring entry={entry} />
			<div class="label">
				<DeviceLabel entry={entry} />
				<DeviceQuiet entry={entry} />
				{update && <a href={deviceAddress(key, "firmware")}>Update to {update.selector}</a>}
			</div>
			<div class="actions">
				<PlayOrStop entry={entry} />
				<a class="button" href={announceAddress({ keys: new Set([key]) })}>
					Announce…
				</a>
				{session.features.includes("identify") && (
					<Action deviceKey={key} ask={{ command: "identify" }} look="identify" label="Flash light" />
				)}
				<Menu label="More">
					{(close) => (
						<>
							{more.map(
								([text, ask]) =>
									isSupported(ask, session.features) && (
										<Action key={text} deviceKey={key} ask={ask} onSent={close}>
											{text}
										</Action>
									),
							)}
							{quietHours.value && session.features.includes("quiet") && (
								<a class="button" href={schedulesAddress({ device: key })}>
									Quiet hours…
								</a>
							)}
						</>
					)}
				</Menu>
			</div>
			<ControlSlider deviceKey={key} name="set_volume" value={vitals.volume} />
			<div class="outcomes">
				{outcomes.map((name) => (
					<Outcome key={name} deviceKey={key} name={name} />
				))}
			</div>
			<DeviceNotice entry={entry} tab={tab} />
		</section>
	);
}

/** Button that plays the startup chime, like the one on the device, or stops a sound. Chimes cannot be stopped. */
function PlayOrStop({ entry: { key, session, state } }: { entry: Entry }) {
	const { player_state: player, current_track: track = "" } = state?.peripherals.audio ?? {};
	const isPlaying = player === "playing";
	const isSound = isPlaying && track.startsWith("file:///sounds/") && session.features.includes("sound");
	return (
		<Action
			deviceKey={key}
			ask={isSound ? { command: "stop_sound" } : { command: "play_audio", value: "startup" }}
			hasNoEffect={isPlaying && !isSound}
		>
			{isSound ? "Stop" : isPlaying ? "Playing" : "Play"}
		</Action>
	);
}
