import { StartError } from "../problem.js";
import { contentOf, given, parsed, refuseWithout, type Setting, serverUrl } from "../setting.js";

export interface NatsSettings {
	readonly servers: readonly URL[];
	/** Content of a .creds file. */
	readonly credentials: Buffer | undefined;
	/** PEM; undefined: CA certificates of the system. */
	readonly authority: Buffer | undefined;
	/** Accepts servers below 2.11. */
	readonly allowOld: boolean;
}

const allowOld = parsed("NATS_ALLOW_OLD", {
	description: "`1`: also nats-server below 2.11, which may lose what it has answered when it is killed",
	defaultText: "0",
	parse: (text) => (text === "1" || text === "0" ? text === "1" : undefined),
	form: "1 or 0",
});

/** Settings of the cluster; undefined: none. URLs may contain a password, so they are not shown. */
export const nats: Setting<NatsSettings | undefined> = {
	variables: {
		NATS_URL: {
			description:
				"servers of NATS with JetStream, `nats://` or `tls://` (then a name, not an IP address), separated by commas: all gateways on them act as one",
		},
		NATS_CREDS: { description: "a `.creds` file; or `nats://user:password@host` in `NATS_URL`" },
		NATS_CA: {
			byDefault: "the system's",
			description: "a PEM file with the authority of the servers' certificates",
		},
		...allowOld.variables,
	},
	read: (environment) => {
		const mayBeOld = allowOld.read(environment);
		const addresses = given(environment, "NATS_URL")?.split(",");
		if (!addresses) {
			refuseWithout(environment, "NATS_URL", ["NATS_CREDS", "NATS_CA"]);
			return undefined;
		}
		const servers = addresses.map(
			(address) => serverUrl("NATS_URL", address.trim(), ["nats:", "tls:"]) ?? refuseUrl(),
		);
		return {
			servers: servers.map(({ url }) => url),
			credentials: contentOf(environment, "NATS_CREDS", "a .creds file"),
			authority: contentOf(environment, "NATS_CA", "a PEM file"),
			allowOld: mayBeOld,
		};
	},
};

function refuseUrl(): never {
	throw new StartError(
		"NATS_URL is not a list of addresses such as nats://10.0.0.1:4222,nats://10.0.0.2:4222; correct it.",
	);
}
