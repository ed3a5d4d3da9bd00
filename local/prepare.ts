import { ensurePython } from './python-environment.ts';

/** Makes what every local AWS needs, once, before several of them start at the same time. */
console.log('Python environment');
await ensurePython();
