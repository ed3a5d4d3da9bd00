/** Refuses a Node that is older than the tested ones. The entry points for Node 24 import this file first. */

/** Minimum major version of Node. */
const NODE_MAJOR = 24;
/** Exit code for "Wrong settings", as documented in docs/reference/cli.md. */
const EXIT_SETTINGS = 3;

if (Number.parseInt(process.versions.node, 10) < NODE_MAJOR) {
  // An error would print minified code. The CDK CLI shows this sentence.
  console.error(`This part of payonce needs Node ${NODE_MAJOR} or later, and this is ${process.versions.node}.`);
  process.exit(EXIT_SETTINGS);
}
