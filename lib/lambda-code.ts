import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { Code } from 'aws-cdk-lib/aws-lambda';
import type { Node } from 'constructs';
import type { BuildOptions } from 'esbuild';
import { AUTHORITY_FUNCTIONS, storesOf } from '../lambdas/authority/contract.ts';
import type { Bundled } from './bundler.ts';
import { AUTHORITY_RULES } from './settings/authority.ts';
import { read } from './settings/rules.ts';

const ROOT = resolve(import.meta.dirname, '..');
/**
 * The folder with the code of all functions in the published package, one subfolder each. The package contains no
 * sources.
 */
const PACKAGED = join(ROOT, 'functions');
/** The folder in the published package with the code of the functions that contain the PostgreSQL stores. */
const PACKAGED_WITH_POSTGRES = join(ROOT, 'functions-postgres');
/**
 * Temporary directories of this process. Each process has its own, because two processes may synthesize at the same
 * time. The names end in the process id, by which a test run recognizes them. The stacks copy the content.
 */
const OUTPUT = join(ROOT, 'dist', `lambdas-${process.pid}`);
const OUTPUT_WITH_POSTGRES = join(ROOT, 'dist', `lambdas-postgres-${process.pid}`);

const FUNCTIONS = join('lambdas', 'functions');
const sourcesOfFunctions = (): ReadonlyMap<string, string> =>
  new Map([
    ...readdirSync(join(ROOT, FUNCTIONS))
      .filter((file) => file.endsWith('.ts'))
      .toSorted()
      .map((file) => [basename(file, '.ts'), join(FUNCTIONS, file)] as const),
    ['sandbox-processor', join('sandbox', 'handler.ts')],
  ]);

/** Files of packages that a function reads at run time. */
const FILES: ReadonlyMap<string, readonly string[]> = new Map([
  [
    'api-documents',
    ['swagger-ui-bundle.js', 'swagger-ui.css'].map((file) => join(ROOT, 'node_modules', 'swagger-ui-dist', file)),
  ],
]);

/**
 * The code of each processor is in separate chunks, which are loaded when the processor is called. Most deployments
 * therefore never load Stripe's package, which is a third of the bundle.
 */
const CALL_PROCESSORS: readonly string[] = [
  'payments',
  'reads',
  'payment-requests',
  'callbacks',
  'ledger',
  'orders',
  'payment-jobs',
  'upkeep-jobs',
];

/** The function that generates JSON schemas. */
const DOCUMENTS = 'api-documents';

const UNUSED = join(ROOT, 'lambdas', 'kernel', 'platform', 'unused-packages.ts');

const OPTIONS = {
  absWorkingDir: ROOT,
  outExtension: { '.js': '.mjs' },
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  mainFields: ['module', 'main'],
  minify: true,
  // Source maps are separate files, and the code does not link to them, because Node would read linked source maps at
  // each start. After an error, `withSourcePositions` reads them.
  sourcemap: 'external',
  sourcesContent: false,
  // Lambda provides credentials in the environment. The other credential providers would take up a quarter of the
  // bundle.
  alias: {
    '@aws-sdk/credential-provider-node': join(ROOT, 'lambdas', 'kernel', 'platform', 'environment-credentials.ts'),
    '@aws-lambda-powertools/jmespath': UNUSED,
    '@aws-lambda-powertools/jmespath/functions': UNUSED,
    '@aws-sdk/endpoint-cache': UNUSED,
  },
  legalComments: 'none',
  logLevel: 'error',
} as const satisfies BuildOptions;

/**
 * CDK context of an app that deploys only some functions: the names of the functions to bundle.
 * @default all functions
 */
export const BUNDLED_CONTEXT = 'payonce-bundle:functions';

const bundled = new Set<string>();

/**
 * In a clone of the repository, all functions are bundled once per synthesis. The functions without chunks are bundled
 * together, because a separate esbuild call would take half a second more for each function. The output depends only on
 * the sources, so unchanged functions are not deployed again.
 *
 * @param name a file of `lambdas/functions` without its extension, or `sandbox-processor`
 */
