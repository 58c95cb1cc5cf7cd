/** Shown without devices: commands that start one, with the address of this gateway. */

import { isLoopback } from "../../../../hosts/esp32/nvs-settings.js";
import { ownDeviceAddress } from "../model/own-address.js";
import { Permitted } from "../parts/permitted.js";
import { FlashCommand, ModelNames, TokenCommand } from "../parts/token-command.js";
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
					<section class="panel stack" aria-labelledby="virtual">
						<h2 id="virtual">Virtual device on this computer</h2>
						<p>Runs the real firmware in a process. In the project folder:</p>
						<TokenCommand
							text={(token) => `DEVICE_TOKEN=${token} npm run device -- --model proto-1 --gateway ${address}`}
						/>
					</section>
					<section class="panel stack" aria-labelledby="board">
						<h2 id="board">Board</h2>
						<p>
							Connect it by USB to this computer and <a href="#/add">install the firmware from this page</a>.
							Or build and install it in the project folder, with the name and password of your Wi-Fi (
							<ModelNames />
							):
						</p>
						<FlashCommand />
						{isLoopback(location.hostname) && (
							<p class="hint">
								A board cannot reach <code>{location.hostname}</code>. Start the gateway with{" "}
								<code>HOST=0.0.0.0</code> and open this page at the computer's address on your network.
							</p>
						)}
					</section>
					<p class="hint">
						Copy inserts the device token. Keep it secret: anyone who has it can impersonate a device.
					</p>
				</Permitted>
			</div>
			<RejectedDevices />
		</>
	);
}
