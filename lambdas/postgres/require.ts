import { createRequire } from 'node:module';

// The driver is CommonJS. A function's bundle is an ES module, in which the driver needs a global `require` to load
// Node's built-in modules.
globalThis.require ??= createRequire(import.meta.url);
