/** Command line with the device token, which is hidden on screen and inserted when copying. */

import { models } from "../../../../device/protocol/schema.js";
import { request } from "../app/gateway.js";
import { ownDeviceAddress } from "../model/own-address.js";
import { CopyLine } from "./copy-button.js";

export function TokenCommand({ text }: { readonly text: (token: string) => string }) {
	const copied = async () => text((await request("GET /api/device-token")).token);
	return <CopyLine text={text("<device token>")} copied={copied} />;
}

/** Command that installs the firmware on a board. */
export function FlashCommand() {
	const settings = `ssid=<name> password=<password> gateway=${ownDeviceAddress()}`;
	return <TokenCommand text={(token) => `npm run flash -- dev-1 ${settings} token=${token}`} />;
}

/** Model names of command lines: "dev-1 or proto-1". */
export function ModelNames() {
	return models.map((model, index) => (
		<span key={model}>
			{index > 0 && " or "}
			<code>{model.toLowerCase()}</code>
		</span>
	));
}
