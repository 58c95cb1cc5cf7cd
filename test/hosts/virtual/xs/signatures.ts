/** Device's signature check in XS. The response to each signature contains the verdict and the duration. */

import Time from "time";
import Channel from "virtual/channel";
import { finish } from "../../../../device/update/p256.js";
import { readUpdateSignature, wrongSignature } from "../../../../device/update/signature.js";

export default function main(): void {
	/** @param request keys and signature, with a space between @param payload the SHA-256 */
	const channel = new Channel("signatures", {}, (_request, detail, payload) => {
		const [keys = "", signature] = String(detail).split(" ");
		const start = Time.microseconds;
		const problem = check(keys, signature, payload?.slice().buffer ?? new ArrayBuffer(0));
		channel.post("checked", { problem: problem ?? null, microseconds: Time.microseconds - start });
	});
}

function check(keys: string, signature: string | undefined, sha256: ArrayBuffer): string | undefined {
	try {
		const begin = readUpdateSignature(keys, signature);
		return begin && !finish(begin(sha256)) ? wrongSignature : undefined;
	} catch (error) {
		return error instanceof Error ? error.message : String(error);
	}
}
