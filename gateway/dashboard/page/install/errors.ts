/** Errors of an installation with steps to resolve them. */

const downloadMode =
	"Enter download mode manually: hold the BOOT button, press and release the reset button (EN or RST), then release BOOT.";
const dataCable = "Use a USB cable that carries data. Many only charge.";

const texts = {
	no_port: {
		sentence: "No port selected.",
		steps: [
			"Connect the board by USB, try again, and select it in the browser's list.",
			`If it is not listed: ${dataCable.charAt(0).toLowerCase()}${dataCable.slice(1)}`,
			"If it is still not listed, install the driver of its USB bridge (CP210x, CH340), or on Linux join the group dialout.",
		],
	},
	port_busy: {
		sentence: "The port cannot be opened.",
		steps: [
			"Close other programs that use it, such as a serial monitor, another tab or npm run flash.",
			"On Linux, join the group of the port (often dialout) and log in again.",
			"Unplug the board and plug it in again.",
		],
	},
	no_answer: {
		sentence: "The board does not respond.",
		steps: [downloadMode, dataCable, "Check that you selected the right port."],
	},
	wrong_chip: {
		sentence: "The firmware does not support the chip of this board. Nothing was written.",
		steps: ["Select the right board model or port."],
	},
	no_download: {
		sentence: "",
		steps: ["Nothing was written. Try again. If it fails, check the gateway log."],
	},
	setting: { sentence: "", steps: ["Nothing was written. Change the setting and install again."] },
	not_set_up: {
		sentence: "The firmware on the board does not respond.",
		steps: [
			"If the ring shows a rainbow, the device is connected to a gateway. Change its settings on its page there.",
			"Install this firmware: the board may have none, or an older version without this feature.",
			"Press the reset button (EN or RST) and try again.",
		],
	},
	no_network: {
		sentence: "The board could not join the Wi-Fi network.",
		steps: [
			"Check the network name and password.",
			"Check that the network uses 2.4 GHz and is in range of the board.",
		],
	},
	rejected: { sentence: "The board rejected the settings.", steps: ["Correct the settings and try again."] },
	write_failed: {
		sentence: "The board stopped responding during the installation and will not start.",
		steps: [
			"Install again to repair it.",
			"Connect it directly, without a hub, with a short cable.",
			downloadMode,
		],
	},
	lost: {
		sentence: "The board was unplugged. It will not start if it was being written.",
		steps: ["Plug it in and install again to repair it.", "If you did not unplug it, replace the cable."],
	},
} as const;

export class InstallError extends Error {
	override name = "InstallError";
	/** Alternative steps, the most likely first. */
	readonly steps: readonly string[];

	/** @param sentence overrides the default of the code; `options.cause` is the error of a library */
	constructor(code: keyof typeof texts, sentence: string = texts[code].sentence, options?: ErrorOptions) {
		super(sentence, options);
		this.steps = texts[code].steps;
	}
}
