/**
 * Decentralized authentication of a NATS server, as `nsc` sets it up: an operator, an account with JetStream, and one
 * of its users with credentials. The tokens are JWTs signed by nkeys (docs.nats.io, "JWTs").
 */

import { randomUUID } from "node:crypto";
import { nkeys } from "@nats-io/transport-node";

type KeyPair = ReturnType<typeof nkeys.createUser>;

export interface NatsAccount {
	/** Lines for a server's configuration file. */
	readonly configuration: string;
	/** Content of the user's .creds file. */
	readonly credentials: Buffer;
}

const unlimited = { subs: -1, data: -1, payload: -1 };
const ofAccount = { ...unlimited, imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1 };
const ofJetStream = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 };

export function createNatsAccount(): NatsAccount {
	const [operator, system, account, user] = [
		nkeys.createOperator(),
		nkeys.createAccount(),
		nkeys.createAccount(),
		nkeys.createUser(),
	];
	const permissions = { pub: {}, sub: {} };
	const rights = { default_permissions: permissions };
	const operatorToken = sign(operator, operator, { type: "operator" });
	const systemToken = sign(operator, system, { type: "account", limits: ofAccount, ...rights });
	const limits = { ...ofAccount, ...ofJetStream };
	const accountToken = sign(operator, account, { type: "account", limits, ...rights });
	const userToken = sign(account, user, { type: "user", ...permissions, ...unlimited });
	return {
		configuration: [
			`operator: ${operatorToken}`,
			`system_account: ${system.getPublicKey()}`,
			"resolver: MEMORY",
			"resolver_preload: {",
			`  ${system.getPublicKey()}: ${systemToken}`,
			`  ${account.getPublicKey()}: ${accountToken}`,
			"}",
			"",
		].join("\n"),
		credentials: Buffer.from(
			[
				"-----BEGIN NATS USER JWT-----",
				userToken,
				"------END NATS USER JWT------",
				"",
				"-----BEGIN USER NKEY SEED-----",
				Buffer.from(user.getSeed()).toString(),
				"------END USER NKEY SEED------",
				"",
			].join("\n"),
		),
	};
}

function sign(issuer: KeyPair, subject: KeyPair, claims: object): string {
	const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
	const head = encode({ typ: "JWT", alg: "ed25519-nkey" });
	const body = encode({
		jti: randomUUID(),
		iat: Math.floor(Date.now() / 1000),
		iss: issuer.getPublicKey(),
		sub: subject.getPublicKey(),
		name: "test",
		nats: { ...claims, version: 2 },
	});
	const signature = Buffer.from(issuer.sign(Buffer.from(`${head}.${body}`))).toString("base64url");
	return `${head}.${body}.${signature}`;
}
