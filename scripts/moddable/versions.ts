/**
 * Required versions of the build tools for simulator, QEMU and boards, and the commands that install them. Single source for errors;
 * a test compares the documents.
 */

import { sdkVersion } from "../../hosts/virtual/node/xs.js";

export { sdkVersion };
/** Version of ESP-IDF. */
export const idfVersion = "6.0.2";
/** Version of xs-dev, which installs the newest SDK by default, and always ESP-IDF v5.1.2. */
export const xsDevVersion = "0.30.3";

export const installSdk = `npx xs-dev@${xsDevVersion} setup --target-branch ${sdkVersion}`;
const idfFolder = `~/esp/esp-idf-v${idfVersion}`;
export const installIdf =
	`git clone -b v${idfVersion} --recursive --depth 1 --shallow-submodules ` +
	`https://github.com/espressif/esp-idf.git ${idfFolder} && ${idfFolder}/install.sh esp32,esp32s3`;
/** Activation command for each terminal. */
export const activateIdf = `. ${idfFolder}/export.sh`;
/** Accepted series, of which any patch version is suitable. */
export const idfSeries = idfVersion.split(".").slice(0, 2).join(".");

/** Whether this project builds with a version of ESP-IDF: any patch release of the series. @param version such as 6.0.1 */
export function isIdfFitting(version: string): boolean {
	return version === idfSeries || version.startsWith(`${idfSeries}.`);
}
