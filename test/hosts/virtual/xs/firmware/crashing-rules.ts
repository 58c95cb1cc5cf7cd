/** Rules that crash differently at each button, with the token in traces and errors. */

import type { ButtonName, Host } from "../../../../../device/host.js";

declare const device: Host;

export function showWiFi(): void {}

export function showLink(): void {}

export function onButton(name: ButtonName): void {
	const token = new device.storage.settings({}).read("token");
	trace(`pressed ${name} with ${token}\n`);
	switch (name) {
		case "play":
			throw new TypeError(`no volume for ${token}`);
		case "mute":
			reject();
			return;
		case "volumeUp":
			return fill([]);
		case "volumeDown":
			for (;;);
	}
}

async function reject(): Promise<void> {
	throw new Error("not handled");
}

function fill(chain: unknown[]): void {
	for (let link = chain; ; link = [link, link]) chain.push(link);
}
