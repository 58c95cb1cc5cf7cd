/**
 * Persistent data of a device: MAC address and settings, in a JSON file next to mcsim's preferences. `npm run simulator` writes the
 * gateway's address and token into this file, so that a change requires no rebuild.
 */

export class DeviceStore {
	#path;

	/** @param name model in lower case */
	constructor(name) {
		this.#path = system.buildPath(system.localDirectory, name, "json");
	}

	/** Returns `{ macAddress, settings }`. Always reads the file, which another program may have changed. */
	read() {
		let values = {};
		try {
			values = JSON.parse(system.readFileString(this.#path));
		} catch {
			// The file does not exist yet.
		}
		const { macAddress = "", settings = {} } = values;
		if (macAddress) return { macAddress, settings };
		return this.#save({ macAddress: localAddress(this.#path), settings });
	}

	/** @param value a string, or null to delete the setting */
	write(name, value) {
		const { macAddress, settings } = this.read();
		if (value === null) delete settings[name];
		else settings[name] = value;
		this.#save({ macAddress, settings });
	}

	#save(values) {
		system.writeFileString(this.#path, JSON.stringify(values, null, "\t"));
		return values;
	}
}

/**
 * Returns a locally administered address, which no real network card has. It is derived from path and time (FNV-1a), since mcsim's
 * Math.random returns the same sequence in each run.
 */
function localAddress(seed) {
	let hash = 0x811c9dc5;
	const bytes = ["02"];
	while (bytes.length < 6) {
		for (const character of `${seed} ${Date.now()} ${bytes.length}`)
			hash = Math.imul(hash ^ character.codePointAt(0), 0x01000193) >>> 0;
		bytes.push(((hash >>> 16) & 0xff).toString(16).padStart(2, "0"));
	}
	return bytes.join(":");
}
