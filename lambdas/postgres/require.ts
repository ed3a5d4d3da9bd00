import { createRequire } from 'node:module';

// The driver is CommonJS. In a function's bundle, which is an ES module, it needs this to load Node's built-in modules.
globalThis.require ??= createRequire(import.meta.url);
