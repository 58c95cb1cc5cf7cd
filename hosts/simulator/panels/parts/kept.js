/**
 * Persistent data of a device, MAC address and settings, in a JSON file beside mcsim's preferences. `npm run simulator`
 * writes the gateway's address and token into the same file, so that other ones need no rebuild.
 */

export class Kept {
	#path;
	/** For the image of an update. */
	slotPath;

	/** @param name the model in lower case */
	constructor(name) {
		this.#path = system.buildPath(system.localDirectory, name, "json");
		this.slotPath = system.buildPath(system.localDirectory, name, "slot");
	}

	/** Reads the file each time, since another program may have written it: `{ macAddress, settings }`. */
	read() {
		let values = {};
		try {
			values = JSON.parse(system.readFileString(this.#path));
		} catch {
			// The first time there is no file.
		}
		const { macAddress = "", settings = {} } = values;
		if (macAddress) return { macAddress, settings };
		return this.#write({ macAddress: localAddress(this.#path), settings });
	}

	/** @param value a string; null: delete it */
	keep(name, value) {
		const { macAddress, settings } = this.read();
		if (value === null) delete settings[name];
		else settings[name] = value;
		this.#write({ macAddress, settings });
	}

	#write(values) {
		system.writeFileString(this.#path, JSON.stringify(values, null, "\t"));
		return values;
	}
}

/**
 * A locally administered address, which no real card has. mcsim's Math.random gives the same numbers in every run, so it is derived
 * from path and time (FNV-1a).
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
