import { createHmac } from "node:crypto";
import {
	answerText,
	gatewayService,
	proofCharacters,
	questionText,
} from "../../device/protocol/gateway-proof.js";
import { deviceTokenOf, equalSecrets } from "../access/secrets.js";

/**
 * @param question the name that a device asks for: see gateway-proof.ts @param address at which it can connect
 * @param secrets the tokens of devices
 * @returns the proof of the answer; undefined: the device has none of the tokens, and no token of its own that is derived from them
 */
export function proofFor(question: string, address: string, secrets: readonly string[]): string | undefined {
	const [nonce = "", deviceId = "", shown = "", ...rest] = question.split(".");
	if (rest.join(".") !== `_sub.${gatewayService}`) return undefined;
	const proofOf = (token: string, text: string) =>
		createHmac("sha256", token).update(text).digest("hex").slice(0, proofCharacters);
	const token = secrets
		.flatMap((secret) => [secret, deviceTokenOf(secret, deviceId)])
		.find((each) => equalSecrets(proofOf(each, questionText(nonce, deviceId)), shown));
	return token && proofOf(token, answerText(nonce, deviceId, address));
}
