/**
 * Refuses a Node version that is older than the tested versions. The entry points for Node 24 import this file first.
 */

const NODE_MAJOR = 24;
/** Exit code for "Wrong settings", as documented in docs/reference/cli.md. */
const EXIT_SETTINGS = 3;

if (Number.parseInt(process.versions.node, 10) < NODE_MAJOR) {
  // If this file threw an error, Node would print minified code. The CDK CLI shows the sentence instead.
  console.error(`This part of payonce needs Node ${NODE_MAJOR} or later, and this is ${process.versions.node}.`);
  process.exit(EXIT_SETTINGS);
}
