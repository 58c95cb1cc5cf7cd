/** People: login link for another device, and for monitors the tokens of all people. */

import { useEffect, useState } from "preact/hooks";
import type { QrCodeGenerateResult } from "uqr";
import { isThisComputer } from "../../../../hosts/esp32/nvs-settings.js";
import type { LoginLink } from "../../../api/login.js";
import { roleWords } from "../../../api/permissions.js";
import { request } from "../app/gateway.js";
import { useTopic } from "../app/hooks.js";
import { Button } from "../parts/button.js";
import { CopyLine } from "../parts/copy-button.js";
import { Panel } from "../parts/panel.js";
import { Tokens } from "./tokens.js";

export function People() {
	const { person } = useTopic("link");
	return (
		<>
			<h1 class="visually-hidden">People</h1>
			<Panel title="Log in another device" look="stack">
				{person && (
					<p class="hint">
						As {person.name}, who may {roleWords[person.role]}.
					</p>
				)}
				<OtherDevice />
			</Panel>
			{person?.role === "monitor" && <Tokens />}
		</>
	);
}

function OtherDevice() {
	const [link, setLink] = useState<LoginLink>();
	return (
		<>
			<div class="actions">
				<Button onClick={async () => setLink(await request("POST /login/link"))}>
					{link ? "Make another link" : "Make a link"}
				</Button>
			</div>
			{link && (
				<>
					<p role="status">Open this link on the other device. It works once, within ten minutes.</p>
					<QrCode text={link.url} />
					<CopyLine text={link.url} />
					{isThisComputer(new URL(link.url).hostname) && (
						<p class="hint">
							Other devices cannot reach <code>{location.hostname}</code>: open this page by the computer's
							address on your network first.
						</p>
					)}
				</>
			)}
		</>
	);
}

function QrCode({ text }: { text: string }) {
	const [code, setCode] = useState<QrCodeGenerateResult>();
	useEffect(() => {
		setCode(undefined);
		// Optional: the link is shown as text too.
		import("uqr").then(({ encode }) => setCode(encode(text, { border: 4 }))).catch(() => {});
	}, [text]);
	if (!code) return null;
	const squares = code.data.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : "")));
	return (
		<svg class="qr" viewBox={`0 0 ${code.size} ${code.size}`} role="img" aria-label="The link as a QR code">
			<path d={squares.join("")} />
		</svg>
	);
}
