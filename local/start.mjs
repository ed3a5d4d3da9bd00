// Plain JavaScript without packages, so that whoever has no packages yet, or a Node that cannot run TypeScript, gets a
// sentence instead of a stack trace.
import { existsSync } from 'node:fs';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

function refusal() {
  if (process.platform === 'win32') return 'The local AWS needs Linux or macOS: on Windows, run it in WSL.';
  if (!existsSync(new URL('../node_modules/.bin/cdk', import.meta.url)))
    return 'The packages are not installed: run "npm ci" first.';
  if (major < 24)
    return (
      `Payonce needs Node 24, and this is ${major}.${minor}. Run it with "npm start" after "npm ci": the install brings its own ` +
      'Node for Linux and macOS. On another platform install Node 24 first.'
    );
  return undefined;
}

const reason = refusal();
if (reason === undefined) await import('./start.ts');
else {
  console.error(reason);
  process.exitCode = 1;
}
