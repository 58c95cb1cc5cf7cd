/** Says why this browser cannot install, and how to do it by command line. */

import { ownDeviceAddress } from "../model/own-address.js";
import { ModelNames, TokenCommand } from "../parts/token-command.js";

export function WithoutSerial() {
	return (
		<>
			<section class="panel stack">
				<h2>This page cannot reach USB ports here</h2>
				{isSecureContext ? (
					<p>
						This browser has no Web Serial. Chrome, Edge and Opera on a computer have it; open this page in
						one of them.
					</p>
				) : (
					<p>
						Browsers give USB ports only to pages that came by https, or from the computer itself. Open this
						page by https, or, on the computer that the gateway runs on, by{" "}
						<code>http://localhost:{location.port || 80}</code>.
					</p>
				)}
			</section>
			<section class="panel stack">
				<h2>By command line</h2>
				<p>
					In the project's folder, with the board connected; <ModelNames /> comes first:
				</p>
				<TokenCommand
					text={(token) =>
						`npm run flash -- dev-1 ssid=<name> password=<password> gateway=${ownDeviceAddress()} token=${token}`
					}
				/>
				<p class="hint">
					Copy fills in the device token, which is a secret. On the gateway's computer leave out{" "}
					<code>token=</code>: it is found there. <code>npm run token -- &lt;device id&gt;</code> makes one
					for a single device.
				</p>
			</section>
		</>
	);
}