export function lambdaCode(node: Node, name: string): Code {
  const isPackaged = existsSync(PACKAGED);
  const names = isPackaged ? readdirSync(PACKAGED) : [...sourcesOfFunctions().keys()];
  if (!names.includes(name)) throw new Error(`${name} is not a function; the functions are ${names.sort().join(', ')}`);
  // `cdk list` and template tests do not need the code, so nothing is bundled for them.
  const stacks: unknown = node.tryGetContext('aws:cdk:bundling-stacks');
  if (Array.isArray(stacks) && stacks.length === 0) return Code.fromInline('// not bundled');
  const authority = storesOf(read(node, 'authority', AUTHORITY_RULES.authority));
  const usesPostgres = AUTHORITY_FUNCTIONS.includes(name) && authority === 'postgres';
  if (isPackaged) return Code.fromAsset(join(usesPostgres ? PACKAGED_WITH_POSTGRES : PACKAGED, name));
  const output = usesPostgres ? OUTPUT_WITH_POSTGRES : OUTPUT;
  if (!bundled.has(output)) {
    const some: unknown = node.tryGetContext(BUNDLED_CONTEXT);
    const asked: readonly unknown[] = Array.isArray(some) ? some : names;
    if (usesPostgres) bundleWithPostgres(output, asked);
    else bundle(output, asked);
    process.once('exit', () => rmSync(output, { recursive: true, force: true }));
  }
  bundled.add(output);
  return Code.fromAsset(join(output, name));
}

export function bundle(
  directory: string,
  names: readonly unknown[] = [...sourcesOfFunctions().keys()],
  usesPostgres = false,
): void {
  rmSync(directory, { recursive: true, force: true });
  const alone = [...sourcesOfFunctions()].filter(([name]) => names.includes(name) && !CALL_PROCESSORS.includes(name));
  build([
    ...[true, false].map((makesJsonSchemas) => ({
      ...inFolders(
        alone.filter(([name]) => (name === DOCUMENTS) === makesJsonSchemas),
        directory,
      ),
      makesJsonSchemas,
      usesPostgres,
    })),
    ...CALL_PROCESSORS.filter((name) => names.includes(name)).map((name) => ({
      entryPoints: [{ in: join(FUNCTIONS, `${name}.ts`), out: 'index' }],
      outdir: join(directory, name),
      splitting: true,
      chunkNames: '[name]-[hash]',
      usesPostgres,
    })),
  ]);
  for (const [name, files] of FILES) {
    if (!names.includes(name)) continue;
    for (const file of files) copyFileSync(file, join(directory, name, basename(file)));
  }
  if (names.includes(DOCUMENTS)) buildConsole(join(directory, DOCUMENTS, 'console'));
}

export function bundleWithPostgres(directory: string, names: readonly unknown[] = AUTHORITY_FUNCTIONS): void {
  const using = AUTHORITY_FUNCTIONS.filter((name) => names.includes(name));
  bundle(directory, using, true);
}

/** @param page the folder that contains the page's index */
export function buildConsole(directory: string, page: 'console' | 'console/lab' = 'console'): void {
  const vite = join(ROOT, 'node_modules', 'vite', 'bin', 'vite.js');
  const config = join(ROOT, 'console', 'vite.config.ts');
  const words = [vite, 'build', join(ROOT, page), '--config', config, '--outDir', directory];
  const { status } = spawnSync(process.execPath, words, {
    stdio: ['ignore', 'ignore', 'inherit'],
    // Without this variable, Vite would leave a compile cache in the temporary folder.
    env: { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1' },
  });
  if (status !== 0) throw new Error('the console cannot be built');
}

/**
 * The keys of `sources` are the subfolders of `directory`, and the values are source paths relative to the project's
 * root.
 */
export function bundleEach(sources: ReadonlyMap<string, string>, directory: string): void {
  rmSync(directory, { recursive: true, force: true });
  build([inFolders([...sources], directory)]);
}

function inFolders(sources: readonly (readonly [folder: string, source: string])[], outdir: string): Bundled {
  return { entryPoints: sources.map(([folder, source]) => ({ in: source, out: join(folder, 'index') })), outdir };
}

function build(bundles: readonly Bundled[]): void {
  const input = JSON.stringify(bundles.map((each) => ({ ...OPTIONS, ...each })));
  const { status } = spawnSync(process.execPath, [join(ROOT, 'lib', 'bundler.ts')], {
    input,
    stdio: ['pipe', 'inherit', 'inherit'],
  });
  if (status !== 0) throw new Error('the functions cannot be bundled');
}
