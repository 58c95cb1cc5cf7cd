/**
 * Firmware of 16 MB, checked and synced to disk, compared with the same bytes written and synced by a bare server.
 */

import { Child } from "./child.js";
import { asForm, makeImage, post } from "./firmware.js";
import { alternate, pick, roundCount } from "./rounds.js";
import { compare, type Row } from "./row.js";
import type { GatewayServer } from "./servers/gateway-server.js";
import type { RawUploadServer } from "./servers/raw-upload-server.js";
import { startGateway } from "./servers/start-gateway.js";

const benchmark = "upload";
const imageBytes = 16_000_000;

interface Spent {
	readonly milliseconds: number;
	readonly cpuMilliseconds: number;
}

export async function run(): Promise<readonly Row[]> {
	const gateway = startGateway();
	const raw = new Child<RawUploadServer>("servers/raw-upload-server.ts");
	try {
		const [ours, reference] = await Promise.all([gateway.request("listen"), raw.request("listen")]);
		const form = asForm(makeImage(imageBytes));
		const upload =
			(server: Child<GatewayServer | RawUploadServer>, url: string, token: string) => async () => {
				const before = await server.request("usage", { isSettled: false });
				const began = performance.now();
				await post(url, token, form);
				const milliseconds = performance.now() - began;
				const after = await server.request("usage", { isSettled: false });
				return { milliseconds, cpuMilliseconds: (after.cpuMicros - before.cpuMicros) / 1000 };
			};
		const one = upload(gateway, `${ours.url}/ota/upload`, ours.tokens.monitor);
		const other = upload(raw, reference.url, "");
		await one();
		await other();
		const rounds = await alternate<Spent>(one, other, roundCount * 2);
		const what = "16 MB, checked and on disk, beside raw bytes to disk and fsync";
		return [
			compare(
				{ benchmark, what: `${what}: time`, unit: "ms", target: { of: "ratio", atMost: 1.7 } },
				pick(rounds, ({ milliseconds }) => milliseconds),
			),
			compare(
				{ benchmark, what: `${what}: CPU`, unit: "ms" },
				pick(rounds, ({ cpuMilliseconds }) => cpuMilliseconds),
			),
		];
	} finally {
		await Promise.all([gateway.close(), raw.close()]);
	}
}
