/** Button that builds a release of this checkout and updates the device. */

import { useState } from "preact/hooks";
import { messageOf } from "../../../device/message-of.js";
import type { Entry } from "../../../gateway/api/client/fleet.js";
import { isUpdating } from "../../../gateway/api/client/words.js";
import { useApp } from "../../../gateway/dashboard/page/app/hooks.js";
import { Button } from "../../../gateway/dashboard/page/parts/button.js";
import { UpdateState } from "../../../gateway/dashboard/page/parts/presence.js";
import { demo } from "./requests.js";

/** @param next version of the next release */
export function MakeAndInstall({ entry, next }: { entry: Entry; next: string }) {
	const app = useApp();
	const { key, session } = entry;
	const [isMaking, setMaking] = useState(false);
	const [made, setMade] = useState<string>();
	const run = async () => {
		setMade(undefined);
		setMaking(true);
		try {
			const { version } = await demo.request("POST /api/demo/releases");
			void app.firmware.refresh();
			await app.update(key, version).catch((error: unknown) => {
				throw new Error(`${version} was built but not installed. ${messageOf(error)}`);
			});
			setMade(version);
		} finally {
			setMaking(false);
		}
	};
	return (
		<div class="board-part">
			<h3>Firmware</h3>
			<div class="actions">
				<Button
					look="primary"
					disabled={isMaking || !session.connected || isUpdating(session.metadata)}
					onClick={run}
				>
					Build and install {next}
				</Button>
			</div>
			<p role="status">{isMaking ? "Building a release of this checkout…" : made && `Built ${made}.`}</p>
			{made !== undefined && <UpdateState metadata={session.metadata} withReason />}
		</div>
	);
}
