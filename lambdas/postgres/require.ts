import { createRequire } from 'node:module';

// The driver is CommonJS. In the bundle of a function, which is an ES module, it needs this to load modules of Node.
globalThis.require ??= createRequire(import.meta.url);
