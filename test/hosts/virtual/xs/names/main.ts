import named from "example:named/module";
import config from "mc/config";
import here from "./deep/deeper/here.js";

export default function main() {
	trace([here(), named, config.device, Object.isFrozen(config)].join(" "));
}
