/**
 * Declarations of the SDK modules used by the hosts, for type checks without the SDK. Builds use the SDK's own typings, and the
 * replacements in esp32/typings and moddable/typings.
 */

declare module "Resource" {
	const Resource: new (path: string) => ArrayBuffer;
	export default Resource;
}

declare module "debug" {
	const Debug: { gc(): void };
	export default Debug;
}

declare module "file" {
	export class File {
		/** @param isWritable creates the file if it does not exist */
		constructor(path: string, isWritable?: boolean);
		position: number;
		read(type: typeof ArrayBuffer, byteCount: number): ArrayBuffer;
		write(bytes: ArrayBuffer): void;
		close(): void;
		/** @returns whether the file existed */
		static delete(path: string): boolean;
	}
}

declare module "instrumentation" {
	const Instrumentation: {
		/** @returns undefined in release builds */
		get(what: number | undefined): number | undefined;
		map(name: "XS Chunk Heap Used" | "XS Slot Heap Used"): number | undefined;
	};
	export default Instrumentation;
}

declare module "net" {
	const Net: {
		get(what: "IP"): string | undefined;
		/** Passes undefined as address if the name cannot be resolved. */
		resolve(name: string, onResolved: (name: string, address?: string) => void): void;
	};
	export default Net;
}

declare module "embedded:io/digital" {
	export interface DigitalOptions {
		pin: number;
		mode: number;
		activeLow?: boolean;
		initialValue?: 0 | 1;
		edge?: number;
		onReadable?: (this: Digital) => void;
	}

	export default class Digital {
		static readonly InputPullUp: number;
		static readonly Output: number;
		static readonly Rising: number;
		static readonly Falling: number;
		constructor(options: DigitalOptions);
		read(): 0 | 1;
		write(value: 0 | 1): void;
		close(): void;
	}
}

declare module "embedded:storage/flash" {
	export class Flash {
		status(): { readonly size: number };
		read(buffer: ByteBuffer, offset: number): number;
		close(): void;
	}

	const FlashStorage: { open(options: { path: string }): Flash };
	export default FlashStorage;
}

declare module "embedded:storage/key-value" {
	export class Storage {
		read(key: string): ArrayBuffer | string | number | bigint | undefined;
		write(key: string, value: string): void;
		delete(key: string): void;
		close(): void;
	}

	const KeyValueStorage: { open(options: { path: string; format: "string"; mode: "r" | "r+" }): Storage };
	export default KeyValueStorage;
}

declare module "embedded:network/interface/ethernet" {
	export default class Ethernet {
		constructor(options: { onChanged: (property: "connection" | "address") => void });
		readonly connection: number;
		readonly address: string | undefined;
		configure(options: { hostname?: string }): void;
		connect(): void;
		disconnect(): void;
		close(): void;
	}
}

declare module "embedded:network/interface/wifi" {
	export default class WiFi {
		constructor(options: { onChanged: (property: "connection" | "address") => void });
		readonly connection: number;
		readonly address: string | undefined;
		readonly SSID: string | undefined;
		readonly BSSID: string | undefined;
		readonly RSSI: number | undefined;
		readonly channel: number | undefined;
		configure(options: { hostname?: string }): void;
		scan(options: {
			onFound: (network: { readonly SSID: string; readonly RSSI: number }) => void;
			onComplete?: () => void;
		}): void;
		connect(options: { SSID: string; password?: string }): void;
		disconnect(): void;
		close(): void;
	}
}
