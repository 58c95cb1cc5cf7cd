/** A command line with the device token: it is not shown until a person asks, but copied. */

import { models } from "../../../../device/protocol/schema.js";
import { ask } from "../../../api/client/request.js";
import { Command } from "./command.js";

/** @param token shown in it; undefined: hidden */
export function TokenCommand({
	text,
	token,
}: {
	text: (token: string) => string;
	token?: string | undefined;
}) {
	return (
		<Command
			text={text(token ?? "<device token>")}
			toCopy={async () => text(token ?? (await readDeviceToken()))}
		/>
	);
}

/** The models as a command line names them: "dev-1 or proto-1". */
export function ModelNames() {
	return models.map((model, index) => (
		<span key={model}>
			{index > 0 && " or "}
			<code>{model.toLowerCase()}</code>
		</span>
	));
}

/** @throws Refusal */
export async function readDeviceToken(): Promise<string> {
	return (await ask<{ token: string }>("api/device-token")).token;
}
