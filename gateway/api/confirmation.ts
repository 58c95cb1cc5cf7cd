/** What a device can be asked to do that its own report confirms: for the page, and for the gateway where many are asked. */

import { lightOf } from "../../device/protocol/light.js";
import type { StateReport, Uplink } from "../../device/protocol/messages.js";
import type { Ask } from "./command.js";

/** A report comes every 5 s: one that is sent at once and one that is periodic both have had their time. */
const reportMs = 11_000;
/** Of a restart: Wi-Fi, TLS and a round of retries that fails, of 31 s. */
const restartMs = 60_000;

/** What a device has said, or that it has a new connection or none any more. */
export type DeviceEvent = Uplink | { readonly type: "connected" | "gone" };

/** How it ended. */
export interface End {
	readonly state: "done" | "failed" | "unsupported";
	/** Why it is not done. */
	readonly reason: string | null;
}

const done: End = Object.freeze({ state: "done", reason: null });

/** How long a device has to confirm it. */
export function confirmationMs({ command }: Ask): number {
	return command === "restart" ? restartMs : reportMs;
}

/** Whether a device may disconnect before it has confirmed it. */
export function endsConnection({ command }: Ask): boolean {
	return command === "boot_device" || command === "restart";
}

/** Whether an event ends it. @param passedMs since it was asked @returns undefined: it goes on */
export function endOf(ask: Ask, event: DeviceEvent, passedMs: number): End | undefined {
	const { command } = ask;
	switch (event.type) {
		case "state_report":
			return isConfirmedBy(ask, event, passedMs) ? done : undefined;
		case "command_error": {
			if (event.command !== command) return undefined;
			const isUnsupported = event.code === "unsupported" || event.code === "unknown_command";
			return { state: isUnsupported ? "unsupported" : "failed", reason: event.message };
		}
		case "connected":
			return command === "boot_device" ? done : undefined;
		case "gone":
			if (endsConnection(ask)) return undefined;
			return { state: "failed", reason: "The device disconnected before it confirmed it." };
		default:
			return undefined;
	}
}

/** Whether a report shows what was asked for. @param passedMs since then */
function isConfirmedBy(ask: Ask, { health, peripherals, quiet }: StateReport, passedMs: number): boolean {
	const { audio, led_ring, haptic_intensity } = peripherals;
	switch (ask.command) {
		case "set_volume":
			return audio.volume === ask.value;
		case "set_brightness":
			return Math.abs(led_ring.brightness_coef - ask.value) < 1e-4;
		case "set_auto_brightness":
			return (led_ring.auto_brightness ?? false) === ask.value;
		case "set_light": {
			const light = lightOf(ask.value);
			return led_ring.light?.color === light?.color && led_ring.light?.effect === light?.effect;
		}
		case "set_led":
			return led_ring.state_name === ask.value;
		case "set_haptics":
			return haptic_intensity === ask.value;
		case "play_audio":
			return audio.player_state === "playing" && audio.current_track.endsWith(`/${ask.value}`);
		case "stop_sound":
			return !audio.current_track.startsWith("file:///sounds/");
		case "identify":
			// The ring shows it even so, as in quiet hours or while an urgent sound plays, without the chime.
			if (audio.fault !== undefined || quiet?.until !== undefined) return true;
			if (audio.current_track.startsWith("file:///sounds/")) return true;
			return audio.player_state === "playing" && audio.current_track.endsWith("/startup");
		case "restart":
			return health.uptime_seconds * 1000 < passedMs;
		case "query_state":
			return true;
		case "boot_device":
			return false;
	}
}

/** Why it has failed, if the device does not confirm it. */
export function unconfirmed({ command }: Ask): string {
	if (command === "restart") return "The device did not restart in time.";
	return command === "boot_device"
		? "The device did not come back in time."
		: "The device did not confirm it in time.";
}
