/**
 * Moddable's `mc/config`. On the virtual machine Node gives it at start, and it holds the model alone: settings lie in flash.
 * This file only says its type. Values are strings, as `mcconfig key=value` makes them.
 */
declare const config: Readonly<Record<string, string>>;

export default config;
