/** One firmware image to many readers: the gateway's processor time beside nginx's for the same bytes. */

import { Child } from "./child.js";
import { asForm, makeImage, post } from "./firmware.js";
import type { Readers, Reading } from "./load/readers.js";
import { alternate, pick } from "./rounds.js";
import { compare, type Row } from "./row.js";
import type { GatewayServer } from "./servers/gateway-server.js";
import { hasNginx, howToInstall, Nginx } from "./servers/nginx.js";
import { startGateway } from "./servers/start-gateway.js";

const benchmark = "image";
/** The size of an ESP32-S3's firmware. */
const imageBytes = 1 << 20;
/** As a device's (device/update/download.ts). */
const blockBytes = 16 * 1024;

export async function run(): Promise<readonly Row[]> {
	if (!hasNginx()) {
		console.log(`\nimage: left out. ${howToInstall}`);
		return [];
	}
	const image = makeImage(imageBytes);
	const gateway = startGateway();
	const readers = new Child<Readers>("load/readers.ts");
	let nginx: Nginx | undefined;
	try {
		nginx = await Nginx.start({ "firmware.bin": image });
		const { url, tokens } = await gateway.ask("listen");
		await post(`${url}/ota/upload`, tokens.monitor, asForm(image));
		const reading = { size: image.length };
		const servers: Servers = {
			readers,
			nginx,
			gateway,
			ours: { ...reading, url: `${url}/ota/firmware.bin`, token: tokens.device },
			reference: { ...reading, url: `${nginx.url}/firmware.bin`, token: "" },
		};
		const rows: Row[] = [];
		// So that all code is compiled, which takes a few thousand connections as well as requests.
		for (const side of [servers.ours, servers.reference])
			for (let time = 0; time < 40; time++)
				await readers.ask("read", { ...side, readers: 100, block: time < 3 ? blockBytes : image.length });
		for (const block of [image.length, blockBytes])
			for (const count of [1, 100]) rows.push(await compareReaders(servers, count, block));
		return rows;
	} finally {
		await Promise.all([readers.close(), gateway.close(), nginx?.close()]);
	}
}

interface Servers {
	readonly readers: Child<Readers>;
	readonly nginx: Nginx;
	readonly gateway: Child<GatewayServer>;
	readonly ours: Omit<Reading, "readers" | "block">;
	readonly reference: Omit<Reading, "readers" | "block">;
}

async function compareReaders(servers: Servers, count: number, block: number): Promise<Row> {
	const { readers, nginx, gateway, ours, reference } = servers;
	// A single one is too short to be measured.
	const times = count === 1 ? 20 : 4;
	const used = (side: Reading, cpu: () => number | Promise<number>) => async () => {
		const before = await cpu();
		for (let time = 0; time < times; time++) await readers.ask("read", side);
		return ((await cpu()) - before) / times / 1000;
	};
	const gatewayCpu = async () => (await gateway.ask("usage", { isSettled: false })).cpuMicros;
	const one = used({ ...ours, readers: count, block }, gatewayCpu);
	const other = used({ ...reference, readers: count, block }, () => nginx.cpuMicros());
	await one();
	await other();
	const rounds = await alternate(one, other);
	const how = block === ours.size ? "whole" : `blocks of ${block / 1024} KiB`;
	return compare(
		{
			benchmark,
			what: `1 MiB, ${how}, ${count} reader${count === 1 ? "" : "s at once"}: CPU of the server`,
			unit: "ms",
			...(count > 1 && { target: { of: "ratio", atMost: 3 } }),
		},
		pick(rounds, (milliseconds) => milliseconds),
	);
}
