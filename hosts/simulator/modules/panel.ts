/** JSON messages between the simulated hardware and the panel. */

import type { AbortNote, EndedRun } from "simulator/crash";
import type { ButtonName } from "../../../device/host.js";

/** Persistent data of the device, which a board has in flash, and the state of the panel's controls. */
export interface Boot {
	/** Model of device/protocol/models.ts. */
	readonly model: string;
	/** Six bytes in hexadecimal, separated by colons. */
	readonly macAddress: string;
	readonly resetReason: string;
	readonly settings: Readonly<Record<string, string>>;
	/** Last crash, until it is cleared. */
	readonly ended?: EndedRun;
	readonly isWiFiOn: boolean;
	/** Whether connections to the gateway fail. */
	readonly isGatewayCut: boolean;
	/** 0 to 4095. */
	readonly light: number;
	readonly isTouched: boolean;
	readonly pressed: readonly ButtonName[];
}

/** Options of the simulated parts. */
export interface PanelOptions {
	readonly panel: Panel;
	/** State that the panel stored for this device. */
	readonly boot: Boot;
}

/** Message from the panel, with one field. */
export interface PanelInput {
	readonly boot?: Boot;
	readonly button?: { readonly name: ButtonName; readonly isPressed: boolean };
	readonly light?: number;
	readonly isTouched?: boolean;
	readonly isWiFiOn?: boolean;
	readonly isGatewayCut?: boolean;
}

/** Message to the panel, with one field. */
export interface PanelOutput {
	readonly ready?: true;
	/** Six hexadecimal digits per pixel. */
	readonly ring?: string;
	/** Volume of the codec, 0 to 100. */
	readonly volume?: number;
	readonly isPlaying?: boolean;
	/** Motor power, 0 to 1. */
	readonly haptics?: number;
	/** ECMA-419 `connection`. */
	readonly wifi?: number;
	readonly gateway?: "offline" | "connecting" | "connected";
	/** Setting to store, or to delete if the value is null. */
	readonly setting?: { readonly name: string; readonly value: string | null };
	/** Trace output of the firmware. */
	readonly trace?: string;
	/** Abort of the firmware; replaces the previous one. */
	readonly abort?: AbortNote;
	readonly isCrashCleared?: true;
	readonly restart?: true;
}

/** Global of mcsim. */
declare const screen: {
	onMessage: (message: string | ArrayBuffer) => void;
	postMessage(message: string): void;
};

export class Panel {
	readonly #listeners: ((input: PanelInput) => void)[] = [];
	/** Called once with the stored data. */
	onBoot: (boot: Boot) => void = () => {};

	constructor() {
		screen.onMessage = (message) => {
			if (typeof message === "string") this.#receive(JSON.parse(message));
		};
	}

	listen(listener: (input: PanelInput) => void): void {
		this.#listeners.push(listener);
	}

	post(output: PanelOutput): void {
		screen.postMessage(JSON.stringify(output));
	}

	#receive(input: PanelInput): void {
		if (input.boot) {
			const { onBoot } = this;
			this.onBoot = () => {};
			onBoot(input.boot);
		}
		for (const listener of this.#listeners) listener(input);
	}
}
