/** Errors of an installation with steps to resolve them. */

const downloadMode =
	"Bring it into download mode by hand: hold its BOOT button, press and release its reset button (EN or RST), then release BOOT.";
const dataCable = "Use a USB cable that carries data: many only charge.";

const texts = {
	no_port: {
		sentence: "No port was chosen.",
		ways: [
			"Connect the board by USB, start again, and choose it in the browser's list.",
			`If it is not in the list: ${dataCable.charAt(0).toLowerCase()}${dataCable.slice(1)}`,
			"If it still is not: its USB converter (CP210x, CH340) may need a driver, or its port a permission (on Linux, the group dialout).",
		],
	},
	port_busy: {
		sentence: "The port cannot be opened.",
		ways: [
			"Close what else uses it: a serial monitor, another tab, npm run flash.",
			"On Linux, your user needs permission for it: join the port's group (often dialout) and log in again.",
			"Unplug the board and plug it in again.",
		],
	},
	no_answer: {
		sentence: "The board does not answer.",
		ways: [downloadMode, dataCable, "Check that you chose the board's port and not another one."],
	},
	wrong_chip: {
		sentence: "This board has another chip than the firmware is for; nothing was written.",
		ways: ["Choose the board that you have, or the port of the right board."],
	},
	other_partitions: {
		sentence:
			"This board has other partitions than the firmware, so its settings cannot be kept; nothing was written.",
		ways: ["Install with new settings."],
	},
	no_download: { sentence: "", ways: ["Nothing was written. Try again; the log of the gateway says more."] },
	setting: { sentence: "", ways: ["Nothing was written. Change the setting and install again."] },
	not_set_up: {
		sentence: "The firmware on the board does not answer.",
		ways: [
			"If it shows the rainbow it has reached a gateway, and takes other settings only from there: open its page.",
			"It may have no firmware, or an older one, which cannot be set up like this: install this one.",
			"Press its reset button (EN or RST), and try again.",
		],
	},
	no_network: {
		sentence: "The board could not join the Wi-Fi network.",
		ways: [
			"Check the network's name and password.",
			"It must be a network of 2.4 GHz, and in range of the board.",
		],
	},
	refused: { sentence: "The board did not take the settings.", ways: ["Change them and set it up again."] },
	write_failed: {
		sentence: "The board stopped answering while it was written, and does not start as it is.",
		ways: [
			"Install again, which repairs it.",
			"Connect it to the computer itself, not through a hub, with a short cable.",
			downloadMode,
		],
	},
	lost: {
		sentence: "The board was unplugged, and does not start if it was being written.",
		ways: [
			"Plug it in and install again, which repairs it.",
			"If you did not unplug it: the cable or its plug has a loose contact; use another one.",
		],
	},
} as const;

export class InstallError extends Error {
	override name = "InstallError";
	/** Each on its own may help; the likeliest first. */
	readonly ways: readonly string[];

	/** @param sentence overrides the default of the code; `options.cause` is the error of a library */
	constructor(code: keyof typeof texts, sentence: string = texts[code].sentence, options?: ErrorOptions) {
		super(sentence, options);
		this.ways = texts[code].ways;
	}
}
