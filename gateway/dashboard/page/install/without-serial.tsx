/** Says why this browser cannot install, and how to do it by command line. */

import { Panel } from "../parts/panel.js";
import { FlashCommand, ModelNames } from "../parts/token-command.js";

export function WithoutSerial() {
	return (
		<>
			<Panel title="This page cannot reach USB ports here" look="stack">
				{isSecureContext ? (
					<p>
						This browser has no Web Serial, by which a page reaches a board. Open this page in a browser on a
						computer that has it, or use the command line.
					</p>
				) : (
					<p>
						Browsers give USB ports only to pages that came by https, or from the computer itself. Open this
						page by https, or, on the computer that the gateway runs on, by{" "}
						<code>http://localhost:{location.port || 80}</code>.
					</p>
				)}
			</Panel>
			<Panel title="By command line" look="stack">
				<p>
					In the project's folder, with the board connected; <ModelNames /> comes first:
				</p>
				<FlashCommand />
				<p class="hint">
					Copy fills in the device token, which is a secret. On the gateway's computer leave out{" "}
					<code>token=</code>: it is found there. <code>npm run token -- &lt;device id&gt;</code> makes one
					for a single device.
				</p>
			</Panel>
		</>
	);
}
