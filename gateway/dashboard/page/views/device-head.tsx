/** The head of a device's page: which one it is, how it is, and what a person does most. */

import type { Entry } from "../../../api/client/fleet.js";
import { announceAddress, useIsLive } from "../app/hooks.js";
import type { AskedName } from "../model/asks.js";
import { Action, Outcome } from "../parts/controls.js";
import { Menu } from "../parts/menu.js";
import { Presence, Signal } from "../parts/presence.js";
import { Ring } from "../parts/ring.js";
import { DeviceLabel } from "./device-label.js";
import { DeviceNotice } from "./device-notice.js";

/** @param hasPrimary false where the part below has what is wanted most */
export function DeviceHead({ entry, hasPrimary }: { entry: Entry; hasPrimary: boolean }) {
	const { key, session, state } = entry;
	const isLive = useIsLive();
	const audio = state?.peripherals.audio;
	return (
		<section class="panel hero" aria-label="Overview">
			<Ring entry={entry} size="small">
				{audio && session.connected && isLive && <span>{audio.volume}</span>}
			</Ring>
			<div class="hero-text">
				<DeviceLabel entry={entry} />
				<p class="facts">
					<Presence entry={entry} />
					{session.name !== undefined && session.deviceId !== null && <span>{session.deviceId}</span>}
					<span>{session.model ?? "Model not known"}</span>
					{session.firmwareVersion !== null && <span>Firmware {session.firmwareVersion}</span>}
					<Signal entry={entry} />
				</p>
			</div>
			<div class="hero-actions">
				<div class="actions">
					{session.features.includes("identify") && (
						<Action deviceKey={key} ask={{ command: "identify" }} isPrimary={hasPrimary}>
							Identify
						</Action>
					)}
					<a class="button" href={announceAddress({ keys: new Set([key]) })}>
						Announce…
					</a>
					<More entry={entry} />
				</div>
				<div class="outcomes">
					{outcomes.map((name) => (
						<Outcome key={name} deviceKey={key} name={name} />
					))}
				</div>
			</div>
			<DeviceNotice entry={entry} />
		</section>
	);
}

const outcomes = [
	"identify",
	"query_state",
	"boot_device",
	"restart",
] as const satisfies readonly AskedName[];

/** What is wanted rarely. */
function More({ entry: { key, session } }: { entry: Entry }) {
	return (
		<Menu label="More">
			{(close) => (
				<>
					<Action deviceKey={key} ask={{ command: "query_state" }} onAsk={close}>
						Ask for a report
					</Action>
					<Action deviceKey={key} ask={{ command: "boot_device" }} onAsk={close}>
						Reconnect
					</Action>
					{session.features.includes("restart") && (
						<Action deviceKey={key} ask={{ command: "restart" }} onAsk={close}>
							Restart
						</Action>
					)}
				</>
			)}
		</Menu>
	);
}
