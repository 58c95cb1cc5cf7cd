/** Header of a device page: label, frequent actions and notices. */

import ellipsis from "lucide-static/icons/ellipsis.svg";
import lamp from "lucide-static/icons/lightbulb.svg";
import megaphone from "lucide-static/icons/megaphone.svg";
import { featureFor } from "../../../../device/protocol/messages.js";
import { chimeWords, chosenChimes } from "../../../api/client/command-words.js";
import type { Entry } from "../../../api/client/fleet.js";
import type { ConfirmableCommand } from "../../../api/commands.js";
import { type DeviceTab, deviceAddress, roomAddress, viewAddress } from "../app/addresses.js";
import { useIsLive, useMayChange, useTopic } from "../app/hooks.js";
import { nameOf } from "../model/filter.js";
import { Action, ControlSlider, Outcome } from "../parts/controls.js";
import { Icon } from "../parts/icon.js";
import { Menu } from "../parts/menu.js";
import { PageHead } from "../parts/page-head.js";
import { Permitted } from "../parts/permitted.js";
import { isPlaying } from "../parts/presence.js";
import { Ring } from "../parts/ring.js";
import { Mute, useVolume } from "../parts/tile.js";
import { DeviceLabel } from "./device-label.js";
import { DeviceNotice } from "./device-notice.js";
import { RoomQuiet } from "./room-tile.js";

/** Less frequent commands. */
const more: readonly (readonly [text: string, ask: ConfirmableCommand])[] = [
	["Refresh", { command: "query_state" }],
	["Reconnect", { command: "boot_device" }],
	["Restart", { command: "restart" }],
	...chosenChimes.map((value) => [`Play “${chimeWords[value]}”`, { command: "play_audio", value }] as const),
];
const outcomes = ["play_audio", "stop_sound", "identify", "query_state", "boot_device", "restart"] as const;

/** Whether firmware with these features supports a command. */
function isSupported(ask: ConfirmableCommand, features: readonly string[]): boolean {
	const feature = ask.command === "boot_device" ? undefined : featureFor(ask);
	return feature === undefined || features.includes(feature);
}

/** @param tab tab below the header, whose content is not repeated */
export function DeviceHead({ entry, tab }: { entry: Entry; tab: DeviceTab }) {
	const { key, session } = entry;
	const { firmware, quietHours } = useTopic("firmware", "quiet");
	const isConnected = useIsLive() && entry.session.connected;
	const update = useMayChange() && tab !== "firmware" && firmware.findUpdate(entry);
	const { room } = session;
	const name = nameOf(entry);
	const volume = useVolume([entry]);
	return (
		<section class="hero" aria-label="Overview">
			<PageHead
				title={name}
				parent={room === undefined ? { title: "Home", href: "#/" } : { title: room, href: roomAddress(room) }}
			>
				<Permitted action="play_sound" isSilent>
					<a class="button compact" aria-label="Announce" href={viewAddress("announce", { devices: [key] })}>
						<Icon of={megaphone} />
						<span>Announce</span>
					</a>
				</Permitted>
				{session.features.includes("identify") && (
					<Action deviceKey={key} ask={{ command: "identify" }} look="icon-button" label="Flash light">
						<Icon of={lamp} />
					</Action>
				)}
				<Menu label="More" look="icon-button" icon={ellipsis}>
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
								<Permitted action="set_quiet" isSilent>
									<a class="button" href={viewAddress("schedules", { devices: [key] })}>
										Quiet hours…
									</a>
								</Permitted>
							)}
						</>
					)}
				</Menu>
			</PageHead>
			<div class="panel hero-card">
				<Ring entry={entry} />
				<div class="label">
					<p class="facts">
						{isConnected && (isPlaying(entry) ? "Playing" : tab !== "diagnostics" && "Connected")}
						{session.features.includes("quiet") && <RoomQuiet room={room} device={key} />}
						{update && <a href={deviceAddress(key, "firmware")}>Update to {update.selector}</a>}
						{outcomes.map((name) => (
							<Outcome key={name} deviceKey={key} name={name} />
						))}
					</p>
					<DeviceLabel entry={entry} />
				</div>
				<div class="hero-volume">
					<Mute title={name} volume={volume} />
					<ControlSlider
						deviceKey={key}
						name="set_volume"
						value={volume.value}
						isMuted={volume.isMuted}
						limit={volume.limit}
					/>
					{isSound(entry) && (
						<Action deviceKey={key} ask={{ command: "stop_sound" }}>
							Stop
						</Action>
					)}
				</div>
			</div>
			<DeviceNotice entry={entry} tab={tab} />
		</section>
	);
}

/** Whether a sound plays that can be stopped, unlike a chime. */
function isSound(entry: Entry): boolean {
	const { current_track: track = "" } = entry.state?.peripherals.audio ?? {};
	return isPlaying(entry) && track.startsWith("file:///sounds/") && entry.session.features.includes("sound");
}
