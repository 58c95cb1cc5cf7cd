/** Shown without devices: commands that start one, with the address of this gateway. */

import { useState } from "preact/hooks";
import { isThisComputer } from "../../../../hosts/esp32/nvs-settings.js";
import { ownDeviceAddress } from "../model/own-address.js";
import { Button } from "../parts/button.js";
import { FlashCommand, ModelNames, readDeviceToken, TokenCommand } from "../parts/token-command.js";
import { RejectedDevices } from "./issues.js";

export function GettingStarted() {
	const [token, setToken] = useState<string>();
	const address = ownDeviceAddress();
	return (
		<>
			<div class="start">
				<h1>No device yet</h1>
				<p>A device shows up by itself as soon as it reaches this gateway. Two ways to get one:</p>
				<section class="panel stack" aria-labelledby="virtual">
					<h2 id="virtual">A virtual one, on this computer</h2>
					<p>The real firmware in a process. In the project's folder:</p>
					<TokenCommand
						token={token}
						text={(shown) => `DEVICE_TOKEN=${shown} npm run device -- --model proto-1 --gateway ${address}`}
					/>
				</section>
				<section class="panel stack" aria-labelledby="board">
					<h2 id="board">A board</h2>
					<p>
						Connect it by USB to this computer, and <a href="#/add">install the firmware from this page</a>.
						Or build and install it in the project's folder, with your Wi-Fi's name and password;{" "}
						<ModelNames /> comes first:
					</p>
					<FlashCommand token={token} />
					{isThisComputer(location.hostname) && (
						<p class="hint">
							A board cannot reach <code>{location.hostname}</code>. Start the gateway with{" "}
							<code>HOST=0.0.0.0</code> and open this page by the computer's address on your network.
						</p>
					)}
				</section>
				<div class="actions">
					<Button
						isChange
						onClick={async () => setToken(token === undefined ? await readDeviceToken() : undefined)}
					>
						{token === undefined ? "Show" : "Hide"} the device token
					</Button>
					{token === undefined && (
						<span class="hint">
							Copy fills it in. It is a secret: anyone who has it can pose as a device.
						</span>
					)}
				</div>
			</div>
			<RejectedDevices />
		</>
	);
}
