/** JSON messages between the simulated hardware and the panel. */

import type { AbortNote, EndedRun } from "simulator/crash";
import type { LogLine, PlayedSound } from "simulator/log";
import type { ButtonName } from "../../../device/host.js";

/** What the panel stores for the device, as flash does on a board, and the state of its controls. */
export interface Boot {
	/** Of device/protocol/models.ts. */
	readonly model: string;
	/** Six bytes in hex, joined by colons. */
	readonly macAddress: string;
	readonly resetReason: string;
	readonly settings: Readonly<Record<string, string>>;
	/** The file for the image of an update. */
	readonly slotPath: string;
	/** The last crash, until it is cleared. */
	readonly ended?: EndedRun;
	readonly isWiFiOn: boolean;
	/** Whether connections to the gateway fail. */
	readonly isGatewayCut: boolean;
	/** 0 to 4095. */
	readonly light: number;
	readonly isTouched: boolean;
	readonly pressed: readonly ButtonName[];
}

/** From the panel; one field per message. */
export interface PanelInput {
	readonly boot?: Boot;
	readonly button?: { readonly name: ButtonName; readonly isPressed: boolean };
	readonly light?: number;
	readonly isTouched?: boolean;
	readonly isWiFiOn?: boolean;
	readonly isGatewayCut?: boolean;
}

/** To the panel; one field per message. */
export interface PanelOutput {
	readonly ready?: true;
	/** Six hexadecimal digits a pixel. */
	readonly ring?: string;
	readonly codec?: { readonly volume: number; readonly isMuted: boolean };
	/** By the samples at the audio output; null: nothing. */
	readonly sound?: PlayedSound | null;
	/** By a state report that was sent. */
	readonly reportedSound?: PlayedSound | null;
	/** The motor's share of full power, 0 to 1. */
	readonly haptics?: number;
	/** ECMA-419 `connection`. */
	readonly wifi?: number;
	readonly gateway?: "offline" | "connecting" | "connected";
	/** To be stored; null: to be deleted. */
	readonly setting?: { readonly name: string; readonly value: string | null };
	readonly log?: LogLine;
	/** What the firmware traces, as it comes. */
	readonly trace?: string;
	/** The firmware ends; each one takes the place of the previous one. */
	readonly abort?: AbortNote;
	readonly isCrashCleared?: true;
	readonly restart?: true;
}

/** A global of mcsim. */
declare const screen: {
	onMessage: (message: string | ArrayBuffer) => void;
	postMessage(message: string): void;
};

export class Panel {
	readonly #listeners: ((input: PanelInput) => void)[] = [];
	/** Called once, with what the panel has stored. */
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
