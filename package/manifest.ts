import { basename } from 'node:path';

/** The sources of the entry points. Each key is the part of the entry point's name after `payonce`. */
export const ENTRY_POINTS = {
  '.': 'package/constructs',
  './client': 'package/client',
  './browser-keys': 'client/browser-keys',
  './file-keys': 'client/file-keys',
  './events': 'package/events',
  './once': 'package/once',
  './vendor': 'package/vendor',
  './webhooks': 'package/webhooks',
} as const;

/** These entry points have no dependencies. */
export const BROWSER_ENTRY_POINTS: readonly string[] = ['package/client', 'client/browser-keys', 'package/webhooks'];

/**
 * Packages to which the types of some entry points refer. An app needs such a package only for an entry point that
 * exchanges its objects, for example a connection pool of `pg`.
 */
const OF_TYPES = [
  '@aws-sdk/client-dynamodb',
  '@aws-sdk/lib-dynamodb',
  '@types/aws-lambda',
  '@types/pg',
  'hono',
  'pg',
  'zod',
];
const OF_CONSTRUCTS = ['aws-cdk-lib', 'constructs'];

interface Project {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly license: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

export function manifestOf({ name, version, description, license, dependencies, devDependencies }: Project) {
  const known = { ...dependencies, ...devDependencies };
  const peers = [...OF_CONSTRUCTS, ...OF_TYPES];
  const ranges = peers.map((peer): [string, string] => {
    const tested = known[peer];
    if (tested === undefined)
      throw new Error(`${peer} is a peer dependency of the package, but not a dependency of the project`);
    return [peer, `^${tested}`];
  });
  const exported = Object.entries(ENTRY_POINTS).map(([door, source]): [string, object] => [
    door,
    { types: `./types/${source}.d.ts`, default: `./dist/${basename(source)}.js` },
  ]);
  return {
    name,
    version,
    description,
    license,
    type: 'module',
    sideEffects: false,
    bin: { payonce: 'bin/payonce.mjs' },
    exports: { ...Object.fromEntries(exported), './package.json': './package.json' },
    files: ['bin', 'cdk.json', 'dist', 'functions', 'functions-postgres', 'types', 'THIRD-PARTY-LICENSES'],
    engines: { node: '>=20.3' },
    peerDependencies: Object.fromEntries(ranges),
    // An app that uses only the client needs none of the peer dependencies.
    peerDependenciesMeta: Object.fromEntries(peers.map((peer) => [peer, { optional: true }])),
  };
}
