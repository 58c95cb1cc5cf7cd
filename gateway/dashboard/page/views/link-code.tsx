/** Login link as QR code and text. */

import { useEffect, useState } from "preact/hooks";
import type { QrCodeGenerateResult } from "uqr";
import { isLoopback } from "../../../../hosts/esp32/nvs-settings.js";
import { CopyLine } from "../parts/copy-button.js";

export function LinkCode({ url }: { readonly url: string }) {
	return (
		<>
			<QrCode text={url} />
			<CopyLine text={url} />
			{isLoopback(new URL(url).hostname) && (
				<p class="hint">
					Other devices cannot reach <code>{location.hostname}</code>. Open this page at the computer's
					address on your network first.
				</p>
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
	if (!code) return <div class="qr" />;
	const squares = code.data.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : "")));
	return (
		<svg class="qr" viewBox={`0 0 ${code.size} ${code.size}`} role="img" aria-label="QR code of the link">
			<path d={squares.join("")} />
		</svg>
	);
}
