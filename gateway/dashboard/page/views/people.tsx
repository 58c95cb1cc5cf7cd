/** People: login link for another device, and for monitors the tokens of all people. */

import { useEffect, useState } from "preact/hooks";
import type { QrCodeGenerateResult } from "uqr";
import { isLoopback } from "../../../../hosts/esp32/nvs-settings.js";
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
			<Panel title="Add phone or computer" look="stack">
				{person && (
					<p class="hint">
						Logs in as {person.name} ({person.role}: may {roleWords[person.role]}).
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
					{link ? "Create another link" : "Create link"}
				</Button>
			</div>
			{link && (
				<>
					<p role="status">
						Open this link on the other device. It works once and expires after ten minutes.
					</p>
					<QrCode text={link.url} />
					<CopyLine text={link.url} />
					{isLoopback(new URL(link.url).hostname) && (
						<p class="hint">
							Other devices cannot reach <code>{location.hostname}</code>. Open this page at the computer's
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
		<svg class="qr" viewBox={`0 0 ${code.size} ${code.size}`} role="img" aria-label="QR code of the link">
			<path d={squares.join("")} />
		</svg>
	);
}
