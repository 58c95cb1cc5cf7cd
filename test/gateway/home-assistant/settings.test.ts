import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { mqtt } from "../../../gateway/home-assistant/settings.js";
import { temporaryDirectory } from "../../support/running.js";

test("reads the broker, with an optional separate password variable", async (t) => {
	const pem = join(await temporaryDirectory(t), "a.pem");
	await writeFile(pem, "PEM");
	const environment = {
		MQTT_URL: "mqtts://home:p%40ss@broker.example:8884",
		MQTT_PASSWORD: ' "from the environment"\r\n',
		MQTT_CA_FILE: pem,
	};
	const broker = {
		url: "mqtts://broker.example:8884",
		username: "home",
		password: ' "from the environment"',
		authority: Buffer.from("PEM"),
		prefix: "homeassistant",
	};
	assert.deepEqual(mqtt.read(environment), broker);
	assert.deepEqual(mqtt.read({ ...environment, MQTT_PASSWORD: "" }), { ...broker, password: "p@ss" });
	assert.equal(mqtt.read({}), undefined);
});
