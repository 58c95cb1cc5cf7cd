/**
 * Moddable's `mc/config`: what the person who built or started this firmware decided. On the virtual machine Node
 * gives it at start; this file only says its type. Values are strings, as `mcconfig key=value` makes them.
 */
declare const config: Readonly<Record<string, string>>;

export default config;
