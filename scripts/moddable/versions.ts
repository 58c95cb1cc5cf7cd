/**
 * The versions of the tools that build for the simulator, QEMU and boards, and the commands that install exactly these. They stand
 * here alone: errors are made from them, and a test compares the documents.
 */

/** Of the Moddable SDK: its tag in git, and its file tools/VERSION. Others lack files that our manifests name. */
export const sdkVersion = "8.2.3";
/** Of ESP-IDF. */
export const idfVersion = "6.0.2";
/** Of xs-dev, which by default takes the newest SDK, and always ESP-IDF v5.1.2. */
export const xsDevVersion = "0.30.3";

export const installSdk = `npx xs-dev@${xsDevVersion} setup --target-branch ${sdkVersion}`;
const idfFolder = `~/esp/esp-idf-v${idfVersion}`;
export const installIdf =
	`git clone -b v${idfVersion} --recursive --depth 1 --shallow-submodules ` +
	`https://github.com/espressif/esp-idf.git ${idfFolder} && ${idfFolder}/install.sh esp32,esp32s3`;
/** In each terminal. */
export const activateIdf = `. ${idfFolder}/export.sh`;
/** By Espressif's installer. On Linux and macOS it makes idf.py a function of the shell, which the SDK's makefile cannot call. */
export const installIdfByEim = `eim install -i v${idfVersion}`;
/** In words, where one of those that differ in their last figure will do. */
export const idfSeries = idfVersion.split(".").slice(0, 2).join(".");

/** Whether this project builds with that ESP-IDF: a release that only corrects faults does. @param version such as 6.0.1 */
export function isIdfFitting(version: string): boolean {
	return version === idfSeries || version.startsWith(`${idfSeries}.`);
}
