/** Command line with the device token, which is hidden on screen and inserted when copying. */

import { models } from "../../../../device/protocol/schema.js";
import { request } from "../app/gateway.js";
import { ownDeviceAddress } from "../model/own-address.js";
import { CopyLine } from "./copy-button.js";

interface TokenCommandProps {
	readonly text: (token: string) => string;
	/** Visible token; undefined hides it. */
	readonly token?: string | undefined;
}

export function TokenCommand({ text, token }: TokenCommandProps) {
	return (
		<CopyLine
			text={text(token ?? "<device token>")}
			copied={async () => text(token ?? (await readDeviceToken()))}
		/>
	);
}

/** Command that installs the firmware on a board. */
export function FlashCommand({ token }: Pick<TokenCommandProps, "token">) {
	const settings = `ssid=<name> password=<password> gateway=${ownDeviceAddress()}`;
	return <TokenCommand token={token} text={(shown) => `npm run flash -- dev-1 ${settings} token=${shown}`} />;
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

/** @throws Rejection */
export async function readDeviceToken(): Promise<string> {
	return (await request("GET /api/device-token")).token;
}
