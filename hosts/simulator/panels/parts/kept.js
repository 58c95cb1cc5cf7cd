/**
 * What a device keeps while it is off: its MAC address and its settings, in a JSON file of its own beside mcsim's preferences.
 * `npm run simulator` writes the gateway's address and token into the same file, so that no rebuild is needed for another one.
 */

export class Kept {
	#path;
	#values;

	/** @param name `dev-1` or `proto-1` */
	constructor(name) {
		this.#path = system.buildPath(system.localDirectory, name, "json");
		this.#values = { macAddress: "", settings: {}, ...this.#read() };
		if (!this.#values.macAddress) {
			this.#values.macAddress = localAddress();
			this.#write();
		}
	}

	get macAddress() {
		return this.#values.macAddress;
	}

	get settings() {
		return this.#values.settings;
	}

	/** @param value a string; null: forget it */
	keep(name, value) {
		// Read again: somebody may have changed another setting in the meantime.
		this.#values = { ...this.#values, ...this.#read() };
		if (value === null) delete this.#values.settings[name];
		else this.#values.settings[name] = value;
		this.#write();
	}

	#read() {
		try {
			return JSON.parse(system.readFileString(this.#path));
		} catch {
			return {};
		}
	}

	#write() {
		system.writeFileString(this.#path, JSON.stringify(this.#values, null, "\t"));
	}
}

/** A random address of the locally administered kind, which no real card has. */
function localAddress() {
	const bytes = ["02"];
	while (bytes.length < 6)
		bytes.push(
			Math.floor(Math.random() * 256)
				.toString(16)
				.padStart(2, "0"),
		);
	return bytes.join(":");
}
