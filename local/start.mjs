// Plain JavaScript, so that a Node that cannot run TypeScript gets a sentence instead of a stack trace.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major < 24) {
  console.error(
    `Payonce needs Node 24, and this is ${major}.${minor}. Run it with "npm start" after "npm ci": the install brings its own ` +
      'Node for Linux, macOS and Windows. On another platform install Node 24 first.',
  );
  process.exitCode = 1;
} else {
  await import('./start.ts');
}
