import { copyFileSync, mkdirSync, rmSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { Code } from 'aws-cdk-lib/aws-lambda';
import type { Node } from 'constructs';
import { buildSync } from 'esbuild';

const ROOT = resolve(import.meta.dirname, '..');
/** Of this process alone: two may synthesize at once. The stacks keep copies. */
const OUTPUT = join(ROOT, 'dist', `lambdas-${process.pid}`);

/** The functions: each is a file of `lambdas/functions`; the sandbox processor is one beside them. */
export type FunctionName =
  | 'payments'
  | 'callbacks'
  | 'orders'
  | 'payment-jobs'
  | 'upkeep-jobs'
  | 'ledger'
  | 'outbox-relay'
  | 'republish-range'
  | 'dead-letters'
  | 'webhooks'
  | 'webhook-fan-out'
  | 'webhook-sender'
  | 'views-projector'
  | 'receipt-consumer'
  | 'commission-consumer'
  | 'events'
  | 'jobs'
  | 'cron-executor'
  | 'api-documents'
  | 'sandbox-processor';

/** Files that a function reads beside its code, from packages that are not worth bundling. */
const FILES: Readonly<Record<FunctionName, readonly string[]>> = {
  payments: [],
  callbacks: [],
  orders: [],
  'payment-jobs': [],
  'upkeep-jobs': [],
  ledger: [],
  'outbox-relay': [],
  'republish-range': [],
  'dead-letters': [],
  webhooks: [],
  'webhook-fan-out': [],
  'webhook-sender': [],
  'views-projector': [],
  'receipt-consumer': [],
  'commission-consumer': [],
  events: [],
  jobs: [],
  'cron-executor': [],
  'api-documents': ['swagger-ui-bundle.js', 'swagger-ui.css'].map((file) =>
    join(ROOT, 'node_modules', 'swagger-ui-dist', file),
  ),
  'sandbox-processor': [],
};

let bundled = false;

/**
 * The code of a function. All functions are bundled by one call, once per synth: a call each would take half a second
 * more for every function. The output depends on the sources alone, so that unchanged sources are not deployed again.
 */
export function lambdaCode(node: Node, name: FunctionName): Code {
  // What `cdk list` and template tests do not need, they do not wait for.
  const stacks: unknown = node.tryGetContext('aws:cdk:bundling-stacks');
  if (Array.isArray(stacks) && stacks.length === 0) return Code.fromInline('// not bundled');
  if (!bundled) {
    bundle(OUTPUT);
    process.once('exit', () => rmSync(OUTPUT, { recursive: true, force: true }));
  }
  bundled = true;
  return Code.fromAsset(join(OUTPUT, name));
}

/** Bundles all functions into `directory`, a folder each. */
export function bundle(directory: string): void {
  bundleEach(new Map(Object.keys(FILES).map((name) => [name, sourceOf(name)])), directory);
  for (const [name, files] of Object.entries(FILES)) {
    mkdirSync(join(directory, name), { recursive: true });
    for (const file of files) copyFileSync(file, join(directory, name, basename(file)));
  }
}

function sourceOf(name: string): string {
  return name === 'sandbox-processor' ? join('sandbox', 'handler.ts') : join('lambdas', 'functions', `${name}.ts`);
}

/** Bundles each source, a path from the project's root, into the folder of its name, as `index.mjs`. */
export function bundleEach(sources: ReadonlyMap<string, string>, directory: string): void {
  rmSync(directory, { recursive: true, force: true });
  buildSync({
    absWorkingDir: ROOT,
    entryPoints: [...sources].map(([folder, source]) => ({ in: source, out: join(folder, 'index') })),
    outdir: directory,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    mainFields: ['module', 'main'],
    minify: true,
    sourcemap: 'linked',
    sourcesContent: false,
    // Lambda hands its credentials over in the environment; the other ways to get some are a quarter of the bundle.
    alias: {
      '@aws-sdk/credential-provider-node': join(ROOT, 'lambdas', 'kernel', 'platform', 'environment-credentials.ts'),
    },
    logLevel: 'error',
  });
}
