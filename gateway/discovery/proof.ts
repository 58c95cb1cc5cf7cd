import { createHmac } from "node:crypto";
import {
	answerText,
	gatewayService,
	proofCharacters,
	questionText,
} from "../../device/protocol/gateway-proof.js";
import { deviceTokenOf, equalSecrets } from "../access/secrets.js";

/**
 * @param question queried name, see gateway-proof.ts
 * @param address URL at which the device can connect
 * @param secrets tokens of devices
 * @returns proof for the response; undefined if the device has neither one of the tokens nor a token derived
 * from them
 */
export function proofFor(question: string, address: string, secrets: readonly string[]): string | undefined {
	const [nonce = "", deviceId = "", shown = "", ...rest] = question.split(".");
	if (rest.join(".") !== `_sub.${gatewayService}`) return undefined;
	const proofOf = (token: string, text: string) =>
		createHmac("sha256", token).update(text).digest("hex").slice(0, proofCharacters);
	const token = secrets
		.flatMap((secret) => [secret, deviceTokenOf(secret, deviceId)])
		.find((candidate) => equalSecrets(proofOf(candidate, questionText(nonce, deviceId)), shown));
	return token && proofOf(token, answerText(nonce, deviceId, address));
}
