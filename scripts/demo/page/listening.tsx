/** Speakers of the demo's devices, in the announce view. */

import { DeviceLink } from "../../../gateway/dashboard/page/parts/device-link.js";
import { HearIt } from "./hear-it.js";
import { LevelMeter } from "./level-meter.js";
import { Speaker } from "./speaker.js";
import { useBoard } from "./use-board.js";

/** Speakers by device, which play simultaneously. */
const speakers = new Map<string, Speaker>();

function speakerOf(device: string): Speaker {
	const speaker = speakers.get(device) ?? new Speaker();
	speakers.set(device, speaker);
	return speaker;
}

/** @param devices device ids */
export function Listening({ devices }: { readonly devices: readonly string[] }) {
	return (
		<section class="panel board" aria-label="Speakers">
			<h2>
				Speakers <span class="hint">of this demo's devices</span>
			</h2>
			<HearIt speakers={devices.map(speakerOf)} />
			{devices.map((device) => (
				<OneSpeaker key={device} device={device} />
			))}
		</section>
	);
}

function OneSpeaker({ device }: { readonly device: string }) {
	const board = useBoard(`api/demo/devices/${encodeURIComponent(device)}`, speakerOf(device));
	return (
		<div class="board-part">
			<DeviceLink deviceKey={device} />
			<LevelMeter sound={board?.sound ?? null} gain={board?.gain ?? 0} />
		</div>
	);
}
