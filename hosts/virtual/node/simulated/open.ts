/** Opens the simulated peripheral of a channel. */

import type { Kind } from "../../peripherals.js";
import type { Channel, ChannelHandler } from "../channel.js";
import type { Hardware, Simulate } from "./hardware.js";
import { dns, time, udp, wifi } from "./network.js";
import { AudioOutput, haptics, input, pixels, serial, smbus } from "./peripherals.js";
import { keyValue, resource, rtc, system } from "./storage.js";
import { TcpSocket } from "./tcp.js";
import { bootState, runningImage, sha256, updateSlot } from "./update.js";

const simulated: { readonly [K in Kind]: Simulate<K> } = {
	input,
	haptics,
	pixels,
	audio: (channel, hardware) => new AudioOutput(channel, hardware),
	smbus,
	serial,
	system,
	rtc,
	"key-value": keyValue,
	resource,
	"update-slot": updateSlot,
	"running-image": runningImage,
	"boot-state": bootState,
	sha256,
	wifi,
	dns,
	time,
	udp,
	tcp: (channel) => new TcpSocket(channel),
};

/** Request names are not checked, because the firmware's half is typed by the same table. @throws Error for an unknown kind */
export function openPeripheral(channel: Channel, hardware: Hardware): ChannelHandler {
	const { kind } = channel;
	if (!Object.hasOwn(simulated, kind)) throw new Error(`unknown simulated peripheral "${kind}"`);
	const peripheral = Reflect.get(simulated, kind)(channel, hardware);
	return {
		onPost: (request, detail, payload) => peripheral[request](detail, payload),
		onCall: (request, detail, payload) => {
			const answer = peripheral[request](detail, payload);
			return answer instanceof Uint8Array ? { payload: answer } : { detail: answer };
		},
		onClose: () => peripheral.onClose?.(),
	};
}
