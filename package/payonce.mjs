#!/usr/bin/env node
// The `payonce` command of the package. Plain JavaScript, because an older Node may be unable to run the actual
// command.
const NODE_MAJOR = 24;
/** Exit code for "Wrong settings", as documented in docs/reference/cli.md. */
const EXIT_SETTINGS = 3;

if (Number.parseInt(process.versions.node, 10) >= NODE_MAJOR)
  await import(new URL('../dist/cli.js', import.meta.url).href);
else {
  console.error(`payonce needs Node ${NODE_MAJOR} or later, and this is ${process.versions.node}.`);
  process.exitCode = EXIT_SETTINGS;
}
