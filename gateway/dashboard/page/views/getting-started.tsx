/** Shown without devices: how to add one, with the address of this gateway. */

import { ownDeviceAddress } from "../app/addresses.js";
import { TokenCommand } from "../parts/copy-button.js";
import { Panel } from "../parts/panel.js";
import { Permitted } from "../parts/permitted.js";
import { RejectedDevices } from "./issues.js";

export function GettingStarted() {
	const address = ownDeviceAddress();
	return (
		<>
			<div class="start">
				<h1>No devices yet</h1>
				<p>Devices appear as soon as they connect to this gateway.</p>
				<Permitted>
					<p>There are two ways to add one:</p>
					<Panel title="Virtual device on this computer" look="stack">
						<p>Runs the real firmware in a process. In the project folder:</p>
						<TokenCommand
							text={(token) => `DEVICE_TOKEN=${token} npm run device -- --model proto-1 --gateway ${address}`}
						/>
						<p class="hint">
							Copy inserts the device token. Keep it secret: anyone who has it can impersonate a device.
						</p>
					</Panel>
					<Panel title="Board" look="stack">
						<p>
							Connect it by USB to this computer and <a href="#/add">install the firmware</a>, from this page
							or by a command.
						</p>
					</Panel>
				</Permitted>
			</div>
			<RejectedDevices />
		</>
	);
}
