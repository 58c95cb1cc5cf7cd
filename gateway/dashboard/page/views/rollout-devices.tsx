/** The devices of a roll-out by their status, read from the gateway on request. */

import { useEffect, useState } from "preact/hooks";
import { type RolloutDevice, type RolloutHead, watchWords } from "../../../api/client/rollout.js";
import { sentence } from "../../../api/client/words.js";
import { type DeviceStatus, deviceStatuses, deviceWords } from "../../../api/statuses.js";
import { useApp, useNow } from "../app/hooks.js";
import { Grid } from "../parts/grid.js";
import { capital } from "../parts/presence.js";
import { DeviceLink } from "./device-link.js";

export function DevicesByStatus({ head }: { head: RolloutHead }) {
	const [shown, setShown] = useState<DeviceStatus>();
	const there = deviceStatuses.filter((status) => head.counts[status] > 0);
	return (
		<>
			<fieldset class="statuses" aria-label="Devices by status">
				{there.map((status) => (
					<button
						key={status}
						type="button"
						class={`small ${status}`}
						aria-pressed={status === shown}
						onClick={() => setShown(status === shown ? undefined : status)}
					>
						{head.counts[status].toLocaleString("en")} {deviceWords[status]}
					</button>
				))}
			</fieldset>
			{shown && <Devices key={shown} head={head} status={shown} />}
		</>
	);
}

/** Read again when the roll-out's counts change, which the gateway says. */
function Devices({ head, status }: { head: RolloutHead; status: DeviceStatus }) {
	const { rollouts } = useApp();
	const now = useNow(1000);
	const [read, setRead] = useState<{ readonly devices: readonly RolloutDevice[]; readonly at: number }>();
	const { id, counts } = head;
	useEffect(() => {
		let isShown = true;
		rollouts.devices(id, [status]).then(
			(devices) => isShown && setRead({ devices, at: Date.now() }),
			() => {},
		);
		return () => {
			isShown = false;
		};
	}, [rollouts, id, status, counts]);
	if (!read) return <p class="hint">Reading…</p>;
	const { devices, at } = read;
	if (devices.length === 0) return <p class="hint">None any more.</p>;
	const byId = new Map(devices.map((device) => [device.deviceId, device]));
	return (
		<div class="picker-list">
			<Grid label={`${capital(deviceWords[status])} devices`} keys={[...byId.keys()]} height={40} gap={0}>
				{(key) => (
					<div class="row">
						<DeviceLink deviceKey={key} />
						<span class="hint">{sentenceOf(head, byId.get(key), Math.max(0, now - at) / 1000)}</span>
					</div>
				)}
			</Grid>
		</div>
	);
}

/** @param passedSeconds since it was read */
function sentenceOf(
	{ version }: RolloutHead,
	device: RolloutDevice | undefined,
	passedSeconds: number,
): string {
	if (!device) return "";
	const { reason, soakSecondsLeft, attempts } = device;
	if (reason) return sentence(reason);
	if (soakSecondsLeft !== null) {
		const left = Math.max(0, Math.ceil(soakSecondsLeft - passedSeconds));
		return `Runs ${version}, ${watchWords(left)}.`;
	}
	return attempts > 1 ? `${attempts} attempts` : "";
}
