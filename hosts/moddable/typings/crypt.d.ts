/** The SDK's typing does not accept views (modules/crypt/digest). */

declare module "crypt" {
	export class Digest {
		constructor(algorithm: "MD5" | "SHA1" | "SHA224" | "SHA256" | "SHA384" | "SHA512");
		write(data: string | ArrayBuffer | Uint8Array): void;
		close(): ArrayBuffer;
	}
}
