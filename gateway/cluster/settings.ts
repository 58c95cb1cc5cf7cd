import { StartError } from "../problem.js";
import {
	parsedSetting,
	readFileOf,
	readVariable,
	rejectWithout,
	type Setting,
	serverUrl,
} from "../setting.js";

export interface NatsSettings {
	readonly servers: readonly URL[];
	/** Content of a .creds file. */
	readonly credentials: Buffer | undefined;
	/** PEM; undefined: CA certificates of the system. */
	readonly authority: Buffer | undefined;
	/** Accepts servers below 2.11. */
	readonly allowOld: boolean;
}

const allowOld = parsedSetting("NATS_ALLOW_OLD", {
	description: "`1` accepts nats-server below 2.11, which may lose acknowledged data when it is killed",
	defaultText: "0",
	parse: (text) => (text === "1" || text === "0" ? text === "1" : undefined),
	form: "1 or 0",
});

/** Settings of the cluster; undefined: none. URLs may contain a password, so they are not shown. */
export const nats: Setting<NatsSettings | undefined> = {
	variables: {
		NATS_URL: {
			description:
				"NATS servers with JetStream, separated by commas: `nats://`, or `tls://` with a name, not an IP address; see [Cluster](cluster/README.md)",
		},
		NATS_CREDS: { description: "`.creds` file; or `nats://user:password@host` in `NATS_URL`" },
		NATS_CA: {
			byDefault: "the system's",
			description: "PEM file with the authority of the servers' certificates",
		},
		...allowOld.variables,
	},
	read: (environment) => {
		const mayBeOld = allowOld.read(environment);
		const addresses = readVariable(environment, "NATS_URL")?.split(",");
		if (!addresses) {
			rejectWithout(environment, "NATS_URL", ["NATS_CREDS", "NATS_CA"]);
			return undefined;
		}
		const servers = addresses.map(
			(address) => serverUrl("NATS_URL", address.trim(), ["nats:", "tls:"]) ?? rejectUrl(),
		);
		return {
			servers: servers.map(({ url }) => url),
			credentials: readFileOf(environment, "NATS_CREDS", "a .creds file"),
			authority: readFileOf(environment, "NATS_CA", "a PEM file"),
			allowOld: mayBeOld,
		};
	},
};

function rejectUrl(): never {
	throw new StartError(
		"NATS_URL is invalid. Set it to URLs such as nats://10.0.0.1:4222,nats://10.0.0.2:4222.",
	);
}
